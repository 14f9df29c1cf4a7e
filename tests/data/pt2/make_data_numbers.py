"""Writes the set `data_numbers` of this folder: floats and truth values that
item() reads from tensors, as operands and as results, torch.vmap and associative_scan, as torch.export
gives them, and in core/ as run_decompositions() does.

    pip install torch==2.13 safetensors
    python make_data_numbers.py
"""

import torch
from make_in_place import RawRecorder
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch.export import Dim

MOST, WIDTH = 7, 3


class DataNumbers(nn.Module):
    states = ()

    def __init__(self):
        super().__init__()
        torch.manual_seed(37)
        self.register_buffer("gain", torch.full((), 0.5))
        self.layer = nn.Linear(WIDTH, WIDTH)

    def scaled(self, x, single, double, half):
        """Floats of all types as operands of float32."""
        return (x * single.item() + double.item() - half.item(),
                torch.arange(4) * single.item())

    def doubled(self, x, single, double):
        """Operators that compute with doubles."""
        return (x.double() * double.item() + single.item(),
                x.double() > double.item())

    def replaced(self, x, single, double):
        """Operators that take numbers: they get tensors."""
        mask = x > single.item()
        return (x.masked_fill(mask, double.item()), x.clamp(max=single.item()),
                torch.where(mask, x, double.item()), x.abs().pow(single.item()),
                x < double.item(), torch.full((2, 3), double.item()) + x.sum())

    def computed(self, x, single, double):
        """Functions of numbers, and a choice by their order."""
        a, b = single.item(), double.item()
        y = x * (2.0 - a * 0.1 + 1 / (b + 3)) + (-a) ** 2
        return (y, torch.cond(a * 2 >= b, lambda y: y + 1, lambda y: y - 1, (y,)))

    def flagged(self, x, flag):
        """A truth value as a condition and as an operand."""
        y = torch.cond(flag.item(), lambda x: x + 1, lambda x: x - 1, (x,))
        return y * flag.item(), torch.cond((y > 0).any().item(), lambda y: y * 2,
                                           lambda y: y * 3, (y,))

    def each(self, x, y):
        """A function of a row that reads what is outside of it."""
        def row(a, b):
            return (self.layer(a) * b[0], (a * 2).sum() + b.mean() * self.gain,
                    torch.ones(2), a)
        return torch.vmap(row)(x, y)

    def columns(self, x, y):
        """Another dimension than the first, and an operand that is shared."""
        return torch.vmap(lambda a, b: (self.layer(a) @ b, a.softmax(0)),
                          in_dims=(1, None))(x, y)

    def pairs(self, x, y):
        """A vmap in a vmap."""
        return (torch.vmap(lambda a: torch.vmap(
            lambda b: b * a.sum() + self.gain)(y))(x),)

    def recurrence(self, gains, x):
        """An associative scan with two tensors."""
        return associative_scan(
            lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (gains, x), 0,
            combine_mode="generic")

    def products(self, x):
        """An associative scan over matrices, from the end."""
        return (associative_scan(lambda a, b: b @ a, x, 1, reverse=True,
                                 combine_mode="generic"),)

    def repeated(self, x, counts):
        """Repeats rows to as many as another tensor has."""
        owner = torch.repeat_interleave(torch.arange(counts.shape[0]), counts,
                                        output_size=x.shape[0])
        return x + owner[:, None], counts.cumsum(0)[owner]

    def returned(self, x, single):
        """Floats as results: read, computed from such, and from a size."""
        scale = single.item()
        return x / scale, scale, scale * 2 + 1, x.shape[0] / 2

    def written(self, x, single, place):
        """A float that is written into tensors."""
        s = single.item()
        y = x.clone()
        y[0] = s
        y[y < 0] = s
        y[:, 1].fill_(s)
        z = torch.full_like(x, s) + x.new_full((WIDTH,), s)
        return y, z, x.index_fill(0, place, s), x.clone().clamp_(max=s).mul_(s)


def main():
    recorder = RawRecorder(DataNumbers(), "data_numbers")
    size = Dim("n", min=2, max=MOST)

    def single(value):
        return torch.tensor(value)

    def double(value):
        return torch.tensor(value, dtype=torch.float64)

    def half(value):
        return torch.tensor([value], dtype=torch.float16)

    def rows(count, width=WIDTH):
        return torch.randn(count, width)

    numbers = (single(2.0), double(0.3))
    recorder.method("scaled", (rows(4), *numbers, half(0.5)),
                    ({0: size}, None, None, None))
    for name in ("doubled", "replaced", "computed"):
        recorder.method(name, (rows(4), *numbers), ({0: size}, None, None))
    recorder.method("flagged", (rows(4), torch.tensor(True)), ({0: size}, None))
    recorder.method("returned", (rows(4), single(2.5)), ({0: size}, None))
    recorder.method("written", (rows(4), single(2.5), torch.tensor([1])),
                    ({0: size}, None, None))
    recorder.method("each", (rows(4), rows(4)), ({0: size}, {0: size}))
    recorder.method("columns", (rows(WIDTH, 4), rows(WIDTH, 2)))
    recorder.method("pairs", (rows(4), rows(5)), ({0: size}, None))
    recorder.method("recurrence", (rows(6), rows(6)))
    recorder.method("products", (torch.randn(2, 5, 2, 2),))
    recorder.method("repeated", (rows(4), torch.tensor([1, 3, 0])),
                    ({0: size}, None))
    counts = ((2, [2, 0, 0]), (MOST, [3, 1, 3]), (4, [0, 4, 0]))
    for i, (count, repeats) in enumerate(counts):
        numbers = single((1.5, -0.25, 0.0)[i]), double((0.1, 1e3, -0.5)[i])
        recorder.call("scaled", rows(count), *numbers, half(0.25 * i))
        for name in ("doubled", "replaced", "computed"):
            recorder.call(name, rows(count), *numbers)
        recorder.call("flagged", rows(count) * (-1) ** i, torch.tensor(i != 1))
        recorder.call("returned", rows(count), single(1.5 - i))
        recorder.call("written", rows(count), single(0.5 - i),
                      torch.tensor([count - 1]))
        recorder.call("each", rows(count), rows(count))
        recorder.call("columns", rows(WIDTH, 4), rows(WIDTH, 2))
        recorder.call("pairs", rows(count), rows(5))
        recorder.call("recurrence", rows(6), rows(6))
        recorder.call("products", torch.randn(2, 5, 2, 2))
        recorder.call("repeated", rows(count), torch.tensor(repeats))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
