"""Sphinx builds the site from the pages in this folder and the docstrings of the installed package:
`sphinx-build -W -n docs build/site`."""

import sys
from pathlib import Path

import libsvmx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "libsvmx"
version = release = libsvmx.__version__
copyright = "the authors of libsvmx"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design", "sphinxext.opengraph"]
extensions += ["docstrings", "links", "mathml", "numbercells", "tabs"]
exclude_patterns = ["extensions", "gallery"]

smartquotes = False  # 'rbf' stays what one types
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3  # as GitHub makes them: [a section](page.md#a-section)
autodoc_typehints = "none"  # the docstrings say more: shapes, ranges, what a value stands for
autodoc_member_order = "bysource"

html_math_renderer = "mathml"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"libsvmx {version}"
html_copy_source = False
html_favicon = "_static/favicon.svg"
html_baseurl = ogp_site_url = "https://libsvmx.github.io/libsvmx/"
ogp_site_name = project
ogp_social_cards = {"font": "DejaVu Sans"}  # comes with matplotlib, bold, too
copybutton_selector = "div:not(.highlight-output):not(.highlight-text) > div.highlight > pre"  # what one types

if (HERE / "gallery").exists():
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "gallery",
        "gallery_dirs": "examples",  # made by the build, ignored by git
        "copyfile_regex": r".*\.rst",
        "abort_on_example_error": True,
        "show_memory": False,
        "write_computation_times": False,
    }
