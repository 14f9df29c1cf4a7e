"""Sequences and batches whose lengths vary or are data."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, bounded, flow, number, zero


@flow
def lstm_scan():
    """An LSTM layer by scan, whose state stays for the next call."""
    def forward(self, x):
        def step(carry, row):
            h, c = self.cell(row, (carry[0], carry[1]))
            return [h, c], h * 1

        (h, c), rows = scan(step, [self.h.clone(), self.c.clone()], x)
        self.h.copy_(h)
        self.c.copy_(c)
        return rows, h

    model = Method(forward, ("h", "c"), cell=nn.LSTMCell(3, 5), h=torch.zeros(2, 5),
                   c=torch.zeros(2, 5))
    calls = {label: (torch.randn(6, 2, 3),) for label in ("most", "most, again")}
    return Flow(model, calls)


@flow
def gru_varying():
    """A GRU layer by scan over a varying number of rows, in a batch."""
    def forward(self, x):
        def step(h, row):
            h = self.cell(row, h)
            return h, h[:, :2] * 1

        return scan(step, torch.zeros(2, 4), x)

    calls = {label: (torch.randn(n, 2, 3),) for label, n in
             (("middle", 5), ("least", 2), ("most", 9))}
    return Flow(Method(forward, cell=nn.GRUCell(3, 4)), calls,
                ({0: Dim("rows", min=2, max=9)},), overflow=((torch.randn(10, 2, 3),),))


@flow
def bidirectional():
    """Two recurrent layers, forwards and backwards, side by side."""
    def forward(self, x):
        def step(cell):
            def inner(h, row):
                h = torch.tanh(cell(torch.cat([row, h])))
                return h, h * 1
            return inner

        _, ahead = scan(step(self.ahead), torch.zeros(4), x)
        _, back = scan(step(self.back), torch.zeros(4), x, reverse=True)
        return torch.cat([ahead, back], 1)

    model = Method(forward, ahead=nn.Linear(7, 4), back=nn.Linear(7, 4))
    calls = {label: (torch.randn(n, 3),)
             for label, n in (("middle", 5), ("least", 2), ("most", 8))}
    return Flow(model, calls, ({0: Dim("rows", min=2, max=8)},),
                overflow=((torch.randn(9, 3),),))


LENGTHS = {"middle": [2, 4], "zero": [0, 0], "most": [5, 5], "least": [0, 1]}


@flow
def ragged_batch():
    """A layer on the valid rows of a padded batch only, and means of each."""
    def forward(self, x, lengths):
        valid = torch.arange(x.shape[1])[None] < lengths[:, None]
        rows = F.relu(self.layer(x[valid]))
        out = torch.index_put(torch.zeros(x.shape[0], x.shape[1], 4), (valid,), rows)
        return out, rows, out.sum(1) / lengths.clamp(min=1)[:, None]

    calls = {label: (torch.randn(2, 5, 3), number(lengths))
             for label, lengths in LENGTHS.items()}
    return Flow(Method(forward, layer=nn.Linear(3, 4)), calls)


@flow
def ragged_attention():
    """Attention with a mask from lengths; the result has the valid rows."""
    def forward(self, x, lengths):
        valid = torch.arange(x.shape[1])[None] < lengths[:, None]
        q, k, v = self.layer(x).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / 2
        scores = scores.masked_fill(~valid[:, None], -1e9)
        return ((scores.softmax(-1) @ v)[valid],)

    calls = {label: (torch.randn(2, 5, 3), number(lengths))
             for label, lengths in LENGTHS.items()}
    return Flow(Method(forward, layer=nn.Linear(3, 12)), calls)


@flow
def length_regulator():
    """Repeats each phoneme's vector for its duration, as text-to-speech does."""
    def forward(self, x, durations):
        frames = torch.repeat_interleave(x, durations, dim=0)
        torch._check(frames.shape[0] <= 12)
        return torch.tanh(self.layer(frames)), frames.sum(0)

    x = torch.randn(4, 3)
    calls = {label: (x, number(durations)) for label, durations in
             (("middle", [1, 0, 3, 2]), ("zero", [0] * 4), ("most", [3] * 4),
              ("least", [0, 1, 0, 0]))}
    return Flow(Method(forward, layer=nn.Linear(3, 5)), calls,
                overflow=((x, number([9, 3, 3, 3])),))


@flow
def run_lengths():
    """Run-length encoding by the places where values change, and back."""
    def forward(self, x):
        edge = torch.ones(1, dtype=torch.bool)
        starts = torch.cat([edge, x[1:] != x[:-1]]).nonzero().squeeze(1)
        torch._check(starts.shape[0] >= 1)
        ends = torch.cat([starts[1:], torch.full((1,), x.shape[0])])
        place = (torch.arange(x.shape[0])[:, None] >= starts[None]).sum(1) - 1
        values = x[starts]
        return values, ends - starts, values[place]

    calls = {label: (number(x),) for label, x in
             (("middle", [1, 1, 2, 3, 3, 3]), ("least", [7] * 6),
              ("most", [1, 2, 1, 2, 1, 2]))}
    return Flow(Method(forward), calls)


@flow
def deduplicated_lookup():
    """Looks up each word once, by unique and its inverse."""
    def forward(self, ids):
        words, place, count = torch.unique(ids, return_inverse=True, return_counts=True)
        rows = torch.relu(self.layer(self.embed(words)))
        return rows[place], words, count

    calls = {label: (number(ids),) for label, ids in
             (("middle", [1, 1, 8, 3, 2]), ("least", [0] * 5), ("most", [4, 3, 2, 1, 0]))}
    return Flow(Method(forward, embed=nn.Embedding(9, 3), layer=nn.Linear(3, 4)), calls,
                only_etx="aten._unique2")


@flow
def histogram():
    """Counts of values up to the largest one, and their shares."""
    def forward(self, x):
        counts = torch.bincount(x)
        return counts, counts.float() / counts.sum(), counts.cumsum(0)

    calls = {label: (number(x),) for label, x in
             (("middle", [1, 1, 3, 5]), ("least", [0] * 4), ("most", [8, 0, 8, 1]))}
    return Flow(Method(forward), calls, caps=("u0=9",),
                overflow=((number([9, 0, 0, 0]),),), only_etx="aten.bincount")


@flow
def peak_picking():
    """Places and heights of the local maxima of a signal."""
    def forward(self, x, least):
        inner = x[1:-1]
        peaks = (inner > x[:-2]) & (inner > x[2:]) & (inner > least)
        places = peaks.nonzero().squeeze(1) + 1
        return places, x[places], F.conv1d(x[None, None], self.kernel)[0, 0]

    waves = torch.tensor([0.0, 1, 0, 2, 0, 3, 0, 1, 0])
    calls = {"most": (waves, torch.tensor(0.0)), "zero": (waves, torch.tensor(9.0)),
             "least": (waves, torch.tensor(2.5)), "middle": (waves, torch.tensor(1.5))}
    return Flow(Method(forward, kernel=torch.randn(1, 1, 3)), calls)


@flow
def sliding_window():
    """A window moves over a signal in a loop, until one is loud enough."""
    def forward(self, x, limit):
        window = torch.arange(4)
        last = x.shape[0] - 4

        def body(i, power, best):
            part = x.index_select(0, window + i)
            return i + 1, (part * self.taper).square().sum(), torch.maximum(best, part)

        return while_loop(lambda i, power, best: (i <= last) & (power < limit), body,
                          (zero(), torch.zeros(()), torch.full((4,), -9.0)))

    calls = {label: (torch.randn(n), torch.tensor(limit)) for label, n, limit in
             (("middle", 8, 4.0), ("least", 4, 99.0), ("most", 12, 99.0),
              ("zero", 6, -1.0))}
    return Flow(Method(forward, taper=torch.tensor([0.5, 1.0, 1.0, 0.5])), calls,
                ({0: Dim("n", min=4, max=12)}, None),
                overflow=((torch.randn(13), torch.tensor(1.0)),))


@flow
def cache_append():
    """Appends a varying number of rows to a ring of state in a loop, and reads
    it in the loop."""
    rows = 5

    def forward(self, x):
        def body(i, cache, place, total):
            row = x.index_select(0, i.view(1))
            cache = cache.index_copy(0, place.view(1), row + cache.mean(0, keepdim=True))
            return i + 1, cache, (place + 1) % rows, total + cache.sum()

        n = x.shape[0]
        _, cache, place, total = while_loop(
            lambda i, *rest: i < n, body,
            (zero(), self.cache.clone(), self.place.clone(), torch.zeros(())))
        self.cache.copy_(cache)
        self.place.copy_(place)
        return total, cache * 2

    model = Method(forward, ("cache", "place"), cache=torch.zeros(rows, 3),
                   place=zero())
    calls = {label: (torch.randn(n, 3),) for label, n in
             (("middle", 3), ("most", 7), ("least", 2), ("most, again", 7))}
    return Flow(model, calls, ({0: Dim("n", min=2, max=7)},),
                overflow=((torch.randn(8, 3),),))


@flow
def state_of_masked_rows():
    """Appends the rows that a mask selects to a window of state; a count."""
    def forward(self, x):
        chosen = x[:, 0] > 0
        rows = x[chosen]
        self.window.copy_(torch.cat([rows, self.window])[:6])
        self.count.add_(chosen.sum())
        return rows, self.window * 2, self.count + 0

    model = Method(forward, ("window", "count"), window=torch.zeros(6, 2), count=zero())
    x = torch.randn(5, 2)
    calls = {"middle": (x,), "zero": (-x.abs(),), "most": (x.abs(),),
             "middle, again": (x.flip(0),)}
    return Flow(model, calls)


@flow
def voice_gate():
    """A gate with hysteresis by scan; the frames in it are counted and kept."""
    def forward(self, x):
        def step(carry, power):
            open, left = carry
            loud = power > 1
            left = torch.where(loud, 2, (left - 1).clamp(min=0))
            open = loud | (open & (left > 0))
            return [open, left], open.clone()

        (open, left), kept = scan(step, [self.open.clone(), self.left.clone()],
                                  x.square().sum(1))
        self.open.copy_(open)
        self.left.copy_(left)
        return x[kept], kept.sum()

    model = Method(forward, ("open", "left"), open=torch.tensor(False), left=zero())
    quiet = torch.randn(6, 2) * 0.1
    calls = {"middle": (quiet + torch.eye(6)[:, :2] * 2,), "least": (quiet,),
             "most": (quiet + 2,), "zero": (quiet,)}
    return Flow(model, calls)


@flow
def mask_writes():
    """Writes by boolean masks: a number, rows, masked_fill and masked_scatter."""
    def forward(self, x, mask, source):
        a = x.clone()
        a[mask] = -1.0
        b = torch.index_put(x, (mask,), x[mask] * 2)
        c = x.masked_scatter(mask[:, None].expand(-1, 3), source)
        self.kept.copy_(self.kept.masked_fill(mask[:, None], 0.5) + 1)
        return a, b, c

    calls = {label: (torch.randn(5, 3), number(mask, torch.bool), torch.randn(5, 3))
             for label, mask in (("middle", [1, 0, 1, 1, 0]), ("zero", [0] * 5),
                                 ("most", [1] * 5), ("least", [0, 0, 0, 1, 0]))}
    return Flow(Method(forward, ("kept",), kept=torch.zeros(5, 3)), calls)


@flow
def positive_parts():
    """A map whose body takes as many elements as are positive."""
    def forward(self, x):
        return torch_map(lambda row: (row[row > 0].sum(), (row > 0).sum()), x)

    x = torch.randn(6, 3)
    calls = {"middle": (x,), "zero": (-x.abs(),), "most": (x.abs(),)}
    return Flow(Method(forward), calls)


@flow
def token_pruning():
    """Keeps the tokens above a threshold and goes on with these alone."""
    def forward(self, x, least):
        kept = x[x.norm(dim=-1) > least]
        rows = torch.cat([self.first, self.norm(self.layer(kept))])
        scores = rows @ rows.T / 2
        return scores.softmax(-1) @ rows, kept.sum(0)

    x = torch.randn(8, 3)
    model = Method(forward, first=torch.randn(1, 3), layer=nn.Linear(3, 3),
                   norm=nn.LayerNorm(3))
    calls = {label: (x, torch.tensor(least)) for label, least in
             (("middle", 1.7), ("zero", 99.0), ("most", 0.0), ("least", 2.5))}
    return Flow(model, calls)


@flow
def chosen_prefix():
    """As many rows as a number says: slices, splits, sorts and convolutions of
    this size."""
    def forward(self, x, count):
        n = bounded(count, 8)
        head, tail = x.split([n, 8 - n])
        values, places = x[:, 0].topk(n)
        return torch.cat([tail, head]), head.cumsum(0), values, places, tail.flip(0)

    calls = {label: (torch.randn(8, 2), number(n)) for label, n in
             (("middle", 3), ("zero", 0), ("most", 8), ("least", 1))}
    return Flow(Method(forward), calls,
                overflow=((torch.randn(8, 2), number(9)),
                          (torch.randn(8, 2), number(-1))))
