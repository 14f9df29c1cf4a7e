"""Reductions, normalisations, quantised values."""

import torch
import torch.nn.functional as F
from torch import nn

from model_list import Method, Model, ints, model, rand
from models_elementwise import simple


@model("sums and means")
def sums():
    return simple(
        lambda a, i: (a.sum(), a.sum(1), a.sum((0, 2), keepdim=True), a.mean(),
                      a.mean(-1), i.sum(), i.sum(0), a.prod(1), a.cumsum(1),
                      i.cumsum(0), a.var(-1), a.std(1, unbiased=False),
                      torch.linalg.vector_norm(a, dim=-1)),
        rand(2, 3, 4), ints(3, 4))


@model("maxima, minima, any and all")
def extremes():
    return simple(
        lambda a: (a.amax(1), a.amin((0, 1)), *a.max(1), *a.min(-1, keepdim=True),
                   a.argmax(1), a.argmin(), a.max(), a.min(), (a > 0).any(),
                   (a > 0).all(1), (a > 5).any(-1), *torch.aminmax(a, dim=1)),
        rand(2, 3, 4))


@model("softmax")
def softmax():
    return simple(
        lambda a: (F.softmax(a, -1), F.softmax(a, 0), F.log_softmax(a, 1),
                   torch.logsumexp(a, 1)),
        rand(3, 4, 5))


@model("infinities")
def infinities():
    rows = torch.tensor([[float("inf"), 1], [float("-inf")] * 2,
                         [float("-inf"), 1], [float("nan"), 1], [1, 2]])
    return simple(
        lambda a, h: (torch.logsumexp(a, 1), torch.nan_to_num(a),
                      torch.nan_to_num(h)),
        rows, rows.half())


@model("topk")
def topk():
    return simple(lambda a: (*torch.topk(a, 3), *torch.topk(a, 2, largest=False)),
                  rand(2, 7))


@model("normalisations")
def normalisations():

    class Normalisations(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.LayerNorm(6)
            self.plain = nn.LayerNorm((4, 6), elementwise_affine=False)
            self.group = nn.GroupNorm(2, 4)
            self.batch = nn.BatchNorm1d(4)
            self.rms = nn.RMSNorm(6)
            for batch in (self.batch,):
                batch.running_mean.uniform_(-1, 1)
                batch.running_var.uniform_(0.5, 2)

        def forward(self, x):
            return (self.layer(x), self.plain(x), self.group(x), self.batch(x),
                    self.rms(x))

    return Model(Normalisations(), {"forward": Method((rand(2, 4, 6),))})


def quantised(dtype, low, high, channels):
    """Quantised and back, as exporters of quantised models write it."""
    ops = torch.ops.quantized_decomposed

    class Quantised(nn.Module):

        def __init__(self):
            super().__init__()
            self.register_buffer(
                "weight", torch.randint(low, high + 1, (4, 6)).to(dtype))
            self.register_buffer("scales", torch.rand(4) * 0.1 + 0.01)
            self.register_buffer("zeros",
                                 torch.randint(-3, 3, (4,), dtype=torch.int64))

        def forward(self, x):
            q = ops.quantize_per_tensor(x, 0.05, 3, low, high, dtype)
            y = ops.dequantize_per_tensor(q, 0.05, 3, low, high, dtype)
            if channels:
                w = ops.dequantize_per_channel(self.weight, self.scales,
                                               self.zeros, 0, low, high, dtype)
            else:
                w = ops.dequantize_per_tensor(self.weight, 0.02, 0, low, high,
                                              dtype)
            return F.linear(y, w), q

    return Model(Quantised(), {"forward": Method((rand(3, 6),))})


@model("quantised, per tensor")
def per_tensor():
    return quantised(torch.int8, -128, 127, False)


@model("quantised, per channel")
def per_channel():
    return quantised(torch.int8, -128, 127, True)


@model("quantised, unsigned")
def unsigned():
    return quantised(torch.uint8, 0, 255, False)
