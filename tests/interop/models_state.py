"""One method over buffers that it changes."""

import torch
from torch import nn
from torch.export import Dim

from model_list import Method, Model, model, rand


def stateful(buffers, forward, args, count=3, **options):
    """A model with these buffers and one method, called `count` times."""

    class Stateful(nn.Module):

        def __init__(self):
            super().__init__()
            for name, value in buffers.items():
                self.register_buffer(name, value)

    Stateful.forward = forward
    calls = [("forward", args if i == 0 else tuple(
        rand(*a.shape) if a.dtype.is_floating_point else a for a in args))
             for i in range(count)]
    return Model(Stateful(), {"forward": Method(args)}, calls, **options)


@model("counter")
def counter():

    def forward(self, x):
        self.count.add_(1)
        return x + self.count

    return stateful({"count": torch.zeros(1, dtype=torch.int64)}, forward,
                    (rand(3),))


@model("counter with initial value 7")
def seven():

    def forward(self, x):
        self.count.add_(1)
        return x + self.count

    return stateful({"count": torch.tensor([7], dtype=torch.int64)}, forward,
                    (rand(3),), initial=("count",))


@model("whole buffer replaced")
def replaced():

    def forward(self, x):
        old = self.last.clone()
        self.last.copy_(x)
        return x - old

    return stateful({"last": torch.zeros(2, 3)}, forward, (rand(2, 3),))


@model("batch norm in training")
def running_statistics():
    layer = nn.BatchNorm2d(3)
    calls = [("forward", (rand(2, 3, 4, 5),)) for _ in range(3)]
    return Model(layer, {"forward": Method(calls[0][1])}, calls)


@model("rows by position")
def rows():

    class Rows(nn.Module):

        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(6, 4))

        def forward(self, x, position):
            self.cache.index_put_((position,), x)
            return self.cache.sum(0)

    places = [torch.tensor([p]) for p in (2, 0, 5, 2)]
    return Model(Rows(), {"forward": Method((rand(1, 4), places[0]))},
                 [("forward", (rand(1, 4), p)) for p in places])


@model("state as an output")
def returned():

    def forward(self, x):
        self.state.add_(x)
        return self.state

    return stateful({"state": torch.zeros(2, 2)}, forward, (rand(2, 2),))


@model("old and new value returned")
def old_and_new():

    def forward(self, x):
        old = self.state.clone()
        self.state.mul_(0.5).add_(x)
        return old, self.state.clone()

    return stateful({"state": torch.zeros(2, 2)}, forward, (rand(2, 2),))


@model("input changed in place")
def input_changed():

    class InputChanged(nn.Module):

        def forward(self, x, y):
            x.add_(y)
            return x.sum(), y * 2

    return Model(InputChanged(), {"forward": Method((rand(2, 3), rand(2, 3)))})


@model("constant as an output")
def constant_output():

    class ConstantOutput(nn.Module):

        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.arange(6.0).view(2, 3))

        def forward(self, x):
            return self.table, x + self.table, None, 3

    return Model(ConstantOutput(), {"forward": Method((rand(2, 3),))})


@model("in-place operators, reinplaced")
def reinplaced():

    class Rows(nn.Module):

        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(5, 2))

        def forward(self, x, position):
            self.cache.index_put_((position,), x)
            return self.cache * 2

    places = [torch.tensor([p]) for p in (4, 1, 0)]
    return Model(Rows(), {"forward": Method((rand(1, 2), places[0]))},
                 [("forward", (rand(1, 2), p)) for p in places],
                 reinplace=True)


@model("dynamic length into a cache")
def dynamic_cache():

    class Cache(nn.Module):

        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(8, 3))

        def forward(self, x):
            self.cache[: x.shape[0]] = x
            return self.cache.sum(0)

    n = Dim("n", min=1, max=8)
    return Model(Cache(), {"forward": Method((rand(3, 3),), ({0: n},))},
                 [("forward", (rand(k, 3),)) for k in (3, 8, 1)])
