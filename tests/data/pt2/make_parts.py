"""Writes the set `parts` of this folder: parts of tensors whose sizes vary, and
concatenations of them.

    pip install torch==2.13 safetensors
    python make_parts.py
"""

import warnings

import torch
from make_sets import Recorder
from torch.export import Dim

warnings.filterwarnings("ignore")

MOST, WIDTH = 9, 4


class Parts(torch.nn.Module):
    states = ()

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH)
        self.steps = torch.nn.ModuleList(
            torch.nn.Conv2d(3 + 2 * i, 2, 3, padding=1) for i in range(3))
        self.token = torch.nn.Parameter(torch.randn(1, 1, WIDTH))

    def heads(self, x):
        """Parts of one product, as q, k and v are; one is returned."""
        q, k, v = self.linear(x).unbind(0)
        return (q @ k.T).softmax(-1) @ v, k, v[-1]

    def halves(self, x, y):
        """Parts of an input and of a result, and a part of a part."""
        n = y.shape[1]
        z = self.linear(x)
        return (x[:n] * x[n:], z[n:] - z[:n], x[n:],
                y[1:].reshape(-1, WIDTH)[n:])

    def joined(self, x, y):
        """Rows of two inputs of different lengths, and parts of the result."""
        first = self.linear(x).relu()
        rows = torch.cat([first, self.linear(y).view(1, -1, WIDTH),
                          y.mean(1, True) * self.token], 1)
        mixed = self.linear(rows) + rows
        return mixed, mixed[:, x.shape[1]:], first

    def dense(self, x):
        """Concatenations in concatenations."""
        for step in self.steps:
            x = torch.cat([x, step(x).relu()], 1)
        return (x,)

    def around(self, x, y):
        """Operands that cannot be computed in the result: an input, one that
        is there twice, and columns."""
        z = x * 2
        return (torch.cat([x, y]), torch.cat([z, z]), torch.cat([z, y.exp()]),
                torch.cat([z, z + 1], 1))


def main():
    recorder = Recorder(Parts(), "parts")
    n, m = Dim("n", min=0, max=MOST), Dim("m", min=1, max=MOST)
    recorder.method("heads", (torch.randn(3, 5, WIDTH),),
                    ({1: Dim("n", min=1, max=MOST)},))
    recorder.method("halves", (torch.randn(8, WIDTH),
                               torch.randn(3, 4, WIDTH)),
                    ({0: 2 * m}, {1: m}))
    recorder.method("joined", (torch.randn(1, 5, WIDTH),
                               torch.randn(1, 3, WIDTH)), ({1: n}, {1: m}))
    recorder.method("dense", (torch.randn(1, 3, 4, 6),),
                    ({2: m, 3: Dim("w", min=1, max=MOST)},))
    recorder.method("around", (torch.randn(5, WIDTH), torch.randn(3, WIDTH)),
                    ({0: n}, {0: m}))
    for a, b in ((1, 2), (MOST, MOST), (2, 1), (7, 5), (0, 4), (5, 3), (3, 1)):
        if a > 0:
            recorder.call("heads", torch.randn(3, a, WIDTH))
            recorder.call("dense", torch.randn(1, 3, a, b))
        # PyTorch's program has a condition that excludes halves of one row.
        halves = recorder.refuse if b == 1 else recorder.call
        halves("halves", torch.randn(2 * b, WIDTH), torch.randn(3, b, WIDTH))
        recorder.call("joined", torch.randn(1, a, WIDTH),
                      torch.randn(1, b, WIDTH))
        recorder.call("around", torch.randn(a, WIDTH), torch.randn(b, WIDTH))
    recorder.write(1e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
