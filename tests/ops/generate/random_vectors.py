#!/usr/bin/env python3
"""Random cases of products, convolution, pooling and resampling.

    random_vectors.py TARGET [--seed N] [--count N] [--only PART] [--most N]

Writes two files for each operator in the format of tests/data/ops/README.md,
with results of PyTorch. Sizes, windows, dtypes and layouts are random and not
always valid: a call that PyTorch refuses becomes an error case. --most limits
the number of elements of each tensor. Operators that only move or compare
elements must be exact. For the others PyTorch computes in float64, and the
tolerance is the largest rounding error of a float32 sum of that many terms in
any order.
"""

import math

import torch

from random_calls import (BF16, F16, F32, F64, I8, I16, I32, I64, ORDERS, TINY,
                          U8, UNIT, Cases, Draw, command_line, encode, generate)
from wide_calls import magnitude, terms_lost

FLOATS = [F32, F32, F32, F64, F16, BF16]  # more often
WHOLE = [I64, I32, I16, I8, U8]


class VectorDraw(Draw):
    def ints(self, count, low, high, rare=None):
        """A list of numbers, at times one for all, at times out of range."""
        if rare is not None and self.chance(0.02):
            return [rare] * count
        if self.chance(0.15):
            return [self.int(low, high)]
        return [self.int(low, high) for _ in range(count)]

    def size(self, high):
        """Mostly small, at times none or many."""
        if self.chance(0.02):
            return 0
        if self.wild and self.chance(0.08):
            return self.int(1, 40)
        return self.int(1, 4 * high) if self.chance(0.05) else self.int(1, high)

    def values(self, shape, dtype, special=0.03):
        shape = list(shape)
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.torch) < 0.5
        if dtype in WHOLE:
            low, high = (0, 256) if dtype == U8 else (-120, 120)
            return torch.randint(low, high, shape,
                                 generator=self.torch).to(dtype)
        t = torch.rand(shape, generator=self.torch, dtype=F64) * 6 - 3
        t = t.to(F32).to(dtype) if dtype != F64 else t
        if t.numel() and self.chance(special):
            value = self.pick([math.nan, math.inf, -math.inf, -0.0])
            t.view(-1)[self.int(0, t.numel() - 1)] = value
        return t

    def lay(self, t):
        how = self.random.random()
        if self.wild and t.numel() > 1 and self.chance(0.08):
            return self.spread(t)
        if t.numel() == 0 or how < 0.6:
            return t
        if t.dim() in ORDERS and how < (0.8 if t.dim() == 4 else 0.85):
            return self.channels_last(t)
        if how < 0.93 and t.dim() >= 2:
            return self.reordered(t)
        return self.gapped(t, [2] * t.dim())


def changed(arguments, change):
    """The arguments with every floating tensor changed, and all dense: some
    of PyTorch's kernels give wrong results for odd strides."""
    def each(value):
        if not isinstance(value, torch.Tensor):
            return value
        value = value.contiguous()
        return change(value) if value.is_floating_point() else value

    return {name: each(value) for name, value in arguments.items()}


def tolerances(dtype, terms, most):
    unit = UNIT[F64 if dtype == F64 else F32]
    absolute = 2.0**-140 + terms_lost(terms) * unit * most
    relative = 2 * unit
    if dtype in (F16, BF16):
        absolute, relative = absolute + TINY[dtype], relative + UNIT[dtype]
    return absolute * 1.01, relative * 1.01


def listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


class VectorCases(Cases):
    def one_more(self, make, draw):
        made = make(draw)
        if made is not None and max(
                t.numel() for t in made[3].values()
                if isinstance(t, torch.Tensor)) <= self.most:
            self.add(*made)

    def add(self, op, function, names, arguments, terms):
        """`terms`: None for exact results, else how many terms a sum has."""
        case = {"id": "%s#%03d" % (op.replace("::", "."),
                                   len(self.writer.cases) + 1), "op": op,
                "args": [encode(self.writer, n, v)
                         for n, v in arguments.items()]}
        try:
            results = listed(function(**changed(arguments, lambda t: t)))
        except NotImplementedError:
            return  # a limit of PyTorch's kernels, not of the operator
        except (RuntimeError, IndexError, ValueError) as problem:
            text = str(problem)
            if "integer_t" not in text:  # a limit too, found inside a kernel
                case.update(expect="error", reason=text.split("\n")[0][:120],
                            tags=["error"])
                self.writer.cases.append(case)
            return
        case.update(expect="ok", atol=0, rtol=0, outs=[], tags=["random"])
        if terms is not None and any(
                t is not None and t.is_floating_point() for t in results):
            try:
                results = self.judged(case, function, arguments, terms,
                                      results)
            except RuntimeError:
                return  # its kernels for other types disagree
        case["zero_sign"] = "any"
        for name, t in zip(names, results):
            if t is None:
                t = torch.zeros(0, dtype=next(iter(arguments.values())).dtype)
            case["outs"].append({"name": name, "t": self.writer.put(t)})
            # A file may request results in another dimension order.
            if t.dim() == 4 and t.numel() and t.shape[1] % 3 == 0:
                case["outs"][-1]["dim_order"] = ORDERS[4]
        self.writer.cases.append(case)

    @staticmethod
    def judged(case, function, arguments, terms, results):
        """The results in float64; the case gets their tolerance."""
        dtype = next(t.dtype for t in results if t is not None)
        wide = listed(function(**changed(arguments, torch.Tensor.double)))
        sizes = listed(function(**changed(
            arguments, lambda t: t.double().abs().nan_to_num(0, 0, 0))))
        most = max(magnitude(t) for t in sizes)
        case["atol"], case["rtol"] = tolerances(dtype, terms, most)
        return [t if t is None else t.to(dtype) for t in wide]


# ------------------------------------------------ windows

def window(d, spatial, size):
    """(kernel, stride, padding, dilation) for sizes of about `size`."""
    kernel = d.ints(spatial, 1, max(1, size // 2), rare=size + 3)
    stride = d.ints(spatial, 1, 3, rare=0)
    dilation = d.ints(spatial, 1, 2 if d.chance(0.3) else 1)
    padding = d.ints(spatial, 0, max(1, max(kernel) // 2), rare=-1)
    return kernel, stride, padding, dilation


def convolution_arguments(d, dtype, special):
    spatial = d.pick([1, 2, 2, 2, 3])
    most = {1: 40, 2: 12, 3: 6}[spatial]
    if d.chance(0.1) and spatial == 2:
        most = 40
    groups = d.pick([1, 1, 1, 2, 3, 5])
    each_in, each_out = d.int(1, 4), d.int(1, 5)
    if d.chance(0.1):
        each_in, each_out = d.int(1, 40), d.int(1, 70)
    if d.chance(0.2):
        groups, each_in, each_out = d.int(1, 9), 1, d.pick([1, 1, 2])
    transposed = d.chance(0.35)
    kernel, stride, padding, dilation = window(d, spatial, min(most, 8))
    kernel = kernel if len(kernel) == spatial else kernel * spatial
    weight = [groups * each_in, each_out] if transposed else [groups * each_out,
                                                              each_in]
    if d.chance(0.02):
        weight[d.int(0, 1)] += 1
    sizes = [d.int(1, most) for _ in range(spatial)]
    shape = [0 if d.chance(0.03) else d.int(1, 3), groups * each_in] + sizes
    bias = None
    if d.chance(0.6):
        bias = d.tensor([groups * each_out + (1 if d.chance(0.02) else 0)],
                        dtype)
    extra = [0] * spatial
    if transposed:
        extra = d.ints(spatial, 0, max(0, min(stride) - 1), rare=3)
    other = d.pick(FLOATS) if d.chance(0.02) else dtype
    return {"input": d.tensor(shape, dtype, special),
            "weight": d.tensor(weight + kernel, other, special=0),
            "bias": bias, "stride": stride, "padding": padding,
            "dilation": dilation, "transposed": transposed,
            "output_padding": extra, "groups": groups}


def make_convolution(d):
    dtype = d.pick(FLOATS + WHOLE[:1] + [I8])
    a = convolution_arguments(d, dtype, 0.03)
    return ("aten::convolution.out", torch.ops.aten.convolution, ["out"], a,
            a["weight"].numel() + 1)


def make_convolution_backward(d):
    # PyTorch's kernels disagree on infinities beside padding.
    a = convolution_arguments(d, d.pick([F32, F32, F64, BF16]), 0)
    try:
        out = torch.ops.aten.convolution(**a)
    except RuntimeError:
        return None
    if out.numel() == 0 or a["weight"].numel() == 0:
        return None
    channels = out.shape[1]
    grad = d.tensor(out.shape, out.dtype, special=0)
    backward = {"grad_output": grad, "input": a["input"],
                "weight": a["weight"], "bias_sizes": [channels]}
    for name in ["stride", "padding", "dilation", "transposed",
                 "output_padding", "groups"]:
        backward[name] = a[name]
    spatial = out.dim() - 2
    for name in ["stride", "padding", "dilation", "output_padding"]:
        if len(backward[name]) == 1:
            backward[name] = backward[name] * spatial
    backward["output_mask"] = [d.chance(0.8) for _ in range(3)]
    if not any(backward["output_mask"]):
        return None
    terms = max(out.numel(), a["weight"].numel() + 1)
    return ("aten::convolution_backward.out",
            torch.ops.aten.convolution_backward, ["out0", "out1", "out2"],
            backward, terms)


def plane(d, dtype, most=14):
    if d.chance(0.15):
        most = 90
    batch = [] if d.chance(0.15) else [d.size(3)]
    if d.chance(0.02):
        batch = batch + [2, 2]
    return d.tensor(batch + [d.size(6), d.size(most), d.size(most)], dtype)


def make_max_pool(d):
    x = plane(d, d.pick(FLOATS + WHOLE))
    kernel, stride, padding, dilation = window(d, 2, min(x.shape[-2:]))
    return ("aten::max_pool2d_with_indices.out",
            torch.ops.aten.max_pool2d_with_indices, ["out", "indices"],
            {"self": x, "kernel_size": kernel,
             "stride": [] if d.chance(0.2) else stride, "padding": padding,
             "dilation": dilation, "ceil_mode": d.chance(0.4)}, None)


def make_max_pool_backward(d):
    op, function, _, a, _ = make_max_pool(d)
    if not a["self"].is_floating_point():
        return None
    try:
        out, indices = function(**a)
    except (RuntimeError, IndexError):
        return None
    if out.numel() == 0:
        return None
    stride = a["stride"] or a["kernel_size"]
    return ("aten::max_pool2d_with_indices_backward.grad_input",
            torch.ops.aten.max_pool2d_with_indices_backward, ["grad_input"],
            {"grad_output": d.tensor(out.shape, out.dtype), "self": a["self"],
             "kernel_size": a["kernel_size"], "stride": stride,
             "padding": a["padding"], "dilation": a["dilation"],
             "ceil_mode": a["ceil_mode"], "indices": indices}, 100)


def make_avg_pool(d):
    x = plane(d, d.pick(FLOATS + [I64]))
    kernel, stride, padding, _ = window(d, 2, min(x.shape[-2:]))
    divisor = None if d.chance(0.7) else d.int(-3, 6)
    return ("aten::avg_pool2d.out", torch.ops.aten.avg_pool2d, ["out"],
            {"self": x, "kernel_size": kernel,
             "stride": [] if d.chance(0.2) else stride, "padding": padding,
             "ceil_mode": d.chance(0.4), "count_include_pad": d.chance(0.5),
             "divisor_override": divisor},
            max(kernel) ** 2 if x.is_floating_point() else None)


def make_adaptive_pool(d):
    x = plane(d, d.pick(FLOATS))
    sizes = [d.int(0 if d.chance(0.1) else 1, 12) for _ in range(2)]
    if d.chance(0.03):
        sizes = sizes[:1]
    return ("aten::_adaptive_avg_pool2d.out",
            torch.ops.aten._adaptive_avg_pool2d, ["out"],
            {"self": x, "output_size": sizes}, x[..., :, :].numel())


# ------------------------------------------------ resampling

# A weight near 0 may round to 0, and 0 * infinity is NaN, so inputs have no
# infinities where weights are computed.
def resized(d, x):
    """(sizes, scales): one of them, at times both or neither."""
    sizes = [d.int(1, 40), d.int(1, 40)]
    scales = [d.pick([0.3, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 2.0, 2.2, 3.0])
              for _ in range(2)]
    if d.chance(0.02):
        return (None, None) if d.chance(0.5) else (sizes, scales)
    if d.chance(0.03):
        sizes = d.pick([[0, 3], [3], [2, -1], [2, 2, 2]])
    if d.chance(0.1):
        sizes = list(x.shape[-2:]) if x.dim() > 2 else sizes
    return (sizes, None) if d.chance(0.6) else (None, scales)


def image(d, dtype, most=12, special=0.03):
    if d.chance(0.1):
        most = 80
    shape = [d.size(3), d.size(6), d.size(most), d.size(most)]
    return d.tensor(shape[1:] if d.chance(0.02) else shape, dtype, special)


def make_nearest(d):
    x = image(d, d.pick(FLOATS + [U8]))
    sizes, scales = resized(d, x)
    return ("aten::upsample_nearest2d.vec_out",
            torch.ops.aten.upsample_nearest2d.vec, ["out"],
            {"input": x, "output_size": sizes, "scale_factors": scales}, None)


def make_bilinear(d):
    x = image(d, d.pick(FLOATS), special=0)
    sizes, scales = resized(d, x)
    return ("aten::upsample_bilinear2d.vec_out",
            torch.ops.aten.upsample_bilinear2d.vec, ["out"],
            {"input": x, "output_size": sizes, "align_corners": d.chance(0.4),
             "scale_factors": scales}, 2000)


def make_smooth(d):
    x = image(d, d.pick([F32, F64]), special=0)
    sizes, _ = resized(d, x)
    scales = [None, None]
    if sizes is None or d.chance(0.2):
        sizes = [d.int(1, 30), d.int(1, 30)]
    if sizes[-1] == 1 and x.shape[-2] != sizes[0]:
        return None  # a wrong result of PyTorch's, by its layout
    if d.chance(0.1) and min(x.shape) > 0 and len(sizes) == 2:
        scales = [sizes[i] / x.shape[i - 2] for i in range(2)]
    return ("aten::_upsample_bilinear2d_aa.out",
            torch.ops.aten._upsample_bilinear2d_aa, ["out"],
            {"self": x, "output_size": sizes, "align_corners": d.chance(0.4),
             "scales_h": scales[0], "scales_w": scales[1]}, 200)


def make_grid_sampler(d):
    dtype = d.pick([F32, F32, F64, F16, BF16])
    x = image(d, dtype)
    grid_shape = [x.shape[0], d.size(9), d.size(9), 2]
    if d.chance(0.03):
        grid_shape[d.pick([0, 3])] += 1
    grid = d.tensor(grid_shape, dtype, special=0)
    grid = d.lay((grid / 3 * d.pick([0.9, 1.4, 3.3])).to(dtype))
    return ("aten::grid_sampler_2d.out", torch.ops.aten.grid_sampler_2d,
            ["out"], {"input": x, "grid": grid,
                      "interpolation_mode": d.int(0, 2),
                      "padding_mode": d.int(0, 2),
                      "align_corners": d.chance(0.5)}, 400)


# ------------------------------------------------ products

def sizes_of_product(d):
    if d.chance(0.15):
        return [d.int(1, 40), d.int(1, 300), d.int(1, 80)]
    return [d.size(9), d.size(20), d.size(9)]


def product_type(d):
    return d.pick(FLOATS + WHOLE)


def make_mm(d):
    m, k, n = sizes_of_product(d)
    dtype = product_type(d)
    k2 = k + 1 if d.chance(0.02) else k
    return ("aten::mm.out", torch.ops.aten.mm, ["out"],
            {"self": d.tensor([m, k], dtype), "mat2": d.tensor([k2, n], dtype)},
            k if dtype.is_floating_point else None)


def make_bmm(d):
    m, k, n = sizes_of_product(d)
    dtype, b = product_type(d), d.size(4)
    b2 = b + 1 if d.chance(0.02) else b
    return ("aten::bmm.out", torch.ops.aten.bmm, ["out"],
            {"self": d.tensor([b, m, k], dtype),
             "mat2": d.tensor([b2, k, n], dtype)},
            k if dtype.is_floating_point else None)


def factors(d, dtype):
    if d.chance(0.5):
        return 1, 1
    if dtype.is_floating_point and d.chance(0.6):
        return d.pick([0, 0.5, -2.0]), d.pick([0, 1.5, 1])
    return d.pick([0, 1, 2, -3]), d.pick([0, 1, -2])


def added(d, shape, dtype):
    shape = list(shape)[d.int(0, len(shape)):] if d.chance(0.5) else list(shape)
    shape = [1 if d.chance(0.2) else n for n in shape]
    return d.tensor(shape, dtype)


def make_addmm(d):
    m, k, n = sizes_of_product(d)
    dtype = product_type(d)
    beta, alpha = factors(d, dtype)
    return ("aten::addmm.out", torch.ops.aten.addmm, ["out"],
            {"self": added(d, [m, n], dtype), "mat1": d.tensor([m, k], dtype),
             "mat2": d.tensor([k, n], dtype), "beta": beta, "alpha": alpha},
            k + 2 if dtype.is_floating_point else None)


def make_baddbmm(d):
    m, k, n = sizes_of_product(d)
    dtype, b = product_type(d), d.size(4)
    beta, alpha = factors(d, dtype)
    special = 0 if alpha == 0 else 0.03  # PyTorch's kernels disagree
    return ("aten::baddbmm.out", torch.ops.aten.baddbmm, ["out"],
            {"self": added(d, [b, m, n], dtype),
             "batch1": d.tensor([b, m, k], dtype, special),
             "batch2": d.tensor([b, k, n], dtype, special), "beta": beta,
             "alpha": alpha}, k + 2 if dtype.is_floating_point else None)


def make_linear(d):
    dtype = product_type(d)
    _, k, n = sizes_of_product(d)
    lead = [d.size(5) for _ in range(d.int(0, 3))]
    bias = None
    if d.chance(0.6):
        bias = d.tensor([] if d.chance(0.1) else [n], dtype)
    if d.chance(0.02):
        k += 1
    weight = d.tensor([n, k] if d.chance(0.9) else [k], dtype)
    if weight.dim() == 1 and bias is not None:
        bias = None
    return ("aten::linear.out", torch.ops.aten.linear, ["out"],
            {"input": d.tensor(lead + [k], dtype), "weight": weight,
             "bias": bias}, k + 1 if dtype.is_floating_point else None)


def make_matmul(d):
    dtype = product_type(d)
    m, k, n = sizes_of_product(d)
    batch = [d.int(1, 3) for _ in range(d.int(0, 3))]

    def some(matrix):
        own = [1 if d.chance(0.3) else size for size in batch]
        return d.tensor(own[d.int(0, len(own)):] + matrix, dtype)

    left = d.tensor([k], dtype) if d.chance(0.15) else some([m, k])
    right = d.tensor([k], dtype) if d.chance(0.15) else some([k, n])
    if d.chance(0.02):
        left = d.tensor([], dtype)
    return ("aten::matmul.out", torch.ops.aten.matmul, ["out"],
            {"self": left, "other": right},
            k if dtype.is_floating_point else None)


def make_mv(d):
    dtype, m, k = product_type(d), d.size(9), d.size(20)
    return ("aten::mv.out", torch.ops.aten.mv, ["out"],
            {"self": d.tensor([m, k], dtype), "vec": d.tensor([k], dtype)},
            k if dtype.is_floating_point else None)


def make_dot(d):
    dtype, k = product_type(d), d.size(40)
    return ("aten::dot.out", torch.ops.aten.dot, ["out"],
            {"self": d.tensor([k], dtype), "tensor": d.tensor([k], dtype)},
            k if dtype.is_floating_point else None)


MAKERS = {
    "pooling_conv/convolution": make_convolution,
    "pooling_conv/convolution_backward": make_convolution_backward,
    "pooling_conv/max_pool2d_with_indices": make_max_pool,
    "pooling_conv/max_pool2d_with_indices_backward": make_max_pool_backward,
    "pooling_conv/avg_pool2d": make_avg_pool,
    "pooling_conv/_adaptive_avg_pool2d": make_adaptive_pool,
    "pooling_conv/upsample_nearest2d": make_nearest,
    "pooling_conv/upsample_bilinear2d": make_bilinear,
    "pooling_conv/_upsample_bilinear2d_aa": make_smooth,
    "pooling_conv/grid_sampler_2d": make_grid_sampler,
    "matmul/mm": make_mm,
    "matmul/bmm": make_bmm,
    "matmul/addmm": make_addmm,
    "matmul/baddbmm": make_baddbmm,
    "matmul/linear": make_linear,
    "matmul/matmul": make_matmul,
    "matmul/mv": make_mv,
    "matmul/dot": make_dot,
}


if __name__ == "__main__":
    generate(command_line(__doc__, most="elements"), MAKERS, VectorCases,
             VectorDraw, base_of=lambda name: name,
             seed_of=lambda seed, _, place: seed * 1000 + place, shares=False)
