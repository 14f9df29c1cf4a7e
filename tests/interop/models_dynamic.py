"""Sizes that are known only when a method is called."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from model_list import Method, Model, ints, model, rand
from models_networks import RotaryBlock


class Plain(nn.Module):
    pass


def dynamic(forward, example, shapes, calls, **options):
    """A model of one function, called with several sizes."""
    Plain_ = type("Plain", (Plain,), {"forward": forward})
    return Model(Plain_(), {"forward": Method(example, shapes)},
                 [("forward", c) for c in calls], **options)


@model("dynamic batch")
def batch():
    b = Dim("b", min=1, max=8)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3),
                        nn.Softmax(-1))
    return Model(net, {"forward": Method((rand(3, 4),), ({0: b},))},
                 [("forward", (rand(n, 4),)) for n in (3, 1, 8, 2)])


@model("dynamic length, attention")
def length():
    s = Dim("s", min=2, max=16)
    return Model(RotaryBlock(),
                 {"forward": Method((rand(1, 6, 16),), ({1: s},))},
                 [("forward", (rand(1, n, 16),)) for n in (6, 16, 2, 9)])


@model("dynamic slices and cat")
def parts():
    n = Dim("n", min=2, max=10)

    def forward(self, a, b):
        joined = torch.cat([a, b], 0)
        return (joined, joined[1:], a.reshape(-1), a.sum(0),
                a.unsqueeze(1).expand(-1, 3, -1), joined.view(-1, 2),
                torch.stack([a, b]))

    return dynamic(forward, (rand(4, 2), rand(4, 2)), ({0: n}, {0: n}),
                   [(rand(k, 2), rand(k, 2)) for k in (4, 10, 2, 5)])


@model("dynamic masks and positions")
def masks():
    s = Dim("s", min=1, max=12)

    def forward(self, tokens):
        length = tokens.shape[1]
        places = torch.arange(length)
        mask = places.unsqueeze(1) >= places
        scores = tokens.float().unsqueeze(1) * tokens.float().unsqueeze(2)
        scores = scores.masked_fill(~mask, float("-inf"))
        return F.softmax(scores * 0.1, -1), tokens + length, places * 2

    return dynamic(forward, (ints(2, 5),), ({1: s},),
                   [(ints(2, k),) for k in (5, 12, 1, 7)])


@model("symbolic integers")
def symbolic():
    n = Dim("n", min=2, max=20)

    def forward(self, a):
        count = a.shape[0]
        return (a * count, torch.zeros(count + 1),
                torch.full((count * 3 + 2, 2), 3.0), a.view(count, 1) * 2)

    return dynamic(forward, (rand(4),), ({0: n},),
                   [(rand(k),) for k in (4, 20, 2, 7)])


@model("two dynamic sizes")
def two():
    b, s = Dim("b", min=1, max=4), Dim("s", min=1, max=9)

    def forward(self, x, w):
        return (torch.einsum("bsd,bde->bse", x, w), x.mean(1), x.amax(2),
                x.transpose(0, 1).reshape(-1, 3))

    return dynamic(forward, (rand(2, 5, 3), rand(2, 3, 4)),
                   ({0: b, 1: s}, {0: b}),
                   [(rand(i, j, 3), rand(i, 3, 4))
                    for i, j in ((2, 5), (4, 9), (1, 1), (3, 2))])
