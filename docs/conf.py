"""The documentation site: `make docs` builds it, offline and with warnings as errors, into docs/_build/html."""

from __future__ import annotations

import sys
from pathlib import Path

import heatess

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project, author, copyright = "heatess", "The heatess developers", "The heatess developers"
release = version = heatess.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",
    "site_pages",
]
exclude_patterns = ["_build", "**/README.md"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
maximum_signature_line_length = 76
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "code"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "heatess"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("search.js", {"defer": "defer"})]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "heatess"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "paper": []}

GALLERY = HERE.parent / "examples" / "gallery"
if any(GALLERY.glob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": [str(GALLERY)],
        "gallery_dirs": ["gallery"],
        "filename_pattern": r"plot_",
        "reset_modules": ("matplotlib", "site_pages.tell_file"),
        "download_all_examples": False,
        "show_memory": False,
        "write_computation_times": False,
        "remove_config_comments": True,
    }
