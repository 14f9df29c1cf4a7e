"""Matrix products, convolutions, pooling."""

import torch
import torch.nn.functional as F
from torch import nn

from model_list import Method, Model, model, rand
from models_elementwise import simple


@model("matrix products")
def products():
    return simple(
        lambda a, b, c: (a @ b, torch.mm(a, b), torch.bmm(c, c.transpose(1, 2)),
                         torch.addmm(a[:, :2], a, b[:, :2], beta=0.5, alpha=2),
                         c @ b, torch.einsum("bij,jk->bik", c, b),
                         torch.einsum("...ij,jk", c[:1], b),
                         torch.einsum("bii->bi", c[..., :3]),
                         torch.baddbmm(c, c @ c.transpose(1, 2), c),
                         torch.outer(a[0], b[:, 0]), a @ b[:, 0]),
        rand(3, 4), rand(4, 5), rand(2, 3, 4))


@model("linear layers")
def linears():

    class Linears(nn.Module):

        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 8)
            self.second = nn.Linear(8, 6, bias=False)
            self.second.weight = nn.Parameter(self.first.weight.t())

        def forward(self, x):
            return self.second(F.gelu(self.first(x)))

    return Model(Linears(), {"forward": Method((rand(2, 5, 6),))})


@model("convolutions")
def convolutions():

    class Convolutions(nn.Module):

        def __init__(self):
            super().__init__()
            self.one = nn.Conv1d(4, 6, 3, padding=1)
            self.strided = nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False)
            self.depthwise = nn.Conv2d(4, 4, 3, groups=4, dilation=2)
            self.grouped = nn.Conv2d(4, 8, (1, 3), groups=2)
            self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)

        def forward(self, x):
            return (self.one(x[:, :, 0]), self.strided(x), self.depthwise(x),
                    self.grouped(x), self.up(x))

    return Model(Convolutions(), {"forward": Method((rand(2, 4, 6, 7),))})


@model("pooling")
def pooling():
    return simple(
        lambda a: (F.max_pool2d(a, 2), F.max_pool2d(a, 3, 2, 1),
                   F.avg_pool2d(a, 2), F.avg_pool2d(
                       a, 3, 2, 1, count_include_pad=False),
                   F.adaptive_avg_pool2d(a, 1), F.adaptive_avg_pool2d(
                       a, (2, 3)), *F.max_pool2d(a, 2, return_indices=True)),
        rand(2, 3, 6, 6))


@model("attention")
def attention():
    return simple(
        lambda q, k, v, m: (F.scaled_dot_product_attention(q, k, v),
                            F.scaled_dot_product_attention(
                                q, k, v, is_causal=True),
                            F.scaled_dot_product_attention(
                                q, k, v, attn_mask=m, scale=0.3)),
        rand(1, 2, 5, 4), rand(1, 2, 5, 4), rand(1, 2, 5, 4),
        torch.tril(torch.ones(5, 5)).bool())


@model("attention with two masks")
def attention_with_two_masks():
    """A bias beside what hides keys, as ALiBi and relative positions have it."""
    least = torch.finfo(torch.float32).min

    def forward(q, k, v, bias, mask, hides):
        scores = q @ k.transpose(-1, -2)
        flat = torch.baddbmm(bias.reshape(6, 1, 7), q.flatten(0, 1),
                             k.flatten(0, 1).transpose(1, 2), alpha=0.3)
        later = torch.where(hides, torch.tensor(least), scores * 0.3) + bias
        weights = ((scores * 0.3 + bias + mask).softmax(-1),
                   (scores * 0.3 + bias).masked_fill(hides, least).softmax(-1),
                   ((scores + bias + mask) / 3).softmax(-1),
                   (flat.view(2, 3, 5, 7) + mask).softmax(-1),
                   later.softmax(-1))
        return tuple(each @ v for each in weights)

    hides = torch.ones(2, 1, 5, 7, dtype=torch.bool).triu(2)
    return simple(forward, rand(2, 3, 5, 8), rand(2, 3, 7, 8),
                  rand(2, 3, 7, 8), rand(2, 3, 1, 7), rand(2, 1, 5, 7), hides)


@model("window attention")
def attention_of_windows():
    """As Swin has it: a bias of heads, a mask of windows, a scale of heads."""
    def forward(q, k, v, bias, mask, scale):
        scores = q @ k.transpose(-1, -2)
        shown = (scores * scale + bias).view(2, 3, 2, 5, 7) + mask[:, None]
        return tuple(each.view(6, 2, 5, 7).softmax(-1) @ v
                     for each in (shown, shown + mask[:, None])) + (
                         (scores / scale[..., :1, :1, :1]).softmax(-1) @ v,)

    return simple(forward, rand(6, 2, 5, 8), rand(6, 2, 7, 8),
                  rand(6, 2, 7, 8), rand(2, 5, 7), rand(3, 5, 7),
                  torch.tensor([[[0.3]], [[0.7]]]))


@model("attention of basic operators")
def attention_spelled_out():
    """Scores with a least value, a softmax in steps."""
    least = torch.tensor(torch.finfo(torch.float32).min)

    def forward(q, k, v, mask):
        scores = q @ k.transpose(-1, -2)
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = (torch.maximum(scores * 0.3 + mask, least).softmax(-1),
                   powers / powers.sum(-1, keepdim=True),
                   scores.log_softmax(-1).exp())
        return tuple(each @ v for each in weights)

    mask = torch.zeros(2, 1, 5, 7)
    mask[0, :, :, 3:] = -torch.inf
    mask[1, :, 2] = -torch.inf  # a row that sees nothing
    return simple(forward, rand(2, 3, 5, 8), rand(2, 3, 7, 8),
                  rand(2, 3, 7, 8), mask)


@model("vectors")
def vectors():
    return simple(
        lambda a, b, i: (F.cosine_similarity(a, b, dim=-1), torch.inner(a, b),
                         torch.tensordot(a, b, ([0], [0])),
                         torch.linalg.cross(a, b), torch.linalg.vecdot(a, b),
                         torch.cross(a.T, b.T, dim=0), torch.trace(a[:3]),
                         torch.isin(i, i[:2], invert=True),
                         torch.isclose(a, b, rtol=0.5), F.mse_loss(a, b),
                         F.l1_loss(a, b, reduction="sum")),
        rand(4, 3), rand(4, 3), torch.tensor([4, 1, 2, 1]))


@model("Fourier transforms")
def transforms():

    def run(a):
        half = torch.fft.rfft(a, norm="ortho")
        plane = torch.fft.rfft2(a, dim=(1, 2))
        return (torch.view_as_real(half), torch.fft.irfft(half, norm="ortho"),
                torch.view_as_real(torch.conj_physical(plane)),
                torch.fft.irfft(torch.fft.rfft(a[:, :, :7]), n=7))

    return simple(run, rand(2, 5, 8))


@model("spectral filter")
def spectral():

    class Filter(nn.Module):

        def __init__(self):
            super().__init__()
            self.register_buffer("factors",
                                 torch.complex(rand(5), rand(5)))

        def forward(self, x):
            return torch.fft.irfft(torch.fft.rfft(x) * self.factors, n=8)

    return Model(Filter(), {"forward": Method((rand(2, 8),))})


@model("gradients of a convolution")
def gradients():
    return simple(
        lambda grad, a, weight: torch.ops.aten.convolution_backward(
            grad, a, weight, [3], [2, 1], [1, 1], [1, 1], False, [0, 0], 1,
            [True, True, True]),
        rand(2, 3, 3, 5), rand(2, 4, 5, 5), rand(3, 4, 3, 3))
