"""Writes random calls of the elementwise operators of two complex tensors.

    random_complex.py TARGET [--seed N] [--count N] [--only PART]

TARGET gets <operator>.jsonl and <operator>.safetensors: results of PyTorch.
"""

import zlib

import torch

from random_calls import (BOOL, C128, C64, F64, UNIT, Draw, Writer, command_line,
                          encode)

FUNCTIONS = {
    "aten::add.out": torch.add,
    "aten::sub.out": torch.sub,
    "aten::mul.out": torch.mul,
    "aten::div.out": torch.div,
    "aten::eq.Tensor_out": torch.eq,
    "aten::ne.Tensor_out": torch.ne,
}


def other_shape(draw, shape):
    """A shape that broadcasts with `shape`."""
    other = [1 if draw.chance(0.25) else size for size in shape]
    return other[draw.int(0, len(other)):] if draw.chance(0.25) else other


def one_case(writer, op, draw):
    dtype = draw.pick([C64, C128])
    shape = draw.shape(0, 3, long=40)
    a = draw.tensor(shape, dtype, 0)
    b = draw.tensor(other_shape(draw, shape), dtype, 0)
    if "eq" in op or "ne" in op:
        # Some numbers differ in one part only, and some are equal.
        a, b = (torch.complex(t.real.round(), t.imag.round()) for t in (a, b))
    named = {}
    if "add" in op or "sub" in op:
        named["alpha"] = draw.pick([1, 1, 2, -0.5])
    result = FUNCTIONS[op](a, b, **named)
    out = {"name": "out", "t": writer.put(result)}
    if result.dtype != BOOL:
        out["complex"] = True
    parts = torch.view_as_real(result) if result.is_complex() else result
    largest = float(parts.to(F64).abs().max()) if parts.numel() else 0.0
    unit = 0.0 if result.dtype == BOOL else 8 * UNIT[dtype]
    arguments = dict(self=a, other=b, **named)
    writer.cases.append({
        "id": f"{op.replace('::', '.')}#c{len(writer.cases)}", "op": op,
        "args": [encode(writer, *pair) for pair in arguments.items()],
        "expect": "ok", "atol": unit * (largest + 1), "rtol": 0.0,
        "zero_sign": "any", "outs": [out]})


def main():
    options = command_line(__doc__, 12)
    for op in FUNCTIONS:
        if options.only not in op:
            continue
        name = op.split("::")[1].replace(".", "_")
        writer = Writer(f"{options.target}/{name}")
        draw = Draw(options.seed * 1000003 + zlib.crc32(op.encode()))
        for _ in range(options.count):
            one_case(writer, op, draw)
        writer.save()


if __name__ == "__main__":
    main()
