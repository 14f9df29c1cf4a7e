"""What the methods of a session use while they run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _runtime


class Use:
    """Records while its `with` block runs; read or save it afterwards.

    Methods are loaded when the block begins; a session has one such block, or one
    of `Session.profile`, at a time: a second one inside raises StateError.

    Attributes:
      yaml: after the block, the operators, types and features that calls have used,
        in the form of ExecuTorch's selected_operators.yaml.
    """

    def __init__(self, methods: Mapping[str, Any], file: str) -> None:
        self._methods = methods
        self._file = file
        self.yaml = ""

    def __enter__(self) -> Use:
        started: list[Any] = []
        try:
            for name in self._methods:
                self._methods[name].trace_start()
                started.append(self._methods[name])
        except Exception:
            for method in started:
                method.trace_stop()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        methods = [self._methods[name] for name in self._methods]
        try:
            self.yaml = _runtime.trace_text(methods, self._file)
        finally:
            for method in methods:
                method.trace_stop()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the YAML to a file, for `etx select --trace`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.yaml)
