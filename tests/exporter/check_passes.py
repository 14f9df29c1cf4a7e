"""Checks that each pass has its file, its test and its row in the documents.

    python3 tests/exporter/check_passes.py --source . [--write]

The passes are the rows of exporter/passes/pass_list.def. With --write, the
table in docs/cli.md is rewritten instead of being compared.
"""

import argparse
import re
import sys
from pathlib import Path

LIST = "exporter/passes/pass_list.def"
RENAMED = "exporter/passes/renamed_passes.def"
DOCUMENT = "docs/cli.md"
BEGIN = "<!-- passes: made by tests/exporter/check_passes.py --write -->\n"
END = "<!-- end of passes -->\n"
ROW = re.compile(r'^PASS\((\w+), (\w+), (\w+), (\w+), "(.*)"\)$', re.MULTILINE)
DEFINITION = re.compile(r"^etx_status etx_pass_(\w+)\(etx_pass_context\* ", re.MULTILINE)


def table(rows) -> str:
    lines = ["| pass | optional | what it does |\n", "|---|---|---|\n"]
    for name, _, kind, _, sentence in rows:
        lines.append(f"| `{name}` | {'yes' if kind == 'OPTIONAL' else 'no'} | {sentence} |\n")
    return "".join(lines)


def check_definitions(source: Path, rows) -> list[str]:
    errors = []
    names = {row[0] for row in rows}
    files = {}
    for path in sorted((source / "exporter").rglob("*.c")):
        for name in DEFINITION.findall(path.read_text()):
            files[name] = path.relative_to(source)
    for name, function, *_ in rows:
        if function != f"etx_pass_{name}":
            errors.append(f"{LIST}: pass {name}: the function is {function}, "
                          f"expected etx_pass_{name}")
        if name not in files:
            errors.append(f"{LIST}: pass {name}: no file below exporter/ defines etx_pass_{name}; "
                          f"add exporter/<folder>/{name}.c")
        elif files[name].stem != name:
            errors.append(f"{files[name]}: defines etx_pass_{name}, which belongs into {name}.c")
    for name, path in files.items():
        if name not in names:
            errors.append(f"{path}: defines etx_pass_{name}; add a row for it to {LIST}")
    return errors


def check_tests(source: Path, rows) -> list[str]:
    """A suite names a pass in a string, or calls its function."""
    errors = []
    suites = {path: path.read_text() for path in sorted((source / "tests/exporter").rglob("*_test.c"))}
    for name, *_ in rows:
        word = re.compile(rf'"[^"\n]*\b{name}\b[^"\n]*"|\betx_pass_{name}\b')
        if any(path.stem == f"{name}_test" for path in suites):
            continue
        if not any(word.search(text) for text in suites.values()):
            errors.append(f"{LIST}: pass {name} has no test; "
                          f"add tests/exporter/<folder>/{name}_test.c")
    return errors


def check_renamed(source: Path, rows) -> list[str]:
    errors = []
    names = {row[0] for row in rows}
    for old, new in re.findall(r"^RENAMED\((\w+), (\w+)\)$", (source / RENAMED).read_text(), re.M):
        if new not in names:
            errors.append(f"{RENAMED}: {old}: there is no pass {new}")
        if old in names:
            errors.append(f"{RENAMED}: {old} is the present name of a pass; remove the row")
    return errors


def check_document(source: Path, rows, write: bool) -> list[str]:
    path = source / DOCUMENT
    text = path.read_text()
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        return [f"{DOCUMENT}: expected the lines {BEGIN.strip()} and {END.strip()}"]
    wanted = text[: begin + len(BEGIN)] + table(rows) + text[end:]
    if wanted == text:
        return []
    if not write:
        return [f"{DOCUMENT}: the table of passes differs from {LIST}; "
                "run python3 tests/exporter/check_passes.py --source . --write"]
    path.write_text(wanted)
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help=f"write the table of {DOCUMENT}")
    options = parser.parse_args()
    rows = ROW.findall((options.source / LIST).read_text())
    errors = [] if rows else [f"{LIST}: no row was found"]
    errors += check_definitions(options.source, rows)
    errors += check_tests(options.source, rows)
    errors += check_renamed(options.source, rows)
    errors += check_document(options.source, rows, options.write)
    for error in errors:
        print(error)
    print(f"passes: {len(rows)} passes, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
