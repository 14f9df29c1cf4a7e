"""What generators of random operator calls share.

A Call runs an operator of PyTorch on arguments, once as they are and once in
float64, and writes a case in the format that tests/data/ops/README.md tells:
the float64 result with a tolerance, or the fact that PyTorch refuses. A result
of PyTorch's own float32 or half kernel that misses the tolerance drops the
case, since then the tolerance is wrong.
"""

import json
import math
import random
import re

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
# Units in the last place of 1, and the smallest numbers.
UNIT = {F32: 2.0**-23, F64: 2.0**-52, F16: 2.0**-10, BF16: 2.0**-7,
        C64: 2.0**-23, C128: 2.0**-52}
TINY = {F32: 2.0**-149, F64: 2.0**-1074, F16: 2.0**-24, BF16: 2.0**-133,
        C64: 2.0**-149, C128: 2.0**-1074}


class Writer:
    """One operator's two files."""

    def __init__(self, base):
        self.base, self.cases, self.known, self.blobs = base, [], {}, []

    def put(self, tensor):
        tensor = tensor.detach().resolve_conj()
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        tensor = tensor.contiguous()
        view = tensor.view(torch.int16) if tensor.dtype == BF16 else tensor
        raw = view.numpy().tobytes()
        key = (tensor.dtype, tuple(tensor.shape), raw)
        if key not in self.known:
            self.known[key] = f"t{len(self.known)}"
            self.blobs.append((self.known[key], NAMES[tensor.dtype],
                               list(tensor.shape), raw))
        return self.known[key]

    def save(self):
        header, offset = {}, 0
        for name, dtype, shape, raw in self.blobs:
            header[name] = {"dtype": dtype, "shape": shape,
                            "data_offsets": [offset, offset + len(raw)]}
            offset += len(raw)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(self.base + ".safetensors", "wb") as out:
            out.write(len(text).to_bytes(8, "little") + text)
            out.write(b"".join(blob[3] for blob in self.blobs))
        with open(self.base + ".jsonl", "w") as out:
            for case in self.cases:
                out.write(json.dumps(case, separators=(",", ":")) + "\n")


def spread(draw, t):
    """One place of a dimension for all of it, with stride 0."""
    at = draw.randrange(t.dim())
    return t.narrow(at, 0, 1).expand(t.shape)


class Draw:
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

    def lay(self, t):
        """The same elements in another order or with gaps, now and then."""
        if self.wild and t.numel() > 1 and self.chance(0.08):
            return spread(self.random, t)
        if t.dim() == 0 or t.numel() == 0 or self.chance(0.55):
            return t
        if self.chance(0.7):
            order = list(range(t.dim()))
            self.random.shuffle(order)
            back = [order.index(i) for i in range(t.dim())]
            return t.permute(order).contiguous().permute(back)
        dim, step = self.int(0, t.dim() - 1), self.int(2, 3)
        shape = list(t.shape)
        shape[dim] *= step
        wide = torch.zeros(shape, dtype=t.dtype)
        index = [slice(None)] * t.dim()
        index[dim] = slice(0, None, step)
        wide[tuple(index)] = t
        return wide[tuple(index)]

    def tensor(self, shape, dtype, **more):
        return self.lay(self.values(shape, dtype, **more))

    def dim(self, rank):
        """One dimension, sometimes from the end, rarely one too many."""
        limit = max(rank, 1)
        if self.chance(0.03):
            return self.pick([limit, -limit - 1])
        return self.int(-limit, limit - 1)

    def dims(self, rank):
        count = self.int(1, rank) if rank else self.int(0, 1)
        chosen = self.random.sample(range(max(rank, 1)), count)
        if chosen and self.chance(0.03):
            chosen.append(self.pick([chosen[0], rank, -rank - 1]))
        return [d - rank if rank and d < rank and self.chance(0.3) else d
                for d in chosen]


def number(value):
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


def rounded(value):
    return float("%.3g" % value) if value else 0.0


def is_float(t):
    return isinstance(t, torch.Tensor) and t.dtype in UNIT


def widened(t):
    if not isinstance(t, torch.Tensor) or not is_float(t):
        return t.clone() if isinstance(t, torch.Tensor) else t
    return t.to(C128 if t.is_complex() else F64, copy=True)


def magnitude(t):
    """The largest finite size of an element."""
    if not is_float(t) or t.numel() == 0:
        return 0.0
    parts = torch.view_as_real(t) if t.is_complex() else t
    sizes = parts.double().abs()
    sizes = sizes[torch.isfinite(sizes)]
    return float(sizes.max()) if sizes.numel() else 0.0


def is_close(got, want, absolute, relative):
    if got.is_complex():
        got, want = torch.view_as_real(got), torch.view_as_real(want)
    got, want = got.double(), want.double()
    same = (got == want) | (got.isnan() & want.isnan())
    near = (got - want).abs() <= absolute + relative * want.abs()
    return bool((same | (near & torch.isfinite(want))).all())


class Operator:
    """Cases of one operator, called as its functional form."""

    def __init__(self, writer, op, function=None):
        self.writer, self.op, self.dropped = writer, op, 0
        self.most = math.inf  # bytes of a tensor; larger cases are left out
        name, _, overload = op.split("::")[1].partition(".")
        self.schema = None
        if function is None:
            packet = getattr(torch.ops.aten, name)
            self.schema = getattr(packet, overload)._schema
            function = self.functional(packet)
        self.function = function
        self.count = 0

    def functional(self, packet):
        wanted = [(a.name, str(a.type)) for a in self.schema.arguments
                  if not a.is_out]
        for overload in packet.overloads():
            target = getattr(packet, overload)
            own = [(a.name, str(a.type)) for a in target._schema.arguments]
            if own == wanted:
                return target
        raise ValueError(self.op)

    def out_names(self, count):
        if self.schema is None:
            return ["out"] * count
        return [a.name for a in self.schema.arguments if a.is_out]

    def encode(self, name, value, kind):
        entry = {"name": name}
        if value is None:
            entry["n"] = None
        elif isinstance(value, torch.Tensor):
            entry["t"] = self.writer.put(value)
            if value.is_complex():
                entry["complex"] = True
            if not value.is_contiguous() and value.numel():
                entry["strides"] = list(value.stride())
        elif isinstance(value, torch.dtype):
            entry["dtype"] = CODES[value]
        elif isinstance(value, bool):
            entry["b"] = value
        elif isinstance(value, int) and "float" not in kind:
            entry["i"] = value
        elif isinstance(value, (int, float)):
            entry["f"] = number(value)
        else:
            entry["il"] = list(value)
        return entry

    def kinds(self, names):
        if self.schema is None:
            return {name: "" for name in names}
        return {a.name: str(a.type) for a in self.schema.arguments}

    def add(self, arguments, tolerance, keywords=(), changed=(), free=(),
            tags=(), zero_sign=False):
        """`arguments`: (name, value) in schema order; `keywords` of them are
        passed by name. `tolerance(high, dtype, k)`: absolute and relative, in
        units of the last place, or None for exact. `changed`: tensors that the
        call changes. `free`: results whose contents are not compared."""
        values = dict(arguments)
        if any(isinstance(v, torch.Tensor) and v.nbytes > self.most
               for v in values.values()):
            return

        def call(given):
            plain = [v for n, v in given.items() if n not in keywords]
            named = {n: v for n, v in given.items() if n in keywords}
            result = self.function(*plain, **named)
            outs = list(result) if isinstance(result, (tuple, list)) else [
                result]
            return outs + [given[n] for n in changed]

        def copied(convert):
            return {n: convert(v) for n, v in values.items()}

        def same(v):
            return v.clone() if isinstance(v, torch.Tensor) else v
        case = {"id": "", "op": self.op}
        kinds = self.kinds(values)
        try:
            native = call(copied(same))
        except (RuntimeError, IndexError, ValueError) as error:
            reason = re.sub(r"\s+", " ", str(error))[:80]
            case["args"] = [self.encode(n, v, kinds.get(n, ""))
                            for n, v in values.items()]
            case.update(expect="error", reason=reason, tags=["error"])
            self.finish(case)
            return
        wide = copied(widened)
        if isinstance(wide.get("dtype"), torch.dtype) and (
                wide["dtype"] in UNIT):
            wide["dtype"] = F64
        high = native
        if any(is_float(t) for t in native) and tolerance is not None:
            high = call(wide)
        outs = []
        names = self.out_names(len(native) - len(changed)) + list(changed)
        for k, (name, got, want) in enumerate(zip(names, native, high)):
            want = want.to(got.dtype)
            absolute = relative = 0.0
            if is_float(got) and tolerance is not None:
                absolute, relative = self.bounds(tolerance, high[k], got.dtype,
                                                 k)
            if not math.isfinite(absolute) or k not in free and not is_close(
                    got, want, absolute, relative):
                self.dropped += 1
                return
            entry = {"name": name, "t": self.writer.put(want),
                     "atol": absolute, "rtol": relative}
            if got.is_complex():
                entry["complex"] = True
            if k in free:
                entry["check"] = "none"
            outs.append(entry)
        case["args"] = [self.encode(n, v, kinds.get(n, ""))
                        for n, v in values.items()]
        case.update(expect="ok", atol=0.0, rtol=0.0, outs=outs,
                    tags=list(tags))
        if zero_sign:
            case["zero_sign"] = "any"
        self.finish(case)

    @staticmethod
    def bounds(tolerance, high, dtype, k):
        absolute, relative = tolerance(high, dtype, k)
        unit = UNIT[dtype] if dtype in (F64, C128) else UNIT[F32]
        absolute, relative = absolute * unit, relative * unit
        absolute += 4 * TINY[dtype]
        if dtype in (F16, BF16):
            absolute, relative = absolute + TINY[dtype], relative + UNIT[dtype]
        return rounded(absolute * 1.001), rounded(relative * 1.001)

    def finish(self, case):
        self.count += 1
        case["id"] = f"{self.op.replace('::', '.')}#r{self.count}"
        self.writer.cases.append(case)
