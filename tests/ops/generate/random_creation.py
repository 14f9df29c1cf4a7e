#!/usr/bin/env python3
"""Random calls of operators that create, cast and lay out tensors, and of those
on plain numbers.

    random_creation.py TARGET [--seed N] [--count N] [--only PART]

Writes TARGET/<operator>.jsonl and .safetensors, COUNT cases of each operator,
in the format of tests/data/ops/README.md: empty and other sizes, all dtypes,
several dimension orders, numbers at and beyond their bounds. A call that PyTorch
or Python refuses becomes an error case, whose output is float32.

tests/data/ops/random_creation holds what `--seed 1 --count 8` writes.
"""
import math

import torch

from random_calls import (ALL, BF16, BOOL, C64, C128, F16, F32, F64, FLOATS,
                          I8, I16, I32, I64, INTS, ORDERS, U8, UNIT, Cases,
                          Skip, command_line, encode, generate)
from wide_calls import allclose

P = "executorch_prim::"


class Calls(Cases):
    def encode(self, name, value):
        return encode(self.writer, name, value, ordered=True)

    def add(self, arguments, function, name="out", atol=0.0, rtol=0.0,
            check=None, dtype=None):
        """`function` of the values gives a tensor, a number, or several
        tensors by name; it raises what PyTorch raises. `dtype`: of out."""
        case = {"id": "%s#r%d" % (self.op.replace("::", "."),
                                  len(self.writer.cases) + 1), "op": self.op,
                "args": [self.encode(n, v) for n, v in arguments]}
        try:
            result = function(*[v for _, v in arguments])
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError,
                OverflowError) as error:
            if dtype not in (None, F32):
                raise Skip from error
            case.update(expect="error", reason=str(error).split("\n")[0][:80],
                        tags=["error"])
            self.writer.cases.append(case)
            return
        if not isinstance(result, dict):
            result = {name: result}
        outs = []
        for key, value in result.items():
            if isinstance(value, int) and abs(value) >= 2**63:
                raise Skip
            outs.append(self.encode(key, value))
            if check:
                outs[-1]["check"] = check
        case.update(expect="ok", atol=atol, rtol=rtol, outs=outs, tags=[])
        self.writer.cases.append(case)


# ------------------------------------------------ tensors of one number

def draw_number(d):
    kind = d.int(0, 9)
    if kind < 1:
        return d.chance(0.5)
    if kind < 5:
        return d.pick([0, 1, 2, 3, -1, -7, 100, d.int(-50, 120)])
    return d.pick([0.5, -1.5, 2.0, 0.0, -0.0, 0.1, 3.7, 1e-3, math.inf,
                   -math.inf, math.nan])


def sizes(d, rank=5):
    shape = d.shape(0, rank)
    if d.chance(0.03):
        shape.append(-1)
    return shape


def full(c, d):
    dtype = d.pick(ALL)
    c.add([("size", sizes(d)), ("fill_value", draw_number(d))],
          lambda s, v: torch.full(s, v, out=torch.empty(0, dtype=dtype)),
          dtype=dtype)


def full_like(c, d):
    x = laid(d, d.pick(ALL))
    c.add([("self", x), ("fill_value", draw_number(d)),
           ("memory_format", None)],
          lambda x, v, _: torch.full_like(x, v), dtype=x.dtype)


def fill_number(c, d):
    x = laid(d, d.pick(ALL))
    c.add([("self", x), ("value", draw_number(d))], torch.fill, dtype=x.dtype)


def fill_tensor(c, d):
    x = laid(d, d.pick(ALL))
    shape = [1] if d.chance(0.05) else []
    value = d.values(shape, d.pick(ALL), special=0.1)
    if x.dtype not in FLOATS and value.dtype in FLOATS:
        value = value.nan_to_num(0, 1, 2).abs()
    c.add([("self", x), ("value", value)], torch.fill, dtype=None)


def scalar_tensor(c, d):
    dtype, value = d.pick(ALL), draw_number(d)
    if dtype == I64 and d.chance(0.3):
        value = d.pick([2**63 - 1, -2**63, 2**53 + 1])
    c.add([("s", value)],
          lambda s: torch.full([], s, out=torch.empty(0, dtype=dtype)),
          dtype=dtype)


def constant(c, d):
    dtype = d.pick(ALL)
    make = torch.zeros if "zeros" in c.op else torch.ones
    c.add([("size", sizes(d))], lambda s: make(s, dtype=dtype), dtype=dtype)


def contents_free(c, d):
    dtype = d.pick(ALL if "empty" in c.op else FLOATS)
    arguments = [("size", sizes(d))]
    if "aten::empty" in c.op:
        arguments.append(("memory_format", None))
    c.add(arguments, lambda s, *_: torch.zeros(s, dtype=dtype), check="meta",
          dtype=dtype)


def empty_order(c, d):
    shape, dtype = d.shape(0, 5), d.pick(ALL)
    order = list(range(len(shape)))
    if d.chance(0.4):
        order = ORDERS.get(len(shape), order)
    out = torch.zeros([shape[i] for i in order], dtype=dtype)
    back = [order.index(i) for i in range(len(order))]
    c.add([("size", shape), ("dim_order", order)],
          lambda *_: out.permute(back), check="meta", dtype=dtype)


def arange(c, d):
    dtype = d.pick([I64, I32, F32, F64, F16, BF16, I16, I8, U8])
    real = dtype in FLOATS

    def bound(most):
        if real and d.chance(0.5):
            return d.pick([0.5, -2.5, 4.75, 9.1, -0.3, 3.0])
        return d.int(0 if dtype == U8 else -most, most)
    start, end = bound(9), bound(20)
    step = d.pick([1, 1, 2, 3, -1, -2, 0 if d.chance(0.1) else 1])
    if real and d.chance(0.5):
        step = d.pick([0.25, 0.5, -0.5, 1.5, 0.1, -0.3])
    if d.chance(0.7) and (end - start) * step < 0:
        start, end = end, start
    if d.chance(0.02):
        end = d.pick([math.inf, math.nan])
    only_end = not c.op.endswith("start_out")
    if only_end:
        start, step = 0, 1
    exact = all(float(v) * 4 == int(float(v) * 4) if math.isfinite(v) else 1
                for v in (start, end, step))
    far = max(abs(float(start)), abs(float(end)), 1.0)
    lost = 0.0 if exact or not real else 8 * far * UNIT[F32 if dtype != F64
                                                        else F64]
    rtol = UNIT[dtype] if lost and dtype in (F16, BF16) else 0.0
    # The number of elements must not depend on rounding.
    if math.isfinite(end) and step and not exact:
        quotient = (end - start) / step
        if abs(quotient - round(quotient)) < 1e-6:
            raise Skip

    def call(*_):
        wide = torch.arange(start, end, step, dtype=F64 if real else I64)
        return wide.to(dtype)
    arguments = [("end", end)] if only_end else [
        ("start", start), ("end", end), ("step", step)]
    c.add(arguments, call, atol=lost, rtol=rtol, dtype=dtype)


# ------------------------------------------------ copies and casts

def laid(d, dtype, low=0, high=5):
    x = d.values(d.shape(low, high), dtype, special=0.2)
    if x.dim() in ORDERS and x.numel() and d.chance(0.3):
        return d.channels_last(x)
    return d.lay(x)


def copied(c, d):
    fallback = "fallback" in c.op
    c.add([("input" if fallback else "self", laid(d, d.pick(ALL)))],
          torch.clone, name="output" if fallback else "out")


def to_order(c, d):
    """In the default order, channels last, or as it lies."""
    cast = "_to_" in c.op
    x = laid(d, d.pick(ALL))
    dtype = d.pick(ALL) if cast and d.chance(0.6) else x.dtype
    if x.dtype in FLOATS and dtype not in FLOATS + [BOOL]:
        x = x.nan_to_num(0, 100, -100)
        x = x.abs() if dtype == U8 else x
    order = d.pick([None, list(range(x.dim())),
                    ORDERS.get(x.dim(), list(range(x.dim())))])

    def call(value, non_blocking, dim_order):
        dense = value.to(dtype).contiguous()
        if dim_order is not None and dim_order == ORDERS.get(x.dim()):
            return d.channels_last(dense)
        return dense
    c.add([("self", x), ("non_blocking", False), ("dim_order", order)], call)


def conjugate(c, d):
    c.add([("self", laid(d, d.pick(ALL + [C64, C64, C128, C128])))],
          lambda x: torch.conj_physical(x).resolve_conj())


def dropout(c, d):
    train = d.chance(0.4)
    p = d.pick([0.0, 1.0]) if train else d.pick([0.0, 0.3, 1.0])
    if train and d.chance(0.1):
        p = d.pick([1.5, -0.5])
    x = laid(d, d.pick(FLOATS)).nan_to_num(0, 1, 2)

    def call(x, p, train):
        if not 0 <= p <= 1:
            raise ValueError("the share is from 0 to 1")
        out, mask = torch.native_dropout(x, p, train)
        return {"out0": out, "out1": mask}
    c.add([("input", x), ("p", p), ("train", train)], call)


def tiles(c, d):
    side = d.int(1, 5)
    h, w = side * d.int(1, 4), side * d.int(1, 4)
    if d.chance(0.05):
        h += 1

    def call(x, t):
        if x.shape[1] % t or x.shape[2] % t:
            raise ValueError("sizes not divisible by the tile")
        n = x.shape[0]
        x = x.reshape(n, x.shape[1] // t, t, x.shape[2] // t, t)
        return x.permute(1, 3, 0, 2, 4).reshape(-1, n, t, t)
    c.add([("input", d.tensor([d.int(1, 4), h, w], F32)), ("tile_size", side)],
          call)


def hadamard(c, d):
    n = 2**d.int(0, 9)
    x = d.values(d.shape(0, 2, most=4, long=9) + [n], F32, special=0)

    def call(x):
        y, h = x.double().reshape(-1, n), 1
        while h < n and x.numel():
            y = y.reshape(-1, n // (2 * h), 2, h)
            y = torch.stack((y[:, :, 0] + y[:, :, 1],
                             y[:, :, 0] - y[:, :, 1]), 2).reshape(-1, n)
            h *= 2
        return (y / math.sqrt(n)).reshape(x.shape).float()
    c.add([("mat", x)], call,
          atol=(math.log2(n) + 4) * 3 * math.sqrt(n) * UNIT[F32])


# ------------------------------------------------ numbers

INTEGERS = [0, 1, -1, 2, 3, 7, -7, 10, 100, -100, 2**31, -2**31, 2**40,
            2**53 + 1, 2**62, -2**62]
REALS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 7.5, -7.9, 0.1, 1e-3, 1e300,
         1e15 + 0.5, 2.0**52 + 1]
TWO = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b,
       "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b,
       "truediv": lambda a, b: a / b, "mod": lambda a, b: a % b,
       "sym_max": max, "sym_min": min, "eq": lambda a, b: a == b,
       "gt": lambda a, b: a > b, "lt": lambda a, b: a < b,
       "ge": lambda a, b: a >= b, "le": lambda a, b: a <= b}
ONE = {"neg": lambda a: -a, "sym_float": float, "sym_int": int,
       "ceil": math.ceil, "round": round, "trunc": math.trunc,
       "sym_not": lambda a: not a}


def two(c, d):
    name = c.op.split("::")[1].split(".")[0]
    if name in ("sym_max", "sym_min") and not c.writer.cases:
        for a, b in [(0.0, -0.0), (-0.0, 0.0), (3, 3.0), (3.0, 3)]:
            c.add([("a", a), ("b", b)], TWO[name], name="result")
    whole = name == "mod" or c.op.endswith(".int")
    a, b = (d.pick(INTEGERS if whole or d.chance(0.5) else REALS)
            for _ in range(2))
    if name == "floordiv":
        b = type(a)(b)
        if isinstance(b, int) and abs(b) >= 2**63:
            raise Skip
    if name == "truediv" and max(abs(a), abs(b)) > 2**53:
        raise Skip  # Python divides integers without rounding them first

    def call(a, b):
        if b == 0 and name in ("floordiv", "truediv") and isinstance(a, float):
            raise Skip  # infinity or a refusal
        result = TWO[name](a, b)
        if isinstance(result, float) and not math.isfinite(result):
            raise Skip
        return result
    c.add([("a", a), ("b", b)], call, name="result")


def within(c, d):
    """A number within its bounds; tests/runtime refuses the others."""
    least, value, most = sorted(d.pick(INTEGERS) for _ in range(3))
    c.add([("value", value), ("least", least), ("most", most),
           ("what", "size 'u0'")], lambda value, *_: value, name="result")


def one(c, d):
    name = c.op.split("::")[1].split(".")[0]
    if name == "sym_not":
        a = d.pick([True, False, 0, 1, 5, -1])
    elif name == "sym_float":
        a = d.pick(INTEGERS)
    else:
        a = d.pick([v for v in REALS if abs(v) < 2**63])
        if name == "neg" and d.chance(0.5):
            a = d.pick(INTEGERS)
    c.add([("a", a)], ONE[name], name="result")


def choice(c, d):
    values = d.pick([INTEGERS, REALS])
    c.add([("b", d.pick([True, False, 0, 1])), ("t", d.pick(values)),
           ("f", d.pick(values))], lambda b, t, f: t if b else f,
          name="result")


def size_at(c, d):
    x = d.tensor(d.shape(1, 5), d.pick(ALL))

    def call(x, dim):
        if not -x.dim() <= dim < x.dim():
            raise IndexError("dim out of range")
        return x.shape[dim]
    c.add([("self", x), ("dim", d.dim(x.dim()))], call, name="result")


def element_count(c, d):
    c.add([("self", d.tensor(d.shape(0, 5), d.pick(ALL)))],
          lambda x: x.numel(), name="result")


def only_element(c, d):
    x = d.values([1] * d.int(0, 3), d.pick(ALL))
    if d.chance(0.05):
        x = d.values([2, 1], d.pick(ALL))
    c.add([("self", x)], lambda x: x.item(), name="result")


def et_view(c, d):
    x = d.values(d.shape(0, 4), d.pick(ALL))
    shape, left = [], x.numel()
    for _ in range(d.int(0, 3)):
        divisors = [n for n in range(1, left + 1) if left % n == 0] or [0]
        shape.append(d.pick(divisors))
        left = left // shape[-1] if shape[-1] else 0
    shape.append(left)
    if d.chance(0.3):
        shape[d.int(0, len(shape) - 1)] = -1
    if d.chance(0.1):
        shape[d.int(0, len(shape) - 1)] = d.pick([-1, -2, 5])
    c.add([("self", x), ("size", shape)], lambda x, s: x.reshape(s))


def copy_index(c, d):
    rows, row, dtype = d.int(1, 6), d.shape(0, 3), d.pick(ALL)

    def call(to, row, index):
        if index != to.shape[0]:
            raise IndexError("the index is the present length")
        return torch.cat([to, row[None]], 0)
    index = rows
    c.add([("copy_to", d.values([rows] + row, dtype)),
           ("copy_from", d.values(row, dtype)), ("index", index)], call)


def closeness(c, d):
    dtype = d.pick(FLOATS + INTS)
    x = d.tensor(d.shape(0, 3), dtype, special=0.4)
    y = x.clone()
    if y.numel() and d.chance(0.6):
        flat = y.contiguous().view(-1)
        flat[d.int(0, y.numel() - 1)] += d.pick([1, 2])
        y = flat.view(y.shape)
    c.add([("self", x), ("other", y), ("rtol", d.pick([1e-5, 0.0, 0.4])),
           ("atol", d.pick([1e-8, 0.0, 1.5])), ("equal_nan", d.chance(0.5)),
           ("dummy_param", False)], allclose)


OPERATORS = {
    "aten::full.out": full, "aten::full_like.out": full_like,
    "aten::fill.Scalar_out": fill_number, "aten::fill.Tensor_out": fill_tensor,
    "aten::scalar_tensor.out": scalar_tensor,
    "aten::zeros.out": constant, "aten::ones.out": constant,
    "aten::empty.out": contents_free, "aten::rand.out": contents_free,
    "aten::randn.out": contents_free,
    "aten::arange.out": arange, "aten::arange.start_out": arange,
    "aten::detach_copy.out": copied, "aten::lift_fresh_copy.out": copied,
    "aten::_conj_physical.out": conjugate,
    "aten::native_dropout.out": dropout,
    "aten::allclose.Tensor": closeness,
    "et_copy::_h2d_copy.out": copied, "et_copy::_d2h_copy.out": copied,
    "dim_order_ops::_empty_dim_order.out": empty_order,
    "dim_order_ops::_to_dim_order_copy.out": to_order,
    "dim_order_ops::_clone_dim_order.out": to_order,
    "llama::fallback.out": copied,
    "llama::fast_hadamard_transform.out": hadamard,
    "preprocess::tile_crop.out": tiles,
    "aten::sym_size.int": size_at, "aten::sym_numel": element_count,
    "aten::_local_scalar_dense": only_element,
    P + "sym_ite.Scalar": choice, P + "et_view.default": et_view,
    P + "et_copy_index.tensor": copy_index,
    "etx::check_range": within,
    P + "floordiv.int": two, P + "mod.int": two,
}
OPERATORS.update({P + name + ".Scalar": two for name in TWO})
OPERATORS.update({P + name + ".Scalar": one for name in ONE})


if __name__ == "__main__":
    generate(command_line(__doc__), OPERATORS, Calls,
             base_of=lambda op: op.replace("::", "_").replace(".", "_"))
