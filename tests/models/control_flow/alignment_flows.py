"""Alignments and labellings: recursions over two sequences, and ways back."""

import torch
import torch.nn.functional as F
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from .flow_model import Flow, Method, bounded, flow, number, zero


@flow
def crf_decode():
    """Labels of a batch of sentences of their own lengths by a conditional random
    field: scores forwards, then back along the best predecessors."""
    def forward(self, emissions, lengths):
        steps = torch.arange(1, emissions.shape[1])

        def forwards(score, parts):
            emission, t = parts
            every = score[:, :, None] + self.transitions + emission[:, None]
            best, place = every.max(1)
            alive = (t < lengths)[:, None]
            same = torch.arange(score.shape[1]).expand_as(place)
            return (torch.where(alive, best, score),
                    torch.where(alive, place, same).clone())

        start = emissions[:, 0] + self.start
        score, places = scan(forwards, start, (emissions[:, 1:].transpose(0, 1), steps))
        best, last = (score + self.end).max(-1)

        def backwards(tag, place):
            before = place.gather(1, tag[:, None])[:, 0]
            return before, before.clone()

        _, tags = scan(backwards, last, places, reverse=True)
        tags = torch.cat([tags, last[None]]).t()
        inside = torch.arange(tags.shape[1]) < lengths[:, None]
        return best, tags.masked_fill(~inside, -1)

    def draw(b, t, *lengths):
        return torch.randn(b, t, 4), number(list(lengths))

    b, t = Dim("b", min=1, max=5), Dim("t", min=3, max=9)
    calls = {"middle": draw(3, 6, 6, 2, 4), "least": draw(2, 3, 1, 3),
             "most": draw(5, 9, 9, 9, 1, 5, 7)}
    return Flow(Method(forward, transitions=torch.randn(4, 4), start=torch.randn(4),
                       end=torch.randn(4)), calls, ({0: b, 1: t}, {0: b}),
                overflow=(draw(2, 10, 1, 2),))


@flow
def monotonic_alignment():
    """Monotonic alignment search of text-to-speech: a table of best scores by
    scan, and a loop back that gives each frame its phoneme."""
    def forward(self, score):
        places = torch.arange(score.shape[1])

        def step(row, parts):
            value, t = parts
            shifted = F.pad(row[:-1], (1, 0), value=-1e9)
            best = torch.maximum(row, shifted) + value
            best = torch.where(places <= t, best, -1e9)
            return best, best.clone()

        first = torch.where(places == 0, score[0], -1e9)
        frames = torch.arange(1, score.shape[0])
        _, table = scan(step, first, (score[1:], frames))
        table = torch.cat([first[None], table])

        def back(t, at, path):
            path = path.index_copy(0, t.view(1), at.view(1))
            row = table.index_select(0, (t - 1).clamp(min=0).view(1))[0]
            stay, move = row[torch.stack([at, (at - 1).clamp(min=0)])].unbind()
            return t - 1, torch.where((at > 0) & (move >= stay), at - 1, at), path

        last = torch.full((), score.shape[0] - 1)
        at = torch.full((), score.shape[1] - 1)
        _, _, path = while_loop(lambda t, at, path: t >= 0, back,
                                (last, at, torch.zeros_like(score[:, 0],
                                                            dtype=torch.int64)))
        return path, F.one_hot(path, 8).sum(0)

    calls = {label: (torch.randn(t, n),) for label, t, n in
             (("middle", 7, 4), ("least", 4, 3), ("most", 12, 8))}
    return Flow(Method(forward), calls, ({0: Dim("t", min=4, max=12),
                                          1: Dim("n", min=3, max=8)},),
                overflow=((torch.randn(13, 4),),))


@flow
def global_alignment():
    """Needleman and Wunsch: scores of prefixes by scans within a scan, and the way
    back as steps of an unknown number."""
    def forward(self, a, b):
        def row(above, letter):
            def cell(left, parts):
                up, corner, other = parts
                match = torch.where(other == letter, 2.0, -1.0)
                best = torch.maximum(torch.maximum(left, up) - 1, corner + match)
                return best, best.clone()

            first = above[:1] - 1
            _, rest = scan(cell, first[0].clone(), (above[1:], above[:-1], b))
            fresh = torch.cat([first, rest])
            return fresh, fresh.clone()

        top = -torch.arange(b.shape[0] + 1, dtype=torch.float32)
        _, rows = scan(row, top, a)
        table = torch.cat([top[None], rows])

        def back(n, i, j, steps):
            rows = torch.stack([i, (i - 1).clamp(min=0), i])
            columns = torch.stack([j, j, (j - 1).clamp(min=0)])
            here, above, before = table[rows, columns].unbind()
            up = (i > 0) & (here == above - 1)
            left = (j > 0) & (here == before - 1)
            kind = torch.where(up, 1, torch.where(left, 2, 0))
            steps = steps.index_copy(0, n.view(1), kind.view(1))
            return (n + 1, i - (kind != 2).long(), j - (kind != 1).long(), steps)

        i, j = torch.full((), a.shape[0]), torch.full((), b.shape[0])
        n, _, _, steps = while_loop(lambda n, i, j, steps: (i > 0) | (j > 0), back,
                                    (zero(), i, j, torch.zeros(16, dtype=torch.int64)))
        return table[-1, -1], steps[:bounded(n, 16)].flip(0)

    calls = {label: (torch.randint(0, 3, (n,)), torch.randint(0, 3, (m,)))
             for label, n, m in (("middle", 5, 4), ("least", 2, 3), ("most", 8, 8))}
    return Flow(Method(forward), calls, ({0: Dim("n", min=2, max=8)},
                                         {0: Dim("m", min=3, max=8)}))


@flow
def prefix_beams():
    """CTC beam search with prefixes: probabilities of ending in a blank and in a
    word, and equal prefixes that merge by their hashes."""
    def forward(self, frames):
        beams, words = 3, frames.shape[1]

        def step(carry, frame):
            hashes, last, blank, word = carry
            total = torch.logaddexp(blank, word)
            # What stays: a blank, or the last word once more.
            stay_blank = total + frame[0]
            stay_word = word + frame[last]
            # What grows by each word; after a blank only, if it is the last word.
            repeated = torch.arange(words)[None] == last[:, None]
            grown = torch.where(repeated, blank[:, None], total[:, None]) + frame
            grown[:, 0].fill_(-1e9)
            fresh = hashes[:, None] * 31 + torch.arange(words) + 1
            all_hashes = torch.cat([hashes, fresh.flatten()])
            all_last = torch.cat([last, torch.arange(words).expand(beams, -1).flatten()])
            all_blank = torch.cat([stay_blank, torch.full_like(grown, -1e9).flatten()])
            all_word = torch.cat([stay_word, grown.flatten()])
            same = all_hashes[:, None] == all_hashes[None]
            merged = torch.where(same, all_word[None], -1e9).logsumexp(1)
            first = same.int().argmax(1) == torch.arange(all_last.shape[0])
            score = torch.logaddexp(all_blank, merged).masked_fill(~first, -1e9)
            top = score.topk(beams)[1]
            return ([all_hashes[top], all_last[top], all_blank[top], merged[top]],
                    [all_last[top].clone(), top // words])

        start = [torch.tensor([1, -1, -2]), torch.zeros(3, dtype=torch.int64),
                 torch.tensor([0.0, -1e9, -1e9]), torch.full((3,), -1e9)]
        (hashes, last, blank, word), (said, _) = scan(step, start, frames)
        return hashes, torch.logaddexp(blank, word), said

    calls = {label: ((3 * torch.randn(t, 5)).log_softmax(-1),) for label, t in
             (("middle", 5), ("least", 2), ("most", 9))}
    return Flow(Method(forward), calls, ({0: Dim("t", min=2, max=9)},),
                tolerance=1e-3, overflow=((torch.randn(10, 5),),))


@flow
def common_subsequence():
    """The longest common subsequence of two sentences: lengths row by row with
    cummax, then the words by walking back."""
    def forward(self, a, b):
        def row(above, word):
            take = F.pad(above[:-1] + (b == word).long(), (1, 0))
            fresh = torch.maximum(above, take).cummax(0)[0]
            return fresh, fresh.clone()

        _, table = scan(row, b.new_zeros(b.shape[0] + 1), a)
        table = F.pad(table, (0, 0, 1, 0))

        def back(i, j, n, words):
            here, above, before = table[torch.stack([i, i - 1, i]),
                                        torch.stack([j, j, j - 1])].unbind()
            up, left = here == above, here == before
            take = ~(up | left)
            place = n.clamp(max=7).view(1)
            word = torch.where(take, a.gather(0, (i - 1).view(1)), words[place])
            words = words.index_copy(0, place, word)
            return (i - (up | take).long(), j - (~up).long(), n + take.long(), words)

        i, j = torch.full((), a.shape[0]), torch.full((), b.shape[0])
        _, _, n, words = while_loop(lambda i, j, n, words: (i > 0) & (j > 0), back,
                                    (i, j, zero(), torch.zeros(8, dtype=torch.int64)))
        return words[:bounded(n, 8)].flip(0), table[-1, -1]

    calls = {label: (torch.randint(0, 3, (n,)), torch.randint(0, 3, (m,)))
             for label, n, m in (("middle", 6, 5), ("least", 2, 2), ("most", 8, 9),
                                 ("zero", 2, 3))}
    calls["zero"] = (number([0, 0]), number([1, 2, 1]))
    return Flow(Method(forward), calls, ({0: Dim("n", min=2, max=8)},
                                         {0: Dim("m", min=2, max=9)}))
