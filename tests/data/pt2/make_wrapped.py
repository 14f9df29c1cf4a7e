"""Writes the set `wrapped` of this folder: programs as torch.export gives them
of models that compute a part of their work under torch.no_grad() or with
torch.autocast switched off, which become graphs within nodes, as branches do; and
in core/ what run_decompositions() makes of them. One method holds what nobody
reads besides: random numbers, and numbers for assertions alone.

    pip install torch==2.13 safetensors
    python make_wrapped.py
"""

import torch
from make_in_place import RawRecorder
from torch import nn
from torch.export import Dim

ROWS, WIDTH = 4, 6


class Wrapped(nn.Module):
    states = ("cache",)

    def __init__(self):
        super().__init__()
        torch.manual_seed(17)
        self.register_buffer("cache", torch.zeros(ROWS, WIDTH))
        self.layer = nn.Linear(WIDTH, WIDTH)

    def angles(self, x):
        """Several results, one in the other, sizes, what is only passed on."""
        with torch.no_grad():
            place = torch.arange(x.shape[0]).to("cpu", torch.float32)
            twice = x + x
            with torch.autocast("cpu", enabled=False):
                angle = self.layer(twice) * place[:, None]
            low, high = torch.split(angle, WIDTH // 2, 1)
        with torch.autocast("cpu", enabled=False):
            same = twice.cos()
        return same * angle, torch.cat([high, low], 1), x

    def keep(self, x, y):
        """A buffer and values that are written on both sides."""
        copy = y.clone()
        with torch.no_grad():
            self.cache[:, 1] = x
            part = self.cache[:, 2:4]
            copy[0] = 1
            flat = copy.view(-1)
        part.add_(1)
        flat.mul_(2)
        return self.cache * 2, copy + 1

    def choose(self, x):
        """Branches that know a size of the method."""
        n = x.shape[0]
        y = torch.cond(x.sum() > 0, lambda x: x * n,
                       lambda x: x - torch.arange(n)[:, None], (x,))
        with torch.no_grad():
            z = y * n
        return y + 1, z

    def checked(self, x):
        torch.rand(2)
        torch._check(x.max().item() < 1000)
        most = x.abs().to(torch.int64).max().item()
        torch._check(most + 1 < 1000)
        return (x + 1,)


def main():
    recorder = RawRecorder(Wrapped(), "wrapped")
    recorder.method("angles", (torch.randn(5, WIDTH),),
                    ({0: Dim("n", min=2, max=9)},))
    recorder.method("keep", (torch.randn(ROWS), torch.randn(3, 2)))
    recorder.method("choose", (torch.randn(5, WIDTH),),
                    ({0: Dim("n", min=2, max=9)},))
    recorder.method("checked", (torch.randn(2, WIDTH),))
    for rows in (5, 2, 9):
        recorder.call("angles", torch.randn(rows, WIDTH))
        recorder.call("keep", torch.randn(ROWS), torch.randn(3, 2))
        recorder.call("checked", torch.randn(2, WIDTH))
        for sign in (-1, 1):
            recorder.call("choose", sign * torch.rand(rows, WIDTH))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
