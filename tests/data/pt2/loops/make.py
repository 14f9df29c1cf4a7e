"""Writes this set: torch.while_loop over values, state, in each other; scan, map.

    python make.py          (PyTorch 2.13, safetensors)
"""

import importlib.util
import os

import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

HERE = os.path.dirname(os.path.abspath(__file__))


def branches_set():
    """The recorder of the set with branches, which writes here."""
    path = os.path.join(HERE, "..", "branches", "make.py")
    spec = importlib.util.spec_from_file_location("branches_make", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.HERE = HERE
    return module


class Loops(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(4.0))
        self.register_buffer("cache", torch.zeros(6, 3))
        self.register_buffer("last", torch.zeros((), dtype=torch.int64))
        self.w = torch.nn.Parameter(torch.linspace(-1, 1, 9).view(3, 3))

    def count(self, n):
        """The number of iterations is an input; it may be 0."""
        return while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i),
                          (torch.zeros_like(n), torch.zeros_like(n)))

    def newton(self, x):
        """Square roots, until the largest step is small."""
        def body(y, step):
            new = (y + x / y) / 2
            return new, (new - y).abs().max()

        y, _ = while_loop(lambda y, step: step > 1e-4, body,
                          (x / 2 + 1, x.sum() * 0 + 1))
        return y

    def exchange(self, n, a, b):
        """Two carried values change places; a third one stays."""
        i, p, q, r = while_loop(lambda i, p, q, r: i < n,
                                lambda i, p, q, r: (i + 1, q.clone(),
                                                    p.clone(), r.clone()),
                                (torch.zeros_like(n), a, b, a + b))
        return p, q, r

    def rotate(self, n, x):
        """The next values are views and operands of each other."""
        def body(i, p, q):
            return i + 1, q.t().contiguous(), (p + q) @ self.w

        i, p, q = while_loop(lambda i, p, q: i < n, body,
                             (torch.zeros_like(n), x, x * 2))
        return p - q + x

    def nested(self, n, x):
        """A loop in a loop; both read values from outside."""
        y = x.tanh()

        def outer(i, s):
            j, t = while_loop(lambda j, t: j < i,
                              lambda j, t: (j + 1, t * 0.5 + y),
                              (torch.zeros_like(n), s + x))
            return i + 1, t - s * y

        i, s = while_loop(lambda i, s: i < n, outer,
                          (torch.zeros_like(n), torch.zeros_like(x)))
        return s, y

    def chosen(self, n, x):
        """torch.cond in a loop."""
        y = x.exp()

        def body(i, s):
            t = torch.cond(s.sum() > 1, lambda s, y: s - y * y,
                           lambda s, y: (s + y) @ self.w, (s, y))
            return i + 1, t

        i, s = while_loop(lambda i, s: i < n, body, (torch.zeros_like(n), x))
        return s

    def guarded(self, n, x):
        """A loop in torch.cond."""
        def repeat(n, x):
            i, s = while_loop(lambda i, s: i < n,
                              lambda i, s: (i + 1, (s @ self.w).tanh() + x),
                              (torch.zeros_like(n), x * 1))
            return s

        return torch.cond(x.sum() > 0, repeat, lambda n, x: -x, (n, x)) * 2

    def grow(self, n):
        """A loop changes a state."""
        i, a = while_loop(lambda i, a: i < n,
                          lambda i, a: (i + 1, a * 2 + self.last),
                          (torch.zeros_like(n), self.a))
        self.a.copy_(a)
        return a.sum()

    def decode(self, n, x):
        """Rows are appended to a cache, which each iteration reads."""
        def body(i, y, cache):
            cache = cache.index_put((i.view(1),), y)
            return i + 1, (cache.sum(0, keepdim=True) @ self.w).tanh(), cache

        i, y, cache = while_loop(lambda i, y, cache: i < n, body,
                                 (self.last.clone(), x, self.cache))
        self.cache.copy_(cache)
        self.last.copy_(i)
        return y

    def follow(self, n, x):
        """A loop reads the old content of a state that is updated after."""
        i, s = while_loop(lambda i, s: i < n,
                          lambda i, s: (i + 1, s + self.a),
                          (torch.zeros_like(n), x))
        self.a.add_(s)
        return s + self.a

    def recur(self, h, xs):
        """A recurrent cell by scan, with two stacked results."""
        def cell(h, x):
            new = (h @ self.w + x).tanh()
            return new, (new * 2, new.sum(1))

        return scan(cell, h, xs)

    def backward(self, h, xs):
        """A scan from the last row; its initial value is read after it."""
        last, sums = scan(lambda h, x: (h + x, h * x), h, xs, reverse=True)
        return last - h, sums

    def each(self, xs, ys, z):
        """map over rows of two operands."""
        return map_rows(lambda rows, z: (rows[0] @ self.w + rows[1] * z),
                        (xs, ys), z)

    def remember(self, xs):
        """A scan whose carried value is a state."""
        a, seen = scan(lambda a, x: (a * 0.5 + x, a + x), self.a, xs)
        self.a.copy_(a)
        return seen


def main():
    torch.manual_seed(11)
    made = branches_set()
    recorder = made.Recorder(Loops().eval())
    number = [torch.tensor(n) for n in range(7)]
    x = torch.randn(3, 3)
    row = torch.randn(1, 3)
    four = torch.tensor([1.0, -2.0, 3.0, 0.5])
    recorder.method("count", (number[3],))
    recorder.method("newton", (x.abs() + 0.1,))
    recorder.method("exchange", (number[3], x, x + 1))
    recorder.method("rotate", (number[3], x))
    recorder.method("nested", (number[3], x))
    recorder.method("chosen", (number[3], x))
    recorder.method("guarded", (number[3], x))
    recorder.method("grow", (number[3],))
    recorder.method("decode", (number[3], row))
    recorder.method("follow", (number[3], four))
    rows = torch.randn(5, 2, 3)
    recorder.method("recur", (row.repeat(2, 1), rows))
    recorder.method("backward", (row, torch.randn(4, 1, 3)))
    recorder.method("each", (rows, rows + 1, row))
    recorder.method("remember", (torch.randn(3, 4),))
    with torch.no_grad():
        recorder.call("recur", row.repeat(2, 1), rows)
        recorder.call("recur", row.repeat(2, 1) * 2, rows * 3)
        recorder.call("backward", row, torch.randn(4, 1, 3))
        recorder.call("each", rows, rows + 1, row)
        recorder.call("remember", torch.randn(3, 4))
        recorder.call("remember", torch.randn(3, 4))
        for n in (3, 0, 1, 6):
            recorder.call("count", number[n])
            recorder.call("exchange", number[n], x, x + 1)
            recorder.call("rotate", number[n], x)
            recorder.call("nested", number[n], x)
            recorder.call("chosen", number[n], x)
            recorder.call("guarded", number[n], x)
            recorder.call("guarded", number[n], x.abs())
            recorder.call("follow", number[n], four)
        for value in (x.abs() + 0.1, torch.full((3, 3), 1e4)):
            recorder.call("newton", value)
        for n in (2, 0, 1):
            recorder.call("grow", number[n])
        for n in (2, 2, 3, 6):
            recorder.call("decode", number[n], row)
        recorder.call("grow", number[2])
    recorder.write()


if __name__ == "__main__":
    main()
