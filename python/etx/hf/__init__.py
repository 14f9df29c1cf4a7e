"""etx.hf: programs from checkpoints of the package `transformers`.

    etx.hf.export("path/of/checkpoint", max_length=512).plan("model.pte")
    session = etx.load("model.pte").session()
    tokens = session.generate(input_ids, max_new_tokens=32)

Exporting needs torch and transformers; running needs NumPy. README.md beside this file
states the methods, inputs and constants of the programs.
"""

from __future__ import annotations

from typing import Any

from .. import _errors

_LATER = ("ExportedModel", "export")


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'etx.hf' has no attribute '{name}'")
    from importlib import import_module

    try:
        return getattr(import_module("._export_task", __name__), name)
    except ModuleNotFoundError as cause:
        if cause.name not in ("torch", "transformers"):
            raise
        raise _errors.UnsupportedError(
            f"'etx.hf.{name}' needs {cause.name}, which is not installed",
            hint="pip install torch transformers",
        ) from cause


__all__ = ["ExportedModel", "export"]
