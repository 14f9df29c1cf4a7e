"""Writes the set `inner_writes` of this folder: programs as torch.export gives
them, whose sub-graphs write into tensors that they made, and associative_scan as
one node; and in core/ what run_decompositions() makes of them.

    pip install torch==2.14.1 safetensors
    python make_inner_writes.py
"""

import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as rows_map
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from make_in_place import RawRecorder


class InnerWriter(torch.nn.Module):
    states = ("total",)

    def __init__(self):
        super().__init__()
        torch.manual_seed(12)
        self.register_buffer("total", torch.zeros(3, 4))
        self.register_buffer("places", torch.tensor([2, 0]))
        self.register_buffer("offset", torch.tensor(0.25))

    def views(self, x, n):
        """Writes through views of views, and reads of the other views."""
        def body(i, a):
            b = a * 0.5
            whole = b.view(-1)
            left, right = b.split([2, 2], dim=1)
            left.add_(right)
            right.mul_(2).sub_(1)
            first, *_ = b.unbind(1)
            first.clamp_(max=3)
            b.t()[1].exp_().clamp_(max=2)
            b.permute(1, 0)[2:, 1:].sub_(0.5)
            halves = b.chunk(2, 1)
            halves[1].tanh_()
            b[:, 1:].diagonal().mul_(3)
            return i + 1, b + whole.sum() * 0.01 + halves[0].sum() * 0.1

        count, last = while_loop(lambda i, a: i < n, body,
                                 (torch.tensor(0), x.clone()))
        self.total.add_(last)
        return count, last

    def rows(self, x):
        """A choice within a map of varying length, both with writes."""
        def row(x):
            y = x.clone()
            y[0].mul_(2)

            def large(y, x):
                z = torch.zeros_like(y)
                z.copy_(y)
                z.masked_fill_(z > 1, 0.0)
                return z.index_put_((self.places,), x[:2], accumulate=True).clone()

            def small(y, x):
                z = y.expand(2, 4).clone()
                z[1, 1:].add_(y[:-1])
                z[0].scatter_(0, self.places, y)
                return z.sum(0)

            return torch.cond(y.sum() > 0, large, small, (y, x))

        return (rows_map(row, x),)

    def sums(self, gate, x, weight):
        """An associative scan from the end, with a buffer, a tensor and a size."""
        rows = gate.shape[0]

        def combine(a, b):
            return (a[0] * b[0], a[1] * b[0] + b[1],
                    a[2] + b[2] + weight / rows - self.offset)

        return associative_scan(combine, (gate, x, x * gate), dim=1, reverse=True)


def main():
    recorder = RawRecorder(InnerWriter(), "inner_writes")
    t, b, n = Dim("t", min=2, max=12), Dim("b", max=5), Dim("n", min=2, max=9)

    def gates(rows, length):
        return torch.rand(rows, length), torch.randn(rows, length), torch.rand(rows)

    recorder.method("views", (torch.randn(3, 4), torch.tensor(2)))
    recorder.method("rows", (torch.randn(4, 4),), ({0: n},))
    recorder.method("sums", gates(3, 7), ({0: b, 1: t}, {0: b, 1: t}, {0: b}))
    for step in (2, 0, 3):
        recorder.call("views", torch.randn(3, 4), torch.tensor(step))
        recorder.call("rows", torch.randn(2 + 2 * step, 4))
        recorder.call("sums", *gates(2 + step, 3 * step + 2))
    recorder.refuse("rows", torch.randn(10, 4))
    recorder.call("rows", torch.randn(9, 4))
    recorder.refuse("sums", *gates(2, 13))
    recorder.call("sums", *gates(5, 12))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
