"""How Sphinx builds the site; `make docs` runs it, and the result opens from the disk."""

import os
from pathlib import Path

import rankwise

ROOT = Path(__file__).resolve().parents[1]

project = "rankwise"
author = "the rankwise developers"
copyright = author
version = release = rankwise.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/**/*.ipynb", "gallery/**/*.md5", "sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "code"
highlight_language = "none"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
numpydoc_attributes_as_param_list = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "plot_gallery": os.environ.get("RANKWISE_GALLERY", "run") == "run",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "thumbnail_size": (420, 280),
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "rankwise"
html_static_path = ["_static"]
html_css_files = ["rankwise.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False
html_sidebars = {"index": [], "gallery/*": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def skip_what_others_wrote(app, what, name, member, skip, options):
    """Methods that scikit-learn or Python defines are documented there."""
    found = getattr(member, "fget", None) or getattr(member, "__func__", member)
    owner = getattr(found, "__module__", None)
    if callable(found) and owner and not owner.startswith("rankwise"):
        return True
    return skip


def setup(app):
    app.connect("autodoc-skip-member", skip_what_others_wrote)
