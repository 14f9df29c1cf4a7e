#!/usr/bin/env python3
"""Small models through both exporters and both runtimes.

    check_interop.py ETX [--table FILE] [--check FILE] [--only WORD]
                     [--keep DIRECTORY] [--jobs N]

Each model of models_*.py becomes a program twice, by the stock exporter
(torch.export, to_edge, to_executorch) and by `etx plan --target executorch`
from .pt2 archives. Each program runs in both runtimes. The outputs, changed
inputs and states of each of the four are compared with PyTorch after every
call. The result is a table in Markdown: --table writes it, --check
compares it with one that was written before.

Ends with 0 if no cell is red, 1 if one is or if the table differs from that of
--check, 77 (skipped) if the packages are not there.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import needed_packages  # noqa: F401
import torch

import eager_side
import etx_side
import stock_side
from interop_table import CELLS, Row, table_of
from model_list import all_models, make


def attempt(action):
    """The errors that the action found, as lines; none if all is well."""
    try:
        return action() or []
    except etx_side.Refused as refusal:
        return str(refusal).splitlines()
    except Exception as error:  # whatever a package throws is a result
        return [f"{type(error).__name__}: {error}".splitlines()[0]]


def check_model(etx, model, directory):
    """The number of calls, and the four results: a dictionary of (file,
    runtime) to lines that say what is wrong."""
    try:
        programs, functional = eager_side.export(model)
        calls = eager_side.reference(model, functional)
    except Exception as error:  # the model is wrong, or PyTorch cannot
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return 0, {cell: [text] for cell in CELLS}
    # Without sharing a stock file keeps each method's state in arena 1, where
    # it has no name for etx.
    named = len(programs) > 1 and model.share
    results = {}
    for file in ("stock", "etx"):
        path = os.path.join(directory, f"{file}.pte")
        if file == "stock":
            made = attempt(
                lambda: stock_side.export_file(model, programs, path))
        else:
            made = attempt(lambda: etx_side.plan(
                etx, functional, os.path.join(directory, "methods"), path))
        if made:
            results[file, "stock"] = results[file, "etx"] = made
            continue
        with_state = named or file == "etx"
        results[file, "stock"] = attempt(lambda: stock_side.run(
            path, calls, model.tolerance, is_etx=file == "etx"))
        results[file, "etx"] = attempt(lambda: etx_side.run(
            etx, path, calls, os.path.join(directory, f"{file}_case"),
            model.tolerance, with_state))
        wrong = etx_side.verify(etx, path)
        if wrong:
            results[file, "etx"].append(f"etx verify: {wrong}")
    return len(calls), results


def check_one(etx, index, keep):
    """The row of a model, with how long it took."""
    started = time.monotonic()
    family, name, maker = all_models()[index]
    model = make(maker)
    with tempfile.TemporaryDirectory() as scratch:
        directory = scratch
        if keep:
            directory = os.path.join(keep, name.replace(" ", "_"))
            os.makedirs(directory, exist_ok=True)
        count, results = check_model(etx, model, directory)
    row = Row(family, name, count, results, model.defects)
    return row, time.monotonic() - started


def is_same(text, path):
    """True if the table is the one in the file, or there is nothing to
    compare with."""
    if path is None:
        return True
    with open(path) as file:
        if file.read() == text:
            return True
    print(f"{path} shows another table; write it again with --table")
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etx")
    parser.add_argument("--table")
    parser.add_argument("--check")
    parser.add_argument("--only")
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count()))
    options = parser.parse_args()
    chosen = [
        index for index, (family, name, _) in enumerate(all_models())
        if not options.only or options.only in (family, name)
    ]
    rows = []
    torch.set_num_threads(1)
    # Forked, so that the packages are imported once.
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        jobs = [pool.submit(check_one, options.etx, index, options.keep)
                for index in chosen]
        for job in jobs:
            row, seconds = job.result()
            rows.append(row)
            print(f"{row.name}: {row.summary()} ({seconds:.1f} s)", flush=True)
            for line in row.explain():
                print(f"  {line}")
    text = table_of(rows)
    if options.table:
        with open(options.table, "w") as file:
            file.write(text)
    red = sum(row.is_red() for row in rows)
    print(f"{len(rows) - red} models agree, {red} do not")
    return 1 if red or not is_same(text, options.check) else 0


if __name__ == "__main__":
    sys.exit(main())
