"""etx: programs of several methods over one state, exported and run.

    program = etx.load("model.pte")
    session = program.session()
    logits = session.decode(token, pos)

Running needs NumPy. Exporting (`etx.export`, `etx.MultiEntryPointExporter`)
needs torch too, which is imported when it is first used.
"""

from __future__ import annotations

from typing import Any

from . import _arrays, _errors, _runtime
from ._errors import (
    ArgumentError,
    Error,
    ExportError,
    FileError,
    HostError,
    InternalError,
    MissingMethodError,
    MissingOperatorError,
    NotFoundError,
    OutOfMemoryError,
    PlanError,
    RangeError,
    StateError,
    TornStateError,
    UnsupportedError,
)
from ._caches import Cache
from ._generate import GenerateOutput, sample_tokens, token_probabilities
from ._plan import plan
from ._pool import Pool, PoolCounts
from ._ports import Memory, MethodInfo, Port, Size, StateInfo
from ._program import Program, load
from ._report import Report
from ._session import Session

_runtime.connect(_errors.make, _arrays.wrap, _arrays.coerce, _arrays.flatten)

__version__ = "0.1.0"

# Names that need torch, and the module that defines them.
_LATER = {
    "Dim": "torch.export",
    "Exported": "._export",
    "MethodArg": "._method_args",
    "MultiEntryPointExporter": ".model_exporter",
    "export": "._export",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("hf", "serving"):
        return import_module(f".{name}", __name__)
    if name not in _LATER:
        raise AttributeError(f"module 'etx' has no attribute '{name}'")
    try:
        return getattr(import_module(_LATER[name], __name__), name)
    except ModuleNotFoundError as cause:
        if cause.name != "torch":
            raise
        raise UnsupportedError(
            f"'etx.{name}' needs torch, which is not installed", hint="pip install torch"
        ) from cause


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "ArgumentError",
    "Cache",
    "Dim",
    "Error",
    "ExportError",
    "Exported",
    "FileError",
    "GenerateOutput",
    "HostError",
    "InternalError",
    "Memory",
    "MethodArg",
    "MethodInfo",
    "MissingMethodError",
    "MissingOperatorError",
    "MultiEntryPointExporter",
    "NotFoundError",
    "OutOfMemoryError",
    "PlanError",
    "Pool",
    "PoolCounts",
    "Port",
    "Program",
    "RangeError",
    "Report",
    "Session",
    "Size",
    "StateError",
    "StateInfo",
    "TornStateError",
    "UnsupportedError",
    "export",
    "load",
    "plan",
    "sample_tokens",
    "token_probabilities",
]
