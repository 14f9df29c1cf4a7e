#!/usr/bin/env python3
"""Scratch at several sizes beside the scratch of plans made for each size.

    sized_scratch.py ETX [--sizes N] [--markdown FILE [--section NAME]]
                     [DIRECTORY...]

Plans the methods of each directory (default: recorded models of
tests/data/pt2) for all sizes, and once more for single sizes, as variants
(`etx plan --specialize`). Prints the ratio of both. Ends with 1 if a method needs more at its largest sizes than its plan
states. --markdown replaces the table in FILE.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

from figures import write_markdown

RECORDED = os.path.join(os.path.dirname(__file__), "..", "data", "pt2")
SETS = ["whisper", "llama", "cnn", "recurrent", "parts"]


def run(*words):
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip()[-2000:])
    return result.stdout


def methods_of(etx, program, *words):
    """The facts of methods by name, those of variants among them."""
    facts = json.loads(run(etx, "inspect", program, "--json", *words))
    return {plan["name"]: plan for method in facts["methods"]
            for plan in [method, *method.get("variants", [])]}


def at_words(sizes):
    return [word for name, size in sizes.items()
            for word in ("--at", f"{name}={size}")]


def sizes_at(symbols, step, count):
    """Step 0 has the smallest sizes, the last one the largest. In between,
    several symbols are not small and large together."""
    sizes = {}
    for position, symbol in enumerate(symbols):
        part = step
        if 0 < step < count - 1:
            part = (step + 3 * position) % count
        share = (part / (count - 1)) ** 2
        span = symbol["maximum"] - symbol["minimum"]
        sizes[symbol["name"]] = symbol["minimum"] + int(span * share)
    return sizes


def input_symbols(facts):
    """The symbols of a method that are sizes of inputs; data may set others."""
    return [symbol for symbol in facts["symbols"]
            if any(dim["symbol"] == symbol["name"]
                   for port in facts["inputs"] for dim in port["dims"])]


def option_for(method, sizes):
    return method + ":" + ";".join(f"{name}={size}"
                                   for name, size in sizes.items())


def plan_fixed(etx, directory, method, sizes, program):
    """Plans a variant of `method` for these sizes, in which they are numbers:
    METHOD@1. False if a condition of the model excludes the sizes."""
    run(etx, "plan", directory, "-o", program, "--specialize",
        option_for(method, sizes))
    return method + "@1" in methods_of(etx, program)


def ones(etx, directory, facts, root):
    """Options for variants in which symbols are 1, as many as possible first.
    A model may exclude some of them."""
    names = [symbol["name"] for symbol in input_symbols(facts)
             if symbol["minimum"] <= 1]
    options, trial = [], os.path.join(root, "trial.pte")
    for count in range(len(names), 0, -1):
        for chosen in itertools.combinations(names, count):
            sizes = dict.fromkeys(chosen, 1)
            if plan_fixed(etx, directory, facts["name"], sizes, trial):
                options.append("--specialize=" +
                               option_for(facts["name"], sizes))
    return options


def compare(etx, directory, name, symbols, root, count):
    """Rows of sizes, bytes of the plan for all sizes, of that for one."""
    rows = []
    fixed = os.path.join(root, "fixed.pte")
    for step in range(count):
        sizes = sizes_at(symbols, step, count)
        if not plan_fixed(etx, directory, name, sizes, fixed):
            continue
        facts = methods_of(etx, os.path.join(root, "all.pte"),
                           *at_words(sizes))[name]
        least = methods_of(etx, fixed)[name + "@1"]["scratch_bytes"]
        rows.append((sizes, facts["memory"]["scratch_bytes"], least))
    return rows


def measure(etx, directory, count):
    """Rows of (method, bytes at the largest sizes, rows of compare)."""
    found = []
    with tempfile.TemporaryDirectory() as root:
        program = os.path.join(root, "all.pte")
        run(etx, "plan", directory, "-o", program)
        for name, facts in methods_of(etx, program).items():
            symbols = input_symbols(facts)
            if symbols and facts["scratch_bytes"] > 0:
                found.append((name, facts["scratch_bytes"],
                              compare(etx, directory, name, symbols, root,
                                      count)))
    return found


def ratio(row):
    _, bytes_, least = row
    return bytes_ / max(least, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("directories", nargs="*")
    parser.add_argument("--sizes", type=int, default=8)
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--section", default="sized scratch", metavar="NAME")
    words = parser.parse_intermixed_args()
    bad = 0
    lines = ["| model | method | symbols | at the largest | at the smallest | "
             "worst ratio |", "|---|---|---|---|---|---|"]
    for directory in words.directories or [os.path.join(RECORDED, s)
                                           for s in SETS]:
        label = os.path.basename(directory.rstrip("/"))
        for name, upper, rows in measure(words.etx, directory, words.sizes):
            for row in rows:
                print(f"{label} {name} {row[0]}: {row[1]} bytes, {row[2]} in a "
                      f"plan for these sizes, {ratio(row):.3f}", flush=True)
            bad += rows[-1][1] > upper
            lines.append(f"| {label} | {name} | {len(rows[0][0])} | "
                         f"{rows[-1][1]} | {rows[0][1]} | "
                         f"{max(map(ratio, rows)):.2f} |")
    print("\n".join(lines))
    if words.markdown:
        write_markdown(words.markdown, {words.section: "\n".join(lines) + "\n"})
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
