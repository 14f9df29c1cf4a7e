"""Calls of the operators that the benchmark times, at a given size.

`calls(side)` gives a dictionary from the operator's name in a program file to
the arguments of its schema in order (keyword arguments in a dictionary at the
end), out arguments left out. Tensors have about side * side elements.
"""

import torch

UNARY = """abs neg relu ceil floor round trunc sign sqrt rsqrt reciprocal exp
log sin cos tanh sigmoid erf logical_not isnan isinf acos acosh asin asinh atan
atanh cosh expm1 log10 log1p log2 sinh tan""".split()
COMPARED = "eq ge gt le lt ne".split()


class Calls:
    """The table of calls under construction, and the operands for it."""

    def __init__(self, side):
        torch.manual_seed(1)
        self.n = side
        # side * side elements or so
        self.image = (1, max(1, side // 8), max(4, side // 4), 32)
        self.channels = self.image[1]
        self.heads = (4, max(1, side // 4), side)
        self.table = {}

    def add(self, name, *arguments):
        self.table["aten::" + name] = list(arguments)

    def x(self, *shape):
        return torch.rand(shape or (self.n, self.n)) * 0.9 + 0.05

    def ints(self, *shape, below=100):
        return torch.randint(0, below, shape or (self.n, self.n))

    def bools(self):
        return torch.rand(self.n, self.n) > 0.5


# Elementwise, one tensor.
def one_tensor(c):
    add, x, ints = c.add, c.x, c.ints
    for name in UNARY:
        add(name + ".out", x() + (1 if name == "acosh" else 0))
    add("bitwise_not.out", ints())
    add("gelu.out", x() - 0.5)
    add("elu.out", x() - 0.5)
    add("leaky_relu.out", x() - 0.5)
    add("hardtanh.out", x() * 4 - 2)
    add("clamp.out", x(), 0.2, 0.8)
    add("clamp.Tensor_out", x(), x() * 0.3, x() + 0.3)
    add("logit.out", x())
    add("glu.out", x())
    add("tril.out", x())


# Elementwise, two tensors; the second also as one row, one column, one
# number: the benchmark names these `op/row` and so on.
def two_tensors(c):
    add, x, ints, bools, n = c.add, c.x, c.ints, c.bools, c.n
    for name in ["add.out", "sub.out", "mul.out", "div.out", "maximum.out",
                 "minimum.out", "atan2.out", "fmod.Tensor_out",
                 "remainder.Tensor_out", "floor_divide.out",
                 "pow.Tensor_Tensor_out"]:
        add(name, x(), x())
    for name in ["add.out", "mul.out"]:
        add(name + "/row", x(), x(n))
        add(name + "/column", x(), x(n, 1))
        add(name + "/int64", ints(), ints())
        add(name + "/float16", x().half(), x().half())
    add("div.out_mode", x(), x(), {"rounding_mode": "floor"})
    for name in ["add", "sub", "rsub", "mul", "div"]:
        add(name + ".Scalar_out", x(), 1.5)
    for name in ["fmod", "remainder"]:
        add(name + ".Scalar_out", x(), 0.3)
    add("pow.Tensor_Scalar_out", x(), 2.0)
    add("pow.Tensor_Scalar_out/half", x(), 0.5)
    add("pow.Tensor_Scalar_out/real", x(), 1.7)
    add("pow.Scalar_out", 2.0, x())
    for name in COMPARED:
        add(name + ".Tensor_out", x(), x())
        add(name + ".Scalar_out", x(), 0.5)
    for name in ["logical_and", "logical_or", "logical_xor"]:
        add(name + ".out", bools(), bools())
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        add(name + ".Tensor_out", ints(), ints())
        add(name + ".Scalar_out", ints(), 7)
    for name in ["bitwise_left_shift", "bitwise_right_shift"]:
        add(name + ".Tensor_out", ints(), ints(below=8))
        add(name + ".Tensor_Scalar_out", ints(), 3)
    add("where.self_out", bools(), x(), x())
    add("masked_fill.Scalar_out", x(), bools(), -1.0)


# Reductions.
def reductions(c):
    add, x, bools, n = c.add, c.x, c.bools, c.n
    for name in ["sum.IntList_out", "mean.out", "amax.out", "amin.out"]:
        add(name, x(), [1])
        add(name + "/leading", x(), [0])
    add("any.out", bools(), 1)
    add("any.all_out", bools() & False)
    add("max.unary_out", x())
    add("min.unary_out", x())
    add("prod.int_out", x(), 1)
    add("argmax.out", x(), 1)
    add("argmin.out", x(), 1)
    add("max.dim_max", x(), 1)
    add("min.dim_min", x(), 1)
    add("cumsum.out", x(), 1)
    add("topk.values", x(), min(n, 8))
    add("var.correction_out", x(), [1])
    add("var_mean.correction_out", x(), [1])
    add("_cdist_forward.out", x(n, 16), x(n, 16), 2.0, None)


# Normalisation.
def normalisation(c):
    add, x, n, image, channels = c.add, c.x, c.n, c.image, c.channels
    add("_softmax.out", x(), 1, False)
    add("_softmax.out/leading", x(), 0, False)
    add("_log_softmax.out", x(), 1, False)
    add("native_layer_norm.out", x(), [n], x(n), x(n), 1e-5)
    add("native_group_norm.out", x(*image), x(channels), x(channels), 1,
        channels, image[2] * image[3], channels // 2 if channels > 1 else 1,
        1e-5)
    add("_native_batch_norm_legit_no_training.out", x(*image), x(channels),
        x(channels), x(channels), x(channels), 0.1, 1e-5)


# Products.
def products(c):
    add, x, n, heads = c.add, c.x, c.n, c.heads
    add("mm.out", x(), x())
    add("mm.out/row", x(1, n), x())
    add("bmm.out", x(*heads), x(heads[0], heads[2], heads[1]))
    add("addmm.out", x(n), x(), x())
    add("linear.out", x(), x(), x(n))
    add("linear.out/row", x(1, n), x(), x(n))


# Convolution and pooling.
def convolution_and_pooling(c):
    add, x, image, channels = c.add, c.x, c.image, c.channels
    def convolve(name, weight, groups=1, transposed=False, padding=1):
        add("convolution.out" + name, x(*image), weight, x(weight.shape[0]),
            [1, 1], [padding, padding], [1, 1], transposed, [0, 0], groups)
    convolve("", x(channels, channels, 3, 3))
    convolve("/1x1", x(channels, channels, 1, 1), padding=0)
    convolve("/depthwise", x(channels, 1, 3, 3), groups=channels)
    convolve("/transposed", x(channels, channels, 3, 3), transposed=True)
    add("max_pool2d_with_indices.out", x(*image), [2, 2], [2, 2])
    add("avg_pool2d.out", x(*image), [2, 2], [2, 2])
    add("_adaptive_avg_pool2d.out", x(*image), [1, 1])
    add("upsample_nearest2d.vec_out", x(*image), None, [2.0, 2.0])
    add("upsample_bilinear2d.vec_out", x(*image), None, False, [2.0, 2.0])
    add("grid_sampler_2d.out", x(*image), x(1, image[2], 32, 2) * 2 - 1, 0, 0,
        False)
    add("pixel_shuffle.out", x(1, 4 * channels, image[2], 8), 2)
    add("pixel_unshuffle.out", x(*image), 2)
    add("constant_pad_nd.out", x(*image), [1, 1, 1, 1], 0.0)
    add("reflection_pad2d.out", x(*image), [1, 1, 1, 1])
    add("replication_pad2d.out", x(*image), [1, 1, 1, 1])


# Movement.
def movement(c):
    add, x, n, heads = c.add, c.x, c.n, c.heads
    add("clone.out", x())
    add("permute_copy.out", x(), [1, 0])
    add("permute_copy.out/heads", x(*heads), [1, 0, 2])
    add("transpose_copy.int_out", x(), 0, 1)
    add("t_copy.out", x())
    add("view_copy.out", x(), [n * n])
    add("expand_copy.out", x(1, n), [n, n])
    add("expand_copy.out/last", x(n, 1), [n, n])
    add("repeat.out", x(n // 2, n), [2, 1])
    add("slice_copy.Tensor_out", x(), 1, 1, n - 1)
    add("select_copy.int_out", x(4, n, n), 1, 1)
    add("unsqueeze_copy.out", x(), 1)
    add("squeeze_copy.dims_out", x(1, n, n), [0])
    add("slice_scatter.out", x(), x(n, n // 2), 1, 0, n // 2)
    add("select_scatter.out", x(), x(n), 0, 1)
    add("cat.out", [x(), x()], 1)
    add("stack.out", [x(), x()], 0)
    add("split_copy.Tensor_out", x(), n // 2, 1)
    add("split_with_sizes_copy.out", x(), [n // 2, n - n // 2], 1)
    add("unbind_copy.int_out", x(2, n, n), 0)
    add("flip.out", x(), [1])
    add("roll.out", x(), [1], [1])
    add("unfold_copy.out", x(), 1, min(4, n), 2)
    add("diagonal_copy.out", x())
    add("as_strided_copy.out", x(), [n, n], [1, n])


# Indexing.
def indexing(c):
    add, x, ints, bools, n = c.add, c.x, c.ints, c.bools, c.n
    add("embedding.out", x(), ints(n, below=n))
    add("index_select.out", x(), 0, ints(n, below=n))
    add("index.Tensor_out", x(), [ints(n, below=n)])
    add("index_put.out", x(), [torch.randperm(n)], x(n, n))
    add("gather.out", x(), 1, ints(below=n))
    add("scatter.src_out", x(), 1, torch.argsort(x(), 1), x())
    add("scatter.value_out", x(), 1, torch.argsort(x(), 1), 1.0)
    add("scatter_add.out", x(), 1, ints(below=n), x())
    add("masked_select.out", x(), bools())
    add("nonzero.out", bools())


# Creation.
def creation(c):
    add, x, n = c.add, c.x, c.n
    add("full.out", [n, n], 1.0)
    add("full_like.out", x(), 1.0)
    add("zeros.out", [n, n])
    add("ones.out", [n, n])
    add("arange.start_out", 0, n * n, 1)
    add("arange.out", n * n)
    add("fill.Scalar_out", x(), 1.0)
    add("fill.Tensor_out", x(), torch.tensor(1.0))
    add("scalar_tensor.out", 1.5)
    add("copy.out", x(), x())


# The same in other words, along other dimensions, of other types.
def other_forms(c):
    add, x, ints, bools = c.add, c.x, c.ints, c.bools
    n, image, channels = c.n, c.image, c.channels
    for name in ["_to_copy", "alias_copy", "detach_copy", "lift_fresh_copy"]:
        add(name + ".out", x())
    add("narrow_copy.out", x(), 1, 0, n // 2)
    add("squeeze_copy.dim_out", x(1, n, n), 0)
    add("split_copy.Tensor_out/rows", x(), n // 2, 0)
    add("cat.out/rows", [x(), x()], 0)
    add("any.dims_out", bools(), [0])
    add("mean.dtype_out", x())
    add("prod.out", x())
    add("var.out", x(), [1], True)
    add("var.correction_out/leading", x(), [0])
    add("argmax.out/leading", x(), 0)
    add("max.dim_max/leading", x(), 0)
    add("cumsum.out/leading", x(), 0)
    add("index_select.out/last", x(), 1, ints(n, below=n))
    add("masked_scatter.out", x(), bools(), x())
    add("repeat_interleave.Tensor_out", torch.full((n,), 2))
    add("reflection_pad1d.out", x(4, n, n // 4 + 2), [1, 1])
    add("replication_pad1d.out", x(4, n, n // 4 + 2), [1, 1])
    add("reflection_pad3d.out", x(1, 2, 4, n // 4 + 2, n // 2 + 2), [1] * 6)
    add("replication_pad3d.out", x(1, 2, 4, n // 4 + 2, n // 2 + 2), [1] * 6)
    add("div.Scalar_mode_out", x(), 1.5, {"rounding_mode": "trunc"})
    add("native_dropout.out", x(), 0.5, False)
    add("_native_batch_norm_legit.no_stats_out", x(*image), x(channels),
        x(channels), True, 0.1, 1e-5)
    add("_pdist_forward.out", x(max(2, n // 2), 16), 2.0)
    pooled, where = torch.ops.aten.max_pool2d_with_indices(
        x(*image), [2, 2], [2, 2])
    add("max_pool2d_with_indices_backward.grad_input", pooled, x(*image),
        [2, 2], [2, 2], [0, 0], [1, 1], False, where)
    for name in ["relu", "sigmoid"]:
        add(name + ".out/float16", x().half())
    add("_softmax.out/float16", x().half(), 1, False)
    add("mm.out/float16", x().half(), x().half())
    add("native_layer_norm.out/float16", x().half(), [n], x(n).half(),
        x(n).half(), 1e-5)
    for name in ["add.out", "mul.out"]:
        add(name + "/int32", ints().int(), ints().int())
        add(name + "/float64", x().double(), x().double())
    for name in ["sum.IntList_out", "amax.out"]:
        add(name + "/int64", ints(), [1])
        add(name + "/float16", x().half(), [1])
    for name in ["floor_divide.out", "remainder.Tensor_out", "maximum.out",
                 "eq.Tensor_out"]:
        add(name + "/int64", ints(), ints() + 1)
    add("where.self_out/int64", bools(), ints(), ints())
    add("exp.out/float64", x().double())


def calls(side):
    c = Calls(side)
    for section in (one_tensor, two_tensors, reductions, normalisation,
                    products, convolution_and_pooling, movement, indexing,
                    creation, other_forms):
        section(c)
    return c.table
