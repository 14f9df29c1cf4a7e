#!/usr/bin/env python3
"""Random calls of quantised operators, attention, caches, recurrent layers and
fused operators.

    random_quantized.py TARGET [--seed N] [--count N] [--only PART]
                        [--most BYTES]

Writes TARGET/<operator>.jsonl and .safetensors in the format of
tests/data/ops/README.md, COUNT cases of each operator: empty and other sizes,
all dtypes, several dimension orders and strides with gaps, arguments at and
beyond their bounds. Cases with a tensor of more than BYTES are left out.
Quantisation is compared exactly with PyTorch's operators. Sums are computed by
the same formula in float64; the tolerance is the largest rounding error of a
float32 sum of that many terms in any order. Needs executorch 1.5.1, which
registers the operators.

tests/data/ops/random_quantized holds what `--seed 1 --count 6 --most 1500`
writes, but for recurrent layers: their tensors may be larger in
tests/data/ops/recurrent. Linear layers with weights of halves are in
tests/data/ops/half_weights.
"""

import math
import zlib

import torch

import attention_calls
import fused_calls
import layer_calls
import quantizing_calls
import recurrent_calls
import u8_calls
from random_calls import (BF16, F16, F32, F64, UNIT, Cases, Draw, command_line,
                          encode, generate)


class QuantizedDraw(Draw):
    def real(self, low, high):
        return self.random.uniform(low, high)

    def shape(self, low, high, most=6):
        shape = [self.pick([1, 2, 3, self.int(1, most)])
                 for _ in range(self.int(low, high))]
        if self.chance(0.06) and shape:
            shape[self.int(0, len(shape) - 1)] = 0
        if self.chance(0.12) and shape and all(shape):
            shape[self.int(0, len(shape) - 1)] = self.int(60, 150)
        return shape

    def normal(self, shape, dtype=F32, scale=1.0):
        t = torch.randn(list(shape), generator=self.torch, dtype=F64) * scale
        return t.to(F32).to(dtype) if dtype != F64 else t

    def uniform(self, shape, low, high, dtype=F32):
        t = torch.rand(list(shape), generator=self.torch, dtype=F64)
        return (t * (high - low) + low).to(dtype)

    def whole(self, shape, low, high, dtype):
        return torch.randint(low, high + 1, list(shape),
                             generator=self.torch).to(dtype)

    def spoiled(self, t):
        """Now and then an element that is not finite, or far away."""
        if t.numel() and self.chance(0.12):
            value = self.pick([math.nan, math.inf, -math.inf, 1e30, -0.0])
            t.view(-1)[self.int(0, t.numel() - 1)] = value
        return t

    def lay(self, tensor):
        rank, way = tensor.dim(), self.random.random()
        if self.wild and tensor.numel() > 1 and self.chance(0.08):
            return self.spread(tensor)
        if rank == 0 or tensor.numel() == 0 or way < 0.6:
            return tensor
        if rank == 4 and way < 0.75:
            return self.channels_last(tensor)
        if way < 0.9:
            return self.reordered(tensor)
        return self.gapped(tensor, [1] * (rank - 1) + [2])


class QuantizedCases(Cases):
    def add(self, arguments, outs=None, atol=0.0, rtol=0.0):
        """outs: pairs of name and tensor; None: the call is refused."""
        tensors = [t for t in arguments.values() if isinstance(t, torch.Tensor)]
        tensors += [t for _, t in outs or []]
        if any(t.numel() * t.element_size() > self.most for t in tensors):
            return
        case = {"id": f"{self.op.replace('::', '.')}#{len(self.writer.cases)}",
                "op": self.op,
                "args": [encode(self.writer, n, v)
                         for n, v in arguments.items()]}
        if outs is None:
            case["expect"] = "error"
        else:
            case.update(expect="ok", atol=atol, rtol=rtol, outs=[
                {"name": n, "t": self.writer.put(t)} for n, t in outs])
            for one in case["outs"]:
                if one["name"].endswith("cache"):
                    one.update(atol=0.0, rtol=0.0)
        self.writer.cases.append(case)

    def native(self, arguments, function, names=("out",), **tolerance):
        """What the operator gives, or that it refuses."""
        try:
            result = function(*arguments.values())
        except (AssertionError, RuntimeError, ValueError, IndexError):
            self.add(arguments)
            return
        result = result if isinstance(result, tuple) else (result,)
        self.add(arguments, list(zip(names, result)), **tolerance)

    def sums(self, arguments, exact, dtype, terms, size, name="out"):
        """A result computed in float64 from sums of `terms` terms whose
        magnitudes add up to `size`."""
        lost = terms * 2.0**-23 if dtype != F64 else terms * 2.0**-52
        rest = UNIT[dtype] if dtype in (F16, BF16) else 2.0**-23
        self.add(arguments, [(name, exact.to(dtype))],
                 atol=lost * size + 1e-40, rtol=rest)


OPERATORS = {**quantizing_calls.OPERATORS, **layer_calls.OPERATORS,
             **attention_calls.OPERATORS, **fused_calls.OPERATORS,
             **recurrent_calls.OPERATORS, **u8_calls.OPERATORS}

if __name__ == "__main__":
    generate(command_line(__doc__, most="bytes"), OPERATORS, QuantizedCases,
             QuantizedDraw,
             seed_of=lambda seed, op, _: zlib.crc32(f"{seed}:{op}".encode()))
