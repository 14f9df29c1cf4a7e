"""Converts paths and texts for the extension modules."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import _errors


def bytes_of(path: str | os.PathLike[str], what: str = "path") -> bytes:
    """Raises ArgumentError for a zero byte, where C would end the text."""
    found = os.fsencode(path)
    if b"\0" in found:
        raise _errors.ArgumentError(f"the {what} {os.fspath(path)!r} holds a zero byte")
    return found


def paths_of(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
) -> tuple[str | os.PathLike[str], ...]:
    """One path, several, or none as a tuple."""
    if paths is None:
        return ()
    return (paths,) if isinstance(paths, (str, os.PathLike)) else tuple(paths)
