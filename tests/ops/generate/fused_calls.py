"""Calls of fused operators: attention with operands of any dimension order, and
chains of elementwise steps, alone and as an epilogue of a matrix product or a
convolution. The expected results are computed by the same formula in float64.

c: the cases of an operator, d: the random draws (see quantizing_calls.py).
"""

import math

import torch

from random_calls import BF16, BOOL, F16, F32, F64, I32, I64

ONE = {
    "neg": torch.neg, "abs": torch.abs, "relu": torch.relu,
    "relu6": torch.nn.functional.relu6, "square": torch.square,
    "tanh": torch.tanh, "erf": torch.erf, "sigmoid": torch.sigmoid,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda t: torch.nn.functional.gelu(t, approximate="tanh"),
    "silu": torch.nn.functional.silu, "mish": torch.nn.functional.mish,
    "hardsigmoid": torch.nn.functional.hardsigmoid,
    "hardswish": torch.nn.functional.hardswish,
    "log_sigmoid": torch.nn.functional.logsigmoid,
}
TWO = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul,
       "minimum": torch.minimum, "maximum": torch.maximum,
       "prelu": lambda a, b: torch.where(a > 0, a, a * b)}
# Steps with numbers that are the same for all elements.
WITH = {
    "clamp": (2, lambda t, p, q: t.clamp(p, q)),
    "leaky_relu": (2, lambda t, p, q: torch.where(t > 0, t, t * (p + q))),
    "softplus": (2, lambda t, p, q: torch.where(
        t * p > q, t, torch.log1p(torch.exp(t * p)) / p)),
    "elu": (3, lambda t, p, q, r: torch.where(
        t > 0, t * p, torch.expm1(t * r) * q)),
}


def chain(d, shape):
    """A random chain over a result of `shape`: the other tensors, the text,
    and what computes it in float64."""
    kinds = [list(shape), [1] * d.int(0, len(shape)), list(shape[-1:])]
    others = [d.uniform(d.pick(kinds), -2, 2) for _ in range(d.int(0, 3))]
    words, depth = ["x"], 1
    for _ in range(d.int(0, 6)):
        choice = d.random.random()
        if choice < 0.15 and depth == 1:
            name = d.pick(sorted(WITH))
            for _ in range(WITH[name][0]):
                words.append(str(len(others)))
                others.append(d.uniform([1], 0.1, 2))
            words.append(name)
        elif choice < 0.5:
            words.append(d.pick(sorted(ONE)))
        elif choice < 0.8 and depth > 1:
            words.append(d.pick(sorted(TWO)))
            depth -= 1
        elif depth < 4:
            words.append(d.pick(["x", *map(str, range(len(others)))]))
            depth += 1
    words += [d.pick(sorted(TWO)) for _ in range(depth - 1)]

    def compute(x):
        stack = []
        for word in words:
            if word in ONE:
                stack.append(ONE[word](stack.pop()))
            elif word in TWO:
                b, a = stack.pop(), stack.pop()
                stack.append(TWO[word](a, b))
            elif word in WITH:
                taken = WITH[word][0]
                stack[-taken - 1:] = [WITH[word][1](*stack[-taken - 1:])]
            else:
                stack.append(x if word == "x" else others[int(word)].double())
        return stack[0].expand(shape)

    text = " ".join(words)
    if d.chance(0.08):
        text = d.pick(["", "x x", "add", "x 9 add", text + " ", "x cosh"])
        return others, text, None
    return others, text, compute


def elementwise(c, d):
    shape = d.shape(1, 3)
    x = d.uniform(shape, -2, 2)
    others, text, compute = chain(d, shape)
    arguments = {"self": x, "others": others, "steps": text}
    if compute is None or not others:
        # The format cannot express the type of an empty list, so it has one
        # tensor, which is not read.
        arguments["others"] = others or [torch.zeros([])]
    if compute is None:
        c.add(arguments)
        return
    c.add(arguments, [("out", compute(x.double()).to(F32))], atol=2e-4,
          rtol=1e-4)


def linear(c, d):
    rows, k, n = d.shape(0, 2, 3), d.int(1, 20), d.int(1, 40)
    x, weight = d.uniform([*rows, k], -1, 1), d.uniform([n, k], -0.3, 0.3)
    bias = d.pick([None, d.uniform([n], -1, 1)])
    others, text, compute = chain(d, [*rows, n])
    arguments = {"input": x, "weight": weight, "bias": bias,
                 "others": others or [torch.zeros([])], "steps": text}
    if compute is None:
        c.add(arguments)
        return
    product = torch.nn.functional.linear(
        x.double(), weight.double(), None if bias is None else bias.double())
    c.add(arguments, [("out", compute(product).to(F32))], atol=2e-3, rtol=1e-3)


def panels(c, d):
    rows, k, n = d.shape(0, 2, 3), d.int(1, 20), 16 * d.int(1, 3)
    x, weight = d.uniform([*rows, k], -1, 1), d.uniform([n, k], -0.3, 0.3)
    bias = d.pick([None, d.uniform([n], -1, 1)])
    others, text, compute = chain(d, [*rows, n])
    if d.chance(0.3):
        others, text, compute = [], "x", lambda t: t
    packed = weight.reshape(n // 16, 16, k).transpose(1, 2).contiguous()
    arguments = {"input": x, "panels": packed, "bias": bias,
                 "others": others or [torch.zeros([])], "steps": text}
    if compute is None:
        c.add(arguments)
        return
    product = torch.nn.functional.linear(
        x.double(), weight.double(), None if bias is None else bias.double())
    c.add(arguments, [("out", compute(product).to(F32))], atol=2e-3, rtol=1e-3)


def heads(c, d):
    lead, rows, k = d.shape(0, 1, 3), d.int(0, 20), d.int(1, 20)
    count, width = d.int(1, 4), 16 * d.int(1, 3)
    n = count * width
    x = d.uniform([*lead, rows, k], -1, 1)
    weight = d.uniform([n, k], -0.3, 0.3)
    bias = d.pick([None, d.uniform([n], -1, 1), d.uniform([], -1, 1)])
    packed = weight.reshape(n // 16, 16, k).transpose(1, 2).contiguous()
    arguments = {"input": x, "panels": packed, "bias": bias, "heads": count}
    if d.chance(0.08):
        c.add({**arguments, "heads": d.pick([0, -1, n // 16 + 1])})
        return
    product = torch.nn.functional.linear(x.double(), weight.double())
    product = product if bias is None else product + bias.double()
    by_heads = product.reshape([*lead, rows, count, width]).transpose(-3, -2)
    c.add(arguments, [("out", by_heads.contiguous().to(F32))], atol=2e-3,
          rtol=1e-3)


def convolution(c, d):
    groups, each_in, each_out = d.int(1, 3), d.int(1, 4), d.int(1, 4)
    if d.chance(0.4):
        groups, each_in, each_out = d.int(1, 8), 1, 1
    kernel = [d.pick([1, 3, 3, 5]) for _ in range(2)]
    sizes = [d.int(max(1, k - 2), 9) for k in kernel]
    stride, padding = [d.int(1, 2), d.int(1, 2)], [k // 2 for k in kernel]
    x = d.uniform([d.int(1, 2), groups * each_in, *sizes], -1, 1)
    weight = d.uniform([groups * each_out, each_in, *kernel], -0.3, 0.3)
    bias = d.pick([None, d.uniform([groups * each_out], -1, 1)])
    sums = torch.nn.functional.conv2d(
        x.double(), weight.double(), None if bias is None else bias.double(),
        stride, padding, 1, groups)
    others, text, compute = chain(d, list(sums.shape))
    arguments = {"input": x, "weight": weight, "bias": bias, "stride": stride,
                 "padding": padding, "dilation": [1, 1], "transposed": False,
                 "output_padding": [0, 0], "groups": groups,
                 "others": others or [torch.zeros([])], "steps": text}
    if compute is None:
        c.add(arguments)
        return
    c.add(arguments, [("out", compute(sums).to(F32))], atol=2e-3, rtol=1e-3)


def convolution_panels(c, d, kernel=1):
    channels, results = d.pick([1, 2, d.int(1, 40)]), 16 * d.int(1, 2)
    sizes = [d.int(1, 9), d.int(1, 9)]
    padding = [0 if kernel == 1 else d.int(0, 2) for _ in range(2)]
    sizes = [max(s, kernel - 2 * p) for s, p in zip(sizes, padding)]
    x = d.uniform([d.int(1, 2), channels, *sizes], -1, 1)
    weight = d.uniform([results, channels, kernel, kernel], -0.3, 0.3)
    bias = d.pick([None, d.uniform([results], -1, 1)])
    sums = torch.nn.functional.conv2d(
        x.double(), weight.double(), None if bias is None else bias.double(),
        1, padding)
    others, text, compute = chain(d, list(sums.shape))
    packed = weight.reshape(-1, 16, channels, kernel, kernel)
    packed = packed.permute(0, 2, 3, 4, 1)
    if d.chance(0.1):
        packed, compute = d.pick([packed[..., :8],
                                  torch.cat([packed, packed], 2),
                                  torch.cat([packed, packed], 1)]), None
    arguments = {"input": x, "panels": packed.contiguous(), "bias": bias}
    if kernel == 3:
        arguments["padding"] = padding
    arguments |= {"others": others or [torch.zeros([])], "steps": text}
    if compute is None:
        c.add(arguments)
        return
    c.add(arguments, [("out", compute(sums).to(F32))], atol=2e-3, rtol=1e-3)


def winograd(c, d):
    convolution_panels(c, d, 3)


def convolution_packed(c, d):
    rank, groups = d.int(1, 2), d.pick([1, 1, 2])
    each_in, each_out = d.pick([1, 2, d.int(1, 20)]), 16 * d.int(1, 2)
    transposed = d.chance(0.5)
    kernel = [d.int(1, 4) for _ in range(rank)]
    stride = [d.int(1, 3) for _ in range(rank)]
    dilation = [d.pick([1, 1, 2]) for _ in range(rank)]
    padding = [d.int(0, k // 2) for k in kernel]
    more = [d.int(0, s - 1) if transposed else 0 for s in stride]
    reach = [(k - 1) * each + 1 for k, each in zip(kernel, dilation)]
    sizes = [max(d.int(1, 9), r - 2 * p) for r, p in zip(reach, padding)]
    x = d.uniform([d.int(1, 2), groups * each_in, *sizes], -1, 1)
    shape = ([groups * each_in, each_out] if transposed else
             [groups * each_out, each_in])
    weight = d.uniform([*shape, *kernel], -0.3, 0.3)
    bias = d.pick([None, d.uniform([groups * each_out], -1, 1)])
    try:
        sums = torch.ops.aten.convolution(
            x.double(), weight.double(),
            None if bias is None else bias.double(), stride, padding, dilation,
            transposed, more, groups)
    except RuntimeError:
        return
    others, text, compute = chain(d, list(sums.shape))
    rows = weight
    if transposed:
        rows = weight.reshape(groups, each_in, each_out, *kernel)
        rows = rows.transpose(1, 2).flatten(0, 1)
    packed = rows.unflatten(0, (-1, 16)).movedim(1, -1)
    if d.chance(0.1):
        packed, compute = d.pick([packed[..., :8], packed[0],
                                  torch.cat([packed, packed], 1)]), None
    arguments = {"input": x, "panels": packed.contiguous(), "bias": bias,
                 "stride": stride, "padding": padding, "dilation": dilation,
                 "transposed": transposed, "output_padding": more,
                 "groups": groups, "others": others or [torch.zeros([])],
                 "steps": text}
    if compute is None:
        c.add(arguments)
        return
    c.add(arguments, [("out", compute(sums).to(F32))], atol=2e-3, rtol=1e-3)


def rounded_rows(c, d):
    """Rows as int8, and a factor for each."""
    x = d.spoiled(d.normal([*d.shape(0, 3), d.int(1, 70)], F32,
                           d.pick([1.0, 1e-3, 1e4])))
    if d.chance(0.3):
        x[..., :] = d.pick([0.0, 1e-44, -2.5])
    factors = x.abs().amax(-1, keepdim=True) / 127
    is_whole = (factors > 0) & factors.isfinite()
    values = torch.round(x / factors).clamp(-127, 127)
    values = torch.where(is_whole, values, 0).to(torch.int8)
    c.add({"input": x}, [("values", values), ("factors", factors)])


def attention(c, d, is_capped=False, is_scaled=False):
    dtype = F32 if is_scaled else d.pick([F32, F32, F32, F64, F16, BF16])
    groups, repeat, batch = d.int(1, 3), d.pick([1, 1, 2]), d.int(1, 2)
    heads, rows = groups * repeat, d.pick([1, d.int(1, 10)])
    keys, width, wide = d.pick([d.int(1, 9), 70]), d.int(1, 9), d.int(1, 9)
    if is_scaled:
        width, wide = (d.pick([n, 16, 32]) for n in (width, wide))
    q = d.normal([batch, heads, rows, width], dtype)
    k = d.normal([d.pick([batch, 1]), groups, keys, width], dtype)
    v = d.normal([k.shape[0], groups, keys, wide], dtype)
    factors = []
    if is_scaled:
        stored_sides = [d.whole(t.shape, -127, 127, torch.int8) for t in (k, v)]
        factors = [d.uniform([*t.shape[:3], 1], 0.0, 0.02) for t in (k, v)]
        k, v = (t * f.double() for t, f in zip(stored_sides, factors))
    orders = [d.pick([[0, 1, 2, 3], [0, 2, 1, 3], d.shuffled(4)])
              for _ in range(4)]
    hidden = d.pick([-math.inf, -1e9])
    scale = d.pick([1.0, 0.3])
    asked = q.double()
    # Dense rows of such widths are multiplied as integers: queries are rounded
    # to 8 bits, and weights to 15.
    in_whole = is_scaled and width % 32 == 0 and wide % 32 == 0
    if in_whole:
        orders[1:3] = (d.pick([[0, 1, 2, 3], [0, 2, 1, 3]]) for _ in range(2))
        most = q.abs().amax(-1, keepdim=True)
        asked = torch.round(q * (127 / most)).double() * most.double() / 127
    scores = torch.einsum(
        "bhrw,bhkw->bhrk", asked,
        k.double().repeat_interleave(repeat, 1).expand(batch, -1, -1, -1))
    scores, unseen = scores * scale, torch.zeros(rows, keys, dtype=BOOL)
    numbers = {}
    if is_capped:
        cap = numbers["cap"] = d.pick([0.5, 2.0, 30.0])
        scores = cap * torch.tanh(scores / cap)
    elif is_scaled:
        numbers["cap"] = 0.0
    mask = last = None
    kind = d.pick(["", "bool", "float", "last", "causal"])
    if kind == "bool":
        mask = d.whole([rows, keys], 0, 1, BOOL)
        unseen = ~mask
    elif kind == "float":
        mask = d.normal([rows, keys], dtype)
        scores = scores + mask.double()
    elif kind == "last":
        last = d.whole([rows, 1], 0, keys + 2, I64)
        unseen = torch.arange(keys) > last
    elif kind == "causal":
        unseen = torch.arange(keys) > torch.arange(rows)[:, None]
    weights = torch.softmax(scores.masked_fill(unseen, hidden), -1)
    is_guarded = d.chance(0.5)
    if is_guarded:
        weights = weights.nan_to_num(0.0)
    exact = torch.einsum(
        "bhrk,bhkw->bhrw", weights,
        v.double().repeat_interleave(repeat, 1).expand(batch, -1, -1, -1))

    def stored(t, order):
        return t.permute([order.index(i) for i in range(4)]).contiguous()

    if d.chance(0.05):
        orders[d.int(0, 3)] = d.pick([[0, 1, 2], [0, 1, 1, 3], [0, 1, 2, -1]])
    right = all(sorted(o) == [0, 1, 2, 3] for o in orders)
    given = (q, *stored_sides) if is_scaled else (q, k, v)
    sides = [stored(t, o) if right else t for t, o in zip(given, orders)]
    for name, t, o in zip(("key_factors", "value_factors"), factors, orders[1:]):
        numbers[name] = stored(t, o) if right else t
    arguments = dict(zip(("query", "key", "value"), sides), mask=mask,
                     last=last, query_order=orders[0], key_order=orders[1],
                     value_order=orders[2], out_order=orders[3], scale=scale,
                     hidden=hidden, is_causal=kind == "causal",
                     is_guarded=is_guarded, **numbers)
    if not right:
        c.add(arguments)
        return
    c.sums(arguments, stored(exact, orders[3]), dtype,
           64 + 2 * width + keys + 64 * scale * width + 256 * keys * in_whole,
           v.double().abs().max().item())


def bmm_nt(c, d):
    """A batch of products with the transpose of each second matrix."""
    dtype = d.pick([F32, F32, F64, F16, BF16, I32])
    batch, rows, k, n = d.int(1, 3), d.int(1, 20), d.int(1, 40), d.int(1, 20)
    values = d.normal if dtype.is_floating_point else (
        lambda shape, t: d.whole(shape, -9, 9, t))
    x, y = values([batch, rows, k], dtype), values([batch, n, k], dtype)
    arguments = {"self": d.lay(x), "mat2": d.lay(y)}
    if d.chance(0.15):
        arguments["mat2"] = y.to(F64 if dtype != F64 else F32)
        c.add(arguments)
        return
    exact = torch.bmm(x.double(), y.double().transpose(1, 2))
    if dtype.is_floating_point:
        c.sums(arguments, exact, dtype, k, 20.0 * k)
    else:
        c.add(arguments, [("out", exact.to(dtype))])


def grouped_mm(c, d):
    """Groups of rows, each with a matrix of its own; some have no row."""
    dtype = d.pick([F32, F32, F64, F16, BF16, I32])
    groups, k, n = d.int(1, 5), d.int(0, 20), d.int(1, 40)
    ends = [0]
    for _ in range(groups):
        ends.append(ends[-1] + d.pick([0, 0, 1, 2, d.int(1, 20)]))
    rows = ends[-1] + d.pick([0, 0, 3])  # some behind the last group
    values = d.normal if dtype.is_floating_point else (
        lambda shape, t: d.whole(shape, -9, 9, t))
    x, y = values([rows, k], dtype), values([groups, k, n], dtype)
    offs = torch.tensor(ends[1:], dtype=d.pick([I32, I64]))
    arguments = {"self": d.lay(x), "mat2": d.lay(y), "offs": d.lay(offs)}
    if d.chance(0.15):
        arguments.update(d.pick([
            {"mat2": y.to(F64 if dtype != F64 else F32)},
            {"offs": offs + (rows + 1 - offs[-1])},  # beyond the rows
            {"offs": offs - ends[1] - 1},  # before the first one
            {"offs": offs[1:]}]))
        c.add(arguments)
        return
    exact = torch.zeros([rows, n], dtype=F64)
    for i in range(groups):
        part = slice(ends[i], ends[i + 1])
        exact[part] = x[part].double() @ y[i].double()
    if dtype.is_floating_point:
        c.sums(arguments, exact, dtype, k, 20.0 * k)
    else:
        c.add(arguments, [("out", exact.to(dtype))])


def max_pool(c, d):
    dtype = d.pick([F32, F32, F64, F16, BF16, I32])
    x = d.whole([d.int(1, 2), d.int(1, 5), d.int(3, 9), d.int(3, 9)], -50, 50,
                dtype)
    arguments = {"self": d.lay(x), "kernel_size": [d.int(1, 3), d.int(1, 3)],
                 "stride": [d.int(1, 2), d.int(1, 2)],
                 "padding": [d.int(0, 1), d.int(0, 2)],
                 "dilation": [d.pick([1, 1, 2]), 1],
                 "ceil_mode": d.chance(0.3)}
    c.native(arguments, torch.nn.functional.max_pool2d)


OPERATORS = {"etx::attention.out": attention,
             "etx::attention_capped.out": lambda c, d: attention(c, d, True),
             "etx::attention_scaled.out": lambda c, d: attention(
                 c, d, d.chance(0.3), True),
             "etx::quantize_rows.out": rounded_rows,
             "etx::chain.out": elementwise,
             "etx::linear_chain.out": linear,
             "etx::linear_panels.out": panels,
             "etx::linear_heads.out": heads,
             "etx::convolution_chain.out": convolution,
             "etx::convolution_panels.out": convolution_panels,
             "etx::convolution_winograd.out": winograd,
             "etx::convolution_packed.out": convolution_packed,
             "etx::bmm_nt.out": bmm_nt, "etx::max_pool2d.out": max_pool,
             "etx::grouped_mm.out": grouped_mm}
