"""Decoders that look ahead, skip and give up: searches whose steps differ in
length, and numbers that item() reads.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, bounded, flow, number, zero

WORDS, WIDTH, LONG = 9, 6, 7


@flow
def translation():
    """Greedy decoding of a translation: attention over a sentence of varying
    length, a penalty for words that were said, and the end token."""
    def forward(self, ids, limit):
        memory = torch.tanh(self.read(self.embed(ids)))

        def body(i, token, said, out):
            x = self.embed(token) + self.place.index_select(0, i.view(1))
            share = (self.query(x) @ memory.transpose(0, 1)).softmax(-1)
            scores = self.out(torch.cat([x, share @ memory], -1))
            scores = torch.where(said > 0, scores - 0.7 * said, scores)
            token = scores.argmax(-1)
            said = said + F.one_hot(token, WORDS)
            return i + 1, token, said, out.scatter(0, i.view(1), token)

        count, _, said, out = while_loop(
            lambda i, token, said, out: (i < limit) & (token[0] != 1), body,
            (zero(), torch.full((1,), 2), torch.zeros(1, WORDS, dtype=torch.int64),
             torch.zeros(LONG, dtype=torch.int64)))
        return out[:bounded(count, LONG)], said

    model = Method(forward, embed=nn.Embedding(WORDS, WIDTH),
                   read=nn.Linear(WIDTH, WIDTH), query=nn.Linear(WIDTH, WIDTH),
                   out=nn.Linear(2 * WIDTH, WORDS), place=torch.randn(LONG, WIDTH))
    calls = {label: (torch.randint(0, WORDS, (n,)), number(limit))
             for label, n, limit in (("middle", 4, 4), ("least", 1, 1), ("most", 8, LONG),
                                     ("zero", 3, 0))}
    return Flow(model, calls, ({0: Dim("words", min=1, max=8)}, None),
                overflow=((torch.zeros(9, dtype=torch.int64), number(2)),))


@flow
def finished_beams():
    """Beam search that keeps finished sentences apart, with a length penalty."""
    beams = 3

    def forward(self, start, limit):
        def body(i, tokens, scores, done, history, best, best_score):
            ranks = F.log_softmax(self.out(torch.tanh(self.embed(tokens))), -1)
            sums = scores[:, None] + ranks.masked_fill(done[:, None], -1e4)
            values, places = sums.flatten().topk(beams)
            parents, tokens = places // WORDS, places % WORDS
            history = history[parents].index_copy(
                1, i.view(1), tokens[:, None])
            done = tokens == 1
            rated = torch.where(done, values / (i + 1.0) ** 0.8, -1e4)
            top, which = rated.max(0)
            better = top > best_score
            best = torch.where(
                better, history.index_select(0, which.view(1))[0], best)
            return (i + 1, tokens, values, done, history, best,
                    torch.where(better, top, best_score))

        state = (zero(), start.expand(beams) * 1,
                 torch.arange(beams) * -0.1, torch.zeros(beams, dtype=torch.bool),
                 torch.zeros(beams, LONG, dtype=torch.int64),
                 torch.zeros(LONG, dtype=torch.int64), torch.tensor(-1e4))
        i, _, scores, _, history, best, best_score = while_loop(
            lambda i, tokens, scores, done, *rest: (i < limit) & ~done.all(), body,
            state)
        return i, scores, history, best, best_score

    model = Method(forward, embed=nn.Embedding(WORDS, WIDTH),
                   out=nn.Linear(WIDTH, WORDS))
    calls = {label: (number([word]), number(limit)) for label, word, limit in
             (("zero", 3, 0), ("least", 4, 1), ("middle", 2, 4), ("most", 5, LONG))}
    return Flow(model, calls)


@flow
def token_and_duration():
    """A transducer that predicts how many frames to skip with each token: the
    frame index advances by data, and the last token stays for the next call."""
    def forward(self, frames):
        x, most = self.read(frames), frames.shape[0]

        def body(t, n, token, out):
            row = x.index_select(0, t.clamp(max=most - 1).view(1))
            h = torch.tanh(row + self.embed(token))
            fresh = self.token(h).argmax(-1)
            skip = self.duration(h).argmax(-1)
            blank = fresh == 0
            place = torch.where(blank, LONG, n).view(1)
            out = out.index_copy(0, place, fresh)
            n = n + (~blank[0]).long()
            skip = torch.where(blank & (skip == 0), 1, skip)
            return t + skip[0], n, torch.where(blank, token, fresh), out

        t, n, token, out = while_loop(
            lambda t, n, token, out: (t < most) & (n < LONG), body,
            (zero(), zero(), self.last.clone(),
             torch.zeros(LONG + 1, dtype=torch.int64)))
        self.last.copy_(token)
        return out[:bounded(n, LONG)], t

    model = Method(forward, ("last",), read=nn.Linear(4, WIDTH),
                   embed=nn.Embedding(WORDS, WIDTH), token=nn.Linear(WIDTH, WORDS),
                   duration=nn.Linear(WIDTH, 4), last=number([2]))
    calls = {label: (torch.randn(n, 4) * 3,) for label, n in
             (("middle", 5), ("least", 1), ("most", 10), ("most, again", 10))}
    return Flow(model, calls, ({0: Dim("frames", min=1, max=10)},),
                overflow=((torch.randn(11, 4),),))


@flow
def ctc_prefix():
    """CTC decoding frame by frame into a buffer; a frame counts if it is no
    blank and not the token before. Cut to the number found."""
    def forward(self, frames):
        best = self.out(frames).argmax(-1)

        def body(t, last, n, out, ends):
            token = best.index_select(0, t.view(1))[0]
            new = (token != 0) & (token != last)
            place = torch.where(new, n, LONG).view(1)
            out = out.index_copy(0, place, token.view(1))
            ends = ends.index_copy(0, place, t.view(1))
            return t + 1, token * 1, n + new, out, ends

        _, _, n, out, ends = while_loop(
            lambda t, last, n, *rest: (t < frames.shape[0]) & (n < LONG), body,
            (zero(), zero(), zero(), torch.zeros(LONG + 1, dtype=torch.int64),
             torch.zeros(LONG + 1, dtype=torch.int64)))
        size = bounded(n, LONG)
        return out[:size], ends[:size].float() * 0.02

    calls = {label: (torch.randn(n, 4) * 2,) for label, n in
             (("middle", 6), ("least", 1), ("most", 12), ("zero", 0))}
    return Flow(Method(forward, out=nn.Linear(4, 4)), calls,
                ({0: Dim("frames", min=0, max=12)},),
                overflow=((torch.randn(13, 4),),))


@flow
def temperature():
    """A temperature, a flag and a threshold that item() reads from tensors."""
    def forward(self, scores, heat, greedy, least):
        shares = (scores / (heat.item() * 2 + 0.5)).softmax(-1)
        shares = torch.where(shares > least.item(), shares, 0.0)
        chosen = torch.cond(greedy.item(),
                            lambda s: s.argmax(-1),
                            lambda s: (s.cumsum(-1) > 0.5 * s.sum(-1, True)).long()
                            .argmax(-1), (shares,))
        sure = torch.cond(heat.item() > least.item(), lambda s: s.amax(-1),
                          lambda s: s.amin(-1), (shares,))
        return shares, chosen, sure

    calls = {label: (torch.randn(n, WORDS), torch.tensor(heat),
                     torch.tensor(greedy), torch.tensor(least, dtype=torch.float64))
             for label, n, heat, greedy, least in
             (("middle", 3, 1.0, True, 0.1), ("least", 1, 0.01, False, 0.2),
              ("most", 5, 9.0, True, 0.0), ("most, again", 5, 0.2, False, 0.3))}
    return Flow(Method(forward), calls, ({0: Dim("rows", min=1, max=5)}, None, None,
                                         None),
                overflow=((torch.randn(6, WORDS), torch.tensor(1.0),
                           torch.tensor(True),
                           torch.tensor(0.1, dtype=torch.float64)),))
