#!/usr/bin/env python3
"""Operators one by one with a varying size, from empty to the upper bound.

    varying_sizes.py ETX [--list] [--jobs N] [--kinds K...] [--forms F...]
                     [--] [NAME...]

Each call of varying_calls.py is exported with a size that varies, as a Dim from
0 on and as Dim.DYNAMIC, as exported, in functional and in core ATen. Each is
planned and run at several sizes, and compared with eager PyTorch. Where eager
PyTorch and the exported program both raise an error, etx must end with one,
but for the calls in RUNS of varying_calls.py; those in REFUSED may be refused.

A size that the exported program refuses may be refused. So may a size for which
its outputs have other ranks than it states (squeeze of one row), size 0 of
Dim.DYNAMIC, for which program.yaml must ask, and operators that
run_decompositions() replaces, in the forms before it. --list prints all that is
refused or not exported. Ends with 0, 1 if something differs or is refused
without a reason, 77 (skipped) if a package is not there. All calls take about
fifteen minutes of two processors.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

try:
    import torch
    from model_files import described, quiet, save_case
    from torch.export import Dim
    from torch.utils import _pytree as pytree
    from varying_calls import CALLS, REFUSED, RUNS
    from varying_inputs import N
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

EXAMPLE, MOST = 6, 12
SIZES = (0, 1, 2, 5, 8, MOST)
DECOMPOSE = "calling .run_decompositions()"
PYTORCH_RAISES = "ran, PyTorch raises"
REFUSING = 5  # the exit code of `etx run` for a call that ends with an error
KINDS = {
    "min0": lambda: Dim("n", min=0, max=MOST),
    "dynamic": lambda: Dim.DYNAMIC(max=MOST),
}
FORMS = {
    "raw": lambda program: program,
    "functional": lambda program: program.run_decompositions({}),
    "core": lambda program: program.run_decompositions(),
}


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return tuple(pytree.tree_leaves(self.function(*tensors)))


def type_and_shape(spec):
    return spec if isinstance(spec[0], torch.dtype) else (None, spec)


def make_input(spec, size):
    dtype, shape = type_and_shape(spec)
    shape = [size if extent == N else extent for extent in shape]
    if dtype == torch.int64:
        return torch.arange(torch.Size(shape).numel()).view(shape) * 5 % 4
    values = torch.randn(shape)
    return values > 0 if dtype == torch.bool else values


def dynamic_dims(spec, dim):
    return {i: dim for i, extent in enumerate(type_and_shape(spec)[1])
            if extent == N}


def result_of(model, inputs):
    """The outputs, or None if PyTorch raises."""
    try:
        return model(*[t.clone() for t in inputs])
    except Exception:
        return None


def is_same(a, b):
    return len(a) == len(b) and all(
        x.shape == y.shape and torch.allclose(x.float(), y.float(), 1e-4, 1e-5,
                                              equal_nan=True)
        for x, y in zip(a, b))


def run(etx, program, calls, directory):
    """How `etx run` of calls (pairs of inputs and outputs) ends: "agrees",
    "refused: ..." or what is wrong."""
    tensors, described_calls = {}, []
    for n, (inputs, outputs) in enumerate(calls):
        call = {"method": "forward", "input_mutations": [], "state": {}}
        for key, values in (("inputs", inputs), ("outputs", outputs or [])):
            call[key] = [described(value, f"{n}.{key}.{i}", tensors)
                         for i, value in enumerate(values)]
        described_calls.append(call)
    save_case({"format": 1, "atol": 1e-5, "rtol": 1e-4,
               "calls": described_calls}, tensors, directory)
    done = subprocess.run([etx, "run", program, "--case", directory],
                          capture_output=True, text=True)
    said = (done.stderr + done.stdout).strip()
    raises = calls[-1][1] is None
    if done.returncode == 0:
        return PYTORCH_RAISES if raises else "agrees"
    if done.returncode == REFUSING:
        reason = said.splitlines()[1].removeprefix(f"etx run: {program}: ")
        return "refused: " + reason[:300]
    if raises and done.returncode > 0:
        return PYTORCH_RAISES
    return f"ended with {done.returncode}: {said[:300]}"


class Expected:
    """What PyTorch does at a size: eagerly, and as the exported program."""

    def __init__(self, name, module, ranks, size):
        function, *specs = CALLS[name]
        torch.manual_seed(size)
        self.inputs = [make_input(spec, size) for spec in specs]
        self.outputs = result_of(Call(function), self.inputs)
        self.traced = result_of(module, self.inputs)
        self.must_run = (
            self.outputs is not None and self.traced is not None and
            is_same(self.outputs, self.traced) and
            [t.dim() for t in self.traced] == ranks)


def try_sizes(etx, kind, expected, program, directory):
    """What goes wrong at a size, and what is refused."""
    agreeing = [(e.inputs, e.outputs) for e in expected.values() if e.must_run]
    # One run for all of them. If it fails, each size has its own.
    if agreeing and run(etx, program, agreeing, directory) == "agrees":
        expected = {size: e for size, e in expected.items() if not e.must_run}
    for size, e in expected.items():
        found = run(etx, program, [(e.inputs, e.outputs)], directory)
        if found.startswith("refused"):
            if e.must_run and (size > 0 or kind == "min0"):
                yield "refuses", f"size {size}: {found}"
        elif found != "agrees" and (e.outputs is not None or
                                    e.traced is None):
            yield "DIFFERS", f"size {size}: {found}"


def expect(name, exported):
    module = exported.module()
    ranks = [node.meta["val"].dim() for node in
             exported.graph.output_node().args[0]]
    return {size: Expected(name, module, ranks, size) for size in SIZES}


def try_form(etx, name, kind, form, exported, directory):
    path = os.path.join(directory, "forward.pt2")
    program = os.path.join(directory, "forward.pte")
    torch.export.save(exported, path)
    plan = subprocess.run([etx, "plan", path, "-o", program],
                          capture_output=True, text=True)
    if plan.returncode == 2:
        said = [line.split(": ", 1)[1] for line in plan.stderr.splitlines()
                if "forward.pt2: " in line]
        asks = form != "core" and all(DECOMPOSE in line for line in said)
        return [("to decompose" if asks else "refuses",
                 "; ".join(said)[:300])]
    if plan.returncode != 0:
        return [("DIFFERS", f"plan: {plan.stderr.strip()}")]
    verify = subprocess.run([etx, "verify", program], capture_output=True,
                            text=True)
    if verify.returncode != 0:
        return [("DIFFERS", f"verify: {verify.stderr.strip()}")]
    return list(try_sizes(etx, kind, expect(name, exported), program,
                          directory))


def try_call(etx, name, kind, forms):
    """Pairs of what happened and where."""
    quiet()
    function, *specs = CALLS[name]
    dim = KINDS[kind]()
    torch.manual_seed(EXAMPLE)
    inputs = tuple(make_input(spec, EXAMPLE) for spec in specs)
    try:
        exported = torch.export.export(
            Call(function), inputs,
            dynamic_shapes=(tuple(dynamic_dims(s, dim) for s in specs),))
    except Exception as error:
        return [("not exported", str(error).strip().splitlines()[0][:200])]
    found = []
    with tempfile.TemporaryDirectory() as directory:
        for form in forms:
            try:
                program = FORMS[form](exported)
            except Exception as error:
                found.append(("not exported", f"{form}: {str(error)[:200]}"))
                continue
            found += [(what, f"{form}: {text}") for what, text in
                      try_form(etx, name, kind, form, program, directory)]
    return found


def is_unexpected(what, name, text):
    if what == "refuses":
        return name not in REFUSED
    return what == "DIFFERS" and not (name in RUNS and
                                      text.endswith(PYTORCH_RAISES))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count()))
    words = parser.parse_intermixed_args()
    cases = list(itertools.product(words.names or CALLS, words.kinds))
    counts = dict.fromkeys(("agree", "to decompose", "not exported", "refuses",
                            "DIFFERS"), 0)
    unexpected = 0
    with ProcessPoolExecutor(words.jobs, get_context("fork")) as pool:
        jobs = [pool.submit(try_call, words.etx, *case, list(words.forms))
                for case in cases]
        for (name, kind), job in zip(cases, jobs):
            found = job.result()
            worst = max((what for what, _ in found), default="agree",
                        key=list(counts).index)
            counts[worst] += 1
            for what, text in found:
                is_wrong = is_unexpected(what, name, text)
                unexpected += is_wrong
                if words.list or is_wrong:
                    print(f"{name}, {kind}: {what}: {text}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
