"""No function is too long, and those with many parameters are few and listed.

many_parameters.txt lists each function with more parameters than the limit:
`path function: reason`. A row without such a function is an error, too.
"""

import ast
import re

import c_reader
import source_tree

MOST_LINES = 100
MOST_PARAMETERS = 6
MOST_LISTED = 20


def c_functions(tree):
    reader = c_reader.CTree({f: tree.text(f)
                             for f in tree.ending_in(source_tree.C_ENDINGS)})
    return list(reader.functions()), reader.unreadable


def python_functions(tree):
    for path in tree.ending_in((".py",)):
        for node in ast.walk(ast.parse(tree.text(path), path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1
                yield c_reader.Function(path, node.lineno, lines, node.name, 0)


def listed_functions(path):
    """{(path, function): line} of the data file."""
    rows = {}
    for line, text in source_tree.read_rows(path):
        match = re.fullmatch(r"(\S+) (\S+): (\S.*)", text)
        if not match:
            raise SystemExit(f"{path}:{line}: expected 'path function: "
                             f"reason', found '{text}'")
        rows[match.group(1), match.group(2)] = line
    return rows


def judge(report, functions, listed, list_name):
    long = report.kind(
        f"at most {MOST_LINES} lines from a function's head to its brace",
        "split the function into one for each of its steps")
    many = report.kind(
        f"at most {MOST_PARAMETERS} parameters, or a row in {list_name}",
        "gather what belongs together in a struct; where that would read "
        "worse, add a row 'path function: reason'")
    stale = report.kind(
        f"each row of {list_name} names a function with more than "
        f"{MOST_PARAMETERS} parameters", "remove the row")
    most = report.kind(
        f"at most {MOST_LISTED} functions with more than {MOST_PARAMETERS} "
        "parameters", "gather parameters in structs")
    seen = set()
    wide = 0
    for f in functions:
        if f.lines > MOST_LINES:
            report.error(long, f"{f.path}:{f.line}",
                         f"{f.name} has {f.lines} lines")
        if f.parameters > MOST_PARAMETERS:
            wide += 1
            seen.add((f.path, f.name))
            if (f.path, f.name) not in listed:
                report.error(many, f"{f.path}:{f.line}",
                             f"{f.name} has {f.parameters} parameters")
    for key, line in listed.items():
        if key not in seen:
            report.error(stale, f"{list_name}:{line}", " ".join(key))
    if wide > MOST_LISTED:
        report.error(most, "the tree", f"{wide} functions")
    return wide


def main():
    parser = source_tree.options(__doc__)
    parser.add_argument("--list", default=source_tree.beside(
        "many_parameters.txt"), help="functions that may have many parameters")
    parser.add_argument("--build", help="not looked at")
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    report = source_tree.Report("functions")
    functions, unreadable = c_functions(tree)
    braces = report.kind(
        "braces that match in every branch of #if",
        "write whole blocks in each branch; c_reader.py cannot count "
        "functions otherwise")
    for path in unreadable:
        report.error(braces, path, "braces do not match")
    scripts = list(python_functions(tree))
    wide = judge(report, functions + scripts,
                 listed_functions(arguments.list), "many_parameters.txt")
    if not functions:
        raise SystemExit("functions: no C function found: is --source right?")
    longest = max(f.lines for f in functions + scripts)
    return report.close(f"{len(functions)} functions of C and {len(scripts)} "
                        f"of Python, the longest {longest} lines, {wide} with "
                        f"more than {MOST_PARAMETERS} parameters")


if __name__ == "__main__":
    source_tree.run(main)
