"""associative_scan with combine_mode="pointwise", the default, which PyTorch
exports for the CPU from 2.14 on. It stays one node, also after decompositions.
"""

import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch.export import Dim

from .flow_model import Flow, Method, flow

AXIS = Dim("t", min=2, max=12)


@flow
def gated_sums():
    """Three leaves scanned from the end along dimension 1; the function reads a
    buffer, a tensor of the method and a size."""
    def forward(self, gate, x, weight):
        rows = gate.shape[0]
        scaled = weight * 2

        def combine(a, b):
            return (a[0] * b[0], a[1] * b[0] + b[1],
                    a[2] + b[2] + scaled / rows - self.offset)

        gates, sums, steps = associative_scan(combine, (gate, x, x * gate), dim=1,
                                              reverse=True)
        return gates, sums.cumsum(0), steps

    def draw(b, t):
        return torch.rand(b, t), torch.randn(b, t), torch.rand(b)

    batch = Dim("b", min=1, max=5)
    calls = {"middle": draw(3, 7), "least": draw(2, 2), "most": draw(5, 12)}
    both = {0: batch, 1: AXIS}
    return Flow(Method(forward, offset=torch.tensor(0.9)), calls,
                (both, both, {0: batch}), overflow=(draw(2, 13),))


def joined_runs(a, b):
    """Runs of ones in a part: at its start, at its end, the longest, and whether
    the part is one run."""
    return (torch.where(a[3], a[0] + b[0], a[0]), torch.where(b[3], a[1] + b[1], b[1]),
            torch.maximum(torch.maximum(a[2], b[2]), a[1] + b[0]), a[3] & b[3])


@flow
def longest_runs():
    """The longest run of ones in each column: integers and truth values along a
    dimension of known length, a choice between two scans, and one row."""
    def forward(self, bits, backwards):
        ones = bits.long()
        first, last, longest, whole = torch.cond(
            backwards.sum() > 0,
            lambda n, b: associative_scan(joined_runs, (n, n, n, b), 0, reverse=True),
            lambda n, b: associative_scan(joined_runs, (n, n, n, b), 0), (ones, bits))
        return first, last, longest, whole, associative_scan(torch.maximum, last[-1:], 0)

    calls = {label: (torch.rand(70, 3) < share, torch.tensor([flag])) for label, share,
             flag in (("middle", .5, 0), ("most", .9, 1), ("least", .1, 0))}
    return Flow(Method(forward), calls)


@flow
def scanned_state():
    """A diagonal state-space layer in chunks: the state stays for the next call."""
    def forward(self, x, step):
        decay = torch.exp(-step[:, None] * self.rate)
        drive = step[:, None] * x[:, None] * self.mix
        drive = torch.cat([drive[:1] + decay[:1] * self.state, drive[1:]])
        _, states = associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (decay, drive), 0)
        self.state.copy_(states[-1])
        return states @ self.read

    calls = {label: (torch.randn(n), torch.rand(n) + 0.1) for label, n in
             (("middle", 5), ("least", 3), ("most", 12), ("middle, again", 5))}
    axis = Dim("t", min=3, max=12)
    return Flow(Method(forward, ("state",), state=torch.zeros(4), rate=torch.rand(4),
                       mix=torch.randn(4), read=torch.randn(4)), calls,
                ({0: axis}, {0: axis}), overflow=((torch.randn(13), torch.rand(13)),))
