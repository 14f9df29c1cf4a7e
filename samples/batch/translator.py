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
    """One session over a program with the methods of samples/translate/model/batch."""

    def __init__(self, program: etx.Program, padding: int) -> None:
        self._session = program.session()
        self._padding = padding
        rows, self.positions = (dim.maximum for dim in program.methods["encode"].inputs[0].shape)
        # Keys and values of row r, position p are entry r * positions + p of the caches.
        self._indices = np.arange(rows * self.positions).reshape(rows, self.positions)

    def translate(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        """Greedy search. A source has at most `positions` ids and ends with the end
        mark; translations are in the order of the sources."""
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
                self._encode(taken, [sources[i] for i in sentence_of[taken]])
            rows = np.flatnonzero(sentence_of >= 0)
            tokens = self._decode(rows, [targets[i] for i in sentence_of[rows]],
                                  [len(sources[i]) for i in sentence_of[rows]])
            for row, token in zip(rows, tokens):
                target = targets[sentence_of[row]]
                target.append(token)
                if token == END or len(target) + 1 == self.positions:
                    sentence_of[row] = -1
        return targets

    def _encode(self, rows: np.ndarray, sources: list[Sequence[int]]) -> None:
        lengths = np.array([len(source) for source in sources])
        ids = np.full((len(rows), lengths.max()), self._padding)
        for line, source in zip(ids, sources):
            line[: len(source)] = source
        self._session.encode.view(ids, lengths - 1, self._indices[rows, : lengths.max()])

    def _decode(self, rows: np.ndarray, targets: list[list[int]], lengths: list[int]) -> list[int]:
        tokens = np.array([target[-1] if target else self._padding for target in targets])
        positions = np.array([len(target) for target in targets])
        logits = self._session.decode.view(
            tokens, positions, self._indices[rows, positions],
            self._indices[rows, : positions.max() + 1],
            self._indices[rows, : max(lengths)], np.array(lengths) - 1,
        )
        return logits.argmax(1).tolist()
