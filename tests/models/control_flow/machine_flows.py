"""Programs: machines, searches, estimates and matchings, in loops within loops."""

import torch
import torch.nn.functional as F
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, bounded, flow, number, zero


@flow
def stack_machine():
    """A machine that runs a program of numbers on a stack: push, add, multiply,
    swap; memory that stays."""
    def forward(self, code, values):
        def body(pc, sp, stack, memory):
            op = code.index_select(0, pc.view(1)).view(())
            value = values.index_select(0, pc.view(1))
            top = stack.index_select(0, (sp - 1).clamp(min=0).view(1))
            under = stack.index_select(0, (sp - 2).clamp(min=0).view(1))

            def push(sp, stack, memory):
                return sp + 1, stack.index_copy(0, sp.view(1), value), memory.clone()

            def add(sp, stack, memory):
                stack = stack.index_copy(0, (sp - 2).view(1), top + under)
                return sp - 1, stack, memory.clone()

            def mul(sp, stack, memory):
                stack = stack.index_copy(0, (sp - 2).view(1), top * under)
                return sp - 1, stack, memory.clone()

            def store(sp, stack, memory):
                place = value.long().clamp(0, 3)
                return sp - 1, stack.clone(), memory.index_copy(0, place, top)

            def arithmetic(sp, stack, memory):
                return torch.cond(op == 1, add, mul, (sp, stack, memory))

            def other(sp, stack, memory):
                return torch.cond((op == 1) | (op == 2), arithmetic, store,
                                  (sp, stack, memory))

            sp, stack, memory = torch.cond(op == 0, push, other, (sp, stack, memory))
            return pc + 1, sp, stack, memory

        n = code.shape[0]
        pc, sp, stack, memory = while_loop(
            lambda pc, sp, stack, memory: (pc < n) & (sp >= 0), body,
            (zero(), zero(), torch.zeros(8), self.memory.clone()))
        self.memory.copy_(memory)
        return stack[:bounded(sp, 8)], pc

    calls = {label: (number(c), torch.tensor([float(v) for v in range(1, len(c) + 1)]))
             for label, c in
             (("middle", [0, 0, 1]), ("most", [0, 0, 0, 2, 1, 0, 3]), ("least", [0]),
              ("zero", [0, 3]))}
    size = Dim("n", min=1, max=7)
    return Flow(Method(forward, ("memory",), memory=torch.zeros(4)), calls,
                ({0: size}, {0: size}))


@flow
def em_mixture():
    """Expectation maximisation of a mixture of Gaussians, until the likelihood
    changes little."""
    def forward(self, x, mean):
        def body(n, mean, var, logit, old, new):
            far = ((x[:, None] - mean[None]) ** 2 / var + var.log()).sum(-1)
            joint = logit.log_softmax(0) - 0.5 * far
            total = joint.logsumexp(-1, keepdim=True)
            share = (joint - total).exp()
            weight = share.sum(0) + 1e-6
            mean = share.T @ x / weight[:, None]
            square = (x[:, None] - mean[None]) ** 2
            var = (share[..., None] * square).sum(0) / weight[:, None] + 0.05
            return n + 1, mean, var, weight.log(), new.clone(), total.mean()

        n, mean, var, logit, _, last = while_loop(
            lambda n, mean, var, logit, old, new: (n < 25) & ((new - old).abs() > 1e-3), body,
            (zero(), mean.clone(), torch.ones(3, 2), torch.zeros(3), torch.full((), -1e9),
             torch.zeros(())))
        return mean, var, logit.softmax(0), n

    calls = {label: (torch.randn(n, 2) * 2, torch.randn(3, 2)) for label, n in
             (("middle", 6), ("least", 2), ("most", 11))}
    return Flow(Method(forward), calls, ({0: Dim("n", min=2, max=11)}, None),
                tolerance=2e-3,
                overflow=((torch.randn(12, 2), torch.randn(3, 2)),))


@flow
def deflation():
    """Several eigenvectors: a scan over their starts, in each a loop, and the
    matrix without what was found."""
    def forward(self, a, starts):
        def step(a, v):
            def body(n, v, change):
                w = a @ v
                w = w / w.norm()
                return n + 1, w, (w - v).norm()

            n, v, _ = while_loop(lambda n, v, change: (n < 30) & (change > 1e-3), body,
                                 (zero(), v / v.norm(), torch.ones(())))
            value = v @ (a @ v)
            return a - value * v[:, None] * v[None], [v.clone(), value.clone(), n.clone()]

        return scan(step, a * 1, starts)

    def m(*d):
        return torch.diag(torch.tensor(d)) + 0.1

    calls = {label: (m(5., 3., 1.), torch.ones(k, 3) + torch.rand(k, 3)) for label, k in
             (("middle", 2), ("most", 3))}
    return Flow(Method(forward), calls, (None, {0: Dim("k", min=2, max=3)}),
                tolerance=1e-2)


@flow
def binary_search():
    """The place of each value in a sorted table by halving intervals."""
    def forward(self, table, x):
        n = table.shape[0]

        def body(low, high):
            middle = (low + high) // 2
            right = table[middle.clamp(max=n - 1)] < x
            open = low < high
            return torch.where(open & right, middle + 1, low), torch.where(open & ~right,
                                                                           middle, high)

        low, _ = while_loop(lambda low, high: (low < high).any(), body,
                            (torch.zeros_like(x, dtype=torch.int64),
                             torch.full_like(x, n, dtype=torch.int64)))
        return low, torch.searchsorted(table, x)

    calls = {label: (torch.randn(n).sort()[0], torch.randn(k)) for label, n, k in
             (("middle", 5, 3), ("least", 1, 1), ("most", 9, 6), ("zero", 4, 0))}
    return Flow(Method(forward), calls,
                ({0: Dim("n", min=1, max=9)}, {0: Dim("k", min=0, max=6)}))


@flow
def sinkhorn():
    """Transport between two sets of points, until the rows sum to their shares."""
    def forward(self, a, b):
        kernel = torch.exp(-torch.cdist(a, b) / 0.5)
        n, m = a.shape[0], b.shape[0]

        def body(i, u, v, error):
            u2 = (1.0 / n) / (kernel @ v)
            v2 = (1.0 / m) / (u2 @ kernel)
            return i + 1, u2, v2, (u2 * (kernel @ v2) - 1.0 / n).abs().max()

        i, u, v, error = while_loop(lambda i, u, v, error: (i < 50) & (error > 1e-4),
                                    body,
                                    (zero(), torch.ones(n), torch.ones(m),
                                     torch.ones(())))
        return u[:, None] * kernel * v[None], error

    calls = {label: (torch.randn(n, 2), torch.randn(m, 2)) for label, n, m in
             (("middle", 3, 5), ("least", 2, 2), ("most", 6, 7))}
    return Flow(Method(forward), calls,
                ({0: Dim("n", min=2, max=6)}, {0: Dim("m", min=2, max=7)}),
                tolerance=1e-3)


@flow
def shortest_paths():
    """Bellman and Ford's distances over a list of edges, until none shrinks."""
    def forward(self, source, start, end, cost):
        def body(old, new):
            return new.clone(), new.scatter_reduce(0, end, new[start] + cost, "amin")

        first = torch.full((6,), 1e9).index_fill(0, source, 0.0)
        return while_loop(lambda old, new: (old != new).any(), body,
                          (torch.full((6,), -1.0), first))[1]

    def graph(n):
        ends = torch.randint(0, 6, (2, n))
        return number([1]), ends[0].clone(), ends[1].clone(), torch.rand(n) + 0.1

    e = Dim("e", min=0, max=12)
    calls = {"middle": graph(7), "zero": graph(0), "least": graph(1), "most": graph(12)}
    return Flow(Method(forward), calls, (None, {0: e}, {0: e}, {0: e}),
                only_etx="aten.scatter_reduce.two")


@flow
def edit_distance():
    """Distances between two words of varying lengths by scans in a scan."""
    def forward(self, a, b):
        def row(above, letter):
            def cell(left, parts):
                up, corner, other = parts
                best = torch.minimum(torch.minimum(left, up) + 1, corner +
                                     (other != letter).to(torch.int64))
                return best, best.clone()

            first = above[:1] + 1
            _, fresh = scan(cell, first[0] * 1, (above[1:], above[:-1], b))
            return torch.cat([first, fresh]), fresh[-1:].clone()

        last, rows = scan(row, torch.arange(b.shape[0] + 1), a)
        return last[-1], rows

    calls = {label: (torch.randint(0, 3, (n,)), torch.randint(0, 3, (m,))) for label, n,
             m in
             (("middle", 4, 3), ("least", 2, 2), ("most", 6, 7))}
    return Flow(Method(forward), calls,
                ({0: Dim("n", min=2, max=6)}, {0: Dim("m", min=2, max=7)}))


@flow
def greedy_matching():
    """Pairs of queries and targets: a loop takes the cheapest pair that is left."""
    def forward(self, q, t):
        cost = torch.cdist(q, t)
        m = t.shape[0]

        def body(k, cost, pairs):
            best = cost.reshape(-1).argmin()
            i, j = best // m, best % m
            pair = torch.stack([i, j])
            cost = cost.index_fill(0, i.view(1), 1e9).index_fill(1, j.view(1), 1e9)
            return k + 1, cost, pairs.index_copy(0, k.view(1), pair[None])

        k, _, pairs = while_loop(lambda k, cost, pairs: cost.amin() < 1e8, body,
                                 (zero(), cost, torch.full((5, 2), -1)))
        n = bounded(k, 5)
        pairs = pairs[:n]
        return pairs, (q[pairs[:, 0]] - t[pairs[:, 1]]).abs().sum(-1)

    calls = {label: (torch.randn(5, 3), torch.randn(m, 3)) for label, m in
             (("middle", 3), ("least", 1), ("most", 6))}
    return Flow(Method(forward), calls, (None, {0: Dim("m", min=1, max=6)}))


@flow
def metropolis():
    """A Markov chain by scan: each step is accepted by a choice with given noise."""
    def forward(self, noise, uniform):
        def energy(x):
            return (x @ self.a * x).sum()

        def step(carry, parts):
            x, e = carry
            move, u = parts
            y = x + 0.5 * move
            f = energy(y)
            x, e = torch.cond(u.log() < e - f, lambda x, e, y, f: (y.clone(), f.clone()),
                              lambda x, e, y, f: (x.clone(), e.clone()), (x, e, y, f))
            return [x, e], [x.clone(), (e == f)]

        (x, e), (path, taken) = scan(step, [self.x.clone(), energy(self.x)],
                                     [noise, uniform])
        self.x.copy_(x)
        return path[taken], taken.sum()

    n = Dim("n", min=2, max=9)
    calls = {label: (torch.randn(k, 3), torch.rand(k)) for label, k in
             (("middle", 5), ("least", 2), ("most", 9))}
    return Flow(Method(forward, ("x",), a=torch.eye(3), x=torch.ones(3)), calls,
                ({0: n}, {0: n}))


@flow
def quickselect():
    """The k-th smallest value by pivots that halve what is left."""
    def forward(self, x, k):
        def body(low, high, k, n):
            inside = (x >= low) & (x <= high)
            pivot = torch.where(inside, x, 0.0).sum() / inside.sum()
            below = inside & (x <= pivot)
            count = below.sum()
            left = k < count
            inner_high = torch.where(below, x, -1e9).amax()
            above = torch.where(inside & ~below, x, 1e9).amin()
            return (torch.where(left, low, above), torch.where(left, inner_high, high),
                    torch.where(left, k, k - count), n + 1)

        low, high, _, n = while_loop(lambda low, high, k, n: (low < high) & (n < 30),
                                     body,
                                     (x.amin(), x.amax(), k.clone(), zero()))
        return low, n

    calls = {label: (torch.randn(n), number(k)) for label, n, k in
             (("middle", 7, 3), ("least", 1, 0), ("most", 12, 11))}
    return Flow(Method(forward), calls, ({0: Dim("n", min=1, max=12)}, None))


@flow
def viewed_carry():
    """Carried values that the body sees with other sizes."""
    def forward(self, x, n):
        def body(i, a, b, c):
            a2 = (a.view(2, 2) * 2 + 1).view(4)
            b2 = torch.sin(b.view(1, 4)).squeeze(0)
            c2 = (c.unsqueeze(0) - 1).reshape(2, 2).exp().reshape(4)
            return i + 1, a2, b2, c2

        return while_loop(lambda i, a, b, c: i < n, body,
                          (zero(), (x * 2).view(4), x.view(4) * 1, (x + 1).flatten()))

    calls = {label: (torch.randn(2, 2), number(f)) for label, f in
             (("least", 1), ("most", 3), ("zero", 0))}
    return Flow(Method(forward), calls)


@flow
def masked_writes_in_loop():
    """A loop that writes by boolean masks: reservoirs that overflow into their
    neighbours until none is above its brim."""
    def forward(self, level):
        def body(n, level):
            full = level > 1
            spill = torch.index_put(torch.zeros_like(level), (full,),
                                    (level[full] - 1) * 0.5)
            level = torch.index_put(level, (full,), torch.ones_like(level[full]))
            level = level + F.pad(spill[:-1], (1, 0))
            high = full & (level > 3)
            return n + 1, torch.index_put(level, (high,), level[high] - 1)

        return while_loop(lambda n, level: (level > 1.001).any() & (n < 20), body,
                          (zero(), level.clone()))

    calls = {label: (torch.rand(n) * s,) for label, n, s in
             (("middle", 5, 3.), ("zero", 4, .5), ("most", 8, 9.), ("least", 3, 2.))}
    return Flow(Method(forward), calls, ({0: Dim("n", min=3, max=8)},),
                overflow=((torch.rand(9),),))
