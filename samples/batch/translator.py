"""Token ids to token ids, many sentences at once.

Continuous batching: sentences are sorted by length and take rows of the model's
caches, long ones first. A call of `decode` gets only the rows that are in use. The
next sentences take free rows when a quarter of all rows is free, so that `encode`
gets several at a time. A translation depends on its sentence only, not on the
others.
"""

from __future__ import annotations

from collections.abc import Sequence

import etx
import numpy as np

from tokenizer import END


class Translator:
    """Translates with the methods of samples/translate/model/batch. As many threads as
    `threads` may call `translate` at the same time; each call takes a session of a pool."""

    def __init__(self, program: etx.Program, padding: int, threads: int = 1) -> None:
        # The methods read no entry of the caches before they have written it.
        self._pool = program.pool(threads, methods=("encode", "decode"), keep_state=True)
        self._padding = padding
        rows, self.positions = (dim.maximum for dim in program.methods["encode"].inputs[0].shape)
        # Keys and values of row r, position p are entry r * positions + p of the caches.
        self._indices = np.arange(rows * self.positions).reshape(rows, self.positions)

    def translate(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        """Greedy search. A source has at most `positions` ids and ends with the end
        mark; translations are in the order of the sources. Waits if all sessions are
        in use."""
        with self._pool.session() as session:
            return self._search(session, sources)

    def _search(self, session: etx.Session, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        targets: list[list[int]] = [[] for _ in sources]
        # Empty sentences are not decoded.
        waiting = [i for i, source in enumerate(sources) if len(source) > 1]
        waiting.sort(key=lambda i: len(sources[i]))  # the longest is taken from the end
        sentence_of = np.full(len(self._indices), -1)  # by row of the caches; -1: free
        while waiting or (sentence_of >= 0).any():
            free = np.flatnonzero(sentence_of < 0)
            if waiting and 4 * len(free) >= len(sentence_of):
                taken = free[: len(waiting)]
                sentence_of[taken] = [waiting.pop() for _ in taken]
                self._encode(session, taken, [sources[i] for i in sentence_of[taken]])
            rows = np.flatnonzero(sentence_of >= 0)
            tokens = self._decode(session, rows, [targets[i] for i in sentence_of[rows]],
                                  [len(sources[i]) for i in sentence_of[rows]])
            for row, token in zip(rows, tokens):
                target = targets[sentence_of[row]]
                target.append(token)
                if token == END or len(target) + 1 == self.positions:
                    sentence_of[row] = -1
        return targets

    def _encode(
        self, session: etx.Session, rows: np.ndarray, sources: list[Sequence[int]]
    ) -> None:
        lengths = np.array([len(source) for source in sources])
        ids = np.full((len(rows), lengths.max()), self._padding)
        for line, source in zip(ids, sources):
            line[: len(source)] = source
        session.encode.view(ids, lengths - 1, self._indices[rows, : lengths.max()])

    def _decode(
        self, session: etx.Session, rows: np.ndarray, targets: list[list[int]], lengths: list[int]
    ) -> list[int]:
        tokens = np.array([target[-1] if target else self._padding for target in targets])
        positions = np.array([len(target) for target in targets])
        logits = session.decode.view(
            tokens, positions, self._indices[rows, positions],
            self._indices[rows, : positions.max() + 1],
            self._indices[rows, : max(lengths)], np.array(lengths) - 1,
        )
        return logits.argmax(1).tolist()
