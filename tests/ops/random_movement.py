#!/usr/bin/env python3
"""Random calls of the operators that move elements, with PyTorch's results.

    random_movement.py TARGET [--seed N] [--count N] [--op PART]

Writes TARGET/<operator>.jsonl and .safetensors in the format that
tests/data/ops/README.md tells, COUNT cases of each operator: shapes with and
without elements, all types, tensors that lie in other orders or with gaps,
arguments at and beyond their bounds. What PyTorch refuses is an error case.
Same seed, same bytes. Needs torch 2.13.

tests/data/ops/random_movement holds what `--seed 1 --count 5` writes.
"""

import argparse
import json
import os
import random
import zlib

import torch

ALL = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64,
       torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
FLOATS = ALL[:4]
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
         torch.float64: "F64", torch.int64: "I64", torch.int32: "I32",
         torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
         torch.bool: "BOOL"}
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
ORDERS = {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}


class Unusable(Exception):
    """PyTorch's answer says nothing about the operator."""


class Writer:
    """One operator's two files."""

    def __init__(self, base):
        self.base, self.cases, self.known, self.blobs = base, [], {}, []

    def put(self, tensor):
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        tensor = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)
        raw = bytes(tensor.reshape(-1).view(torch.uint8).tolist()) \
            if tensor.numel() else b""
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
    """Random arguments."""

    wild = False  # tensors with stride 0, and many elements, too

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.torch = torch.Generator().manual_seed(seed)

    def chance(self, share):
        return self.random.random() < share

    def int(self, low, high):
        return self.random.randint(low, high)

    def pick(self, items):
        return self.random.choice(items)

    def dtype(self, among=ALL):
        return self.pick(among)

    def shape(self, low=0, high=5, most=6):
        """Few large, some of size 1, now and then an empty dimension."""
        shape = [self.pick([1, 2, 3, most, self.int(1, most)])
                 for _ in range(self.int(low, high))]
        if self.chance(0.08) and shape:
            shape[self.int(0, len(shape) - 1)] = 0
        if self.chance(0.05) and shape and all(shape):
            shape[self.int(0, len(shape) - 1)] = 70
        if self.wild and shape and self.chance(0.1):
            shape[self.int(0, len(shape) - 1)] = self.int(7, 40)
        return shape

    def values(self, shape, dtype):
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.torch) < 0.5
        if dtype.is_complex:
            parts = self.values(list(shape) + [2], PARTS[dtype])
            return torch.view_as_complex(parts)
        if dtype.is_floating_point:
            wide = torch.randn(shape, generator=self.torch,
                               dtype=torch.float64) * 4
            zero = torch.rand(shape, generator=self.torch) < 0.2
            return wide.masked_fill(zero, self.pick([0.0, -0.0])).to(dtype)
        low = 0 if dtype == torch.uint8 else -100
        return torch.randint(low, 100, shape, generator=self.torch).to(dtype)

    def laid(self, tensor):
        """The same elements, perhaps in another order or with gaps."""
        rank, way = tensor.dim(), self.random.random()
        if self.wild and tensor.numel() > 1 and self.chance(0.08):
            at = self.int(0, rank - 1)
            return tensor.narrow(at, 0, 1).expand(tensor.shape)
        if rank == 0 or tensor.numel() == 0 or way < 0.6:
            return tensor
        if rank in ORDERS and way < 0.75:
            form = torch.channels_last if rank == 4 else torch.channels_last_3d
            return tensor.contiguous(memory_format=form)
        if way < 0.9:
            order = list(range(rank))
            self.random.shuffle(order)
            back = [order.index(i) for i in range(rank)]
            return tensor.permute(order).contiguous().permute(back)
        at, step = self.int(0, rank - 1), self.int(2, 3)
        wide = list(tensor.shape)
        wide[at] *= step
        room = torch.zeros(wide, dtype=tensor.dtype)
        part = room[(slice(None),) * at + (slice(None, None, step),)]
        part.copy_(tensor)
        return part

    def tensor(self, shape=None, dtype=None):
        shape = self.shape() if shape is None else shape
        return self.laid(self.values(shape, dtype or self.dtype()))

    def dim(self, rank):
        """Rarely out of range."""
        limit = max(rank, 1)
        if self.chance(0.03):
            return self.pick([limit, -limit - 1, 99])
        return self.int(-limit, limit - 1)

    def dims(self, rank):
        dims = [self.int(0, 1) * -rank + i for i in range(rank)]
        self.random.shuffle(dims)
        return dims

    def indices(self, shape, size, low=0, dtype=None):
        high = max(size, 1)
        index = torch.randint(low, high, shape, generator=self.torch)
        if self.chance(0.03) and index.numel():
            index.view(-1)[self.int(0, index.numel() - 1)] = \
                self.pick([size, -size - 1, 2**31 - 1, -2**31])
        return self.laid(index.to(dtype or self.pick([torch.int64] * 3 +
                                                     [torch.int32])))


# One function for each operator: what a call takes before its out arguments.

def spread_of(d, shape):
    """A shape that broadcasts to `shape`."""
    own = [1 if d.chance(0.25) else size for size in shape]
    return own[d.int(0, len(own)):] if d.chance(0.3) else own


def of_self(d):
    return [d.tensor()]


def cast(d):
    return [d.tensor()], {"dtype": d.dtype()}


def copy(d):
    shape = d.shape()
    target = d.tensor(shape)
    return [target, d.tensor(spread_of(d, shape),
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


def own_pad(dims, reflects):
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
    return [d.tensor(None, d.pick(list(PARTS) + [torch.float32]
                                  if d.chance(0.05) else list(PARTS)))]


def repeats(d):
    count = d.int(0, 40)
    x = torch.randint(-1 if d.chance(0.05) else 0, 5, (count,),
                      generator=d.torch)
    x = x.to(d.pick([torch.int64, torch.int32]))
    size = int(x.sum()) + (1 if d.chance(0.1) else 0)
    return [d.laid(x)], {"output_size": size if d.chance(0.3) else None}


def embedding(d):
    rows = d.int(1, 9)
    return [d.values([rows, d.int(0, 40)], d.dtype()),
            d.indices(d.shape(0, 3), rows)]


def index_select(d):
    x = d.tensor(d.shape(0, 4))
    dim = d.dim(x.dim())
    size = x.size(dim) if x.dim() and -x.dim() <= dim < x.dim() else 1
    shape = [d.int(0, 9)] if size and x.dim() else [1] if not x.dim() else [0]
    return [x, dim, d.indices(shape if d.chance(0.95) else [], size)]


def index_list(d, shape, puts):
    """Index tensors, masks and gaps; what they select."""
    indices, at, common = [], 0, d.shape(0, 2, 4)
    while at < len(shape) and (d.chance(0.75) or not indices):
        kind = d.random.random()
        if kind < 0.25:
            indices.append(None)
            at += 1
        elif kind < 0.45:
            rank = d.int(1, len(shape) - at)
            own = shape[at:at + rank]
            if d.chance(0.03):
                own[0] += 1
            # uint8 masks are refused by some calls of PyTorch's alone
            mask = torch.rand(own, generator=d.torch) < d.pick([0.2, 0.6])
            indices.append(d.laid(mask))
            at += rank
        else:
            own = spread_of(d, common)
            indices.append(d.indices(own, shape[at], -shape[at]
                                     if shape[at] and not puts else 0))
            at += 1
    if all(index is None for index in indices):
        indices[-1] = d.indices([2], shape[len(indices) - 1])
    return indices


def index(d):
    shape = d.shape(1, 5, 5)
    return [d.tensor(shape), index_list(d, shape, False)]


def index_put(d):
    shape = d.shape(1, 4, 5)
    x = d.tensor(shape)
    indices = index_list(d, shape, True)
    accumulates = d.chance(0.4) and x.dtype != torch.bool
    try:
        chosen = torch.ops.aten.index.Tensor(x, indices).shape
    except (RuntimeError, IndexError):
        chosen = d.shape(0, 3)
    places = torch.arange(x.numel()).reshape(shape)
    try:
        places = torch.ops.aten.index.Tensor(places, indices).reshape(-1)
        if not accumulates and len(places) != len(places.unique()):
            raise Unusable  # any order would be right
    except (RuntimeError, IndexError):
        pass
    values = d.tensor(spread_of(d, list(chosen)),
                      d.dtype() if d.chance(0.03) else x.dtype)
    return [x, indices, values, accumulates]


def along(d):
    """(self, dim, index) for gather and the scatters."""
    shape = d.shape(0, 4)
    dim = d.dim(len(shape))
    size = shape[dim] if shape and -len(shape) <= dim < len(shape) else 1
    own = [d.int(0 if d.chance(0.05) else 1, s) if s else 0 for s in shape]
    if shape and -len(shape) <= dim < len(shape):
        own[dim] = d.int(0, 9) if size else 0
    if d.chance(0.03):
        own = own + [1] if d.chance(0.5) else [s + 1 for s in own]
    if len(own) < 2 and d.chance(0.2):
        own = d.pick([[], [1], [0]])  # no dimension counts as one of size 1
    return d.tensor(shape), dim, d.indices(own, size)


def gather(d):
    return list(along(d))


def unique_places(x, dim, index):
    """False if some element is written twice."""
    try:
        counts = torch.zeros(x.shape, dtype=torch.int64).scatter_add(
            dim, index.long(), torch.ones(index.shape, dtype=torch.int64))
        return counts.max() <= 1 if counts.numel() else True
    except (RuntimeError, IndexError):
        return True


def scatter(d):
    x, dim, index = along(d)
    if not unique_places(x, dim, index):
        raise Unusable
    wide = [s + d.int(0, 2) for s in index.shape]
    if len(wide) < 2 and d.chance(0.3):
        wide = d.pick([[], [1], [0]])
    return [x, dim, index, d.tensor(wide, d.dtype() if d.chance(0.03)
                                    else x.dtype)]


def scatter_value(d):
    x, dim, index = along(d)
    return [x, dim, index, d.pick([0, 3, 2.5, True, -1])]


def scatter_sum(d):
    x, dim, index = along(d)
    if x.dtype == torch.bool:
        raise Unusable
    return [x, dim, index, d.tensor(list(index.shape), x.dtype)]


def scatter_reduce(d):
    return scatter_sum(d) + [d.pick(["sum", "prod", "mean", "amax", "amin"])], \
        {"include_self": d.chance(0.5)}


def index_source(d):
    x = d.tensor(d.shape(1, 4))
    dim = d.int(-x.dim(), x.dim() - 1)
    size = x.size(dim)
    places = list(range(size))
    d.random.shuffle(places)
    index = torch.tensor(places[:d.int(0, size)], dtype=torch.int64)
    shape = list(x.shape)
    shape[dim] = len(index) + (1 if d.chance(0.03) else 0)
    return [x, dim, d.laid(index), d.tensor(shape, x.dtype)]


def index_add(d):
    arguments = index_source(d)
    if arguments[0].dtype == torch.bool:
        raise Unusable
    return arguments


def index_fill(d):
    x, dim, index, _ = index_source(d)
    return [x, dim, index, d.pick([0, 3, 2.5, True])]


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


def mask_of(d):
    shape = d.shape(0, 4)
    x = d.tensor(spread_of(d, shape))
    return x, d.tensor(spread_of(d, shape), torch.bool if d.chance(0.97)
                       else torch.uint8)


def masked_select(d):
    return list(mask_of(d))


def masked_scatter(d):
    x, mask = mask_of(d)
    try:
        count = int((torch.zeros(x.shape) + mask != 0).sum())
    except RuntimeError:
        count = 3
    count = max(count + d.int(-1 if d.chance(0.05) else 0, 3), 0)
    return [x, mask, d.tensor([count], x.dtype)]


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
    "aten::reflection_pad1d.out": own_pad(1, True),
    "aten::reflection_pad2d.out": own_pad(2, True),
    "aten::reflection_pad3d.out": own_pad(3, True),
    "aten::replication_pad1d.out": own_pad(1, False),
    "aten::replication_pad2d.out": own_pad(2, False),
    "aten::replication_pad3d.out": own_pad(3, False),
    "aten::pixel_shuffle.out": pixel(True),
    "aten::pixel_unshuffle.out": pixel(False),
    "aten::unfold_copy.out": unfold,
    "aten::diagonal_copy.out": diagonal,
    "aten::as_strided_copy.out": as_strided,
    "aten::embedding.out": embedding,
    "aten::index_select.out": index_select,
    "aten::index.Tensor_out": index,
    "aten::index_put.out": index_put,
    "aten::index_put_": index_put,
    "aten::gather.out": gather,
    "aten::scatter.src_out": scatter,
    "aten::scatter.value_out": scatter_value,
    "aten::scatter_add.out": scatter_sum,
    "aten::scatter_reduce.two_out": scatter_reduce,
    "aten::index_copy.out": index_source,
    "aten::index_add.out": index_add,
    "aten::index_fill.int_Scalar_out": index_fill,
    "aten::select_scatter.out": select_scatter,
    "aten::slice_scatter.out": slice_scatter,
    "aten::masked_select.out": masked_select,
    "aten::masked_scatter.out": masked_scatter,
    "aten::nonzero.out": of_self,
}


def functional_of(op):
    """The form without out arguments, and the schema of the out form."""
    name, _, overload = op.partition("::")[2].partition(".")
    packet = getattr(torch.ops.aten, name)
    schema = getattr(packet, overload or "default")._schema
    if not overload:
        return getattr(packet, "default"), schema
    wanted = [str(a.type) for a in schema.arguments if not a.is_out]
    for other in packet.overloads():
        form = getattr(packet, other)
        own = form._schema.arguments
        if any(a.is_out for a in own):
            continue
        if [str(a.type) for a in own] == wanted:
            return form, schema
    return getattr(packet, "default"), schema


def layout(tensor):
    if tensor.is_contiguous() or tensor.numel() == 0:
        return {}
    order = ORDERS.get(tensor.dim())
    if order is not None:
        form = torch.channels_last if len(order) == 4 \
            else torch.channels_last_3d
        if tensor.is_contiguous(memory_format=form):
            return {"dim_order": order}
    return {"strides": list(tensor.stride())}


def number(value):
    return {True: lambda: {"b": value}}.get(
        isinstance(value, bool),
        lambda: {"i": value} if isinstance(value, int) else {"f": value})()


def encode(writer, argument, value):
    entry = {"name": argument.name}
    if value is None:
        return dict(entry, n=None)
    if isinstance(value, torch.Tensor):
        entry.update(t=writer.put(value), **layout(value))
        if value.is_complex():
            entry["complex"] = True
        return entry
    if isinstance(value, str):
        return dict(entry, s=value)
    if "Tensor" in str(argument.type):
        entry["tl"] = [None if x is None else writer.put(x) for x in value]
        found = {str(i): layout(x) for i, x in enumerate(value)
                 if x is not None and layout(x)}
        return dict(entry, layouts=found) if found else entry
    if isinstance(value, (list, tuple)):
        return dict(entry, il=list(value))
    return dict(entry, **number(value))


def arguments_of(schema, given, named):
    """Every argument but the out ones, in order, defaults filled in."""
    rest = list(given)
    for argument in schema.arguments:
        if argument.is_out:
            continue
        if rest:
            yield argument, rest.pop(0)
        elif argument.name in named:
            yield argument, named[argument.name]
        else:
            yield argument, argument.default_value


def evaluate(form, given, named):
    """PyTorch's answer, or None if it refuses."""
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in given]
    for i, x in enumerate(given):
        if isinstance(x, torch.Tensor) and not x.is_contiguous():
            copies[i] = torch.empty_strided(x.shape, x.stride(),
                                            dtype=x.dtype).copy_(x)
    try:
        return form(*copies, **named)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        text = str(error)
        if any(part in text for part in UNUSABLE):
            raise Unusable from error
    dense = [x.contiguous() if isinstance(x, torch.Tensor) else x
             for x in given]
    try:
        form(*dense, **named)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None
    raise Unusable  # it refuses the order of elements alone


# What says that PyTorch has no kernel, or meets a mistake of its own.
UNUSABLE = ("not implemented for", "INTERNAL", "sym_strides",
            "only supports boolean")
SUMS = ("scatter_add", "scatter_reduce", "index_add", "index_put")


def tolerance(op, form, given, named, result):
    """Sums are taken in float64 and may differ by some roundings."""
    if not result.is_floating_point() or not any(s in op for s in SUMS):
        return result, 0.0, 0.0
    wide = [x.double() if isinstance(x, torch.Tensor) and
            x.is_floating_point() else x for x in given]
    exact = form(*wide, **named)
    peak = exact.abs().max().item() if exact.numel() else 0.0
    unit = torch.finfo(result.dtype).eps
    small = torch.finfo(torch.float32).eps \
        if result.dtype != torch.float64 else unit
    return exact.to(result.dtype), 32 * small * (peak + 40), unit


def build(d, writer, op, make):
    drawn = make(d)
    given, named = drawn if isinstance(drawn, tuple) else (drawn, {})
    form, schema = functional_of(op)
    result = evaluate(form, given, named)
    dtype = named.pop("dtype", None)
    case = {"id": f"{op.replace('::', '.')}#r{len(writer.cases):03d}",
            "op": op, "args": [encode(writer, a, v) for a, v
                               in arguments_of(schema, given, named)]}
    if result is None:
        return dict(case, expect="error", reason="PyTorch refuses it")
    case.update(expect="ok", atol=0.0, rtol=0.0)
    outs = [a.name for a in schema.arguments if a.is_out] or ["self"]
    if isinstance(result, (list, tuple)):
        names = [writer.put(x) for x in result]
        return dict(case, outs=[{"name": outs[0], "tl": names}])
    if dtype is None:
        result, case["atol"], case["rtol"] = tolerance(op, form, given, named,
                                                       result)
    out = {"name": outs[0], "t": writer.put(result)}
    if dtype is None and d.chance(0.5):
        out.update(layout(d.laid(result)))
    elif dtype is None:
        out.update(layout(result))
    return dict(case, outs=[out])


def generate(target, op, make, seed, count):
    base = op.partition("::")[2].replace(".", "_")
    writer = Writer(os.path.join(target, base))
    d = Draw(zlib.crc32(f"{seed} {op}".encode()))
    tries = 0
    while len(writer.cases) < count and tries < 4 * count:
        tries += 1
        try:
            writer.cases.append(build(d, writer, op, make))
        except Unusable:
            continue
    writer.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--op", default="")
    parser.add_argument("--wild", action="store_true",
                        help="stride 0 and larger sizes too")
    options = parser.parse_args()
    Draw.wild = options.wild
    os.makedirs(options.target, exist_ok=True)
    torch.set_num_threads(1)
    for op, make in OPERATORS.items():
        if options.op in op:
            generate(options.target, op, make, options.seed, options.count)


if __name__ == "__main__":
    main()
