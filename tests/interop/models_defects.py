"""What upstream has got wrong at some time, each as a model: state that is not
shared, a late load that resets, write-backs that read what they overwrote,
aliases that are lost."""

import torch
from torch import nn

from model_list import Method, Model, model, rand
from models_methods import set_and_get
from models_state import stateful


@model("set in one method, read in another")
def shared():
    return set_and_get()


@model("late load of a method with initial values")
def shared_ones():
    made = set_and_get(start=1.0)
    made.initial = ("stored",)
    return made


@model("a, b = b, a")
def swapped():

    def forward(self, x):
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b + x)
        self.b.copy_(a)
        return a - b

    return stateful({"a": torch.zeros(3), "b": torch.zeros(3)}, forward,
                    (rand(3),))


@model("a, b = b, a over stored values")
def plain_swap():

    def forward(self, x):
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b)
        self.b.copy_(a)
        return x + 1

    return stateful({"a": torch.arange(3.0), "b": torch.arange(3.0) * -2},
                    forward, (rand(3),), initial=("a", "b"))


@model("write through a view")
def through_view():

    def forward(self, x):
        row = self.table[1]
        row.mul_(0.5).add_(x)
        self.table.view(-1)[0:2].fill_(3.0)
        return self.table.sum(1)

    return stateful({"table": torch.zeros(3, 4)}, forward, (rand(4),))


@model("last copy_ kept")
def last_copy():

    def forward(self, x):
        self.kept.copy_(x)
        self.kept.copy_(x * 2)
        self.kept.copy_(x * 3)
        return self.kept + 1

    return stateful({"kept": torch.zeros(4)}, forward, (rand(4),))


@model("read-only table next to a state")
def table():

    def forward(self, x):
        self.sum.add_(x * self.weights)
        return self.sum * self.weights

    return stateful({"weights": torch.arange(4.0) + 1, "sum": torch.zeros(4)},
                    forward, (rand(4),))


@model("outputs that are inputs")
def input_output():

    class InputOutput(nn.Module):

        def forward(self, x, y):
            return x, x + y, y

    return Model(InputOutput(), {"forward": Method((rand(2, 3), rand(2, 3)))})


@model("nested cond")
def nested():

    class Nested(nn.Module):

        def forward(self, x, flag):
            def inner(x):
                return torch.cond(x.max() > 2, lambda x: x - 10,
                                  lambda x: x + 10, (x,))

            return torch.cond(flag, inner, lambda x: x * 3, (x,)) + 0.5

    yes, no = torch.tensor(True), torch.tensor(False)
    return Model(Nested(), {"forward": Method((rand(4), yes))},
                 [("forward", a) for a in (
                     (torch.tensor([0., 1., 2., 3.]), yes),
                     (torch.tensor([0., 1., 2., 3.]), no),
                     (torch.tensor([0., 1., 1., 1.]), yes),
                     (torch.tensor([0., 1., 9., 1.]), yes))])
