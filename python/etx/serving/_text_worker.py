"""A thread that runs the steps of a batch for the threads of a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .. import _errors
from .._session import Session
from ._batched_text import Text
from ._text_batch import BatchCounts, TextBatch

_ABOUT = ("on_token", "on_end", "logprobs", "timeout")  # arguments of `add` that are no options


class TextWorker:
    """A batch and a thread of its own; any thread may use it.

        with etx.serving.TextWorker(session, queue=64) as worker:
            text = worker.add(prompt_ids, on_token=print, max_new_tokens=64)
            text.wait()

    Callbacks run in the worker's thread, and delay all texts while they run.

    Attributes:
      batch: the TextBatch.
    """

    def __init__(
        self, session: Session, *, queue: int | None = None,
        on_step: Callable[[], Any] | None = None,
    ) -> None:
        """Starts the thread; errors are those of `TextBatch`.

        Args:
          session, queue: as of `TextBatch`.
          on_step: called in the worker's thread after each step, and so after the callbacks
            of all texts of that step: what they found can be handed over at once. It
            must not raise.
        """
        self.batch, self._on_step = TextBatch(session, queue=queue), on_step
        self._wakes = threading.Condition()
        self._is_closing = False
        self._ends_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="etx texts", daemon=True)
        self._thread.start()

    def add(self, prompt_ids: Any, **options: Any) -> Text:
        """Adds a text, as `TextBatch.add`. Its texts are generated at once.

        Raises:
          StateError: the worker is closed.
          ArgumentError, RangeError, QueueFullError: as `TextBatch.add`.
        """
        about = {name: options.pop(name) for name in _ABOUT if name in options}
        text = self.batch.prepare(prompt_ids, options, **about)
        with self._wakes:
            if self._is_closing:
                raise _errors.StateError("this worker is closed", hint="make a new TextWorker")
            self.batch.put(text)
            self._wakes.notify()
        return text

    @property
    def is_alive(self) -> bool:
        """True while the worker takes texts."""
        return self._thread.is_alive() and not self._is_closing

    @property
    def counts(self) -> BatchCounts:
        """What the batch has counted so far."""
        return self.batch.counts

    def close(self, timeout: float | None = None) -> None:
        """Takes no more texts, finishes those that it has, and ends the thread.

        Args:
          timeout: seconds for it; the rest ends as "cancelled" then. 0: all at once;
            None: as long as it takes.
        """
        with self._wakes:
            self._is_closing = True
            if timeout is not None:
                self._ends_at = time.monotonic() + timeout
            self._wakes.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> TextWorker:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            while self._waits_for_work():
                if self._ends_at is not None and time.monotonic() >= self._ends_at:
                    self.batch.end_all("cancelled")
                self.batch.step()
                if self._on_step is not None:
                    self._on_step()
        finally:  # whatever happens, nobody waits for ever
            with self._wakes:
                self._is_closing = True
            self.batch.end_all("failed", _errors.StateError("the worker's thread has ended"))
            if self._on_step is not None:
                self._on_step()

    def _waits_for_work(self) -> bool:
        """True if there is work; False if there will be none."""
        with self._wakes:
            while not self.batch.has_work:
                if self._is_closing:
                    return False
                self._wakes.wait()
        return True
