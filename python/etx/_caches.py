"""Descriptions of caches: states that methods append rows to."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass
from typing import Any

from . import _errors

OVERFLOWS = ("error", "ring", "slide")


@dataclass(frozen=True)
class Cache:
    """Says of states, such as keys and values of attention, that methods append rows to
    them. A session can then go back to a prefix: `truncate(n)`, `save(length=n)`.

        etx.export(model, methods, caches={"layers": etx.Cache(dim=2, length="position")})

    Attributes:
      dim: dimension of the rows; its size is the capacity. Negative ones count from the end.
      length: the buffer in which the model itself counts the rows: one int64 or int32.
        Several caches may have one. None: the model does not count them.
      overflow: what happens to a row for which there is no room. "error": the call is
        refused, and nothing is written. "ring": it takes the place of the oldest row; the
        model appends row p at position p. "slide": the model itself drops its first row
        and appends one (`roll` or `cat`), and the other rows do not move.
    """

    dim: int
    length: str | None = None
    overflow: str = "error"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "dim", operator.index(self.dim))
        except TypeError as cause:
            raise _errors.ArgumentError(
                f"'dim' of a cache is a whole number, not {type(self.dim).__name__}"
            ) from cause
        if self.length is not None and not isinstance(self.length, str):
            raise _errors.ArgumentError(
                f"'length' of a cache is the name of a buffer, not {type(self.length).__name__}"
            )
        if self.overflow not in OVERFLOWS:
            raise _errors.ArgumentError(
                f"'overflow' of a cache is {self.overflow!r}, expected one of "
                + ", ".join(OVERFLOWS)
            )

    def row(self) -> dict[str, Any]:
        """As program.yaml has it."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def checked(name: str, cache: Any) -> Cache:
    """The description of a cache, from a Cache or a dictionary with its fields."""
    if isinstance(cache, Cache):
        return cache
    try:
        return Cache(**cache)
    except TypeError as cause:
        raise _errors.ArgumentError(
            f"cache '{name}' is {cache!r}, expected etx.Cache(dim, length, overflow)"
        ) from cause
