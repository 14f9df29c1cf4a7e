"""Layers whose work depends on data: routers, pointers, graphs and point clouds."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._higher_order_ops.map import map as rows_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, bounded, flow, number, zero


@flow
def farthest_points():
    """Farthest point sampling and a ball query around the samples (PointNet++)."""
    def forward(self, points):
        def body(i, far, chosen, at):
            chosen = chosen.index_copy(0, i.view(1), at.view(1))
            here = points.index_select(0, at.view(1))
            far = torch.minimum(far, ((points - here) ** 2).sum(-1))
            return i + 1, far, chosen, far.argmax()

        _, far, chosen, _ = while_loop(
            lambda i, far, chosen, at: (i < 4) & (far.amax() > 0.05), body,
            (zero(), torch.full_like(points[:, 0], 1e9),
             torch.zeros(4, dtype=torch.int64), zero()))
        centres = points[chosen]
        near = torch.cdist(centres, points) < 1.0
        group, member = torch.where(near)
        sums = torch.zeros(4, 3).index_add(0, group, points[member] - centres[group])
        return chosen, sums, near.sum(-1), far

    calls = {label: (torch.randn(n, 3),) for label, n in
             (("middle", 9), ("least", 2), ("most", 20))}
    return Flow(Method(forward), calls, ({0: Dim("n", min=2, max=20)},),
                overflow=((torch.randn(21, 3),),))


@flow
def pointer_network():
    """A pointer network: an LSTM cell points at items that were not visited, until
    it points at the end."""
    def forward(self, items):
        keys = self.key(items)
        n = items.shape[0]

        def body(step, h, c, x, open_, order, stop):
            h, c = self.cell(x, (h, c))
            score = (torch.tanh(keys + self.query(h)) @ self.v).masked_fill(~open_, -1e9)
            at = score.argmax()
            order = order.index_copy(0, step.view(1), at.view(1))
            mask = torch.arange(n) != at
            return (step + 1, h, c, items.index_select(0, at.view(1)), open_ & mask,
                    order, at == 0)

        start = torch.zeros(1, 6)
        step, h, c, _, open_, order, _ = while_loop(
            lambda step, h, c, x, open_, order, stop: ~stop & open_.any(), body,
            (zero(), start, start.clone(), items.mean(0, keepdim=True),
             torch.ones_like(items[:, 0], dtype=torch.bool),
             torch.full((10,), -1), torch.tensor(False)))
        return order[:bounded(step, 10)], h

    calls = {label: (torch.randn(n, 4),) for label, n in
             (("middle", 6), ("least", 2), ("most", 10))}
    parts = dict(cell=nn.LSTMCell(4, 6), key=nn.Linear(4, 5), query=nn.Linear(6, 5),
                 v=torch.randn(5))
    return Flow(Method(forward, **parts), calls, ({0: Dim("n", min=2, max=10)},),
                overflow=((torch.randn(11, 4),),))


@flow
def graph_attention():
    """Attention over a list of edges: softmax for each target node by
    scatter_reduce and index_add, twice, and nodes without edges."""
    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        n = x.shape[0]
        for layer, score in ((self.first, self.a), (self.second, self.b)):
            h = layer(x)
            e = F.leaky_relu(torch.cat([h[source], h[target]], -1) @ score, 0.2)
            most = torch.full((n,), -1e9).scatter_reduce(0, target, e, "amax")
            weight = (e - most[target]).exp()
            total = torch.zeros(n).index_add(0, target, weight)
            part = weight / total[target].clamp(min=1e-9)
            x = F.elu(torch.zeros_like(h).index_add(0, target, part[:, None] * h[source]))
        return x, total

    def draw(n, e):
        return torch.randn(n, 4), torch.randint(0, n, (2, e))

    calls = {"middle": draw(5, 9), "least": draw(2, 2), "most": draw(8, 20),
             "zero": draw(4, 0)}
    return Flow(Method(forward, first=nn.Linear(4, 4), second=nn.Linear(4, 4),
                       a=torch.randn(8), b=torch.randn(8)), calls,
                ({0: Dim("n", min=2, max=8)}, {1: Dim("e", min=0, max=20)}),
                only_etx="aten.scatter_reduce.two")


@flow
def switch_router():
    """A switch transformer's layer: the best expert with a capacity, places by
    cumsum, tokens sent to a buffer for each expert by index_put, and back."""
    def forward(self, x):
        probability = self.router(x).softmax(-1)
        weight, expert = probability.max(-1)
        chosen = F.one_hot(expert, 3)
        place = (chosen.cumsum(0) * chosen).sum(-1) - 1
        kept = (place < 3).nonzero().squeeze(-1)
        slots = torch.zeros(3, 3, 4)
        slots = slots.index_put((expert[kept], place[kept]), x[kept])
        hidden = F.gelu(torch.einsum("ecd,edh->ech", slots, self.up))
        out = torch.einsum("ech,ehd->ecd", hidden, self.down)
        y = x.index_put((kept,), x[kept] + weight[kept][:, None] *
                        out[expert[kept], place[kept]])
        balance = (chosen.float().mean(0) * probability.mean(0)).sum() * 3
        return y, balance, kept.shape[0] / x.shape[0]

    calls = {label: (torch.randn(n, 4),) for label, n in
             (("middle", 7), ("least", 2), ("most", 16))}
    return Flow(Method(forward, router=nn.Linear(4, 3), up=torch.randn(3, 4, 6),
                       down=torch.randn(3, 6, 4)), calls,
                ({0: Dim("n", min=2, max=16)},), overflow=((torch.randn(17, 4),),))


@flow
def layers_by_cond():
    """An encoder each of whose layers is skipped if the mean change of the last one
    was small, and that tells how many ran; stochastic depth by given numbers."""
    def forward(self, x, uniform):
        count = zero()
        change = torch.ones(())
        for i, layer in enumerate(self.layers):
            def run(x, count, change):
                y = layer(x[None])[0]
                return y, count + 1, (y - x).abs().mean()

            def skip(x, count, change):
                return x.clone(), count.clone(), change.clone()

            go = (change > 0.3) & (uniform[i] < 0.8)
            x, count, change = torch.cond(go, run, skip, (x, count, change))
        return x, count, change

    calls = {label: (torch.randn(n, 8) * s, torch.tensor(u)) for label, n, s, u in
             (("middle", 4, 1., [.1, .9, .2]), ("least", 2, .01, [.1, .1, .1]),
              ("most", 7, 9., [.0, .0, .0]), ("zero", 3, 1., [.9, .9, .9]))}
    layers = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
                           for _ in range(3))
    return Flow(Method(forward, layers=layers), calls,
                ({0: Dim("n", min=2, max=7)}, None), overflow=((torch.randn(8, 8),
                                                                torch.rand(3)),))


@flow
def maps_in_scan():
    """A scan over frames, each of which goes through a map over its channels with a
    loop for each."""
    def forward(self, frames):
        def frame(level, rows):
            def channel(row):
                def body(n, row):
                    return n + 1, row * 0.5

                n, row = while_loop(lambda n, row: (row.abs().amax() > 1) & (n < 9), body,
                                    (zero(), row.clone()))
                return row + level, n.clone()

            quiet, counts = rows_map(channel, rows)
            return quiet.mean() * 0.5 + level * 0.5, (quiet.clone(), counts.clone())

        level, (quiet, counts) = scan(frame, self.level.clone(), frames)
        self.level.copy_(level)
        return quiet, counts

    calls = {label: (torch.randn(t, 2, 5) * s,) for label, t, s in
             (("middle", 3, 4.), ("least", 2, .1), ("most", 6, 50.),
              ("middle, again", 3, 2.))}
    return Flow(Method(forward, ("level",), level=torch.zeros(())), calls,
                ({0: Dim("t", min=2, max=6)},), overflow=((torch.randn(7, 2, 5),),))


@flow
def attention_decoder():
    """A speech decoder with additive attention and a coverage vector by scan, where
    given words or its own are fed back as a mask says."""
    def forward(self, memory, words, forced):
        keys = self.key(memory)

        def step(carry, parts):
            h, coverage, word = carry
            given, force = parts
            x = self.embed(torch.where(force, given, word))[None]
            score = torch.tanh(keys + self.query(h) + coverage[:, None]) @ self.v
            share = score.softmax(0)
            context = share[None] @ memory
            h = self.cell(torch.cat([x, context], -1), h)
            logits = self.out(torch.cat([h, context], -1))[0]
            return [h, coverage + share, logits.argmax()], [logits.clone(), share.clone()]

        carry = [torch.zeros(1, 6), memory[:, 0] * 0, zero()]
        carry, (logits, shares) = scan(step, carry, [words, forced])
        return logits, shares, carry[1]

    def draw(m, t):
        return torch.randn(m, 4), torch.randint(0, 7, (t,)), torch.rand(t) < 0.5

    t = Dim("t", min=2, max=6)
    calls = {"middle": draw(5, 4), "least": draw(2, 2), "most": draw(9, 6)}
    parts = dict(key=nn.Linear(4, 5), query=nn.Linear(6, 5), v=torch.randn(5),
                 embed=nn.Embedding(7, 3), cell=nn.GRUCell(7, 6), out=nn.Linear(10, 7))
    method = Method(forward, **parts).requires_grad_(False)
    return Flow(method, calls, ({0: Dim("m", min=2, max=9)}, {0: t}, {0: t}),
                overflow=(draw(10, 3),))


@flow
def sample_consensus():
    """RANSAC: lines through given pairs of points by map, the one with the most
    inliers, and least squares over these."""
    def forward(self, points, pairs):
        def count(pair):
            a, b = points[pair].unbind()
            normal = F.normalize(torch.stack([a[1] - b[1], b[0] - a[0]]), dim=0)
            far = ((points - a) @ normal).abs()
            return (far < 0.3).sum(), (far < 0.3).clone()

        counts, inside = rows_map(count, pairs)
        chosen = points[inside[counts.argmax()]]
        middle = chosen.mean(0)
        centred = chosen - middle
        slope = (centred[:, 0] * centred[:, 1]).sum() / (centred[:, 0] ** 2).sum()
        return counts, middle, slope, chosen.shape[0]

    def draw(n, k):
        x = torch.randn(n)
        noise = torch.where(torch.rand(n) < 0.7, 0.05, 3.0) * torch.randn(n)
        pairs = torch.stack([torch.arange(k) % n, (torch.arange(k) + 1) % n], -1)
        return torch.stack([x, 2 * x + 1 + noise], -1), pairs

    calls = {"middle": draw(8, 5), "least": draw(3, 2), "most": draw(16, 9)}
    return Flow(Method(forward), calls, ({0: Dim("n", min=3, max=16)},
                                         {0: Dim("k", min=2, max=9)}), tolerance=1e-3,
                overflow=(draw(17, 3),))
