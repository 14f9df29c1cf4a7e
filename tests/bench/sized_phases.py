#!/usr/bin/env python3
"""What a change of sizes costs, for whole models.

    sized_phases.py BUILD [--repeats N] [--markdown FILE] DIRECTORY...

Plans the methods of each directory and runs bench_shape_phase of BUILD on the
program: the time above a call of equal sizes, median of N runs; the same for a
method that was given a byte less of scratch than its largest sizes need, whose
blocks move. A change may cost 1000 ns and 20 ns an instruction. --markdown
replaces the table in FILE.
"""

import argparse
import json
import os
import statistics
import tempfile

from figures import machine, write_markdown
from sized_scratch import run

SECTION = "sized phases"


def measure(build, directory, repeats):
    """Facts of the first method, with medians of both times."""
    with tempfile.TemporaryDirectory() as root:
        program = os.path.join(root, "all.pte")
        run(os.path.join(build, "etx"), "plan", directory, "-o", program)
        rows = [json.loads(run(os.path.join(build, "bench_shape_phase"),
                               program).splitlines()[0])
                for _ in range(repeats)]
    facts = dict(rows[0])
    for key in "phase_ns", "moved_ns", "repeated_ns":
        facts[key] = statistics.median(row[key] for row in rows)
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("directories", nargs="+")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--markdown", metavar="FILE")
    words = parser.parse_intermixed_args()
    within = moved_within = 0
    lines = ["| model | instructions | ns a change | allowed | share | "
             "with moved blocks | a kept copy, ns |",
             "|---|---|---|---|---|---|---|"]
    for directory in words.directories:
        label = os.path.basename(directory.rstrip("/"))
        facts = measure(words.build, directory, words.repeats)
        spent, allowed = facts["phase_ns"], 1000 + 20 * facts["instructions"]
        within += spent <= allowed
        moved = facts["moved_ns"]
        moved_within += moved <= allowed
        lines.append(f"| {label} | {facts['instructions']} | {spent:.0f} | "
                     f"{allowed} | {spent / allowed:.2f} | "
                     f"{moved:.0f}, {moved / allowed:.2f} | "
                     f"{facts['repeated_ns']:.0f} |")
        print(lines[-1], flush=True)
    lines += ["", f"{machine()}: {within} of {len(words.directories)} within "
              f"what is allowed, {moved_within} of them with moved blocks."]
    print(lines[-1])
    if words.markdown:
        write_markdown(words.markdown, {SECTION: "\n".join(lines) + "\n"})


if __name__ == "__main__":
    main()
