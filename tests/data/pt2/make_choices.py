"""Writes the set `choices` of this folder: torch.cond whose branches return
tensors of different sizes, and integers; and a map whose rows go through a loop
with a choice; as torch.export gives them, and in core/ as run_decompositions()
does.

    pip install torch==2.13 safetensors
    python make_choices.py
"""

import torch
from make_in_place import RawRecorder
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

MOST, WIDTH = 6, 3


class Choices(nn.Module):
    states = ("total",)

    def __init__(self):
        super().__init__()
        torch.manual_seed(33)
        self.register_buffer("total", torch.zeros(WIDTH))
        self.layer = nn.Linear(WIDTH, WIDTH).requires_grad_(False)

    def rows(self, x, flag):
        """All rows but the first, or all rows twice; their sum is state."""
        y = torch.cond(flag > 0, lambda x: x[1:] * 2,
                       lambda x: torch.cat([x, x]), (x,))
        self.total.add_(y.sum(0))
        return y + 1, self.total * 1

    def both(self, x, flag):
        """Two sizes of one result, one of another, and an integer."""
        y, z, k = torch.cond(flag > 0,
                             lambda x: (x[:2, 1:4] * 2, x[0] * 1, 3),
                             lambda x: (torch.cat([x, x], 1), x[:, 0] * 1, 5),
                             (x,))
        return y.transpose(0, 1) + 1, z * k, y.sum(1)

    def count(self, x, flag):
        """A number of rows that the branches return."""
        n = torch.cond(flag > 0, lambda: 2, lambda: 0, ())
        torch._check(n <= 2)
        return self.layer(x[:n]), x.narrow(0, n, 1)

    def found(self, x, flag):
        """What is positive, or the places of what is small."""
        y = torch.cond(flag > 0, lambda x: x[x > 0] * 2,
                       lambda x: (x < 0.5).nonzero().squeeze(1).float(), (x,))
        return y + 1, y.sum()

    def turns(self, x, n):
        """A choice of rows in each iteration of a loop."""
        def body(i, h):
            rows = torch.cond(h.sum() > 0, lambda: x[:2] * 1, lambda: x[1:] * 2, ())
            return i + 1, h * 0.5 + torch.relu(self.layer(rows)).amax(0) - 0.4

        return while_loop(lambda i, h: i < n, body,
                          (torch.zeros((), dtype=torch.int64), torch.zeros(WIDTH)))

    def each(self, x, limits):
        """A loop with a choice for each row."""
        def row(parts):
            x, limit = parts
            n, y = while_loop(
                lambda n, y: (n < 5) & (y.amax() > 0.2),
                lambda n, y: (n + 1, torch.cond(
                    y.sum() > limit, lambda y: y * 0.5,
                    lambda y: self.layer(y).abs() + y, (y,))),
                (torch.zeros((), dtype=torch.int64), x * 1))
            return y, n.clone()

        return torch_map(row, (x, limits))


def main():
    recorder = RawRecorder(Choices(), "choices")
    number = torch.tensor

    def rows(count):
        return torch.randn(count, WIDTH)

    recorder.method("rows", (rows(4), number(1)),
                    ({0: Dim("n", min=3, max=MOST)}, None))
    recorder.method("both", (torch.randn(4, 5), number(1)))
    recorder.method("count", (rows(4), number(1)))
    recorder.method("found", (torch.randn(4), number(1)),
                    ({0: Dim("n", min=2, max=MOST)}, None))
    recorder.method("turns", (rows(4), number(1)))
    recorder.method("each", (rows(4), torch.randn(4)),
                    ({0: Dim("n", min=2, max=MOST)},) * 2)
    for i, count in enumerate((3, MOST, 4, 3)):
        flag = number(i % 2)
        recorder.call("rows", rows(count), flag)
        recorder.call("both", torch.randn(4, 5), flag)
        recorder.call("count", rows(4), flag)
        recorder.call("turns", rows(4), number((0, 1, 5, 2)[i]))
        recorder.call("each", rows(count), torch.randn(count))
    for sign in (1, -1):
        for flag in (0, 1):
            recorder.call("found", torch.rand(MOST) * sign, number(flag))
    recorder.refuse("rows", rows(MOST + 1), number(0))
    recorder.refuse("found", torch.rand(MOST + 1), number(0))
    recorder.call("rows", rows(MOST), number(0))
    recorder.call("found", torch.rand(3), number(1))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
