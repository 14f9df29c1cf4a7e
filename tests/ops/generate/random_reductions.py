#!/usr/bin/env python3
"""Random calls of reductions, normalisations and Fourier transforms.

    random_reductions.py TARGET [--seed N] [--count N] [--only PART]
                         [--most BYTES]

Writes TARGET/<operator>.jsonl and .safetensors, COUNT cases of each operator:
any sizes, dimension orders and dtypes, positive and negative dimensions, and
errors. Cases with a tensor of more than BYTES are left out.

tests/data/ops/random_reductions holds what `--seed 1 --count 10 --most 1500`
writes.
"""

import math

import torch

from random_calls import (ALL, BF16, BOOL, C64, C128, F16, F32, F64, FLOATS,
                          I32, I64, INTS, UNIT, command_line, generate)
from wide_calls import Operator, allclose, magnitude, terms_lost, widened


def size_of(shape, dims):
    """Elements folded into one result; wrong dimensions do not matter."""
    rank = len(shape)
    if dims is None or dims == []:
        return max(1, math.prod(shape))
    dims = dims if isinstance(dims, list) else [dims]
    return max(1, math.prod(shape[d] for d in dims if -rank <= d < rank))


def of_sum(call, n):
    """For sums: the same sum of absolute values gives the scale."""
    return lambda high, dtype, k: (terms_lost(n) * magnitude(call()), 2)


def finite(t):
    return torch.nan_to_num(widened(t).abs(), 0, 0, 0) if (
        t.dtype in FLOATS) else t


def stated(draw, dtype, likely):
    """A dtype argument: mostly none."""
    if draw.chance(1 - likely):
        return None
    return draw.pick(ALL if draw.chance(0.3) else
                     (FLOATS if dtype in FLOATS else [F32, F64, I64, I32]))


def accumulated(t, dtype):
    """What is folded: integers with a float type become that first."""
    return finite(t if dtype is None else t.to(dtype))


def sums(op, draw):
    dtype = draw.pick(ALL)
    shape = draw.shape(0, 5)
    x = draw.tensor(shape, dtype)
    dims = draw.pick([None, draw.dims(len(shape)), draw.dims(len(shape)), []])
    to = stated(draw, dtype, 0.3)
    keep = draw.chance(0.5)
    if to in (F16, BF16, F32) and dtype not in FLOATS:
        x = x.to(I32 if dtype == I64 else dtype)
    if to not in FLOATS + [None] and dtype in FLOATS:
        x = x.nan_to_num(0, 9, 9)
    n = size_of(shape, dims)

    def scale():
        wide = accumulated(x, to)
        wide = wide.double() if wide.dtype != F64 else wide
        return torch.sum(wide, dims, keepdim=keep).double() / (
            n if op.op.startswith("aten::mean") else 1)
    op.add([("self", x), ("dim", dims), ("keepdim", keep), ("dtype", to)],
           of_sum(scale, n), keywords=("dtype",))


def mean_all(op, draw):
    x = draw.tensor(draw.shape(0, 4), draw.pick(ALL))
    to = stated(draw, x.dtype, 0.4)
    op.add([("self", x), ("dtype", to)],
           of_sum(lambda: finite(x).double().mean(), x.numel()),
           keywords=("dtype",))


def prods(op, draw):
    dtype = draw.pick(ALL)
    shape = draw.shape(0, 4, long=60)
    x = draw.tensor(shape, dtype, low=-1.5, high=1.5)
    to = stated(draw, dtype, 0.2)
    if to not in FLOATS + [None] and dtype in FLOATS:
        x = x.nan_to_num(0, 9, 9)
    if op.op == "aten::prod.out":
        op.add([("self", x), ("dtype", to)],
               lambda h, d, k: (0, x.numel() + 4), keywords=("dtype",))
        return
    dim = draw.dim(len(shape))
    op.add([("self", x), ("dim", dim), ("keepdim", draw.chance(0.5)),
            ("dtype", to)],
           lambda h, d, k: (0, size_of(shape, dim) + 4), keywords=("dtype",))


def extremes(op, draw):
    x = draw.tensor(draw.shape(0, 5), draw.pick(ALL), special=0.3)
    dims = draw.pick([draw.dims(x.dim()), []])
    op.add([("self", x), ("dim", dims), ("keepdim", draw.chance(0.5))], None,
           zero_sign=True)


def extremes_dim(op, draw):
    x = draw.tensor(draw.shape(0, 4), draw.pick(ALL), special=0.3)
    op.add([("self", x), ("dim", draw.dim(x.dim())),
            ("keepdim", draw.chance(0.5))], None, zero_sign=True)


def extremes_all(op, draw):
    x = draw.tensor(draw.shape(0, 4), draw.pick(ALL), special=0.3)
    op.add([("self", x)], None, zero_sign=True)


def arguments(op, draw):
    x = draw.tensor(draw.shape(0, 4), draw.pick(ALL), special=0.3)
    op.add([("self", x), ("dim", draw.pick([None, draw.dim(x.dim())])),
            ("keepdim", draw.chance(0.5))], None)


def bools(op, draw):
    dtype = draw.pick(ALL)
    x = draw.values(draw.shape(0, 5), dtype, special=0.3)
    if dtype != BOOL:
        share = draw.pick([0.02, 0.5, 0.98])
        x = x * (torch.rand(x.shape, generator=draw.torch) < share).to(dtype)
    x = draw.lay(x)
    args = [("self", x)]
    if op.op.endswith("dims_out"):
        args.append(("dim", draw.pick([None, draw.dims(x.dim())])))
    elif op.op.endswith(".out"):
        args.append(("dim", draw.dim(x.dim())))
    if len(args) > 1:
        args.append(("keepdim", draw.chance(0.5)))
    op.add(args, None)


def variances(op, draw):
    shape = draw.shape(0, 5)
    x = draw.tensor(shape, draw.pick(FLOATS + FLOATS + [I32, BOOL]))
    dims = draw.pick([None, draw.dims(len(shape)), draw.dims(len(shape)), []])
    n = size_of(shape, dims)
    share = magnitude(x)

    def tolerance(high, dtype, k):
        if k == 1:
            return terms_lost(n) * share, 2
        scale = share * share if "var" in op.op else share
        return 64 * max(1, scale), 2 * terms_lost(n) + 16
    if op.op == "aten::var.out":
        op.add([("self", x), ("dim", dims), ("unbiased", draw.chance(0.5)),
                ("keepdim", draw.chance(0.5))], tolerance)
        return
    op.add([("self", x), ("dim", dims),
            ("correction", draw.pick([None, 0, 1, 2, 0.5, n])),
            ("keepdim", draw.chance(0.5))], tolerance,
           keywords=("correction", "keepdim"))


def running(op, draw):
    dtype = draw.pick(ALL)
    is_product = "prod" in op.op
    bound = 1.5 if is_product else 3.0
    x = draw.tensor(draw.shape(0, 4, long=90 if is_product else 300), dtype,
                    low=-bound, high=bound)
    dim, to = draw.dim(x.dim()), stated(draw, dtype, 0.25)
    if to not in FLOATS + [None] and dtype in FLOATS:
        x = x.nan_to_num(0, 9, 9)
    n = size_of(x.shape, dim)

    def tolerance(high, dtype, k):
        if is_product:
            return 0, n + 4
        return terms_lost(n) * magnitude(
            torch.cumsum(accumulated(x, to).double(), dim)), 2
    op.add([("self", x), ("dim", dim), ("dtype", to)], tolerance,
           keywords=("dtype",))


def logsumexps(op, draw):
    x = draw.tensor(draw.shape(0, 4), draw.pick(FLOATS + FLOATS + INTS))
    dims = draw.dims(x.dim())
    if x.dtype in FLOATS and draw.chance(0.2):
        x = x * 40
    op.add([("self", x), ("dim", dims), ("keepdim", draw.chance(0.5))],
           lambda h, d, k: (32 * max(1, magnitude(x)), 32))


def orders(op, draw):
    dtype = draw.pick(ALL)
    shape = draw.shape(0, 3, long=500)
    x = draw.values(shape, dtype, special=0.3)
    dim = draw.dim(len(shape))
    is_sort = "sort" in op.op
    x = draw.lay(x)
    # It is not defined which of several equal elements topk returns.
    has_ties = not is_sort and x.numel() != len(set(
        map(str, (x + 0).flatten().tolist())))
    descending = draw.chance(0.5)
    if is_sort:
        op.add([("self", x), ("stable", True), ("dim", dim),
                ("descending", descending)], None,
               keywords=("stable", "dim", "descending"), zero_sign=True)
        return
    size = size_of(shape, dim) if len(shape) else 1
    k = draw.pick([0, 1, size, draw.int(0, size), draw.int(0, min(size, 9))])
    if draw.chance(0.03):
        k = draw.pick([-1, size + 1])
    op.add([("self", x), ("k", k), ("dim", dim), ("largest", descending),
            ("sorted", True)], None, free=(1,) if has_ties else (),
           zero_sign=True)


def cdists(op, draw):
    dtype = draw.pick([F32, F64, F32, F64, F32, F16, I32])
    batch, m = draw.shape(0, 2, long=4), draw.int(0, 40)
    other = [draw.pick([1, n]) for n in batch] if draw.chance(0.5) else batch
    if draw.chance(0.3) and other:
        other = other[1:]
    a = draw.tensor(batch + [draw.int(0, 7), m], dtype)
    b = draw.tensor(other + [draw.int(0, 7),
                             m + (draw.int(0, 1) if draw.chance(.1) else 0)],
                    dtype)
    p = draw.pick([0.0, 1.0, 2.0, 2.0, 3.0, 0.5, 1.7, math.inf,
                   -1.0 if draw.chance(0.1) else 2.0])
    mode = draw.pick([None, None, 0, 1, 2])
    if p == 2 and mode != 2 and dtype in FLOATS:
        # With a matrix product, infinities give NaN.
        a = draw.lay(a.nan_to_num(0, 1, 2))
        b = draw.lay(b.nan_to_num(0, 1, 2))
    if p == math.inf and dtype in FLOATS:
        # Whether NaN counts as the largest depends on its position.
        a, b = draw.lay(a.nan_to_num(0)), draw.lay(b.nan_to_num(0))

    def tolerance(high, dtype, k):
        # With a matrix product, the square of a small distance is rounded away.
        scale = max(magnitude(a), magnitude(b), 1)
        if p == 2 and mode != 2:
            # The root of the rounding error of a square.
            unit = UNIT[dtype] if dtype == F64 else UNIT[F32]
            return 9 * scale * math.sqrt((m + 1) / unit), 200
        return 16 * scale, 60 + terms_lost(m)
    op.add([("x1", a), ("x2", b), ("p", p), ("compute_mode", mode)], tolerance)


def pdists(op, draw):
    x = draw.values(draw.shape(2, 2, most=9, long=40),
                    draw.pick([F32, F64, F32, F64, F16]))
    p = draw.pick([0.0, 1.0, 2.0, 2.0, 3.0, 0.5, math.inf])
    op.add([("self", x), ("p", p)],
           lambda h, d, k: (16 * max(1, magnitude(x)),
                            60 + terms_lost(x.shape[1])))


def closeness(op, draw):
    dtype = draw.pick(ALL[:-1])
    x = draw.tensor(draw.shape(0, 3), dtype, special=0.4)
    y = x.clone()
    if y.numel() and draw.chance(0.6):
        at = draw.int(0, y.numel() - 1)
        flat = y.contiguous().view(-1).clone()
        flat[at] = flat[at] + draw.pick([1, 2]) if dtype in INTS else (
            flat[at] * draw.pick([1 + 1e-6, 1.001, 1.5, 3]))
        y = flat.view(y.shape)
    if draw.chance(0.2):
        y = y[:1] if y.dim() else y
    rtol = draw.pick([1e-5, 0.0, 0.01, 0.4])
    atol = draw.pick([1e-8, 0.0, 1.5])
    op.add([("self", x), ("other", y), ("rtol", rtol), ("atol", atol),
            ("equal_nan", draw.chance(0.5)), ("dummy_param", False)], None)


def softmaxes(op, draw):
    x = draw.tensor(draw.shape(0, 4), draw.pick(FLOATS * 3 + [I32, BOOL]),
                    special=0.2)
    if x.dtype in FLOATS and draw.chance(0.2):
        x = x * 30
    dim = draw.dim(x.dim())
    is_log = "log" in op.op
    n = size_of(x.shape, dim)
    op.add([("self", x), ("dim", dim),
            ("half_to_float", draw.chance(0.05))],
           lambda h, d, k: (64 * max(1, magnitude(x)) if is_log else 0,
                            min(n, 64) + 16))


def of_norm(x, weight, bias, dims):
    """For normalisations, as elements of one group are spread."""
    wide = finite(x)
    n = size_of(list(x.shape), dims) if x.numel() else 1
    spread = inverse = 1.0
    if x.numel():
        off = wide - wide.mean(dims, keepdim=True)
        spread = float(off.abs().max()) + float(wide.max())
        variance = wide.var(dims, correction=0, keepdim=True)
        inverse = min(1e5, float((variance + 1e-12).rsqrt().max()))
    w = max(1.0, magnitude(weight)) if weight is not None else 1.0
    b = magnitude(bias) if bias is not None else 0.0
    return lambda h, d, k: (
        64 + 20 * (spread * inverse * w + b) + 64 * inverse,
        40 + 2 * terms_lost(n))


def parameter(draw, shape, dtype, share=0.7, **more):
    if draw.chance(1 - share):
        return None
    if dtype in (F16, BF16) and more.get("wide"):
        dtype = F32
    return draw.values(shape, dtype, special=0, low=more.get("low", -2.0),
                       high=2.0)


def layer_norms(op, draw):
    dtype = draw.pick(FLOATS * 3 + [I32])
    shape = draw.shape(1, 4)
    count = draw.int(1, len(shape))
    if draw.chance(0.03):
        count = 0
    inner = shape[len(shape) - count:]
    x = draw.tensor(shape, dtype)
    wide = draw.chance(0.3)
    w = parameter(draw, inner, dtype, wide=wide) if dtype in FLOATS else None
    b = parameter(draw, inner, dtype, wide=wide) if dtype in FLOATS else None
    if draw.chance(0.03):
        inner = [n + 1 for n in inner]
    eps = draw.pick([1e-5, 1e-3])
    op.add([("input", x), ("normalized_shape", inner), ("weight", w),
            ("bias", b), ("eps", eps)],
           of_norm(x, w, b, list(range(-max(count, 1), 0)))
           if dtype in FLOATS else None)


def group_norms(op, draw):
    dtype = draw.pick(FLOATS)
    groups = draw.int(1, 4)
    shape = [draw.int(1, 3), groups * draw.int(1, 3)] + draw.shape(0, 2,
                                                                   long=90)
    # With an infinity, the mean depends on its position.
    x = draw.values(shape, dtype).nan_to_num(math.nan, 1, 2)
    wide = draw.chance(0.3)
    n, c = shape[0], shape[1]
    rest = math.prod(shape[2:])
    w = parameter(draw, [c], dtype, wide=wide)
    b = parameter(draw, [c], dtype, wide=wide)
    if draw.chance(0.05):
        groups += 1
    eps = draw.pick([1e-5, 1e-3])
    grouped = x.reshape(n, -1) if c % groups else x.reshape(
        n, groups, c // groups * rest)
    op.add([("input", x), ("weight", w), ("bias", b), ("N", n), ("C", c),
            ("HxW", rest), ("group", groups), ("eps", eps)],
           of_norm(grouped, w, b, [-1]))


def batch_norms(op, draw):
    dtype = draw.pick(FLOATS * 3 + [I32])
    shape = draw.shape(2, 4)
    x = draw.tensor(shape, dtype, special=0.05)
    c, wide = shape[1], draw.chance(0.3)
    real = dtype if dtype in FLOATS else F32
    w = parameter(draw, [c], real, wide=wide)
    b = parameter(draw, [c], real, wide=wide)
    mean = parameter(draw, [c], real, share=1, wide=wide)
    variance = parameter(draw, [c], real, share=1, wide=wide, low=0.1)
    eps, momentum = draw.pick([1e-5, 1e-3]), draw.pick([0.1, 0.0, 1.0, 0.3])
    dims = [i for i in range(len(shape)) if i != 1]
    training = draw.chance(0.6)
    batch = of_norm(x, w, b, dims) if dtype in FLOATS else None
    fixed = lambda h, d, k: (64 * 3 * (magnitude(x) + 3) * 3, 40)  # noqa: E731
    args = [("input", x), ("weight", w), ("bias", b)]
    if "no_stats" in op.op:
        op.add(args + [("training", True), ("momentum", momentum),
                       ("eps", eps)], batch)
    elif "no_training" in op.op:
        op.add(args + [("running_mean", mean), ("running_var", variance),
                       ("momentum", momentum), ("eps", eps)], fixed)
    else:
        op.add(args + [("running_mean", mean), ("running_var", variance),
                       ("training", training), ("momentum", momentum),
                       ("eps", eps)], batch if training else fixed,
               changed=("running_mean", "running_var"))


def transform_sizes(draw):
    shape = draw.shape(1, 3, most=9, long=40)
    if draw.chance(0.5):
        shape[draw.int(0, len(shape) - 1)] = draw.pick(
            [16, 30, 37, 64, 74, 97, 101, 111, 128, 240, 333])
    return [n if n or draw.chance(0.3) else 1 for n in shape]


def of_transform(n):
    return lambda h, d, k: (terms_lost(2 * math.log2(n + 1) + 8) * 3.0 * n, 2)


def forward_transforms(op, draw):
    shape = transform_sizes(draw)
    x = draw.tensor(shape, draw.pick([F32, F64, F32, F64, F32, F64, I32]),
                    special=0)
    dims = draw.random.sample(range(len(shape)), draw.int(1, len(shape)))
    op.add([("self", x), ("dim", dims), ("normalization", draw.int(0, 2)),
            ("onesided", draw.chance(0.6))], of_transform(size_of(shape, dims)))


def backward_transforms(op, draw):
    shape = [max(1, n) for n in transform_sizes(draw)]
    dims = draw.random.sample(range(len(shape)), draw.int(1, len(shape)))
    last = 2 * (shape[dims[-1]] - 1) + draw.int(0, 1)
    z = draw.values(shape, draw.pick([C64, C128]), special=0)
    # Imaginary parts that the transform of a real line cannot have are ignored;
    # that is well-defined for one dimension only.
    if len(dims) > 1:
        z.imag.zero_()
    op.add([("self", draw.lay(z)), ("dim", dims),
            ("normalization", draw.int(0, 2)), ("last_dim_size", max(1, last))],
           of_transform(2 * size_of(shape, dims)))


def complex_transforms(op, draw):
    shape = transform_sizes(draw)
    dims = draw.random.sample(range(len(shape)), draw.int(1, len(shape)))
    z = draw.tensor(shape, draw.pick([C64, C128, C64, C128, C64, C128, F32]),
                    special=0)
    op.add([("self", z), ("dim", dims), ("normalization", draw.int(0, 2)),
            ("forward", draw.chance(0.5))], of_transform(size_of(shape, dims)))


def magnitudes(op, draw):
    z = draw.values(draw.shape(0, 3, most=9, long=40), draw.pick([C64, C128]),
                    special=0.3)
    # The dtype cannot represent squares of these.
    if draw.chance(0.4):
        z = z * draw.pick([1e-30, 1e30] if z.dtype == C64 else [1e-250, 1e250])
    op.add([("self", draw.lay(z))], lambda h, d, k: (1, 2))


OPERATORS = {
    "aten::abs.out": magnitudes,
    "aten::sum.IntList_out": sums,
    "aten::mean.out": sums,
    "aten::mean.dtype_out": mean_all,
    "aten::prod.int_out": prods,
    "aten::prod.out": prods,
    "aten::amax.out": extremes,
    "aten::amin.out": extremes,
    "aten::max.dim_max": extremes_dim,
    "aten::min.dim_min": extremes_dim,
    "aten::max.unary_out": extremes_all,
    "aten::min.unary_out": extremes_all,
    "aten::argmax.out": arguments,
    "aten::argmin.out": arguments,
    "aten::any.out": bools,
    "aten::any.dims_out": bools,
    "aten::any.all_out": bools,
    "aten::all.out": bools,
    "aten::all.all_out": bools,
    "aten::var.out": variances,
    "aten::var.correction_out": variances,
    "aten::var_mean.correction_out": variances,
    "aten::std.correction_out": variances,
    "aten::cumsum.out": running,
    "aten::cumprod.out": running,
    "aten::logsumexp.out": logsumexps,
    "aten::topk.values": orders,
    "aten::sort.values_stable": orders,
    "aten::_cdist_forward.out": cdists,
    "aten::_pdist_forward.out": pdists,
    "aten::allclose.out": closeness,
    "aten::_softmax.out": softmaxes,
    "aten::_log_softmax.out": softmaxes,
    "aten::native_layer_norm.out": layer_norms,
    "aten::native_group_norm.out": group_norms,
    "aten::_native_batch_norm_legit.out": batch_norms,
    "aten::_native_batch_norm_legit.no_stats_out": batch_norms,
    "aten::_native_batch_norm_legit_no_training.out": batch_norms,
    "aten::_fft_r2c.out": forward_transforms,
    "aten::_fft_c2r.out": backward_transforms,
    "aten::_fft_c2c.out": complex_transforms,
}
# Functional forms that have no overload with the same arguments.
FUNCTIONS = {
    "aten::allclose.out": allclose,
    "aten::mean.dtype_out": torch.ops.aten.mean.default,
    "aten::max.unary_out": torch.ops.aten.max.default,
    "aten::min.unary_out": torch.ops.aten.min.default,
}


def operator(op, writer, most):
    return Operator(op, writer, most, FUNCTIONS.get(op))


if __name__ == "__main__":
    generate(command_line(__doc__, most="bytes"), OPERATORS, operator,
             base_of=lambda op: op.split("::")[1])
