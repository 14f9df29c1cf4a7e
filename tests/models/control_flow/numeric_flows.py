"""Numerical methods that iterate."""

import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from .flow_model import Flow, Method, flow, number, zero


@flow
def newton_root():
    """Square roots by Newton's iteration, until the residual is small."""
    def forward(self, a, limit):
        return while_loop(
            lambda x, n: ((x * x - a).abs().amax() > 1e-3) & (n < limit),
            lambda x, n: ((x + a / x) / 2, n + 1), (torch.ones_like(a), zero()))

    size = torch.export.Dim("n", min=1, max=6)
    calls = {"middle": (torch.tensor([2.0, 9.0, 16.0]), number(50)),
             "least": (torch.tensor([1.0]), number(50)),
             "most": (torch.tensor([1e4, 3, 0.1, 2, 5, 7]), number(99)),
             "zero": (torch.tensor([4.0, 2.0]), number(0))}
    return Flow(Method(forward), calls, ({0: size}, None),
                overflow=((torch.ones(7), number(1)),))


@flow
def bisection():
    """Roots of a cubic by bisection; a choice of the half in each step."""
    def forward(self, low, high, limit):
        def value(x):
            return x * x * x + self.a * x - self.b

        def body(low, high, n):
            middle = (low + high) / 2
            left = (value(low) > 0) != (value(middle) > 0)
            return torch.where(left, low, middle), torch.where(left, middle, high), n + 1

        return while_loop(
            lambda low, high, n: ((high - low).max() > 1e-4) & (n < limit), body,
            (low.clone(), high.clone(), zero()))

    model = Method(forward, a=torch.tensor([1.0, 2.0, 3.0]),
                   b=torch.tensor([1.0, 5.0, 2.0]))
    wide = (torch.full((3,), -4.0), torch.full((3,), 4.0))
    calls = {label: (*wide, number(n))
             for label, n in (("zero", 0), ("least", 1), ("middle", 7), ("most", 90))}
    return Flow(model, calls)


@flow
def collatz():
    """Lengths of Collatz sequences of several numbers at once."""
    def forward(self, x):
        def body(v, n):
            runs = v > 1
            v = torch.where(runs, torch.where(v % 2 == 0, v // 2, 3 * v + 1), v)
            return v, n + runs

        return while_loop(lambda v, n: (v > 1).any(), body,
                          (x.clone(), torch.zeros_like(x)))

    calls = {"zero": (number([1, 1, 1]),), "least": (number([2, 1, 1]),),
             "middle": (number([27, 1, 7]),), "most": (number([97, 871, 6171]),)}
    return Flow(Method(forward), calls)


@flow
def euclid():
    """Greatest common divisors, by a loop with a remainder."""
    def forward(self, a, b):
        def body(a, b):
            safe = torch.where(b == 0, 1, b)
            return torch.where(b == 0, a, b), torch.where(b == 0, 0, a % safe)

        return while_loop(lambda a, b: (b != 0).any(), body, (a.clone(), b.clone()))

    calls = {"zero": (number([4, 7]), number([0, 0])),
             "middle": (number([12, 35]), number([18, 21])),
             "most": (number([6765, 987]), number([4181, 610]))}
    return Flow(Method(forward), calls)


def symmetric(n):
    a = torch.randn(n, n)
    return a @ a.T + n * torch.eye(n)


@flow
def conjugate_gradient():
    """Solves a system of equations; starts where the last call ended."""
    def forward(self, a, b, limit):
        def body(x, r, p, rr, n):
            ap = a @ p
            alpha = rr / (p @ ap)
            x, r = x + alpha * p, r - alpha * ap
            fresh = r @ r
            return x, r, r + fresh / rr * p, fresh, n + 1

        r = b - a @ self.x
        x, r, _, rr, n = while_loop(
            lambda x, r, p, rr, n: (rr > 1e-6) & (n < limit), body,
            (self.x.clone(), r, r.clone(), r @ r, zero()))
        self.x.copy_(x)
        return x, rr.sqrt(), n

    calls = {label: (symmetric(5), torch.randn(5), number(n))
             for label, n in (("middle", 3), ("zero", 0), ("most", 20), ("least", 1))}
    return Flow(Method(forward, ("x",), x=torch.zeros(5)), calls, tolerance=1e-3)


@flow
def power_iteration():
    """The largest eigenvalue, until it changes little; any size of matrix."""
    def forward(self, a):
        def body(v, old, new, n):
            w = a @ v
            v = w / w.norm()
            return v, new.clone(), v @ (a @ v), n + 1

        n = a.shape[0]
        start = torch.ones(n) / torch.full((n,), 1.0).norm()
        v, _, value, steps = while_loop(
            lambda v, old, new, n: ((new - old).abs() > 1e-4 * new.abs()) & (n < 40),
            body, (start, torch.zeros(()), torch.ones(()), zero()))
        return v, value

    n = torch.export.Dim("n", min=2, max=6)
    calls = {"middle": (torch.diag(torch.tensor([4.0, 1.0, 0.5])) + 0.1,),
             "least": (torch.diag(torch.tensor([2.0, 1.0])) + 0.1,),
             "most": (torch.diag(torch.tensor([9.0, 5, 3, 2, 1, 1])) + 0.1,)}
    return Flow(Method(forward), calls, ({0: n, 1: n},), tolerance=1e-3,
                overflow=((torch.eye(7),),))


@flow
def adaptive_ode():
    """A differential equation with steps as large as the error allows."""
    def forward(self, y, end):
        def slope(y):
            return torch.tanh(self.field(y))

        def body(t, h, y, n):
            h = torch.minimum(h, end - t)
            one = slope(y)
            two = slope(y + h * one)
            error = (h * (two - one) / 2).abs().max()
            good = error < 1e-2
            fresh = torch.cond(good, lambda y, s, t: y + s, lambda y, s, t: y * t,
                               (y, h * (one + two) / 2, torch.ones(())))
            factor = (0.9 * (1e-2 / (error + 1e-9)).sqrt()).clamp(0.3, 2.0)
            return torch.where(good, t + h, t), h * factor, fresh, n + 1

        return while_loop(lambda t, h, y, n: (t < end) & (n < 60), body,
                          (torch.zeros(()), torch.full((), 0.1), y.clone(), zero()))

    calls = {label: (torch.randn(3), torch.tensor(end)) for label, end in
             (("zero", 0.0), ("least", 0.01), ("middle", 1.0), ("most", 3.0))}
    return Flow(Method(forward, field=nn.Linear(3, 3)), calls, tolerance=1e-3)


@flow
def kalman_filter():
    """A Kalman filter by scan, whose estimate stays for the next call."""
    def forward(self, measured):
        def step(carry, z):
            x, p = carry
            x = self.a @ x
            p = self.a @ p @ self.a.transpose(0, 1) + self.q
            back = self.h.transpose(0, 1)
            gain = p @ back / (self.h @ p @ back + 0.1)
            x = x + gain @ (z[:, None] - self.h @ x)
            p = p - gain @ (self.h @ p)
            return [x, p], [x.squeeze(-1) + 0, p.sum(0)]

        (x, p), rows = scan(step, [self.x.clone(), self.p.clone()], measured)
        self.x.copy_(x)
        self.p.copy_(p)
        return rows

    model = Method(forward, ("x", "p"), a=torch.tensor([[1.0, 0.1], [0.0, 1.0]]),
                   h=torch.tensor([[1.0, 0.0]]), q=0.01 * torch.eye(2),
                   x=torch.zeros(2, 1), p=torch.eye(2))
    calls = {label: (torch.randn(n, 1),)
             for label, n in (("middle", 5), ("least", 2), ("most", 9))}
    return Flow(model, calls, ({0: torch.export.Dim("n", min=2, max=9)},),
                overflow=((torch.randn(10, 1),),))


@flow
def k_means():
    """Clusters points, until no point changes its cluster."""
    def forward(self, points, centers):
        def body(centers, old, new, n):
            far = ((points[:, None] - centers[None]) ** 2).sum(-1)
            nearest = far.argmin(-1)
            member = (nearest[:, None] == torch.arange(3)).to(torch.float32)
            count = member.sum(0)[:, None]
            means = member.T @ points / count.clamp(min=1)
            return torch.where(count > 0, means, centers), new.clone(), nearest, n + 1

        n = points.shape[0]
        centers, _, nearest, steps = while_loop(
            lambda centers, old, new, n: (old != new).any() & (n < 20), body,
            (centers.clone(), torch.full((n,), -2), torch.full((n,), -1), zero()))
        return centers, nearest, steps

    points = torch.export.Dim("points", min=2, max=12)
    calls = {label: (torch.randn(n, 2) * 3, torch.randn(3, 2))
             for label, n in (("middle", 7), ("least", 2), ("most", 12))}
    return Flow(Method(forward), calls, ({0: points}, None),
                overflow=((torch.randn(13, 2), torch.randn(3, 2)),))


@flow
def page_rank():
    """Ranks of the nodes of a graph, until they change little."""
    def forward(self, links, limit):
        out = links.sum(0)
        flows = torch.where(out > 0, links / out.clamp(min=1), 1 / 6)

        def body(rank, change, n):
            fresh = 0.15 / 6 + 0.85 * (flows @ rank)
            return fresh, (fresh - rank).abs().sum(), n + 1

        return while_loop(lambda rank, change, n: (change > 1e-4) & (n < limit), body,
                          (torch.full((6,), 1 / 6), torch.ones(()), zero()))

    calls = {label: ((torch.rand(6, 6) > 0.6).float(), number(n)) for label, n in
             (("zero", 0), ("least", 1), ("middle", 5), ("most", 99))}
    return Flow(Method(forward), calls)


@flow
def prefix_sums():
    """A linear recurrence by associative_scan."""
    def forward(self, gains, x):
        def combine(left, right):
            return left[0] * right[0], right[0] * left[1] + right[1]

        return associative_scan(combine, (gains, x), dim=0, combine_mode="generic")

    calls = {label: (torch.rand(6, 3), torch.randn(6, 3))
             for label in ("middle", "most", "least")}
    return Flow(Method(forward), calls)


@flow
def mandelbrot():
    """How many steps points take to escape; all leave at different times."""
    def forward(self, re, im, limit):
        def body(x, y, count, n):
            inside = x * x + y * y < 4
            fresh = x * x - y * y + re
            y = torch.where(inside, 2 * x * y + im, y)
            return torch.where(inside, fresh, x), y, count + inside, n + 1

        zeros = torch.zeros_like(re)
        _, _, count, n = while_loop(
            lambda x, y, count, n: (x * x + y * y < 4).any() & (n < limit), body,
            (zeros, zeros.clone(), torch.zeros_like(re, dtype=torch.int64), zero()))
        return count, n

    calls = {label: (torch.linspace(-2, 1, 12), torch.linspace(-1, 1, 12), number(n))
             for label, n in (("zero", 0), ("least", 1), ("middle", 8), ("most", 30))}
    return Flow(Method(forward), calls)


@flow
def time_warping():
    """Dynamic time warping: a scan over rows, and in it one over columns."""
    def forward(self, a, b):
        costs = (a[:, None] - b[None]).abs()

        def row(above, cost):
            def cell(carry, values):
                left, corner = carry
                cost, up = values
                best = cost + torch.minimum(torch.minimum(left, up), corner)
                return [best, up.clone()], best.clone()

            _, fresh = scan(cell, [self.far.clone(), above[0] * 1], [cost, above[1:]])
            return torch.cat([self.far.view(1), fresh]), fresh.min()

        first = torch.cat([torch.zeros(1), self.far.expand(5)])
        last, least = scan(row, first, costs)
        return last[-1], least

    calls = {label: (torch.randn(4), torch.randn(5)) for label in ("middle", "most")}
    return Flow(Method(forward, far=torch.tensor(1e6)), calls)


@flow
def while_in_cond_in_scan():
    """A loop in a choice in a scan, which read state and rows."""
    def forward(self, x, counts):
        def step(carry, rows):
            row, count = rows

            def many(c, row, count, kept):
                return while_loop(
                    lambda i, v: i < count,
                    lambda i, v: (i + 1, torch.tanh(v.flip(0) * 1.5 + row)),
                    (zero(), c * 1))[1]

            carry = torch.cond(count > 1, many,
                               lambda c, row, count, kept: c * 0.5 + row + kept,
                               (carry, row, count, self.kept))
            return carry, carry * 2

        last, rows = scan(step, torch.zeros(3), [x, counts])
        self.kept.copy_(last * 0.1)
        return last, rows

    model = Method(forward, ("kept",), kept=torch.ones(3))
    calls = {label: (torch.randn(4, 3), number(counts)) for label, counts in
             (("zero", [0] * 4), ("least", [1, 2, 0, 1]), ("middle", [3, 0, 2, 1]),
              ("most", [9, 9, 9, 9]))}
    return Flow(model, calls)


@flow
def choice_in_loop_in_map():
    """Rows one by one through a loop that halves or grows them by a choice."""
    def forward(self, x, limits):
        def row(parts):
            x, limit = parts

            def body(n, y):
                y = torch.cond(y.sum() > limit, lambda y: y * 0.5,
                               lambda y: self.layer(y).abs() + y, (y,))
                return n + 1, y

            n, y = while_loop(lambda n, y: (n < 5) & (y.amax() > 0.2), body,
                              (zero(), x * 1))
            return y, n.clone()

        return torch_map(row, (x, limits))

    model = Method(forward, layer=nn.Linear(4, 4)).requires_grad_(False)
    calls = {label: (torch.randn(n, 4), torch.randn(n))
             for label, n in (("middle", 4), ("least", 2), ("most", 7))}
    rows = torch.export.Dim("rows", min=2, max=7)
    return Flow(model, calls, ({0: rows}, {0: rows}),
                overflow=((torch.randn(8, 4), torch.randn(8)),))


@flow
def primes():
    """A sieve: a loop strikes out multiples; the result is what is left."""
    most = 40

    def forward(self, limit):
        numbers = torch.arange(most)

        def body(i, open):
            strikes = (numbers % i == 0) & (numbers > i)
            return i + 1, open & ~strikes

        _, open = while_loop(lambda i, open: i * i < limit, body,
                             (number(2), numbers > 1))
        return ((open & (numbers < limit)).nonzero().squeeze(1),)

    calls = {"zero": (number(0),), "least": (number(3),), "middle": (number(20),),
             "most": (number(most),)}
    return Flow(Method(forward), calls)
