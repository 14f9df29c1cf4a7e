"""Counts of a server, in the text format of Prometheus."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from served_text import TextModel

if TYPE_CHECKING:
    from served_models import ServedModels


@dataclass
class Record:
    """A request that is being answered."""

    status: int = 499  # the client went away, unless an answer was made


class Metrics:
    """Counts requests, and shows them with the counts of the batches."""

    def __init__(self, models: ServedModels) -> None:
        self._models = models
        self._requests: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def request(self, path: str) -> Iterator[Record]:
        """Counts a request by what the block writes into the Record."""
        record, begin = Record(), time.monotonic()
        try:
            yield record
        except Exception:
            record.status = 500
            raise
        finally:
            key = (path, record.status)
            self._requests[key] = self._requests.get(key, 0) + 1
            self._seconds[path] = self._seconds.get(path, 0.0) + time.monotonic() - begin

    def text(self) -> str:
        """All counts."""
        lines = ["# TYPE etx_requests_total counter"]
        for (path, status), count in sorted(self._requests.items()):
            lines.append(f'etx_requests_total{{path="{path}",status="{status}"}} {count}')
        lines.append("# HELP etx_request_seconds_total Until the answer, or its stream, begins.")
        lines.append("# TYPE etx_request_seconds_total counter")
        for path, seconds in sorted(self._seconds.items()):
            lines.append(f'etx_request_seconds_total{{path="{path}"}} {seconds:.6f}')
        return "\n".join([*lines, *self._batches(), ""])

    def _batches(self) -> Iterator[str]:
        models = {
            name: model.worker for name, model in self._models.by_name.items()
            if isinstance(model, TextModel)
        }
        counts = {_escaped(name): worker.counts for name, worker in models.items()}
        for name, kind in (
            ("waiting", "gauge"), ("running", "gauge"), ("prompt_tokens", "counter"),
            ("new_tokens", "counter"), ("decode_calls", "counter"), ("decode_rows", "counter"),
        ):
            shown = f"etx_texts_{name}" if kind == "gauge" else f"etx_{name}_total"
            yield f"# TYPE {shown} {kind}"
            for model, found in counts.items():
                yield f'{shown}{{model="{model}"}} {getattr(found, name)}'
        yield "# TYPE etx_texts_finished_total counter"
        for model, found in counts.items():
            for end, count in sorted(found.finished.items()):
                yield f'etx_texts_finished_total{{model="{model}",end="{end}"}} {count}'


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
