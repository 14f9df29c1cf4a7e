"""Inputs with a varying size N for varying_sizes.py and its tables of calls. An
input is a shape, or a pair of a type (int64, bool) and a shape.
"""

import torch

N = "n"
ROWS, COLUMNS = (N, 4), (3, N)
IMAGE, WAVE = (1, 2, N, N), (1, 2, N)


def integer(*shape):
    return torch.int64, shape


def truth(*shape):
    return torch.bool, shape


def weights(*shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count) * 12.9898).sin().reshape(shape)
