"""Decoders that keep caches, and what they sample from."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, bounded, flow, number, zero

WIDTH = 6


@flow
def rnnt_frames():
    """RNN-T greedy decoding frame by frame: in each frame a loop says at most
    two words; the LSTM predictor's state stays for the next call."""
    most = 14

    def forward(self, frames):
        def frame(h, c, token, count, out, row):
            def body(n, go, h, c, token, count, out):
                score = self.join(torch.tanh(row + h))
                best = score.argmax(-1)
                says = best != 0
                h2, c2 = self.cell(self.embed(best), (h, c))
                out = out.index_copy(0, count.view(1), torch.where(says, best, 0))
                return (n + 1, says.view(()), torch.where(says[:, None], h2, h),
                        torch.where(says[:, None], c2, c), torch.where(says, best, token),
                        count + says.view(()).to(torch.int64), out)

            return while_loop(lambda n, go, *rest: (n < 2) & go, body,
                              (zero(), torch.ones((), dtype=torch.bool), h, c, token,
                               count, out))

        def step(carry, row):
            h, c, token, count, out = carry
            n, _, *carry = frame(h * 1, c * 1, token.clone(), count.clone(),
                                 out.clone(), row)
            return carry, n.clone()

        (h, c, token, count, out), said = scan(
            step, [self.h.clone(), self.c.clone(), self.token.clone(), zero(),
                   torch.zeros(most + 1, dtype=torch.int64)], frames)
        self.h.copy_(h)
        self.c.copy_(c)
        self.token.copy_(token)
        return out[:bounded(count, most)], said

    model = Method(forward, ("h", "c", "token"), embed=nn.Embedding(5, WIDTH),
                   cell=nn.LSTMCell(WIDTH, WIDTH), join=nn.Linear(WIDTH,
                                                                  5),
                                                                  h=torch.zeros(1, WIDTH),
                   c=torch.zeros(1, WIDTH), token=torch.zeros(1, dtype=torch.int64))
    calls = {label: (torch.randn(n, 1, WIDTH) * 2,) for label, n in
             (("middle", 4), ("least", 2), ("most", 7), ("most, again", 7))}
    # A loop in a scan cannot be exported with gradients.
    return Flow(model.requires_grad_(False), calls,
                ({0: Dim("frames", min=2, max=7)},),
                overflow=((torch.randn(8, 1, WIDTH),),))


@flow
def beam_caches():
    """Beam search over a transformer whose caches are state and are reordered."""
    beams, words, long = 3, 9, 6

    def forward(self, first, limit):
        def body(i, scores, tokens, done, keys, values, said):
            x = self.embed(tokens)
            keys = keys.index_copy(1, i.view(1), self.key(x)[:, None])
            values = values.index_copy(1, i.view(1), self.value(x)[:, None])
            hidden = torch.arange(long)[None] > i
            share = torch.einsum("bd,btd->bt", self.query(x), keys)
            share = share.masked_fill(hidden, -1e9).softmax(-1)
            logits = self.out(torch.einsum("bt,btd->bd", share, values)).log_softmax(-1)
            only_end = torch.where(torch.arange(words) == 1, 0.0, -1e9)
            logits = torch.where(done[:, None], only_end, logits)
            spread = (scores[:, None] + logits).view(-1)
            scores, best = spread.topk(beams)
            source, tokens = best // words, best % words
            said = said[source].scatter(1, i.view(1, 1).expand(beams, 1), tokens[:, None])
            return (i + 1, scores, tokens, done[source] | (tokens == 1), keys[source],
                    values[source], said)

        n, scores, tokens, done, keys, values, said = while_loop(
            lambda i, scores, tokens, done, *rest: (i < limit) & ~done.all(), body,
            (zero(), torch.tensor([0.0, -1e9, -1e9]), first.expand(beams).clone(),
             torch.zeros(beams, dtype=torch.bool), self.keys.clone(), self.values.clone(),
             torch.zeros(beams, long, dtype=torch.int64)))
        self.keys.copy_(keys)
        self.values.copy_(values)
        size = bounded(n, long)
        return said[:, :size], scores / torch.pow(n.to(torch.float32) + 1, 0.6)

    model = Method(forward, ("keys", "values"), embed=nn.Embedding(words, WIDTH),
                   query=nn.Linear(WIDTH, WIDTH), key=nn.Linear(WIDTH,
                                                                WIDTH),
                                                                value=nn.Linear(WIDTH,
                                                                                WIDTH),
                   out=nn.Linear(WIDTH, words), keys=torch.zeros(beams, long, WIDTH),
                   values=torch.zeros(beams, long, WIDTH))
    calls = {label: (number([t]), number(n)) for label, t, n in
             (("middle", 2, 3), ("zero", 3, 0), ("least", 4, 1), ("most", 5, long))}
    return Flow(model, calls)


@flow
def speculative_loop():
    """Drafts are accepted in a loop by given random numbers; the first refused
    word is drawn from what the two distributions differ in."""
    words, drafts = 7, 5

    def forward(self, drafted, small, large, noise):
        p, q = large.softmax(-1), small.softmax(-1)

        def body(i, go):
            at = drafted.index_select(0, i.view(1))
            share = (p.index_select(0, i.view(1)).gather(1, at[:, None]) /
                     q.index_select(0, i.view(1)).gather(1, at[:, None])).view(())
            ok = noise.index_select(0, i.view(1)).view(()) < share
            return i + ok.to(torch.int64), ok

        count, _ = while_loop(lambda i, go: (i < drafts) & go, body,
                              (zero(), torch.ones((), dtype=torch.bool)))
        row = p.index_select(0, count.view(1))
        fix = torch.cond(count < drafts,
                         lambda row, n: (row - q.index_select(0, n.view(1))).relu(),
                         lambda row, n: row * 1, (row, count))
        token = (fix / fix.sum()).argmax(-1)
        n = bounded(count, drafts)
        self.total.add_(count + 1)
        return torch.cat([drafted[:n], token]), self.total + 0

    def inputs(seed, scale):
        g = torch.Generator().manual_seed(seed)
        return (torch.randint(0, words, (drafts,), generator=g),
                torch.randn(drafts, words, generator=g) * scale,
                torch.randn(drafts + 1, words, generator=g) * scale,
                torch.rand(drafts, generator=g))

    calls = {"middle": inputs(3, 1.0), "most": inputs(4, 0.0), "least": inputs(5, 4.0)}
    return Flow(Method(forward, ("total",), total=zero()), calls)


@flow
def sampling_filters():
    """Penalty for repeated words, temperature, top-k, min-p and top-p, and a
    word by a given random number."""
    words = 12

    def forward(self, logits, said, pick):
        score = logits.gather(1, said)
        score = torch.where(score < 0, score * 1.3, score / 1.3)
        logits = logits.scatter(1, said, score) / 0.8
        least = logits.topk(8)[0][..., -1, None]
        logits = logits.masked_fill(logits < least, float("-inf"))
        p = logits.softmax(-1)
        logits = logits.masked_fill(p < 0.02 * p.amax(-1, keepdim=True), float("-inf"))
        sorted_logits, order = logits.sort(descending=False)
        gone = sorted_logits.softmax(-1).cumsum(-1) <= 0.1
        gone[..., -1:] = 0
        logits = logits.masked_fill(gone.scatter(1, order, gone), float("-inf"))
        p = logits.softmax(-1)
        word = torch.searchsorted(p.cumsum(-1), pick)
        kept = (p[0] > 0).nonzero().squeeze(-1)
        return word, kept, p[0, kept]

    calls = {label: (torch.randn(1, words) * s, torch.randint(0, words, (1, n)),
                     torch.rand(1, 1))
             for label, s, n in (("middle", 2., 4), ("least", 9., 1), ("most", .1, 6))}
    return Flow(Method(forward), calls, (None, {1: Dim("said", min=1, max=6)}, None))


@flow
def greedy_batch():
    """Greedy decoding of several sentences with prompts of their own lengths;
    those that are finished wait for the others."""
    words, long = 9, 8

    def forward(self, ids, lengths):
        b = ids.shape[0]

        def body(t, done, out, hidden, counts):
            token = out.index_select(1, t.view(1)).squeeze(1)
            hidden = self.cell(self.embed(token), hidden)
            fresh = self.out(hidden).argmax(-1)
            given = out.index_select(1, (t + 1).view(1)).squeeze(1)
            token = torch.where(t + 1 < lengths, given, torch.where(done, 0, fresh))
            done = done | ((token == 1) & (t + 1 >= lengths))
            out = out.index_copy(1, (t + 1).view(1), token[:, None])
            return t + 1, done, out, hidden, counts + (~done)

        t, done, out, hidden, counts = while_loop(
            lambda t, done, *rest: (t < long - 1) & ~done.all(), body,
            (zero(), torch.zeros(b, dtype=torch.bool), F.pad(ids, (0, long - 3)),
             torch.zeros(b, WIDTH), torch.zeros(b, dtype=torch.int64)))
        return out[:, :bounded(t + 1, long)], counts, done

    model = Method(forward, embed=nn.Embedding(words, WIDTH),
                   cell=nn.GRUCell(WIDTH, WIDTH), out=nn.Linear(WIDTH, words))
    calls = {label: (torch.randint(2, words, (b, 3)), torch.randint(1, 4, (b,)))
             for label, b in
             (("middle", 3), ("least", 1), ("most", 5))}
    size = Dim("b", min=1, max=5)
    return Flow(model, calls, ({0: size}, {0: size}),
                overflow=((torch.randint(2, words, (6, 3)),
                           torch.ones(6, dtype=torch.int64)),))


@flow
def exit_transformer():
    """Transformer layers with caches; each is left out by torch.cond once the
    head is sure of the last word."""
    def forward(self, ids):
        x = self.embed(ids) + self.place[:ids.shape[0]]

        def layer(parts):
            norm, qkv, out, up, down = parts

            def run(x):
                q, k, v = qkv(norm(x)).chunk(3, -1)
                h = F.scaled_dot_product_attention(q[None, None], k[None, None],
                                                   v[None, None], is_causal=True)[0, 0]
                x = x + out(h)
                return x + down(F.gelu(up(norm(x))))

            return run

        used = torch.zeros((), dtype=torch.int64)
        for parts in self.layers:
            sure = self.head(x[-1]).softmax(-1).amax() > 0.35
            x, used = torch.cond(sure, lambda x, n: (x.clone(), n.clone()),
                                 lambda x, n, f=layer(parts): (f(x), n + 1), (x, used))
        return self.head(x), used

    layers = nn.ModuleList(nn.ModuleList([nn.LayerNorm(WIDTH),
                                          nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH,
                                                                                 WIDTH),
                                          nn.Linear(WIDTH, 12), nn.Linear(12, WIDTH)])
                                          for _ in range(4))
    model = Method(forward, embed=nn.Embedding(9, WIDTH), place=torch.randn(7, WIDTH),
                   layers=layers, head=nn.Linear(WIDTH, 5))
    calls = {label: (torch.randint(0, 9, (n,)),) for label, n in
             (("middle", 4), ("least", 2), ("most", 7), ("middle, again", 5))}
    return Flow(model, calls, ({0: Dim("words", min=2, max=7)},),
                overflow=((torch.zeros(8, dtype=torch.int64),),))


@flow
def heavy_hitters():
    """A cache that drops the rows with the least attention so far (H2O) when it
    is full; rows and their sums are state."""
    rows = 6

    def forward(self, x):
        share = (self.query(x) @
                 self.keys.T).masked_fill(torch.arange(rows)[None] >= self.count,
                                          -1e9).softmax(-1)
        sums = self.sums + share.sum(0)
        full = self.count >= rows - 1

        def evict(keys, sums, count):
            _, kept = sums[:-1].topk(rows - 2)
            kept = kept.sort()[0]
            return (torch.cat([keys[kept], torch.zeros(2, WIDTH)]),
                    torch.cat([sums[kept], torch.zeros(2)]), count - 1)

        keys, sums, count = torch.cond(full, evict,
                                       lambda k, s, c: (k.clone(), s.clone(), c.clone()),
                                       (self.keys.clone(), sums, self.count.clone()))
        keys = keys.index_copy(0, count.view(1), x.mean(0, keepdim=True))
        self.keys.copy_(keys)
        self.sums.copy_(sums)
        self.count.copy_(count + 1)
        return share @ keys

    model = Method(forward, ("keys", "sums", "count"), query=nn.Linear(WIDTH, WIDTH),
                   keys=torch.zeros(rows, WIDTH),
                   sums=torch.zeros(rows), count=zero())
    calls = {label: (torch.randn(n, WIDTH),) for label, n in
             (("middle", 3), ("least", 1), ("most", 5),
              *((f"most, {i}", 4) for i in range(5)))}
    return Flow(model, calls, ({0: Dim("n", min=1, max=5)},))


@flow
def bipartite_merging():
    """Merging of alike tokens (ToMe): the most alike pairs of two halves become
    one by their mean."""
    def forward(self, x):
        metric = F.normalize(x @ self.w, dim=-1)
        a, b = metric[..., ::2, :], metric[..., 1::2, :]
        best, to = (a @ b.transpose(-1, -2)).max(-1)
        order = best.argsort(-1, descending=True)[..., None]
        merged, kept = order[..., :2, :], order[..., 2:, :]
        to = to[..., None].gather(-2, merged)
        src, dst = x[..., ::2, :], x[..., 1::2, :]
        c = x.shape[-1]
        left = src.gather(-2, kept.expand(-1, -1, c))
        src = src.gather(-2, merged.expand(-1, -1, c))
        dst = dst.scatter_reduce(-2, to.expand(-1, -1, c), src, reduce="mean")
        return torch.cat([left, dst], 1)

    calls = {label: (torch.randn(2, n, 4),) for label, n in
             (("middle", 10), ("least", 8), ("most", 12))}
    return Flow(Method(forward, w=torch.randn(4, 3)), calls,
                ({1: 2 * Dim("half", min=4, max=6)},), only_etx="aten.scatter_reduce.two")


@flow
def hash_attention():
    """Attention within buckets of hashes (Reformer): sorted by hash, in chunks."""
    def forward(self, x):
        h = torch.cat([x @ self.r, -(x @ self.r)], -1).argmax(-1)
        n = x.shape[0]
        key = h * n + torch.arange(n)
        order = key.argsort()
        back = order.argsort()
        s = x[order].view(-1, 4, x.shape[1])
        own = h[order].view(-1, 4)
        wide = torch.cat([s, s.roll(1, 0)], 1)
        hw = torch.cat([own, own.roll(1, 0)], 1)
        score = s @ wide.transpose(1, 2)
        score = score.masked_fill(own[:, :, None] != hw[:, None, :], -1e9)
        out = (score.softmax(-1) @ wide).view(n, -1)
        return out[back], h

    calls = {label: (torch.randn(4 * n, WIDTH),) for label, n in
             (("middle", 3), ("least", 2), ("most", 5))}
    return Flow(Method(forward, r=torch.randn(WIDTH, 2)), calls,
                ({0: 4 * Dim("c", min=2, max=5)},))
