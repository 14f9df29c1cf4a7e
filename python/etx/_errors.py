"""Exceptions: one class for each way a call can end, all of them `etx.Error`.

The C library says what happened in one sentence and a code; here both become an
exception that is also one of Python's own (`ValueError`, `LookupError`, ...), so
that a program may catch either.
"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base class of all errors.

    Attributes:
      message: the sentence, such as "input 'x' is float32, expected int64".
      code: the C library's name for it in small letters, such as "bad_argument".
      where: the method that it is about, or None.
      expected: what would have been right, such as a method's signature, or None.
      found: what was there instead, or None.
      hint: what to do about it, or None.
      line: place in a text file, from 1; 0 if there is none.
      column: place in that line, from 1; 0 if there is none.
      offset: place in a binary file, in bytes; 0 if there is none.
      problems: of an export, every problem found: dictionaries with "message"
        and, where known, "file", "line", "column", "node", "source".
    """

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
        line: int = 0,
        column: int = 0,
        offset: int = 0,
        problems: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.expected = expected
        self.found = found
        self.hint = hint
        self.line = line
        self.column = column
        self.offset = offset
        self.problems = problems or []

    def about(self, path: object) -> Error:
        """This exception, whose sentence names the file that it is about, too."""
        if str(path) not in self.message:
            self.message = f"{path}: {self.message}"
            self.args = (self.message,)
        return self

    def __str__(self) -> str:
        text = self.message
        if self.where is not None:
            text += f", in a call of {self.expected or self.where}"
        if self.hint is not None:
            text += f" ({self.hint})"
        return text


class ArgumentError(Error, ValueError):
    """A value that cannot be accepted: wrong type, rank, size, number. Nothing
    was changed by the refused call."""

    code = "bad_argument"


class RangeError(ArgumentError):
    """A size, index or count beyond a stated bound."""

    code = "out_of_range"


class NotFoundError(Error, LookupError):
    """A method, state, input, buffer or file of that name does not exist."""

    code = "not_found"


class MissingMethodError(NotFoundError, AttributeError):
    """A session was asked for a method that its program does not have."""


class StateError(Error, RuntimeError):
    """A correct call at the wrong time: closed, in use by another thread, not yet exported."""

    code = "bad_state"


class TornStateError(StateError):
    """A run failed half-way and left state half-written: reset or restore it."""

    code = "torn_state"


class FileError(Error, ValueError):
    """The bytes of a file contradict themselves or its format, or the file is
    not the one that it was."""

    code = "bad_file"


class UnsupportedError(Error, NotImplementedError):
    """The file is valid, but needs something that this build does not support."""

    code = "unsupported"


class MissingOperatorError(UnsupportedError):
    """A program needs operators that this build does not have."""

    code = "missing_operator"


class OutOfMemoryError(Error, MemoryError):
    """There was not enough memory."""

    code = "out_of_memory"


class PlanError(Error):
    """No plan exists, or the proof of a plan failed."""

    code = "bad_plan"


class ExportError(Error, ValueError):
    """A model, or a directory of methods, cannot be made a program."""

    code = "bad_argument"


class HostError(Error, OSError):
    """The operating system refused: a file cannot be read or written."""

    code = "host_failed"


class InternalError(Error):
    """A bug in etx itself."""

    code = "internal"


_CLASSES: dict[str, type[Error]] = {
    "OUT_OF_MEMORY": OutOfMemoryError,
    "BAD_FILE": FileError,
    "UNSUPPORTED": UnsupportedError,
    "MISSING_OPERATOR": MissingOperatorError,
    "BAD_ARGUMENT": ArgumentError,
    "OUT_OF_RANGE": RangeError,
    "NOT_FOUND": NotFoundError,
    "BAD_STATE": StateError,
    "TORN_STATE": TornStateError,
    "BAD_PLAN": PlanError,
    "HOST_FAILED": HostError,
    "INTERNAL": InternalError,
}

# Hints for messages that do not say what to do, by a part of the message.
_HINTS = (
    ("another thread runs", "give each thread a session: program.session(), session.fork()"),
    ("this session is closed", "make a new one with program.session()"),
    ("of this pool are open", "close each with session.close(), or use with pool.session()"),
    ("this program is closed", "load it again with etx.load(path)"),
    ("state is torn", "session.reset() or session.restore(snapshot)"),
    ("is float64, expected float32", "array.astype(numpy.float32)"),
    ("is int32, expected int64", "array.astype(numpy.int64)"),
)


def _hint_for(text: str) -> str | None:
    return next((hint for part, hint in _HINTS if part in text), None)


def _found_in(text: str) -> str | None:
    """The part before ", expected ": "input 'x' is float32" of "input 'x' is
    float32, expected int64"."""
    head, comma, _ = text.partition(", expected ")
    return head if comma else None


def make(
    status: str, text: str, line: int, column: int, offset: int, place: str | None
) -> Error:
    """The exception for an error of the C library; the extension calls this.

    `place` is the signature of the method that was called, or None.
    """
    return _CLASSES.get(status, InternalError)(
        text,
        where=place.partition("(")[0] if place else None,
        expected=place,
        found=_found_in(text),
        hint=_hint_for(text),
        line=line,
        column=column,
        offset=offset,
    )
