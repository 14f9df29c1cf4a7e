"""Calls that quantise, dequantise and choose quantisation parameters, and other
calls whose results must equal those of PyTorch's quantised operators.

A function adds one random call to `c`, the cases of an operator (QuantizedCases
of random_quantized.py), and draws its arguments from `d` (QuantizedDraw).
`c.native(arguments, function)` adds the result of `function`, or that it refuses
the arguments; `c.add(arguments)` without results adds a call that must be
refused.
"""

import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401

from random_calls import (BF16, F16, F32, F64, I8, I16, I32, I64, U8, UNIT)

FULL = {U8: (0, 255), I8: (-128, 127), I16: (-32768, 32767),
        I32: (-2**31, 2**31 - 1)}
PT = torch.ops.quantized_decomposed
Q = "quantized_decomposed::"


def bounds(d, dtype):
    low, high = FULL[dtype]
    if d.chance(0.1):
        return low - d.int(0, 1), high + d.int(0, 1)
    if d.chance(0.3):
        return max(low, -d.int(0, 9)), min(high, d.int(1, 20))
    return low, high


def quantize_per_tensor(c, d, overload):
    dtype = d.pick([U8, I8, I16])
    low, high = bounds(d, dtype)
    scale, zero = d.real(0.01, 2), d.int(-5, 9)
    x = d.lay(d.spoiled(d.normal(d.shape(0, 4), d.pick([F32, F32, F16, BF16]),
                                  9)))
    if overload == "out":
        c.native(dict(input=x, scale=scale, zero_point=zero, quant_min=low,
                      quant_max=high, dtype=dtype), PT.quantize_per_tensor)
        return
    many = d.chance(0.05)
    scale = torch.full([2 if many else 1], scale, dtype=F64)
    c.native(dict(input=x, scale=scale, zero_point=torch.tensor([zero]),
                  quant_min=low, quant_max=high, dtype=dtype),
             PT.quantize_per_tensor.tensor)


def dequantize_per_tensor(c, d, overload):
    dtype = d.pick([U8, I8, I16, I32])
    low, high = FULL[dtype]
    x = d.lay(d.whole(d.shape(0, 4), max(low, -999), min(high, 999), dtype))
    scale, zero = d.real(0.01, 2), d.int(-5, 9)
    to = d.pick([None, F32, F64, F16])
    claimed = I8 if d.chance(0.1) else dtype
    pair = (scale, zero) if overload == "out" else (
        torch.tensor([scale], dtype=F64), torch.tensor([zero]))
    arguments = dict(input=x, scale=pair[0], zero_point=pair[1], quant_min=low,
                     quant_max=high, dtype=claimed, out_dtype=to)
    if claimed != dtype:
        c.add(arguments)
        return
    to = to or F32
    # The operator multiplies in float32 unless the result is float64.
    if to != F64:
        scale = torch.tensor(scale, dtype=F32).double().item()
    exact = (x.double() - zero) * scale
    c.add(arguments, [("out", exact.to(to))], rtol=UNIT[to], atol=2e-8)


def channel_pair(d, n, kinds):
    return (d.uniform([n], 0.02, 0.9, d.pick(kinds)),
            d.whole([n], -3, 5, I64))


def quantize_per_channel(c, d):
    shape = d.shape(1, 4)
    axis = d.int(-len(shape), len(shape) - 1)
    dtype = d.pick([U8, I8, I16])
    low, high = bounds(d, dtype)
    n = shape[axis] + (1 if d.chance(0.05) and shape[axis] > 1 else 0)
    scales, zeros = channel_pair(d, n, (F64, F64, F32))
    x = d.lay(d.spoiled(d.normal(shape, d.pick([F32, F32, F16, BF16]), 9)))
    c.native(dict(input=x, scales=scales, zero_points=zeros, axis=axis,
                  quant_min=low, quant_max=high, dtype=dtype),
             PT.quantize_per_channel)


def dequantize_per_channel(c, d):
    shape = d.shape(1, 4)
    axis = d.int(-len(shape), len(shape) - 1)
    dtype = d.pick([U8, I8, I16, I32])
    low, high = FULL[dtype]
    scales, zeros = channel_pair(d, shape[axis], (F32, F32, F64))
    zeros = None if d.chance(0.3) else zeros
    x = d.lay(d.whole(shape, max(low, -999), min(high, 999), dtype))
    to = d.pick([None, None, F16, F64])
    c.native(dict(input=x, scales=scales, zero_points=zeros, axis=axis,
                  quant_min=low, quant_max=high, dtype=dtype, out_dtype=to),
             lambda *a: PT.dequantize_per_channel(*a[:7], out_dtype=a[7]))


def choose_qparams(c, d):
    dtype = d.pick([I8, U8, I16])
    low, high = FULL[dtype]
    if d.chance(0.1):
        low, high = d.pick([(1, 5), (-5, -1), (0, 0), (3, -3), (-127, 127)])
    low, high = max(low, FULL[dtype][0]), min(high, FULL[dtype][1])
    x = d.lay(d.spoiled(d.normal(d.shape(1, 3), d.pick([F32, F32, F16, BF16]),
                                  d.pick([1e-9, 1, 50])) + d.pick([0, 3, -3])))
    c.native(dict(input=x, quant_min=low, quant_max=high,
                  eps=d.pick([1.1920928955078125e-07, 1e-3]), dtype=dtype),
             PT.choose_qparams.tensor, ("scale_out", "zero_point_out"))


def choose_per_token(c, d):
    x = d.lay(d.spoiled(d.normal(d.shape(1, 4), d.pick([F32, F32, F16, F64]),
                                  d.pick([1e-9, 1, 50])) + d.pick([0, 3, -3])))
    c.native(dict(input=x, dtype=I8), PT.choose_qparams_per_token_asymmetric,
             ("scale_out", "zero_point_out"))


def quantize_per_token(c, d):
    shape = d.shape(1, 4)
    dtype = d.pick([U8, I8, I16])
    low, high = bounds(d, dtype)
    rows = shape[:-1] + [1]
    x = d.lay(d.spoiled(d.normal(shape, d.pick([F32, F32, F16]), 9)))
    scales = d.uniform(rows, 0.02, 0.9, d.pick([F32, F64]))
    if d.chance(0.05):
        scales = scales.reshape(-1).repeat(2)
    c.native(dict(input=x, scales=scales, zero_points=d.whole(rows, -5, 9, I64),
                  quant_min=low, quant_max=high, dtype=dtype),
             PT.quantize_per_token)


def dequantize_per_token(c, d):
    shape = d.shape(1, 4)
    dtype = d.pick([U8, I8, I16])
    low, high = FULL[dtype]
    rows = shape[:-1] + [1]
    x = d.lay(d.whole(shape, max(low, -999), min(high, 999), dtype))
    scales = d.uniform(rows, 0.02, 0.9, d.pick([F32, F64]))
    c.native(dict(input=x, scales=scales,
                  zero_points=d.whole(rows, -5, 9, I64), quant_min=low,
                  quant_max=high, dtype=dtype,
                  output_dtype=d.pick([F32, F32, F16])),
             PT.dequantize_per_token)


def quantized_add(c, d):
    dtype = d.pick([U8, I8])
    low, high = FULL[dtype]
    shape = d.shape(0, 4)
    a, b = (d.lay(d.whole(shape, low, high, dtype)) for _ in range(2))
    p = [(d.real(0.02, 1), d.int(-4, 9)) for _ in range(3)]

    def add(a, *_):
        y = (a.to(F32) - p[0][1]) * p[0][0] + (b.to(F32) - p[1][1]) * p[1][0]
        y = torch.round(y / p[2][0]) + p[2][1]
        return torch.clamp(y, low, high).to(dtype)

    c.native(dict(a=a, a_scale=p[0][0], a_zero_point=p[0][1], a_quant_min=low,
                  a_quant_max=high, b=b, b_scale=p[1][0], b_zero_point=p[1][1],
                  b_quant_min=low, b_quant_max=high, out_scale=p[2][0],
                  out_zero_point=p[2][1], out_quant_min=low,
                  out_quant_max=high),
             add)


def offset_weights(d, weight, scales, groups):
    """Parameters of groups of 4-bit weights, offset and factor in a number of
    16 bits, and what they stand for."""
    shape = [weight.shape[0], groups]
    offset, factor = d.whole(shape, -128, 127, I64), d.whole(shape, 0, 255, I64)
    q = torch.stack((weight >> 4, weight & 15), -1).reshape(*shape, -1)
    w = 16 * (q.double() - 8) + offset[..., None]
    w = w * factor[..., None] * scales.double()[:, None, None]
    return (256 * offset + factor).to(torch.int16), w.flatten(1)


def embedding(c, d, bits, typed):
    low, high = -2 ** (bits - 1), 2 ** (bits - 1) - 1
    pack, rows = 8 // bits, d.int(1, 9)
    groups, each = d.pick([1, 2, 3]), d.pick([4, 8, 12, 32])
    width = groups * each
    if bits == 8:
        dtype = d.pick([I8, U8])
        weight = d.whole([rows, width], *FULL[dtype], dtype)
    else:
        weight = d.whole([rows, width // pack], 0, 255, U8)
    kind = d.pick([F32, F16, BF16])
    shape = [rows] if groups == 1 and d.chance(0.5) else [rows, groups]
    if d.chance(0.04):
        shape[0] += 1
    scales = d.uniform(shape, 0.02, 0.6, kind)
    zeros = d.whole(shape, -2, 2, I64).to(kind) if d.chance(0.5) else None
    indices = d.whole(d.shape(0, 3), 0, rows - 1, I64)
    if indices.numel() and d.chance(0.05):
        indices.view(-1)[0] = d.pick([-1, rows])
    if d.chance(0.04):
        low -= 1
    arguments = dict(weight=weight, weight_scales=scales,
                     weight_zero_points=zeros, weight_quant_min=low,
                     weight_quant_max=high, indices=indices)
    function = getattr(PT, {8: "embedding_byte", 4: "embedding_4bit",
                            2: "embedding_2bit"}[bits])
    if bits == 4 and kind == F32 and d.chance(0.7):
        scales = d.uniform([rows], 1e-4, 2e-3)
        params, w = offset_weights(d, weight, scales, groups)
        arguments.update(weight_scales=scales, weight_zero_points=params)
        if typed:
            arguments["dtype"] = d.pick([F32, F16, BF16])
        wrong = indices.numel() and not 0 <= indices.min() <= rows - 1 or \
            indices.numel() and indices.max() >= rows or low != -8
        if wrong:
            c.add(arguments)
            return
        to = arguments.get("dtype", F32)
        c.add(arguments, [("out", w[indices].to(to))], rtol=2.0**-22, atol=0.0
              if to == F32 else 1e-2)
        return
    if not typed:
        c.native(arguments, function)
        return
    arguments["dtype"] = d.pick([F32, F16, BF16])
    c.native(arguments, lambda *a: function.dtype(*a[:6], dtype=a[6]))


OPERATORS = {
    Q + "quantize_per_tensor.out":
        lambda c, d: quantize_per_tensor(c, d, "out"),
    Q + "quantize_per_tensor.Tensor_out":
        lambda c, d: quantize_per_tensor(c, d, "Tensor"),
    Q + "dequantize_per_tensor.out":
        lambda c, d: dequantize_per_tensor(c, d, "out"),
    Q + "dequantize_per_tensor.Tensor_out":
        lambda c, d: dequantize_per_tensor(c, d, "Tensor"),
    Q + "quantize_per_channel.out": quantize_per_channel,
    Q + "dequantize_per_channel.out": dequantize_per_channel,
    Q + "choose_qparams.Tensor_out": choose_qparams,
    Q + "choose_qparams_per_token_asymmetric.out": choose_per_token,
    Q + "quantize_per_token.out": quantize_per_token,
    Q + "dequantize_per_token.out": dequantize_per_token,
    Q + "add.out": quantized_add,
    Q + "embedding_byte.out": lambda c, d: embedding(c, d, 8, False),
    Q + "embedding_byte.dtype_out": lambda c, d: embedding(c, d, 8, True),
    Q + "embedding_4bit.out": lambda c, d: embedding(c, d, 4, False),
    Q + "embedding_4bit.dtype_out": lambda c, d: embedding(c, d, 4, True),
    Q + "embedding_2bit.out": lambda c, d: embedding(c, d, 2, False),
    Q + "embedding_2bit.dtype_out": lambda c, d: embedding(c, d, 2, True),
}
