"""The programs that a server has, by name and task."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import etx

from api_error import ApiError
from served_calls import EmbeddingModel, SpeechModel
from served_text import TextModel

Model = TextModel | EmbeddingModel | SpeechModel
Kind = TypeVar("Kind", TextModel, EmbeddingModel, SpeechModel)

_PATHS = {
    TextModel: "/v1/chat/completions and /v1/completions", EmbeddingModel: "/v1/embeddings",
    SpeechModel: "/v1/audio/transcriptions",
}


@dataclass(frozen=True)
class Limits:
    """What models take.

    Attributes:
      queue: texts, or calls, of a model that may wait.
      timeout: seconds for a text, waiting included; None: any time.
      sessions: calls of an embedder or a recognizer at the same time.
      threads: of each program.
      grace: seconds in which running work is finished when the server ends.
    """

    queue: int = 256
    timeout: float | None = 600.0
    sessions: int = 1
    threads: int = 1
    grace: float = 30.0


def named_programs(given: Sequence[str]) -> dict[str, str]:
    """Paths by name, of items [NAME=]PATH. Raises ValueError if a name is there twice."""
    programs: dict[str, str] = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not equals:
            name, path = Path(item).stem, item
        if not name or name in programs:
            raise ValueError(f"the name '{name}' is empty or there twice: write NAME=PROGRAM")
        programs[name] = path
    return programs


class ServedModels:
    """Loads programs, and finds them by name."""

    def __init__(
        self, programs: Mapping[str, str], limits: Limits = Limits(), *, template: str | None = None
    ) -> None:
        """Raises ValueError, or an etx.Error, for a program that cannot be served.

        Args:
          programs: paths of programs by the names that clients use.
          template: a chat template instead of those of the programs.
        """
        self._limits, self._created = limits, int(time.time())
        self._is_closing = False
        self.by_name: dict[str, Model] = {}
        try:
            for name, path in programs.items():
                program = etx.load(path, threads=limits.threads)
                try:
                    self.by_name[name] = self._model(name, program, template)
                except ValueError as cause:
                    raise ValueError(f"{path}: {cause}") from cause
        except BaseException:
            self.close(0)
            raise

    def _model(self, name: str, program: etx.Program, template: str | None) -> Model:
        limits, task = self._limits, program.constants.get("task")
        if task == "text-generation":
            return TextModel(
                name, program, queue=limits.queue, timeout=limits.timeout, template=template
            )
        calls = {"feature-extraction": EmbeddingModel, "automatic-speech-recognition": SpeechModel}
        if task not in calls:
            raise ValueError(f"the task of the program is {task!r}, expected text-generation, {', '.join(calls)}")
        return calls[task](name, program, sessions=limits.sessions, queue=limits.queue)

    @property
    def is_alive(self) -> bool:
        """True while all models take requests."""
        texts = [model for model in self.by_name.values() if isinstance(model, TextModel)]
        return not self._is_closing and all(model.worker.is_alive for model in texts)

    def descriptions(self) -> list[dict[str, Any]]:
        """What `/v1/models` lists."""
        return [
            {"id": name, "object": "model", "created": self._created, "owned_by": "etx"}
            for name in self.by_name
        ]

    def find(self, name: str, kind: type[Kind]) -> Kind:
        """The model of that name. Raises ApiError if there is none of that kind."""
        model = self.by_name.get(name)
        if model is None:
            raise self.missing(name)
        if not isinstance(model, kind):
            raise ApiError(
                f"The model '{name}' is not for this path: it answers at {_PATHS[type(model)]}",
                param="model",
            )
        return model

    def missing(self, name: str) -> ApiError:
        return ApiError(
            f"The model '{name}' does not exist; there is {', '.join(self.by_name)}", status=404,
            param="model", code="model_not_found",
        )

    def close(self, grace: float | None = None) -> None:
        """Finishes what runs, for at most `grace` seconds; returns when all has ended."""
        grace = self._limits.grace if grace is None else grace
        self._is_closing = True
        threads = [
            threading.Thread(target=model.close, args=(grace,)) for model in self.by_name.values()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
