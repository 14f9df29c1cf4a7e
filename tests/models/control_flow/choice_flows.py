"""Choices whose branches find or return different sizes, and sizes from data that
follow each other.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .detection_flows import boxes_of
from .flow_model import Flow, Method, flow, number, zero


@flow
def words_in_choice():
    """A choice one branch of which counts distinct words, and the other positions
    of one word."""
    def forward(self, ids, flag):
        def distinct(ids):
            words, counts = torch.unique(ids, return_counts=True)
            return torch.zeros(9, dtype=torch.int64).index_put((words,), counts)

        def places(ids):
            at = (ids == 2).nonzero().squeeze(1)
            return torch.zeros(9, dtype=torch.int64).index_put((at,), at + 1)

        return torch.cond(flag > 0, distinct, places, (ids,))

    calls = {label: (number(x), number(f)) for label, x, f in
             (("middle", [1, 2, 2, 5, 8, 2], 1), ("zero", [1] * 6, 0),
              ("most", [2] * 6, 0),
              ("least", [0] * 6, 1))}
    return Flow(Method(forward), calls, only_etx="aten._unique2")


@flow
def rows_of_choice():
    """A choice between the rows behind the first one and all rows twice."""
    def forward(self, x, flag):
        y, n = torch.cond(flag > 0, lambda x: (x[1:] * 1, x.sum()),
                          lambda x: (torch.cat([x, x]), x.amax()), (x,))
        return y + 1, n, y.sum(0)

    calls = {label: (torch.randn(n, 3), number(f)) for label, n, f in
             (("middle", 4, 1), ("least", 3, 0), ("most", 6, 0), ("most, again", 6, 1))}
    return Flow(Method(forward), calls, ({0: Dim("n", min=3, max=6)}, None),
                overflow=((torch.randn(7, 3), number(1)),))


@flow
def sizes_of_choice():
    """Two sizes of a result and a number that a choice decides."""
    def forward(self, x, flag):
        def a(x):
            return x[:2, 1:4] * 2, x[0] * 1, 3

        def b(x):
            return torch.cat([x, x], 1), x[:, 0] * 1, 5

        y, z, k = torch.cond(flag > 0, a, b, (x,))
        return y.transpose(0, 1) + 1, z * k, y.sum(1)

    calls = {label: (torch.randn(4, 5), number(f)) for label, f in
             (("least", 1), ("most", 0))}
    return Flow(Method(forward), calls)


@flow
def found_by_choice():
    """A choice whose branches find different things."""
    def forward(self, x, flag):
        def a(x):
            return x[x > 0] * 2

        def b(x):
            return (x < 0.5).nonzero().squeeze(1).to(torch.float32)

        y = torch.cond(flag > 0, a, b, (x,))
        return y + 1, y.sum()

    calls = {label: (torch.tensor(v), number(f)) for label, v, f in
             (("least", [1., -1, 2, 3], 1), ("most", [0., 0, 0, 0], 0),
              ("zero", [-1.] * 4, 1), ("middle", [1., 2, 0, 9], 0))}
    return Flow(Method(forward), calls)


@flow
def rows_of_choice_in_loop():
    """In each turn of a loop a choice of how many rows are summed."""
    def forward(self, x, n):
        def body(i, h):
            rows = torch.cond(h.sum() > 0, lambda: x[:2] * 1, lambda: x[1:] * 2, ())
            return i + 1, h * 0.5 + rows.sum(0) + torch.relu(self.layer(rows)).amax(0)

        return while_loop(lambda i, h: i < n, body, (zero(), torch.zeros(3)))

    calls = {label: (torch.randn(5, 3), number(f)) for label, f in
             (("least", 1), ("most", 6), ("zero", 0))}
    return Flow(Method(forward, layer=nn.Linear(3, 3)), calls)


@flow
def number_of_choice():
    """A choice whose branches return integers."""
    def forward(self, x, flag):
        n = torch.cond(flag > 0, lambda x: 2, lambda x: 3, (x,))
        torch._check(n >= 0)
        torch._check(n <= 4)
        return x[:n] * 2

    return Flow(Method(forward),
                {"most": (torch.randn(4), number(1)),
                 "least": (torch.randn(4), number(0))})


@flow
def number_of_choice_in_map():
    """Rows one by one, each with a choice of a number."""
    def forward(self, x, flags):
        def row(parts):
            x, flag = parts
            k = torch.cond(flag > 0, lambda: 2, lambda: 3, ())
            return x.narrow(0, 0, k).sum() * k

        return (torch_map(row, (x, flags)),)

    calls = {label: (torch.randn(5, 4), number(f)) for label, f in
             (("least", [1, 1, 1, 1, 1]), ("most", [0] * 5), ("middle", [0, 1, 1, 0, 1]))}
    return Flow(Method(forward), calls)


@flow
def segment_means():
    """Means of runs of equal speakers, by unique_consecutive and index_add."""
    def forward(self, x, speaker):
        who, at, counts = torch.unique_consecutive(speaker, return_inverse=True,
                                                   return_counts=True)
        sums = x.new_zeros(who.shape[0], x.shape[1]).index_add(0, at, x)
        means = sums / counts[:, None]
        return who, torch.tanh(self.layer(means)), (x - means[at]).pow(2).mean()

    calls = {label: (torch.randn(len(s), 3), number(s)) for label, s in
             (("middle", [1, 1, 2, 2, 2, 1]), ("least", [4]),
              ("most", [1, 2, 3, 4, 5, 6, 7, 8]), ("zero", []))}
    calls["zero"] = (torch.randn(0, 3), torch.zeros(0, dtype=torch.int64))
    n = Dim("n", min=0, max=8)
    return Flow(Method(forward, layer=nn.Linear(3, 2)), calls, ({0: n}, {0: n}),
                only_etx="aten.unique_consecutive")


@flow
def speech_segments():
    """Starts and ends of loud runs, then a loop over as many as were found."""
    def forward(self, x):
        loud = F.pad((x > 0).to(torch.int64), (1, 1))
        edges = loud[1:] - loud[:-1]
        starts = (edges == 1).nonzero().squeeze(1)
        ends = (edges == -1).nonzero().squeeze(1)
        torch._check(starts.shape[0] == ends.shape[0])
        count = starts.shape[0]
        lengths = ends - starts
        sums = x.cumsum(0)
        sums = F.pad(sums, (1, 0))
        means = (sums[ends] - sums[starts]) / lengths
        return starts, lengths, means

    calls = {label: (torch.tensor(v),) for label, v in
             (("middle", [1., -1, 1, 1, -1, -1, 1]), ("zero", [-1.] * 4),
              ("most", [1., -1] * 4), ("least", [1., 1]))}
    return Flow(Method(forward), calls, ({0: Dim("n", min=2, max=8)},))


@flow
def split_by_lengths():
    """A packed batch is split by lengths that are data, each part is reduced,
    and padded again."""
    def forward(self, x, lengths):
        sizes = lengths.tolist()
        for s in sizes:
            torch._check(s >= 0)
            torch._check(s <= x.shape[0])
        parts = x.split(sizes)
        return torch.stack([torch.tanh(self.layer(p)).sum(0) for p in parts]), *[p.flip(0)
                                                                                 for p
                                                                                 in parts]

    calls = {label: (torch.randn(sum(l), 3), number(l)) for label, l in
             (("middle", [3, 1, 2]), ("most", [4, 4, 1]), ("least", [0, 2, 0]))}
    return Flow(Method(forward, layer=nn.Linear(3, 3)), calls,
                ({0: Dim("rows", min=2, max=9)}, None), caps=("u0=9", "u1=9", "u2=9"))


@flow
def loop_over_found():
    """A loop over the places that a mask found, each with a window of a signal."""
    def forward(self, x):
        at = (x[:-2] > 0.5).nonzero().squeeze(1)
        n = (x[:-2] > 0.5).sum()
        kept = torch.zeros(x.shape[0],
                           dtype=torch.int64).index_put((torch.arange(at.shape[0]),), at)

        def body(i, total):
            start = kept.index_select(0, i.view(1))
            window = x.index_select(0, start) + x.index_select(0, start + 1) * 0.5
            return i + 1, total * 0.9 + window.sum()

        return while_loop(lambda i, t: i < n, body, (zero(), torch.zeros(())))[1], at

    calls = {label: (torch.tensor(v),) for label, v in
             (("middle", [1., -1, 1, 1, -1, -1, 1]), ("zero", [-1.] * 7),
              ("most", [1.] * 7))}
    return Flow(Method(forward), calls)


@flow
def crop_head():
    """Boxes that nms leaves are cut out of a map and go through convolutions."""
    def forward(self, image, boxes, scores):
        kept = torch.ops.torchvision.nms(boxes, scores, 0.4)
        boxes = boxes[kept]
        grid = torch.linspace(0, 1, 4)
        x = boxes[:, 0:1] + (boxes[:, 2:3] - boxes[:, 0:1]) * grid
        y = boxes[:, 1:2] + (boxes[:, 3:4] - boxes[:, 1:2]) * grid
        at = torch.stack([x[:, None, :].expand(-1, 4, -1),
                          y[:, :, None].expand(-1, -1, 4)], -1)
        crops = F.grid_sample(image.expand(at.shape[0], -1, -1, -1), at / 4 - 1,
                              align_corners=False)
        h = F.relu(self.conv(crops))
        h = h * self.gain
        return self.out(F.adaptive_avg_pool2d(h, 1).flatten(1)), boxes

    model = Method(forward, conv=nn.Conv2d(2, 3, 3, padding=1), out=nn.Linear(3, 4),
                   gain=torch.rand(3, 1, 1))
    calls = {label: (torch.randn(1, 2, 8, 8), boxes_of(n, s), torch.rand(n)) for label, n,
             s in
             (("middle", 5, 1.5), ("most", 7, 99.), ("least", 2, 0.))}
    size = Dim("boxes", min=2, max=7)
    return Flow(model, calls, (None, {0: size}, {0: size}), only_etx="torchvision.nms")


@flow
def numbers_out():
    """Floats that item() reads from tensors, and what is computed from them and
    from sizes, as results."""
    def forward(self, x):
        scale = x.abs().amax().item()
        self.scale.fill_(scale)
        return x / scale, scale, scale * 2 + 1, x.shape[0] / 2, self.scale.sum().item()

    calls = {label: (torch.randn(n, 3),) for label, n in
             (("middle", 4), ("least", 1), ("most", 6), ("most, again", 6))}
    return Flow(Method(forward, ("scale",), scale=torch.zeros(2)), calls,
                ({0: Dim("rows", min=1, max=6)},), overflow=((torch.randn(7, 3),),))


@flow
def numbers_in():
    """A float that item() reads from a tensor, written into tensors in all ways."""
    def forward(self, x, place):
        s = x.abs().amax().item()
        y = x.clone()
        y[0] = s
        y[:, 1] = s
        y[y < 0] = s
        z = x.clone()
        z.fill_(s)
        a = torch.full_like(x, s) + x.new_full((3,), s)
        b = x.index_fill(0, place, s).masked_fill(x > 0.3, -s)
        c = x.clone().clamp_(max=s).mul_(s).add_(s)
        d = torch.where(x > 0, x, s) + torch.where(x > 0, s, 1.0)
        return y, z, a, b, c, d

    calls = {label: (torch.randn(n, 3), number([0])) for label, n in
             (("middle", 4), ("most", 6), ("least", 2))}
    return Flow(Method(forward), calls, ({0: Dim("rows", min=2, max=6)}, None))
