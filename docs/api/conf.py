"""Sphinx: guides, the C API by way of Doxygen and Breathe, the Python package.

scripts/api_reference.sh builds it, with the root of the source tree as Sphinx's
source directory, so that links between the pages hold here as they do there.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "etx"
version = re.search(r"project\(etx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
release = version
copyright = "the authors of etx"

extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/api/index"
include_patterns = ["README.md", "*.md", "docs/**.md", "*/README.md", "runtime/*/README.md",
                    "python/*.md", "samples/*/README.md"]
exclude_patterns = ["build*", "tests/data"]

# The C API: XML that Doxygen wrote.
breathe_projects = {"etx": os.environ["ETX_DOXYGEN_XML"]}
breathe_default_project = "etx"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
primary_domain = "py"

# The package is read as it lies in the tree: neither its extension modules nor
# torch are needed for that.
autodoc_mock_imports = ["etx._runtime", "etx._planner", "torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
napoleon_use_rtype = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

nitpicky = True

html_theme = "furo"
html_title = f"etx {version}"
html_copy_source = False
