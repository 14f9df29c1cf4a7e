"""Checks that the tests that SECURITY.md names exist.

    python3 tests/docs/check_guarantee.py --source .

Each row of the table behind <!-- guarantee --> names at least one test: a
function of a suite in C, which the suite runs, or of a suite in Python.
"""

import argparse
import re
import sys
from pathlib import Path

MARK = "<!-- guarantee -->"


def rows_of(text: str) -> list[tuple[str, list[str]]]:
    table = text.split(MARK, 1)[1].lstrip().split("\n\n", 1)[0]
    rows = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [(row[0].strip(), re.findall(r"`(\w+)`", row[1])) for row in rows]


def tests_below(folder: Path) -> set[str]:
    names: set[str] = set()
    for path in folder.rglob("*_test.c"):
        text = path.read_text()
        defined = re.findall(r"^static void (\w+)\(void\*\* state\)", text, re.MULTILINE)
        suite = text[text.rindex("CMUnitTest"):] if "CMUnitTest" in text else ""
        names.update(name for name in defined if re.search(rf"\b{name}\b", suite))
    for path in folder.rglob("test_*.py"):
        names.update(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_args().source
    rows = rows_of((source / "SECURITY.md").read_text())
    known = tests_below(source / "tests")
    errors = [f"no test for: {sentence}" for sentence, tests in rows if not tests]
    errors += [
        f"there is no test '{test}' for: {sentence}"
        for sentence, tests in rows for test in tests if test not in known
    ]
    if not rows:
        errors.append("the table has no rows")
    for error in errors:
        print(f"SECURITY.md: {error}")
    count = sum(len(tests) for _, tests in rows)
    print(f"guarantee: {len(rows)} sentences, {count} tests, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
