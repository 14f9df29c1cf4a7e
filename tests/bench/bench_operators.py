#!/usr/bin/env python3
"""Times each operator in etx, in the stock ExecuTorch libraries and in PyTorch.

    bench_operators.py BUILD [--rounds N] [--size SIZE] [--only WORD]
                       [--rows FILE] [--markdown FILE]

BUILD is a build directory of etx. Needs the Python packages torch and
executorch, whose wheel has the C++ headers and libraries, and g++.

Each operator runs in a program file that holds the same instruction many
times, and in one that holds it once; the cost of an instruction is the slope.
The same two files run in both runtimes, in one process, in turns. PyTorch runs
its out variant, in turns with them, between the rounds. Each uses one thread,
and times are processor times of that thread. A row has the median of the
rounds; the column `spread` is the distance of the quartiles of the ratio. Run
it on a machine that does nothing else. Rows are kept in the file --rows, so
that sizes and operators can be run one after the other; --markdown writes all
of them as a document.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata

os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
import executorch  # noqa: E402
from executorch.exir import schema  # noqa: E402
from executorch.exir._serialize._program import (  # noqa: E402
    PTEFile, serialize_pte_binary)
from executorch.exir.scalar_type import ScalarType  # noqa: E402

from figures import machine  # noqa: E402
from operator_calls import calls  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SIDES = {"small": 8, "medium": 128, "large": 1024}
TYPES = {torch.float32: ScalarType.FLOAT, torch.float16: ScalarType.HALF,
         torch.int64: ScalarType.LONG, torch.int32: ScalarType.INT,
         torch.bool: ScalarType.BOOL, torch.float64: ScalarType.DOUBLE}
# Operators whose cost grows faster than their number of elements: smaller sizes.
COSTLY = {"mm", "addmm", "linear", "convolution", "bmm", "_cdist_forward",
          "_pdist_forward"}


def build_binary(build, directory):
    """Links etx and the libraries of the wheel into one program."""
    root = os.path.dirname(os.path.dirname(HERE))
    wheel = list(executorch.__path__)[0]
    shim = os.path.join(directory, "bench_etx.o")
    binary = os.path.join(directory, "bench_operators")
    subprocess.run(["cc", "-std=c11", "-O2", f"-I{root}", "-c",
                    os.path.join(HERE, "bench_etx.c"), "-o", shim], check=True)
    ours = [os.path.join(build, f"libetx_{name}.a")
            for name in ("module", "shared_memory", "runtime", "format")]
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-w", "-DC10_USING_CUSTOM_GENERATED_MACROS",
         "-DET_USE_THREADPOOL", f"-I{root}", f"-I{wheel}/include",
         f"-I{wheel}/include/executorch/runtime/core/portable_type/c10",
         os.path.join(HERE, "bench_operators.cpp"), shim, "-o", binary, *ours,
         f"-L{wheel}/lib", f"-Wl,-rpath,{wheel}/lib", "-Wl,--no-as-needed",
         "-lexecutorch", "-lexecutorch_kernels_optimized",
         "-lexecutorch_kernels_quantized", "-lexecutorch_threadpool", "-lm"],
        check=True)
    return binary


class Method:
    """Values and one instruction of a method, as a program file holds them."""

    def __init__(self):
        self.values, self.inputs, self.outputs = [], [], []
        self.tensors = []
        self.arena = 0

    def add(self, value):
        self.values.append(schema.EValue(value))
        return len(self.values) - 1

    def tensor(self, tensor, is_output):
        place = None
        if is_output:
            place = schema.AllocationDetails(1, self.arena, 0)
            self.arena += (tensor.nbytes + 63) // 64 * 64
        index = self.add(schema.Tensor(
            TYPES[tensor.dtype], 0, list(tensor.shape),
            list(range(tensor.dim())), False, 0, 0, place,
            schema.TensorShapeDynamism.DYNAMIC_BOUND if is_output
            else schema.TensorShapeDynamism.STATIC))
        (self.outputs if is_output else self.inputs).append(index)
        if not is_output:
            self.tensors.append(tensor)
        return index

    def argument(self, value, wanted):
        if isinstance(value, torch.Tensor):
            return self.tensor(value, False)
        if value is None:
            return self.add(schema.Null())
        if isinstance(value, bool):
            return self.add(schema.Bool(value))
        if isinstance(value, str):
            return self.add(schema.String(value))
        if isinstance(value, (list, tuple)):
            return self.list(value, wanted)
        if isinstance(value, float) or wanted == "float":
            return self.add(schema.Double(float(value)))
        return self.add(schema.Int(int(value)))

    def list(self, items, wanted):
        if "Optional[Tensor]" in wanted:
            return self.add(schema.OptionalTensorList(
                [-1 if t is None else self.tensor(t, False) for t in items]))
        if items and isinstance(items[0], torch.Tensor):
            return self.add(schema.TensorList(
                [self.tensor(t, False) for t in items]))
        if items and isinstance(items[0], float):
            return self.add(schema.DoubleList([float(i) for i in items]))
        return self.add(schema.IntList(
            [self.add(schema.Int(int(i))) for i in items]))


def plan_of(name, arguments):
    """The method, its instruction, and a function that makes the same call in
    PyTorch."""
    packet_name, overload = name.split("/")[0].split("::")[1].split(".")
    packet = getattr(torch.ops.aten, packet_name)
    operator = getattr(packet, overload)
    keywords = {}
    if arguments and isinstance(arguments[-1], dict):
        arguments, keywords = arguments[:-1], arguments[-1]
    results = packet(*arguments, **keywords)
    if isinstance(results, torch.Tensor):
        results = [results]
    results = [torch.empty_like(r, memory_format=torch.contiguous_format)
               for r in results]
    method, args, outs = Method(), [], {}
    remaining = list(arguments)
    rest = list(results)
    for a in operator._schema.arguments:
        if a.is_out:
            if "List" in str(a.type):
                indices = [method.tensor(r, True) for r in rest]
                outs[a.name] = list(rest)
                args.append(method.add(schema.TensorList(indices)))
            else:
                outs[a.name] = rest[0]
                args.append(method.tensor(rest.pop(0), True))
        elif remaining and not a.kwarg_only:
            args.append(method.argument(remaining.pop(0), str(a.type)))
        else:
            value = keywords.get(a.name, a.default_value)
            args.append(method.argument(value, str(a.type)))
    returned = [i for i, a in zip(args, operator._schema.arguments) if a.is_out]
    if len(returned) > 1:
        args.append(method.add(schema.TensorList(returned)))
    else:
        args.append(returned[0])

    def eager():
        operator(*arguments, **keywords, **outs)

    return method, args, schema.Operator("aten::" + packet_name, overload), eager


def write_file(method, args, operator, count, path):
    call = schema.Instruction(schema.KernelCall(0, args))
    plan = schema.ExecutionPlan(
        "forward", schema.ContainerMetadata("", ""), method.values,
        method.inputs, method.outputs,
        [schema.Chain([], [], [call] * count, None)], [operator], [],
        [0, max(method.arena, 16)])
    program = schema.Program(0, [plan], [schema.Buffer(b"")], [], [],
                             schema.SubsegmentOffsets(0, []))
    with open(path, "wb") as file:
        file.write(bytes(serialize_pte_binary(PTEFile(program))))


def time_eager(eager, count):
    start = time.thread_time_ns()
    for _ in range(count):
        eager()
    return (time.thread_time_ns() - start) / count


def raw(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes() \
        if tensor.dim() else tensor.reshape(1).view(torch.uint8).numpy().tobytes()


def measure(binary, directory, name, arguments, rounds):
    """Nanoseconds per instruction in three systems, by round, and how far the
    two runtimes' results differ."""
    method, args, operator, eager = plan_of(name, arguments)
    with contextlib.suppress(Exception):
        eager()
    one = time_eager(eager, 2)
    count = max(3, min(201, int(1e6 / one)))
    paths = [os.path.join(directory, p) for p in ("long.pte", "short.pte")]
    write_file(method, args, operator, count, paths[0])
    write_file(method, args, operator, 1, paths[1])
    files = []
    for i, tensor in enumerate(method.tensors):
        files.append(os.path.join(directory, f"input_{i}"))
        with open(files[-1], "wb") as file:
            file.write(raw(tensor))
    found = {"etx": [], "stock": [], "torch": [], "difference": None}
    runs = max(1, int(4e5 / one))
    for _ in range(max(1, rounds // 4)):
        run = subprocess.run([binary, *paths, str(count), "4", *files],
                             capture_output=True, text=True)
        if run.returncode:
            found["why"] = f"ended with {run.returncode}"
            break
        line = json.loads(run.stdout)
        found["etx"] += line["etx"]
        found["stock"] += line["stock"]
        found["difference"] = line["difference"]
        if not line["etx"] or not line["stock"]:
            found["why"] = run.stderr.strip().splitlines()[-1:] or ""
        found["torch"] += [time_eager(eager, runs) for _ in range(4)]
    return found


def row_of(name, size, found):
    row = {"operator": name.split("::")[1], "size": size,
           "difference": found["difference"], "why": found.get("why")}
    for system in ("etx", "stock", "torch"):
        if found[system]:
            row[system] = max(0.1, statistics.median(found[system]))
    if found["etx"] and found["stock"]:
        ratios = sorted(s / max(0.1, e)
                        for s, e in zip(found["stock"], found["etx"]))
        row["ratio"] = statistics.median(ratios)
        row["better"] = ratios[len(ratios) * 3 // 4]
        row["spread"] = (ratios[len(ratios) * 3 // 4] -
                         ratios[len(ratios) // 4]) / row["ratio"]
    return row


def number(row, key):
    return f"{row[key]:.0f}" if key in row else "-"


def cells(row):
    ratio = f"{row['ratio']:.2f} | {row['spread'] * 100:.0f} %" \
        if "ratio" in row else "- | -"
    return (f"| {row['operator']} | {row['size']} | {number(row, 'etx')} | "
            f"{number(row, 'stock')} | {number(row, 'torch')} | {ratio} |")


HEAD = """| operator | size | etx ns | stock ns | torch ns | stock / etx | spread |
|---|---|---|---|---|---|---|
"""


def table(rows):
    return HEAD + "".join(cells(r) + "\n" for r in rows)


def is_slower(row):
    """True if the stock kernel was faster in three quarters of the rounds."""
    return "ratio" in row and row["better"] < 1


def medians(rows):
    text = """| size | elements | measured | stock / etx, median | torch / etx, median | \
slower than stock | slower than torch | spread, median |
|---|---|---|---|---|---|---|---|
"""
    for size, side in SIDES.items():
        own = [r for r in rows if r["size"] == size and "ratio" in r]
        if not own:
            continue
        eager = [r["torch"] / r["etx"] for r in own if "torch" in r]
        text += (f"| {size} | {side * side} | {len(own)} | "
                 f"{statistics.median(r['ratio'] for r in own):.1f} | "
                 f"{statistics.median(eager):.1f} | "
                 f"{sum(map(is_slower, own))} | {sum(e < 1 for e in eager)} | "
                 f"{statistics.median(r['spread'] for r in own) * 100:.0f} % |\n")
    return text


def document(rows):
    slower = sorted(filter(is_slower, rows), key=lambda r: r["ratio"])
    return f"""# Speed of the operators

This page has the time of each operator in etx, ExecuTorch and PyTorch. It is made by
`tests/bench/bench_operators.py --markdown`; do not edit it. Each operator runs in etx, in
the libraries of the wheel of ExecuTorch {metadata.version("executorch")} (the optimized kernel if there
is one, otherwise the portable one), and in PyTorch {torch.__version__}, eager with an out
variant. Both runtimes execute the same program file over the same bytes in one process,
in turns. A time is that of one instruction: the slope between a file that holds it many
times and one that holds it once. PyTorch's time includes its dispatch, some microseconds.
Each uses one thread; times are processor times, the median of the rounds.

Machine: {machine()}, of which one is used. It is virtual and shared, so others
use its memory and caches as well. The column `spread` shows the noise: the distance of
the quartiles of the ratio. Rows that only move memory (`clone`, `copy`, `zeros`, slices
and concatenations, at `large` everything with little arithmetic) spend their time in the
same memcpy or wait for the same memory in both runtimes: their ratio is 1 within that
noise.

{medians(rows)}
Matrix products, convolutions and distances use a quarter of the side length at `large`.

## Slower than stock

In these rows the stock kernel was faster in three quarters of the rounds. Rows that a
first run finds here are run again with more rounds:

{table(slower) if slower else "none."}
At `small` a call takes a tenth of a microsecond, most of it dispatch by type, layout and
size. The stock `max_pool2d_with_indices_backward` neither clears its result, so that a
second run adds to the first, nor checks that indices are inside of the image; etx does
both. Functions of doubles are computed without libm, so that results are bit-equal on
every machine.

## All rows

{table(rows)}"""


def summary(rows):
    for sizes in (("small",), ("medium", "large")):
        ratios = [r["ratio"] for r in rows if "ratio" in r and r["size"] in sizes]
        if ratios:
            print(f"{' and '.join(sizes)}: {len(ratios)} measured, median "
                  f"{statistics.median(ratios):.2f} x, "
                  f"{sum(r < 1 for r in ratios)} slower than stock")


def keep(rows, path):
    """Rows of earlier runs, replaced by those of this one; ordered by size."""
    known = {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            known = {(r["operator"], r["size"]): r for r in json.load(file)}
    known.update({(r["operator"], r["size"]): r for r in rows})
    rows = sorted(known.values(), key=lambda r: list(SIDES).index(r["size"]))
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", default="")
    parser.add_argument("--size", choices=SIDES)
    parser.add_argument("--rows")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        binary = build_binary(options.build, directory)
        for size, side in SIDES.items():
            if options.size not in (None, size):
                continue
            small = calls(side)
            smaller = calls(max(8, side // 4)) if size == "large" else small
            for name in small:
                if options.only not in name:
                    continue
                costly = name.split("::")[1].split(".")[0] in COSTLY
                arguments = (smaller if costly else small)[name]
                row = row_of(name, size, measure(binary, directory, name,
                                                 arguments, options.rounds))
                rows.append(row)
                print(cells(row), row["why"] or "",
                      "" if not row["difference"] or row["difference"] < 1e-4
                      else f"DIFFERS {row['difference']}", flush=True)
    summary(rows)
    rows = keep(rows, options.rows)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(document(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
