#!/usr/bin/env python3
"""Plans and runs small models of known architectures, against PyTorch.

    check_models.py ETX [--all] [--each-pass] [--exported DIRECTORY] [--jobs N]
                  [NAME...]

Each model is exported by export_models.py (or taken from DIRECTORY, where an
earlier run left it), planned in functional and core ATen for both targets, proved with
`etx verify` and run with `etx run --case`; files for ExecuTorch's runtime run
there too, if its package is installed. Without names: the architectures that
come first in architectures.py; --all takes the rest too. --each-pass also plans
each for etx without each of the passes that may be switched off.

Ends with 0 if all agree, 1 if something does not, 77 (skipped) if a package is
not there.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from etx_commands import has_stock_runtime, optional_passes, step, try_stock

try:
    import export_models
    from architectures import ARCHITECTURES
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

FEW = 16  # architectures that are tried without --all


def try_model(etx, directory, form, target, program):
    methods = os.path.join(directory, form)
    return (step([etx, "plan", methods, "-o", program, "--target", target]) or
            step([etx, "verify", program]) or
            step([etx, "run", program, "--case", directory]) or
            (try_stock(directory, program)
             if target == "executorch" and has_stock_runtime() else None))


def try_passes(etx, directory, program):
    """What differs with a pass switched off, as lines."""
    wrong = []
    for name in optional_passes(etx):
        problem = (step([etx, "plan", directory, "-o", program,
                         f"--passes=-{name}"]) or
                   step([etx, "run", program, "--case", directory]))
        if problem:
            wrong.append(f"without {name}: {problem}")
    return wrong


def exported(name, root):
    directory = os.path.join(root, name)
    if not os.path.exists(os.path.join(directory, "cases.json")):
        with export_models.torch.no_grad():
            export_models.export(name, directory)
    return directory


def try_one(etx, name, root, each_pass):
    """What is wrong with a model, as lines, and how long it took."""
    start = time.monotonic()
    directory = exported(name, root)
    program = os.path.join(root, f"{name}.pte")
    wrong = []
    for form in ("", "core"):
        for target in ("etx", "executorch"):
            problem = try_model(etx, directory, form, target, program)
            if problem:
                wrong.append(f"{form or 'functional'}, {target}: {problem}")
    if each_pass:
        wrong += try_passes(etx, directory, program)
    return wrong, time.monotonic() - start


def try_all(words, names, root):
    bad = 0
    # Forked, so that the packages are imported once.
    with ProcessPoolExecutor(words.jobs, get_context("fork")) as pool:
        jobs = [pool.submit(try_one, words.etx, name, root, words.each_pass)
                for name in names]
        for name, job in zip(names, jobs):
            wrong, seconds = job.result()
            bad += bool(wrong)
            print(f"{name}: {'agrees' if not wrong else 'DIFFERS'} "
                  f"({seconds:.1f} s)", flush=True)
            for line in wrong:
                print(f"  {line}", flush=True)
    print(f"{len(names) - bad} of {len(names)} models agree")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--each-pass", action="store_true")
    parser.add_argument("--exported")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count()))
    words = parser.parse_intermixed_args()
    names = words.names or list(ARCHITECTURES)[:None if words.all else FEW]
    export_models.quiet()
    if words.exported:
        return try_all(words, names, words.exported)
    with tempfile.TemporaryDirectory() as root:
        return try_all(words, names, root)


if __name__ == "__main__":
    sys.exit(main())
