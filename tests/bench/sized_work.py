#!/usr/bin/env python3
"""Kernels and copies at several sizes beside those of plans for each size.

    sized_work.py ETX [--sizes N] [--jobs N] [--ones]
                  [--markdown FILE [--section NAME]] DIRECTORY...

For each size, counts the kernels that a call runs, the copies among them
(kernels that only move data) and the bytes that these read and write: in the
program for all sizes, and in one that was planned for this size alone. Ends
with 1 if the former runs more kernels, makes more copies or moves more bytes.
--ones gives the program for all sizes variants in which symbols are 1. The
directories are those of sized_models.py and sized_unseen.py.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import sys
import tempfile

from figures import write_markdown
from sized_scratch import (input_symbols, methods_of, ones, plan_fixed, run,
                           sizes_at)
from sized_time import dim_words

Work = collections.namedtuple("Work", "kernels copies bytes operators")


def work_of(etx, program, name, dims):
    """What one call does, counted by etx itself."""
    row = json.loads(run(etx, "bench", program, "--method", name, "--json",
                         "--threads", "1", "--seconds", "0.001",
                         *dims))["methods"][0]
    moves = [operator for operator in row["operators"]
             if operator["kind"] == "movement"]
    calls = {f"{operator['name']}.{operator['overload']}": operator["calls"]
             for operator in row["operators"]}
    return Work(row["kernel_calls"], sum(o["calls"] for o in moves),
                sum(o["cost"]["bytes"] for o in moves), calls)


def compare(words, directory, facts, root):
    """Rows of (sizes, work of the program for all, of that for these)."""
    every, fixed = os.path.join(root, "all.pte"), os.path.join(root, "one.pte")
    name, rows = facts["name"], []
    options = ones(words.etx, directory, facts, root) if words.ones else []
    run(words.etx, "plan", directory, "-o", every, *options)
    for step in range(words.sizes):
        sizes = sizes_at(input_symbols(facts), step, words.sizes)
        if plan_fixed(words.etx, directory, name, sizes, fixed):
            rows.append((sizes,
                         work_of(words.etx, every, name,
                                 dim_words(facts, sizes)),
                         work_of(words.etx, fixed, name + "@1", [])))
    return rows


def measure(words, directory):
    """Pairs of a label and the rows of a method with symbols."""
    label = os.path.basename(directory.rstrip("/"))
    with tempfile.TemporaryDirectory() as root:
        program = os.path.join(root, "program.pte")
        run(words.etx, "plan", directory, "-o", program)
        methods = methods_of(words.etx, program)
        return [(label if len(methods) == 1 else f"{label} {name}",
                 compare(words, directory, facts, root))
                for name, facts in methods.items() if input_symbols(facts)]


def is_more(row):
    _, every, one = row
    return (every.kernels > one.kernels or every.copies > one.copies or
            every.bytes > one.bytes)


def differences(every, one):
    """Operators that both programs do not run equally often."""
    names = sorted(set(every.operators) | set(one.operators))
    pairs = [(name, every.operators.get(name, 0), one.operators.get(name, 0))
             for name in names]
    return ", ".join(f"{name} {mine}/{other}" for name, mine, other in pairs
                     if mine != other)


def print_rows(label, rows):
    for sizes, every, one in rows:
        more = " MORE" if is_more((sizes, every, one)) else ""
        print(f"{label} {sizes}: kernels {every.kernels} / {one.kernels}, "
              f"copies {every.copies} / {one.copies}, bytes {every.bytes} / "
              f"{one.bytes}{more} [{differences(every, one)}]", flush=True)


def table_row(label, rows):
    """The size at which the program for all sizes does most in excess."""
    worst = max(rows, key=lambda row: (row[1].copies - row[2].copies,
                                       row[1].kernels - row[2].kernels,
                                       row[1].bytes - row[2].bytes))
    sizes, every, one = worst
    at = ", ".join(str(size) for size in sizes.values())
    return (f"| {label} | {len(rows)} | {sum(map(is_more, rows))} | {at} | "
            f"{every.kernels} / {one.kernels} | {every.copies} / {one.copies} "
            f"| {every.bytes} / {one.bytes} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("directories", nargs="+")
    parser.add_argument("--sizes", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--ones", action="store_true")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--section", default="sized work", metavar="NAME")
    words = parser.parse_intermixed_args()
    lines = ["| model | sizes | more | at | kernels | copies | bytes moved |",
             "|---|---|---|---|---|---|---|"]
    pairs, more = 0, 0
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        for found in pool.map(lambda directory: measure(words, directory),
                              words.directories):
            for label, rows in found:
                print_rows(label, rows)
                pairs += len(rows)
                more += sum(map(is_more, rows))
                lines.append(table_row(label, rows))
    lines += ["", f"{pairs} sizes; at {more} of them the program for all sizes "
              f"does more."]
    print("\n".join(lines))
    if words.markdown:
        write_markdown(words.markdown,
                       {words.section: "\n".join(lines) + "\n"})
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
