"""Writes the set `statistics` of this folder: modes, quantiles, distances and
sums of products along sizes that vary.

    pip install torch==2.13 safetensors
    python make_statistics.py
"""

import warnings

import torch
from make_varying import MOST, ROWS, RawRecorder, call_sizes, make, varying_dims
from torch.export import Dim

warnings.filterwarnings("ignore")


class Statistics(torch.nn.Module):
    states = ()

    def modes(self, x):
        return (*x.mode(0), *x.mode(1, keepdim=True),
                x.mode(0).values.mode().values)

    def quantiles(self, x):
        q = torch.tensor([0.2, 0.5, 1.0])
        return (x.quantile(0.3, 0), x.quantile(q, 1, keepdim=True),
                x.quantile(q), x.quantile(0.35, 0, True,
                                           interpolation="midpoint"),
                x.quantile(0.65, 1, interpolation="lower"),
                x.quantile(0.65, 1, interpolation="higher"),
                x.quantile(0.6, 1, interpolation="nearest"))

    def numbers(self, x):
        roots = x.sqrt()
        return (roots.nanquantile(0.4, 0), roots.quantile(0.5, 0),
                roots.nanquantile(torch.tensor([0.25, 1.0]), keepdim=True))

    def distances(self, x, y):
        return tuple(torch.dist(x, y, p) for p in (0, 1, 2, 3))

    def largest_distance(self, x, y):
        return (torch.dist(x, y, float("inf")),)

    def totals(self, x):
        return x.logcumsumexp(0), (x * 60).logcumsumexp(1)

    def products(self, b, x, y):
        return (torch.addbmm(b, x, y),
                torch.addbmm(b[0], x, y, beta=0.5, alpha=-2),
                torch.addbmm(b / 0, x, y, beta=0, alpha=3))

    def outer(self, x, a):
        return (torch.addr(x, a, x[0], beta=2, alpha=0.5),)


# Of each method: its inputs, sizes that it takes, and sizes that eager PyTorch
# refuses.
METHODS = {
    "modes": (((torch.int64, ("n", 5)),), (1, 2, 5, MOST), (0,)),
    "quantiles": ((ROWS,), (1, 2, 5, MOST), (0,)),
    "numbers": ((ROWS,), (1, 2, 5, MOST), (0,)),
    "distances": ((ROWS, ROWS), (0, 1, 2, MOST), ()),
    "largest_distance": ((ROWS, (1, 4)), (1, 2, MOST), (0,)),
    "totals": ((ROWS,), (0, 1, 2, 5, MOST), ()),
    "products": (((3, 5), ("n", 3, 4), ("n", 4, 5)), (0, 1, 2, MOST), ()),
    "outer": ((ROWS, ("n",)), (1, 2, MOST), (0,)),
}


def main():
    recorder = RawRecorder(Statistics(), "statistics")
    for name, (specs, _, _) in METHODS.items():
        dim = Dim("n", min=0, max=MOST)
        recorder.method(name, tuple(make(spec, MOST) for spec in specs),
                        tuple(varying_dims(spec, dim) for spec in specs))
    for name, (specs, sizes, refused) in METHODS.items():
        call_sizes(recorder, name, specs, sizes, refused)
    recorder.write(1e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
