"""Writes the set `guards` of this folder: results whose bytes are bytes of an
operand at some sizes alone, and calls that have nothing to do without rows.

    pip install torch==2.13 safetensors
    python make_guards.py
"""

import warnings

import torch
from make_sets import Recorder
from torch.export import Dim

warnings.filterwarnings("ignore")

MOST, WIDTH = 6, 4


class Guards(torch.nn.Module):
    states = ()

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def permuted(self, x):
        """Rows and columns change places: no copy where one of them is 1."""
        return ((x * 2).transpose(0, 1).contiguous() + 1,)

    def sliced(self, x):
        """Columns, which are consecutive in one row alone."""
        y = x * 2
        return y[:, 1:3].exp(), y[:, 3:].neg()

    def broadcast(self, x, y):
        """y has one row, or as many as x."""
        return (x + y.expand(x.shape), (y * 2).repeat(x.shape[0], 1))

    def scattered(self, x, y):
        """Some of the first rows are replaced, or none."""
        return ((x * 2).slice_scatter(y * 3, 0, 0, y.shape[0]),)

    def gathered(self, x):
        """Rows in their own order."""
        y = x * 2
        return (y[torch.arange(x.shape[0])] + 1,)

    def joined(self, x, y):
        """Columns of two values, one of which may have none."""
        return (torch.cat([x * 2, y + 1], 1).relu(),)

    def chained(self, x):
        """Without rows, no kernel has anything to do."""
        y = self.linear(x).relu()
        return y.softmax(-1) @ self.linear.weight, (y * 2)[:, :2] - 1

    def summed(self, x):
        """Without rows, sums are zeros, and the consumers read them."""
        return (self.linear((x * 2).sum(0, keepdim=True)) + 1,)


def main():
    recorder = Recorder(Guards(), "guards")
    n = Dim("n", min=0, max=MOST)
    w = Dim("w", min=0, max=MOST)
    rows = torch.randn(3, WIDTH)
    for name in ("sliced", "gathered", "chained", "summed"):
        recorder.method(name, (rows,), ({0: n},))
    recorder.method("permuted", (torch.randn(3, 5),),
                    ({0: n, 1: w},))
    recorder.method("broadcast", (rows, torch.randn(1, WIDTH)), ({0: n}, {}))
    recorder.method("scattered", (torch.randn(MOST + 1, WIDTH), rows),
                    ({}, {0: n}))
    recorder.method("joined", (rows, torch.randn(3, 5)), ({0: n}, {0: n, 1: w}))
    for count in (0, 1, 3, MOST, 2):
        for name in ("sliced", "gathered", "chained", "summed"):
            recorder.call(name, torch.randn(count, WIDTH))
        recorder.call("broadcast", torch.randn(count, WIDTH),
                      torch.randn(1, WIDTH))
        recorder.call("scattered", torch.randn(MOST + 1, WIDTH),
                      torch.randn(count, WIDTH))
        for width in (0, 1, 5):
            recorder.call("permuted", torch.randn(count, width))
            recorder.call("joined", torch.randn(count, WIDTH),
                          torch.randn(count, width))
    recorder.write(1e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
