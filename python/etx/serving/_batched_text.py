"""One text of a batch: its prompt, its options, and the choice of its next token."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _errors, _generate, _runtime

# Options with which the chosen token is not simply that of the largest logit.
_CHANGES = (
    "do_sample", "repetition_penalty", "frequency_penalty", "presence_penalty",
    "no_repeat_ngram_size", "bad_words_ids", "sequence_bias", "min_length", "min_new_tokens",
    "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens",
)
_REFUSED = {
    "num_beams": "a row is one text; session.generate has beams",
    "num_return_sequences": "add the prompt several times",
    "stop_strings": "look at each token in on_token, and return False",
}
MOST_LOGPROBS = 20


class QueueFullError(_errors.StateError):
    """As many texts wait as may wait."""


@dataclass(frozen=True)
class TokenLogprob:
    """Log probabilities of a token and its alternatives, before all options.

    Attributes:
      token: id of the chosen token.
      logprob: its natural logarithm of probability.
      top: the most probable tokens as (id, logprob), best first.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]


class Text:
    """A text that waits, is generated, or has ended. `TextBatch.add` makes it.

    Attributes:
      prompt: token ids of the prompt.
      tokens: new token ids so far. The token that ends a text is one of them.
      logprobs: a TokenLogprob for each new token, if `add` was asked for them.
      end: None until the text has ended; then "end_token", "length", "cancelled",
        "timeout" or "failed".
      error: the exception of a text that failed, or None.
    """

    def __init__(
        self, prompt: np.ndarray, options: dict[str, Any], longest: int,
        on_token: Callable[[Text, int], Any] | None, on_end: Callable[[Text], Any] | None,
        logprobs: int | None, deadline: float | None,
    ) -> None:
        self.prompt = prompt
        self.tokens: list[int] = []
        self.logprobs: list[TokenLogprob] = []
        self.end: str | None = None
        self.error: BaseException | None = None
        self._options, self._longest = options, longest
        self._on_token, self._on_end = on_token, on_end
        self._logprobs, self._deadline = logprobs, deadline
        self._ends = frozenset(np.frombuffer(options.get("eos_token_id", b""), np.int64).tolist())
        self._is_plain = not any(name in options for name in _CHANGES)
        self._is_cancelled = False
        self._has_ended = threading.Event()
        self.filled = 0  # tokens of the prompt that the caches hold
        self.ids = np.empty(longest, dtype=np.int64)  # prompt and text
        self.ids[: len(prompt)] = prompt

    def cancel(self) -> None:
        """Ends the text before the next call of the model. Any thread may call this."""
        self._is_cancelled = True

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the text has ended, at most `timeout` seconds. False: it goes on."""
        return self._has_ended.wait(timeout)

    @property
    def count(self) -> int:
        """Tokens of prompt and text."""
        return len(self.prompt) + len(self.tokens)

    def why_over(self, now: float) -> str | None:
        """Why the text must end without another token, or None."""
        if self._is_cancelled:
            return "cancelled"
        return "timeout" if self._deadline is not None and now >= self._deadline else None

    def finish(self, end: str, error: BaseException | None = None) -> None:
        """Ends the text and says so. Later calls change nothing."""
        if self.end is not None:
            return
        self.error, self.end = error, end
        self._has_ended.set()
        if self._on_end is not None:
            self._on_end(self)

    def take(self, logits: np.ndarray) -> None:
        """Chooses the next token by its logits, float32 [V]; ends the text if it is the last."""
        token = self._choose(logits)
        if self._logprobs is not None:
            self.logprobs.append(_logprob(logits, token, self._logprobs))
        self.ids[self.count] = token
        self.tokens.append(token)
        goes_on = True if self._on_token is None else self._on_token(self, token)
        if token in self._ends:
            self.finish("end_token")
        elif goes_on is False:
            self.finish("cancelled")
        elif self.count >= self._longest:
            self.finish("length")

    def _choose(self, logits: np.ndarray) -> int:
        if self._is_plain:
            token = int(logits.argmax())
            if not np.isfinite(logits[token]):
                raise _errors.ArgumentError("a logit is not a number (NaN)")
            return token
        ids = self.ids[: self.count].tobytes()
        _, drawn = _runtime.sample(
            self._options, logits.tobytes(), ids, len(self.prompt), self._longest,
            len(self.tokens), 1,
        )
        return int.from_bytes(drawn, "little")


def _logprob(logits: np.ndarray, token: int, count: int) -> TokenLogprob:
    shifted = logits.astype(np.float64) - logits.max()
    shares = shifted - np.log(np.exp(shifted).sum())
    best = np.argsort(-shares, kind="stable")[:count] if count else ()
    return TokenLogprob(token, float(shares[token]), tuple((int(i), float(shares[i])) for i in best))


def options_of(constants: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the extension reads them, with those of the program where none is given."""
    for name, hint in _REFUSED.items():
        if given.get(name) not in (None, 1):
            raise _errors.ArgumentError(f"a text of a batch has no option '{name}'", hint=hint)
    known = {
        "eos_token_id": constants.get("get_eos_ids"),
        "suppress_tokens": constants.get("suppress_tokens"),
        "begin_suppress_tokens": constants.get("begin_suppress_tokens"),
    }
    read = _generate.read_options({**known, **{k: v for k, v in given.items() if v is not None}})
    read.setdefault("max_new_tokens", 20)
    if not read.pop("do_sample", False):
        # The largest of the changed logits.
        read |= {"temperature": 1.0, "top_k": 1, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0}
    else:
        read["do_sample"] = True
        read.setdefault("seed", secrets.randbits(63))
    return read


def check_options(options: dict[str, Any], vocabulary: int) -> None:
    """Raises ArgumentError for options that no token can be chosen with."""
    logits = np.zeros(vocabulary, dtype=np.float32).tobytes()
    ids = np.zeros(1, dtype=np.int64).tobytes()
    _runtime.sample(options, logits, ids, 1, 1 + options["max_new_tokens"], 0, 0)
