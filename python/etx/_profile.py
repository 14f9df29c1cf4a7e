"""The times of the operators of a session's methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._report import table


@dataclass(frozen=True)
class OperatorTime:
    """One instruction of a method: its number of runs and their total time.

    Attributes:
      method: name of the method.
      instruction: position in the method, from 0.
      operator: with overload, such as "aten::add.out".
      calls: how often it ran while the block lasted.
      nanoseconds: of all these calls together.
    """

    method: str
    instruction: int
    operator: str
    calls: int
    nanoseconds: int


class Profile:
    """Measures while its `with` block runs; read it afterwards.

    Methods are loaded when the block begins; a session has one such block at a
    time, a second one inside raises StateError. The clock takes a part of a
    microsecond for each instruction, which the times contain.

    Attributes:
      rows: an OperatorTime for each instruction of each method, after the block.
    """

    def __init__(self, methods: Mapping[str, Any]) -> None:
        self._methods = methods
        self.rows: list[OperatorTime] = []

    def __enter__(self) -> Profile:
        started: list[Any] = []
        try:
            for name in self._methods:
                self._methods[name].profile_start()
                started.append(self._methods[name])
        except Exception:
            for method in started:
                method.profile_stop()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        for name in self._methods:
            method = self._methods[name]
            for instruction, operator, overload, calls, spent in method.profile_rows():
                full = f"{operator}.{overload}" if overload else operator
                self.rows.append(OperatorTime(name, instruction, full, calls, spent))
            method.profile_stop()

    def by_operator(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Calls and nanoseconds by method and operator, the longest first.

        Returns:
          Pairs of calls and nanoseconds by pairs of method and operator; empty
          before the block ended.
        """
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for row in self.rows:
            calls, spent = sums.get((row.method, row.operator), (0, 0))
            sums[row.method, row.operator] = (calls + row.calls, spent + row.nanoseconds)
        return dict(sorted(sums.items(), key=lambda item: -item[1][1]))

    def _cells(self) -> list[tuple[str, ...]]:
        cells: list[tuple[str, ...]] = [("method", "operator", "calls", "microseconds")]
        for (method, operator), (calls, spent) in self.by_operator().items():
            cells.append((method, operator, str(calls), f"{spent / 1000:.1f}"))
        return cells

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(4)]
        return "\n".join(
            f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  "
            f"{row[3]:>{widths[3]}}"
            for row in cells
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table(self._cells())
