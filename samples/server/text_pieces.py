"""From tokens to text as it comes: whole characters only, and nothing of a stop string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

_MOST_PENDING = 64  # tokens that are decoded again and again while no character is complete
_MOST_BEFORE = 4  # tokens before them that stay with them


class Decoder(Protocol):
    def decode(self, ids: Sequence[int]) -> str: ...

    def is_silent(self, token_id: int) -> bool: ...

    def is_byte(self, token_id: int) -> bool: ...


class TextPieces:
    """Turns tokens into pieces of text. Joined, they are the text of all tokens.

    What a token adds depends on the tokens before it: some decoders drop the space at
    the start of a text, and a character may have several tokens. So the last tokens are
    decoded with the new one. Two things wait for the next token: a character that is not
    complete, and tokens of one byte, all of which are no text if one of them is none.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._ids: list[int] = []  # the last tokens
        self._shown = 0  # characters of their text that are shown
        self._pending = 0  # tokens at their end that are not shown completely

    def add(self, token: int) -> str:
        """The text that is complete with this token, or ""."""
        if self._decoder.is_silent(token):
            return ""
        self._ids.append(token)
        self._pending += 1
        if self._decoder.is_byte(token):
            return ""
        text = self._decoder.decode(self._ids)
        is_open = text.endswith("\ufffd")
        end = len(text) - is_open
        piece = text[self._shown : end]
        self._shown = max(self._shown, end)
        if not is_open and piece:
            self._keep_last(self._pending)
        elif self._pending > _MOST_PENDING:
            self._drop_before(text)
        return piece

    def rest(self) -> str:
        """What is left at the end of the text: a character that is not complete."""
        text = self._decoder.decode(self._ids)
        piece = text[self._shown :]
        self._shown = len(text)
        return piece

    def _keep_last(self, count: int) -> None:
        """After a complete character: forgets tokens now and then."""
        self._pending = 0
        if len(self._ids) > _MOST_BEFORE:
            self._ids = self._ids[-count:]
            self._shown = len(self._decoder.decode(self._ids))

    def _drop_before(self, text: str) -> None:
        """In a long run of bytes that are no text: forgets those before the last character,
        where the text of two parts is that of the whole."""
        for count in range(1, 5):
            head, tail = self._ids[:-count], self._ids[-count:]
            before = self._decoder.decode(head)
            if before + self._decoder.decode(tail) == text:
                self._ids, self._pending = tail, count
                self._shown = max(self._shown - len(before), 0)
                return


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
