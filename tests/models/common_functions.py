#!/usr/bin/env python3
"""The functions that models use most, one by one, exported and compared.

    common_functions.py PACKAGE [--jobs N] [--types T...] [--kinds K...]
                        [--forms F...] [--table FILE] [NAME...]

Each call of common_calls.py and common_shape_calls.py is exported as it is and
in core ATen, with fixed sizes and with one that varies, planned, and run with
ordinary values and with special ones (NaN, infinities, -0, the smallest and
largest numbers). Results are compared with eager PyTorch's, for each type that
PyTorch has. PACKAGE is the directory of the package etx, BUILD/python.

Prints what is refused and what differs. --table writes docs/functions.md. Ends
with 0, 1 if a result differs for ordinary values and STATED of
common_calls.py has no reason, 77 (skipped) if a package is missing.
"""

import argparse
import collections
import itertools
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

try:
    import torch
    from common_calls import (BINARY, LAYERS, LOSSES, PRODUCTS, REDUCTIONS,
                              RESIZING, STATED, UNARY)
    from common_shape_calls import COMPLEX, CREATION, INDEXING, MOVING
    from function_reasons import INSTEAD
    from model_files import quiet
    from torch.export import Dim
    from torch.utils import _pytree as pytree
    from varying_inputs import N
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CALLS = (UNARY | BINARY | REDUCTIONS | PRODUCTS | LAYERS | RESIZING | LOSSES |
         MOVING | INDEXING | CREATION | COMPLEX)
EXAMPLE, MOST = 6, 12
TYPES = {str(t)[6:]: t for t in (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64,
    torch.int32, torch.uint8, torch.bool)}
KINDS = ("fixed", "varying")
FORMS = {
    "exported": lambda program: program,
    "core": lambda program: program.run_decompositions(),
}
SPECIAL = (float("nan"), float("inf"), -0.0, 0.0, 0.5, -1.0, 1.0, 1e-6, 2.5,
           -2.5, 1e-41, -float("inf"), 3e38, -3e38, 88.5, -104.0)
# Sums of the largest numbers depend on the order in which they are added.
FEWER = 11


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return tuple(t for t in pytree.tree_leaves(self.function(*tensors))
                     if isinstance(t, torch.Tensor))


def make_input(spec, size, dtype, special):
    """special: how many of the values of SPECIAL, or 0."""
    is_typed = bool(spec) and isinstance(spec[0], torch.dtype)
    given, shape = spec if is_typed else (None, spec)
    shape = [size if extent == N else extent for extent in shape]
    count = torch.Size(shape).numel()
    if given == torch.int64:
        return torch.arange(count).view(shape) * 5 % 4
    if given == torch.bool:
        return torch.randn(shape) > 0
    if special:
        at = torch.arange(count) + torch.randint(special, ())
        return torch.tensor(SPECIAL, dtype=torch.float64)[at % special].to(
            dtype).view(shape)
    if dtype == torch.bool:
        return torch.randn(shape) > 0
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -4, 5, shape,
                         dtype=dtype)


def dimensions(specs, dim):
    shapes = [s[1] if s and isinstance(s[0], torch.dtype) else s for s in specs]
    return tuple({i: dim for i, extent in enumerate(shape) if extent == N}
                 for shape in shapes)


def first_line(error):
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:240]


def result_of(model, inputs):
    """The outputs, or None if PyTorch raises."""
    try:
        with torch.no_grad():
            return model(*[t.clone() for t in inputs])
    except Exception:
        return None


def exported(call, specs, inputs, kind):
    model = Call(call).eval()
    if kind == "fixed":
        return torch.export.export(model, inputs)
    attempts = (Dim("n", min=0, max=MOST), Dim.DYNAMIC(max=MOST))
    for dim in attempts:
        try:
            return torch.export.export(
                model, inputs, dynamic_shapes=(dimensions(specs, dim),))
        except Exception as error:
            failure = error
    raise failure


# Sums are added in another order; half types round more.
TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2),
              torch.float64: (1e-6, 1e-7)}


def tensor_of(array, dtype):
    """`dtype` is PyTorch's. Without the package ml_dtypes, elements of
    bfloat16 are uint16 in NumPy."""
    name = str(getattr(array, "dtype", ""))
    if name == "bfloat16" or (name == "uint16" and dtype == torch.bfloat16):
        return torch.as_tensor(array.view("int16")).view(torch.bfloat16)
    return torch.as_tensor(array)


def difference(got, want, dtype):
    """What differs, or None."""
    if len(got) != len(want):
        return f"{len(got)} outputs, PyTorch has {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        a = tensor_of(a, b.dtype)
        if a.dtype != b.dtype or a.shape != b.shape:
            return (f"output {i} is {a.dtype}{list(a.shape)}, PyTorch's "
                    f"{b.dtype}{list(b.shape)}")
        rtol, atol = TOLERANCES.get(dtype, (1e-4, 1e-5))
        if b.dtype.is_complex or b.dtype.is_floating_point:
            same = torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        else:
            same = a == b
        if not same.all():
            where = (~same).nonzero()[0].tolist()
            return (f"output {i} at {where} is {a[tuple(where)].item()}, "
                    f"PyTorch's {b[tuple(where)].item()}, "
                    f"{(~same).sum().item()} of {same.numel()} differ")
    return None


def outputs_of(session, inputs):
    import etx
    try:
        got = session.forward(*inputs)
    except etx.Error as error:
        return None, first_line(error)
    return (got if isinstance(got, (tuple, list)) else (got,)), None


def compare(name, program, kind, dtype):
    """Pairs of what happens and where, at the sizes and values of the kind."""
    import etx
    function, *specs = CALLS[name]
    model = Call(function).eval()
    session = etx.load(program).session()
    cases = [(EXAMPLE, 0)]
    if kind == "varying":
        cases = [(0, 0), (1, 0), (5, 0), (EXAMPLE, 0), (MOST, 0)]
    elif dtype.is_floating_point:
        cases.append((EXAMPLE, len(SPECIAL) if name in UNARY or
                      name in BINARY else FEWER))
    for size, special in cases:
        torch.manual_seed(size)
        inputs = [make_input(s, size, dtype, special) for s in specs]
        want = result_of(model, inputs)
        if want is None:
            continue
        got, refusal = outputs_of(session, inputs)
        place = f"size {size}" + (" special" if special else "")
        if refusal:
            yield "refused at a size", f"{place}: {refusal}"
            continue
        found = difference(got, want, dtype)
        if found:
            yield "DIFFERS", f"{place}: {found}"


def try_program(name, program, directory, kind, dtype):
    import etx
    path = os.path.join(directory, "forward.pt2")
    torch.export.save(program, path)
    output = os.path.join(directory, "forward.pte")
    try:
        etx.plan(path, output)
    except etx.ExportError as error:
        said = [p["message"] for p in error.problems] or [str(error)]
        return [("refused", "; ".join(said)[:300])]
    return list(compare(name, output, kind, dtype))


def try_call(path, name, type_name, kind, forms):
    """A list of (form, what, text)."""
    quiet()
    sys.path.insert(0, path)
    function, *specs = CALLS[name]
    dtype = TYPES[type_name]
    torch.manual_seed(EXAMPLE)
    inputs = tuple(make_input(s, EXAMPLE, dtype, 0) for s in specs)
    has_type = any(not s or not isinstance(s[0], torch.dtype) for s in specs)
    if dtype != torch.float32 and not has_type:
        return None
    if kind == "varying" and not any(dimensions(specs, 0)):
        return None
    if result_of(Call(function).eval(), inputs) is None:
        return None
    try:
        program = exported(function, specs, inputs, kind)
    except Exception as error:
        return [("", "not exported", first_line(error))]
    found = []
    with tempfile.TemporaryDirectory() as directory:
        for form in forms:
            try:
                formed = FORMS[form](program)
            except Exception as error:
                found.append((form, "not exported", first_line(error)))
                continue
            try:
                found += [(form, *f) for f in try_program(
                    name, formed, directory, kind, dtype)]
            except Exception as error:
                found.append((form, "FAILS", repr(error)[:300]))
    return found


def is_unexpected(name, what, text):
    """Special values may take another path in PyTorch's vectorised loops."""
    return what == "FAILS" or (what == "DIFFERS" and name not in STATED and
                               "special" not in text)


HEAD = """# Functions of PyTorch

Generated by `tests/models/common_functions.py --table`; do not edit.

The functions that models call most: those of `torch`, `torch.nn.functional`,
`torch.Tensor`, `torch.linalg`, `torch.special` and `torch.fft` that occur in the
most files of transformers 4.57, torchvision 0.29, `torch.nn` and
`torch.distributions`, and their nearest relatives. Each is one call in float32,
exported with PyTorch %s and compared with eager PyTorch. A name with more
words is a form of the function before them.

*yes*: planned, runs, and agrees, as exported and in core ATen. *core*: after
`run_decompositions()` only. *special*: agrees but for NaN, infinities or the
largest numbers, where the order of operations decides. *no*: refused, for the
reason given. -: nothing varies, or `torch.export` does not export it.

| function | fixed size | varying size | reason |
|---|---|---|---|
"""


def state(found, form):
    """What one form does: yes, special, no or -; and why."""
    whats = [(what, text) for f, what, text in found if f in (form, "")]
    for what, text in whats:
        if what in ("refused", "FAILS"):
            return "no", text
        if what == "not exported":
            return "-", ""
    for what, text in whats:
        if what == "DIFFERS":
            return ("special" if "special" in text else "no"), ""
    return "yes", ""


def cell(found):
    """The cell of the table for one kind of sizes, and the reason."""
    if found is None:
        return "-", ""
    exported, _ = state(found, "exported")
    core, why = state(found, "core")
    if exported == "no" and core not in ("no", "-"):
        return "core" if core == "yes" else "core, special", ""
    return core, why


def reason(text):
    """The part of a refusal that names the operator or the rule."""
    text = text.split("; calling")[0].split(": ", 1)[-1]
    return text.replace("|", "\\|").split("; ")[0][:120]


def table(results):
    rows = []
    for name in CALLS:
        fixed, why = cell(results.get((name, "fixed")))
        varying, also = cell(results.get((name, "varying")))
        instead = INSTEAD.get(name) if fixed == "no" else None
        text = STATED.get(name) or instead or reason(why or also)
        rows.append(f"| `{name}` | {fixed} | {varying} | {text} |\n")
    return HEAD % torch.__version__.split("+")[0] + "".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--types", nargs="+", default=TYPES, choices=TYPES)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count()))
    parser.add_argument("--table")
    words = parser.parse_intermixed_args()
    cases = list(itertools.product(words.names or CALLS, words.types,
                                   words.kinds))
    counts, results, unexpected = collections.Counter(), {}, 0
    with ProcessPoolExecutor(words.jobs, get_context("fork")) as pool:
        jobs = [pool.submit(try_call, words.package, *case, list(words.forms))
                for case in cases]
        for case, job in zip(cases, jobs):
            found = job.result()
            if found is None:
                continue
            if case[1] == "float32":
                results[case[0], case[2]] = found
            counts["agree"] += not found
            for form, what, text in found:
                counts[what] += 1
                unexpected += is_unexpected(case[0], what, text)
                print(f"{', '.join(case)}, {form}: {what}: {text}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    if words.table:
        with open(words.table, "w") as file:
            file.write(table(results))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
