"""Answers of the API of OpenAI, as JSON objects."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from typing import Any

from etx.serving import TokenLogprob

from program_tokenizer import ProgramTokenizer
from served_text import Piece


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def event(body: dict[str, Any]) -> bytes:
    """A server-sent event with an object."""
    return b"data: " + _json(body).encode() + b"\n\n"


class TextAnswer:
    """Objects of one request: the whole answer, or the events of a stream."""

    def __init__(self, model: str, tokenizer: ProgramTokenizer, *, is_chat: bool, wants_logprobs: bool) -> None:
        self._tokenizer, self._is_chat, self._wants = tokenizer, is_chat, wants_logprobs
        self._common = {
            "id": ("chatcmpl-" if is_chat else "cmpl-") + secrets.token_hex(12),
            "created": int(time.time()), "model": model,
        }
        self._offsets: dict[int, int] = {}  # characters of each choice so far
        self._frames: dict[int, tuple[bytes, bytes]] = {}  # of each choice, around its text

    def whole(self, pieces: Sequence[Piece], usage: dict[str, int]) -> dict[str, Any]:
        """The answer, from the only piece of each choice."""
        kind = "chat.completion" if self._is_chat else "text_completion"
        choices = []
        for piece in sorted(pieces, key=lambda piece: piece.choice):
            choice = self._choice(piece)
            if self._is_chat:
                choice["message"] = {"role": "assistant", "content": piece.text, "refusal": None}
            choices.append(choice)
        return {**self._common, "object": kind, "choices": choices, "usage": usage}

    def first(self, choice: int) -> bytes:
        """The event that begins a choice of a chat."""
        delta = {"role": "assistant", "content": ""}
        return event(self._chunk([{
            "index": choice, "delta": delta, "logprobs": None, "finish_reason": None
        }]))

    def events(self, piece: Piece) -> bytes:
        """The events of a piece."""
        if self._wants or piece.finish_reason is not None:
            return b"".join(map(event, self._chunks(piece)))
        if piece.choice not in self._frames:
            self._frames[piece.choice] = self._frame(piece.choice)
        before, behind = self._frames[piece.choice]
        return before + _json(piece.text).encode() + behind

    def _frame(self, choice: int) -> tuple[bytes, bytes]:
        """What stands around the text in all events of a choice but the last."""
        text = secrets.token_hex(16)  # nothing else is this text
        before, behind = b"".join(map(event, self._chunks(Piece(choice, text)))).split(_json(text).encode())
        return before, behind

    def _chunks(self, piece: Piece) -> list[dict[str, Any]]:
        if not self._is_chat:
            return [self._chunk([self._choice(piece)])]
        choice, found = self._choice(piece), []
        if piece.text or piece.logprobs:
            delta = {"content": piece.text}
            found.append(self._chunk([{**choice, "delta": delta, "finish_reason": None}]))
        if piece.finish_reason is not None:
            found.append(self._chunk([{**choice, "delta": {}, "logprobs": None}]))
        return found

    def usage(self, usage: dict[str, int]) -> bytes:
        """The event with the numbers of tokens."""
        return event({**self._chunk([]), "usage": usage})

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self._is_chat else "text_completion"
        return {**self._common, "object": kind, "choices": choices}

    def _choice(self, piece: Piece) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": piece.choice, "finish_reason": piece.finish_reason}
        if self._is_chat:
            choice["logprobs"] = self._chat_logprobs(piece) if self._wants else None
        else:
            choice["text"] = piece.text
            choice["logprobs"] = self._text_logprobs(piece) if self._wants else None
        return choice

    def _chat_logprobs(self, piece: Piece) -> dict[str, Any]:
        def described(token: int, logprob: float) -> dict[str, Any]:
            text = self._tokenizer.token(token)
            return {"token": text, "logprob": logprob, "bytes": list(text.encode())}

        return {"refusal": None, "content": [
            {**described(item.token, item.logprob),
             "top_logprobs": [described(*other) for other in item.top]}
            for item in piece.logprobs
        ]}

    def _text_logprobs(self, piece: Piece) -> dict[str, Any]:
        offset = self._offsets.get(piece.choice, 0)
        found: dict[str, Any] = {
            "tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []
        }
        for item in piece.logprobs:
            text = self._tokenizer.token(item.token)
            found["tokens"].append(text)
            found["token_logprobs"].append(item.logprob)
            found["top_logprobs"].append(self._top(item))
            found["text_offset"].append(offset)
            offset += len(text)
        self._offsets[piece.choice] = offset
        return found

    def _top(self, item: TokenLogprob) -> dict[str, float]:
        return {self._tokenizer.token(token): logprob for token, logprob in item.top}
