#!/usr/bin/env python3
"""Inputs of recorded calls as C, and results of a board beside eager PyTorch.

    recorded_calls.py SET TENSOR... > frames.h

A set of tests/data/pt2 has in expected.safetensors what eager PyTorch was given
and answered (tests/data/README.md).
"""

import json
import pathlib
import re
import struct
import sys


def tensors(folder):
    """The float32 tensors of a set, as flat tuples, by name."""
    data = (pathlib.Path(folder) / "expected.safetensors").read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    result = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + length + at for at in entry["data_offsets"])
            result[name] = struct.unpack(f"<{(end - start) // 4}f", data[start:end])
    return result


def frames_header(folder, names):
    """C source of the inputs `names`, one row each."""
    values = tensors(folder)
    rows = ["    {" + ", ".join(f"{v.hex()}f" for v in values[name]) + "},"
            for name in names]
    return "\n".join([
        f"// Inputs of the recorded calls of {pathlib.Path(folder).name}.",
        f"enum {{ FRAME_COUNT = {len(names)}, FRAME_SIZE = "
        f"{len(values[names[0]])} }};",
        "static const float frames[FRAME_COUNT][FRAME_SIZE] = {", *rows, "};", ""])


def printed_floats(text, name):
    """What an application printed with print_bits under `name`, row by row."""
    rows = re.findall(rf"^bits {name}((?: [0-9a-f]{{8}})+)$", text, re.M)
    return [struct.unpack(f">{len(row) // 9}f", bytes.fromhex(row)) for row in rows]


def check(text, folder, expected, tolerance):
    """Compares printed rows with eager PyTorch's: name -> names of tensors."""
    values = tensors(folder)
    for name, tensor_names in expected.items():
        rows = printed_floats(text, name)
        if len(rows) < len(tensor_names):
            raise SystemExit(f"{name}: {len(rows)} results, expected "
                             f"{len(tensor_names)}")
        for row, tensor in zip(rows, tensor_names):
            for got, want in zip(row, values[tensor], strict=True):
                if not abs(got - want) <= tolerance * (1 + abs(want)):
                    raise SystemExit(f"{name}: {got}, but eager PyTorch gives "
                                     f"{want} ({tensor})")


if __name__ == "__main__":
    print(frames_header(sys.argv[1], sys.argv[2:]), end="")
