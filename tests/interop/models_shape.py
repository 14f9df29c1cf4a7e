"""Data movement: views, slices, concatenation, indexing."""

import torch
import torch.nn.functional as F
from torch import nn

from model_list import Method, Model, model, rand
from models_elementwise import simple


@model("views")
def views():
    return simple(
        lambda a: (a.view(4, 6), a.reshape(2, -1), a.permute(2, 0, 1),
                   a.transpose(1, 2), a.unsqueeze(1), a[0].unsqueeze(-1),
                   a.flatten(), a.view(2, 3, 2, 2).permute(0, 2, 1, 3),
                   a[:, :1].squeeze(1), a.view(-1, 2)[3]),
        rand(2, 3, 4))


@model("slices and splits")
def parts():
    return simple(
        lambda a: (a[1:], a[:, ::2], a[..., -1], a[0, 1:3],
                   a.select(2, 1), a.narrow(1, 1, 2), *a.split(2, dim=1),
                   *a.unbind(0), *a.chunk(2, dim=2),
                   torch.diagonal(a, dim1=1, dim2=2)),
        rand(2, 4, 4))


@model("cat, stack and pad")
def joins():
    return simple(
        lambda a, b: (torch.cat([a, b], 0), torch.cat([a, a, b], 0),
                      torch.stack([a[0], b[0]], 1), a.repeat(2, 1, 3),
                      a[:1].expand(4, 3, 2), F.pad(a, (1, 2)),
                      F.pad(a, (0, 1, 2, 0), value=5.0), a.flip(1),
                      a.roll(1, 0), torch.cat([a[..., :1], b[:2, :, 1:]], -1)),
        rand(2, 3, 2), rand(3, 3, 2))


@model("negative padding")
def cropping():
    refused = "refuses negative padding when it runs"
    return simple(
        lambda a: (F.pad(a, (2, -1)), F.pad(a, (-1, 0, 1, -2), value=2.0)),
        rand(2, 3, 4), defects={("stock", "stock"): refused})


@model("indexing")
def indexing():
    return simple(
        lambda a, i: (a[i], a[:, i], a.index_select(1, i), a[i, i],
                      torch.gather(a, 0, i.unsqueeze(1).expand(3, 4)),
                      F.embedding(i, a), torch.take_along_dim(
                          a, i.view(1, 3), dim=1)),
        rand(5, 4), torch.tensor([3, 0, 2]))


@model("scattering")
def scattering():
    return simple(
        lambda a, i, v: (a.index_put((i,), v), a.scatter(0, i.view(1, 2), 0.5),
                         a.scatter_add(0, i.view(2, 1).expand(2, 4), v),
                         a.index_put((i,), v, accumulate=True),
                         torch.slice_scatter(a, v, 0, 1, 3),
                         torch.select_scatter(a, v[0], 0, 2),
                         a.index_add(0, i, v)),
        rand(5, 4), torch.tensor([3, 1]), rand(2, 4))


@model("padding and image resizing")
def padding():
    return simple(
        lambda a: (F.pad(a, (1, 1, 1, 1), mode="reflect"),
                   F.pad(a, (1, 0, 2, 1), mode="replicate"),
                   F.pixel_shuffle(a, 2), F.pixel_unshuffle(a, 2),
                   F.interpolate(a, scale_factor=2, mode="nearest"),
                   F.interpolate(a, size=(6, 8), mode="bilinear",
                                 align_corners=False)),
        rand(1, 4, 4, 6))


@model("channels last")
def channels_last():

    class ChannelsLast(nn.Module):

        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)

        def forward(self, x):
            y = F.max_pool2d(F.relu(self.conv(x)), 2)
            return y + y, y.contiguous(memory_format=torch.contiguous_format)

    image = rand(1, 3, 4, 6).to(memory_format=torch.channels_last)
    return Model(ChannelsLast().to(memory_format=torch.channels_last),
                 {"forward": Method((image,))})


@model("unfold and stacks")
def patches():
    return simple(
        lambda a, b, e: (
            F.unfold(a, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)),
            torch.cat([e, b], -1), torch.hstack([b, b]),
            torch.vstack([b, b[0]]), torch.dstack([b, b]),
            torch.column_stack([b[0], b[1]]), F.channel_shuffle(a, 2)),
        rand(2, 4, 6, 7), rand(2, 3), rand(0))
