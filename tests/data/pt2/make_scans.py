"""Writes the set `scans` of this folder: loops over the rows of tensors (scan,
map), as torch.export gives them, and in core/ as run_decompositions() does.

    pip install torch==2.13 safetensors
    python make_scans.py
"""

import torch
from make_in_place import RawRecorder
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch.export import Dim

STEPS, LONG, BATCH, IN, WIDTH = 5, 900, 2, 3, 4


class Scans(nn.Module):
    states = ("hidden",)

    def __init__(self):
        super().__init__()
        torch.manual_seed(29)
        self.register_buffer("hidden", torch.zeros(BATCH, WIDTH))
        self.cell = nn.GRUCell(IN, WIDTH)
        self.layer = nn.Linear(IN, WIDTH)

    def recurrent(self, x):
        """A recurrent layer whose last hidden state stays for the next call."""
        def step(h, row):
            h = self.cell(row, h)
            return h, h * 2

        last, rows = scan(step, self.hidden, x)
        self.hidden.copy_(last)
        return (rows,)

    def backwards(self, x):
        """Several carried values, which change places; the last row is first."""
        def step(carry, row):
            a, b = carry
            return [b + row, a * 0.5], [a - b, row.sum()]

        zeros = torch.zeros(IN)
        (a, b), (rows, sums) = scan(step, [zeros, zeros + 1], x, reverse=True)
        return a, b, rows, sums

    def filter(self, gains, measured):
        """A Kalman filter of one number: two sliced tensors, a choice."""
        def step(carry, rows):
            state, variance = carry
            gain, seen = rows
            variance = variance + 0.1
            k = variance / (variance + gain)
            state = torch.cond(gain.sum() > 1, lambda s, z: s * 0.9 + z * 0.1,
                               lambda s, z: s + (z - s) * 0.5, (state, seen))
            return [state, (1 - k) * variance], k.clone()

        (state, variance), ks = scan(step, [torch.zeros(1), torch.ones(1)],
                                     [gains, measured])
        return state, variance, ks

    def apply(self, x, y):
        """The same layer for each row; the number of columns varies."""
        return torch_map(lambda row, y: (self.layer(row) + y, row.sum()), x, y)

    def long(self, x):
        """So many steps that the loop stays a loop; the columns vary."""
        def step(h, row):
            return h * 0.5 + row, (h * row).relu()

        return scan(step, torch.zeros_like(x[0]), x)

    def nested(self, x):
        """A loop within a loop."""
        def outer(carry, rows):
            total, inner = scan(lambda c, v: (c + v, c * v), carry, rows)
            return total, inner

        return scan(outer, torch.ones(IN), x)


def main():
    recorder = RawRecorder(Scans(), "scans")
    recorder.method("recurrent", (torch.randn(STEPS, BATCH, IN),))
    recorder.method("backwards", (torch.randn(STEPS, IN),))
    recorder.method("filter", (torch.rand(STEPS, 1) * 2, torch.randn(STEPS, 1)))
    recorder.method("apply", (torch.randn(STEPS, 3, IN), torch.randn(WIDTH)),
                    ({1: Dim("n", min=2, max=9)}, None))
    recorder.method("long", (torch.randn(LONG, 3),),
                    ({1: Dim("m", min=2, max=4)},))
    recorder.method("nested", (torch.randn(3, BATCH, IN),))
    for rows in (3, 9, 2):
        recorder.call("recurrent", torch.randn(STEPS, BATCH, IN))
        recorder.call("backwards", torch.randn(STEPS, IN))
        recorder.call("filter", torch.rand(STEPS, 1) * 2, torch.randn(STEPS, 1))
        recorder.call("apply", torch.randn(STEPS, rows, IN), torch.randn(WIDTH))
        recorder.call("nested", torch.randn(3, BATCH, IN))
    for columns in (4, 2):
        recorder.call("long", torch.randn(LONG, columns))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
