#!/usr/bin/env python3
"""Prints the branches that tests took, a line for each folder of sources.

    branch_counts.py BUILD... [--list FOLDER] [--files] [--headers] [--without SET...]

Each BUILD was configured with ETX_COVERAGE, and its tests have run. A branch is taken if
it was in any of them. With --list, prints each branch below FOLDER that was not taken:
file, line and source. gcov counts a condition of a statement as two branches, taken and
not taken.

--headers counts the branches of headers in the counted folders, too: a template is one
text, whose branch is taken if any object that includes it took it. --without leaves out
the objects of instruction sets that the machine lacks (sources that end in _SET.c), with
what only they include, and names them.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def reports(build):
    """What gcov says of each object that has run, or was at least built."""
    notes = sorted(build.rglob("*.gcno"))
    if not notes:
        sys.exit(f"{build}: no objects that count branches: configure with -DETX_COVERAGE=...")
    for i in range(0, len(notes), 50):
        run = subprocess.run(["gcov", "-b", "-t", "-j", *map(str, notes[i:i + 50])],
                             cwd=build, capture_output=True, text=True, check=True)
        for line in run.stdout.splitlines():
            yield json.loads(line)


class Counts:
    """The branches of all objects of builds."""

    def __init__(self, with_headers, left_out_sets):
        self.suffixes = (".c", ".h") if with_headers else (".c",)
        self.left_out_ends = tuple(f"_{name}.c" for name in left_out_sets)
        self.left_out = set()
        self.taken = collections.defaultdict(dict)  # {file: {(line, number): times taken}}

    def add_build(self, build):
        for report in reports(build):
            source = report["data_file"].removesuffix(".gcno")  # ends in .c
            if self.left_out_ends and source.endswith(self.left_out_ends):
                self.left_out.add(source[source.rindex("runtime/"):])
                continue
            for file in report["files"]:
                path = self.path_of(report, file)
                if path.is_relative_to(SOURCE) and path.suffix in self.suffixes:
                    self.add_file(path.relative_to(SOURCE), file)

    @staticmethod
    def path_of(report, file):
        return pathlib.Path(report["current_working_directory"], file["file"]).resolve()

    def add_file(self, path, file):
        taken = self.taken[path]
        for line in file["lines"]:
            for number, branch in enumerate(line["branches"]):
                key = line["line_number"], number
                taken[key] = taken.get(key, 0) + branch["count"]

    def drop_foreign_headers(self):
        """Keeps headers of folders, or of folders below those, that have a counted source."""
        tops = {path.parts[:2] for path in self.taken if path.suffix == ".c"}
        for path in [p for p in self.taken if p.suffix == ".h" and p.parts[:2] not in tops]:
            del self.taken[path]


def print_missed(counts, folder):
    for path in sorted(counts):
        if not path.is_relative_to(folder):
            continue
        lines = (SOURCE / path).read_text().splitlines()
        missed = collections.Counter(line for (line, _), n in counts[path].items() if n == 0)
        for line in sorted(missed):
            print(f"{path}:{line}: {missed[line]}: {lines[line - 1].strip()}")


def print_shares(counts, group_of):
    groups = collections.defaultdict(lambda: [0, 0])
    for path, taken in counts.items():
        for group in (group_of(path), "all"):
            groups[group][0] += sum(n > 0 for n in taken.values())
            groups[group][1] += len(taken)
    total = groups.pop("all")
    for group, (taken, all_of_it) in [*sorted(groups.items()), ("all", total)]:
        share = 100 * taken / all_of_it if all_of_it else 100
        print(f"{group:40} {taken:6} of {all_of_it:6} branches {share:6.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("builds", metavar="BUILD", nargs="+", type=pathlib.Path)
    parser.add_argument("--list", metavar="FOLDER")
    parser.add_argument("--files", action="store_true", help="a line for each file")
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--without", metavar="SET", nargs="+", default=[])
    arguments = parser.parse_args()
    counts = Counts(arguments.headers, arguments.without)
    for build in arguments.builds:
        counts.add_build(build.resolve())
    counts.drop_foreign_headers()
    if arguments.list:
        print_missed(counts.taken, arguments.list)
        return
    print_shares(counts.taken, str if arguments.files else lambda path: str(path.parent))
    for path in sorted(counts.left_out):
        print(f"not counted: {path}")


if __name__ == "__main__":
    main()
