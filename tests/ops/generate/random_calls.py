"""Shared code of the generators of random operator calls.

A generator draws random arguments of an operator, calls PyTorch for the result
or an error, and writes cases in the format of tests/data/ops/README.md. This
file has the dtypes, random numbers and layouts, the form of an argument in a
case, the two files of an operator, and the command line:

    random_<family>.py TARGET [--seed N] [--count N] [--only PART] [--wild]

COUNT cases of each operator whose name contains PART. Same seed, same bytes.
Needs torch 2.13.
"""

import argparse
import json
import math
import os
import random
import zlib

import torch

U8, I8, I16, I32, I64 = (torch.uint8, torch.int8, torch.int16, torch.int32,
                         torch.int64)
F16, BF16, F32, F64 = (torch.float16, torch.bfloat16, torch.float32,
                       torch.float64)
BOOL, C64, C128 = torch.bool, torch.complex64, torch.complex128
FLOATS, INTS = [F32, F64, F16, BF16], [I64, I32, I16, I8, U8]
ALL = FLOATS + INTS + [BOOL]
NAMES = {U8: "U8", I8: "I8", I16: "I16", I32: "I32", I64: "I64", F32: "F32",
         F64: "F64", F16: "F16", BF16: "BF16", BOOL: "BOOL"}
CODES = {U8: 0, I8: 1, I16: 2, I32: 3, I64: 4, F16: 5, F32: 6, F64: 7,
         C64: 9, C128: 10, BOOL: 11, BF16: 15}
# By dtype: the ULP of 1, and the smallest normal number.
UNIT = {F32: 2.0**-23, F64: 2.0**-52, F16: 2.0**-10, BF16: 2.0**-7,
        C64: 2.0**-23, C128: 2.0**-52}
TINY = {F32: 2.0**-149, F64: 2.0**-1074, F16: 2.0**-24, BF16: 2.0**-133,
        C64: 2.0**-149, C128: 2.0**-1074}
# By rank: channels last, as a dimension order and as PyTorch's memory format.
ORDERS = {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


class Skip(Exception):
    """What was drawn says nothing about the operator."""


# ------------------------------------------------ random choices

class Draw:
    """Random numbers and tensors; families draw other sizes and values."""

    wild = False  # tensors with stride 0, and many elements, too

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.torch = torch.Generator().manual_seed(seed)

    def chance(self, share):
        return self.random.random() < share

    def int(self, low, high):
        return self.random.randint(low, high)

    def pick(self, items):
        return self.random.choice(items)

    def shuffled(self, count):
        order = list(range(count))
        self.random.shuffle(order)
        return order

    def shape(self, low, high, most=6, long=300):
        shape = [self.pick([1, 2, 3, self.int(1, most)])
                 for _ in range(self.int(low, high))]
        if shape and self.chance(0.08):
            shape[self.int(0, len(shape) - 1)] = 0
        if shape and math.prod(shape) < 100 and self.chance(0.3):
            shape[self.int(0, len(shape) - 1)] = self.int(min(10, long), long)
        if self.wild and shape and math.prod(shape) < 400 and (
                self.chance(0.1)):
            shape[self.int(0, len(shape) - 1)] = self.int(16, 70)
        return shape

    def values(self, shape, dtype, special=0.1, low=-3.0, high=3.0):
        if dtype == BOOL:
            return torch.rand(shape, generator=self.torch) < self.pick(
                [0.5, 0.05, 0.95])
        if dtype in INTS:
            most = self.pick([2, 9, 100])
            least = 0 if dtype == U8 else -most
            return torch.randint(least, most + 1, shape,
                                 generator=self.torch).to(dtype)
        if dtype in (C64, C128):
            part = F32 if dtype == C64 else F64
            return torch.complex(self.values(shape, part, special),
                                 self.values(shape, part, special))
        t = torch.rand(shape, generator=self.torch, dtype=F64)
        t = t * (high - low) + low
        if self.chance(0.15):
            t = (t * 2).round() / 2  # ties
        t = t if dtype == F64 else t.to(F32).to(dtype)
        if t.numel() and self.chance(special):
            for _ in range(self.int(1, 3)):
                t.view(-1)[self.int(0, t.numel() - 1)] = self.pick(
                    [math.nan, math.inf, -math.inf, -0.0, 0.0])
        return t

    # The layouts of a tensor.

    def spread(self, t):
        """One place of a dimension for all of it, with stride 0."""
        return t.narrow(self.int(0, t.dim() - 1), 0, 1).expand(t.shape)

    def reordered(self, t):
        """The same elements in another order of dimensions."""
        order = self.shuffled(t.dim())
        back = [order.index(i) for i in range(t.dim())]
        return t.permute(order).contiguous().permute(back)

    @staticmethod
    def gapped(t, steps):
        """The same elements, each dimension with its step between them."""
        room = torch.zeros([n * step for n, step in zip(t.shape, steps)],
                           dtype=t.dtype)
        return room[tuple(slice(None, None, step) for step in steps)].copy_(t)

    def gapped_somewhere(self, t):
        steps = [1] * t.dim()
        at = self.int(0, t.dim() - 1)
        steps[at] = self.int(2, 3)
        return self.gapped(t, steps)

    @staticmethod
    def channels_last(t):
        return t.contiguous(memory_format=FORMATS[t.dim()])

    def lay(self, t):
        """The same elements in another order or with gaps, now and then."""
        if self.wild and t.numel() > 1 and self.chance(0.08):
            return self.spread(t)
        if t.dim() == 0 or t.numel() == 0 or self.chance(0.55):
            return t
        return self.reordered(t) if self.chance(0.7) else (
            self.gapped_somewhere(t))

    def tensor(self, shape, dtype, *more, **named):
        return self.lay(self.values(shape, dtype, *more, **named))

    def dim(self, rank, beyond=()):
        """One dimension, sometimes from the end, rarely one too many or one
        of `beyond`."""
        limit = max(rank, 1)
        if self.chance(0.03):
            return self.pick([limit, -limit - 1, *beyond])
        return self.int(-limit, limit - 1)

    def dims(self, rank):
        count = self.int(1, rank) if rank else self.int(0, 1)
        chosen = self.random.sample(range(max(rank, 1)), count)
        if chosen and self.chance(0.03):
            chosen.append(self.pick([chosen[0], rank, -rank - 1]))
        return [d - rank if rank and d < rank and self.chance(0.3) else d
                for d in chosen]


# ------------------------------------------------ writing

class Writer:
    """One operator's two files. `shares`: equal tensors are written once."""

    def __init__(self, base, shares=True):
        self.base, self.shares = base, shares
        self.cases, self.known, self.blobs = [], {}, []

    def put(self, tensor):
        # PyTorch may give an empty output a size of -1.
        if any(size < 0 for size in tensor.shape):
            raise Skip
        tensor = tensor.detach().resolve_conj()
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        tensor = tensor.contiguous()
        view = tensor.view(torch.int16) if tensor.dtype == BF16 else tensor
        raw = view.numpy().tobytes()
        key = (tensor.dtype, tuple(tensor.shape), raw)
        if key in self.known and self.shares:
            return self.known[key]
        self.known[key] = f"t{len(self.blobs)}"
        self.blobs.append((self.known[key],) + key)
        return self.known[key]

    def save(self):
        header, offset = {}, 0
        for name, dtype, shape, raw in self.blobs:
            header[name] = {"dtype": NAMES[dtype], "shape": list(shape),
                            "data_offsets": [offset, offset + len(raw)]}
            offset += len(raw)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        os.makedirs(os.path.dirname(self.base) or ".", exist_ok=True)
        with open(self.base + ".safetensors", "wb") as out:
            out.write(len(text).to_bytes(8, "little") + text)
            out.write(b"".join(blob[-1] for blob in self.blobs))
        with open(self.base + ".jsonl", "w") as out:
            for case in self.cases:
                out.write(json.dumps(case, separators=(",", ":")) + "\n")


def number(value):
    return float(value) if math.isfinite(value) else str(float(value))


def layout(tensor, ordered=False):
    """How a tensor lies; `ordered`: channels last is an order of dimensions
    and not strides."""
    if tensor.is_contiguous() or tensor.numel() == 0:
        return {}
    if ordered and tensor.dim() in ORDERS and tensor.is_contiguous(
            memory_format=FORMATS[tensor.dim()]):
        return {"dim_order": ORDERS[tensor.dim()]}
    return {"strides": list(tensor.stride())}


def encode_list(writer, values, ordered):
    if any(isinstance(v, torch.Tensor) for v in values):
        entry = {"tl": [v if v is None else writer.put(v) for v in values]}
        found = {str(i): layout(v, ordered) for i, v in enumerate(values)
                 if v is not None and layout(v, ordered)}
        return dict(entry, layouts=found) if found else entry
    if values and isinstance(values[0], bool):
        return {"bl": values}
    if values and isinstance(values[0], float):
        return {"fl": [number(v) for v in values]}
    return {"il": list(values)}


def encode(writer, name, value, ordered=False, real=False):
    """One argument of a case; `real`: whole numbers are doubles too."""
    entry = {"name": name}
    if value is None:
        entry["n"] = None
    elif isinstance(value, torch.Tensor):
        entry["t"] = writer.put(value)
        if value.is_complex():
            entry["complex"] = True
        entry.update(layout(value, ordered))
    elif isinstance(value, torch.dtype):
        entry["dtype"] = CODES[value]
    elif isinstance(value, bool):
        entry["b"] = value
    elif isinstance(value, str):
        entry["s"] = value
    elif isinstance(value, int) and not real:
        entry["i"] = value
    elif isinstance(value, (int, float)):
        entry["f"] = number(value)
    else:
        entry.update(encode_list(writer, value, ordered))
    return entry


class Cases:
    """Cases of one operator. A family says how a call becomes one."""

    patience = math.inf  # tries for each case that is wanted

    def __init__(self, op, writer, most=math.inf):
        """`most`: cases with a larger tensor are left out."""
        self.op, self.writer, self.most = op, writer, most

    def one_more(self, make, draw):
        """Adds one case, or none if what was drawn is of no use."""
        make(self, draw)

    def close(self):
        """All cases are there."""


# ------------------------------------------------ command line

def command_line(text, count=100, most=None):
    """`text` of the program, how many cases are written by default, and what
    --most counts, if there is such a bound."""
    parser = argparse.ArgumentParser(description=text.split("\n")[0])
    parser.add_argument("target", help="directory of the files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count,
                        help="cases of each operator")
    parser.add_argument("--only", default="", metavar="PART",
                        help="operators whose name contains it")
    parser.add_argument("--wild", action="store_true",
                        help="stride 0 and larger sizes too")
    if most:
        parser.add_argument("--most", type=float, default=math.inf,
                            help=f"{most} of the largest tensor")
    options = parser.parse_args()
    Draw.wild = options.wild
    torch.set_num_threads(1)
    return options


def file_of(op):
    return op.split("::")[1].replace(".", "_")


def seed_of(seed, op, _):
    return zlib.crc32(f"{seed} {op}".encode())


def generate(options, operators, cases_of, draw_of=Draw, base_of=file_of,
             seed_of=seed_of, shares=True):
    """Writes the files of the operators that are asked for. `operators`: by
    name, what Cases.one_more makes a case of; `cases_of(op, writer, most)` and
    `draw_of(seed)` make what it takes; `seed_of(seed, op, place)`."""
    for place, (op, make) in enumerate(operators.items()):
        if options.only not in op:
            continue
        writer = Writer(os.path.join(options.target, base_of(op)), shares)
        draw = draw_of(seed_of(options.seed, op, place))
        cases = cases_of(op, writer, getattr(options, "most", math.inf))
        tries = options.count * cases.patience
        while len(writer.cases) < options.count and tries > 0:
            tries -= 1
            try:
                cases.one_more(make, draw)
            except Skip:
                continue
        cases.close()
        writer.save()
