"""Decoders whose loops are part of the graph."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from .flow_model import Flow, Method, bounded, flow, number, zero

WORDS, WIDTH, LONG = 11, 8, 6


def attend(model, x, keys, values, length):
    hidden = torch.arange(keys.shape[0])[None] >= length
    scores = (model.query(x) @ keys.T).masked_fill(hidden, -1e9)
    return model.out(scores.softmax(-1) @ values)


@flow
def greedy_cache():
    """Greedy decoding of a sentence in one call, over a cache that is state."""
    def forward(self, token, limit):
        def body(i, token, out, keys, values):
            x = self.embed(token)
            keys = keys.index_copy(0, i.view(1), self.key(x))
            values = values.index_copy(0, i.view(1), self.value(x))
            token = attend(self, x, keys, values, i + 1).argmax(-1)
            return i + 1, token, out.index_copy(0, i.view(1), token), keys, values

        count, token, out, keys, values = while_loop(
            lambda i, token, *rest: (i < limit) & (token != 3).all(), body,
            (zero(), token, torch.full((LONG,), -1), self.keys.clone(),
             self.values.clone()))
        self.keys.copy_(keys)
        self.values.copy_(values)
        return out, count

    model = Method(forward, ("keys", "values"), embed=nn.Embedding(WORDS, WIDTH),
                   query=nn.Linear(WIDTH, WIDTH), key=nn.Linear(WIDTH, WIDTH),
                   value=nn.Linear(WIDTH, WIDTH), out=nn.Linear(WIDTH, WORDS),
                   keys=torch.zeros(LONG, WIDTH), values=torch.zeros(LONG, WIDTH))
    calls = {"middle": (number([1]), number(3)), "most": (number([2]), number(LONG)),
             "zero": (number([5]), number(0)), "least": (number([7]), number(1)),
             "stopped at once": (number([3]), number(4)),
             "most, again": (number([9]), number(LONG))}
    return Flow(model, calls)


@flow
def greedy_prompt():
    """Greedy decoding behind a prompt of varying length; the result has the
    actual length."""
    most = 8

    def forward(self, ids, steps):
        def body(i, out, length):
            hidden = self.embed(out).cumsum(0) / torch.arange(1, most + 1)[:, None]
            last = hidden.index_select(0, (length - 1).view(1))
            token = self.out(last).argmax(-1)
            return i + 1, out.index_copy(0, length.view(1), token), length + 1

        _, out, length = while_loop(
            lambda i, out, length: (i < steps) & (length < most), body,
            (zero(), F.pad(ids, (0, most - ids.shape[0])),
             torch.full((), ids.shape[0])))
        return out[:bounded(length, most)], length

    model = Method(forward, embed=nn.Embedding(WORDS, WIDTH),
                   out=nn.Linear(WIDTH, WORDS))
    calls = {"middle": (torch.arange(3), number(2)),
             "least": (torch.arange(1), number(1)),
             "most": (torch.arange(5), number(99)),
             "zero": (torch.arange(2), number(0))}
    return Flow(model, calls, ({0: torch.export.Dim("prompt", min=1, max=5)}, None),
                overflow=((torch.arange(6), number(1)),))


@flow
def beam_search():
    """Beam search: the beams' histories are reordered in each step."""
    beams = 3

    def forward(self, first, steps):
        def body(i, scores, tokens, hidden, history):
            hidden = self.cell(self.embed(tokens), hidden)
            spread = scores[:, None] + self.out(hidden).log_softmax(-1)
            scores, best = spread.reshape(-1).topk(beams)
            source, tokens = best // WORDS, best % WORDS
            hidden = hidden.index_select(0, source)
            history = history.index_select(0, source).index_copy(
                1, i.view(1), tokens[:, None])
            return i + 1, scores, tokens, hidden, history

        start = torch.tensor([0.0, -1e9, -1e9])
        _, scores, _, _, history = while_loop(
            lambda i, *rest: i < steps, body,
            (zero(), start, first.expand(beams).clone(), self.start.clone(),
             torch.zeros(beams, LONG, dtype=torch.int64)))
        return scores, history

    model = Method(forward, embed=nn.Embedding(WORDS, WIDTH),
                   cell=nn.GRUCell(WIDTH, WIDTH), out=nn.Linear(WIDTH, WORDS),
                   start=torch.zeros(beams, WIDTH))
    calls = {"middle": (number([1]), number(3)), "most": (number([4]), number(LONG)),
             "zero": (number([2]), number(0)), "least": (number([8]), number(1))}
    return Flow(model, calls, overflow=((number([1]), number(LONG + 1)),))


@flow
def beam_scan():
    """Beam search over given scores; a second scan from the end follows the
    back pointers."""
    beams, words = 3, 7

    def forward(self, logits):
        def step(scores, row):
            spread = (scores[:, None] + row.log_softmax(-1)).reshape(-1)
            scores, best = spread.topk(beams)
            return scores, [best // words, best % words]

        def back(place, rows):
            source, token = rows
            return source.gather(0, place), token.gather(0, place)

        scores, (sources, tokens) = scan(step, torch.tensor([0.0, -9.0, -9.0]), logits)
        best = scores.argmax(0, keepdim=True)
        _, path = scan(back, best, [sources, tokens], reverse=True)
        return scores, path

    rows = torch.export.Dim("rows", min=2, max=9)
    calls = {"middle": (torch.randn(5, beams, words) * 3,),
             "least": (torch.randn(2, beams, words),),
             "most": (torch.randn(9, beams, words),)}
    return Flow(Method(forward), calls, ({0: rows},),
                overflow=((torch.randn(10, beams, words),),))


def frames(best, words=5):
    return F.one_hot(torch.tensor(best), words).float()


CTC_CALLS = {"middle": (frames([1, 0, 1, 1, 2, 2, 0, 3, 3]),),
             "least": (frames([4] * 9),), "zero": (frames([0] * 9),),
             "most": (frames([1, 2, 1, 2, 1, 2, 1, 2, 3]),)}


@flow
def ctc_runs():
    """CTC greedy decoding by unique_consecutive, with durations."""
    def forward(self, logits):
        best, counts = torch.unique_consecutive(logits.argmax(-1), return_counts=True)
        return best[best != 0], counts[best != 0]

    return Flow(Method(forward), CTC_CALLS, only_etx="aten.unique_consecutive")


@flow
def ctc_masks():
    """CTC greedy decoding by masks, of a number of frames that is data."""
    def forward(self, logits, count):
        best = logits[:bounded(count, 9, 1)].argmax(-1)
        first = torch.ones(1, dtype=torch.bool)
        kept = torch.cat([first, best[1:] != best[:-1]]) & (best != 0)
        return best[kept], self.embed(best[kept]).sum(0)

    calls = {label: (*inputs, number(n)) for (label, inputs), n in
             zip(CTC_CALLS.items(), (5, 1, 9, 9))}
    logits = CTC_CALLS["most"][0]
    return Flow(Method(forward, embed=nn.Embedding(5, 3)), calls,
                overflow=((logits, number(10)), (logits, number(0))))


@flow
def rnnt_greedy():
    """RNN-T greedy decoding of a chunk: at most so many symbols in all; the
    predictor's state stays for the next chunk."""
    most = 12

    def forward(self, frames):
        length = frames.shape[0]

        def body(t, u, token, hidden, out):
            frame = frames.index_select(0, t.view(1))
            logits = self.join(torch.tanh(frame + hidden))
            best = logits.argmax(-1)
            blank = (best == 0)
            fresh = self.cell(self.embed(best), hidden)
            hidden = torch.where(blank[:, None], hidden, fresh)
            kept = torch.where(blank, out.index_select(0, u.view(1)), best)
            out = out.index_copy(0, u.view(1), kept)
            step = (~blank).to(torch.int64).view(())
            return (t + 1 - step, u + step, torch.where(blank, token, best), hidden,
                    out)

        t, u, token, hidden, out = while_loop(
            lambda t, u, *rest: (t < length) & (u < most), body,
            (zero(), zero(), self.token.clone(), self.hidden.clone(),
             torch.zeros(most + 1, dtype=torch.int64)))
        self.token.copy_(token)
        self.hidden.copy_(hidden)
        return out[:bounded(u, most)], t

    model = Method(forward, ("token", "hidden"), embed=nn.Embedding(4, WIDTH),
                   cell=nn.GRUCell(WIDTH, WIDTH), join=nn.Linear(WIDTH, 4),
                   token=torch.zeros(1, dtype=torch.int64),
                   hidden=torch.zeros(1, WIDTH))
    calls = {label: (torch.randn(n, WIDTH) * 2,)
             for label, n in (("middle", 4), ("least", 2), ("most", 7),
                              ("most, again", 7))}
    return Flow(model, calls, ({0: torch.export.Dim("frames", min=2, max=7)},),
                overflow=((torch.randn(8, WIDTH),),))


@flow
def viterbi():
    """Viterbi decoding: a scan forwards, and one backwards over its choices."""
    def forward(self, scores):
        def step(best, row):
            best, source = (best[:, None] + self.edges).max(0)
            return best + row, source

        def back(place, source):
            return source.gather(0, place), place.clone()

        last, sources = scan(step, scores[0] * 1, scores[1:])
        end = last.argmax(0, keepdim=True)
        first, path = scan(back, end, sources, reverse=True)
        return last.max(), torch.cat([first, path.squeeze(1)])

    calls = {label: (torch.randn(6, 4),) for label in ("middle", "most", "least")}
    return Flow(Method(forward, edges=torch.randn(4, 4)), calls)


@flow
def speculative_acceptance():
    """Accepts drafted tokens up to the first one that the model would not
    choose, and appends the model's own."""
    def forward(self, drafted, logits):
        chosen = logits.argmax(-1)
        agrees = (chosen[:-1] == drafted).to(torch.int64)
        count = bounded(agrees.cumprod(0).sum(), 5)
        self.total.add_(count + 1)
        return torch.cat([drafted[:count], chosen[count:count + 1]]), self.total + 0

    tokens = torch.tensor([3, 1, 4, 1, 5])
    logits = F.one_hot(torch.tensor([3, 1, 4, 1, 5, 2]), WORDS).float()
    calls = {"most": (tokens, logits), "zero": (tokens + 1, logits),
             "least": (tokens.where(torch.arange(5) < 1, 0), logits),
             "middle": (tokens.where(torch.arange(5) < 3, 0), logits)}
    return Flow(Method(forward, ("total",), total=zero()), calls,
                only_etx="aten.cumprod")


@flow
def top_p_sampling():
    """Nucleus sampling with a number that is given: the words with the largest
    probabilities, as many as are needed."""
    def forward(self, logits, share, pick):
        weights, words = logits.softmax(-1).topk(WORDS)
        kept = weights.cumsum(-1) - weights < share
        weights, words = weights[kept], words[kept]
        place = (weights.cumsum(0) < pick * weights.sum()).sum()
        return words.index_select(0, place.view(1)), words, weights

    calls = {label: (torch.randn(WORDS) * 2, torch.tensor(share), torch.tensor(0.6))
             for label, share in (("least", 1e-6), ("middle", 0.7), ("most", 1.1))}
    return Flow(Method(forward), calls)


@flow
def priority_sampling():
    """Priority sampling: items whose weight divided by a random number is above
    the threshold, with unbiased weights."""
    def forward(self, weights, noise):
        priority = weights / noise
        threshold = priority.topk(4)[0][3]
        kept = priority > threshold
        items = kept.nonzero().squeeze(1)
        return items, torch.maximum(weights[kept], threshold), threshold

    calls = {label: (torch.rand(9) + 0.1, torch.rand(9) + 0.1)
             for label in ("middle", "middle, again")}
    calls["zero"] = (torch.ones(9), torch.ones(9))
    return Flow(Method(forward), calls)
