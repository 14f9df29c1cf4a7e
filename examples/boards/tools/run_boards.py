#!/usr/bin/env python3
"""Builds and runs the applications on all boards, and prints a table.

    run_boards.py --build BUILD -o DIR [--boards NAME...] [--applications NAME...]

Fails if a board writes other bits than this machine, if results are not those of
eager PyTorch, if a run uses more stack than was computed, or if a run with too
small a stack goes unnoticed.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

import build_board
import recorded_calls

BOARDS = build_board.BOARDS
ROOT = BOARDS.parents[1]
SETS = ROOT / "tests/data/pt2"

# Exit code of a board whose stack was overrun (board_stack.c).
OVERRUN_CODE = 3

# So many bytes fewer than a run uses are too few, however its frames are aligned.
MISSING_STACK_BYTES = 1024

# Each application: what is planned, which parts its runtime lacks beside messages,
# which recorded inputs it has, and what eager PyTorch answered.
APPLICATIONS = {
    "stateful": {
        "model": ROOT / "samples/stateful_model", "options": [],
        "select": ["--leave-out", "size-programs"]},
    "gru": {
        "model": SETS / "gru", "options": [], "frames": ["c001.in0", "c002.in0"],
        "expected": {"output": ["c001.out0", "c002.out0"],
                     "state": ["c001.state.h", "c002.state.h"]},
        "tolerance": 1e-5},
    "image_int8": {
        "model": SETS / "static/images_signed.pt2",
        "options": ["--memory", "sram=4K", "--memory", "psram=1M"],
        "boards": ["cortex-m3", "cortex-m4", "riscv32"],  # the others take long
        "recorded": SETS / "static", "frames": ["c000.in0"],
        "expected": {"output": ["c000.out0"]}, "tolerance": 1e-6},
}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          **options)


class Application:
    """One application: its program, its runtime, and the bits it must write."""

    def __init__(self, name, build, out):
        self.name, self.build, self.facts = name, build, APPLICATIONS[name]
        self.out = out / name
        self.out.mkdir(parents=True, exist_ok=True)
        self.recorded = self.facts.get("recorded", self.facts["model"])
        self.program = self.out / f"{name}.pte"
        self.header = self.out / f"{name}.h"
        self.runtime = self.out / "runtime"
        self.table = self.out / "table"  # for the libraries of this machine
        self.source = BOARDS / "applications" / name / "main.c"

    def prepare(self):
        facts = self.facts
        run(self.build / "etx", "plan", facts["model"], "-o", self.program,
            "--header", self.header, "--quiet", *facts["options"])
        if "frames" in facts:
            (self.out / "frames.h").write_text(
                recorded_calls.frames_header(self.recorded, facts["frames"]))
        run(self.build / "etx", "select", self.program, "--amalgamate", "core",
            "--machine", "portable", "--leave-out", "messages",
            *self.facts.get("select", []), "-o", self.runtime,
            stdout=subprocess.DEVNULL)
        run(self.build / "etx", "select", self.program, "-o", self.table,
            stdout=subprocess.DEVNULL)
        self.expected = bits_of(self.run_here())

    def run_here(self):
        """Runs the application on this machine, with the full libraries."""
        here = self.out / "here"
        name = self.name.upper()
        stack = f"-D{name}_STACK_BYTES=0"
        run("cc", "-std=c11", "-O2", "-Wall", "-Wextra", stack,
            f'-DPROGRAM_FILE="{self.program}"', f"-I{self.out}",
            f"-I{self.build}/include", f"-I{self.build}/include/etx",
            f"-I{BOARDS}", f"-I{BOARDS}/applications", self.source,
            BOARDS / "applications/print_results.c", BOARDS / "on_desktop.c",
            self.table / "etx_selected.c", f"-I{self.table}",
            "-include", self.table / "etx_selected.h",
            *(self.build / f"libetx_{library}.a"
              for library in ("shared_memory", "runtime", "format")),
            "-lm", "-o", here)
        text = run(here, capture_output=True).stdout
        if "expected" in self.facts:
            recorded_calls.check(text, self.recorded, self.facts["expected"],
                                 self.facts["tolerance"])
        return text


def bits_of(text):
    return [line for line in text.splitlines() if line.startswith("bits ")]


def number_of(text, name):
    return int(re.search(rf"^{name} (\d+)$", text, re.M).group(1))


def check_board(board, application):
    """Builds and runs; returns the row of the table."""
    out = application.out / board["name"]
    build = build_board.Build(board, application.runtime, out)
    elf, stack = build.application([application.source], application.program,
                                   application.header)
    code, text = build_board.run(board, elf)
    where = f"{application.name} on {board['name']}"
    if code != 0:
        raise SystemExit(f"{where}: exit code {code}\n{text}")
    if bits_of(text) != application.expected:
        raise SystemExit(f"{where}: other bits than on this machine\n{text}")
    used, declared = number_of(text, "stack"), stack
    if used > declared:
        raise SystemExit(f"{where}: {used} bytes of stack, computed: {declared}")
    flash, ram = build_board.sizes(board, elf)
    needed = stack - build_board.APPLICATION_STACK_BYTES
    return [board["processor"], application.name, flash, ram - stack, used, needed,
            number_of(text, "instructions")]


def check_small_stack(board, application, used):
    """A run with too small a stack must end with the code of an overrun."""
    out = application.out / (board["name"] + "-small-stack")
    build = build_board.Build(board, application.runtime, out)
    stack = (used - MISSING_STACK_BYTES) // 16 * 16
    elf, _ = build.application([application.source], application.program,
                               application.header, stack,
                               ["-DBOARD_STACK_ANY_SIZE"])
    code, text = build_board.run(board, elf)
    if code != OVERRUN_CODE:
        raise SystemExit(f"{application.name} on {board['name']}: a stack of {stack} "
                         f"bytes went unnoticed, exit code {code}\n{text}")


def rows_of(board, applications):
    rows = []
    for application in applications:
        if board["name"] not in application.facts.get("boards", [board["name"]]):
            continue
        rows.append(check_board(board, application))
        check_small_stack(board, application, rows[-1][4])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    parser.add_argument("--boards", nargs="+", default=list(build_board.boards()))
    parser.add_argument("--applications", nargs="+", default=list(APPLICATIONS))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    applications = [Application(name, options.build.resolve(),
                                options.out.resolve())
                    for name in options.applications]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(Application.prepare, applications))
        found = build_board.boards()
        rows = pool.map(lambda name: rows_of(found[name], applications),
                        options.boards)
        print("| processor | application | flash | RAM without stack | stack used "
              "| stack computed | instructions a step |")
        print("|---|---|---|---|---|---|---|")
        for row in (row for group in rows for row in group):
            print("| " + " | ".join(f"{cell:,}".replace(",", " ")
                                    if isinstance(cell, int) else cell
                                    for cell in row) + " |", flush=True)


if __name__ == "__main__":
    main()
