import sys
from pathlib import Path

import dalenius

sys.path.insert(0, str(Path(__file__).parent))  # for the extensions beside this file

project = "dalenius"
author = "dalenius contributors"
version = release = dalenius.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "generated"]
myst_heading_anchors = 3  # pages link to sections of other pages
myst_enable_extensions = ["dollarmath", "deflist"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"dalenius {release}"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
