"""Calls of layers: matrix products with quantised weights, normalisation, a
mixture of experts. The expected results are computed by the same formula in
float64.

c: the cases of an operator, d: the random draws (see quantizing_calls.py).
"""

import math
import struct

import torch

from quantizing_calls import PT, Q, offset_weights
from random_calls import BF16, F16, F32, F64, I8, I32, I64, U8


def mixed_mm(c, d):
    m, k = d.int(1, 5), d.pick([d.int(1, 80), 130])
    n = d.pick([d.int(1, 20), 70])
    dtype = d.pick([F32, F16])
    x, w = d.normal([m, k], dtype), d.whole([k, n], -128, 127, I8)
    scales = d.uniform([k], 0.01, 0.1, dtype)
    real = w.double() * scales.double()[:, None]
    size = (x.double().abs() @ real.abs()).max()
    c.sums(dict(input=x, weight=w, weight_scales=scales,
                weight_zero_points=None), x.double() @ real, dtype, k + 3,
           size.item())


def mixed_linear(c, d):
    m, k, n = d.int(1, 20), d.pick([d.int(1, 80), 300]), d.int(1, 9)
    dtype, groups = d.pick([F32, F16]), d.pick([1, 1, 2, 4])
    x, w = d.lay(d.normal([m, k], dtype)), d.whole([n, k], -128, 127, I8)
    scales = d.uniform([n, groups] if groups > 1 else [n], 0.01, 0.1, dtype)
    each = (k + groups - 1) // groups
    wide = scales.double().reshape(n, -1).repeat_interleave(each, 1)[:, :k]
    to = d.pick([None, dtype, F32])
    real = w.double() * wide
    c.sums(dict(input=x, weight=w, weight_scales=scales,
                weight_zero_points=None, dtype=to), x.double() @ real.T,
           to or dtype, k + 3, (x.double().abs() @ real.abs().T).max().item())


def half_weight_linear(c, d):
    """A layer over float32 whose weight is stored as halves."""
    m, n = d.shape(0, 2, 15), d.pick([d.int(1, 20), 40])
    k = d.pick([d.int(1, 80), 64, 130])
    x, w = d.lay(d.normal([*m, k])), d.normal([n, k], d.pick([F16, BF16]))
    bias = d.normal([n]) if d.chance(0.5) else None
    if d.chance(0.1):  # the other way round is refused
        c.add(dict(input=x.to(w.dtype), weight=w.float(), bias=None))
        return
    y = x.double() @ w.double().T + (0 if bias is None else bias.double())
    size = x.double().abs() @ w.double().abs().T
    c.sums(dict(input=x, weight=w, bias=bias), y, F32, k + 3,
           size.max().item() + 10 if size.numel() else 0.0)


def rows_of(x):
    """Rows as int8 minus their zero point, and their scales."""
    s, z = PT.choose_qparams_per_token_asymmetric(x.float(), I8)
    q = PT.quantize_per_token(x.float(), s, z, -128, 127, I8)
    return (q.double() - z.double()) * s.double()


def linear(c, d, quantizes, packed):
    group = d.pick([2, 4, 6, 16, 32, 64, 300])
    k = group * d.int(1, 2 if group > 64 else 6) if packed else d.pick([
        d.int(1, 90), 256, 515])
    n, shape = d.int(1, 11), d.shape(0, 2, 12)
    dtype = d.pick([F32, F32, F16, BF16])
    x = d.lay(d.normal(shape + [k], dtype))
    bias = d.normal([n], dtype) if d.chance(0.5) else None
    if packed:
        weight = d.whole([n, k // 2], 0, 255, U8)
        scales = d.uniform([n, k // group], 0.02, 0.3)
        zeros = d.whole([n, k // group], -8, 7, I8) if d.chance(0.5) else None
        q = torch.stack((weight >> 4, weight & 15), -1)
        q = q.reshape(n, k).double() - 8
        if zeros is not None:
            q = q - zeros.double().repeat_interleave(group, 1)
        w = q * scales.double().repeat_interleave(group, 1)
        arguments = dict(input=x, packed=weight, scales=scales,
                         zero_points=zeros, group_size=group, bias=bias)
    else:
        weight = d.whole([n, k], -128, 127, I8)
        scales = d.uniform([n], 0.01, 0.1)
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


def linear_offsets(c, d, quantizes):
    """Groups with offsets, and a scale for each row."""
    group = d.pick([2, 6, 32, 32, 32, 64, 128])
    k = group * d.int(1, 2 if group > 64 else 6)
    n, shape = d.int(1, 11), d.shape(0, 2, 12)
    x = d.lay(d.normal(shape + [k], d.pick([F32, F32, F16, BF16])))
    bias = d.normal([n], x.dtype) if d.chance(0.5) else None
    weight = d.whole([n, k // 2], 0, 255, U8)
    scales = d.uniform([n], 1e-4, 2e-3)
    params, w = offset_weights(d, weight, scales, k // group)
    arguments = dict(input=x, packed=weight, scales=scales,
                     zero_points=params, group_size=group, bias=bias)
    if d.chance(0.1):
        wrong = d.pick(["scales", "zero_points"])
        arguments[wrong] = d.pick([scales[:, None].repeat(1, k // group),
                                   scales.to(F16)]) \
            if wrong == "scales" else params[:-1]
        c.add(arguments)
        return
    real = rows_of(x) if quantizes and x.numel() else x.double()
    y = real @ w.T + (0 if bias is None else bias.double())
    size = (real.abs() @ w.abs().T).max().item() + 9 if y.numel() else 1
    c.sums(arguments, y, x.dtype, k + 6, size)


def panel_operands(d, dtypes, repeats=False):
    """The arguments, the results and the size of what they are sums of."""
    k, n = d.pick([4 * d.int(1, 22), 128]), d.pick([16, 16, 5, 21])
    x = d.normal(d.shape(0, 2, 8) + [k], d.pick(dtypes))
    bias = d.normal([n], x.dtype) if d.chance(0.5) else None
    weight = d.whole([n, k], -128, 127, I8)
    scales = d.uniform([n], 0.01, 0.1)
    if repeats:
        for t in (weight, scales) if bias is None else (weight, scales, bias):
            t[n // 2:] = t[:n - n // 2].clone()
    w = weight.double() * scales.double()[:, None]
    whole = torch.zeros([-(-n // 16) * 16, k], dtype=I8)
    whole[:n] = weight
    packed = whole.reshape(-1, 16, k // 4, 4).transpose(1, 2)
    arguments = dict(input=x, panels=packed.contiguous(), scales=scales,
                     sums=weight.sum(1, dtype=I32), bias=bias)
    real = rows_of(x) if x.numel() else x.double()
    y = real @ w.T + (0 if bias is None else bias.double())
    size = (real.abs() @ w.abs().T).max().item() + 9 if y.numel() else 1
    return arguments, y, size


def panels(c, d):
    arguments, y, size = panel_operands(d, [F32, F32, F16, BF16])
    x = arguments["input"]
    c.sums(arguments, y, x.dtype, x.shape[-1] + 6, size)


def panels_argmax(c, d):
    repeats, spoils, keeps = d.chance(0.3), d.chance(0.2), d.chance(0.5)
    while True:
        arguments, y, size = panel_operands(d, [F32], repeats)
        if y.numel() == 0:
            break
        # The largest value must exceed all others by more than the rounding
        # error of float32 sums. Equal columns are allowed: the first one counts.
        below = y.masked_fill(y == y.amax(-1, keepdim=True), -math.inf)
        if (y.amax(-1) - below.amax(-1)).min() > size * 1e-5:
            break
    if spoils and arguments["bias"] is not None:
        at = d.int(0, y.shape[-1] - 1)
        arguments["bias"][at:] = math.nan
        y[..., at:] = math.nan
    c.add(dict(arguments, keepdim=keeps), [("out", y.argmax(-1, keeps))])


def rms_norm(c, d):
    shape = d.shape(1, 4)
    dims = shape[d.int(0, len(shape) - 1):]
    dtype = d.pick([F32, F32, F64, F16, BF16])
    x = d.lay(d.normal(shape, dtype, d.pick([2, 1e-3])))
    weight = d.uniform(dims, 0.5, 2).to(dtype) if d.chance(0.6) else None
    eps = d.pick([None, 1e-6, 0.1])
    arguments = dict(input=x, normalized_shape=dims, weight=weight, eps=eps)
    if d.chance(0.05):
        arguments["normalized_shape"] = dims[:-1] + [dims[-1] + 1]
        c.add(arguments)
        return
    used = eps if eps is not None else 2.0**-52 if dtype == F64 else 2.0**-23
    exact = torch.rms_norm(x.double(), dims,
                           None if weight is None else weight.double(), used)
    c.sums(arguments, exact, dtype, 16 + math.prod(dims), 9, "result")


# ------------------------------------------------ experts

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
    bits, group = d.pick([4, 8]), d.pick([16, 32, 160])
    most = 1 if group == 160 else 3
    width, hidden = group * d.int(1, most), group * d.int(1, most)
    experts = d.int(1, 6)
    active, tokens = d.int(1, experts), d.pick([1, d.int(1, 12), 30])
    score = d.pick(["sigmoid", "softmax"])
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


OPERATORS = {
    Q + "mixed_mm.out": mixed_mm,
    Q + "mixed_linear.out": mixed_linear,
    "aten::linear.out": half_weight_linear,
    "fused::linear_w8": lambda c, d: linear(c, d, False, False),
    "fused::linear_w4g": lambda c, d: linear(c, d, False, True),
    "fused::linear_a8w8": lambda c, d: linear(c, d, True, False),
    "etx::linear_a8w8_panels.out": panels,
    "etx::linear_a8w8_panels_argmax.out": panels_argmax,
    "fused::linear_a8w4g": lambda c, d: linear(c, d, True, True),
    "etx::linear_w4g.out": lambda c, d: linear_offsets(c, d, False),
    "etx::linear_a8w4g.out": lambda c, d: linear_offsets(c, d, True),
    "aten::rms_norm": rms_norm,
    "llama::quantized_moe_ffn.out": quantized_moe,
}
