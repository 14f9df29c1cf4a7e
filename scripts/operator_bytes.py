#!/usr/bin/env python3
"""How many bytes each operator of a program holds alone in its selected build.

    scripts/operator_bytes.py BUILD PROGRAM -o DIR [--compiler CC] [OPERATOR...]

Builds the sources of the program's operators (`etx select`), and again without each
OPERATOR (default: all of them), with -Os. The difference of the two images is
what the operator alone holds: code that it shares with others stays. `etx why` lists
the methods, instructions and source lines that call it.
"""

import argparse
import pathlib
import sys

from selected_builds import Failure, image_bytes, run, selected_application


def operators_of(text):
    """The operators of a list that have kernels."""
    rows = text.split("et_kernel_metadata:\n")[1].split("\ninclude_all")[0]
    return [line.strip()[:-1] for line in rows.splitlines()
            if line.startswith("  ") and line.endswith(":")]


def without(text, operator):
    """A list without an operator: without the two rows that have its name."""
    kept, skips = [], False
    for line in text.splitlines(keepends=True):
        if not line.startswith(("    ", "  - ")):
            skips = line == f"  {operator}:\n"
        if not skips:
            kept.append(line)
    return "".join(kept)


def bytes_of(text, name, options):
    path = options.out / f"{name}.yaml"
    path.write_text(text)
    return image_bytes(selected_application(
        path, options.out / name, options.compiler, options))


def measure(options):
    run(options.build / "etx", "select", options.program, "-o", options.out / "own")
    text = (options.out / "own/selected_operators.yaml").read_text()
    names = options.operators or operators_of(text)
    unknown = set(names) - set(operators_of(text))
    if unknown:
        raise Failure(f"the program does not call {', '.join(sorted(unknown))}; it "
                      f"calls {', '.join(operators_of(text))}")
    whole = bytes_of(text, "whole", options)
    print(f"{whole} bytes with all operators")
    for i, name in enumerate(names):
        less = bytes_of(without(text, name), f"without_{i}", options)
        print(f"{whole - less:8} {name}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--machine", help="as of etx select (default: all)")
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    options = parser.parse_intermixed_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        measure(options)
    except Failure as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
