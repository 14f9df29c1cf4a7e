"""From tokens to text as it comes: whole characters only, and nothing of a stop string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

_MOST_PENDING = 16  # tokens of a character that is not complete: more than any character has


class Decoder(Protocol):
    def decode(self, ids: Sequence[int]) -> str: ...

    def is_silent(self, token_id: int) -> bool: ...


class TextPieces:
    """Turns tokens into pieces of text. Joined, they are the text of all tokens.

    What a token adds depends on the tokens before it: some decoders drop the space at
    the start of a text, and a character may have several tokens. So the tokens of the
    last piece are decoded with and without the new ones.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._last: list[int] = []  # tokens of the last pieces
        self._before = ""  # their text
        self._new: list[int] = []  # tokens after them
        self._after = ""  # the text of both

    def add(self, token: int) -> str:
        """The text that is complete with this token, or ""."""
        if self._decoder.is_silent(token):
            return ""
        self._new.append(token)
        self._after = self._decoder.decode(self._last + self._new)
        is_open = self._after.endswith("\ufffd") and len(self._new) < _MOST_PENDING
        return "" if is_open or len(self._after) <= len(self._before) else self._take()

    def rest(self) -> str:
        """What is left at the end of the text: a character that is not complete."""
        return self._take()

    def _take(self) -> str:
        piece = self._after[len(self._before) :]
        self._last, self._new = self._new, []
        self._before = self._after = self._decoder.decode(self._last)
        return piece


class StopStrings:
    """Holds back text that may be the beginning of a stop string."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._held = ""

    def add(self, piece: str) -> tuple[str, bool]:
        """Text that may be shown, and whether a stop string follows it."""
        text = self._held + piece
        places = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            self._held = ""
            return text[: min(places)], True
        held = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - held:]
        return text[: len(text) - held], False

    def rest(self) -> str:
        """What was held back, at the end of the text."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Characters at the end of the text that the stop string begins with."""
    return next(
        (n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0
    )
