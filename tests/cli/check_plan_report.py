#!/usr/bin/env python3
"""Compares the report of `etx plan` with the program file.

    check_plan_report.py ETX DIRECTORY...

Liveness is computed here byte by byte, backwards through the instructions that
`etx dump` prints, while the report counts blocks. Methods with jumps are left out
of that comparison: in a loop, the report keeps a block for all iterations, while
`etx verify` counts the bytes that an iteration needs.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ALIGNMENT = 16
BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8,
         "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}
# Operators that read and write no elements.
NO_ELEMENTS = ("executorch_prim::et_view", "etx::part_view", "etx::part_after",
               "aten::empty.out")
# Operators that read only the sizes of their first tensor.
SIZES_ONLY = ("aten::sym_size", "aten::sym_numel", "aten::full_like",
              "aten::copy.out", "aten::fill")


def aligned(number):
    return -(-number // ALIGNMENT) * ALIGNMENT


class Method:
    """A method as `etx dump` prints it."""

    def __init__(self, text):
        self.name = re.match(r'"(.*?)"', text).group(1)
        self.inputs = self.numbers(text, "inputs")
        self.outputs = self.numbers(text, "outputs")
        self.arenas = self.numbers(text, "arenas")
        self.ranges, self.lists, self.steps = {}, {}, []
        self.jumps = False
        for line in text.splitlines():
            value = re.match(r"\s+- \{index: (\d+), (.*)\}$", line)
            step = re.match(r'\s+- \{op: "(.*?)", args: \[(.*?)\]\}', line)
            if value:
                self.add_value(int(value.group(1)), value.group(2))
            elif step:
                arguments = [int(a) for a in step.group(2).split(",") if a]
                self.steps.append((step.group(1), arguments))
            elif re.match(r"\s+- \{(jump|move|delegate)", line):
                self.jumps = True

    @staticmethod
    def numbers(text, key):
        found = re.search(key + r": \[(.*?)\]", text)
        return [int(n) for n in found.group(1).split(",") if n.strip()]

    def add_value(self, index, text):
        tensor = re.match(r'tensor: "(\w+)\[(.*?)\]"', text)
        listed = re.match(r".*tensors: \[(.*?)\]", text)
        if listed:
            self.lists[index] = [int(n) for n in listed.group(1).split(",")
                                 if n.strip()]
        place = re.search(r"arena: 1, offset: (\d+)", text)
        if not tensor or not place:
            return
        size = BYTES[tensor.group(1)]
        for extent in tensor.group(2).split(","):
            size *= int(extent) if extent.strip() else 1
        start = int(place.group(1))
        self.ranges[index] = (start, start + size)

    def tensors(self, argument):
        return [v for v in self.lists.get(argument, [argument])
                if v in self.ranges]

    def effects(self, step):
        """Ranges read and written."""
        name, arguments = self.steps[step]
        if name.startswith(NO_ELEMENTS) or not arguments:
            return [], []
        written = self.tensors(arguments[-1])
        read = []
        for position, argument in enumerate(arguments[:-1]):
            if position == 0 and name.startswith(SIZES_ONLY):
                continue
            found = self.tensors(argument)
            if found == written and position == len(arguments) - 2:
                continue  # the result, named once more
            read += found
        return ([self.ranges[v] for v in read],
                [self.ranges[v] for v in written])

    def fills_parts(self):
        """Whether instructions place parts of a block one after the other."""
        return any(op.startswith("etx::part_after") for op, _ in self.steps)

    def live(self):
        """Bytes in use at each step."""
        borders = sorted({b for r in self.ranges.values() for b in r})
        pieces = list(zip(borders, borders[1:]))

        def covered(ranges):
            return {i for i, (a, b) in enumerate(pieces)
                    if any(s <= a and b <= e for s, e in ranges)}

        needed = covered([self.ranges[v] for o in self.outputs
                          for v in self.tensors(o)])
        counts = []
        for step in reversed(range(len(self.steps))):
            read, written = map(covered, self.effects(step))
            during = needed | written
            needed = (needed - written) | read
            counts.append(sum(pieces[i][1] - pieces[i][0]
                              for i in during | needed))
        return counts[::-1]


def stretches(block):
    """When a block is in use."""
    start = block["start"]
    for gap in block["gaps"]:
        yield start, gap[0]
        start = gap[1]
    yield start, block["end"]


def live_together(a, b):
    return any(s < f and t < e for s, e in stretches(a)
               for t, f in stretches(b))


def most_live(blocks):
    change = {}
    for block in blocks:
        size = aligned(block["bytes"])
        for start, end in stretches(block):
            change[start] = change.get(start, 0) + size
            change[end] = change.get(end, 0) - size
    live = most = 0
    for time in sorted(change):
        live += change[time]
        most = max(most, live)
    return most


def check_blocks(report):
    """Blocks that are live together do not overlap, the last byte of all blocks is
    the one that the report gives, and `saves` of a block at the peak is what the
    peak falls by without it."""
    name = report["name"]
    shared = [b for b in report["blocks"] if not b["stable"]]
    assert len(report["blocks"]) == report["planned_values"], name
    assert max((b["offset"] + b["bytes"] for b in shared),
               default=report["range_start"]
               ) == report["range_start"] + report["planned_bytes"], name
    for i, a in enumerate(shared):
        for b in shared[:i]:
            assert (not live_together(a, b)
                    or a["offset"] + a["bytes"] <= b["offset"]
                    or b["offset"] + b["bytes"] <= a["offset"]), (name, a, b)
    most = most_live(shared)
    # The lower bound counts the topmost block without its padding.
    assert most - ALIGNMENT < report["lower_bound"], name
    for number, value in enumerate(report["peak"]["values"]):
        assert ("saves" in value) == (number < 10), name
        same = [b for b in shared if b["offset"] == value["offset"] and
                b["bytes"] == value["bytes"]]
        if number < 10:
            assert value["saves"] in [
                most - most_live([b for b in shared if b is not left])
                for left in same], (name, value)


def check(report, method):
    """Returns whether the peak is the same to the byte."""
    name = report["name"]
    peak, saved = report["peak"], report["saved"]
    bytes_of = [value["bytes"] for value in peak["values"]]
    arena = method.arenas[0] if method.arenas else 0
    assert report["scratch_bytes"] == arena, name
    assert report["instructions"] == len(method.steps) or method.jumps, name
    assert report["gap_bytes"] == (report["planned_bytes"]
                                   - report["lower_bound"]), name
    assert report["gap_bytes"] >= 0, name
    assert report["proved"] == (report["gap_bytes"] == 0), name
    assert report["naive_bytes"] == (
        saved["views"] + saved["in_place"] + saved["sharing"]
        + aligned(report["planned_bytes"]) + aligned(report["stable_bytes"]))
    assert bytes_of == sorted(bytes_of, reverse=True), name
    assert peak["live_bytes"] == sum(bytes_of), name
    assert peak["padding_bytes"] == sum(aligned(b) - b for b in bytes_of), name
    # The lower bound counts the topmost block without its padding.
    rounded = peak["live_bytes"] + peak["padding_bytes"]
    assert rounded - ALIGNMENT < report["lower_bound"], name
    check_blocks(report)
    end = 0
    for start, size in sorted((v["offset"], v["bytes"])
                              for v in peak["values"]):
        assert start >= end and start + size <= arena, (name, start)
        end = start + size
    if method.jumps or not method.steps:
        return True
    live = method.live()
    assert max(live) <= peak["live_bytes"], (name, max(live))
    # Every block at the peak is one that the file has there.
    starts = {start for start, _ in method.ranges.values()}
    assert all(v["offset"] in starts for v in peak["values"]), name
    at = report["peak_instruction"]
    # The report may be a few instructions early. It names the first instruction of
    # a node, which may begin by computing sizes. And it counts a block that is
    # filled piece by piece as a whole from the first piece on.
    if peak["values"] and peak["live_bytes"] == max(live):
        window = None if method.fills_parts() else at + 6
        assert max(live[at:window]) == max(live), (name, at)
    return max(live) == peak["live_bytes"]


def check_bound(report, arena):
    """`etx verify` finds a bound too, from the file. Returns whether it is the
    same. In methods with jumps it may be smaller: `etx verify` counts what one
    iteration of a loop needs, while the planner keeps a block for all iterations."""
    if arena is None:
        assert report["scratch_bytes"] == 0, report["name"]
        return True
    assert arena["bytes"] == report["scratch_bytes"], arena
    assert arena["lower_bound"] <= report["scratch_bytes"], arena
    assert arena["gap_bytes"] == (arena["bytes"] - arena["floor"]
                                  - arena["lower_bound"]), arena
    return abs(arena["lower_bound"] - report["lower_bound"]) < ALIGNMENT


# What the report calls an operator that stands for several.
FUSED = {"attention": "etx::attention", "linear epilogue": "etx::linear_chain",
         "convolution epilogue": "etx::convolution_chain",
         "elementwise chain": "etx::chain"}


def check_fusions(report, methods):
    """The fusions in the report are those in the program."""
    for kind, operator in FUSED.items():
        for name, method in methods.items():
            told = sum(f["method"] == name and f["kind"] == kind and
                       f["missed"] is None for f in report["fusions"])
            found = sum(op.split(".")[0] == operator for op, _ in method.steps)
            assert told == found, (name, kind, told, found)


def main():
    etx, directories = sys.argv[1], sys.argv[2:]
    exact = close = total = 0
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "model.pte"
        for directory in directories:
            for target in ("etx", "executorch"):
                report = json.loads(subprocess.run(
                    [etx, "plan", directory, "-o", program, "--report", "json",
                     "--target", target],
                    check=True, capture_output=True, text=True).stdout)
                text = subprocess.run([etx, "dump", program], check=True,
                                      capture_output=True, text=True).stdout
                methods = {m.name: m for m in map(
                    Method, text.split("  - method: ")[1:])}
                verdict = json.loads(subprocess.run(
                    [etx, "verify", program, "--json"], check=True,
                    capture_output=True, text=True).stdout)
                bounds = {row["method"]: row for row in verdict["arenas"]
                          if row["arena"] == 1}
                largest = total_bytes = 0
                for row in report["methods"]:
                    exact += check(row, methods[row["name"]])
                    total += 1
                    is_same = check_bound(row, bounds.get(row["name"]))
                    close += is_same or methods[row["name"]].jumps
                    largest = max(largest, row["scratch_bytes"])
                    total_bytes += row["scratch_bytes"]
                assert report["scratch_bytes"] == largest, directory
                assert report["scratch_sum_bytes"] == total_bytes, directory
                assert report["state_bound"] <= report["state_bytes"]
                check_fusions(report, methods)
                for copy in report["copies"]:
                    steps = methods[copy["method"]].steps
                    assert any(op.startswith(copy["operator"])
                               for op, _ in steps), copy
    print(f"{total} methods, {exact} with the same peak to the byte, "
          f"{close} with the same bound")
    return 0 if min(exact, close) * 100 >= total * 95 else 1


sys.exit(main())
