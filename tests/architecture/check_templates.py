"""A template says which macros steer it, and templates are not piled up.

A template is x_template.h. Its opening comment has one row a parameter,

    // NAME(x)      required  names of what this file makes
    // PANEL_TAPS   optional  the set's own way through eight taps

or the words "no parameters". For each required one there is an #error. A macro
that an includer defines and the template uses has a row.
"""

import re

import c_reader
import source_tree

MOST_NESTED = 2
ENDING = "_template.h"
_OPENING = re.compile(r"(?:[ \t]*//[^\n]*\n|[ \t]*/\*.*?\*/[ \t]*\n)+",
                      re.DOTALL)
_ROW = re.compile(r"^[ \t/*|]*\b([A-Z][A-Z0-9_]*)(?:\([^)]*\))?[ \t|:,-]+"
                  r"(required|optional)\b", re.MULTILINE)
_UPPER = re.compile(r"\b[A-Z][A-Z0-9_]*\b")


def parameters(text):
    """{macro: required} of the opening table; None if there is none."""
    opening = _OPENING.match(text)
    if not opening:
        return None
    rows = {name: word == "required"
            for name, word in _ROW.findall(opening.group(0))}
    if not rows and not re.search(r"no parameters", opening.group(0), re.I):
        return None
    return rows


def names_with_error(file):
    """Macros that an #error asks for: named by it or by the #if before it."""
    names, before = set(), ""
    for _, text in file.directives:
        if re.match(r"[ \t]*#[ \t]*error", text):
            names.update(_UPPER.findall(before + " " + text))
        before = text
    return names


def nested(tree, path, seen=()):
    """The longest chain of templates that including `path` reads."""
    longest = []
    for _, _, target, _ in tree.includes(path):
        if target and target not in seen:
            chain = nested(tree, target, (*seen, path))
            longest = max(longest, chain, key=len)
    return [path, *longest] if path.endswith(ENDING) else longest


def implicit(tree, reader, path, closures, known):
    """Macros that an includer of `path` defines and `path` uses."""
    below = closures[path]
    defined = {m.name for f in below if f in reader.files
               for _, m in reader.files[f].macros()}
    file = reader.files[path]
    used = set(_UPPER.findall(file.code))
    for _, text in file.directives:
        if not re.match(r"[ \t]*#[ \t]*(error|include)", text):
            used.update(_UPPER.findall(text))
    by_includers = set()
    for user, closure in closures.items():
        if path in closure and user != path:
            by_includers.update(m.name for _, m in reader.files[user].macros())
    return sorted((used & by_includers) - defined - set(known))


def judge(report, tree, reader, templates):
    table = report.kind(
        "the opening comment of a template has a table of its parameters",
        "open the file with rows '// MACRO  required|optional  meaning', or "
        "with 'no parameters'")
    error = report.kind("an #error for each required parameter",
                        "add #ifndef MACRO, #error, #endif below the table")
    hidden = report.kind("a row for each macro that an includer defines and "
                         "the template uses", "add the row")
    deep = report.kind(f"at most {MOST_NESTED} templates in each other",
                       "include the inner template from the file that makes "
                       "the instance, or turn it into a header of functions")
    closures = {f: tree.include_closure(f)
                for f in tree.ending_in(source_tree.C_ENDINGS)}
    for path in templates:
        known = parameters(tree.text(path))
        if known is None:
            report.error(table, path, "no table")
            known = {}
        have = names_with_error(reader.files[path])
        for name, required in known.items():
            if required and name not in have:
                report.error(error, path, f"no #error for {name}")
        missing = implicit(tree, reader, path, closures, known)
        if missing:
            report.error(hidden, path, ", ".join(missing))
        chain = nested(tree, path)
        if len(chain) > MOST_NESTED:
            report.error(deep, path, " > ".join(
                c.rpartition("/")[2] for c in chain))


def main():
    parser = source_tree.options(__doc__)
    parser.add_argument("--build", help="not looked at")
    parser.add_argument("--report-only", action="store_true",
                        help="print what is wrong, and succeed")
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    reader = c_reader.CTree({f: tree.text(f)
                             for f in tree.ending_in(source_tree.C_ENDINGS)})
    templates = tree.ending_in((ENDING,))
    report = source_tree.Report("templates")
    judge(report, tree, reader, templates)
    return report.close(f"{len(templates)} templates", arguments.report_only)


if __name__ == "__main__":
    source_tree.run(main)
