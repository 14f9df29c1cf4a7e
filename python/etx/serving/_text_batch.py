"""Continuous batching: which text has which row of the caches, and what runs next.

A step is at most one call of `prefill` and one of `decode`:

    row 0   prefill  decode  decode  decode  decode           text A
    row 1            prefill decode  decode  (free)  prefill  texts B and C
    row 2                    prefill prefill decode  decode   text D, of two parts

So a long prompt delays the others by one part of it for each of their tokens, and a
row that becomes free is taken by the next text that waits. `decode` computes the rows
up to the last one in use; a text takes the lowest free row.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _errors
from .._session import Session
from ._batched_text import MOST_LOGPROBS, QueueFullError, Text, check_options, options_of


@dataclass(frozen=True)
class BatchCounts:
    """What a batch has counted.

    Attributes:
      waiting: texts that have no row yet.
      running: texts that have a row.
      finished: texts that have ended, by their `end`.
      prompt_tokens: tokens that `prefill` computed.
      new_tokens: tokens that were chosen.
      decode_calls: calls of `decode`.
      decode_rows: rows in use, added over these calls.
    """

    waiting: int
    running: int
    finished: dict[str, int]
    prompt_tokens: int
    new_tokens: int
    decode_calls: int
    decode_rows: int


class TextBatch:
    """Generates texts that start and end at any time, over one session.

        batch = etx.serving.TextBatch(session)
        texts = [batch.add(prompt, max_new_tokens=64) for prompt in prompts]
        while batch.step():
            pass

    The tokens of a text are those that `session.generate` returns for its prompt alone
    with the same options and seed; they do not depend on the other texts.

    Threads: any thread may call `add`, `cancel` of a text, and `counts`; `step` is for
    one thread at a time, which is also the one that callbacks run in.

    Attributes:
      session: the session. Nobody else may use it.
      rows: texts that run at the same time.
      context: most tokens of prompt and text.
    """

    def __init__(self, session: Session, *, queue: int | None = None) -> None:
        """Takes a session of a program that has batching="continuous".

        Args:
          session: the session, whose caches are overwritten.
          queue: texts that may wait for a row; None: any number.

        Raises:
          ArgumentError: the program has another form.
        """
        constants = session.program.constants
        if constants.get("batching") != "continuous":
            raise _errors.ArgumentError(
                f"'{session.program.path.name}' has no rows at positions of their own",
                hint='export it with etx.hf.export(..., batch=8, batching="continuous")',
            )
        if queue is not None and queue < 0:
            raise _errors.ArgumentError(f"queue is {queue}, expected 0 or more")
        self.session, self._queue = session, queue
        self.rows = int(constants["get_batch_size"])
        self.context = int(constants["get_max_context_len"])
        self._part = int(constants["get_max_seq_len"])
        self._vocabulary = int(constants["get_vocab_size"])
        self._constants = constants
        self._lock = threading.Lock()  # of the texts that wait
        self._waiting: deque[Text] = deque()
        self._rows: list[Text | None] = [None] * self.rows
        self._filling: deque[int] = deque()  # rows whose prompts are not complete
        self._finished: dict[str, int] = {}
        self._prompt_tokens = self._new_tokens = self._decode_calls = self._decode_rows = 0

    def add(
        self,
        prompt_ids: Iterable[int],
        *,
        on_token: Callable[[Text, int], Any] | None = None,
        on_end: Callable[[Text], Any] | None = None,
        logprobs: int | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Text:
        """Adds a text, which waits until a row is free.

        Args:
          prompt_ids: token ids, 1 to `context` - 1 of them.
          on_token: called with (text, id) for each new token. If it returns False, the
            text ends as "cancelled"; if it raises, as "failed".
          on_end: called with the text when it has ended, whatever the reason.
          logprobs: keep log probabilities of each token and of so many alternatives,
            up to 20; None: of none.
          timeout: seconds from now after which the text ends as "timeout".
          options: as of `Session.generate`, without beams, `stop_strings` and `tokenizer`.
            Without a seed, draws differ from text to text.

        Raises:
          ArgumentError: an option is wrong.
          RangeError: the prompt is empty or does not fit, or has ids outside of the
            vocabulary.
          QueueFullError: too many texts wait.
        """
        text = self.prepare(
            prompt_ids, options, on_token=on_token, on_end=on_end, logprobs=logprobs,
            timeout=timeout,
        )
        self.put(text)
        return text

    def put(self, text: Text) -> None:
        """Appends a text of `prepare` to those that wait. Raises QueueFullError."""
        with self._lock:
            waiting = len(self._waiting)
            if self._queue is not None and waiting >= self._queue + self._rows.count(None):
                raise QueueFullError(
                    f"{waiting} texts wait, and {self._queue} may wait", hint="add the text later"
                )
            self._waiting.append(text)

    def prepare(
        self, prompt_ids: Iterable[int], options: dict[str, Any], *, on_token: Any = None,
        on_end: Any = None, logprobs: int | None = None, timeout: float | None = None,
    ) -> Text:
        """A text that does not wait yet; arguments and errors are those of `add`."""
        ids = np.asarray(prompt_ids if isinstance(prompt_ids, np.ndarray) else list(prompt_ids))
        if not 1 <= ids.size < self.context:
            raise _errors.RangeError(
                f"the prompt has {ids.size} tokens, expected 1 to {self.context - 1}, so that "
                "a new one fits into the caches"
            )
        if ids.dtype.kind not in "iu":
            raise _errors.ArgumentError(f"the prompt has {ids.dtype}, expected token ids")
        ids = ids.reshape(-1).astype(np.int64)
        wrong = ids[(ids < 0) | (ids >= self._vocabulary)]
        if wrong.size:
            raise _errors.RangeError(
                f"the prompt has the token {wrong[0]}, the vocabulary has {self._vocabulary}"
            )
        if logprobs is not None and not 0 <= logprobs <= MOST_LOGPROBS:
            raise _errors.ArgumentError(f"logprobs is {logprobs}, expected 0 to {MOST_LOGPROBS}")
        read = options_of(self._constants, options)
        if read["max_new_tokens"] < 1:
            raise _errors.ArgumentError("max_new_tokens is 0, expected 1 or more")
        check_options(read, self._vocabulary)
        longest = min(self.context, ids.size + read["max_new_tokens"])
        deadline = None if timeout is None else time.monotonic() + timeout
        return Text(ids, read, longest, on_token, on_end, logprobs, deadline)

    @property
    def has_work(self) -> bool:
        """True if a text waits or runs."""
        return bool(self._waiting) or any(text is not None for text in self._rows)

    @property
    def counts(self) -> BatchCounts:
        """What the batch has counted so far."""
        running = self.rows - self._rows.count(None)
        return BatchCounts(
            len(self._waiting), running, dict(self._finished), self._prompt_tokens,
            self._new_tokens, self._decode_calls, self._decode_rows,
        )

    def step(self) -> bool:
        """Runs the next part of one prompt, and one token of each text that has its prompt.

        Returns:
          False if nothing is left to do.
        """
        self._end_those_that_must()
        self._give_rows()
        try:
            if self._filling:
                self._prefill(self._filling[0])
            self._decode()
        except Exception as cause:  # a run of the model failed; its caches are lost
            self.end_all("failed", cause, waiting=False)
            if self.session.is_torn:
                self.session.reset()
        return self.has_work

    def end_all(self, end: str, error: BaseException | None = None, *, waiting: bool = True) -> None:
        """Ends all texts; for the thread that calls `step`.

        Args:
          end: what their `end` becomes.
          error: what their `error` becomes.
          waiting: also those that have no row yet.
        """
        for row, text in enumerate(self._rows):
            if text is not None:
                self._finish(text, end, error)
                self._free(row)
        with self._lock:
            left = list(self._waiting) if waiting else []
            for _ in left:
                self._waiting.popleft()
        for text in left:
            self._finish(text, end, error)

    def _end_those_that_must(self) -> None:
        now = time.monotonic()
        for row, text in enumerate(self._rows):
            if text is not None and (end := text.why_over(now)) is not None:
                self._finish(text, end)
                self._free(row)
        with self._lock:
            over = [text for text in self._waiting if text.why_over(now) is not None]
            for text in over:
                self._waiting.remove(text)
        for text in over:  # callbacks may add texts, so the lock is free
            self._finish(text, text.why_over(now))

    def _finish(self, text: Text, end: str, error: BaseException | None = None) -> None:
        try:
            text.finish(end, error)
        except Exception as cause:  # of on_end, which is the caller's
            text.error = text.error or cause
        self._finished[text.end] = self._finished.get(text.end, 0) + 1

    def _free(self, row: int) -> None:
        self._rows[row] = None
        if row in self._filling:
            self._filling.remove(row)

    def _give_rows(self) -> None:
        with self._lock:
            for row, text in enumerate(self._rows):
                if text is None and self._waiting:
                    self._rows[row] = self._waiting.popleft()
                    self._filling.append(row)

    def _prefill(self, row: int) -> None:
        text = self._rows[row]
        end = min(text.filled + self._part, len(text.prompt))
        logits = self.session.methods["prefill"].view(
            input_ids=text.ids[None, text.filled : end], position=np.array([text.filled]),
            row=np.array([row]),
        )
        self._prompt_tokens += end - text.filled
        text.filled = end
        if end == len(text.prompt):
            self._filling.popleft()
            self._take(row, np.asarray(logits)[0])

    def _decode(self) -> None:
        last = max((r for r, text in enumerate(self._rows) if self._is_running(text)), default=-1)
        if last < 0:
            return
        # A row whose prompt is not complete, or that is free, gets a token at a position that
        # is written again before it is read.
        tokens = np.zeros((last + 1, 1), dtype=np.int64)
        positions = np.zeros(last + 1, dtype=np.int64)
        running = []
        for row, text in enumerate(self._rows[: last + 1]):
            if self._is_running(text):
                tokens[row], positions[row] = text.tokens[-1], text.count - 1
                running.append(row)
            elif text is not None:
                positions[row] = text.filled
        logits = np.asarray(self.session.methods["decode"].view(input_ids=tokens, position=positions))
        self._decode_calls += 1
        self._decode_rows += len(running)
        for row in running:
            self._take(row, logits[row])

    def _is_running(self, text: Text | None) -> bool:
        return text is not None and text.filled == len(text.prompt)

    def _take(self, row: int, logits: np.ndarray) -> None:
        """The next token of a row; other rows go on if it fails."""
        text = self._rows[row]
        try:
            text.take(logits)
        except Exception as cause:
            self._finish(text, "failed", cause)
            self._free(row)
            return
        self._new_tokens += 1
        if text.end is not None:
            self._finished[text.end] = self._finished.get(text.end, 0) + 1
            self._free(row)
