"""Calls of attention, its caches and recurrent state. The expected results are
computed by the same formula in float64.

c: the cases of an operator, d: the random draws (see quantizing_calls.py).
"""

import math

import torch

from random_calls import BF16, BOOL, F16, F32, F64, I8, I64, UNIT

L = "llama::"


def attention(c, d):
    dtype = d.pick([F32, F32, F32, F64, F16, BF16])
    keys, repeat = d.int(1, 3), d.pick([1, 1, 2, 3])
    heads, batch = keys * repeat, d.int(1, 2)
    long = d.chance(0.3)
    m, n = d.int(1, 20 if long else 5), d.int(1, 200 if long else 9)
    e, v = d.pick([1, 4, 7, 16, 33, 64]), d.pick([1, 4, 8, 35, 64])
    q = d.lay(d.normal([batch, heads, m, e], dtype))
    k = d.lay(d.normal([batch, keys, n, e], dtype))
    w = d.lay(d.normal([batch, keys, n, v], dtype))
    if repeat == 1 and d.chance(0.2):
        rank = d.pick([2, 3])
        q, k, w = (t[0] if rank == 3 else t[0, 0] for t in (q, k, w))
    mask, kind = None, d.pick(["", "", "bool", "float", "far"])
    if kind:
        shape = [m, n] if d.chance(0.5) or q.dim() < 4 else [
            batch, d.pick([1, heads]), m, n]
        mask = d.whole(shape, 0, 1, BOOL)
        if kind == "float":
            mask = d.normal(shape, dtype)
        elif kind == "far":
            mask = torch.zeros(shape).masked_fill(mask, -math.inf).to(dtype)
    causal = d.chance(0.3) and (mask is None or d.chance(0.1))
    scale = d.pick([None, 0.3])
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
    """Sizes of a query over a cache: batch, rows, most, heads, shared,
    elements, where the query starts."""
    most = d.pick([d.int(1, 9), 150])
    rows = d.int(1, min(most, 20))
    shared = d.int(1, 3)
    start = d.int(0, most - rows)
    if d.chance(0.06):
        start = d.pick([-1, most - rows + 1, most, 2**40])
    return (d.int(1, 2), rows, most, shared * d.pick([1, 1, 2]), shared,
            d.pick([4, 8, 20, 32]), start)


def cache_mask(d, rows, most):
    if d.chance(0.65):
        return None
    hidden = d.whole([rows, most], 0, 1, BOOL)
    mask = torch.zeros(rows, most).masked_fill(hidden, -math.inf)
    mask[:, 0] = d.pick([0.0, 0.5])
    return mask


def custom_sdpa(c, d, writes):
    dtype = d.pick([F32, F32, F16, BF16])
    b, rows, most, heads, shared, e, start = cached(d)
    q = d.normal([b, rows, heads, e], dtype)
    k, v = (d.normal([b, most, shared, e], dtype) for _ in range(2))
    mask = cache_mask(d, rows, most)
    causal, scale = d.chance(0.5), d.pick([None, 0.3])
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
          rtol=UNIT[dtype])


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

    def lay(t):
        return t.transpose(1, 2).contiguous() if second else t

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
    dtype = d.pick([F32, F16, BF16, I8, I64, BOOL])
    shape = d.shape(1, 4)
    dim = d.int(0, len(shape) - 1)
    n = d.int(0, shape[dim])
    start = d.int(0, shape[dim] - n)
    if d.chance(0.1):
        start = d.pick([-1, shape[dim] - n + 1, 2**40])
    part = list(shape)
    part[dim] = n
    cache, value = (d.lay(d.whole(s, 0, 99, I64).to(dtype))
                    for s in (shape, part))
    arguments = dict(cache=cache, value=value,
                     dim=dim - (len(shape) if d.chance(0.3) else 0),
                     start=start)
    if start < 0 or start + n > shape[dim]:
        c.add(arguments)
        return
    out = cache.clone()
    out.narrow(dim, start, n).copy_(value)
    c.add(arguments, [("out", out)])


def cache_rows(c, d):
    dtype = d.pick([I64, torch.int32])
    count = d.pick([1, 1, d.int(0, 6)])
    capacity = d.pick([d.int(1, 40), d.int(1, 40), 0, -3])
    index = d.whole([count], -1 if d.chance(0.1) else 0, 60, I64).to(dtype)
    wraps = d.chance(0.5)
    arguments = dict(index=index, capacity=capacity, wraps=wraps, what="cache 'k'")
    fits = bool((index < capacity).all()) or wraps and count == 1
    if capacity <= 0 or bool((index < 0).any()) or not fits:
        c.add(arguments)
        return
    c.add(arguments, [("out", index % capacity)])


def update_cache(c, d, indexed):
    dtype = d.pick([F32, F16, BF16, I8])
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
            indices[0, -1] = d.pick([-1, most])
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
    b, h, repeat = d.int(1, 2), d.int(1, 3), d.pick([1, 1, 2])
    t, k, v = d.pick([1, d.int(1, 9)]), d.pick([4, 8, 16]), d.pick([4, 20, 40])
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


OPERATORS = {
    "aten::scaled_dot_product_attention": attention,
    L + "custom_sdpa.out": lambda c, d: custom_sdpa(c, d, False),
    L + "sdpa_with_kv_cache.out": lambda c, d: custom_sdpa(c, d, True),
    L + "custom_quantized_sdpa.out": custom_quantized_sdpa,
    "fused::kv_update": kv_update,
    "etx::cache_rows.out": cache_rows,
    L + "update_cache.out": lambda c, d: update_cache(c, d, False),
    L + "update_cache_with_indices.out": lambda c, d: update_cache(c, d, True),
    L + "gated_delta_rule.out": delta_rule,
    L + "channelwise_gated_delta_rule.out": delta_rule,
}
