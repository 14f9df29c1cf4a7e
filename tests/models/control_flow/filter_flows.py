"""Filters, layers over time and choices of rows that are unlike those of the
other files.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, bounded, flow, number, zero

WIDTH = 4
ROWS = Dim("rows", min=1, max=8)


def row_calls(*more, width=WIDTH):
    return {label: (torch.randn(n, width), *more) for label, n in
            (("middle", 5), ("least", 1), ("most", 8), ("middle, again", 3))}


TOO_MANY = ((torch.randn(9, WIDTH),),)


@flow
def smoother():
    """A filter that leaves out missing measurements, and a smoother that goes
    back over its results."""
    def forward(self, z, valid):
        def forwards(carry, row):
            x, p = carry
            value, seen = row
            x, p = self.a * x, self.a * p * self.a + 0.1

            def update(x, p, value):
                gain = p / (p + 0.5)
                return x + gain * (value - x), (1 - gain) * p

            x, p = torch.cond(seen, update, lambda x, p, value: (x * 1, p * 1),
                              (x, p, value))
            return [x, p], [x + 0, p + 0]

        _, (x, p) = scan(forwards, [torch.zeros(2), torch.ones(2)], [z, valid])

        def backwards(carry, row):
            x, p = row
            gain = p * self.a / (self.a * p * self.a + 0.1)
            smooth = x + gain * (carry - self.a * x)
            return smooth, smooth * 1

        last, smooth = scan(backwards, x[-1] * 1, [x, p], reverse=True)
        return x, smooth, last

    calls = {label: (torch.randn(n, 2), torch.rand(n) < 0.6) for label, n in
             (("middle", 5), ("least", 2), ("most", 9))}
    size = Dim("n", min=2, max=9)
    return Flow(Method(forward, a=torch.tensor(0.9)), calls, ({0: size}, {0: size}),
                overflow=((torch.randn(10, 2), torch.ones(10, dtype=torch.bool)),))


@flow
def rotations():
    """Products of all rotations up to each step, by associative_scan."""
    def forward(self, angles):
        c, s = angles.cos(), angles.sin()
        turns = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
        poses = associative_scan(lambda a, b: b @ a, turns, 0,
                                 combine_mode="generic")
        return poses, poses @ self.start

    calls = {label: (torch.randn(7),) for label in ("middle", "most", "least")}
    return Flow(Method(forward, start=torch.randn(2)), calls)


@flow
def running_best():
    """The largest value so far and its place, from both ends, by
    associative_scan."""
    def forward(self, x):
        place = torch.arange(8)[:, None].expand(8, 3)

        def combine(a, b):
            later = b[0] > a[0]
            return torch.where(later, b[0], a[0]), torch.where(later, b[1], a[1])

        return (associative_scan(combine, (x, place), 0, combine_mode="generic"),
                associative_scan(combine, (x, place), 0, reverse=True,
                                 combine_mode="generic"))

    calls = {label: (torch.randn(8, 3),) for label in ("middle", "most", "least")}
    return Flow(Method(forward), calls)


@flow
def selective_scan():
    """A state-space layer whose step sizes are data; its state stays."""
    def forward(self, x):
        step = F.softplus(self.step(x))
        inward, outward = self.inward(x), self.outward(x)

        def body(h, row):
            x, d, b, c = row
            h = h * torch.exp(-d[:, None] * self.rate) + (d * x)[:, None] * b
            return h, (h * c).sum(-1)

        h, y = scan(body, self.h.clone(), [x, step, inward, outward])
        self.h.copy_(h)
        return y + x * self.skip

    model = Method(forward, ("h",), step=nn.Linear(WIDTH, WIDTH),
                   inward=nn.Linear(WIDTH, 3), outward=nn.Linear(WIDTH, 3),
                   rate=torch.rand(WIDTH, 3), skip=torch.randn(WIDTH),
                   h=torch.zeros(WIDTH, 3))
    return Flow(model, row_calls(), ({0: ROWS},), overflow=TOO_MANY)


@flow
def line_search():
    """Newton's method for two equations, with steps that are halved until the
    residual gets smaller: a loop in a loop."""
    def forward(self, start):
        def residual(x):
            return torch.stack([x[0] ** 2 + x[1] ** 2 - 4, torch.exp(x[0]) + x[1] - 1])

        def body(n, x):
            a, b, c = 2 * x[0], 2 * x[1], torch.exp(x[0])
            f = residual(x)
            det = a - b * c + 1e-6
            d = torch.stack([(f[0] - b * f[1]) / det, (a * f[1] - c * f[0]) / det])

            def halve(k, share):
                return k + 1, share * 0.5

            _, share = while_loop(
                lambda k, share: (k < 8) & (residual(x - share * d).norm() > f.norm()),
                halve, (zero(), torch.ones(())))
            return n + 1, x - share * d

        n, x = while_loop(lambda n, x: (n < 30) & (residual(x).norm() > 1e-4), body,
                          (zero(), start.clone()))
        return x, n

    calls = {label: (torch.tensor(start),) for label, start in
             (("middle", [1.0, -1.5]), ("least", [1.004169, -1.729637]),
              ("most", [-3.0, 4.0]))}
    return Flow(Method(forward), calls, tolerance=1e-3)


@flow
def halting_layers():
    """A universal transformer's layer: rows stop one by one; a choice leaves
    out the attention if few are left."""
    def forward(self, x):
        def body(h, share, n):
            open = (share < 0.95).unsqueeze(-1)
            mixed = torch.cond(open.sum() > 2,
                               lambda h: (h @ h.transpose(0, 1)).softmax(-1) @ h,
                               lambda h: h * 0.5, (h,))
            fresh = torch.tanh(self.layer(h) + mixed)
            gain = torch.sigmoid(self.halt(fresh)).squeeze(-1) * 0.6
            return torch.where(open, fresh, h), share + gain, n + open.squeeze(-1)

        h, share, n = while_loop(
            lambda h, share, n: (share < 0.95).any() & (n.max() < 9), body,
            (x.clone(), torch.zeros(x.shape[0]),
             torch.zeros(x.shape[0], dtype=torch.int64)))
        return h, share, n

    model = Method(forward, layer=nn.Linear(WIDTH, WIDTH), halt=nn.Linear(WIDTH, 1))
    return Flow(model, row_calls(), ({0: ROWS},), overflow=TOO_MANY)


@flow
def soft_nms():
    """Soft suppression: a loop takes the best box and lowers the scores of
    those that overlap it."""
    def forward(self, boxes, scores):
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)

        def body(n, scores, kept, values):
            value, best = scores.max(0)
            box = boxes.index_select(0, best.view(1))[0]
            inside = (torch.minimum(boxes[:, 2:], box[2:]) -
                      torch.maximum(boxes[:, :2], box[:2])).clamp(min=0).prod(1)
            overlap = inside / (area + area.index_select(0, best.view(1)) - inside)
            scores = scores * torch.exp(-overlap * overlap / 0.5)
            scores = scores.index_fill(0, best.view(1), 0.0)
            kept = kept.index_copy(0, n.view(1), best.view(1))
            return n + 1, scores, kept, values.index_copy(0, n.view(1), value.view(1))

        n, _, kept, values = while_loop(
            lambda n, scores, kept, values: (n < 6) & (scores.max() > 0.3), body,
            (zero(), scores.clone(), torch.zeros(6, dtype=torch.int64),
             torch.zeros(6)))
        count = bounded(n, 6)
        return boxes[kept[:count]], values[:count]

    def inputs(n, most):
        corner = torch.rand(n, 2) * 3
        return torch.cat([corner, corner + 1], 1), torch.rand(n) * most

    calls = {label: inputs(n, most) for label, n, most in
             (("middle", 5, 1.0), ("most", 9, 1.0), ("least", 1, 1.0),
              ("zero", 4, 0.2))}
    size = Dim("boxes", min=1, max=9)
    return Flow(Method(forward), calls, ({0: size}, {0: size}),
                overflow=(inputs(10, 1.0),))


@flow
def capacity_experts():
    """A mixture of experts with room for two tokens each: the place of a token
    is how many before it chose its expert; those without a place pass by."""
    experts, room = 3, 2

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        mask = F.one_hot(chosen, experts)
        place = ((mask.cumsum(0) - 1) * mask).sum(-1)
        fits = place < room
        slot = torch.where(fits, chosen * room + place, experts * room)
        inputs = torch.zeros(experts * room + 1, WIDTH).index_copy(0, slot, x)
        hidden = torch.relu(torch.bmm(inputs[:-1].view(experts, room, WIDTH), self.up))
        out = torch.cat([hidden.view(-1, WIDTH), torch.zeros(1, WIDTH)])[slot]
        left = (~fits).nonzero().squeeze(-1)
        return torch.where(fits[:, None], out * weight[:, None], x), left

    model = Method(forward, gate=nn.Linear(WIDTH, experts),
                   up=torch.randn(experts, WIDTH, WIDTH))
    return Flow(model, row_calls(), ({0: ROWS},), overflow=TOO_MANY)


@flow
def expert_choice():
    """A mixture of experts in which each expert takes its best tokens."""
    def forward(self, x):
        scores = self.gate(x).softmax(-1).transpose(0, 1)
        best, places = scores.topk(2, -1)

        def expert(parts):
            rows, weight, up = parts
            return torch.tanh(x[rows] @ up) * weight[:, None]

        parts = torch_map(lambda parts: expert(parts), (places, best, self.up))
        return torch.zeros_like(x).index_add(0, places.flatten(), parts.flatten(0, 1))

    model = Method(forward, gate=nn.Linear(WIDTH, 3), up=torch.randn(3, WIDTH, WIDTH))
    calls = {label: (torch.randn(n, WIDTH),) for label, n in
             (("middle", 5), ("least", 2), ("most", 8))}
    return Flow(model, calls, ({0: Dim("rows", min=2, max=8)},), overflow=TOO_MANY)


@flow
def packed_batch():
    """Sentences packed behind each other: positions, means and softmax of each
    one from its length."""
    def forward(self, x, lengths):
        owner = torch.repeat_interleave(torch.arange(lengths.shape[0]), lengths,
                                        output_size=x.shape[0])
        start = lengths.cumsum(0) - lengths
        place = torch.arange(x.shape[0]) - start[owner]
        h = torch.tanh(self.layer(x) + self.place[place])
        score = self.score(h).squeeze(-1)
        most = torch.full((lengths.shape[0],), -1e9).scatter_reduce(
            0, owner, score, "amax")
        share = torch.exp(score - most[owner])
        total = torch.zeros(lengths.shape[0]).index_add(0, owner, share)
        share = share / total[owner]
        return torch.zeros(lengths.shape[0], WIDTH).index_add(
            0, owner, h * share[:, None]), place

    model = Method(forward, layer=nn.Linear(WIDTH, WIDTH), score=nn.Linear(WIDTH, 1),
                   place=torch.randn(9, WIDTH))
    calls = {label: (torch.randn(sum(lengths), WIDTH), number(lengths)) for
             label, lengths in (("middle", [3, 1, 2]), ("most", [4, 4, 1]),
                                ("least", [0, 1, 0]), ("zero", [0, 0, 0]))}
    return Flow(model, calls, ({0: Dim("rows", min=0, max=9)}, None),
                overflow=((torch.randn(10, WIDTH), number([4, 4, 2])),),
                only_etx="aten.scatter_reduce.two")


@flow
def merged_tokens():
    """Layers between which the tokens with little attention are dropped: each
    layer has fewer rows than the last."""
    def forward(self, x):
        for layer in self.layers:
            share = (x @ x.transpose(0, 1)).softmax(-1).mean(0)
            keep = (share > 0.5 * share.mean()).nonzero().squeeze(-1)
            torch._check(keep.shape[0] <= x.shape[0])
            rest = x.mean(0, keepdim=True)
            x = torch.relu(layer(x[keep])) + rest
        return x, x.sum(0)

    model = Method(forward, layers=nn.ModuleList(nn.Linear(WIDTH, WIDTH)
                                                 for _ in range(2)))
    return Flow(model, row_calls(), ({0: ROWS},), caps=("u0=8", "u1=8"),
                overflow=TOO_MANY)


@flow
def operation_tree():
    """A calculator: a number chooses, by a tree of torch.cond, one of four
    operations on an accumulator that is state."""
    def forward(self, code, x):
        def low(x, total):
            return torch.cond(code == 0, lambda x, t: t + x, lambda x, t: t - x,
                              (x, total))

        def high(x, total):
            return torch.cond(code == 2, lambda x, t: t * x,
                              lambda x, t: torch.zeros_like(t), (x, total))

        total = torch.cond(code < 2, low, high, (x, self.total.clone()))
        self.total.copy_(total)
        return total * 2

    calls = {f"operation {i}": (number(i), torch.randn(3)) for i in (0, 2, 1, 3, 0)}
    calls["operation 0, again"] = (number(0), torch.randn(3))
    return Flow(Method(forward, ("total",), total=torch.ones(3)), calls)


@flow
def batched_solver():
    """A step of gradient descent for each row by torch.vmap, until all rows
    are near their minimum."""
    def forward(self, x, a):
        def row(x, a):
            return x - 0.2 * (self.w @ (self.w * x[:, None]).sum(0) * a.sum() + x)

        step = torch.vmap(row)(x, a)
        n, y = while_loop(lambda n, y: (n < 20) & (y.abs().max() > 0.05),
                          lambda n, y: (n + 1, y - 0.2 * y), (zero(), step))
        return y, n

    calls = {label: (torch.randn(n, 3), torch.rand(n, 2) * 0.2) for label, n in
             (("middle", 4), ("least", 2), ("most", 7))}
    size = Dim("rows", min=2, max=7)
    return Flow(Method(forward, w=torch.eye(3) * 0.5), calls, ({0: size}, {0: size}),
                overflow=((torch.randn(8, 3), torch.rand(8, 2)),))
