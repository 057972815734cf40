"""How Sphinx builds the site from the pages of this folder: `make docs`.

The Markdown files are those that one reads in the repository. Only pages that lead to others are reStructuredText. The
reference is written into docs/reference/generated, from the package itself.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

import scuff

project = "scuff"
copyright = "the authors of scuff; MIT licence"
version = release = scuff.__version__

extensions = [
    "reference",  # before autosummary, which reads what it writes
    "repository",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinx_design",
]
exclude_patterns = ["_site"]
default_role = "code"  # docstrings have `names` between single backticks
nitpicky = True
nitpick_ignore_regex = [("py:class", r"scuff\.studies\..*Settings")]  # of studies, known by their options
smartquotes = False  # --limit is no dash

myst_heading_anchors = 4  # as on GitHub
templates_path = ["_site/templates"]
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_inherit_docstrings = False  # those of torch are about torch
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": False}
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False

html_theme = "pydata_sphinx_theme"
html_title = f"scuff {release}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # which a page from a file must not fetch
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "scuff"},
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "coming-from": []}  # they have no section
