#!/usr/bin/env python3
"""Random calls of quantised operators, attention and caches.

    random_quantized.py TARGET [--seed N] [--count N] [--op PART] [--most BYTES]

Writes TARGET/<operator>.jsonl and .safetensors in the format that
tests/data/ops/README.md tells, COUNT cases of each operator: sizes with and
without elements, all types, tensors that lie in other orders or with gaps,
arguments at and beyond their bounds. Cases with a tensor of more than BYTES are left out. Quantising is compared
exactly with PyTorch's operators. Sums come from the same formula in float64; the tolerance
is what float32 sums of so many terms may lose in any order. Same seed, same
bytes. Needs torch 2.13 and executorch 1.5.1, for the registrations.

tests/data/ops/random_quantized holds what `--seed 1 --count 6 --most 1500`
writes.
"""

import argparse
import json
import math
import os
import random
import struct
import zlib

import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401

U8, I8, I16, I32, I64 = (torch.uint8, torch.int8, torch.int16, torch.int32,
                         torch.int64)
F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
BOOL = torch.bool
NAMES = {U8: "U8", I8: "I8", I16: "I16", I32: "I32", I64: "I64", F32: "F32",
         F64: "F64", F16: "F16", BF16: "BF16", BOOL: "BOOL"}
CODES = {U8: 0, I8: 1, I16: 2, I32: 3, I64: 4, F16: 5, F32: 6, F64: 7, BOOL: 11,
         BF16: 15}
ULP = {F32: 2.0**-23, F64: 2.0**-52, F16: 2.0**-10, BF16: 2.0**-7}
FULL = {U8: (0, 255), I8: (-128, 127), I16: (-32768, 32767),
        I32: (-2**31 + 1, 2**31 - 1)}
PT = torch.ops.quantized_decomposed


class Writer:
    """One operator's two files."""

    def __init__(self, base):
        self.base, self.cases, self.known, self.blobs = base, [], {}, []

    def put(self, tensor):
        tensor = tensor.detach().clone(memory_format=torch.contiguous_format)
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


class Draw:
    wild = False  # tensors with stride 0 too

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.torch = torch.Generator().manual_seed(seed)

    def chance(self, share):
        return self.random.random() < share

    def int(self, low, high):
        return self.random.randint(low, high)

    def pick(self, *items):
        return self.random.choice(items)

    def real(self, low, high):
        return self.random.uniform(low, high)

    def shape(self, low, high, most=6):
        shape = [self.pick(1, 2, 3, self.int(1, most))
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
            value = self.pick(math.nan, math.inf, -math.inf, 1e30, -0.0)
            t.view(-1)[self.int(0, t.numel() - 1)] = value
        return t

    def laid(self, tensor):
        """The same elements, perhaps in another order or with gaps."""
        rank, way = tensor.dim(), self.random.random()
        if self.wild and tensor.numel() > 1 and self.chance(0.08):
            at = self.int(0, rank - 1)
            return tensor.narrow(at, 0, 1).expand(tensor.shape)
        if rank == 0 or tensor.numel() == 0 or way < 0.6:
            return tensor
        if rank == 4 and way < 0.75:
            return tensor.contiguous(memory_format=torch.channels_last)
        if way < 0.9:
            order = list(range(rank))
            self.random.shuffle(order)
            back = [order.index(i) for i in range(rank)]
            return tensor.permute(order).contiguous().permute(back)
        wide = list(tensor.shape)
        wide[-1] *= 2
        part = torch.zeros(wide, dtype=tensor.dtype)[..., ::2]
        part.copy_(tensor)
        return part


def entry(writer, name, value):
    out = {"name": name}
    if value is None:
        out["n"] = None
    elif isinstance(value, torch.Tensor):
        out["t"] = writer.put(value)
        if not value.is_contiguous() and value.numel():
            out["strides"] = list(value.stride())
    elif isinstance(value, torch.dtype):
        out["dtype"] = CODES[value]
    elif isinstance(value, bool):
        out["b"] = value
    elif isinstance(value, int):
        out["i"] = value
    elif isinstance(value, str):
        out["s"] = value
    elif isinstance(value, float):
        out["f"] = value if math.isfinite(value) else str(value)
    else:
        out["il"] = list(value)
    return out


class Cases:
    """Adds cases of one operator."""

    def __init__(self, op, writer, most):
        self.op, self.writer, self.most = op, writer, most

    def add(self, arguments, outs=None, atol=0.0, rtol=0.0):
        """outs: pairs of name and tensor; None: the call is refused."""
        tensors = [t for t in arguments.values() if isinstance(t, torch.Tensor)]
        tensors += [t for _, t in outs or []]
        if any(t.numel() * t.element_size() > self.most for t in tensors):
            return
        case = {"id": f"{self.op.replace('::', '.')}#{len(self.writer.cases)}",
                "op": self.op,
                "args": [entry(self.writer, n, v) for n, v in arguments.items()]}
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
        rest = ULP[dtype] if dtype in (F16, BF16) else 2.0**-23
        self.add(arguments, [(name, exact.to(dtype))],
                 atol=lost * size + 1e-40, rtol=rest)


# ------------------------------------------------ quantising

def bounds(d, dtype):
    low, high = FULL[dtype]
    if d.chance(0.1):
        return low - d.int(0, 1), high + d.int(0, 1)
    if d.chance(0.3):
        return max(low, -d.int(0, 9)), min(high, d.int(1, 20))
    return low, high


def quantize_per_tensor(c, d, overload):
    dtype = d.pick(U8, I8, I16)
    low, high = bounds(d, dtype)
    scale, zero = d.real(0.01, 2), d.int(-5, 9)
    x = d.laid(d.spoiled(d.normal(d.shape(0, 4), d.pick(F32, F32, F16, BF16),
                                  9)))
    if overload == "out":
        c.native(dict(input=x, scale=scale, zero_point=zero, quant_min=low,
                      quant_max=high, dtype=dtype), PT.quantize_per_tensor)
        return
    many = d.chance(0.05)
    c.native(dict(input=x, scale=torch.full([2 if many else 1], scale, dtype=F64),
                  zero_point=torch.tensor([zero]), quant_min=low, quant_max=high,
                  dtype=dtype), PT.quantize_per_tensor.tensor)


def dequantize_per_tensor(c, d, overload):
    dtype = d.pick(U8, I8, I16, I32)
    low, high = FULL[dtype]
    x = d.laid(d.whole(d.shape(0, 4), max(low, -999), min(high, 999), dtype))
    scale, zero = d.real(0.01, 2), d.int(-5, 9)
    to = d.pick(None, F32, F64, F16)
    claimed = I8 if d.chance(0.1) else dtype
    pair = (scale, zero) if overload == "out" else (
        torch.tensor([scale], dtype=F64), torch.tensor([zero]))
    arguments = dict(input=x, scale=pair[0], zero_point=pair[1], quant_min=low,
                     quant_max=high, dtype=claimed, out_dtype=to)
    if claimed != dtype:
        c.add(arguments)
        return
    to = to or F32
    scale = scale if to == F64 else torch.tensor(scale, dtype=F32).double().item()
    exact = (x.double() - zero) * scale
    c.add(arguments, [("out", exact.to(to))], rtol=ULP[to], atol=2e-8)


def channel_pair(d, n, kinds):
    return (d.uniform([n], 0.02, 0.9, d.pick(*kinds)),
            d.whole([n], -3, 5, I64))


def quantize_per_channel(c, d):
    shape = d.shape(1, 4)
    axis = d.int(-len(shape), len(shape) - 1)
    dtype = d.pick(U8, I8, I16)
    low, high = bounds(d, dtype)
    n = shape[axis] + (1 if d.chance(0.05) and shape[axis] > 1 else 0)
    scales, zeros = channel_pair(d, n, (F64, F64, F32))
    x = d.laid(d.spoiled(d.normal(shape, d.pick(F32, F32, F16, BF16), 9)))
    c.native(dict(input=x, scales=scales, zero_points=zeros, axis=axis,
                  quant_min=low, quant_max=high, dtype=dtype),
             PT.quantize_per_channel)


def dequantize_per_channel(c, d):
    shape = d.shape(1, 4)
    axis = d.int(-len(shape), len(shape) - 1)
    dtype = d.pick(U8, I8, I16, I32)
    low, high = FULL[dtype]
    scales, zeros = channel_pair(d, shape[axis], (F32, F32, F64))
    zeros = None if d.chance(0.3) else zeros
    x = d.laid(d.whole(shape, max(low, -999), min(high, 999), dtype))
    to = d.pick(None, None, F16, F64)
    c.native(dict(input=x, scales=scales, zero_points=zeros, axis=axis,
                  quant_min=low, quant_max=high, dtype=dtype, out_dtype=to),
             lambda *a: PT.dequantize_per_channel(*a[:7], out_dtype=a[7]))


def choose_qparams(c, d):
    dtype = d.pick(I8, U8, I16)
    low, high = FULL[dtype]
    if d.chance(0.1):
        low, high = d.pick((1, 5), (-5, -1), (0, 0), (3, -3), (-127, 127))
    low, high = max(low, FULL[dtype][0]), min(high, FULL[dtype][1])
    x = d.laid(d.spoiled(d.normal(d.shape(1, 3), d.pick(F32, F32, F16, BF16),
                                  d.pick(1e-9, 1, 50)) + d.pick(0, 3, -3)))
    c.native(dict(input=x, quant_min=low, quant_max=high,
                  eps=d.pick(1.1920928955078125e-07, 1e-3), dtype=dtype),
             PT.choose_qparams.tensor, ("scale_out", "zero_point_out"))


def choose_per_token(c, d):
    x = d.laid(d.spoiled(d.normal(d.shape(1, 4), d.pick(F32, F32, F16, F64),
                                  d.pick(1e-9, 1, 50)) + d.pick(0, 3, -3)))
    c.native(dict(input=x, dtype=I8), PT.choose_qparams_per_token_asymmetric,
             ("scale_out", "zero_point_out"))


def quantize_per_token(c, d):
    shape = d.shape(1, 4)
    dtype = d.pick(U8, I8, I16)
    low, high = bounds(d, dtype)
    rows = shape[:-1] + [1]
    x = d.laid(d.spoiled(d.normal(shape, d.pick(F32, F32, F16), 9)))
    scales = d.uniform(rows, 0.02, 0.9, d.pick(F32, F64))
    if d.chance(0.05):
        scales = scales.reshape(-1).repeat(2)
    c.native(dict(input=x, scales=scales, zero_points=d.whole(rows, -5, 9, I64),
                  quant_min=low, quant_max=high, dtype=dtype),
             PT.quantize_per_token)


def dequantize_per_token(c, d):
    shape = d.shape(1, 4)
    dtype = d.pick(U8, I8, I16)
    low, high = FULL[dtype]
    rows = shape[:-1] + [1]
    x = d.laid(d.whole(shape, max(low, -999), min(high, 999), dtype))
    c.native(dict(input=x, scales=d.uniform(rows, 0.02, 0.9, d.pick(F32, F64)),
                  zero_points=d.whole(rows, -5, 9, I64), quant_min=low,
                  quant_max=high, dtype=dtype, output_dtype=d.pick(F32, F32, F16)),
             PT.dequantize_per_token)


def quantized_add(c, d):
    dtype = d.pick(U8, I8)
    low, high = FULL[dtype]
    shape = d.shape(0, 4)
    a, b = (d.laid(d.whole(shape, low, high, dtype)) for _ in range(2))
    p = [(d.real(0.02, 1), d.int(-4, 9)) for _ in range(3)]

    def add(a, *_):
        y = (a.to(F32) - p[0][1]) * p[0][0] + (b.to(F32) - p[1][1]) * p[1][0]
        return torch.clamp(torch.round(y / p[2][0]) + p[2][1], low, high).to(dtype)

    c.native(dict(a=a, a_scale=p[0][0], a_zero_point=p[0][1], a_quant_min=low,
                  a_quant_max=high, b=b, b_scale=p[1][0], b_zero_point=p[1][1],
                  b_quant_min=low, b_quant_max=high, out_scale=p[2][0],
                  out_zero_point=p[2][1], out_quant_min=low, out_quant_max=high),
             add)


def embedding(c, d, bits, typed):
    low, high = -2 ** (bits - 1), 2 ** (bits - 1) - 1
    pack, rows = 8 // bits, d.int(1, 9)
    groups, each = d.pick(1, 2, 3), d.pick(4, 8, 12, 32)
    width = groups * each
    if bits == 8:
        dtype = d.pick(I8, U8)
        weight = d.whole([rows, width], *FULL[dtype], dtype)
    else:
        weight = d.whole([rows, width // pack], 0, 255, U8)
    kind = d.pick(F32, F16, BF16)
    shape = [rows] if groups == 1 and d.chance(0.5) else [rows, groups]
    if d.chance(0.04):
        shape[0] += 1
    scales = d.uniform(shape, 0.02, 0.6, kind)
    zeros = d.whole(shape, -2, 2, I64).to(kind) if d.chance(0.5) else None
    indices = d.whole(d.shape(0, 3), 0, rows - 1, I64)
    if indices.numel() and d.chance(0.05):
        indices.view(-1)[0] = d.pick(-1, rows)
    if d.chance(0.04):
        low -= 1
    arguments = dict(weight=weight, weight_scales=scales,
                     weight_zero_points=zeros, weight_quant_min=low,
                     weight_quant_max=high, indices=indices)
    function = getattr(PT, {8: "embedding_byte", 4: "embedding_4bit",
                            2: "embedding_2bit"}[bits])
    if not typed:
        c.native(arguments, function)
        return
    arguments["dtype"] = d.pick(F32, F16, BF16)
    c.native(arguments, lambda *a: function.dtype(*a[:6], dtype=a[6]))


# ------------------------------------------------ linear layers

def mixed_mm(c, d):
    m, k, n = d.int(1, 5), d.pick(d.int(1, 80), 130), d.pick(d.int(1, 20), 70)
    dtype = d.pick(F32, F16)
    x, w = d.normal([m, k], dtype), d.whole([k, n], -128, 127, I8)
    scales = d.uniform([k], 0.01, 0.1, dtype)
    exact = x.double() @ (w.double() * scales.double()[:, None])
    size = (x.double().abs() @ (w.double().abs() * scales.double()[:, None])).max()
    c.sums(dict(input=x, weight=w, weight_scales=scales, weight_zero_points=None),
           exact, dtype, k + 3, size.item())


def mixed_linear(c, d):
    m, k, n = d.int(1, 20), d.pick(d.int(1, 80), 300), d.int(1, 9)
    dtype, groups = d.pick(F32, F16), d.pick(1, 1, 2, 4)
    x, w = d.laid(d.normal([m, k], dtype)), d.whole([n, k], -128, 127, I8)
    scales = d.uniform([n, groups] if groups > 1 else [n], 0.01, 0.1, dtype)
    each = (k + groups - 1) // groups
    wide = scales.double().reshape(n, -1).repeat_interleave(each, 1)[:, :k]
    to = d.pick(None, dtype, F32)
    c.sums(dict(input=x, weight=w, weight_scales=scales, weight_zero_points=None,
                dtype=to), x.double() @ (w.double() * wide).T, to or dtype, k + 3,
           (x.double().abs() @ (w.double().abs() * wide).T).max().item())


def rows_of(x):
    """Rows as int8 minus their zero point, and their scales."""
    s, z = PT.choose_qparams_per_token_asymmetric(x.float(), I8)
    q = PT.quantize_per_token(x.float(), s, z, -128, 127, I8)
    return (q.double() - z.double()) * s.double()


def linear(c, d, quantizes, packed):
    group = d.pick(2, 4, 6, 16, 32, 64, 300)
    k = group * d.int(1, 2 if group > 64 else 6) if packed else d.pick(
        d.int(1, 90), 256, 515)
    n, shape = d.int(1, 11), d.shape(0, 2, 12)
    dtype = d.pick(F32, F32, F16, BF16)
    x = d.laid(d.normal(shape + [k], dtype))
    bias = d.normal([n], dtype) if d.chance(0.5) else None
    if packed:
        weight = d.whole([n, k // 2], 0, 255, U8)
        scales = d.uniform([n, k // group], 0.02, 0.3)
        zeros = d.whole([n, k // group], -8, 7, I8) if d.chance(0.5) else None
        q = torch.stack((weight >> 4, weight & 15), -1).reshape(n, k).double() - 8
        if zeros is not None:
            q = q - zeros.double().repeat_interleave(group, 1)
        w = q * scales.double().repeat_interleave(group, 1)
        arguments = dict(input=x, packed=weight, scales=scales, zero_points=zeros,
                         group_size=group, bias=bias)
    else:
        weight, scales = d.whole([n, k], -128, 127, I8), d.uniform([n], 0.01, 0.1)
        w = weight.double() * scales.double()[:, None]
        arguments = dict(input=x, weight=weight, scales=scales, bias=bias)
    if d.chance(0.04):
        arguments["scales"] = scales[:-1]
        c.add(arguments)
        return
    real = rows_of(x) if quantizes and x.numel() else x.double()
    y = real @ w.T + (0 if bias is None else bias.double())
    size = (real.abs() @ w.abs().T).max().item() + 9 if y.numel() else 1
    c.sums(arguments, y, dtype, k + 6, size)


def rms_norm(c, d):
    shape = d.shape(1, 4)
    dims = shape[d.int(0, len(shape) - 1):]
    dtype = d.pick(F32, F32, F64, F16, BF16)
    x = d.laid(d.normal(shape, dtype, d.pick(2, 1e-3)))
    weight = d.uniform(dims, 0.5, 2).to(dtype) if d.chance(0.6) else None
    eps = d.pick(None, 1e-6, 0.1)
    arguments = dict(input=x, normalized_shape=dims, weight=weight, eps=eps)
    if d.chance(0.05):
        arguments["normalized_shape"] = dims[:-1] + [dims[-1] + 1]
        c.add(arguments)
        return
    used = eps if eps is not None else 2.0**-52 if dtype == F64 else 2.0**-23
    exact = torch.rms_norm(x.double(), dims,
                           None if weight is None else weight.double(), used)
    c.sums(arguments, exact, dtype, 16 + math.prod(dims), 9, "result")


# ------------------------------------------------ attention

def attention(c, d):
    dtype = d.pick(F32, F32, F32, F64, F16, BF16)
    keys, repeat = d.int(1, 3), d.pick(1, 1, 2, 3)
    heads, batch = keys * repeat, d.int(1, 2)
    long = d.chance(0.3)
    m, n = d.int(1, 20 if long else 5), d.int(1, 200 if long else 9)
    e, v = d.pick(1, 4, 7, 16, 33, 64), d.pick(1, 4, 8, 35, 64)
    q = d.laid(d.normal([batch, heads, m, e], dtype))
    k = d.laid(d.normal([batch, keys, n, e], dtype))
    w = d.laid(d.normal([batch, keys, n, v], dtype))
    if repeat == 1 and d.chance(0.2):
        rank = d.pick(2, 3)
        q, k, w = (t[0] if rank == 3 else t[0, 0] for t in (q, k, w))
    mask, kind = None, d.pick("", "", "bool", "float", "far")
    if kind:
        shape = [m, n] if d.chance(0.5) or q.dim() < 4 else [
            batch, d.pick(1, heads), m, n]
        mask = d.whole(shape, 0, 1, BOOL)
        if kind == "float":
            mask = d.normal(shape, dtype)
        elif kind == "far":
            mask = torch.zeros(shape).masked_fill(mask, -math.inf).to(dtype)
    causal = d.chance(0.3) and (mask is None or d.chance(0.1))
    scale = d.pick(None, 0.3)
    shared = repeat > 1 and not d.chance(0.1)
    arguments = dict(query=q, key=k, value=w, attn_mask=mask, dropout_p=0.0,
                     is_causal=causal, scale=scale, enable_gqa=shared)
    high = [t if t is None or t.dtype == BOOL else t.double()
            for t in (q, k, w, mask)]
    try:
        exact = torch.nn.functional.scaled_dot_product_attention(
            *high, dropout_p=0.0, is_causal=causal, scale=scale,
            enable_gqa=shared)
    except RuntimeError:
        c.add(arguments)
        return
    reach = max(1.0, (scale or 1 / math.sqrt(e)) * e * 4)
    c.sums(arguments, exact, dtype, 64 + 2 * e + n + 16 * reach,
           w.double().abs().max().item(), "result")


def attend(q, k, v, start, mask, causal, scale):
    """Layout [batch, sequence, heads, elements]."""
    s = q.shape[1]
    n = k.shape[1] if mask is not None else start + s
    repeat = q.shape[2] // k.shape[2]
    k, v = (t[:, :n].repeat_interleave(repeat, 2) for t in (k, v))
    scores = torch.einsum("bshd,blhd->bhsl", q, k) * (
        scale if scale is not None else 1 / math.sqrt(q.shape[3]))
    if mask is not None:
        scores = scores + mask
    if causal:
        rows = torch.arange(s)[:, None] + start
        scores = scores.masked_fill(torch.arange(n)[None] > rows, -math.inf)
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    return torch.einsum("bhsl,blhd->bshd", weights, v)


def cached(d):
    """Sizes of a query over a cache: batch, rows, most, heads, shared, elements,
    where the query starts."""
    most = d.pick(d.int(1, 9), 150)
    rows = d.int(1, min(most, 20))
    shared = d.int(1, 3)
    start = d.int(0, most - rows)
    if d.chance(0.06):
        start = d.pick(-1, most - rows + 1, most, 2**40)
    return (d.int(1, 2), rows, most, shared * d.pick(1, 1, 2), shared,
            d.pick(4, 8, 20, 32), start)


def cache_mask(d, rows, most):
    if d.chance(0.65):
        return None
    mask = torch.zeros(rows, most).masked_fill(d.whole([rows, most], 0, 1, BOOL),
                                               -math.inf)
    mask[:, 0] = d.pick(0.0, 0.5)
    return mask


def custom_sdpa(c, d, writes):
    dtype = d.pick(F32, F32, F16, BF16)
    b, rows, most, heads, shared, e, start = cached(d)
    q = d.normal([b, rows, heads, e], dtype)
    k, v = (d.normal([b, most, shared, e], dtype) for _ in range(2))
    mask = cache_mask(d, rows, most)
    causal, scale = d.chance(0.5), d.pick(None, 0.3)
    new = [d.normal([b, rows, shared, e], dtype) for _ in range(2)]
    arguments = dict(query=q, key=k, value=v, start_pos=start, attn_mask=mask,
                     drpout_p=0.0, is_causal=causal, scale=scale)
    if writes:
        arguments = dict(query=q, key=new[0], value=new[1], key_cache=k,
                         value_cache=v, start_pos=start, seq_len=rows,
                         attn_mask=mask, drpout_p=0.0, is_causal=causal,
                         scale=scale)
    fits = 0 <= start <= most - rows
    if (mask is not None and causal) or (not fits and (writes or mask is None)):
        c.add(arguments)
        return
    if writes:
        k, v = k.clone(), v.clone()
        k[:, start:start + rows], v[:, start:start + rows] = new
    exact = attend(q.double(), k.double(), v.double(), start,
                   None if mask is None else mask.double(), causal, scale)
    reach = max(1.0, (scale or 1 / math.sqrt(e)) * e * 4)
    lost = (64 + 2 * e + most + 16 * reach) * 2.0**-23
    outs = [("out", exact.to(dtype))]
    if writes:
        outs += [("key_cache", k), ("value_cache", v)]
    c.add(arguments, outs, atol=lost * v.double().abs().max().item(),
          rtol=ULP[dtype])


def custom_quantized_sdpa(c, d):
    b, rows, most, heads, shared, e, start = cached(d)
    second, mask = d.chance(0.4), cache_mask(d, rows, most)

    def side(n, h):
        q = d.whole([b, n, h, e], -128, 127, I8)
        z = d.whole([b, n, h, 1], -9, 9, I8)
        s = d.uniform([b, n, h, 1], 0.005, 0.03)
        return q, z, s, (q.double() - z.double()) * s.double()

    sides = [side(rows, heads), side(most, shared), side(most, shared)]
    causal = d.chance(0.5)
    lay = (lambda t: t.transpose(1, 2).contiguous()) if second else (lambda t: t)
    arguments = dict(query=lay(sides[0][0]), key=lay(sides[1][0]),
                     value=lay(sides[2][0]), start_pos=start, attn_mask=mask,
                     drpout_p=0.0, is_causal=causal, scale=None)
    for name, s in zip("qkv", sides):
        arguments[name + "_zero_points"] = lay(s[1])
        arguments[name + "_scales"] = lay(s[2])
    arguments["is_seq_at_dim_2"] = second
    fits = 0 <= start <= most - rows
    if (mask is not None and causal) or (not fits and mask is None):
        c.add(arguments)
        return
    exact = attend(sides[0][3], sides[1][3], sides[2][3], start,
                   None if mask is None else mask.double(), causal, None)
    c.sums(arguments, lay(exact), F32, 64 + most + 900 * math.sqrt(e),
           sides[2][3].abs().max().item())


# ------------------------------------------------ caches

def kv_update(c, d):
    dtype = d.pick(F32, F16, BF16, I8, I64, BOOL)
    shape = d.shape(1, 4)
    dim = d.int(0, len(shape) - 1)
    n = d.int(0, shape[dim])
    start = d.int(0, shape[dim] - n)
    if d.chance(0.1):
        start = d.pick(-1, shape[dim] - n + 1, 2**40)
    part = list(shape)
    part[dim] = n
    cache, value = (d.laid(d.whole(s, 0, 99, I64).to(dtype))
                    for s in (shape, part))
    arguments = dict(cache=cache, value=value,
                     dim=dim - (len(shape) if d.chance(0.3) else 0), start=start)
    if start < 0 or start + n > shape[dim]:
        c.add(arguments)
        return
    out = cache.clone()
    out.narrow(dim, start, n).copy_(value)
    c.add(arguments, [("out", out)])


def update_cache(c, d, indexed):
    dtype = d.pick(F32, F16, BF16, I8)
    b, rows, most, _, heads, e, start = cached(d)
    value = d.whole([b, rows, heads, e], -99, 99, I64).to(dtype)
    cache = d.whole([b, most, heads, e], -99, 99, I64).to(dtype)
    arguments = dict(value=value, cache=cache, start_pos=start)
    wrong = not 0 <= start <= most - rows
    if indexed:
        arguments["start_pos"] = 0
        indices = torch.stack([torch.randperm(most, generator=d.torch)[:rows]
                               for _ in range(b)])
        wrong = d.chance(0.06)
        if wrong:
            indices[0, -1] = d.pick(-1, most)
        arguments["indices"] = indices
    if d.chance(0.04):
        arguments["value"] = value.to(F64)
        wrong = True
    if wrong:
        c.add(arguments)
        return
    out = cache.clone()
    for i in range(b):
        at = arguments["indices"][i] if indexed else slice(start, start + rows)
        out[i, at] = value[i]
    c.add(arguments, [("out", torch.zeros(1, dtype=dtype)), ("cache", out)])


def delta_rule(c, d):
    b, h, repeat = d.int(1, 2), d.int(1, 3), d.pick(1, 1, 2)
    t, k, v = d.pick(1, d.int(1, 9)), d.pick(4, 8, 16), d.pick(4, 20, 40)
    channel = d.chance(0.5)
    q = d.normal([b, h * repeat, t, k], F32, 0.4)
    key = d.normal([b, h, t, k], F32, 0.4)
    value = d.normal([b, h, t, v])
    decay = d.uniform([b, h, t] + ([k] if channel else []), 0.5, 1)
    beta, state = d.uniform([b, h, t], 0, 1), d.normal([b, h, k, v])
    s, out = state.double(), torch.zeros(b, h * repeat, t, v, dtype=F64)
    for i in range(t):
        s = s * (decay[:, :, i, :, None] if channel
                 else decay[:, :, i, None, None]).double()
        x = key[:, :, i].double()
        change = (value[:, :, i].double() - torch.einsum("bhk,bhkv->bhv", x, s))
        s = s + x[..., None] * (change * beta[:, :, i, None])[:, :, None]
        out[:, :, i] = torch.einsum("bhk,bhkv->bhv", q[:, :, i].double(),
                                    s.repeat_interleave(repeat, 1))
    c.add(dict(query=q, key=key, value=value, decay=decay, beta=beta,
               initial_state=state),
          [("out", out.float()), ("final_state_out", s.float())],
          atol=2000 * 2.0**-23, rtol=256 * 2.0**-23)


def packed(q, scales, bits, group, kind):
    """One expert's matrix [N, K] in torchao's packing for linear layers."""
    n, k = q.shape
    rows = (n + 7) // 8 * 8
    numbers = torch.zeros(rows, k, dtype=I64)
    numbers[:n] = q
    wide = torch.zeros(rows, k // group)
    wide[:n] = scales
    out = [struct.pack("<16i", 6712, kind, bits, 0, 0, 8, 16, 2, *[0] * 8)]
    for row in range(0, rows, 8):
        for first in range(0, k, group):
            for at in range(first, first + group, 16):
                v = numbers[row:row + 8, at:at + 16]
                v = v.reshape(8, 2, 8).permute(1, 0, 2).reshape(4, 2, 16)
                v = (v[:, 0] + 8) | (v[:, 1] + 8) << 4 if bits == 4 else v & 255
                out.append(bytes(v.reshape(-1).tolist()))
            out.append(wide[row:row + 8, first // group].numpy().tobytes())
            sums = numbers[row:row + 8, first:first + group].sum(1).to(I32)
            out.append(sums.numpy().tobytes())
    return torch.frombuffer(bytearray(b"".join(out)), dtype=U8).clone()


def quantized_moe(c, d):
    bits, group = d.pick(4, 8), d.pick(16, 32, 160)
    most = 1 if group == 160 else 3
    width, hidden = group * d.int(1, most), group * d.int(1, most)
    experts = d.int(1, 6)
    active, tokens = d.int(1, experts), d.pick(1, d.int(1, 12), 30)
    score = d.pick("sigmoid", "softmax")
    x = d.normal([tokens, width])
    router = d.normal([experts, width], F32, 0.2)
    bias = torch.zeros(0)
    if score == "sigmoid" and d.chance(0.5):
        bias = d.normal([experts])
    low, high = (-8, 7) if bits == 4 else (-128, 127)
    kind = 3 if d.chance(0.06) else 1
    blobs, real = [], []
    for rows, columns in ((2 * hidden, width), (width, hidden)):
        q = d.whole([experts, rows, columns], low, high, I64)
        s = d.uniform([experts, rows, columns // group], 0.01, 0.04 / high * 7)
        blobs.append(torch.stack([packed(a, b, bits, group, kind)
                                  for a, b in zip(q, s)]))
        real.append(q.double() * s.double().repeat_interleave(group, 2))
    scale = d.real(0.5, 3)
    arguments = dict(x=x, gate_weight=router, expert_bias=bias,
                     packed_w13=blobs[0], packed_w2=blobs[1],
                     num_activated_experts=active, num_experts=experts,
                     hidden_dim=hidden, dim=width, group_size=group,
                     weight_nbit=bits, score_func=score, route_scale=scale)
    if kind != 1:
        c.add(arguments)
        return
    scores = x.double() @ router.double().T
    if score == "sigmoid":
        scores = scores.sigmoid()
        chosen = (scores + bias.double() if bias.numel() else scores)
        chosen = chosen.topk(active).indices
        weights = scores.gather(1, chosen)
        weights = weights * scale / weights.sum(1, keepdim=True)
    else:
        chosen = scores.topk(active).indices
        weights = scores.gather(1, chosen).softmax(-1)
    both = torch.einsum("tkrc,tc->tkr", real[0][chosen], x.double())
    up, gate = both[..., :hidden], both[..., hidden:]
    between = up * up.sigmoid() * gate
    out = torch.einsum("tkrc,tkc,tk->tr", real[1][chosen], between, weights)
    size = torch.einsum("tkrc,tkc,tk->tr", real[1][chosen].abs(), between.abs(),
                        weights)
    terms = 4 * (width + hidden) + 64
    c.sums(arguments, out, F32, terms, size.max().item())


Q, L = "quantized_decomposed::", "llama::"
OPERATORS = {
    Q + "quantize_per_tensor.out": lambda c, d: quantize_per_tensor(c, d, "out"),
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
    Q + "mixed_mm.out": mixed_mm,
    Q + "mixed_linear.out": mixed_linear,
    "fused::linear_w8": lambda c, d: linear(c, d, False, False),
    "fused::linear_w4g": lambda c, d: linear(c, d, False, True),
    "fused::linear_a8w8": lambda c, d: linear(c, d, True, False),
    "fused::linear_a8w4g": lambda c, d: linear(c, d, True, True),
    "aten::rms_norm": rms_norm,
    "aten::scaled_dot_product_attention": attention,
    L + "custom_sdpa.out": lambda c, d: custom_sdpa(c, d, False),
    L + "sdpa_with_kv_cache.out": lambda c, d: custom_sdpa(c, d, True),
    L + "custom_quantized_sdpa.out": custom_quantized_sdpa,
    "fused::kv_update": kv_update,
    L + "update_cache.out": lambda c, d: update_cache(c, d, False),
    L + "update_cache_with_indices.out": lambda c, d: update_cache(c, d, True),
    L + "quantized_moe_ffn.out": quantized_moe,
    L + "gated_delta_rule.out": delta_rule,
    L + "channelwise_gated_delta_rule.out": delta_rule,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--op", default="")
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--wild", action="store_true",
                        help="tensors with stride 0 too")
    options = parser.parse_args()
    Draw.wild = options.wild
    torch.set_num_threads(1)
    os.makedirs(options.target, exist_ok=True)
    for op, make in OPERATORS.items():
        if options.op not in op:
            continue
        name = op.split("::")[1].replace(".", "_")
        writer = Writer(os.path.join(options.target, name))
        draw = Draw(zlib.crc32(f"{options.seed}:{op}".encode()))
        cases = Cases(op, writer, options.most)
        while len(writer.cases) < options.count:
            make(cases, draw)
        writer.save()


if __name__ == "__main__":
    main()
