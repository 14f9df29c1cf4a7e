"""Writes the set `long_masks` of this folder: masks of a fixed number of
positions, too many to be a constant of the file whatever they contain.

    pip install torch==2.13 safetensors
    python make_long_masks.py
"""

import torch
from make_sets import Recorder
from torch.nn import functional as F

LENGTH = 264  # a mask of so many rows has more than 64 KiB as bool, too
WINDOW = 5


def seen(rows, keys=LENGTH):
    return torch.arange(keys) <= torch.arange(rows)[:, None]


class LongMasks(torch.nn.Module):
    states = ()

    def added(self, x):
        """Numbers that are added, as older models compute them."""
        low = torch.full((LENGTH, LENGTH), -1e9).triu(1)
        return ((x @ x.transpose(1, 2) + low).softmax(-1) @ x,)

    def hidden(self, x):
        """Scores of later keys are replaced."""
        scores = x @ x.transpose(1, 2)
        return (scores.masked_fill(~seen(LENGTH), -torch.inf).softmax(-1) @ x,)

    def given(self, x):
        """A mask that is an argument of the operator, for all heads."""
        heads = x.unflatten(-1, (2, 2)).transpose(1, 2)
        mask = seen(LENGTH)[None, None].expand(1, 2, LENGTH, LENGTH)
        return (F.scaled_dot_product_attention(heads, heads, heads, mask),)

    def window(self, x):
        """Each row sees its own key and those shortly before it."""
        distance = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
        mask = (distance >= 0) & (distance < WINDOW)
        return (F.scaled_dot_product_attention(x, x, x, mask),)

    def fewer(self, x):
        """Rows that see one key more than a causal mask, fewer than keys."""
        rows = LENGTH - 8
        mask = torch.full((rows, LENGTH), -1e9).triu(2)
        return ((x[:, :rows] @ x.transpose(1, 2) + mask).softmax(-1) @ x,)

    def several(self, x):
        """The mask is a result, too."""
        mask = torch.full((LENGTH, LENGTH), -2.0).triu(1)
        return (x @ x.transpose(1, 2) + mask).softmax(-1) @ x, mask[:, ::33]


def main():
    torch.manual_seed(12)
    recorder = Recorder(LongMasks(), "long_masks")
    for name in "added", "hidden", "given", "window", "fewer", "several":
        x = torch.randn(1, LENGTH, 4)
        recorder.method(name, (x,))
        recorder.call(name, x)
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
