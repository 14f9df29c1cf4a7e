#!/usr/bin/env python3
"""Arenas of whole methods: etx beside ExecuTorch's own planners.

    bench_methods.py BUILD --keep DIRECTORY [--only WORD] [--markdown FILE]

The methods are every archive of tests/data/pt2 in functional and in core ATen,
the translator's,
and the models of large_models.py. Each method gives two problems, and each
problem goes to etx's and to ExecuTorch's planners:

  with etx's lifetimes          as `etx plan` computes them
  with ExecuTorch's lifetimes   as its exporter computes them

Needs the Python packages torch, executorch and, for the large models,
transformers. ExecuTorch's exporter takes minutes for a large method; its
results are kept in the directory --keep. --markdown replaces the text between
the markers of FILE. Ends with 1 if etx needs more than ExecuTorch anywhere, or
more than 1.02 of the bound without a proof.
"""

import argparse
import glob
import itertools
import json
import os
import subprocess
import sys
import tempfile

from bench_planner import (DATA, HERE, Etx, most_live, number, ratio,
                           read_blocks, stock_planners, table)
from figures import write_markdown

SAMPLE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "samples",
                      "translate", "model", "pt2")
ALIGNMENT = 16
ENOUGH = 1.02  # of the bound
FEW = 7  # blocks, of which all plans are looked at


def large_models():
    from large_models import DEEP, MODELS
    return [("model", n) for n in MODELS] + [("deep", n) for n in DEEP]


def sources(keep):
    """(name, directory of archives, words that make ExecuTorch's plans)."""
    sets = [(os.path.basename(d), d)
            for d in sorted(glob.glob(os.path.join(DATA, "pt2", "*")))
            if os.path.isdir(d)] + [("translate", SAMPLE)]
    for name, directory in sets:
        for form in ("", "core"):
            path = os.path.join(directory, form).rstrip("/")
            files = sorted(glob.glob(os.path.join(path, "*.pt2")))
            label = f"{name}.{form}" if form else name
            yield label, path, ["set", label, *files]
    for kind, name in large_models():
        yield name, os.path.join(keep, name), [kind, name]


def lifetimes_of(source, keep):
    """ExecuTorch's plans of a source, made once."""
    name, _, words = source
    path = os.path.join(keep, f"{name}.json")
    if not os.path.exists(path):
        subprocess.run([sys.executable,
                        os.path.join(HERE, "stock_lifetimes.py"), keep,
                        *words], check=True)
    with open(path) as file:
        return json.load(file)


def etx_report(build, directory, folder):
    """The report of `etx plan`, or None if it refuses a method; then each is
    planned alone."""
    etx, out = os.path.join(build, "etx"), os.path.join(folder, "model.pte")
    rows = {}
    whole = subprocess.run([etx, "plan", directory, "-o", out, "--json"],
                           capture_output=True, text=True)
    if whole.returncode == 0:
        reports = [whole.stdout]
    else:
        reports = []
        for path in sorted(glob.glob(os.path.join(directory, "*.pt2"))):
            done = subprocess.run([etx, "plan", path, "-o", out, "--json"],
                                  capture_output=True, text=True)
            if done.returncode == 0:
                reports.append(done.stdout)
    for report in reports:
        for row in json.loads(report)["methods"]:
            rows[row["name"]] = row
    return rows


def own_problem(row):
    """The blocks of a method of a report; sizes as its planner counts them."""
    return [{"lower": b["start"], "upper": b["end"], "bytes": b["bytes"],
             "size": -(-b["bytes"] // ALIGNMENT) * ALIGNMENT}
            for b in row["blocks"] if not b["stable"] and b["bytes"] > 0]


class Figures:
    """One problem: how many blocks, the bound, and what each planner needs."""

    def __init__(self, blocks, bound, etx, proved, greedy, naive):
        self.blocks, self.bound, self.etx = blocks, bound, etx
        self.proved, self.greedy, self.naive = proved, greedy, naive

    def cells(self):
        return [number(self.blocks), number(self.bound),
                number(self.etx) + (", proved" if self.proved and
                                    self.etx > self.bound else ""),
                number(self.greedy), number(self.naive)]

    def is_worse(self):
        return self.etx > min(self.greedy, self.naive)

    def is_far(self):
        return not self.proved and self.etx > ENOUGH * self.bound


def smallest(blocks):
    """The smallest arena of a few blocks: each order is tried, and each block is
    placed above the blocks before it that are live at the same time."""
    best = None
    for order in itertools.permutations(blocks):
        tops = []
        for block in order:
            at = max((top for other, top in tops
                      if other["lower"] < block["upper"]
                      and block["lower"] < other["upper"]), default=0)
            at = -(-at // ALIGNMENT) * ALIGNMENT
            tops.append((block, at + block["size"]))
        arena = max(top for _, top in tops)
        best = arena if best is None else min(best, arena)
    return best


def own_figures(row, stock):
    problem = own_problem(row)
    greedy, naive = stock[1](problem) if problem else (0, 0)
    arena, proved = row["planned_bytes"], row["proved"]
    # The bound does not count the padding of one block, though that block may
    # not be the highest. Where that matters, all plans of few blocks are tried.
    if not proved and len(problem) <= FEW:
        exact = [dict(b, size=b["bytes"]) for b in problem]
        proved = smallest(exact) == arena
    return Figures(len(problem), row["lower_bound"], arena, proved, greedy,
                   naive)


def stock_figures(path, etx, stock):
    problem = read_blocks(path)
    if not problem:
        return Figures(0, 0, 0, True, 0, 0)
    row = etx.plan(path)
    greedy, naive = stock[1](problem)
    return Figures(len(problem), most_live(problem), row["arena"],
                   row["arena"] == row["bound"], greedy, naive)


def measure(source, keep, build, etx, stock, folder):
    """(method, own figures or None, ExecuTorch's figures or a reason)."""
    name, directory, words = source
    theirs = lifetimes_of(source, keep)
    ours = etx_report(build, directory, folder)
    if words[0] == "deep":
        for method in sorted(ours):
            yield method, own_figures(ours[method], stock), None
    for method in sorted(theirs):
        plan = theirs[method]
        own = own_figures(ours[method], stock) if method in ours else None
        if "error" in plan:
            yield method, own, plan["error"]
            continue
        for index in range(plan["problems"]):
            part = f".{index}" if index else ""
            figures = stock_figures(
                os.path.join(keep, f"{name}.{method}{part}.csv"), etx, stock)
            yield method + part, None if index else own, figures


def verdict(rows):
    """The text above the table, and whether etx is good enough everywhere."""
    all_figures = [f for row in rows for f in row[1:3]
                   if isinstance(f, Figures) and f.blocks > 0]
    at_bound = sum(f.etx <= f.bound for f in all_figures)
    proved = sum(f.proved and f.etx > f.bound for f in all_figures)
    worse = sum(f.is_worse() for f in all_figures)
    far = sum(f.is_far() for f in all_figures)
    above = sum(f.greedy > f.bound for f in all_figures)
    worst = max(f.greedy / max(f.bound, 1) for f in all_figures)
    text = (f"{len(all_figures)} problems. etx reaches the bound on "
            f"{at_bound}" + (f" and has proved the plan of {proved} more to be "
                             "the smallest" if proved else "") +
            f"; it needs more than {ENOUGH} of the bound without a proof on "
            f"{far}, more than one of ExecuTorch's planners on {worse}. "
            "ExecuTorch's greedy planner needs more than the bound on "
            f"{above}, at worst {worst:.4f} of it.\n")
    return text, worse == 0 and far == 0


HEAD = ["method", "blocks", "bound", "etx", "greedy", "naive"]


def own_table(rows):
    return table(HEAD, [[label, *own.cells()] for label, own, _ in rows
                        if own is not None and own.blocks > 0])


def stock_table(rows):
    return table(HEAD, [[label, *theirs.cells()] for label, _, theirs in rows
                        if isinstance(theirs, Figures) and theirs.blocks > 0])


def document(rows):
    text, good = verdict(rows)
    refused = {}
    for label, _, theirs in rows:
        if isinstance(theirs, str):
            reason = theirs.split(" {")[0].rstrip(":")
            refused.setdefault(reason, []).append(label)
    if refused:
        text += "\nExecuTorch's exporter refuses " + "; ".join(
            ", ".join(f"`{name}`" for name in names) + f" ({reason})"
            for reason, names in refused.items()) + ".\n"
    unplanned = [label for label, own, _ in rows
                 if own is None and "." not in label.split("/")[-1]]
    if unplanned:
        text += "\nNot planned by etx: " + ", ".join(
            f"`{name}`" for name in unplanned) + ".\n"
    return ("\n".join([text, "With etx's lifetimes:\n", own_table(rows),
                       "With ExecuTorch's lifetimes:\n", stock_table(rows)]),
            good)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--keep", metavar="DIRECTORY", required=True)
    parser.add_argument("--only", metavar="WORD", default="")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    os.makedirs(options.keep, exist_ok=True)
    stock = stock_planners()
    if stock is None:
        raise SystemExit("the Python packages torch and executorch are needed")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        etx = Etx(options.build, folder)
        for source in sources(options.keep):
            if options.only not in source[0]:
                continue
            for method, own, theirs in measure(
                    source, options.keep, options.build, etx, stock, folder):
                rows.append((f"{source[0]}/{method}", own, theirs))
                for figures in (own, theirs):
                    if isinstance(figures, Figures) and (
                            figures.is_worse() or figures.is_far()):
                        print("bad:", rows[-1][0], figures.cells(),
                              file=sys.stderr)
    text, good = document(rows)
    print(text)
    if options.markdown:
        write_markdown(options.markdown, {"archives": text})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
