#!/usr/bin/env python3
"""Time at several sizes beside the time of programs planned for each size.

    sized_time.py ETX [--sizes N] [--repeats N] [--seconds X]
                  [--specialize OPTION]... [--ones]
                  [--markdown FILE [--section NAME]] DIRECTORY...

For each size, the program for all sizes and one with a variant for this size
alone run in turns (`etx bench --compare`: 15 rounds, the order alternates), as
often as --repeats says. Prints the median of the ratios of the repeats, and how
many instructions both have. --specialize gives the program for all sizes these
variants, and --ones variants in which symbols are 1. Directories are those of
sized_models.py.
"""

import argparse
import json
import os
import statistics
import tempfile

from figures import machine, write_markdown
from sized_scratch import methods_of, ones, plan_fixed, run, sizes_at


def dim_words(facts, sizes):
    """The sizes of inputs that have these values of the symbols."""
    words = []
    for port in facts["inputs"]:
        for dim in port["dims"]:
            if dim["symbol"] in sizes and dim["dim"] >= 0:
                size = dim["factor"] * sizes[dim["symbol"]] + dim["offset"]
                words += ["--dim", f"{port['name']}[{dim['dim']}]={size}"]
    return words


def compare(words, fixed, every, name, dims):
    """The ratio of the time for all sizes to that for one, and milliseconds."""
    ratios, times = [], []
    for _ in range(words.repeats):
        row = json.loads(run(words.etx, "bench", "--compare", fixed, every,
                             "--method", name, "--threads", "1", "--seconds",
                             str(words.seconds), "--json", *dims))[0]
        ratios.append(row["ratio"])
        times.append(1e3 * row["file"]["least"])
    return statistics.median(ratios), min(times)


def measure(words, directory, root):
    """Rows of (sizes, ratio, milliseconds, instructions of both)."""
    every, fixed = os.path.join(root, "all.pte"), os.path.join(root, "one.pte")
    variants = [f"--specialize={option}" for option in words.specialize]
    run(words.etx, "plan", directory, "-o", every, *variants)
    name, facts = next((name, facts) for name, facts in
                       methods_of(words.etx, every).items() if facts["symbols"])
    if words.ones:
        variants += ones(words.etx, directory, facts, root)
        run(words.etx, "plan", directory, "-o", every, *variants)
    rows = []
    for step in range(words.sizes):
        sizes = sizes_at(facts["symbols"], step, words.sizes)
        if not plan_fixed(words.etx, directory, name, sizes, fixed):
            continue
        ratio, least = compare(words, fixed, every, name,
                               dim_words(facts, sizes))
        one = methods_of(words.etx, fixed)[name + "@1"]["instructions"]
        rows.append((sizes, ratio, least, facts["instructions"], one))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("directories", nargs="+")
    parser.add_argument("--sizes", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--specialize", action="append", default=[],
                        metavar="OPTION")
    parser.add_argument("--ones", action="store_true")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--section", default="sized time", metavar="NAME")
    words = parser.parse_intermixed_args()
    lines, ratios = ["| model | sizes | median ratio | worst ratio | at | ms |",
                     "|---|---|---|---|---|---|"], []
    for directory in words.directories:
        label = os.path.basename(directory.rstrip("/"))
        with tempfile.TemporaryDirectory() as root:
            rows = measure(words, directory, root)
        for sizes, ratio, least, every, one in rows:
            print(f"{label} {sizes}: ratio {ratio:.3f}, {least:.3f} ms, "
                  f"{every} instructions, {one} in the program for these sizes",
                  flush=True)
        ratios += [row[1] for row in rows]
        worst = max(rows, key=lambda row: row[1])
        at = ", ".join(str(size) for size in worst[0].values())
        lines.append(f"| {label} | {len(rows)} | "
                     f"{statistics.median(row[1] for row in rows):.3f} | "
                     f"{worst[1]:.3f} | {at} | {worst[2]:.3f} |")
    within = sum(ratio <= 1.02 for ratio in ratios)
    lines += ["", f"{machine()}: {len(ratios)} sizes, {within} of them within "
              f"1.02, median {statistics.median(ratios):.3f}."]
    print("\n".join(lines))
    if words.markdown:
        write_markdown(words.markdown,
                       {words.section: "\n".join(lines) + "\n"})


if __name__ == "__main__":
    main()
