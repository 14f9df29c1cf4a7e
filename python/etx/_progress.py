"""Reports of progress while a program is planned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Union

from . import _errors

# Called with the stage that begins, how many are done, and how many there are.
Teller = Callable[[str, int, int], object]
Progress = Union[Teller, bool, None]


def _show(stage: str, done: int, total: int) -> None:
    print(f"\r\033[K{stage} {done} of {total}", end="", file=sys.stderr, flush=True)


@contextmanager
def progress_callback(progress: Progress) -> Iterator[Teller | None]:
    """The function that planning calls, or None. True prints a line on the terminal
    and clears it at the end; without a terminal nothing is printed."""
    if progress is True:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        try:
            yield _show if is_terminal else None
        finally:
            if is_terminal:
                print("\r\033[K", end="", file=sys.stderr, flush=True)
    elif progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    else:
        raise _errors.ArgumentError(
            f"'progress' is a '{type(progress).__name__}', expected a function "
            "of (stage, done, total) or True"
        )
