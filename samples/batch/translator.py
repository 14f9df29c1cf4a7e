"""Token ids to token ids, many sentences at once.

Sentences sorted by length take rows of the model's caches, long ones first. A
call of `decode` gets the rows that run and no others; rows that are free go to
the next sentences as soon as a quarter of all is free, so that `encode` has
several at a time. An answer depends on its sentence alone, not on its company.
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
        # Row r keeps what it said at position p in row r * positions + p of the caches.
        self._places = np.arange(rows * self.positions).reshape(rows, self.positions)

    def translate(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        """The likeliest token each time, from ids that end with the end mark, at
        most `positions` of them; answers are in the order of the sources."""
        answers: list[list[int]] = [[] for _ in sources]
        # What says nothing has nothing to translate.
        waiting = [i for i, source in enumerate(sources) if len(source) > 1]
        waiting.sort(key=lambda i: len(sources[i]))  # the longest is taken from the end
        seats = np.full(len(self._places), -1)  # who sits in a row of the caches
        while waiting or (seats >= 0).any():
            free = np.flatnonzero(seats < 0)
            if waiting and 4 * len(free) >= len(seats):
                taken = free[: len(waiting)]
                seats[taken] = [waiting.pop() for _ in taken]
                self._encode(taken, [sources[i] for i in seats[taken]])
            rows = np.flatnonzero(seats >= 0)
            tokens = self._decode(rows, [answers[i] for i in seats[rows]],
                                  [len(sources[i]) for i in seats[rows]])
            for row, token in zip(rows, tokens):
                answer = answers[seats[row]]
                answer.append(token)
                if token == END or len(answer) + 1 == self.positions:
                    seats[row] = -1
        return answers

    def _encode(self, rows: np.ndarray, sources: list[Sequence[int]]) -> None:
        lengths = np.array([len(source) for source in sources])
        ids = np.full((len(rows), lengths.max()), self._padding)
        for line, source in zip(ids, sources):
            line[: len(source)] = source
        self._session.encode.view(ids, lengths - 1, self._places[rows, : lengths.max()])

    def _decode(self, rows: np.ndarray, answers: list[list[int]], lengths: list[int]) -> list[int]:
        tokens = np.array([answer[-1] if answer else self._padding for answer in answers])
        positions = np.array([len(answer) for answer in answers])
        logits = self._session.decode.view(
            tokens, positions, self._places[rows, positions],
            self._places[rows, : positions.max() + 1],
            self._places[rows, : max(lengths)], np.array(lengths) - 1,
        )
        return logits.argmax(1).tolist()
