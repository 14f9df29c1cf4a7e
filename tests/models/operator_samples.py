#!/usr/bin/env python3
"""ATen operators one by one: PyTorch's own samples, exported and compared.

    operator_samples.py ETX [--exported DIRECTORY] [--samples N] [--minutes M]
                        [--list] [NAME...]

For each operator that PyTorch describes in its test database, a few of its
sample calls become models of one call, in float32, int64 and bool. Each is
exported in functional and core ATen, planned, and run against what PyTorch answers. A model
that etx refuses by name counts as not supported and is not a failure; a plan or a
run that fails otherwise, and any other answer, is one.

--list prints which operators are not supported, and how many models they stop.
Ends with 0, 1 if something differs, 77 (skipped) if a package is not there.
"""

import argparse
import collections
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

try:
    import torch
    from model_files import described, quiet, save_case, save_program
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.utils import _pytree as pytree
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DTYPES = (torch.float32, torch.int64, torch.bool)

# What has no answer to compare with: random, uninitialised or not a function.
WITHOUT_ANSWER = re.compile(
    r"^(empty|new_empty|resize|jiterator|rand|bernoulli|multinomial|normal|"
    r"cauchy|exponential|geometric|log_normal|uniform|nn.functional.(feature_)?"
    r"(alpha_)?dropout|nn.functional.rrelu|nn.functional.fractional|to_sparse|"
    r"sparse|svd_lowrank|pca_lowrank|torch._scaled|linalg.(eig|svd|qr|lu|lstsq|"
    r"ldl)|svd|qr|geqrf|lu|ormqr|signal|hash_tensor)")


class Call(torch.nn.Module):
    """One call with its numbers baked in; tensors are the inputs. Complex
    results come as their parts."""

    def __init__(self, operator, leaves, spec):
        super().__init__()
        self.operator, self.leaves, self.spec = operator, leaves, spec

    def forward(self, *tensors):
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf
                  for leaf in self.leaves]
        values, arguments, keywords = pytree.tree_unflatten(leaves, self.spec)
        result = self.operator(values, *arguments, **keywords)
        tensors = [t for t in pytree.tree_leaves(result)
                   if isinstance(t, torch.Tensor)]
        return tuple(torch.view_as_real(t.resolve_conj())
                     if t.is_complex() else t for t in tensors)


def export(operator, sample, directory):
    """Writes a model of one call; what stops PyTorch itself is raised."""
    leaves, spec = pytree.tree_flatten(
        (sample.input, sample.args, sample.kwargs))
    inputs = [t.clone() for t in leaves if isinstance(t, torch.Tensor)]
    model = Call(operator, leaves, spec)
    outputs = model(*[t.clone() for t in inputs])
    if not outputs or any(t.is_complex() or t.is_sparse for t in
                          itertools.chain(outputs, inputs)):
        raise ValueError("no plain tensors")
    program = torch.export.export(model, tuple(inputs))
    save_program(program, directory)
    tensors = {}
    call = {"method": "forward", "input_mutations": [], "state": {}}
    for key, values in (("inputs", inputs), ("outputs", outputs)):
        call[key] = [described(value, f"{key}.{i}", tensors)
                     for i, value in enumerate(values)]
    largest = max([1.0] + [t[t.isfinite()].abs().max().item() for t in outputs
                           if t.is_floating_point() and
                           t.isfinite().any()])
    case = {"format": 1, "atol": 1e-5 * largest, "rtol": 1e-4,
            "calls": [call]}
    save_case(case, tensors, directory)


def spread(items, count):
    items = list(items)
    if len(items) <= count:
        return items
    return [items[i * len(items) // count] for i in range(count)]


def samples_of(entry, dtype, count):
    if dtype not in entry.supported_dtypes("cpu"):
        return []
    torch.manual_seed(0)
    try:
        found = entry.sample_inputs("cpu", dtype, requires_grad=False)
        return spread(itertools.islice(found, 400), count)
    except Exception:  # the database, not us
        return []


def title(entry):
    variant = entry.variant_test_name
    return entry.name + (f".{variant}" if variant else "")


def export_all(entry, root, count):
    """Directories of one operator's models, made if they are not there."""
    made = []
    for dtype in DTYPES:
        for i, sample in enumerate(samples_of(entry, dtype, count)):
            name = f"{title(entry)}-{str(dtype)[6:]}-{i}".replace("/", "_")
            directory = os.path.join(root, name)
            done = os.path.join(directory, "cases.json")
            if not os.path.exists(done):
                os.makedirs(directory, exist_ok=True)
                try:
                    with torch.no_grad():
                        export(entry.op, sample, directory)
                except Exception as error:
                    with open(done, "w") as file:
                        json.dump({"calls": [], "why": str(error)[:200]}, file)
            with open(done) as file:
                if json.load(file)["calls"]:
                    made.append(directory)
    return made


REFUSED = re.compile(r"operator '([^']+)' is not supported|"
                     r"control flow operator '([^']+)'|(depends on the data)|"
                     r"(data by '[^']*')|('aten[^']*' [^,\n]*)")


def judge(etx, directory, form, target, program):
    """None if it agrees, else a pair: refused or failed, and what was said."""
    methods = os.path.join(directory, form)
    plan = subprocess.run([etx, "plan", methods, "-o", program, "--target",
                           target], capture_output=True, text=True)
    if plan.returncode == 2:
        found = REFUSED.search(plan.stderr)
        return "refused", (next(g for g in found.groups() if g) if found
                           else plan.stderr.splitlines()[0])
    if plan.returncode != 0:
        return "failed", plan.stderr.strip()
    run = subprocess.run([etx, "run", program, "--case", directory],
                         capture_output=True, text=True)
    return None if run.returncode == 0 else (
        "failed", (run.stderr + run.stdout).strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--exported")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--list", action="store_true")
    words = parser.parse_intermixed_args()
    quiet()
    with tempfile.TemporaryDirectory() as scratch:
        return try_all(words, words.exported or scratch, scratch)


def try_all(words, root, scratch):
    end = time.monotonic() + 60 * words.minutes
    program = os.path.join(scratch, "model.pte")
    counts, refusals = collections.Counter(), collections.Counter()
    for entry in op_db:
        if words.names and title(entry) not in words.names:
            continue
        if not words.names and WITHOUT_ANSWER.match(title(entry)):
            continue
        if time.monotonic() > end:
            counts["operators left out for lack of time"] += 1
            continue
        for directory in export_all(entry, root, words.samples):
            for form, target in itertools.product(("", "core"),
                                                  ("etx", "executorch")):
                found = judge(words.etx, directory, form, target, program)
                counts["agree" if found is None else found[0]] += 1
                if found and found[0] == "refused":
                    refusals[found[1]] += 1
                elif found:
                    print(f"{os.path.basename(directory)}, "
                          f"{form or 'functional'}, {target}: "
                          f"{found[1][:300]}", flush=True)
    if words.list:
        for what, count in refusals.most_common():
            print(f"{count:6} {what}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
