"""Models that do not treat all inputs alike: choices and mixtures of experts."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, flow, number, zero

EXPERTS, WIDTH = 3, 4
TOKENS = Dim("tokens", min=1, max=9)


def token_calls(*more):
    return {label: (torch.randn(n, WIDTH), *more) for label, n in
            (("middle", 5), ("least", 1), ("most", 9), ("middle, again", 4))}


TOO_MANY = ((torch.randn(10, WIDTH),),)


@flow
def adaptive_time():
    """Adaptive computation time: each row stops when it is sure."""
    def forward(self, x):
        def body(h, sum, halted, n):
            h = torch.tanh(self.layer(h))
            share = torch.sigmoid(self.halt(h)).squeeze(-1)
            runs = halted < 0.99
            last = runs & (halted + share >= 0.99)
            weight = torch.where(last, 1 - halted, torch.where(runs, share, 0.0))
            return h, sum + weight[:, None] * h, halted + weight, n + 1

        _, sum, halted, n = while_loop(
            lambda h, sum, halted, n: (halted < 0.99).any() & (n < 12), body,
            (x.clone(), torch.zeros_like(x), torch.zeros(x.shape[0]), zero()))
        return sum, halted, n

    model = Method(forward, layer=nn.Linear(WIDTH, WIDTH), halt=nn.Linear(WIDTH, 1))
    return Flow(model, token_calls(), ({0: TOKENS},), overflow=TOO_MANY)


@flow
def early_exit():
    """Layers that are left out once the answer is sure."""
    def forward(self, x):
        def sure(x):
            return self.out(x).softmax(-1).max() > 0.6

        for layer in self.layers:
            x = torch.cond(sure(x), lambda x: x * 1,
                           lambda x, layer=layer: torch.relu(layer(x)) + x, (x,))
        return self.out(x), sure(x)

    model = Method(forward, layers=nn.ModuleList(nn.Linear(4, 4) for _ in range(3)),
                   out=nn.Linear(4, 3))
    calls = {label: (torch.randn(1, 4) * scale,) for label, scale in
             (("most", 0.01), ("middle", 2.0), ("least", 90.0))}
    return Flow(model, calls)


@flow
def nested_choices():
    """A tree of torch.cond, three deep, with constants in its leaves."""
    def forward(self, x):
        def leaf(k):
            return lambda x: x * k + self.w[k]

        def left(x):
            return torch.cond(x[1] > 0, leaf(1), leaf(2), (x,))

        def inner(x):
            return torch.cond(x[2] > 0, leaf(3), leaf(4), (x,))

        def right(x):
            return torch.cond(x[1] > x[2], inner, leaf(5), (x,))

        return torch.cond(x[0] > 0, left, right, (x,))

    calls = {f"leaf {i}": (torch.tensor(x),) for i, x in enumerate(
        ([1.0, 1, 0], [1.0, -1, 0], [-1.0, 2, 1], [-1.0, 0, -1], [-1.0, 0, 1]))}
    return Flow(Method(forward, w=torch.randn(6, 3)), calls)


@flow
def decision_tree():
    """Rows go down a tree of tables in a loop until all are at leaves."""
    def forward(self, x):
        def body(node):
            value = x.gather(1, self.feature[node][:, None]).squeeze(1)
            child = torch.where(value < self.split[node], self.left[node],
                                self.right[node])
            return (torch.where(self.left[node] < 0, node, child),)

        node, = while_loop(lambda node: (self.left[node] >= 0).any(), body,
                           (torch.zeros(x.shape[0], dtype=torch.int64),))
        return self.answer[node], node

    model = Method(forward, feature=number([0, 1, 0, 2, 0, 0, 0]),
                   split=torch.tensor([0.0, 0.5, 0, -0.5, 0, 0, 0]),
                   left=number([1, 3, -1, 5, -1, -1, -1]),
                   right=number([2, 4, -1, 6, -1, -1, -1]), answer=torch.randn(7))
    return Flow(model, token_calls(), ({0: TOKENS},), overflow=TOO_MANY)


def expert_parts():
    return {"gate": nn.Linear(WIDTH, EXPERTS), "up": torch.randn(EXPERTS, WIDTH, WIDTH),
            "down": torch.randn(EXPERTS, WIDTH, WIDTH)}


@flow
def moe_where():
    """A mixture of experts: each expert gets its tokens by where and index_add."""
    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        out = torch.zeros_like(x)
        for expert in range(EXPERTS):
            rows, place = torch.where(chosen == expert)
            hidden = F.silu(x[rows] @ self.up[expert]) @ self.down[expert]
            out = out.index_add(0, rows, hidden * weights[rows, place].unsqueeze(-1))
        return out

    return Flow(Method(forward, **expert_parts()), token_calls(), ({0: TOKENS},),
                overflow=TOO_MANY)


@flow
def moe_sorted():
    """A mixture of experts: tokens are sorted by expert, and slices of these go
    through the experts."""
    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(1, -1)
        order = chosen.squeeze(-1).argsort(stable=True)
        counts = (chosen == torch.arange(EXPERTS)).sum(0)
        ends, out = counts.cumsum(0), torch.zeros_like(x)
        for expert in range(EXPERTS):
            start = (ends[expert] - counts[expert]).item()
            count = counts[expert].item()
            torch._check(start >= 0)
            torch._check(count >= 0)
            torch._check(start + count <= x.shape[0])
            rows = order.narrow(0, start, count)
            out = out.index_copy(0, rows, torch.tanh(x[rows] @ self.up[expert]))
        return out * weights

    return Flow(Method(forward, **expert_parts()), token_calls(), ({0: TOKENS},),
                overflow=TOO_MANY, only_etx="sort")


@flow
def mixture_of_depths():
    """Only the tokens with the largest scores go through a layer."""
    def forward(self, x):
        scores = self.score(x).squeeze(-1)
        best, places = scores.topk(2)
        hidden = torch.tanh(self.layer(x[places])) * best.sigmoid()[:, None]
        return x.index_add(0, places, hidden)

    model = Method(forward, score=nn.Linear(WIDTH, 1), layer=nn.Linear(WIDTH, WIDTH))
    calls = {label: (torch.randn(n, WIDTH),) for label, n in
             (("middle", 5), ("least", 2), ("most", 9))}
    return Flow(model, calls, ({0: Dim("tokens", min=2, max=9)},), overflow=TOO_MANY)


@flow
def bucket_routing():
    """Values go by bucketize to a layer of their bucket."""
    def forward(self, x):
        bucket = torch.bucketize(x[:, 0], self.edges)
        out = torch.zeros_like(x)
        for i, layer in enumerate(self.layers):
            mask = bucket == i
            out = torch.index_put(out, (mask,), layer(x[mask]))
        return out, bucket

    model = Method(forward, edges=torch.tensor([-0.5, 0.5]),
                   layers=nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3)))
    return Flow(model, token_calls(), ({0: TOKENS},), overflow=TOO_MANY)


@flow
def choice_in_loop_over_state():
    """A loop that reads a state and, by torch.cond, one of two layers; a count
    of all iterations."""
    def forward(self, x, steps):
        self.bias.mul_(0.5)

        def body(i, h):
            h = torch.cond(i % 2 == 0, lambda h: torch.tanh(self.even(h)),
                           lambda h: torch.tanh(self.odd(h)) + self.bias, (h,))
            return i + 1, h

        n, h = while_loop(lambda i, h: (i < steps) & (h.abs().max() < 9), body,
                          (zero(), x.clone()))
        self.bias.add_(h.mean(0))
        self.count.add_(n)
        return h, self.count + 0

    model = Method(forward, ("bias", "count"), even=nn.Linear(WIDTH, WIDTH),
                   odd=nn.Linear(WIDTH, WIDTH), bias=torch.ones(WIDTH), count=zero())
    calls = {label: (torch.randn(n, WIDTH), number(steps)) for label, n, steps in
             (("middle", 3, 3), ("zero", 5, 0), ("most", 9, 8), ("least", 1, 1))}
    return Flow(model, calls, ({0: TOKENS}, None),
                overflow=((torch.randn(10, WIDTH), number(2)),))


@flow
def loop_in_loop():
    """A loop whose inner loop runs longer each time."""
    def forward(self, x, steps):
        def inner(x, count):
            return while_loop(
                lambda j, y: j < count,
                lambda j, y: (j + 1, torch.cond(y.sum() > 0, lambda y: y * 0.5 - self.w,
                                                lambda y: y + self.w, (y,))),
                (zero(), x * 1))[1]

        return while_loop(lambda i, y: i < steps, lambda i, y: (i + 1, inner(y, i) + x),
                          (zero(), x.clone()))

    calls = {label: (torch.randn(3), number(steps)) for label, steps in
             (("zero", 0), ("least", 1), ("middle", 3), ("most", 6))}
    return Flow(Method(forward, w=torch.randn(3)), calls)
