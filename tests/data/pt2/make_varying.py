"""Writes the set `varying` of this folder: operators along sizes that vary, and
conditions on sizes that the exported programs state.

    pip install torch==2.13 safetensors
    python make_varying.py
"""

import warnings

import torch
import torch.nn.functional as F
from make_sets import Recorder
from torch.export import Dim

warnings.filterwarnings("ignore")

MOST = 6
EXAMPLE = 6


def values(*shape):
    return torch.linspace(0.1, 2.5, torch.Size(shape).numel()).view(shape).sin()


class Varying(torch.nn.Module):
    states = ("count",)

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def gather(self, x, index):
        self.count.add_(1)
        return (x.gather(1, index),)

    def scatter_add(self, x, index, y):
        return (x.scatter_add(1, index, y),)

    def tail(self, x):
        self.count.add_(1)
        return (x[1:] + 1,)

    def parts(self, x):
        return tuple(part + 1 for part in x.split(4))

    def front(self, x):
        return (x.split(x.shape[0] // 2 + 1)[0] + 1,)

    def gate(self, x):
        return (F.glu(x, 0),)

    def rows_of_four(self, x):
        return (x.view(4, -1) + 1,)

    def attend(self, query, key, value):
        self.count.add_(1)
        return (F.scaled_dot_product_attention(query, key, value),)

    def put(self, x, index, y):
        return (x.index_put((index,), y),)

    def replace_column(self, x, y):
        return (x.select_scatter(y, 1, 1),)

    def replace_columns(self, x, y):
        return (x.slice_scatter(y, 1, 1, 3),)

    def double(self, x):
        return tuple(F.interpolate(x, scale_factor=2, mode=mode)
                     for mode in ("bicubic", "nearest-exact"))

    def resize(self, x):
        return (F.interpolate(x, size=(5, 7), mode="bicubic",
                              align_corners=True),
                F.interpolate(x, size=(3, 5), mode="nearest-exact"))

    def stretch(self, x):
        return (F.interpolate(x, scale_factor=2),
                F.interpolate(x, size=7, mode="nearest-exact"))

    def peaks(self, x):
        return (F.adaptive_max_pool1d(x, 3),)

    def distances(self, x, y):
        return (torch.cdist(x, y),)

    def upsample(self, x):
        return (F.conv_transpose2d(x, values(2, 3, 2, 2)),)


    # Sizes from data that the model says to know.
    def histogram(self, n):
        counts = n.bincount()
        torch._check(counts.shape[0] == 3)
        return (counts + 1,)

    def found(self, n, y):
        rows = n.nonzero()[:, 0]
        torch._check(rows.shape[0] == y.shape[0])
        return (rows * 2 + y,)

    def both(self, a, b):
        left, right = a.nonzero()[:, 0], b.nonzero()[:, 0]
        torch._check(left.shape[0] == right.shape[0])
        return (left * right,)

    def head(self, x, n):
        count = n.item()
        torch._check(count == x.shape[0])
        return (x[:count] * 2 + torch.zeros(count, 1),)


ROWS, IMAGE, WAVE = ("n", 4), (1, 2, "n", "n"), (1, 2, "n")
INDEX = (torch.int64, ("n", 2))
HEADS = (1, 2, "n", 4)

# Of each method: the Dim, its inputs, sizes that it takes, and sizes that the
# exported program refuses.
METHODS = {
    "gather": ("dynamic", (ROWS, INDEX), (1, 2, 5, MOST), ()),
    "scatter_add": ("dynamic", (("n", 9), INDEX, ("n", 2)),
                    (1, 2, 5, MOST), ()),
    "tail": ("dynamic", (ROWS,), (1, 3, MOST), (2,)),
    "parts": ("dynamic", (ROWS,), (MOST,), (3, 4)),
    "front": ("dynamic", (ROWS,), (5, MOST), (2,)),
    "gate": ("dynamic", (ROWS,), (4, MOST), (3, 5)),
    "rows_of_four": ("dynamic", (("n", 3),), (8, 12), (3, 4, 6)),
    "attend": ("dynamic", (HEADS,) * 3, (1, 2, 5, MOST), ()),
    "put": ("dynamic", ((9, 4), (torch.int64, ("n",)), ROWS),
            (1, 2, 5, MOST), ()),
    "replace_column": ("dynamic", (ROWS, ("n",)), (1, 2, 5, MOST), ()),
    "replace_columns": ("dynamic", (ROWS, ("n", 2)), (1, 2, 5, MOST), ()),
    "double": ("min0", (IMAGE,), (1, 2, 5, MOST), (0,)),
    "resize": ("dynamic", (IMAGE,), (1, 2, 5, MOST), ()),
    "stretch": ("min0", (WAVE,), (1, 2, 5, MOST), (0,)),
    "peaks": ("min0", (WAVE,), (1, 2, 5, MOST), (0,)),
    "distances": ("min0", (ROWS, (3, 4)), (0, 1, 2, MOST), ()),
    "upsample": ("min0", (IMAGE,), (1, 2, MOST), (0,)),
}


class RawRecorder(Recorder):
    def plain(self, exported):
        return exported


def make(spec, size):
    dtype, shape = spec if isinstance(spec[0], torch.dtype) else (None, spec)
    shape = [size if extent == "n" else extent for extent in shape]
    if dtype is None:
        return torch.randn(shape)
    return torch.arange(torch.Size(shape).numel()).view(shape) * 5 % 4


def varying_dims(spec, dim):
    shape = spec[1] if isinstance(spec[0], torch.dtype) else spec
    return {i: dim for i, extent in enumerate(shape) if extent == "n"}


def call_sizes(recorder, name, specs, sizes, refused):
    for size in sizes:
        recorder.call(name, *(make(spec, size) for spec in specs))
    for size in refused:
        recorder.refuse(name, *(make(spec, size) for spec in specs))


def export_known_sizes(recorder):
    rows = {0: Dim.DYNAMIC(max=MOST)}
    three = torch.tensor([1, 2, 2])
    recorder.method("histogram", (three,), (rows,))
    recorder.method("found", (three, torch.arange(3)), (rows, rows))
    recorder.method("both", (three, torch.tensor([1, 0, 2, 2])), (rows, rows))
    recorder.method("head", (torch.randn(4, 3), torch.tensor(4)), (rows, None))


def call_known_sizes(recorder):
    for numbers in ([1, 2, 2], [2, 0], [0, 1, 2, 2, 0, 1]):
        recorder.call("histogram", torch.tensor(numbers))
    for numbers in ([3], [1, 0]):
        recorder.refuse("histogram", torch.tensor(numbers))
    recorder.call("found", torch.tensor([0, 1, 1, 0, 5, 0]), torch.arange(3))
    recorder.call("found", torch.tensor([1, 1]), torch.arange(2))
    recorder.refuse("found", torch.tensor([0, 1, 1, 0]), torch.arange(3))
    recorder.call("both", torch.tensor([0, 0, 4]), torch.tensor([1, 0]))
    recorder.call("both", torch.tensor([1, 2, 4]), torch.tensor([1, 0, 1, 5]))
    recorder.call("both", torch.tensor([0, 0]), torch.tensor([0, 0, 0]))
    recorder.refuse("both", torch.tensor([1, 2, 4]), torch.tensor([1, 0, 1]))
    recorder.call("head", torch.randn(2, 3), torch.tensor(2))
    recorder.call("head", torch.randn(MOST, 3), torch.tensor(MOST))
    recorder.refuse("head", torch.randn(3, 3), torch.tensor(4))


def main():
    recorder = RawRecorder(Varying(), "varying")
    for name, (kind, specs, sizes, _) in METHODS.items():
        most = max(MOST, *sizes) if sizes else MOST
        dim = (Dim.DYNAMIC(max=most) if kind == "dynamic"
               else Dim("n", min=0, max=most))
        example = 8 if name == "rows_of_four" else EXAMPLE
        recorder.method(name, tuple(make(spec, example) for spec in specs),
                        tuple(varying_dims(spec, dim) for spec in specs))
    export_known_sizes(recorder)
    recorder.model.count.zero_()
    for name, (_, specs, sizes, refused) in METHODS.items():
        call_sizes(recorder, name, specs, sizes, refused)
    # Two sizes that the program compares, or that must be equal.
    recorder.refuse("gather", make(ROWS, 2), make(INDEX, 3))
    recorder.call("gather", make(ROWS, 4), make(INDEX, 3))
    recorder.refuse("attend", make(HEADS, 3), make(HEADS, 4), make(HEADS, 5))
    recorder.call("attend", make(HEADS, 3), make(HEADS, 5), make(HEADS, 5))
    recorder.call("tail", make(ROWS, 4))
    call_known_sizes(recorder)
    recorder.write(1e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
