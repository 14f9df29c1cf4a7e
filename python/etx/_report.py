"""The report of planning: bytes of every method, copies that remain, fusions."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any


class Report(dict[str, Any]):
    """The facts of `etx plan --json` as a dictionary that shows itself.

    Keys that are always there: "file", "file_bytes", "scratch_bytes",
    "state_bytes", "constant_bytes", "methods" and "copies". All sizes are bytes, at
    the upper bounds of dimensions that vary; `docs/cli.md` lists every key.
    """

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("method", "scratch", "lower bound", "instructions")]
        for method in self["methods"]:
            rows.append((
                str(method.get("name", "")),
                f"{method.get('scratch_bytes', 0):,}",
                f"{method.get('lower_bound', 0):,}",
                str(method.get("instructions", "")),
            ))
        return rows

    def _head(self) -> str:
        return (
            f"{self['file']}: {self['file_bytes']:,} bytes, state {self['state_bytes']:,}, "
            f"scratch {self['scratch_bytes']:,}, constants {self['constant_bytes']:,}"
        )

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  " + row[0].ljust(widths[0]) + "".join(
                "  " + cell.rjust(width) for cell, width in zip(row[1:], widths[1:])
            )
            for row in rows
        ]
        return "\n".join([self._head(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._head())}</p>" + table(self._rows())


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """An HTML table; the first row is its head."""
    def cells(row: tuple[str, ...], tag: str) -> str:
        return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows[1:])
    return f"<table><tr>{cells(rows[0], 'th')}</tr>{body}</table>"
