"""How the site is built: `sphinx-build -W docs site`, then open site/index.html.

Pages are MyST Markdown and notebooks, which are run while the site is built. Nothing is loaded from
the network when a page is read.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]  # benchmarks/ is not in the wheel

project = "perfmodel"
author = "the perfmodel developers"
copyright = "2026, the perfmodel developers"
version = release = version_of("perfmodel")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinxcontrib.programoutput",
    "command_figure",
    "commands_here",
    "drill_pages",
    "repository_pages",
    "theory_pages",
]
exclude_patterns = ["generated/include", "**.ipynb_checkpoints", "examples", "extensions"]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

os.environ["COLUMNS"] = "88"  # output is as wide as a page

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

programoutput_prompt_template = "$ {command}\n{output}"

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
autodoc_class_signature = "separated"
autodoc_typehints_description_target = "documented"

html_theme = "furo"
html_title = f"perfmodel {release}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
