"""Arguments of indexing operators, which use tensors of indices and masks: the
positional ones, without outputs, and the keyword arguments.

d: the random draws (MovingDraw of random_movement.py).
"""

import torch

from random_calls import BOOL, I64, U8, Skip


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
            # Some calls of PyTorch refuse uint8 masks, which etx accepts.
            mask = torch.rand(own, generator=d.torch) < d.pick([0.2, 0.6])
            indices.append(d.lay(mask))
            at += rank
        else:
            own = d.part(common)
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
    accumulates = d.chance(0.4) and x.dtype != BOOL
    try:
        chosen = torch.ops.aten.index.Tensor(x, indices).shape
    except (RuntimeError, IndexError):
        chosen = d.shape(0, 3)
    places = torch.arange(x.numel()).reshape(shape)
    try:
        places = torch.ops.aten.index.Tensor(places, indices).reshape(-1)
        if not accumulates and len(places) != len(places.unique()):
            raise Skip  # any order would be right
    except (RuntimeError, IndexError):
        pass
    values = d.tensor(d.part(list(chosen)),
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
        counts = torch.zeros(x.shape, dtype=I64).scatter_add(
            dim, index.long(), torch.ones(index.shape, dtype=I64))
        return counts.max() <= 1 if counts.numel() else True
    except (RuntimeError, IndexError):
        return True


def scatter(d):
    x, dim, index = along(d)
    if not unique_places(x, dim, index):
        raise Skip
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
    if x.dtype == BOOL:
        raise Skip
    return [x, dim, index, d.tensor(list(index.shape), x.dtype)]


def scatter_reduce(d):
    arguments = scatter_sum(d)
    way = d.pick(["sum", "prod", "mean", "amax", "amin"])
    return [*arguments, way], {"include_self": d.chance(0.5)}


def index_source(d):
    x = d.tensor(d.shape(1, 4))
    dim = d.int(-x.dim(), x.dim() - 1)
    size = x.size(dim)
    places = list(range(size))
    d.random.shuffle(places)
    index = torch.tensor(places[:d.int(0, size)], dtype=I64)
    shape = list(x.shape)
    shape[dim] = len(index) + (1 if d.chance(0.03) else 0)
    return [x, dim, d.lay(index), d.tensor(shape, x.dtype)]


def index_add(d):
    arguments = index_source(d)
    if arguments[0].dtype == BOOL:
        raise Skip
    return arguments


def index_fill(d):
    x, dim, index, _ = index_source(d)
    return [x, dim, index, d.pick([0, 3, 2.5, True])]


def mask_of(d):
    shape = d.shape(0, 4)
    x = d.tensor(d.part(shape))
    return x, d.tensor(d.part(shape), BOOL if d.chance(0.97)
                       else U8)


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
    "aten::masked_select.out": masked_select,
    "aten::masked_scatter.out": masked_scatter,
}
