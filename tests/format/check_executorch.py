#!/usr/bin/env python3
"""Compares etx's .pte writer and reader with the Python package executorch.

    check_executorch.py --tool SAMPLE_TOOL FILE.pte...

The package's own deserialiser reads the sample that etx writes, and each file
named; what it has read it writes again, and etx must find the same in the
result. Ends with 77 (skipped) if the package is not there.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    from executorch.exir._serialize import _program
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def sum_of(tool, path):
    return subprocess.run([tool, "sum", path], check=True, text=True,
                          capture_output=True).stdout


def write_again(source, target):
    """Reads `source` and writes what was read to `target`, both with the
    package."""
    read = _program.deserialize_pte_binary(source.read_bytes())
    written = _program.serialize_pte_binary(read, extract_delegate_segments=False)
    target.write_bytes(bytes(written))
    return read.program


def check_sample(program):
    """A few things by name, so that not only two sums agree."""
    forward = program.execution_plan[0]
    assert [plan.name for plan in program.execution_plan] == [
        "forward", "second", "answer"]
    assert forward.values[1].val.int_val == -7000000000
    assert forward.values[3].val.double_val == 2.5
    assert forward.values[4].val.string_val == "none"
    assert forward.values[7].val.extra_tensor_info.fully_qualified_name == (
        "layer.cache")
    assert forward.values[7].val.allocation_info.memory_id == 2
    assert list(forward.values[15].val.items) == [7, -1, 0]
    assert forward.operators[1].overload == "out"
    assert forward.delegates[0].id == "SomeBackend"
    assert list(forward.non_const_buffer_sizes) == [0, 96, 32, 64]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        ours = pathlib.Path(name) / "ours.pte"
        again = pathlib.Path(name) / "again.pte"
        subprocess.run([options.tool, "write", ours], check=True)
        check_sample(write_again(ours, again))
        for path in [ours, *options.files]:
            write_again(path, again)
            if sum_of(options.tool, path) != sum_of(options.tool, again):
                sys.exit(f"executorch reads something else in {path}")
    print(f"executorch and etx agree on {1 + len(options.files)} files")


if __name__ == "__main__":
    main()
