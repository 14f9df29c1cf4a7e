"""The way depends on data: jumps and moves in the file."""

import torch
from torch import nn

from model_list import Method, Model, model, rand


class Choice(nn.Module):

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2 + 1,
                          lambda x: torch.sin(x) - 1, (x,))


@model("cond")
def cond():
    return Model(Choice(), {"forward": Method((torch.ones(2, 3),))},
                 [("forward", (v,)) for v in (torch.ones(2, 3), -torch.ones(
                     2, 3), torch.ones(2, 3) * 0.5, -torch.ones(2, 3))])


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


@model("cond, several outputs")
def several():

    class Several(nn.Module):

        def __init__(self):
            super().__init__()
            self.left = nn.Linear(3, 3)
            self.right = nn.Linear(3, 3)

        def forward(self, x):
            a, b = torch.cond(x[0, 0] > 0, lambda x: (self.left(x), x + 1),
                              lambda x: (self.right(x), x - 1), (x,))
            return a + b, b

    return Model(Several(), {"forward": Method((rand(2, 3).abs(),))},
                 [("forward", (v,)) for v in (torch.ones(2, 3), -torch.ones(
                     2, 3), rand(2, 3).abs())])
