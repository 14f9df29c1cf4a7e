"""Text to token ids and back, like samples/translate/tokenizer.c.

A word is cut from the left into the longest matching pieces; a regular expression
whose alternatives are sorted by length does the same. All of it works on bytes, so
a line need not be UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

MARK = "\u2581".encode()  # begins a word
END, UNKNOWN = 0, 1


class Tokenizer:
    """The vocabulary has one piece per line; its id is the line's number from 0."""

    def __init__(self, vocabulary: Path) -> None:
        self.pieces = vocabulary.read_bytes().splitlines()
        if self.pieces[:2] != [b"</s>", b"<unk>"] or self.pieces[-1] != b"<pad>":
            raise ValueError(f"'{vocabulary}' is not a vocabulary, which begins with </s>, "
                             "<unk> and ends with <pad>")
        self.padding = len(self.pieces) - 1
        self._ids = {self.pieces[i]: i for i in range(2, self.padding)}
        longest_first = sorted(self._ids, key=len, reverse=True)
        # A code point that matches no piece becomes the unknown piece.
        code_point = rb"(?s:.)[\x80-\xbf]{0,3}"
        self._piece = re.compile(b"|".join([*map(re.escape, longest_first), code_point]))

    def encode(self, text: bytes) -> list[int]:
        """The ids of `text`, with the end mark last."""
        ids = [
            self._ids.get(piece, UNKNOWN)
            for word in text.split()
            for piece in self._piece.findall(MARK + word)
        ]
        return [*ids, END]

    def decode(self, ids: Iterable[int]) -> bytes:
        text = b"".join(self.pieces[i] for i in ids if i not in (END, self.padding))
        return text.replace(MARK, b" ").removeprefix(b" ")
