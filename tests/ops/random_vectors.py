#!/usr/bin/env python3
"""Random cases of products, convolution, pooling and resampling.

    random_vectors.py OUT [--seed N] [--count N] [--only NAME] [--most N]

Writes one pair of files for each operator, in the format that
tests/data/ops/README.md tells, with results by PyTorch. Sizes, windows, types
and layouts are drawn at random, and are not always allowed: what PyTorch
refuses becomes a case that expects an error. With --most, only cases whose
tensors have no more elements. Operators that only move or
compare elements are judged exactly. For the others PyTorch computes in
float64, and the tolerance is what sums of that many float32 terms may lose in
any order. Same seed, same bytes.
"""
import argparse
import json
import math
import os
import random

import torch

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
FLOATS = [F32, F32, F32, F64, F16, BF16]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
NAMES = {F32: "F32", F64: "F64", F16: "F16", BF16: "BF16", torch.bool: "BOOL",
         torch.int64: "I64", torch.int32: "I32", torch.int16: "I16",
         torch.int8: "I8", torch.uint8: "U8"}
ULP = {F32: 2.0**-23, F64: 2.0**-52, F16: 2.0**-10, BF16: 2.0**-7}


class Vectors:
    """The cases of one operator and their tensors."""

    def __init__(self):
        self.cases, self.tensors = [], []

    def put(self, tensor):
        self.tensors.append(tensor.detach().contiguous())
        return "t%d" % (len(self.tensors) - 1)

    def write(self, base):
        header, parts, offset = {}, [], 0
        for i, tensor in enumerate(self.tensors):
            data = tensor
            if tensor.dtype == BF16:
                data = tensor.view(torch.int16)
            raw = data.numpy().tobytes()
            header["t%d" % i] = {"dtype": NAMES[tensor.dtype],
                                 "shape": list(tensor.shape),
                                 "data_offsets": [offset, offset + len(raw)]}
            parts.append(raw)
            offset += len(raw)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        os.makedirs(os.path.dirname(base), exist_ok=True)
        with open(base + ".safetensors", "wb") as out:
            out.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
        with open(base + ".jsonl", "w") as out:
            for case in self.cases:
                out.write(json.dumps(case, separators=(",", ":")) + "\n")


class Draw:
    """Random sizes, numbers and tensors."""

    wild = False  # tensors with stride 0, and many elements, too

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.g = torch.Generator().manual_seed(seed)

    def i(self, low, high):
        return self.r.randint(low, high)

    def often(self, part):
        return self.r.random() < part

    def pick(self, items):
        return self.r.choice(items)

    def ints(self, count, low, high, rare=None):
        """A list of numbers, at times one for all, at times out of range."""
        if rare is not None and self.often(0.02):
            return [rare] * count
        if self.often(0.15):
            return [self.i(low, high)]
        return [self.i(low, high) for _ in range(count)]

    def size(self, high):
        """Mostly small, at times none or many."""
        if self.often(0.02):
            return 0
        if self.wild and self.often(0.08):
            return self.i(1, 40)
        return self.i(1, 4 * high) if self.often(0.05) else self.i(1, high)

    def tensor(self, shape, dtype, special=0.03, lies=True):
        shape = list(shape)
        if dtype == torch.bool:
            t = torch.rand(shape, generator=self.g) < 0.5
        elif dtype in WHOLE:
            low, high = (0, 256) if dtype == torch.uint8 else (-120, 120)
            t = torch.randint(low, high, shape, generator=self.g).to(dtype)
        else:
            t = (torch.rand(shape, generator=self.g, dtype=F64) * 6 - 3)
            t = t.to(F32).to(dtype) if dtype != F64 else t
            if t.numel() and self.often(special):
                value = self.pick([math.nan, math.inf, -math.inf, -0.0])
                t.view(-1)[self.i(0, t.numel() - 1)] = value
        return self.lay(t) if lies else t

    def lay(self, t):
        """Another layout of the same elements."""
        how = self.r.random()
        if self.wild and t.numel() > 1 and self.often(0.08):
            at = self.i(0, t.dim() - 1)
            return t.narrow(at, 0, 1).expand(t.shape)
        if t.numel() == 0 or how < 0.6:
            return t
        if how < 0.8 and t.dim() == 4:
            return t.contiguous(memory_format=torch.channels_last)
        if how < 0.85 and t.dim() == 5:
            return t.contiguous(memory_format=torch.channels_last_3d)
        if how < 0.93 and t.dim() >= 2:
            order = list(range(t.dim()))
            self.r.shuffle(order)
            back = [order.index(i) for i in range(t.dim())]
            return t.permute(order).contiguous().permute(back)
        wide = torch.zeros([n * 2 for n in t.shape], dtype=t.dtype)
        part = wide[tuple(slice(0, None, 2) for _ in t.shape)]
        return part.copy_(t)


def changed(arguments, change):
    """The arguments with every floating tensor changed, and all dense: some
    of PyTorch's kernels give wrong results for odd strides."""
    def each(value):
        if not isinstance(value, torch.Tensor):
            return value
        value = value.contiguous()
        return change(value) if value.is_floating_point() else value

    return {name: each(value) for name, value in arguments.items()}


def number(x):
    return float(x) if math.isfinite(x) else str(float(x))


def encode(vectors, name, value):
    entry = {"name": name}
    if value is None:
        entry["n"] = None
    elif isinstance(value, torch.Tensor):
        entry["t"] = vectors.put(value)
        if not value.is_contiguous() and value.numel():
            entry["strides"] = list(value.stride())
    elif isinstance(value, bool):
        entry["b"] = value
    elif isinstance(value, int):
        entry["i"] = value
    elif isinstance(value, float):
        entry["f"] = number(value)
    elif value and isinstance(value[0], bool):
        entry["bl"] = value
    elif value and isinstance(value[0], float):
        entry["fl"] = [number(x) for x in value]
    else:
        entry["il"] = [int(x) for x in value]
    return entry


def magnitude(results):
    most = 0.0
    for t in results:
        if t is not None and t.is_floating_point() and t.numel():
            finite = t.double().abs()
            finite = finite[torch.isfinite(finite)]
            most = max(most, finite.max().item() if finite.numel() else 0.0)
    return most


def tolerances(dtype, terms, most):
    ulp = ULP[F64 if dtype == F64 else F32]
    count = min(terms + 2, 8 * math.sqrt(terms + 2))
    absolute, relative = 2.0**-140 + count * ulp * most, 2 * ulp
    if dtype in (F16, BF16):
        relative += ULP[dtype]
        absolute += 2.0**-24 if dtype == F16 else 2.0**-133
    return absolute * 1.01, relative * 1.01


def listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def add_case(vectors, op, function, names, arguments, terms):
    """`terms`: None for exact results, else how many terms a sum has."""
    case = {"id": "%s#%03d" % (op.replace("::", "."), len(vectors.cases) + 1),
            "op": op}
    case["args"] = [encode(vectors, n, v) for n, v in arguments.items()]
    try:
        results = listed(function(**changed(arguments, lambda t: t)))
    except (RuntimeError, IndexError, ValueError) as problem:
        # Limits of PyTorch's kernels, not of the operator.
        if "not implemented" in str(problem) or "integer_t" in str(problem):
            return
        case.update(expect="error", reason=str(problem).split("\n")[0][:120],
                    tags=["error"])
        vectors.cases.append(case)
        return
    case.update(expect="ok", atol=0, rtol=0, outs=[], tags=["random"])
    if terms is not None and any(
            t is not None and t.is_floating_point() for t in results):
        dtype = next(t.dtype for t in results if t is not None)
        try:
            results = listed(function(**changed(arguments,
                                                torch.Tensor.double)))
            most = magnitude(listed(function(**changed(
                arguments, lambda t: t.double().abs().nan_to_num(0, 0, 0)))))
        except RuntimeError:
            return  # its kernels for other types disagree
        case["atol"], case["rtol"] = tolerances(dtype, terms, most)
        results = [t if t is None else t.to(dtype) for t in results]
    case["zero_sign"] = "any"
    for name, t in zip(names, results):
        t = torch.zeros(0, dtype=arguments[
            next(iter(arguments))].dtype) if t is None else t
        case["outs"].append({"name": name, "t": vectors.put(t)})
        # Files may ask for results in another order of dimensions.
        if t.dim() == 4 and t.numel() and t.shape[1] % 3 == 0:
            case["outs"][-1]["dim_order"] = [0, 2, 3, 1]
    vectors.cases.append(case)


# ------------------------------------------------ windows

def window(d, spatial, size):
    """(kernel, stride, padding, dilation) for sizes of about `size`."""
    kernel = d.ints(spatial, 1, max(1, size // 2), rare=size + 3)
    stride = d.ints(spatial, 1, 3, rare=0)
    dilation = d.ints(spatial, 1, 2 if d.often(0.3) else 1)
    padding = d.ints(spatial, 0, max(1, max(kernel) // 2), rare=-1)
    return kernel, stride, padding, dilation


def convolution_arguments(d, dtype, special):
    spatial = d.pick([1, 2, 2, 2, 3])
    most = {1: 40, 2: 12, 3: 6}[spatial]
    if d.often(0.1) and spatial == 2:
        most = 40
    groups = d.pick([1, 1, 1, 2, 3, 5])
    each_in, each_out = d.i(1, 4), d.i(1, 5)
    if d.often(0.1):
        each_in, each_out = d.i(1, 40), d.i(1, 70)
    if d.often(0.2):
        groups, each_in, each_out = d.i(1, 9), 1, d.pick([1, 1, 2])
    transposed = d.often(0.35)
    kernel, stride, padding, dilation = window(d, spatial, min(most, 8))
    kernel = kernel if len(kernel) == spatial else kernel * spatial
    weight = [groups * each_in, each_out] if transposed else [groups * each_out,
                                                              each_in]
    if d.often(0.02):
        weight[d.i(0, 1)] += 1
    sizes = [d.i(1, most) for _ in range(spatial)]
    shape = [0 if d.often(0.03) else d.i(1, 3), groups * each_in] + sizes
    bias = None
    if d.often(0.6):
        bias = d.tensor([groups * each_out + (1 if d.often(0.02) else 0)],
                        dtype)
    extra = [0] * spatial
    if transposed:
        extra = d.ints(spatial, 0, max(0, min(stride) - 1), rare=3)
    other = d.pick(FLOATS) if d.often(0.02) else dtype
    return {"input": d.tensor(shape, dtype, special),
            "weight": d.tensor(weight + kernel, other, special=0),
            "bias": bias, "stride": stride, "padding": padding,
            "dilation": dilation, "transposed": transposed,
            "output_padding": extra, "groups": groups}


def make_convolution(d):
    dtype = d.pick(FLOATS + WHOLE[:1] + [torch.int8])
    a = convolution_arguments(d, dtype, 0.03)
    return ("aten::convolution.out", torch.ops.aten.convolution, ["out"], a,
            a["weight"].numel() + 1)


def make_convolution_backward(d):
    # Where infinity meets padding PyTorch's kernels disagree.
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
    backward["output_mask"] = [d.often(0.8) for _ in range(3)]
    if not any(backward["output_mask"]):
        return None
    terms = max(out.numel(), a["weight"].numel() + 1)
    return ("aten::convolution_backward.out",
            torch.ops.aten.convolution_backward, ["out0", "out1", "out2"],
            backward, terms)


def plane(d, dtype, most=14):
    if d.often(0.15):
        most = 90
    batch = [] if d.often(0.15) else [d.size(3)]
    if d.often(0.02):
        batch = batch + [2, 2]
    return d.tensor(batch + [d.size(6), d.size(most), d.size(most)], dtype)


def make_max_pool(d):
    x = plane(d, d.pick(FLOATS + WHOLE))
    kernel, stride, padding, dilation = window(d, 2, min(x.shape[-2:]))
    return ("aten::max_pool2d_with_indices.out",
            torch.ops.aten.max_pool2d_with_indices, ["out", "indices"],
            {"self": x, "kernel_size": kernel,
             "stride": [] if d.often(0.2) else stride, "padding": padding,
             "dilation": dilation, "ceil_mode": d.often(0.4)}, None)


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
    x = plane(d, d.pick(FLOATS + [torch.int64]))
    kernel, stride, padding, _ = window(d, 2, min(x.shape[-2:]))
    divisor = None if d.often(0.7) else d.i(-3, 6)
    return ("aten::avg_pool2d.out", torch.ops.aten.avg_pool2d, ["out"],
            {"self": x, "kernel_size": kernel,
             "stride": [] if d.often(0.2) else stride, "padding": padding,
             "ceil_mode": d.often(0.4), "count_include_pad": d.often(0.5),
             "divisor_override": divisor},
            max(kernel) ** 2 if x.is_floating_point() else None)


def make_adaptive_pool(d):
    x = plane(d, d.pick(FLOATS))
    sizes = [d.i(0 if d.often(0.1) else 1, 12) for _ in range(2)]
    if d.often(0.03):
        sizes = sizes[:1]
    return ("aten::_adaptive_avg_pool2d.out",
            torch.ops.aten._adaptive_avg_pool2d, ["out"],
            {"self": x, "output_size": sizes}, x[..., :, :].numel())


# ------------------------------------------------ resampling

# A weight that is all but 0 may round to 0, which infinity makes NaN of: no
# such elements where weights are computed.
def resized(d, x):
    """(sizes, scales): one of them, at times both or neither."""
    sizes = [d.i(1, 40), d.i(1, 40)]
    scales = [d.pick([0.3, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 2.0, 2.2, 3.0])
              for _ in range(2)]
    if d.often(0.02):
        return (None, None) if d.often(0.5) else (sizes, scales)
    if d.often(0.03):
        sizes = d.pick([[0, 3], [3], [2, -1], [2, 2, 2]])
    if d.often(0.1):
        sizes = list(x.shape[-2:]) if x.dim() > 2 else sizes
    return (sizes, None) if d.often(0.6) else (None, scales)


def image(d, dtype, most=12, special=0.03):
    if d.often(0.1):
        most = 80
    shape = [d.size(3), d.size(6), d.size(most), d.size(most)]
    return d.tensor(shape[1:] if d.often(0.02) else shape, dtype, special)


def make_nearest(d):
    x = image(d, d.pick(FLOATS + [torch.uint8]))
    sizes, scales = resized(d, x)
    return ("aten::upsample_nearest2d.vec_out",
            torch.ops.aten.upsample_nearest2d.vec, ["out"],
            {"input": x, "output_size": sizes, "scale_factors": scales}, None)


def make_bilinear(d):
    x = image(d, d.pick(FLOATS), special=0)
    sizes, scales = resized(d, x)
    return ("aten::upsample_bilinear2d.vec_out",
            torch.ops.aten.upsample_bilinear2d.vec, ["out"],
            {"input": x, "output_size": sizes, "align_corners": d.often(0.4),
             "scale_factors": scales}, 2000)


def make_smooth(d):
    x = image(d, d.pick([F32, F64]), special=0)
    sizes, _ = resized(d, x)
    scales = [None, None]
    if sizes is None or d.often(0.2):
        sizes = [d.i(1, 30), d.i(1, 30)]
    if sizes[-1] == 1 and x.shape[-2] != sizes[0]:
        return None  # a wrong result of PyTorch's, by its layout
    if d.often(0.1) and min(x.shape) > 0 and len(sizes) == 2:
        scales = [sizes[i] / x.shape[i - 2] for i in range(2)]
    return ("aten::_upsample_bilinear2d_aa.out",
            torch.ops.aten._upsample_bilinear2d_aa, ["out"],
            {"self": x, "output_size": sizes, "align_corners": d.often(0.4),
             "scales_h": scales[0], "scales_w": scales[1]}, 200)


def make_grid_sampler(d):
    dtype = d.pick([F32, F32, F64, F16, BF16])
    x = image(d, dtype)
    grid_shape = [x.shape[0], d.size(9), d.size(9), 2]
    if d.often(0.03):
        grid_shape[d.pick([0, 3])] += 1
    grid = d.tensor(grid_shape, dtype, special=0)
    grid = d.lay((grid / 3 * d.pick([0.9, 1.4, 3.3])).to(dtype))
    return ("aten::grid_sampler_2d.out", torch.ops.aten.grid_sampler_2d,
            ["out"], {"input": x, "grid": grid,
                      "interpolation_mode": d.i(0, 2),
                      "padding_mode": d.i(0, 2),
                      "align_corners": d.often(0.5)}, 400)


# ------------------------------------------------ products

def sizes_of_product(d):
    if d.often(0.15):
        return [d.i(1, 40), d.i(1, 300), d.i(1, 80)]
    return [d.size(9), d.size(20), d.size(9)]


def product_type(d):
    return d.pick(FLOATS + WHOLE)


def make_mm(d):
    m, k, n = sizes_of_product(d)
    dtype = product_type(d)
    k2 = k + 1 if d.often(0.02) else k
    return ("aten::mm.out", torch.ops.aten.mm, ["out"],
            {"self": d.tensor([m, k], dtype), "mat2": d.tensor([k2, n], dtype)},
            k if dtype.is_floating_point else None)


def make_bmm(d):
    m, k, n = sizes_of_product(d)
    dtype, b = product_type(d), d.size(4)
    b2 = b + 1 if d.often(0.02) else b
    return ("aten::bmm.out", torch.ops.aten.bmm, ["out"],
            {"self": d.tensor([b, m, k], dtype),
             "mat2": d.tensor([b2, k, n], dtype)},
            k if dtype.is_floating_point else None)


def factors(d, dtype):
    if d.often(0.5):
        return 1, 1
    if dtype.is_floating_point and d.often(0.6):
        return d.pick([0, 0.5, -2.0]), d.pick([0, 1.5, 1])
    return d.pick([0, 1, 2, -3]), d.pick([0, 1, -2])


def added(d, shape, dtype):
    shape = list(shape)[d.i(0, len(shape)):] if d.often(0.5) else list(shape)
    shape = [1 if d.often(0.2) else n for n in shape]
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
    lead = [d.size(5) for _ in range(d.i(0, 3))]
    bias = None
    if d.often(0.6):
        bias = d.tensor([] if d.often(0.1) else [n], dtype)
    if d.often(0.02):
        k += 1
    weight = d.tensor([n, k] if d.often(0.9) else [k], dtype)
    if weight.dim() == 1 and bias is not None:
        bias = None
    return ("aten::linear.out", torch.ops.aten.linear, ["out"],
            {"input": d.tensor(lead + [k], dtype), "weight": weight,
             "bias": bias}, k + 1 if dtype.is_floating_point else None)


def make_matmul(d):
    dtype = product_type(d)
    m, k, n = sizes_of_product(d)
    batch = [d.i(1, 3) for _ in range(d.i(0, 3))]

    def some(matrix):
        own = [1 if d.often(0.3) else size for size in batch]
        return d.tensor(own[d.i(0, len(own)):] + matrix, dtype)

    left = d.tensor([k], dtype) if d.often(0.15) else some([m, k])
    right = d.tensor([k], dtype) if d.often(0.15) else some([k, n])
    if d.often(0.02):
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=1 << 30)
    parser.add_argument("--wild", action="store_true",
                        help="stride 0 and larger sizes too")
    options = parser.parse_args()
    Draw.wild = options.wild
    torch.set_num_threads(1)
    for order, (name, make) in enumerate(MAKERS.items()):
        if options.only not in name:
            continue
        draw = Draw(options.seed * 1000 + order)
        vectors = Vectors()
        while len(vectors.cases) < options.count:
            made = make(draw)
            if made is not None and max(
                    t.numel() for t in made[3].values()
                    if isinstance(t, torch.Tensor)) <= options.most:
                add_case(vectors, *made)
        vectors.write(os.path.join(options.out, name))


if __name__ == "__main__":
    main()
