#!/usr/bin/env python3
"""Every kind of file that the stock exporter writes, in etx; and what stock
tools make of the files that etx writes.

    check_files.py ETX [--only WORD]

Each check is a sentence and a function that raises if it does not hold. Ends
with 0 if all hold, 1 if not, 77 (skipped) if the packages are not there.
"""

import argparse
import sys
import tempfile
import traceback

import needed_packages  # noqa: F401
import torch

import file_checks_ours  # noqa: F401
import file_checks_theirs  # noqa: F401
from file_check_list import all_checks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etx")
    parser.add_argument("--only")
    options = parser.parse_args()
    failed = 0
    for side, sentence, function in all_checks():
        if options.only and options.only not in sentence:
            continue
        torch.manual_seed(5)
        try:
            with tempfile.TemporaryDirectory() as directory:
                function(options.etx, directory)
            print(f"ok: {side}: {sentence}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED: {side}: {sentence}", flush=True)
            traceback.print_exc(limit=-3, file=sys.stdout)
    print(f"{len(all_checks()) - failed} checks hold, {failed} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
