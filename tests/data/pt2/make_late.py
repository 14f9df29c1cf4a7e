"""Writes the sets `late` and `routed` of this folder: sizes and numbers that the elements of
tensors decide. `routed` needs operators that ExecuTorch's runtime does not have or
caps that the archive does not state. Each method is called with the least size, the most, sizes
between them, and 0 where it is possible.

    pip install torch==2.13 safetensors
    python make_late.py
"""

import warnings

import torch
import torch.nn.functional as F
from make_sets import Recorder
from torch.export import Dim

warnings.filterwarnings("ignore")

ROWS, WIDTH, EXPERTS = 8, 3, 3


def bounded(count, most, least=0):
    """The number as a size between `least` and `most`."""
    number = count.item()
    torch._check(number >= least)
    torch._check(number <= most)
    return number


class Late(torch.nn.Module):
    states = ("cache",)

    def __init__(self):
        super().__init__()
        torch.manual_seed(11)
        self.register_buffer("cache", torch.zeros(ROWS, WIDTH))
        self.experts = torch.nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH))
        self.layer = torch.nn.Linear(WIDTH, 5)

    # ---- sizes that are read as a number

    def head(self, x, count):
        rows = bounded(count, ROWS)
        return x[:rows] * 2, self.layer(x)[:rows]

    def tail(self, x, count):
        rows = bounded(count, ROWS)
        return torch.relu(x.narrow(0, rows, ROWS - rows)), x[:, :2] + 1

    def columns(self, x, count):
        width = bounded(count, WIDTH, 1)
        return x[:, :width].sum(1), x[:, :width].softmax(1)

    def created(self, count):
        size = bounded(count, 16)
        return (torch.arange(size) * 3, torch.zeros(size, 2) + 1,
                torch.full((2, size), 0.5), torch.ones(size).cumsum(0))

    def repeated(self, x, count):
        size = bounded(count, 6)
        return (x[:1].expand(size, WIDTH) + 1, x[:2].repeat(size, 1),
                x[0].unsqueeze(0).expand(size, WIDTH) @ x.T)

    def reshaped(self, x, count):
        size = bounded(count, ROWS)
        part = x[:size]
        return (part.reshape(-1) + 1, part.unsqueeze(1).transpose(0, 1) * 2,
                F.pad(part, (0, 0, 1, 0)), torch.cat([part, x]))

    def two(self, x, counts):
        first = bounded(counts[0], ROWS)
        second = bounded(counts[1], ROWS)
        torch._check(first + second <= ROWS)
        return (x[:first], x.narrow(0, first, second) + 1,
                torch.cat([x[:first] * 2, x.narrow(0, first, second)]))

    def sequence(self, x, length):
        size = bounded(length, ROWS, 1)
        keys = x[:size]
        return ((x @ keys.T).softmax(-1) @ keys, keys.mean(0), keys.amax(0))

    # ---- sizes that are counted

    def places(self, x):
        found = (x > 0).nonzero()
        return found, torch.argwhere(x > 1), found.float().sum(1) + 1

    def where(self, x):
        row, column = torch.where(x > 0)
        return row + column, x[row, column] * 2

    def chosen(self, x, rows):
        return (x[x > 0] + 1, torch.relu(x[rows]), x[:, 0][rows] * 2,
                torch.masked_select(x, x > 0.5).exp())

    def between(self, x, rows):
        cube = x.reshape(2, ROWS // 2, WIDTH)
        return cube[:, rows[:ROWS // 2]] * 2, cube[rows[:2]]

    def written(self, x, y, rows):
        a = torch.index_put(x, (x > 0,), y[x > 0] * 2)
        b = torch.index_put(x, (rows,), y[rows] + 1)
        return a, b, torch.masked_scatter(x, x > 0, y), x.masked_fill(x > 0, 1)

    def spread(self, x, repeats):
        return torch.repeat_interleave(x, repeats, dim=0) * 2, x + 1

    def indices(self, repeats):
        return (torch.repeat_interleave(repeats) + 1,)

    def unlimited(self, count):
        size = count.item()
        torch._check(size >= 0)
        return torch.zeros(size, 4) + 1, torch.arange(size)

    def varying(self, x):
        found = x[:, 0] > 0
        return found.nonzero() + 1, x[found] * 2

    def numbers(self, x, count):
        number = count.item()
        return x * number + (number - 3) * 2, x - number

    def inside(self, x):
        """A size that only one branch has."""
        return (torch.cond(x.sum() > 0, lambda x: x[x[:, 0] > 0].sum(0),
                           lambda x: x.sum(0) * 2, (x,)),)

    def scaled(self, x, factor):
        number = factor.item()
        return x * number, (x + number) / (number + x * x)

    # ---- states

    def append(self, x, count):
        rows = bounded(count, ROWS - 1)
        self.cache[rows:rows + 1] = x[:1]
        return (self.cache[:rows + 1] * 2,)

    def fill(self, x, count):
        rows = bounded(count, ROWS)
        self.cache[:rows] = x[:rows] + 1
        return (self.cache.sum(0),)

    # ---- mixtures of experts

    def by_mask(self, x, expert):
        out = torch.zeros_like(x)
        for e in range(EXPERTS):
            rows = (expert == e).nonzero().squeeze(1)
            out = out.index_add(0, rows, x[rows] @ self.experts[e])
        return (out,)

    def by_sort(self, x, expert):
        order = expert.argsort(stable=True)
        counts = torch.zeros(EXPERTS, dtype=torch.int64)
        counts = counts.scatter_add(0, expert, torch.ones_like(expert))
        sorted_rows = x[order]
        parts, start = [], 0
        for e in range(EXPERTS):
            count = bounded(counts[e], ROWS)
            torch._check(start + count <= ROWS)
            parts.append(sorted_rows.narrow(0, start, count) @ self.experts[e])
            start = start + count
        return (torch.cat(parts),)


class Routed(Late):
    states = ()


class RawRecorder(Recorder):
    def plain(self, exported):
        """As torch.export leaves it, with narrow, matmul and the like."""
        return exported


def numbers(*values):
    return torch.tensor(values, dtype=torch.int64)


routes = (numbers(0, 1, 2, 1, 0, 0, 2, 1), numbers(*[2] * ROWS),
          numbers(*[0] * ROWS), numbers(2, 2, 0, 0, 2, 0, 2, 0))


def write_late():
    recorder = RawRecorder(Late(), "late")
    x, y = torch.randn(ROWS, WIDTH), torch.randn(ROWS, WIDTH) + 10
    rows = torch.tensor([1, 0, 1, 1, 0, 0, 1, 0]).bool()

    later = []  # every archive has the state from before the first call

    def each(name, *calls):
        recorder.method(name, calls[0])
        later.extend((name, inputs) for inputs in calls)

    def sizes(name, *counts):
        each(name, *((x, torch.tensor(n)) for n in counts))

    sizes("head", 5, 1, 0, 8)
    sizes("tail", 5, 8, 0, 7)
    sizes("columns", 2, 1, 3)
    each("created", *((torch.tensor(n),) for n in (5, 0, 1, 16)))
    sizes("repeated", 4, 1, 0, 6)
    sizes("reshaped", 3, 1, 0, 8)
    each("two", *((x, numbers(*n)) for n in ((3, 2), (0, 0), (8, 0), (4, 4),
                                             (0, 8), (1, 0))))
    sizes("sequence", 3, 1, 8)
    none, all_rows = torch.zeros(ROWS).bool(), torch.ones(ROWS).bool()
    each("places", *((t,) for t in (x, x.abs() + 2, -x.abs(),
                                    torch.eye(ROWS)[:, :WIDTH] * 2)))
    for name in ("chosen", "between"):
        each(name, *((t, r) for t, r in ((x, rows), (x.abs() + 1, all_rows),
                                         (-x.abs(), none), (x, ~rows))))
    each("written", *((t, y, r) for t, r in ((x, rows), (x.abs(), all_rows),
                                             (-x.abs(), none))))
    signs = ((x,), (x.abs() + 1,), (-x.abs(),))
    each("where", *signs)
    each("inside", *signs)
    each("scaled", *((x, torch.tensor(f)) for f in (2.5, -1.0, 0.125)))
    sizes("append", 0, 1, 5, 7)
    sizes("fill", 3, 0, 8, 1)
    each("by_mask", *((x, e) for e in routes))
    for name, inputs in later:
        recorder.call(name, *inputs)
    recorder.write(1e-5)


def write_routed():
    recorder = Recorder(Routed(), "routed")
    x = torch.randn(ROWS, WIDTH)

    def each(name, *calls, sizes=None):
        recorder.method(name, calls[0], sizes)
        for inputs in calls:
            recorder.call(name, *inputs)

    each("by_sort", *((x, e) for e in routes))
    counts = (numbers(1, 0, 2, 0, 3, 1, 0, 1), numbers(*[0] * ROWS),
              numbers(*[2] * ROWS), numbers(0, 0, 0, 16, 0, 0, 0, 0))
    each("spread", *((x, c) for c in counts))
    each("indices", *((c,) for c in counts))
    each("unlimited", *((torch.tensor(n),) for n in (5, 0, 1, 16)))
    rows = Dim("rows", min=2, max=12)
    each("varying", *((t,) for t in (torch.randn(5, WIDTH), x.abs(), -x.abs(),
                                     torch.randn(12, WIDTH).abs() + 1,
                                     torch.randn(2, WIDTH))),
         sizes=({0: rows},))
    each("numbers", *((x, torch.tensor(n)) for n in (5, 0, -7, 1000000)))
    recorder.write(1e-5)


if __name__ == "__main__":
    write_late()
    write_routed()
