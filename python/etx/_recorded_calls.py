"""Calls in a directory, as `etx plan --calibrate` and `etx run --case` read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import _errors, _tensor_file

Call = tuple[str, Sequence[Any]] | None


def _value(value: Any, name: str, tensors: dict[str, Any]) -> dict[str, Any]:
    """One input as JSON; a tensor is added to `tensors`."""
    if value is None:
        return {"none": True}
    for kind, key in ((bool, "bool"), (int, "int"), (float, "float"), (str, "string")):
        if isinstance(value, kind):
            return {key: value}
    import torch

    tensor = torch.as_tensor(value)
    if not _tensor_file.can_write(tensor):
        raise _errors.ArgumentError(f"{name} is a tensor of {tensor.dtype}, which a file cannot hold")
    tensors[name] = tensor
    return {"tensor": name}


def _call(call: Any, number: int, tensors: dict[str, Any]) -> dict[str, Any]:
    if call is None:
        return {"reset": True}
    if not (isinstance(call, tuple) and len(call) == 2 and isinstance(call[0], str)):
        raise _errors.ArgumentError(
            f"call {number} is {call!r}, expected (method, inputs), or None to reset all states"
        )
    method, inputs = call
    return {
        "method": method,
        "inputs": [
            _value(value, f"call {number}, input {i}", tensors) for i, value in enumerate(inputs)
        ],
    }


def write(folder: Path, calls: Iterable[Call]) -> None:
    """Writes cases.json and expected.safetensors into a directory that is there."""
    tensors: dict[str, Any] = {}
    rows = [_call(call, number, tensors) for number, call in enumerate(calls)]
    text = json.dumps({"atol": 0, "rtol": 0, "calls": rows})
    (folder / "cases.json").write_text(text, encoding="utf-8")
    _tensor_file.write(folder / "expected.safetensors", tensors)
