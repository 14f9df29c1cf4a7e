"""Writes the set `small_sizes` of this folder: methods at sizes 0 and 1.

    pip install torch==2.13 safetensors
    python make_small_sizes.py
"""

import warnings

import torch
import torch.nn.functional as F
from make_sets import Recorder
from torch.export import Dim

warnings.filterwarnings("ignore")

MOST = 6


class Small(torch.nn.Module):
    states = ()

    def attend(self, x, past):
        keys = torch.cat([past, x], 1)
        weights = torch.softmax(x @ keys.transpose(1, 2), -1)
        return weights @ keys, keys

    decode = attend

    def reduce(self, x):
        return (x.sum(0), x.mean(0), x.prod(0), (x > 0).any(0), (x > 0).all(0),
                x.softmax(0), x.t() @ x,
                F.layer_norm(x, (4,)))

    def first(self, x):
        return (x[:1] + 1,)

    def leading(self, x):
        return x[:2] * 2, x[:2].sum(0), x[:1].repeat(1, 2)

    def halved(self, x):
        return tuple(half + 1 for half in x.chunk(2))

    def squeezed(self, x):
        return (x.squeeze(0) + 1,)

    def medians(self, x):
        return x.median(), x.nanmedian()

    def least(self, x):
        return tuple(x.kthvalue(1, 0))

    def around(self, x):
        return (F.pad(x, (1, 2), mode="circular"),)

    def written(self, x, y):
        return (x.slice_scatter(y, 0, 0, 1),)


def main():
    recorder = Recorder(Small(), "small_sizes")
    traced = (torch.randn(2, 3, 4), torch.randn(2, 5, 4))
    recorder.method("attend", traced, ({1: Dim("n", min=0, max=MOST)},
                                       {1: Dim("p", min=0, max=MOST)}))
    recorder.method("decode", traced, ({1: Dim.DYNAMIC(max=MOST)},
                                       {1: Dim.DYNAMIC(max=MOST)}))
    for name in ("reduce", "first", "leading", "squeezed", "medians",
                 "least"):
        recorder.method(name, (torch.randn(3, 4),),
                        ({0: Dim("n", min=0, max=MOST)},))
    recorder.method("around", (torch.randn(1, 2, 3),),
                    ({2: Dim("n", min=0, max=MOST)},))
    recorder.method("written", (torch.randn(3, 4), torch.randn(1, 4)),
                    ({0: Dim("n", min=0, max=MOST)}, {}))
    recorder.method("halved", (torch.randn(MOST, 4),),
                    ({0: Dim.DYNAMIC(max=MOST)},))
    for new, past in ((1, 0), (1, 1), (4, 0), (0, 0), (0, 3), (MOST, MOST)):
        recorder.call("attend", torch.randn(2, new, 4),
                      torch.randn(2, past, 4))
    for new, past in ((1, 1), (1, 4), (MOST, MOST)):
        recorder.call("decode", torch.randn(2, new, 4),
                      torch.randn(2, past, 4))
    for name, sizes in (("reduce", (0, 1, 5, MOST)), ("first", (0, 1, 2, MOST)),
                        ("leading", (0, 1, 2, 3, MOST)),
                        ("squeezed", (0, 2, MOST)), ("halved", (4, 5, MOST))):
        for size in sizes:
            recorder.call(name, torch.randn(size, 4))
    recorder.refuse("squeezed", torch.randn(1, 4))
    holed = torch.randn(5, 4)
    holed[2, 1] = torch.nan
    for x in (torch.randn(0, 4), torch.randn(1, 4), torch.randn(MOST, 4),
              holed, torch.full((1, 4), torch.nan)):
        recorder.call("medians", x)
    recorder.refuse("least", torch.randn(0, 4))
    recorder.call("least", torch.randn(1, 4))
    recorder.call("around", torch.randn(1, 2, 2))
    recorder.refuse("written", torch.randn(0, 4), torch.randn(1, 4))
    recorder.call("written", torch.randn(1, 4), torch.randn(1, 4))
    recorder.write(1e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
