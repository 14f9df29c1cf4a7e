#!/usr/bin/env python3
"""Compares etx's .pte writer and reader with flatc, in both directions.

    check_flatc.py --flatc FLATC --schema program.fbs --tool SAMPLE_TOOL
                   --golden sample.json

1. The sample that etx writes, decoded by flatc, equals the golden text.
2. The golden text, encoded by flatc, with header and segments added here, is
   opened by etx and says the same as the sample.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

HEADER = struct.Struct("<4sIQQQ")


def decode(flatc, schema, directory, binary):
    """Returns what flatc reads in `binary`, defaults filled in."""
    subprocess.run(
        [flatc, "--json", "--raw-binary", "--defaults-json", "--strict-json",
         "-o", directory, schema, "--", binary], check=True)
    return json.loads((directory / (binary.stem + ".json")).read_text())


def encode(flatc, schema, directory, text):
    """Returns the FlatBuffer that flatc writes for `text`."""
    subprocess.run([flatc, "--binary", "-o", directory, schema, text],
                   check=True)
    return (directory / (text.stem + ".pte")).read_bytes()


def add_segments(program, sample):
    """Splices an extended header into `program` and appends the segments of
    the file `sample`."""
    magic, _, _, base, size = HEADER.unpack_from(sample, 8)
    assert magic == b"eh00", "the sample has no extended header"
    program_size = len(program) + HEADER.size
    new_base = -(-program_size // 256) * 256
    root = struct.unpack_from("<I", program)[0] + HEADER.size
    header = HEADER.pack(b"eh00", HEADER.size, program_size, new_base, size)
    head = struct.pack("<I", root) + program[4:8] + header + program[8:]
    return head + bytes(new_base - len(head)) + sample[base:base + size]


def first_difference(ours, golden, path="program"):
    """Names the first place where two JSON values differ, or None."""
    if type(ours) is not type(golden):
        return f"{path}: {ours!r}, expected {golden!r}"
    if isinstance(ours, dict):
        for key in sorted(set(ours) | set(golden)):
            if key not in ours or key not in golden:
                return f"{path}.{key}: only in one of the two"
            found = first_difference(ours[key], golden[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(ours, list):
        if len(ours) != len(golden):
            return f"{path}: {len(ours)} entries, expected {len(golden)}"
        for index, pair in enumerate(zip(ours, golden)):
            found = first_difference(*pair, f"{path}[{index}]")
            if found:
                return found
        return None
    return None if ours == golden else f"{path}: {ours!r}, expected {golden!r}"


def sum_of(tool, path):
    return subprocess.run([tool, "sum", path], check=True, text=True,
                          capture_output=True).stdout


def main():
    parser = argparse.ArgumentParser()
    for name in ("flatc", "schema", "tool", "golden"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    golden = pathlib.Path(options.golden)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        ours = directory / "ours.pte"
        subprocess.run([options.tool, "write", ours], check=True)
        program = encode(options.flatc, options.schema, directory, golden)
        theirs = directory / "theirs.pte"
        theirs.write_bytes(add_segments(program, ours.read_bytes()))
        difference = first_difference(
            decode(options.flatc, options.schema, directory, ours),
            decode(options.flatc, options.schema, directory, theirs))
        if difference:
            sys.exit(f"flatc reads something else in our file: {difference}")
        if sum_of(options.tool, ours) != sum_of(options.tool, theirs):
            sys.exit("etx reads something else in the file that flatc wrote")
    print("flatc and etx agree, reading and writing")


if __name__ == "__main__":
    main()
