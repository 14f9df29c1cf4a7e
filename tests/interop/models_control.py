"""Control flow that depends on data (torch.cond): jumps and moves in the file."""

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
