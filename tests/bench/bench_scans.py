#!/usr/bin/env python3
"""What a step of a scan or map costs in a loop, beside the unrolled one.

    bench_scans.py BUILD [--seconds X] [--markdown FILE]

Exports each model with 1000 rows, plans it unrolled, as a loop over rows
(`--unroll 1`) and as a loop over blocks of rows (`--unroll 1000`), compares the
outputs bit by bit, and measures the files in turns. Times are the least ones, which
other programs on the machine disturb less than medians. The table also has the sizes of
the files, and the scratch memory without the stacked results at 1000 and 4000 rows.
--markdown writes it between the markers of a document.

Needs the package torch==2.13.0.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

import torch
from figures import machine, write_markdown
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan

ROWS, MORE_ROWS = 1000, 4000
LIMITS = {"unrolled": 1000000, "rows": 1, "blocks": 1000}


class Gru(torch.nn.Module):
    """scan of a GRU cell of 64 units"""
    row, stacked_bytes = (1, 64), 256

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(64, 64)

    def forward(self, x):
        def step(h, row):
            h = self.cell(row, h)
            return h, h.clone()

        return scan(step, torch.zeros(1, 64), x)


class Small(torch.nn.Module):
    """scan of `tanh(0.5 h + x)` and a product, 4 floats"""
    row, stacked_bytes = (4,), 16

    def forward(self, x):
        def step(h, row):
            h = torch.tanh(h * 0.5 + row)
            return h, h * 2

        return scan(step, torch.zeros(4), x)


class Map(torch.nn.Module):
    """map of `tanh(0.5 x) sigmoid(x) + 1`, 4 floats"""
    row, stacked_bytes = (4,), 16

    def forward(self, x):
        return torch_map(
            lambda row: torch.tanh(row * 0.5) * torch.sigmoid(row) + 1, x)


def export(model, rows, path):
    torch.manual_seed(0)
    with torch.no_grad():
        program = torch.export.export(model().eval(),
                                      (torch.randn(rows, *model.row),),
                                      strict=False)
        torch.export.save(program.run_decompositions({}), path)


def run(*words, allowed=(0,)):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def plan(etx, archive, kind):
    """The program, and its bytes of scratch."""
    program = f"{archive[:-4]}-{kind}.pte"
    report = json.loads(run(etx, "plan", archive, "-o", program, "--json",
                            "--unroll", str(LIMITS[kind])))
    return program, report["scratch_bytes"]


def row_of(etx, model, directory, seconds):
    """One row of the table."""
    archive = os.path.join(directory, "forward.pt2")
    export(model, MORE_ROWS, archive)
    more = plan(etx, archive, "blocks")[1] - MORE_ROWS * model.stacked_bytes
    export(model, ROWS, archive)
    files, scratch = zip(*(plan(etx, archive, kind) for kind in LIMITS))
    measured = []
    for other in files[1:]:
        # The exit code tells whether some instruction differs, which may be
        # those of different steps; only outputs count.
        said = run(etx, "diff", files[0], other, "forward", "--rtol", "0", "--atol",
                   "0", allowed=(0, 6))
        if "; 0 outputs differ" not in said:
            sys.exit(f"{other}: {said}")
        measured.append(json.loads(run(etx, "bench", "--compare", files[0], other,
                                     "--seconds", str(seconds), "--json"))[0])
    least = [min(r["file"]["least"] for r in measured)]
    least += [r["other"]["least"] for r in measured]
    times = " | ".join(f"{1e6 * time:.0f} µs" for time in least)
    sizes = " | ".join(f"{os.path.getsize(file) / 1000:.0f} KB" for file in files)
    less = scratch[2] - ROWS * model.stacked_bytes
    parts = [f"{time / least[0]:.2f}" for time in least[1:]]
    return (f"| {model.__doc__} | {times} | {' | '.join(parts)} | {sizes} | {less} "
            f"| {more} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--markdown")
    words = parser.parse_args()
    warnings.filterwarnings("ignore")
    etx = os.path.join(words.build, "etx")
    lines = [
        "| model | unrolled | rows | blocks | rows / unrolled | blocks / unrolled "
        "| file, unrolled | rows | blocks | scratch, 1000 rows | 4000 rows |",
        "|---|---|---|---|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as directory:
        for model in (Gru, Small, Map):
            lines.append(row_of(etx, model, directory, words.seconds))
    lines += ["", f"Least times of calls in turns, on {machine()}."]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if words.markdown:
        write_markdown(words.markdown, {"scans": text})


if __name__ == "__main__":
    main()
