"""A pool of sessions for the threads of a server."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _errors, _runtime
from ._session import Session

if TYPE_CHECKING:
    from ._program import Program


@dataclass(frozen=True)
class PoolCounts:
    """What a pool has counted.

    Attributes:
      in_use: sessions that are out now.
      most_in_use: sessions that were out at the same time, at most.
      gets: how often a session was taken.
      empties: how often none was free when one was asked for.
    """

    in_use: int
    most_in_use: int
    gets: int
    empties: int


class Pool:
    """A fixed number of sessions over a program, as `Program.pool()` makes it. Any
    number of threads may use it.

        pool = program.pool(8)
        with pool.session() as session:      # waits until one is free
            logits = session.decode(token, pos)

    All sessions are loaded when the pool is made, so taking one allocates no memory
    of the program and loads nothing. A session goes back to the pool at the end of
    the `with` block; after that its methods raise StateError. It also goes back
    when nothing refers to it any more. Its states then get their initial values,
    unless the pool was made with `keep_state=True`.

    Attributes:
      program: the Program that it was made by.
      count: number of sessions.
    """

    def __init__(
        self, program: Program, count: int, methods: Iterable[str] | None, keep_state: bool
    ) -> None:
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 65535:
            raise _errors.ArgumentError(f"'count' is {count!r}, expected a number from 1 to 65535")
        names = tuple(program.methods if methods is None else methods)
        for name in names:
            if name not in program.methods:
                raise _errors.MissingMethodError(
                    f"the program has no method '{name}'",
                    hint=f"it has {', '.join(program.methods) or 'none'}",
                )
        self.program = program
        self.count = count
        # A thread that waits is counted before it looks for a free session, and each
        # session that goes back wakes one such thread. SimpleQueue allows that in a
        # destructor.
        self._waiting = 0
        self._lock = threading.Lock()
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        wakes = self._wakes

        def wake(pool: weakref.ref[Pool] = weakref.ref(self)) -> None:
            self = pool()
            if self is not None and self._waiting > 0:
                wakes.put(None)

        self._native = _runtime.Pool(program._native, count, names, keep_state, wake)

    def session(self, timeout: float | None = None) -> Session:
        """Takes a free session and waits for one if there is none.

        Args:
          timeout: seconds to wait at most; 0 does not wait; None waits as long as
            it takes.

        Raises:
          StateError: no session became free in time, or the pool is closed.
        """
        native = self._native.get()
        if native is None:
            native = self._wait(timeout)
        return Session(self.program, native)

    def _wait(self, timeout: float | None) -> _runtime.Session:
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            self._waiting += 1
        try:
            while (native := self._native.get()) is None:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise _errors.StateError(
                        f"all {self.count} sessions of this pool are in use",
                        hint="wait longer, or make a larger pool with program.pool(count)",
                    )
                try:
                    self._wakes.get(timeout=left)
                except queue.Empty:
                    pass
            return native
        finally:
            with self._lock:
                self._waiting -= 1

    @property
    def counts(self) -> PoolCounts:
        """What the pool has counted so far."""
        return PoolCounts(*self._native.counts())

    def close(self) -> None:
        """Gives the memory back; without a call that happens when nothing refers to
        the pool and its sessions any more.

        Raises:
          StateError: sessions are still out.
        """
        self._native.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __reduce__(self) -> object:
        raise _errors.StateError(
            "a pool cannot be pickled", hint="pickle the program, and make a pool there"
        )

    def __repr__(self) -> str:
        return f"<etx pool of {self.count} sessions of '{self.program.path.name}'>"
