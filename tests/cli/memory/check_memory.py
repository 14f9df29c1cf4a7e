#!/usr/bin/env python3
"""Compares the boxes of `etx mem` with an independent computation.

    check_memory.py ETX FILE.pte|DIRECTORY...

The package executorch reads the program, and PyTorch's schemas say what an
operator writes. Liveness is computed for each instruction, while etx uses basic
blocks. A directory is planned first, for both targets. Ends with 77 (skipped) if
the packages are not installed.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import torch
    from executorch.exir import schema
    from executorch.exir._serialize import _program
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SCRATCH, STATE, CONSTANT, CALLER = range(4)
# Operators that read only the sizes of their first tensor.
SIZES_ONLY = {"sym_size.int", "sym_numel", "full_like.out", "fill.Scalar_out",
              "fill.Tensor_out", "copy.out"}
VIEWS = {"executorch_prim::et_view.default", "etx::part_view.default",
         "etx::part_after.default"}
# Arguments that operators outside of ATen change in place.
CHANGED = {"llama::update_cache.out": [1],
           "llama::sdpa_with_kv_cache.out": [3, 4]}
MOST_PADDING = 64


def schemas():
    return {s.name + ("." + s.overload_name if s.overload_name else ""): s
            for s in torch._C._jit_get_all_schemas()}


ATEN = schemas()


class Method:
    """One plan as steps over values: what each reads and writes."""

    def __init__(self, plan):
        self.plan = plan
        self.values = [value.val for value in plan.values]
        self.steps = []      # (reads, writes) as lists of (value, keeps)
        self.headers = []    # (to, from)
        self.jumps = {}      # step: (target, condition)
        for chain in plan.chains:
            first = len(self.steps)
            for instruction in chain.instructions:
                self.add(instruction.instr_args, first, len(chain.instructions))

    def is_tensor(self, value):
        return 0 <= value < len(self.values) and isinstance(
            self.values[value], schema.Tensor)

    def tensors(self, argument):
        value = self.values[argument] if argument >= 0 else None
        if isinstance(value, schema.Tensor):
            return [argument]
        if isinstance(value, (schema.TensorList, schema.OptionalTensorList)):
            return [item for item in value.items if item >= 0]
        return []

    def add(self, what, first, count):
        step = len(self.steps)
        reads, writes = [], []
        if isinstance(what, schema.KernelCall):
            reads, writes = self.call(what)
        elif isinstance(what, schema.JumpFalseCall):
            target = min(what.destination_instruction, count)
            self.jumps[step] = (first + target, what.cond_value_index)
            reads = self.tensors(what.cond_value_index)
        elif isinstance(what, schema.MoveCall):
            if self.is_tensor(what.move_from) and self.is_tensor(what.move_to):
                self.headers.append((what.move_to, what.move_from, False))
        elif isinstance(what, schema.DelegateCall):
            raise NotImplementedError("delegate")
        self.steps.append((reads, writes))

    def call(self, what):
        op = self.plan.operators[what.op_index]
        name = op.name + ("." + op.overload if op.overload else "")
        args = list(what.args)
        short = name.split("::")[1]
        if name in VIEWS:
            self.headers.append((args[-1], args[0], True))
            return [], []
        if name == "executorch_prim::et_copy_index.tensor":
            return self.tensors(args[1]), [(args[0], True)]  # a row of it
        if name in ATEN:
            flags = [a.alias_info is not None and a.alias_info.is_write
                     for a in ATEN[name].arguments]
            flags += [None] * (len(args) - len(flags))
        else:
            flags = self.flags_by_convention(name, args)
        in_place = short.split(".")[0].endswith("_")
        reads, writes = [], []
        for i, (argument, flag) in enumerate(zip(args, flags)):
            for value in self.tensors(argument):
                if flag:
                    keeps = i in CHANGED.get(name, []) or (
                        in_place and short.split(".")[0] != "copy_")
                    writes.append((value, keeps))
                elif flag is not None and not (i == 0 and short in SIZES_ONLY):
                    reads.append(value)
        if short in ("empty.out", "empty_dim_order.out"):
            return [], [(value, None) for value, _ in writes]
        if in_place and args[-1] != args[0] and self.tensors(args[-1]):
            self.headers.append((args[-1], args[0], True))
        return reads, writes

    @staticmethod
    def flags_by_convention(name, args):
        """The last argument is written, and stands there once more."""
        if len(args) < 2 or args[-1] != args[-2]:
            raise NotImplementedError(name)
        flags = [False] * (len(args) - 2) + [True, None]
        for i in CHANGED.get(name, []):
            flags[i] = True
        return flags

    def bytes(self, value):
        tensor = self.values[value]
        size = torch.empty(0, dtype=DTYPES[tensor.scalar_type.name]).element_size()
        for extent in tensor.sizes:
            size *= extent
        return size

    def place(self, value):
        where = self.values[value].allocation_info
        if where is None:
            return None
        return (where.memory_id,
                where.memory_offset_low + (where.memory_offset_high << 32))


DTYPES = {"BOOL": torch.bool, "BYTE": torch.uint8, "CHAR": torch.int8,
          "SHORT": torch.int16, "INT": torch.int32, "LONG": torch.int64,
          "HALF": torch.half, "FLOAT": torch.float, "DOUBLE": torch.double,
          "BFLOAT16": torch.bfloat16, "COMPLEXFLOAT": torch.complex64}


def piece_of_values(method, rows):
    """Each tensor belongs to one box, and views lie within it."""
    owner = {}
    for row in rows:
        for value in [row[0]] + row[8]:
            assert value not in owner, f"value {value} is in two boxes"
            owner[value] = row[0]
        place = method.place(row[0])
        for view in row[8]:
            where = method.place(view)
            if place is None or where is None:
                continue
            assert where[0] == place[0] and where[1] >= place[1], view
            assert where[1] + method.bytes(view) <= place[1] + row[5], view
    tensors = {v for v in range(len(method.values)) if method.is_tensor(v)}
    assert set(owner) == tensors, set(owner) ^ tensors
    return owner


class Lifespans:
    """Liveness on single steps; sets of pieces are Python integers."""

    def __init__(self, method, owner, blob_inputs_mutable):
        self.method, self.owner = method, owner
        self.count = len(method.steps)
        self.drop_sizings()
        self.written_ever = {v for _, writes in method.steps for v, _ in writes}
        self.written_ever |= set(method.plan.inputs)
        self.sources = {}
        for to, source, _ in method.headers:
            if owner[to] != owner[source]:
                self.sources.setdefault(to, []).append(source)
        self.reads = [[p for v in reads for p in self.meant(v)]
                      for reads, _ in method.steps]
        self.writes = [self.pieces_written(writes) for _, writes in method.steps]
        self.inputs = {owner[v] for v in method.plan.inputs
                       if method.is_tensor(v)}
        self.outputs = {p for v in method.plan.outputs if method.is_tensor(v)
                        for p in self.meant(v)} | blob_inputs_mutable
        self.find_states()
        self.flow()

    def drop_sizings(self):
        """A call that gives a tensor its sizes (keeps: None) is no write if parts
        of the tensor are computed in it: the first of them is. Neither is one
        that gives sizes to a view of what was written before."""
        wholes = {source for _, source, _ in self.method.headers}
        self.method.steps = [
            (reads, [(v, bool(keeps)) for v, keeps in writes
                     if keeps is not None or
                     v not in wholes and self.owner[v] == v])
            for reads, writes in self.method.steps]

    def meant(self, value):
        """Pieces whose bytes a value may show."""
        found, waiting, seen = [], [value], {value}
        while waiting:
            v = waiting.pop()
            if v not in self.sources or v in self.written_ever:
                found.append(self.owner[v])
            for source in self.sources.get(v, []):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return found

    def pieces_written(self, writes):
        result = []
        for value, keeps in writes:
            pieces = self.meant(value)
            for piece in pieces:
                is_full = (value not in self.sources and not keeps and
                           self.method.bytes(value) >= self.method.bytes(piece))
                result.append((piece, is_full))
        return result

    def is_planned(self, piece):
        return self.method.place(piece) is not None

    def find_states(self):
        self.states = set()
        written = set(self.inputs)
        for value, owner in self.owner.items():
            tensor = self.method.values[value]
            named = (tensor.extra_tensor_info is not None and
                     tensor.extra_tensor_info.fully_qualified_name)
            if tensor.allocation_info is not None and (
                    named or tensor.data_buffer_idx > 0):
                self.states.add(owner)
        for reads, writes in zip(self.reads, self.writes):
            self.states |= {p for p in reads
                            if p not in written and self.is_planned(p)}
            written |= {p for p, _ in writes}

    def successors(self, step):
        if step not in self.method.jumps:
            return [step + 1]
        target, condition = self.method.jumps[step]
        value = self.method.values[condition]
        if isinstance(value, schema.Bool) and condition not in self.varying():
            return [step + 1] if value.bool_val else [target]
        return [step + 1, target]

    def varying(self):
        """Numbers that inputs, moves or operators may change."""
        if not hasattr(self, "_varying"):
            plan, varies = self.method.plan, set(self.method.plan.inputs)
            for chain in plan.chains:
                for instruction in chain.instructions:
                    what = instruction.instr_args
                    if isinstance(what, schema.MoveCall):
                        varies.add(what.move_to)
                    if isinstance(what, schema.KernelCall):
                        varies.add(what.args[-1])
            self._varying = varies
        return self._varying

    def flow(self):
        def bits(pieces):
            return sum(1 << p for p in set(pieces))

        self.after = after = [self.successors(s) for s in range(self.count)]
        reads = [bits(r) for r in self.reads]
        full = [bits(p for p, is_full in w if is_full) for w in self.writes]
        some = [bits(p for p, _ in w) for w in self.writes]
        self.needed = [0] * self.count + [bits(self.outputs)]
        self.later = [0] * self.count
        changed = True
        while changed:
            changed = False
            for s in reversed(range(self.count)):
                later = 0
                for n in after[s]:
                    later |= self.needed[n]
                now = later & ~full[s] | reads[s]
                changed |= now != self.needed[s]
                self.needed[s], self.later[s] = now, later
        self.written = [None] * (self.count + 1)
        self.written[0] = bits(self.inputs)
        waiting = [0]
        while waiting:
            s = waiting.pop()
            if s == self.count:
                continue
            now = self.written[s] | some[s]
            for n in after[s]:
                before = self.written[n]
                if before is None or now & ~before:
                    self.written[n] = (before or 0) | now
                    waiting.append(n)
        self.touched = [r | w for r, w in zip(reads, some)]
        if self.count > 0:
            self.touched[0] |= bits(self.inputs)
        self.some = some

    def taken_over(self, piece, step):
        """Another piece is written at this step over bytes of `piece`."""
        arena, offset = self.method.place(piece)
        end = offset + self.method.bytes(piece)
        if piece not in self.reads[step]:
            return False
        for other, _ in self.writes[step]:
            if other == piece or not self.is_planned(other):
                continue
            place = self.method.place(other)
            stop = place[1] + self.method.bytes(other)
            if place[0] == arena and place[1] <= offset < stop and \
                    end <= stop + MOST_PADDING:
                return True
        return False

    def spans(self, piece):
        lives = []
        bit = 1 << piece
        for s in range(self.count):
            if self.written[s] is None or not bit & (
                    self.needed[s] & self.written[s] | self.touched[s]):
                continue
            is_last = not (self.later[s] | self.some[s]) & bit
            if not lives or lives[-1][1] != s:
                lives.append([s, s + 1])
            elif not (is_last and self.taken_over(piece, s)):
                lives[-1][1] = s + 1
        if self.count == 0 and piece in self.inputs | self.outputs:
            lives = [[0, 1]]
        return [edge for span in lives for edge in span]


def check_method(shown, plan):
    method = Method(plan)
    owner = piece_of_values(method, shown["boxes"])
    mutable = {row[0] for row in shown["boxes"]
               if row[2] & 1 and row[2] & 2}
    found = Lifespans(method, owner, mutable)
    columns = max(1, len(method.steps))
    assert shown["columns"] == columns
    for row in shown["boxes"]:
        value, kind, roles, arena, offset, size = row[:6]
        place = method.place(value)
        assert (arena, offset) == (place or (0, 0)), (value, place)
        assert size == method.bytes(value), (value, size)
        assert bool(roles & 1) == (value in found.inputs), value
        if place is None:
            assert kind in (CONSTANT, CALLER), value
            continue
        assert (kind == STATE) == (value in found.states), (value, kind)
        expected = [0, columns] if kind == STATE else found.spans(value)
        assert row[9] == expected, \
            f"value {value} lives {row[9]}, expected {expected}"
    return len(shown["boxes"])


def boxes_of(etx, path, folder):
    page = folder / "page.html"
    subprocess.run([etx, "mem", path, "--html", page], check=True)
    text = re.search(r'<script type="application/json" id="map">\n(.*?)</script>',
                     page.read_text(), re.DOTALL).group(1)
    return json.loads(text)


def check_file(etx, path, folder):
    shown = boxes_of(etx, path, folder)
    program = _program.deserialize_pte_binary(path.read_bytes()).program
    assert len(shown["methods"]) == len(program.execution_plan)
    count = 0
    for method, plan in zip(shown["methods"], program.execution_plan):
        assert method["name"] == plan.name
        try:
            count += check_method(method, plan)
        except NotImplementedError as unknown:
            print(f"{path.name}, {plan.name}: left out, {unknown}")
        except AssertionError:
            print(f"{path}, method {plan.name}:")
            raise
    return count


def main():
    etx = sys.argv[1]
    files = boxes = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in map(pathlib.Path, sys.argv[2:]):
            paths = [path]
            if path.is_dir():
                paths = []
                for target in ("etx", "executorch"):
                    paths.append(folder / f"{path.name}.{target}.pte")
                    subprocess.run([etx, "plan", path, "--target", target, "-o",
                                    paths[-1]], check=True, capture_output=True)
            for file in paths:
                boxes += check_file(etx, file, folder)
                files += 1
    print(f"{boxes} boxes of {files} files agree")


if __name__ == "__main__":
    main()
