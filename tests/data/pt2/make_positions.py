"""Writes the set `positions` of this folder: values of varying sizes that
depend on positions alone.

    pip install torch==2.13 safetensors
    python make_positions.py
"""

import torch
from make_sets import Recorder
from torch.export import Dim
from torch.nn import functional as F

MOST = 9
KEYS = MOST + 2  # of masks that are larger than any number of rows


def causal(n):
    return torch.arange(n) <= torch.arange(n)[:, None]


class Positions(torch.nn.Module):
    states = ()

    def __init__(self):
        super().__init__()
        self.places = torch.nn.Embedding(MOST + 2, 8)
        self.buckets = torch.nn.Embedding(6, 2)
        self.register_buffer("ids", torch.arange(MOST)[None])
        self.register_buffer("distances", torch.linspace(
            -2, 1, 2 * KEYS * KEYS).reshape(1, 2, KEYS, KEYS).sin())
        self.register_buffer("hidden", self.distances[0, 0] > 0.5)
        self.register_buffer("types", torch.zeros(1, MOST, dtype=torch.int64))

    def rotate(self, x):
        """Rotary angles as language models compute them."""
        n = x.shape[1]
        angles = torch.arange(n)[:, None] * 10000.0 ** (
            -torch.arange(0, 8, 2) / 8)
        angles = torch.cat([angles, angles], -1)
        turned = torch.cat([-x[..., 4:], x[..., :4]], -1)
        return (x * angles.cos() + turned * angles.sin(),)

    def mask(self, x):
        """A mask that the library of transformers spells out: an element is
        seen in its own sequence, and before it."""
        n = x.shape[1]
        at = torch.arange(n)[None]
        before = at[:, :1] - 1
        starts = torch.diff(at, prepend=before) != 1
        sequence = starts.cumsum(-1)
        row = torch.arange(n)[None, None, :, None]
        key = torch.arange(n)[None, None, None, :]
        batch = torch.zeros(1, 1, 1, 1, dtype=torch.int64)
        seen = causal(n) & (sequence[batch, row] == sequence[batch, key])
        scores = (x @ x.transpose(1, 2))[:, None]
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        return weights, seen.any(-1)

    def added(self, x):
        """The same mask as numbers that are added."""
        n = x.shape[1]
        low = torch.full((n, n), -1e9).triu(1)
        return ((x @ x.transpose(1, 2) + low).softmax(-1) @ x,)

    def window(self, x):
        """Each row sees three keys; the guard of rows that see none."""
        n = x.shape[1]
        distance = torch.arange(n)[:, None] - torch.arange(n)
        seen = (distance >= 0) & (distance < 3)
        scores = (x @ x.transpose(1, 2)).masked_fill(~seen, -torch.inf)
        weights = scores.softmax(-1)
        weights = torch.where(seen.any(-1, keepdim=True), weights, 0.0)
        return weights @ x, (distance > 0).any(0)

    def places_and_types(self, x, seen):
        """Rows of weights, and a mask of keys that an input gives."""
        n = x.shape[1]
        ids = self.ids[:, :n]
        types = self.types.gather(1, ids)
        x = x + self.places(ids + 2) + self.buckets(types).repeat(1, 1, 4)
        keys = seen[torch.zeros(1, 1, dtype=torch.int64), torch.arange(n)]
        every = torch.ones(n, 1, dtype=torch.bool) & keys
        return F.scaled_dot_product_attention(x, x, x, every[None]), every

    def relative(self, x):
        """A bias by the distance of row and key, in steps that grow."""
        n = x.shape[1]
        distance = torch.arange(n) - torch.arange(n)[:, None]
        far = (distance.abs().clamp(min=1).float().log() * 1.5).long() + 1
        bucket = torch.where(distance.abs() < 2, distance.abs(), far.clamp(max=5))
        bias = self.buckets(bucket).permute(2, 0, 1)[None]
        return ((x @ x.transpose(1, 2))[:, None] + bias,)

    def biased(self, x, mask):
        """Attention reads the first rows and keys of a larger bias, of a larger
        mask, and of one that an input gives."""
        n = x.shape[1]
        heads = x.unflatten(-1, (2, 2)).transpose(1, 2)

        def attend(shift, hide):
            scores = (heads + shift) @ heads.transpose(2, 3)
            return hide(scores).softmax(-1) @ heads
        return (attend(1, lambda s: s + self.distances[:, :, :n, :n]),
                attend(2, lambda s: s + mask[:, :, :n, :n]),
                attend(3, lambda s: s + mask[:, :, 1:2, :n]),
                attend(4, lambda s: s.masked_fill(self.hidden[:n, :n], -1e9)))

    def summed(self, x):
        """Angles as a product of a column and a row, and positions as sums of
        ones, whose product with the rows is the rows."""
        n = x.shape[1]
        rates = 10000.0 ** (-torch.arange(0, 8, 2) / 8)
        at = torch.arange(n)[None, None].float()
        angles = (rates[None, :, None] @ at).transpose(1, 2)
        ones = torch.ones(1, n)
        places = (ones.cumsum(1) * ones).long() - 1
        return (x * ones[..., None] + torch.cat([angles, angles], -1).cos(),
                x + self.places(places + 2), (ones * 0.3).cumsum(1) + x[..., 0])

    def behind(self, x, past):
        """Positions of rows that come after others."""
        n, p = x.shape[1], past.shape[1]
        at = torch.arange(p, p + n)
        rows = torch.cat([past, x], 1)
        seen = torch.arange(p + n)[None] <= at[:, None]
        scores = (x @ rows.transpose(1, 2)).masked_fill(~seen, -torch.inf)
        return scores.softmax(-1) @ rows, at, x * at[:, None]

    def two(self, x, y):
        """Two sizes: rows of one, columns of the other."""
        grid = torch.arange(x.shape[0])[:, None] * 3 - torch.arange(y.shape[0])
        return x[:, None] + y + grid % 4, grid.float().sin()

    def last(self, x):
        """What depends on the size: the last positions, and sums of all."""
        at = torch.arange(x.shape[1])
        return (x + at.flip(0), x + at[-1], x + at.sum(), at[1:] * 2,
                x * (at > x.shape[1] - 3), torch.cat([at, at]) - 1)


def main():
    torch.manual_seed(11)
    model = Positions().eval()
    recorder = Recorder(model, "positions")
    n = Dim("n", min=2, max=MOST)
    rows = {"rotate": 8, "mask": 4, "added": 4, "window": 4, "relative": 3}
    for name, width in rows.items():
        recorder.method(name, (torch.randn(1, 5, width),), ({1: n},))
    recorder.method("places_and_types",
                    (torch.randn(1, 5, 8), torch.ones(1, 5) > 0),
                    ({1: n}, {1: n}))
    recorder.method("two", (torch.randn(4), torch.randn(6)),
                    ({0: Dim("r", min=2, max=7)}, {0: Dim("c", min=2, max=8)}))
    recorder.method("last", (torch.randn(1, 5),),
                    ({1: Dim("m", min=3, max=MOST)},))
    for size in (2, 3, 6, MOST):
        for name, width in rows.items():
            recorder.call(name, torch.randn(1, size, width))
        seen = torch.rand(1, size) > 0.4
        recorder.call("places_and_types", torch.randn(1, size, 8), seen)
        if size > 2:
            recorder.call("last", torch.randn(1, size))
    for shape in ((2, 8), (7, 2), (5, 5)):
        recorder.call("two", *(torch.randn(size) for size in shape))
    most = torch.randn(1, 1, KEYS, KEYS)
    recorder.method("biased", (torch.randn(1, 5, 4), most), ({1: n}, None))
    for size in (2, 3, 6, MOST):
        recorder.call("biased", torch.randn(1, size, 4), most)
    recorder.method("summed", (torch.randn(1, 5, 8),), ({1: n},))
    recorder.method("behind", (torch.randn(1, 5, 4), torch.randn(1, 3, 4)),
                    ({1: n}, {1: Dim("p", min=2, max=7)}))
    for size in (2, 3, 6, MOST):
        recorder.call("summed", torch.randn(1, size, 8))
        recorder.call("behind", torch.randn(1, size, 4),
                      torch.randn(1, 2 + size % 5, 4))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
