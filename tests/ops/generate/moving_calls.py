"""Arguments of the operators that copy, view, concatenate, slice and pad
tensors: the positional ones, without outputs, and the keyword arguments. A few
calls (`d.chance(...)`) are wrong on purpose: PyTorch refuses them, and so must
etx.

d: the random draws (MovingDraw of random_movement.py).
"""

import torch

from random_calls import C64, C128, F32, F64, I32, I64


def of_self(d):
    return [d.tensor()]


def cast(d):
    return [d.tensor()], {"dtype": d.dtype()}


def copy(d):
    shape = d.shape()
    target = d.tensor(shape)
    return [target, d.tensor(d.part(shape),
                             d.pick([target.dtype, d.dtype()]))]


def view(d):
    x = d.tensor()
    sizes, rest = [], x.numel()
    while rest > 1 and len(sizes) < 5:
        size = d.pick([k for k in range(1, rest + 1) if rest % k == 0][:8])
        sizes.append(size)
        rest //= size
    sizes.append(rest)
    d.random.shuffle(sizes)
    if d.chance(0.4):
        sizes[d.int(0, len(sizes) - 1)] = -1
    if d.chance(0.05):
        sizes.append(d.pick([2, 0, -1, -2]))
    return [x, sizes]


def unsqueeze(d):
    x = d.tensor()
    return [x, d.dim(x.dim() + 1)]


def squeeze(d):
    x = d.tensor()
    return [x, d.dim(x.dim())]


def squeeze_dims(d):
    x = d.tensor()
    return [x, d.dims(x.dim())[:d.int(0, 3)]]


def permute(d):
    x = d.tensor()
    dims = d.dims(x.dim())
    if d.chance(0.04) and dims:
        dims[0] = d.pick([dims[-1], 9])
    return [x, dims]


def transpose(d):
    x = d.tensor()
    return [x, d.dim(x.dim()), d.dim(x.dim())]


def t(d):
    return [d.tensor(d.shape(0, 2, 20))]


def expand(d):
    shape = [1 if d.chance(0.4) else s for s in d.shape(0, 4)]
    wide = [d.int(0, 4) if s == 1 else s for s in shape]
    wide = [-1 if d.chance(0.15) else s for s in wide]
    wide = [d.int(1, 3) for _ in range(d.int(0, 2))] + wide
    if d.chance(0.05) and wide:
        wide[d.int(0, len(wide) - 1)] = d.int(-2, 7)
    return [d.tensor(shape), wide]


def repeat(d):
    x = d.tensor(d.shape(0, 4, 4))
    count = x.dim() + d.int(0, 2) - (1 if d.chance(0.04) else 0)
    return [x, [d.pick([1, 1, 2, 3, d.int(-1, 0) if d.chance(0.2) else 1])
                for _ in range(max(count, 0))]]


def select(d):
    x = d.tensor(d.shape(0 if d.chance(0.05) else 1, 5))
    dim = d.dim(x.dim())
    size = x.size(dim) if -x.dim() <= dim < x.dim() else 1
    return [x, dim, d.int(-size - (1 if d.chance(0.05) else 0),
                          max(size - (0 if d.chance(0.05) else 1), 0))]


def bounds(d, size):
    def bound():
        return d.pick([None, d.int(-size - 2, size + 2), d.int(0, size),
                       2**63 - 1, -2**63])
    return [bound(), bound(), d.pick([1, 1, 2, 3, size + 1,
                                      d.int(-1, 0) if d.chance(0.1) else 1])]


def slice_(d):
    x = d.tensor(d.shape(0 if d.chance(0.03) else 1, 5, 9))
    dim = d.dim(x.dim())
    size = x.size(dim) if -x.dim() <= dim < x.dim() else 1
    return [x, dim] + bounds(d, size)


def narrow(d):
    x = d.tensor(d.shape(1, 5, 9))
    dim = d.dim(x.dim())
    size = x.size(dim) if -x.dim() <= dim < x.dim() else 1
    start = d.int(0, size)
    length = d.int(0, size - start) + (1 if d.chance(0.05) else 0)
    return [x, dim, start - (size if d.chance(0.2) and size else 0), length]


def split(d):
    x = d.tensor(d.shape(1, 4, 9))
    return [x, d.int(0 if d.chance(0.1) else 1, 10), d.dim(x.dim())]


def split_with_sizes(d):
    x = d.tensor(d.shape(1, 4, 9))
    dim = d.dim(x.dim())
    rest = x.size(dim) if -x.dim() <= dim < x.dim() else 1
    sizes = []
    while rest > 0 or not sizes:
        sizes.append(d.int(0, rest))
        rest -= sizes[-1]
    return [x, sizes + ([1] if d.chance(0.05) else []), dim]


def unbind(d):
    x = d.tensor(d.shape(1, 4))
    return [x, d.dim(x.dim())]


def cat(d):
    shape = d.shape(1, 4, 5)
    dim = d.dim(len(shape))
    dtype, parts = d.dtype(), []
    for _ in range(d.int(1, 5)):
        own = list(shape)
        if -len(shape) <= dim < len(shape):
            own[dim] = d.int(0, 5)
        if d.chance(0.05):
            own = d.pick([[0], [], own + [1]])
        parts.append(d.tensor(own, d.dtype() if d.chance(0.1) else dtype))
    return [parts, dim]


def stack(d):
    shape, dtype = d.shape(0, 4, 5), d.dtype()
    parts = [d.tensor(shape, d.dtype() if d.chance(0.05) else dtype)
             for _ in range(d.int(1, 5))]
    return [parts, d.dim(len(shape) + 1)]


def flip(d):
    x = d.tensor()
    return [x, d.dims(x.dim())[:d.int(0, 4)]]


def roll(d):
    x = d.tensor()
    count = d.int(0, min(3, x.dim()))
    shifts = [d.int(-9, 9) for _ in range(max(count, 1))]
    return [x, shifts, [d.dim(x.dim()) for _ in range(count)]]


def triangle(d):
    x = d.tensor(d.shape(1 if d.chance(0.03) else 2, 4, 9))
    return [x, d.pick([0, d.int(-9, 9), 2**62, -2**62])]


def constant_pad(d):
    x = d.tensor(d.shape(0, 4))
    count = d.int(0, x.dim()) * 2 + (1 if d.chance(0.03) else 0)
    value = d.pick([0, 1, 2.5, -1, True])
    return [x, [d.int(-2, 3) for _ in range(count)], value]


def reflection_or_replication_pad(dims, reflects):
    def arguments(d):
        shape = [d.int(1, 9 - 2 * dims) for _ in range(dims + d.int(1, 2))]
        if d.chance(0.05):
            shape[0] = 0
        pads = []
        for i in range(dims):
            most = shape[-1 - i] - 1 if reflects else 3
            for _ in range(2):
                pads.append(d.int(-2 if d.chance(0.2) else 0,
                                  most + (1 if d.chance(0.02) else 0)))
        return [d.tensor(shape), pads]
    return arguments


def pixel(shuffles):
    def arguments(d):
        factor = d.int(1, 4)
        batch = d.shape(0, 2, 3)
        c, h, w = d.int(1, 3), d.int(1, 4), d.int(1, 5)
        shape = [c * factor**2, h, w] if shuffles else \
            [c, h * factor, w * factor]
        if d.chance(0.05):
            shape[d.int(0, 2)] += 1
        return [d.tensor(batch + shape), factor if d.chance(0.95) else 0]
    return arguments


def unfold(d):
    x = d.tensor(d.shape(0, 4, 9))
    dim = d.dim(x.dim())
    size = x.size(dim) if -x.dim() <= dim < x.dim() else 1
    return [x, dim, d.int(0, size + (1 if d.chance(0.05) else 0)),
            d.int(0 if d.chance(0.03) else 1, 4)]


def diagonal(d):
    x = d.tensor(d.shape(2, 5))
    a, b = d.dims(x.dim())[:2]
    return [x, d.int(-7, 7), a, a if d.chance(0.03) else b]


def as_strided(d):
    x = d.values(d.shape(0, 3, 8), d.dtype())
    room, sizes, strides = max(x.numel() - 1, 0), [], []
    offset = d.int(0, min(room, 3))
    room -= offset
    for _ in range(d.int(0, 4)):
        size = d.int(0 if d.chance(0.05) else 1, 4)
        stride = d.int(0, room // (size - 1) if size > 1 else 50)
        room -= max(size - 1, 0) * stride
        sizes.append(size)
        strides.append(stride)
    if d.chance(0.08):
        offset += d.pick([room + 1, -offset - 1])
    return [x, sizes, strides, offset if offset or d.chance(0.5) else None]


def complex_self(d):
    return [d.tensor(None, d.pick([C64, C128, F32]
                                  if d.chance(0.05) else [C64, C128]))]


def complex_parts(d):
    x = d.values(d.shape(0, 4) + [1 if d.chance(0.05) else 2],
                 d.pick([I32 if d.chance(0.1) else F32, F64]))
    return [x if d.chance(0.6) else d.lay(x)]


def repeats(d):
    count = d.int(0, 40)
    x = torch.randint(-1 if d.chance(0.05) else 0, 5, (count,),
                      generator=d.torch)
    x = x.to(d.pick([I64, I32]))
    size = int(x.sum()) + (1 if d.chance(0.1) else 0)
    return [d.lay(x)], {"output_size": size if d.chance(0.3) else None}


def select_scatter(d):
    x, dim, at = select(d)
    try:
        shape = list(torch.ops.aten.select_copy.int(x, dim, at).shape)
    except (RuntimeError, IndexError):
        shape = d.shape(0, 3)
    return [x, d.tensor(shape, x.dtype), dim, at]


def slice_scatter(d):
    x, dim, start, end, step = slice_(d)
    try:
        part = torch.ops.aten.slice_copy.Tensor(x, dim, start, end, step)
        shape = list(part.shape)
    except (RuntimeError, IndexError):
        shape = d.shape(0, 3)
    return [x, d.tensor(shape, x.dtype), dim, start, end, step]


OPERATORS = {
    "aten::clone.out": of_self,
    "aten::alias_copy.out": of_self,
    "aten::_to_copy.out": cast,
    "aten::copy.out": copy,
    "aten::copy_": copy,
    "aten::view_copy.out": view,
    "aten::unsqueeze_copy.out": unsqueeze,
    "aten::squeeze_copy.dim_out": squeeze,
    "aten::squeeze_copy.dims_out": squeeze_dims,
    "aten::view_as_real_copy.out": complex_self,
    "aten::view_as_complex_copy.out": complex_parts,
    "aten::permute_copy.out": permute,
    "aten::transpose_copy.int_out": transpose,
    "aten::t_copy.out": t,
    "aten::expand_copy.out": expand,
    "aten::repeat.out": repeat,
    "aten::repeat_interleave.Tensor_out": repeats,
    "aten::select_copy.int_out": select,
    "aten::slice_copy.Tensor_out": slice_,
    "aten::narrow_copy.out": narrow,
    "aten::split_copy.Tensor_out": split,
    "aten::split_with_sizes_copy.out": split_with_sizes,
    "aten::unbind_copy.int_out": unbind,
    "aten::cat.out": cat,
    "aten::stack.out": stack,
    "aten::flip.out": flip,
    "aten::roll.out": roll,
    "aten::tril.out": triangle,
    "aten::triu.out": triangle,
    "aten::constant_pad_nd.out": constant_pad,
    "aten::reflection_pad1d.out": reflection_or_replication_pad(1, True),
    "aten::reflection_pad2d.out": reflection_or_replication_pad(2, True),
    "aten::reflection_pad3d.out": reflection_or_replication_pad(3, True),
    "aten::replication_pad1d.out": reflection_or_replication_pad(1, False),
    "aten::replication_pad2d.out": reflection_or_replication_pad(2, False),
    "aten::replication_pad3d.out": reflection_or_replication_pad(3, False),
    "aten::pixel_shuffle.out": pixel(True),
    "aten::pixel_unshuffle.out": pixel(False),
    "aten::unfold_copy.out": unfold,
    "aten::diagonal_copy.out": diagonal,
    "aten::as_strided_copy.out": as_strided,
    "aten::nonzero.out": of_self,
    "aten::select_scatter.out": select_scatter,
    "aten::slice_scatter.out": slice_scatter,
}
