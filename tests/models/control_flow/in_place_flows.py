"""Sub-graphs that write into the tensors they make, as torch.export leaves them."""

import torch
from torch._higher_order_ops.map import map as rows_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, flow, number, zero


@flow
def ctc_scores(n=9):
    """Log-probability of a labelling by the forward recursion of CTC, which
    shifts and adds parts of its scores in place."""
    def forward(self, frames, labels):
        extended = labels.new_zeros(2 * labels.shape[0] + 1)
        extended[1::2] = labels
        skips = torch.zeros_like(extended, dtype=torch.bool)
        skips[2:] = (extended[2:] != 0) & (extended[2:] != extended[:-2])

        def step(alpha, frame):
            fresh = alpha.clone()
            fresh[1:] = torch.logaddexp(fresh[1:], alpha[:-1])
            jump = torch.full_like(alpha, -1e9)
            jump[2:].copy_(alpha[:-2])
            jump.masked_fill_(~skips, -1e9)
            fresh = torch.logaddexp(fresh, jump)
            fresh += frame[extended]
            return fresh, fresh.amax()

        first = torch.full_like(extended, -1e9, dtype=torch.float32)
        first[:2] = frames[0][extended[:2]]
        alpha, best = scan(step, first, frames[1:])
        return torch.logaddexp(alpha[-1], alpha[-2]), best

    def draw(t, k):
        return torch.randn(t, 5).log_softmax(-1), torch.randint(1, 5, (k,))

    calls = {"middle": draw(6, 3), "least": draw(3, 1), "most": draw(n, 4)}
    return Flow(Method(forward), calls, ({0: Dim("t", min=3, max=n)},
                                         {0: Dim("k", min=1, max=4)}),
                overflow=(draw(n + 1, 2),))


@flow
def views_in_loop():
    """A loop that writes through slices, transposed views, parts of a split and
    columns of unbind, and reads the tensor through other views."""
    def forward(self, x, n):
        def body(i, a):
            b = a * 0.5
            whole = b.view(-1)
            left, right = b.split([2, 2], dim=1)
            left.add_(right)
            right.mul_(2).sub_(1)
            first, *_ = b.unbind(1)
            first.clamp_(max=3)
            b.t()[1].exp_().clamp_(max=2)
            b.permute(1, 0)[2:, 1:].sub_(0.5)
            halves = b.chunk(2, 1)
            halves[1].tanh_()
            return i + 1, b + whole.sum() * 0.01 + halves[0].sum() * 0.1

        return while_loop(lambda i, a: i < n, body, (zero(), x.clone()))

    calls = {label: (torch.randn(3, 4), number(n)) for label, n in
             (("middle", 2), ("zero", 0), ("least", 1), ("most", 4))}
    return Flow(Method(forward), calls)


@flow
def writes_in_choice():
    """Rows one by one; in the branches of a choice, parts of new tensors are
    overwritten by index, by mask and by slice."""
    def forward(self, x, table):
        def row(x):
            y = x.clone()
            y[0].mul_(2)

            def large(y, x):
                z = torch.zeros_like(y)
                z.copy_(y)
                z.masked_fill_(z > 1, 0.0)
                z.index_put_((self.places,), x[:2], accumulate=True)
                return z

            def small(y, x):
                z = table.clone()
                z[1:].add_(y[:-1])
                z.index_fill_(0, self.places, 0.125)
                z.scatter_(0, self.places, y)
                z.view(2, 2).diagonal().mul_(3)
                return z

            return torch.cond(y.sum() > 1, large, small, (y, x))

        return rows_map(row, x)

    calls = {label: (torch.randn(n, 4), torch.randn(4)) for label, n in
             (("middle", 4), ("least", 2), ("most", 9))}
    return Flow(Method(forward, places=torch.tensor([2, 0])), calls,
                ({0: Dim("n", min=2, max=9)}, None),
                overflow=((torch.randn(10, 4), torch.randn(4)),))


@flow
def cellular_automaton():
    """The game of life on a board with a frame of dead cells, until nothing
    changes or the steps are used up."""
    def forward(self, board, steps):
        def body(n, board, old):
            count = torch.zeros_like(board)
            for i in range(3):
                for j in range(3):
                    if (i, j) != (1, 1):
                        count[1:-1, 1:-1] += board[i:board.shape[0] - 2 + i,
                                                   j:board.shape[1] - 2 + j]
            fresh = torch.zeros_like(board)
            fresh.masked_fill_(count == 3, 1)
            fresh.masked_fill_((count == 2) & (board == 1), 1)
            return n + 1, fresh, board.clone()

        return while_loop(
            lambda n, board, old: (n < steps) & (board != old).any(), body,
            (zero(), board.clone(), torch.full_like(board, -1)))[:2]

    def draw(h, w, n):
        board = torch.zeros(h, w, dtype=torch.int64)
        board[1:-1, 1:-1] = torch.rand(h - 2, w - 2) < 0.5
        return board, number(n)

    calls = {"middle": draw(6, 7, 3), "least": draw(4, 4, 9), "zero": draw(5, 5, 0),
             "most": draw(8, 8, 12)}
    return Flow(Method(forward), calls, ({0: Dim("h", min=4, max=8),
                                          1: Dim("w", min=4, max=8)}, None))
