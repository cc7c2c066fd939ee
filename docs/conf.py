"""How the site is built: `make docs` writes it into docs/_build/html."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from varicap import __version__  # noqa: E402 -- what follows reads the path set above

project = "varicap"
version = release = __version__
copyright = "the varicap authors, MIT or Apache-2.0"  # noqa: A001 -- Sphinx wants this name

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
    "api",
    "citations",
    "columns",
    "commands",
    "docstrings",
    "mathml",
    "navigation",
    "notebooks",
]
exclude_patterns = ["_build", "_ext"]
nitpicky = False
suppress_warnings = ["ref.python"]  # names in annotations, such as Result, that several modules have

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

bibtex_bibfiles = ["../REFERENCES.bib"]
bibtex_default_style = "keys"

smartquotes = False  # an option is written with two hyphens
default_role = "literal"  # docstrings write `names` in single quotes
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
add_module_names = False

html_theme = "furo"
html_title = "varicap"
html_static_path = ["_static"]
html_css_files = ["varicap.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"
