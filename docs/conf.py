project = "dalenius"
author = "dalenius contributors"
extensions = ["myst_parser"]
myst_heading_anchors = 3  # pages link to sections of other pages
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "dalenius"
