"""Sphinx: guides, the C API by way of Doxygen and Breathe, the Python package.

scripts/api_reference.sh builds it, with the root of the source tree as Sphinx's
source directory, so that links between the pages hold here as they do there.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pygments.lexers import TextLexer
from sphinx.highlighting import lexers

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "etx"
version = re.search(r"project\(etx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
release = version
copyright = "the authors of etx"

# GitHub draws such a block; here it is text.
lexers["mermaid"] = TextLexer()

extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/api/index"
include_patterns = ["*.md", "docs/**.md", "python/*.md", "**/README.md"]
exclude_patterns = ["build*", "**/venv/**"]
nitpicky = True

# The C API: XML that Doxygen wrote.
breathe_projects = {"etx": os.environ["ETX_DOXYGEN_XML"]}
breathe_default_project = "etx"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
# Types of the C library, and structs whose fields are private or which are opaque.
nitpick_ignore = [
    ("c:identifier", name)
    for name in (
        "bool", "int8_t", "int32_t", "int64_t", "size_t", "uint8_t", "uint16_t", "uint32_t",
        "uint64_t", "uintptr_t", "va_list",
        "etx_host_gate", "etx_host_thread", "etx_instance_pool_slot", "etx_instance_pool_words",
        "etx_late_version", "etx_layout_block", "etx_method_input", "etx_method_record",
        "etx_method_regions", "etx_method_variants", "etx_once_functions", "etx_operator_cache",
        "etx_scratch_list", "etx_scratch_member", "etx_tokenizer_content",
        "etx_ffi_error", "etx_ffi_method", "etx_ffi_program", "etx_ffi_session", "etx_ffi_value",
        "etx_size_expression", "etx_size_record", "etx_size_tensor", "etx_method_step", "etx_method_tensor", "etx_module_method",
    )
]

# The package is read as it lies in the tree: neither its extension modules nor
# torch are needed for that.
autodoc_mock_imports = ["etx._runtime", "etx._planner", "torch"]
autodoc_member_order = "bysource"
autodoc_type_aliases = {"Progress": "etx._progress.Progress"}
default_role = "literal"
# Other packages' classes, which are not documented here.
nitpick_ignore_regex = [(r"py:(class|exc|obj)", r"(torch|numpy|np|os|pathlib|collections|etx\._progress)\..*")]

myst_heading_anchors = 4

html_theme = "furo"
html_title = f"etx {version}"
html_copy_source = False
html_show_sphinx = False
toc_object_entries_show_parents = "hide"

# Users do not call these: programs and sessions make them.
MADE_BY_ETX = {"etx.Session", "etx._program.Constants", "etx._session.Methods",
               "etx._session.States", "etx._profile.Profile", "etx._use.Use",
               "etx.Pool", "etx.PoolCounts",
               "etx.Error"}


def hide_signature(app, what, name, obj, options, signature, returns):
    return ("", returns) if name in MADE_BY_ETX or what == "exception" else None


def mark_code(app, what, name, obj, options, lines):
    """Docstrings show code as lines that are indented by four behind an empty one."""
    for i in range(len(lines) - 1, 0, -1):
        starts = lines[i].startswith("    ") and not lines[i - 1].strip()
        if starts and not any(line.startswith("    ") for line in lines[i - 2 : i - 1]):
            lines[i:i] = ["::", ""]


def resolve_doxygen(app, env, node, contnode):
    """What Doxygen made a reference of and Breathe gives no label: names, which the
    domain of C knows, and files, which stay text; and types of C in the C++ header."""
    target = node.get("reftarget", "")
    if node.get("refdomain") == "cpp":  # the C++ header uses types of C
        return env.get_domain("c").resolve_xref(
            env, node["refdoc"], app.builder, "identifier", target, node, contnode
        )
    if node.get("reftype") != "ref" or not re.match(r"(struct|union)etx|\w+_8h", target):
        return None
    name = contnode.astext().removesuffix("()").split(".")[-1]
    found = env.get_domain("c").resolve_xref(
        env, node["refdoc"], app.builder, "identifier", name, node, contnode
    )
    return found or contnode


def check_headers():
    """Every public header stands on one page."""
    pages = "".join(page.read_text() for page in Path(__file__).parent.glob("c*.md"))
    shown = re.findall(r"doxygenfile:: (\S+)", pages)
    public = [Path(path).name for path in os.environ["ETX_PUBLIC_HEADERS"].split()]
    if sorted(shown) != sorted(public):
        sys.exit(f"docs/api: pages and public headers differ in {set(shown) ^ set(public)}")


def setup(app):
    check_headers()
    app.connect("autodoc-process-docstring", mark_code, priority=100)
    app.connect("missing-reference", resolve_doxygen)
    app.connect("autodoc-process-signature", hide_signature)
