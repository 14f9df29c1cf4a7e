"""Writes the set `scaled_sizes` of this folder: sizes and conditions that PyTorch
computes with floats.

    pip install torch==2.13 safetensors
    python make_scaled_sizes.py
"""

import math
import warnings

import torch
import torch.nn.functional as F
from make_varying import RawRecorder, call_sizes, make, varying_dims
from torch.export import Dim

warnings.filterwarnings("ignore")

MOST = 200


class Scaled(torch.nn.Module):
    states = ()

    def stretched(self, x):
        return (F.interpolate(x, scale_factor=1.3),)

    def shortened(self, x):
        return (F.interpolate(x, scale_factor=0.7),)

    def tail(self, x):
        return (x[math.trunc(x.shape[0] * 0.7):] + 1,)

    def averaged(self, x):
        return (F.interpolate(x, scale_factor=0.5, mode="area"),)

    def found(self, x):
        return (torch.isin(x, torch.tensor([1, 3])),)


# Of each method: its inputs, sizes that it takes, and sizes that the exported
# program refuses.
METHODS = {
    # int(0.7 * 90) is 62.
    "stretched": (((1, 2, "n"),), (1, 2, 7, 10, 90, MOST), ()),
    "shortened": (((1, 2, "n"),), (3, 7, 10, 90, 180, MOST), (2,)),
    "tail": ((("n", 2),), (4, 10, 90, 180, MOST), (2, 3)),
    "averaged": (((1, 2, "n", 4),), (4, 5, 10), (2, 3)),
    "found": (((torch.int64, ("n",)),), (1, 2, 7), ()),
}


def main():
    recorder = RawRecorder(Scaled(), "scaled_sizes")
    for name, (specs, _, _) in METHODS.items():
        dim = Dim.DYNAMIC(max=MOST)
        recorder.method(name, tuple(make(spec, 6) for spec in specs),
                        tuple(varying_dims(spec, dim) for spec in specs))
    for name, (specs, sizes, refused) in METHODS.items():
        call_sizes(recorder, name, specs, sizes, refused)
    recorder.write(1e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
