"""Small networks of the known kinds."""

import torch
import torch.nn.functional as F
from torch import nn

from model_list import Method, Model, ints, model, rand


def settled(module):
    """Gives batch norms statistics as after some training."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.uniform_(-0.5, 0.5)
            part.running_var.uniform_(0.5, 2)
    return module


@model("cnn")
def cnn():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8),
                        nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3),
                        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(8, 5))
    return Model(settled(net), {"forward": Method((rand(2, 3, 10, 10),))})


@model("inverted residual")
def inverted_residual():

    class InvertedResidual(nn.Module):

        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(6, 12, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU6(),
                nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False),
                nn.BatchNorm2d(12), nn.Hardswish(),
                nn.Conv2d(12, 6, 1, bias=False), nn.BatchNorm2d(6))

        def forward(self, x):
            return x + self.body(x)

    return Model(settled(InvertedResidual()),
                 {"forward": Method((rand(1, 6, 5, 5),))})


class Recurrent(nn.Module):
    """Embedding, a recurrent layer, logits of every step."""

    def __init__(self, layer):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.layer = layer
        self.out = nn.Linear(layer.hidden_size * (1 + layer.bidirectional), 3)

    def forward(self, tokens):
        hidden, _ = self.layer(self.embedding(tokens))
        return self.out(hidden)


@model("gru")
def gru():
    layer = nn.GRU(6, 5, num_layers=2, batch_first=True)
    return Model(Recurrent(layer), {"forward": Method((ints(2, 4),))})


@model("lstm")
def lstm():
    layer = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
    return Model(Recurrent(layer), {"forward": Method((ints(2, 4),))})


@model("transformer encoder")
def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True,
                                       activation="gelu", norm_first=True)
    return Model(layer, {"forward": Method((rand(2, 5, 8),))})


@model("transformer decoder")
def decoder():

    class Decoder(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)

        def forward(self, x, memory):
            mask = torch.triu(torch.full((4, 4), float("-inf")), 1)
            return self.layer(x, memory, tgt_mask=mask)

    return Model(Decoder(), {"forward": Method((rand(2, 4, 8), rand(2, 5, 8)))})


class RotaryBlock(nn.Module):
    """A decoder block with rotary positions, grouped heads, RMS norms."""

    def __init__(self, width=16, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 24, bias=False)
        self.up = nn.Linear(width, 24, bias=False)
        self.down = nn.Linear(24, width, bias=False)
        steps = torch.arange(16).float()
        rates = 10000.0**(-torch.arange(0, self.size, 2).float() / self.size)
        angles = torch.outer(steps, rates).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turn(self, x):
        length = x.shape[2]
        left, right = x.chunk(2, dim=-1)
        turned = torch.cat([-right, left], -1)
        return x * self.cos[:length] + turned * self.sin[:length]

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.size).transpose(1, 2)

    def forward(self, x):
        y = self.norm1(x)
        q = self.turn(self.split(self.q(y), self.heads))
        k = self.turn(self.split(self.k(y), self.groups))
        v = self.split(self.v(y), self.groups)
        repeat = self.heads // self.groups
        k = k.repeat_interleave(repeat, 1)
        v = v.repeat_interleave(repeat, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@model("rotary decoder block")
def rotary():
    return Model(RotaryBlock(), {"forward": Method((rand(1, 6, 16),))})


@model("vision transformer patches")
def patches():

    class Patches(nn.Module):

        def __init__(self):
            super().__init__()
            self.cut = nn.Conv2d(3, 8, 4, stride=4)
            self.first = nn.Parameter(torch.randn(1, 1, 8))
            self.places = nn.Parameter(torch.randn(1, 5, 8))
            self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            self.head = nn.Linear(8, 3)

        def forward(self, image):
            x = self.cut(image).flatten(2).transpose(1, 2)
            first = self.first.expand(x.shape[0], -1, -1)
            x = torch.cat([first, x], 1) + self.places
            return self.head(self.block(x)[:, 0])

    return Model(Patches(), {"forward": Method((rand(2, 3, 8, 8),))})
