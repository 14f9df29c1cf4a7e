#!/usr/bin/env python3
"""Prints the branches that tests took, a line for each folder of sources.

    branch_counts.py BUILD [--list FOLDER]

BUILD was configured with ETX_COVERAGE, and its tests have run. With --list, prints each
branch below FOLDER that was not taken: file, line and source. gcov counts a condition of
a statement as two branches, taken and not taken.
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


def branches(build):
    """{file: {(line, number): times taken}} over all objects; files below SOURCE."""
    counts = collections.defaultdict(dict)
    for report in reports(build):
        for file in report["files"]:
            path = pathlib.Path(report["current_working_directory"], file["file"]).resolve()
            if not path.is_relative_to(SOURCE) or path.suffix != ".c":
                continue
            taken = counts[path.relative_to(SOURCE)]
            for line in file["lines"]:
                for number, branch in enumerate(line["branches"]):
                    key = line["line_number"], number
                    taken[key] = taken.get(key, 0) + branch["count"]
    return counts


def print_missed(counts, folder):
    for path in sorted(counts):
        if not path.is_relative_to(folder):
            continue
        lines = (SOURCE / path).read_text().splitlines()
        missed = collections.Counter(line for (line, _), n in counts[path].items() if n == 0)
        for line in sorted(missed):
            print(f"{path}:{line}: {missed[line]}: {lines[line - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--list", metavar="FOLDER")
    arguments = parser.parse_args()
    counts = branches(arguments.build.resolve())
    if arguments.list:
        print_missed(counts, arguments.list)
        return
    folders = collections.defaultdict(lambda: [0, 0])
    for path, taken in counts.items():
        folders[path.parent][0] += sum(n > 0 for n in taken.values())
        folders[path.parent][1] += len(taken)
    for folder, (taken, all_of_it) in sorted(folders.items()):
        share = 100 * taken / all_of_it if all_of_it else 100
        print(f"{str(folder):32} {taken:6} of {all_of_it:6} branches {share:6.1f} %")


if __name__ == "__main__":
    main()
