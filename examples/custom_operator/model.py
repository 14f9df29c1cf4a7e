"""Operators of its own, and a model of three methods that calls them.

    python3 model.py methods/     writes one .pt2 file for each method
"""

import os
import sys

import torch
from torch.export import Dim


# The operators. PyTorch's own tensors compute them here; my_kernels.c has them
# in C.
@torch.library.custom_op("my::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scale.register_fake
def _(x, factor):
    return torch.empty_like(x)


@torch.library.custom_op("my::halves", mutates_args=())
def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    n = x.shape[0] // 2
    return x[:n].clone(), x[n:].clone()


@halves.register_fake
def _(x):
    n = x.shape[0] // 2
    return x.new_empty(n, x.shape[1]), x.new_empty((x.shape[0] + 1) // 2, x.shape[1])


@torch.library.custom_op("my::accumulate", mutates_args={"total"})
def accumulate(total: torch.Tensor, x: torch.Tensor) -> None:
    total += x.sum(dim=0)


@accumulate.register_fake
def _(total, x):
    return None


@torch.library.custom_op("my::track", mutates_args={"peak"})
def track(peak: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    above = x - peak
    peak.copy_(torch.maximum(peak, x))
    return above


@track.register_fake
def _(peak, x):
    return torch.empty_like(x)


class Meter(torch.nn.Module):
    """Each method is the forward of a class, over the same two buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("peak", torch.zeros(3))


class Push(Meter):
    def forward(self, x):  # float32[n, 3]
        y = scale(x, 0.5)
        accumulate(self.total, y)
        low, high = halves(y + 1)
        return low, high


class Peak(Meter):
    def forward(self, x):  # float32[3]
        return track(self.peak, x) * 2


class Get(Meter):
    def forward(self):
        return self.total + 0, self.peak + 0


def methods():
    """Name, module, example inputs and dynamic shapes of each method."""
    rows = Dim("n", min=4, max=16)
    return (
        ("push", Push(), (torch.zeros(4, 3),), {"x": {0: rows}}),
        ("peak", Peak(), (torch.zeros(3),), None),
        ("get", Get(), (), None),
    )


def export(directory, decompose=False):
    os.makedirs(directory, exist_ok=True)
    for name, module, inputs, shapes in methods():
        program = torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)
        if decompose:
            program = program.run_decompositions({})
        torch.export.save(program, os.path.join(directory, name + ".pt2"))


if __name__ == "__main__":
    export(sys.argv[1])
