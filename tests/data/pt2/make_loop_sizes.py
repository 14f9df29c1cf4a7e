"""Writes the set `loop_sizes` of this folder: loops and choices whose
sub-graphs take sizes as operands, loops over a varying number of rows, and
short loops whose bodies set sizes from data; as torch.export gives them, and in
core/ as run_decompositions() does. Each method is called with the least size, the most
and sizes between them.

    pip install torch==2.13 safetensors
    python make_loop_sizes.py
"""

import torch
from make_in_place import RawRecorder
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

MOST, WIDTH = 7, 3


class LoopSizes(nn.Module):
    states = ("hidden",)

    def __init__(self):
        super().__init__()
        torch.manual_seed(31)
        self.register_buffer("hidden", torch.zeros(1, WIDTH))
        self.register_buffer("gain", torch.full((), 0.5))
        self.register_buffer("table", torch.randn(5, 2))
        self.cell = nn.GRUCell(2, WIDTH)

    def bounded(self, x, n):
        """A while loop whose condition and body read a size and a tensor."""
        rows = x.shape[0]
        return while_loop(
            lambda i, a: (i < n) & (i < rows),
            lambda i, a: (i + 1, torch.where(
                (torch.arange(rows) == i)[:, None], a * 2, a)),
            (torch.zeros((), dtype=torch.int64), x.clone()))

    def widths(self, x):
        """A scan that only reads a size."""
        n = x.shape[1]
        return scan(lambda c, row: (c + row * n,
                                    torch.cat([c, torch.zeros(n)])),
                    torch.zeros(n), x)

    def mixed(self, x):
        """A scan that reads a size, twice the size and a tensor."""
        n = x.shape[1]
        return scan(lambda c, row: (c * self.gain + row / n,
                                    (row * self.gain).repeat(2) + 2 * n),
                    torch.zeros(n), x)

    def each(self, x):
        """A map that gets a size as an argument."""
        return (torch_map(lambda row, n: row / n + torch.arange(n), x,
                          x.shape[1]),)

    def chosen(self, x):
        """A choice whose branches read a size and no tensor."""
        n = x.shape[0]
        return (torch.cond(x.sum() > 0, lambda: torch.ones(n),
                           lambda: torch.arange(n) * 0.5, ()),)

    def rows(self, x):
        """A recurrent layer over a sequence of varying length, with state."""
        def step(h, row):
            h = self.cell(row, h)
            return h, h * 2

        last, out = scan(step, self.hidden, x)
        self.hidden.copy_(last)
        return (out,)

    def backwards(self, x, y):
        """Two tensors with a varying number of rows, from the last one on."""
        return scan(lambda c, rows: (c * 0.5 + rows[0], (c * rows[1]).sum()),
                    torch.zeros(WIDTH), [x, y], reverse=True)

    def positive(self, x):
        """A size from data in each row."""
        return (torch_map(lambda row: row[row > 0].sum(), x),)

    def picked(self, places):
        """A number from data in each row."""
        def step(c, place):
            k = place.item()
            torch._check(k >= 0)
            torch._check(k < 5)
            return c + self.table.narrow(0, k, 1)[0], c * 2

        return scan(step, torch.zeros(2), places)

    def checked(self, x):
        """A number from data in each row that only a check reads."""
        def step(c, row):
            torch._check((row > 0).sum().item() <= WIDTH)
            return c + row, c * 2

        return scan(step, torch.zeros(WIDTH), x)


def main():
    recorder = RawRecorder(LoopSizes(), "loop_sizes")
    size = Dim("n", min=2, max=MOST)
    number = torch.tensor

    def rows(count, width=WIDTH):
        return torch.randn(count, width)

    recorder.method("bounded", (rows(4), number(2)), ({0: size}, None))
    recorder.method("widths", (rows(3, 4),), ({1: size},))
    recorder.method("mixed", (rows(3, 4),), ({1: size},))
    recorder.method("each", (rows(3, 4),), ({1: size},))
    recorder.method("chosen", (rows(4)[:, 0],), ({0: size},))
    recorder.method("rows", (torch.randn(4, 1, 2),), ({0: size},))
    recorder.method("backwards", (rows(4), rows(4)), ({0: size}, {0: size}))
    recorder.method("positive", (rows(3),))
    recorder.method("picked", (number([3, 0, 4]),))
    recorder.method("checked", (rows(3),))
    for i, count in enumerate((2, MOST, 4, 3)):
        recorder.call("bounded", rows(count), number((0, 9, 2, 1)[i]))
        recorder.call("widths", rows(3, count))
        recorder.call("mixed", rows(3, count))
        recorder.call("each", rows(3, count))
        recorder.call("chosen", rows(count)[:, 0].abs() * (-1) ** i)
        recorder.call("rows", torch.randn(count, 1, 2))
        recorder.call("backwards", rows(count), rows(count))
        recorder.call("checked", rows(3))
    for sign in (rows(3), rows(3).abs(), -rows(3).abs()):
        recorder.call("positive", sign)
    for places in ([3, 0, 4], [0, 0, 0], [4, 4, 1]):
        recorder.call("picked", number(places))
    recorder.refuse("picked", number([1, 5, 0]))
    recorder.refuse("picked", number([1, 0, -7]))
    recorder.refuse("rows", torch.randn(MOST + 1, 1, 2))
    recorder.refuse("bounded", rows(MOST + 1), number(1))
    # A program whose Dim starts at 2 runs size 1, in PyTorch too.
    recorder.call("bounded", rows(1), number(1))
    recorder.call("rows", torch.randn(3, 1, 2))
    recorder.call("picked", number([1, 2, 3]))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
