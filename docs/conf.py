project = "dalenius"
author = "dalenius contributors"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "dalenius"
