#!/usr/bin/env python3
"""Random calls of the operators that move elements, with PyTorch's results.

    random_movement.py TARGET [--seed N] [--count N] [--only PART]

Writes TARGET/<operator>.jsonl and .safetensors in the format of
tests/data/ops/README.md, COUNT cases of each operator: empty and other shapes,
all dtypes, several dimension orders and strides with gaps, arguments at and
beyond their bounds. A call that PyTorch refuses becomes an error case.

tests/data/ops/random_movement holds what `--seed 1 --count 5` writes.
"""

import torch

import indexing_calls
import moving_calls
from random_calls import (BF16, BOOL, C64, C128, F16, F32, F64, I8, I16, I32,
                          I64, ORDERS, U8, Cases, Draw, Skip, command_line,
                          encode, generate, layout)

TYPES = [F32, F16, BF16, F64, I64, I32, I16, I8, U8, BOOL]
PARTS = {C64: F32, C128: F64}


class MovingDraw(Draw):
    def dtype(self):
        return self.pick(TYPES)

    def shape(self, low=0, high=5, most=6):
        """Few large, some of size 1, now and then an empty dimension."""
        shape = [self.pick([1, 2, 3, most, self.int(1, most)])
                 for _ in range(self.int(low, high))]
        if self.chance(0.08) and shape:
            shape[self.int(0, len(shape) - 1)] = 0
        if self.chance(0.05) and shape and all(shape):
            shape[self.int(0, len(shape) - 1)] = 70
        if self.wild and shape and self.chance(0.1):
            shape[self.int(0, len(shape) - 1)] = self.int(7, 40)
        return shape

    def part(self, shape):
        """A shape that broadcasts to `shape`."""
        own = [1 if self.chance(0.25) else size for size in shape]
        return own[self.int(0, len(own)):] if self.chance(0.3) else own

    def values(self, shape, dtype):
        if dtype == BOOL:
            return torch.rand(shape, generator=self.torch) < 0.5
        if dtype.is_complex:
            parts = self.values(list(shape) + [2], PARTS[dtype])
            return torch.view_as_complex(parts)
        if dtype.is_floating_point:
            wide = torch.randn(shape, generator=self.torch, dtype=F64) * 4
            zero = torch.rand(shape, generator=self.torch) < 0.2
            return wide.masked_fill(zero, self.pick([0.0, -0.0])).to(dtype)
        low = 0 if dtype == U8 else -100
        return torch.randint(low, 100, shape, generator=self.torch).to(dtype)

    def lay(self, tensor, spreads=True):
        rank, way = tensor.dim(), self.random.random()
        if self.wild and spreads and tensor.numel() > 1 and self.chance(0.08):
            return self.spread(tensor)
        if rank == 0 or tensor.numel() == 0 or way < 0.6:
            return tensor
        if rank in ORDERS and way < 0.75:
            return self.channels_last(tensor)
        if way < 0.9:
            return self.reordered(tensor)
        return self.gapped_somewhere(tensor)

    def lay_result(self, tensor):
        """Another order or gaps; its elements never share a place."""
        return self.lay(tensor, spreads=False) if self.chance(0.5) else tensor

    def tensor(self, shape=None, dtype=None):
        shape = self.shape() if shape is None else shape
        return self.lay(self.values(shape, dtype or self.dtype()))

    def dim(self, rank):
        return super().dim(rank, [99])

    def dims(self, rank):
        dims = [self.int(0, 1) * -rank + i for i in range(rank)]
        self.random.shuffle(dims)
        return dims

    def indices(self, shape, size, low=0, dtype=None):
        high = max(size, 1)
        index = torch.randint(low, high, shape, generator=self.torch)
        if self.chance(0.03) and index.numel():
            index.view(-1)[self.int(0, index.numel() - 1)] = \
                self.pick([size, -size - 1, 2**31 - 1, -2**31])
        return self.lay(index.to(dtype or self.pick([I64] * 3 + [I32])))


# ------------------------------------------------ PyTorch's results

def functional_of(op):
    """The form without out arguments, and the schema of the out form."""
    name, _, overload = op.partition("::")[2].partition(".")
    packet = getattr(torch.ops.aten, name)
    schema = getattr(packet, overload or "default")._schema
    if not overload:
        return getattr(packet, "default"), schema
    wanted = [str(a.type) for a in schema.arguments if not a.is_out]
    for other in packet.overloads():
        form = getattr(packet, other)
        own = form._schema.arguments
        if any(a.is_out for a in own):
            continue
        if [str(a.type) for a in own] == wanted:
            return form, schema
    return getattr(packet, "default"), schema


def arguments_of(schema, given, named):
    """Every argument but the out ones, in order, defaults filled in."""
    rest = list(given)
    for argument in schema.arguments:
        if argument.is_out:
            continue
        if rest:
            yield argument, rest.pop(0)
        elif argument.name in named:
            yield argument, named[argument.name]
        else:
            yield argument, argument.default_value


def twin(x):
    """A copy that lies as `x` does, gaps and places that are shared too."""
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty(0, dtype=x.dtype).set_(
        x.untyped_storage().clone(), x.storage_offset(), x.shape, x.stride())


def shares_places(t):
    return any(n > 1 and step == 0 for n, step in zip(t.shape, t.stride()))


def out_name(schema):
    return next((a.name for a in schema.arguments if a.is_out), "self")


def evaluate(form, given, named):
    """PyTorch's answer, or None if it refuses."""
    copies = [twin(x) for x in given]
    try:
        return form(*copies, **named)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        if isinstance(error, NotImplementedError) or any(
                part in str(error) for part in MISTAKES):
            raise Skip from error
    dense = [x.contiguous() if isinstance(x, torch.Tensor) else x
             for x in given]
    try:
        form(*dense, **named)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None
    raise Skip  # it refuses the order of elements alone


# Messages of PyTorch's own defects, and of dtypes that it requires although its
# schema does not.
MISTAKES = ("INTERNAL", "sym_strides", "only supports boolean")
SUMS = ("scatter_add", "scatter_reduce", "index_add", "index_put")


def tolerance(op, form, given, named, result):
    """Sums are taken in float64 and may differ by some roundings."""
    if not result.is_floating_point() or not any(s in op for s in SUMS):
        return result, 0.0, 0.0
    wide = [x.double() if isinstance(x, torch.Tensor) and
            x.is_floating_point() else x for x in given]
    exact = form(*wide, **named)
    peak = exact.abs().max().item() if exact.numel() else 0.0
    unit = torch.finfo(result.dtype).eps
    small = torch.finfo(torch.float32).eps \
        if result.dtype != torch.float64 else unit
    return exact.to(result.dtype), 32 * small * (peak + 40), unit


class MovingCases(Cases):
    patience = 4

    def one_more(self, make, draw):
        drawn = make(draw)
        given, named = drawn if isinstance(drawn, tuple) else (drawn, {})
        form, schema = functional_of(self.op)
        if out_name(schema) == "self" and shares_places(given[0]):
            raise Skip  # written elements must not overlap
        result = evaluate(form, given, named)
        dtype = named.pop("dtype", None)
        case = {"id": f"{self.op.replace('::', '.')}#r"
                      f"{len(self.writer.cases):03d}", "op": self.op,
                "args": [encode(self.writer, a.name, v, ordered=True)
                         for a, v in arguments_of(schema, given, named)]}
        if result is None:
            case.update(expect="error", reason="PyTorch refuses it")
        elif isinstance(result, (list, tuple)):
            case.update(expect="ok", atol=0.0, rtol=0.0, outs=[
                {"name": out_name(schema),
                 "tl": [self.writer.put(t) for t in result]}])
        else:
            absolute = relative = 0.0
            if dtype is None:
                result, absolute, relative = tolerance(self.op, form, given,
                                                       named, result)
            out = {"name": out_name(schema), "t": self.writer.put(result)}
            if result.is_complex():
                out["complex"] = True
            if dtype is None:
                out.update(layout(draw.lay_result(result), ordered=True))
            case.update(expect="ok", atol=absolute, rtol=relative, outs=[out])
        self.writer.cases.append(case)


if __name__ == "__main__":
    generate(command_line(__doc__, count=5),
             {**moving_calls.OPERATORS, **indexing_calls.OPERATORS},
             MovingCases, MovingDraw)
