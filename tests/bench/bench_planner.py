#!/usr/bin/env python3
"""Measures the planner: hard instances, few steps, many blocks, real methods.

    bench_planner.py BUILD [--minimalloc BINARY] [--markdown FILE]

BUILD is a build directory of etx in which bench_planner is built. --minimalloc
is MiniMalloc (github.com/google/minimalloc), built by yourself; it runs in
turns with etx. With the Python packages torch and executorch, ExecuTorch's own
planners run with the lifetimes of the real methods. Programs that are missing
are left out, and the page says so. --markdown replaces the text between the
markers of FILE.

Every measurement is a process of its own. A time is the processor time of the
thread that plans, without reading files. Every plan of a CSV file, from either
planner, is validated here by code that shares nothing with them.
"""

import argparse
import bisect
import csv
import glob
import json
import logging
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from importlib import metadata

from figures import machine, write_markdown

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
CAPACITY = 1048576
# The smallest published arenas; the others are CAPACITY, their bound.
BEST_KNOWN = {"C": 1039360, "D": 1015808, "J": 1032192}
MANY_STEPS = 20000000
FEW_STEPS = (1, 1000, 10000, 100000, 1000000)
FAMILIES = ("net", "stair", "uniform", "train", "nested", "equal", "overlap")
COUNTS = (10**4, 10**5, 10**6)
ALIGNMENT = 16  # of ExecuTorch's memory planning pass


# ---- the validator ----

def read_blocks(path):
    with open(path, newline="") as file:
        return [{k: int(v) for k, v in row.items()}
                for row in csv.DictReader(file)]


def validate(problem, solution, capacity=None):
    """Returns the arena of a plan; raises ValueError if it is not valid."""
    if len(problem) != len(solution):
        raise ValueError("blocks are missing")
    offsets = {row["id"]: row for row in solution}
    events = []
    for index, block in enumerate(problem):
        row = offsets[block["id"]]
        if any(row[key] != block[key] for key in ("lower", "upper", "size")):
            raise ValueError(f"block {block['id']} differs from the problem's")
        if row["offset"] < 0:
            raise ValueError(f"block {block['id']} lies below 0")
        if block["size"] > 0:
            place = (row["offset"], row["offset"] + block["size"], index)
            events.append((block["upper"], 0, place))
            events.append((block["lower"], 1, place))
    live = []
    for _, born, place in sorted(events):
        at = bisect.bisect_left(live, place)
        if not born:
            del live[at]
            continue
        if at > 0 and live[at - 1][1] > place[0]:
            raise ValueError("two blocks overlap")
        if at < len(live) and live[at][0] < place[1]:
            raise ValueError("two blocks overlap")
        live.insert(at, place)
    arena = max((place[1] for _, _, place in events), default=0)
    if capacity is not None and arena > capacity:
        raise ValueError(f"{arena} bytes are more than {capacity}")
    return arena


def most_live(problem):
    change = {}
    for block in problem:
        for time_, size in ((block["lower"], block["size"]),
                            (block["upper"], -block["size"])):
            change[time_] = change.get(time_, 0) + size
    live = most = 0
    for time_ in sorted(change):
        live += change[time_]
        most = max(most, live)
    return most


# ---- the programs ----

class Etx:
    def __init__(self, build, directory):
        self.binary = os.path.join(build, "bench_planner")
        if not os.path.exists(self.binary):
            raise SystemExit(f"'{self.binary}' is not there; build the target "
                             "bench_planner first")
        self.solution = os.path.join(directory, "etx.csv")

    def run(self, *arguments, **options):
        command = [self.binary]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        done = subprocess.run(command + [str(a) for a in arguments],
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def plan(self, path, **options):
        """Plans a file and validates the plan."""
        row = self.run(path, solution=self.solution, **options)
        if row["arena"] is not None:
            arena = validate(numbered(read_blocks(path)),
                             read_blocks(self.solution),
                             options.get("capacity"))
            if arena != row["arena"]:
                raise ValueError(f"{path}: {arena} is not {row['arena']}")
        return row


def numbered(blocks):
    return [dict(block, id=i) for i, block in enumerate(blocks)]


class MiniMalloc:
    def __init__(self, binary, directory):
        self.binary = binary
        self.solution = os.path.join(directory, "minimalloc.csv")

    def plan(self, path):
        """Its processor time in seconds, the whole process; checked."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([self.binary, f"--capacity={CAPACITY}",
                        f"--input={path}", f"--output={self.solution}"],
                       check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        validate(read_blocks(path), read_blocks(self.solution), CAPACITY)
        return (after.ru_utime - before.ru_utime +
                after.ru_stime - before.ru_stime)


def stock_planners():
    """ExecuTorch's planners as (version, function), or None."""
    try:
        logging.disable(logging.WARNING)
        import torch
        from executorch.exir.memory_planning import greedy, naive
        from executorch.exir.tensor import TensorSpec
    except ImportError:
        return None

    def plan(problem):
        arenas = []
        for algorithm in (greedy, naive):
            specs = []
            for block in problem:
                spec = TensorSpec(torch.uint8, torch.Size([block["size"]]))
                spec.lifetime = [block["lower"], block["upper"] - 1]
                specs.append(spec)
            module = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
            arenas.append(
                sum(algorithm(ALIGNMENT, specs, module, None, 0).bufsizes))
        return arenas
    return metadata.version("executorch"), plan


# ---- the tables ----

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |"
              for row in rows]
    return "\n".join(lines) + "\n"


def number(value):
    return f"{value:,}".replace(",", " ")


def milliseconds(seconds):
    digits = 2 if seconds < 1e-3 else 1 if seconds < 0.1 else 0
    return f"{seconds * 1e3:.{digits}f}"


def ratio(arena, bound):
    return f"{arena / max(bound, 1):.4f}"


def instances():
    for path in sorted(glob.glob(os.path.join(DATA, "minimalloc", "*.csv"))):
        yield os.path.basename(path)[0], path


def hard_section(etx, minimalloc):
    rows, ours, theirs = [], [], []
    for name, path in instances():
        row = etx.plan(path, capacity=CAPACITY, rounds=5)
        if row["arena"] is None:
            raise ValueError(f"{name}: no plan within {CAPACITY}")
        ours.append(row["seconds"])
        cells = [name, row["blocks"], number(row["arena"]), row["algorithm"],
                 milliseconds(row["seconds"])]
        if minimalloc:
            theirs.append(minimalloc.plan(path))
            cells += [milliseconds(theirs[-1]),
                      f"{theirs[-1] / row['seconds']:.0f}"]
        rows.append(cells)
    total = ["all", "", "", "", milliseconds(sum(ours))]
    head = ["instance", "blocks", "arena", "found by", "etx ms"]
    if minimalloc:
        head += ["MiniMalloc ms", "MiniMalloc / etx"]
        total += [milliseconds(sum(theirs)), f"{sum(theirs) / sum(ours):.0f}"]
    note = ("" if minimalloc else
            "MiniMalloc was not available for this run.\n\n")
    return note + table(head, rows + [total])


def smallest_section(etx):
    rows = []
    for name, path in instances():
        default = etx.plan(path)
        many = etx.plan(path, steps=MANY_STEPS, rounds=1)
        known = BEST_KNOWN.get(name, CAPACITY)
        least = min(default["arena"], many["arena"])
        verdict = ("a new best" if least < known else
                   "the best known" if least == known else
                   f"{ratio(least, known)} of the best known")
        if least == max(default["bound"], many["bound"]):
            verdict = "proved"
        rows.append([name, number(most_live(read_blocks(path))), number(known),
                     number(default["arena"]),
                     milliseconds(default["seconds"]), number(many["arena"]),
                     milliseconds(many["seconds"]), verdict,
                     asked_for(etx, path, known)])
    return table(["instance", "bound", "best known", "arena", "ms",
                  "arena, 20 M steps", "ms", "",
                  "asked for the best known, ms"], rows)


def asked_for(etx, path, capacity):
    """The milliseconds until a plan within a capacity is found."""
    row = etx.plan(path, capacity=capacity, steps=2 * MANY_STEPS, rounds=1)
    return "not found" if row["arena"] is None else milliseconds(row["seconds"])


def anytime_section(etx):
    rows = []
    for name, path in instances():
        cells = [name]
        for steps in FEW_STEPS:
            row = etx.plan(path, steps=steps, rounds=3, seconds=0.5)
            cells.append(f"{ratio(row['arena'], most_live(read_blocks(path)))}"
                         f" in {milliseconds(row['seconds'])}")
        rows.append(cells)
    return table(["instance"] + [f"{number(s)} step{'s' * (s > 1)}"
                                 for s in FEW_STEPS], rows)


def family_section(etx):
    rows, growth = [], []
    for family in FAMILIES:
        per_block = {}
        for count in COUNTS:
            first = etx.run(family, count, steps=1, rounds=3, seconds=1)
            row = etx.run(family, count, rounds=2, seconds=1)
            per_block[count] = [first["seconds"] / count,
                                row["seconds"] / count]
            rows.append([family, number(count), number(row["bound"]),
                         ratio(first["arena"], row["bound"]),
                         milliseconds(first["seconds"]),
                         f"{first['peak_bytes'] / 1e6:.0f}",
                         ratio(row["arena"], row["bound"]),
                         milliseconds(row["seconds"]),
                         f"{row['work_bytes'] / 1e6:.0f}",
                         f"{row['peak_bytes'] / 1e6:.0f}", row["algorithm"]])
        growth.append([family] + [
            f"{per_block[COUNTS[-1]][i] / per_block[COUNTS[0]][i]:.1f}"
            for i in (0, 1)])
    row = etx.run("net", 62000, steps=1, rounds=5)
    return (table(["family", "blocks", "bound", "arena / bound, 1 step", "ms",
                   "peak MB", "arena / bound", "ms", "work MB", "peak MB",
                   "found by"], rows) +
            f"\n`net` of 62 000 blocks, 1 step: {milliseconds(row['seconds'])}"
            f" ms, {ratio(row['arena'], row['bound'])} of the bound.\n\n"
            "Time per block at 1 000 000 blocks divided by time per block at "
            "10 000:\n\n"
            + table(["family", "1 step", "default steps"], growth))


def exported_arenas():
    """ExecuTorch's arena when these methods were exported, by method."""
    path = os.path.join(DATA, "plans", "bounds.csv")
    with open(path, newline="") as file:
        return {row["method"]: int(row["stock"])
                for row in csv.DictReader(file)}


def methods_section(etx, stock):
    rows, at_bound, above, worse, same = [], 0, 0, 0, 0
    worst = 1.0
    exported = exported_arenas()
    for path in sorted(glob.glob(os.path.join(DATA, "plans", "*.csv"))):
        name = os.path.basename(path)[:-4]
        if name == "bounds":
            continue
        problem = read_blocks(path)
        row, bound = etx.plan(path, rounds=3, seconds=1), most_live(problem)
        at_bound += row["arena"] == bound
        cells = [name, row["blocks"], number(bound), number(row["arena"]),
                 ratio(row["arena"], bound), milliseconds(row["seconds"])]
        if stock:
            greedy, naive = stock[1](problem)
            worst = max(worst, greedy / max(bound, 1))
            above += greedy > bound
            worse += row["arena"] > greedy
            same += greedy == exported[name]
            cells += [number(greedy), ratio(greedy, bound), number(naive)]
        rows.append(cells)
    head = ["method", "blocks", "bound", "etx", "etx / bound", "etx ms"]
    text = f"etx reaches the bound on {at_bound} of {len(rows)}."
    if stock:
        head += ["ExecuTorch greedy", "greedy / bound", "ExecuTorch naive"]
        text += (f" ExecuTorch's greedy planner needs more than the bound on "
                 f"{above}, at worst {worst:.4f} of it; etx needs more than "
                 f"ExecuTorch's on {worse}. On {same}, its arena here equals "
                 "the one when the method was exported (`bounds.csv`).")
    else:
        text += " The package executorch was not available for this run."
    return text + "\n\n" + table(head, rows)


# ---- the document ----

def setting(build, minimalloc, stock):
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        cache = dict(re.findall(r"^(\w+):\w+=(.*)$", file.read(), re.M))
    version = subprocess.run([cache["CMAKE_C_COMPILER"], "--version"],
                             capture_output=True, text=True, check=True)
    lines = [f"Machine: {machine()}, of which one is used; load at the start "
             f"{os.getloadavg()[0]:.1f}. Compiler: "
             f"{version.stdout.splitlines()[0]}, "
             f"{cache.get('CMAKE_BUILD_TYPE') or 'Release'}."]
    lines.append("MiniMalloc: built from its public source, "
                 "processor time of its process."
                 if minimalloc else "MiniMalloc: not run.")
    lines.append(f"ExecuTorch: the package of version {stock[0]}, Python "
                 f"{sys.version.split()[0]}." if stock
                 else "ExecuTorch: not run.")
    return " ".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--minimalloc", metavar="BINARY")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        etx = Etx(options.build, directory)
        minimalloc = (MiniMalloc(options.minimalloc, directory)
                      if options.minimalloc else None)
        stock = stock_planners()
        parts = {"setting": setting(options.build, minimalloc, stock)}
        for name, make in (
                ("hard", lambda: hard_section(etx, minimalloc)),
                ("smallest", lambda: smallest_section(etx)),
                ("anytime", lambda: anytime_section(etx)),
                ("families", lambda: family_section(etx)),
                ("methods", lambda: methods_section(etx, stock))):
            start = time.monotonic()
            parts[name] = make()
            print(f"{name}: {time.monotonic() - start:.0f} s",
                  file=sys.stderr)
    for name, content in parts.items():
        print(f"## {name}\n\n{content}")
    if options.markdown:
        write_markdown(options.markdown, parts)


if __name__ == "__main__":
    main()
