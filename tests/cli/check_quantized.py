#!/usr/bin/env python3
"""Compares the report of `etx plan --quantize` with the planned file.

    check_quantized.py ETX

Weights that were rounded by calibration calls are compared with those that were not,
on other inputs of the same kind.

A linear layer over the identity matrix returns its weights, transposed, as the
kernel reads them. Their SQNR is computed here in double precision and compared with
the report, and so are bytes.
"""

import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROWS, INNER = 24, 256
GRAPH = f"""etx: 1
method: run
inputs: [{{name: x, type: "float32[{INNER}, {INNER}]"}},
  {{name: i, type: "int64[{ROWS}]"}}]
buffers: [{{name: net.fc.weight, type: "float32[{ROWS}, {INNER}]"}},
  {{name: net.words.weight, type: "float32[{ROWS}, {INNER}]"}}]
nodes:
  - {{out: y, op: aten.linear.default, args: [x, net.fc.weight]}}
  - {{out: z, op: aten.linear.default, args: [x, net.words.weight]}}
  - {{out: e, op: aten.embedding.default, args: [net.words.weight, i]}}
outputs: [y, z, e]
"""


def write_safetensors(path, tensors):
    head, data = {}, b""
    for name, (kind, shape, raw) in tensors.items():
        head[name] = {"dtype": kind, "shape": shape,
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    size = struct.unpack_from("<Q", raw)[0]
    out = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        first, end = entry["data_offsets"]
        out[name] = struct.unpack(f"<{(end - first) // 4}f",
                                  raw[8 + size + first:8 + size + end])
    return out


def halves(kind, numbers):
    if kind == "F16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    # The upper halves of float32, cut off.
    return b"".join(struct.pack("<f", x)[2:] for x in numbers)


def half_numbers(kind, raw):
    if kind == "F16":
        return struct.unpack(f"<{len(raw) // 2}e", raw)
    return [struct.unpack("<f", b"\0\0" + raw[at:at + 2])[0]
            for at in range(0, len(raw), 2)]


def floats(numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def transpose(numbers):
    return [numbers[k * ROWS + n] for n in range(ROWS) for k in range(INNER)]


def sqnr(weights, found):
    signal = math.fsum(w * w for w in weights)
    noise = math.fsum((w - f) ** 2 for w, f in zip(weights, found))
    return 10 * math.log10(signal / noise)


def check(etx, here, weights, kind, bytes_after, least):
    program, out = here / "model.pte", here / "out.safetensors"
    report = json.loads(subprocess.run(
        [etx, "plan", here / "methods", "-o", program, "--report", "json",
         "--quantize", kind], check=True, capture_output=True).stdout)
    words = [etx, "run", program, "run", "--in", f"x={here}/x.safetensors#x",
             "--in", f"i={here}/x.safetensors#i"]
    for index in range(3):
        words += ["--out", f"output_{index}={out}"]
    subprocess.run(words, check=True)
    found = read_safetensors(out)
    tables = {"net.fc.weight": [transpose(found["output_0"])],
              "net.words.weight": [transpose(found["output_1"]), found["output_2"]]}
    assert len(report["quantized"]) == 2, report["quantized"]
    for row in report["quantized"]:
        for read in tables[row["name"]]:
            ratio = sqnr(weights[row["name"]], read)
            assert abs(ratio - row["sqnr_db"]) < 1e-3, (kind, row, ratio)
            assert ratio >= least, (kind, ratio)
        assert row["kind"].startswith(kind.split("/")[0]), row
        assert row["bytes"] == ROWS * INNER * 4, row
        assert row["bytes_after"] == bytes_after, row
    # A table that is also the weight of a layer is stored once.
    assert report["constant_bytes"] < 2 * bytes_after + 256, report
    print(f"{kind}: {report['quantized'][0]['sqnr_db']:.2f} dB")


def check_halves(etx, here, kind, dtype):
    """Tables of float16 or bfloat16: rows are the weights but for int4's error."""
    source = random.Random(7)
    raw = halves(kind, [source.gauss(0, 1) for _ in range(ROWS * INNER)])
    methods, program = here / dtype, here / f"{dtype}.pte"
    methods.mkdir()
    (methods / "run.yaml").write_text(f"""etx: 1
method: run
inputs: [{{name: i, type: "int64[{ROWS}]"}}]
buffers: [{{name: words, type: "{dtype}[{ROWS}, {INNER}]"}}]
nodes:
  - {{out: h, op: aten.embedding.default, args: [words, i]}}
  - {{out: e, op: aten._to_copy.default, args: [h], kwargs: {{dtype: float32}}}}
outputs: [e]
""")
    write_safetensors(methods / "weights.safetensors",
                      {"words": (kind, [ROWS, INNER], raw)})
    report = json.loads(subprocess.run(
        [etx, "plan", methods, "-o", program, "--report", "json",
         "--quantize", "int4"], check=True, capture_output=True).stdout)
    out = here / f"{dtype}.safetensors"
    subprocess.run([etx, "run", program, "run", "--in", f"i={here}/x.safetensors#i",
                    "--out", f"output_0={out}"], check=True)
    ratio = sqnr(half_numbers(kind, raw), read_safetensors(out)["output_0"])
    row, = report["quantized"]
    # Results are rounded to the half type, some 30 dB below the error of int4.
    assert abs(ratio - row["sqnr_db"]) < 0.05 and ratio > 21, (row, ratio)
    assert row["bytes"] == ROWS * INNER * 2, row
    print(f"{dtype} to int4: {row['sqnr_db']:.2f} dB")


def mixed_inputs(source, mixes, rows):
    """Rows of numbers that vary together: a few directions, and some noise."""
    out = []
    for _ in range(rows):
        shares = [source.gauss(0, 1) for _ in mixes]
        out += [math.fsum(s * mix[k] for s, mix in zip(shares, mixes)) +
                source.gauss(0, 0.3) for k in range(INNER)]
    return out


def check_calibration(etx, here):
    """The noise of the results falls, whatever weights become."""
    source = random.Random(11)
    mixes = [[source.gauss(0, 1) for _ in range(INNER)] for _ in range(8)]
    methods, calls = here / "calibrated", here / "calls"
    methods.mkdir()
    calls.mkdir()
    rows = 48
    (methods / "run.yaml").write_text(f"""etx: 1
method: run
inputs: [{{name: x, type: "float32[{rows}, {INNER}]"}}]
buffers: [{{name: w, type: "float32[{ROWS}, {INNER}]"}}]
nodes: [{{out: y, op: aten.linear.default, args: [x, w]}}]
outputs: [y]
""")
    numbers = floats([source.gauss(0, 1) for _ in range(ROWS * INNER)])
    write_safetensors(methods / "weights.safetensors",
                      {"w": ("F32", [ROWS, INNER], numbers)})
    x = [floats(mixed_inputs(source, mixes, rows)) for _ in range(4)]
    write_safetensors(calls / "expected.safetensors",
                      {f"x{i}": ("F32", [rows, INNER], x[i]) for i in range(3)})
    (calls / "cases.json").write_text(json.dumps(
        {"atol": 0, "rtol": 0, "calls": [
            {"method": "run", "inputs": [{"tensor": f"x{i}"}]} for i in range(3)]}))
    write_safetensors(here / "other.safetensors", {"x": ("F32", [rows, INNER], x[3])})

    def results(*words):
        program, out = here / "one.pte", here / "one.safetensors"
        text = subprocess.run([etx, "plan", methods, "-o", program, "--json", *words],
                              check=True, capture_output=True).stdout
        subprocess.run([etx, "run", program, "run", "--in",
                        f"x={here}/other.safetensors#x", "--out", f"output_0={out}"],
                       check=True)
        row, = json.loads(text).get("quantized") or [None]
        return read_safetensors(out)["output_0"], row, program.read_bytes()

    exact, _, _ = results()
    for kind, gain in (("int4w", 10), ("int4w/128", 10), ("int4k", 10), ("int8w", 10),
                       ("int8w/32", 10), ("int8", 2)):
        plain, row, _ = results("--quantize", kind)
        assert row["calibration_rows"] == 0, row
        words = "--quantize", kind, "--calibrate", calls
        better, row, program = results(*words)
        assert row["calibration_rows"] == 3 * rows, row
        before, after = sqnr(exact, plain), sqnr(exact, better)
        assert after > before + gain, (kind, before, after)
        assert results(*words)[2] == program
        print(f"{kind}: results {before:.2f} dB, calibrated {after:.2f} dB")


def main():
    etx = sys.argv[1]
    source = random.Random(5)
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        (here / "methods").mkdir()
        (here / "methods" / "run.yaml").write_text(GRAPH)
        weights, stored = {}, {}
        for tensor in ("net.fc.weight", "net.words.weight"):
            raw = floats([source.gauss(0, 1) for _ in range(ROWS * INNER)])
            weights[tensor] = struct.unpack(f"<{ROWS * INNER}f", raw)
            stored[tensor] = ("F32", [ROWS, INNER], raw)
        write_safetensors(here / "methods" / "weights.safetensors", stored)
        identity = [float(i == k) for i in range(INNER) for k in range(INNER)]
        write_safetensors(here / "x.safetensors", {
            "x": ("F32", [INNER, INNER], floats(identity)),
            "i": ("I64", [ROWS], struct.pack(f"<{ROWS}q", *range(ROWS)))})
        whole, half = ROWS * INNER, ROWS * INNER // 2
        check(etx, here, weights, "int8w", whole + ROWS * 4, 39)
        for group, least in ((32, 21), (64, 20), (128, 19)):
            check(etx, here, weights, f"int4w/{group}",
                  half + ROWS * (INNER // group) * 4, least)
        # A scale for each row, two bytes for each group. Rows of the identity
        # are exact as bytes.
        check(etx, here, weights, "int4k",
              half + ROWS * 4 + ROWS * (INNER // 32) * 2, 22.5)
        check(etx, here, weights, "f16", 2 * whole, 73)
        check(etx, here, weights, "bf16", 2 * whole, 55)
        check_halves(etx, here, "F16", "float16")
        check_halves(etx, here, "BF16", "bfloat16")
        check_calibration(etx, here)


if __name__ == "__main__":
    main()
