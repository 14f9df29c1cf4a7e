"""Calls of PyTorch's operators, compared with the same call in float64.

An Operator runs a functional form on arguments, once as they are and once in
float64, and adds a case: the float64 result with a tolerance, or the fact that
PyTorch refuses. A result of PyTorch's own float32 or half kernel that misses
the tolerance drops the case, since then the tolerance is wrong.
"""

import math
import re

import torch

from random_calls import (BF16, C128, F16, F32, F64, TINY, UNIT, Cases, encode)


def rounded(value):
    return float("%.3g" % value) if value else 0.0


def terms_lost(count):
    """Units in the last place that a sum of `count` terms may lose, in any
    order."""
    return min(count + 2, 8 * math.sqrt(count + 2))


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


def allclose(x, y, rtol, atol, equal_nan, _):
    """A tensor, as the operator gives; PyTorch has a function alone."""
    return torch.tensor([torch.allclose(x, y, rtol=rtol, atol=atol,
                                        equal_nan=equal_nan)])


class Operator(Cases):
    """Cases of one operator, called as its functional form. `function`: that
    form, where no overload has the same arguments."""

    def __init__(self, op, writer, most=math.inf, function=None):
        super().__init__(op, writer, most)
        self.dropped, self.schema = 0, None
        if function is None:
            name, _, overload = op.split("::")[1].partition(".")
            packet = getattr(torch.ops.aten, name)
            self.schema = getattr(packet, overload)._schema
            function = self.functional(packet)
        self.function = function

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

    def encode(self, values):
        kinds = {} if self.schema is None else {
            a.name: str(a.type) for a in self.schema.arguments}
        return [encode(self.writer, name, value,
                       real="float" in kinds.get(name, ""))
                for name, value in values.items()]

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
        case = {"id": f"{self.op.replace('::', '.')}#r"
                      f"{len(self.writer.cases) + 1}", "op": self.op}
        try:
            native = call(copied(same))
        except (RuntimeError, IndexError, ValueError) as error:
            reason = re.sub(r"\s+", " ", str(error))[:80]
            case["args"] = self.encode(values)
            case.update(expect="error", reason=reason, tags=["error"])
            self.writer.cases.append(case)
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
        case["args"] = self.encode(values)
        case.update(expect="ok", atol=0.0, rtol=0.0, outs=outs,
                    tags=list(tags))
        if zero_sign:
            case["zero_sign"] = "any"
        self.writer.cases.append(case)

    @staticmethod
    def bounds(tolerance, high, dtype, k):
        absolute, relative = tolerance(high, dtype, k)
        unit = UNIT[dtype] if dtype in (F64, C128) else UNIT[F32]
        absolute, relative = absolute * unit, relative * unit
        absolute += 4 * TINY[dtype]
        if dtype in (F16, BF16):
            absolute, relative = absolute + TINY[dtype], relative + UNIT[dtype]
        return rounded(absolute * 1.001), rounded(relative * 1.001)

    def close(self):
        if self.dropped:
            print(f"{self.op}: {self.dropped} outside the tolerance, dropped")
