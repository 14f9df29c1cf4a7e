#!/usr/bin/env python3
"""Measures matrix products: etx and PyTorch in turns, in one run.

    bench_products.py BUILD [--rounds N] [--markdown FILE]

BUILD is a build directory of etx in which bench_products is built. The Python
package torch is left out if it is missing. A round runs each of them once, in
processes of their own and in an order that rotates from round to round. The
best round counts. One thread is measured in processor time, two threads in
elapsed time. --markdown replaces the text between the markers of FILE.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib import metadata

from figures import write_markdown

SHAPES = [(1, 512, 512), (1, 2048, 512), (1, 59520, 512), (4, 2048, 512), (8, 2048, 512), (16, 2048, 512), (32, 2048, 512),
          (128, 512, 512), (128, 2048, 512), (128, 512, 2048), (512, 2048, 512)]
KINDS = {"float32": "float32", "float32_panels": "float32, weights packed in the file",
         "linear_a8w8_panels": "int8, dynamically quantised rows, weights packed in the file", "linear_a8w8": "int8, dynamically quantised rows", "linear_a8w4g": "int4 in groups of 32, dynamically quantised rows",
         "linear_w8": "int8 weights, float32 rows"}


def rate(call, shape, threads):
    """Multiply-adds per second, over calls that together take some
    milliseconds."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    each = shape[0] * shape[1] * shape[2]
    again = max(1, int(4e7 / each))
    for _ in range(2):
        call()
    best = 0
    for _ in range(3):
        start = clock()
        for _ in range(again):
            call()
        best = max(best, again * each / (clock() - start))
    return best * 1e-9


def torch_rates(threads):
    import torch
    from torch.ao.quantization import quantize_dynamic

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    for m, n, k in SHAPES:
        layer, x = torch.nn.Linear(k, n).eval(), torch.randn(m, k)
        yield "float32", (m, n, k), rate(lambda: layer(x), (m, n, k), threads)
        small = quantize_dynamic(torch.nn.Sequential(layer), {torch.nn.Linear}, dtype=torch.qint8)
        yield "linear_a8w8", (m, n, k), rate(lambda: small(x), (m, n, k), threads)


def peer(threads):
    for kind, shape, found in torch_rates(threads):
        print(json.dumps({"kind": kind, "shape": shape, "gmacs": found}), flush=True)


def run_peer(name, threads, best):
    done = subprocess.run([sys.executable, __file__, "--peer", str(threads)], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            key = (name, row["kind"], tuple(row["shape"]), threads)
            best[key] = max(best.get(key, 0), row["gmacs"])
    if done.returncode != 0:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)


def run_etx(build, best, limits):
    done = subprocess.run([os.path.join(build, "bench_products"), "2"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    widest = rows[-1]["set"]
    for row in rows:
        if row["set"] != widest:
            continue
        shape = (row["rows"], row["columns"], row["inner"])
        key = ("etx", row["kind"], shape, row["threads"])
        best[key] = max(best.get(key, 0), row["gmacs"])
        limit = limits.setdefault((row["kind"], shape), {"peak": 0, "read": 0, "bytes": row["weights_gbs"] * row["rows"] / row["gmacs"]})
        limit["peak"] = max(limit["peak"], row["peak"])
        limit["read"] = max(limit["read"], row["read_gbs"])
    return widest


def share(kind, shape, best, limits):
    """The share of what one thread can do at best: arithmetic, or reading the
    weights."""
    limit = limits[kind, shape]
    reading = shape[0] * limit["read"] / limit["bytes"]
    if limit["peak"] == 0 and shape[0] > 1:
        return ""
    roof = min(limit["peak"], reading) if limit["peak"] > 0 else reading
    return f"{100 * best['etx', kind, shape, 1] / roof:.0f} %"


def table(kind, best, limits):
    columns = [("etx", 1), ("etx", 2), ("torch", 1), ("torch", 2)]
    columns = [c for c in columns if any(k[0] == c[0] and k[1] == kind and k[3] == c[1] for k in best)]
    yield "| rows | weights | " + " | ".join(f"{name}, {threads} thread{'s' * (threads > 1)}" for name, threads in columns) + " | of the limit |"
    yield "|---|---|" + "---|" * len(columns) + "---|"
    for shape in SHAPES:
        cells = [f"{best[name, kind, shape, threads]:.1f}" if (name, kind, shape, threads) in best else "" for name, threads in columns]
        yield f"| {shape[0]} | {shape[1]} x {shape[2]} | " + " | ".join(cells) + f" | {share(kind, shape, best, limits)} |"


def version(package):
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"no {package}"


def text(best, limits, widest, rounds):
    load = os.getloadavg()[2]
    peaks = {is_bytes: max((limit["peak"] for (kind, _), limit in limits.items() if ("a8" in kind) == is_bytes), default=0)
             for is_bytes in (False, True)}
    of_bytes = f", {peaks[True]:.1f} of int8" if peaks[True] > 0 else ""
    yield (f"{rounds} rounds on {os.cpu_count()} processors with a load of {load:.1f}, including this benchmark; "
           f"etx used the instruction set `{widest}`; {version('torch')}. Limits of one thread: "
           f"{peaks[False]:.1f} x 10^9 multiply-adds a second of float32{of_bytes}.")
    for kind, title in KINDS.items():
        yield ""
        yield f"**{title}** (10^9 multiply-adds a second)"
        yield ""
        yield from table(kind, best, limits)


def main():
    if sys.argv[1:2] == ["--peer"]:
        return peer(int(sys.argv[2]))
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown")
    options = parser.parse_args()
    best, limits, widest = {}, {}, ""
    runs = [("etx", 0), ("torch", 1), ("torch", 2)]
    for turn in range(options.rounds):
        at = turn % len(runs)
        for name, threads in runs[at:] + runs[:at]:
            if name == "etx":
                widest = run_etx(options.build, best, limits)
            else:
                run_peer(name, threads, best)
    lines = list(text(best, limits, widest, options.rounds))
    print("\n".join(lines))
    if options.markdown:
        write_markdown(options.markdown,
                       {"products": "\n".join(lines) + "\n"})
    return None


if __name__ == "__main__":
    main()
