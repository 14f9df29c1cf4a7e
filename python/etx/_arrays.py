"""Arrays over the runtime's memory, and memory for the arguments that users pass.

The extension reads NumPy arrays and other buffers, and tensors with DLPack, in
place. What it cannot read so comes to `coerce`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from . import _errors

try:
    from ml_dtypes import bfloat16 as _bfloat16
except ImportError:
    _bfloat16 = None

_DTYPES: dict[str, type[np.generic]] = {
    "bool": np.bool_,
    "uint8": np.uint8,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "bfloat16": np.uint16,  # its bits: NumPy has no such type
}


def wrap(view: Any) -> np.ndarray:
    """The array over a View. bfloat16 needs the package `ml_dtypes`; without it
    the bits come as uint16."""
    array = np.asarray(view)
    if view.dtype == "bfloat16" and _bfloat16 is not None:
        return array.view(_bfloat16)
    return array


def _refuse(name: str, why: str, place: str | None, hint: str | None = None) -> NoReturn:
    raise _errors.ArgumentError(
        f"input '{name}' {why}",
        where=place.partition("(")[0] if place else None,
        expected=place,
        hint=hint,
    )


def _from_tensor(value: Any, name: str, place: str | None) -> np.ndarray:
    """A tensor of PyTorch that DLPack does not give as it is."""
    if value.device.type != "cpu":
        _refuse(name, f"lies on '{value.device}'", place, "pass tensor.cpu()")
    try:
        value = value.detach().resolve_conj().resolve_neg().contiguous()
        if str(value.dtype) == "torch.bfloat16":
            import torch

            value = value.view(torch.uint16)
        return value.numpy()
    except (RuntimeError, TypeError) as cause:  # sparse, quantized, nested, without memory
        _refuse(name, f"is a tensor that cannot be read: {cause}", place,
                "pass tensor.to_dense().contiguous() of a type that NumPy has")


def _from_array(value: np.ndarray, name: str, place: str | None) -> np.ndarray:
    if _bfloat16 is not None and value.dtype == _bfloat16:
        value = value.view(np.uint16)
    if value.dtype.kind not in "biufc":
        _refuse(name, f"is an array of {value.dtype}", place)
    native = value.dtype.newbyteorder("=")
    return np.ascontiguousarray(value, dtype=native).reshape(value.shape)


def _from_numbers(value: Any, name: str, dtype: str, rank: int, place: str | None) -> np.ndarray:
    """Python numbers have no type of their own: they take the input's, if that
    holds them exactly or is a float. One number fills any rank."""
    if dtype not in _DTYPES or dtype == "bfloat16":
        _refuse(name, f"is {dtype}, which Python numbers cannot be", place)
    wanted: np.dtype[Any] = np.dtype(_DTYPES[dtype])
    try:
        found = np.array(value)
    except ValueError:
        _refuse(name, "is a list whose rows have different lengths", place)
    if found.dtype.kind not in "biufc":
        _refuse(name, f"cannot be made of '{type(value).__name__}'", place,
                "pass a NumPy array, a tensor or numbers")
    if found.size > 0 and not np.can_cast(found.dtype, wanted, "same_kind"):
        is_natural = found.dtype.kind == "i" and wanted.kind == "u" and (found >= 0).all()
        if not is_natural:
            _refuse(name, f"is {dtype}, {found.dtype} numbers were given", place)
    made = found.astype(wanted)
    if wanted.kind in "iu" and not np.array_equal(made, found):
        _refuse(name, f"is {dtype}, a number that it cannot hold was given", place)
    return made.reshape((1,) * rank) if made.ndim == 0 else made


def _part_name(name: str, key: object) -> str:
    return re.sub("[^a-z0-9]", "_", f"{name}_{key}".lower())


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A tuple's or dictionary's parts in order, by the names that PyTorch gives the
    inputs made of them. Lists are values: numbers for a tensor."""
    waiting = [(name, value)]
    while waiting:
        name, item = waiting.pop()
        if isinstance(item, tuple):
            waiting.extend((_part_name(name, i), item[i]) for i in reversed(range(len(item))))
        elif isinstance(item, dict):
            parts = [(_part_name(name, key), part) for key, part in item.items()]
            waiting.extend(reversed(parts))
        else:
            yield name, item


def flatten(
    args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with each tuple or dictionary replaced by its parts."""
    placed = tuple(part for arg in args for _, part in _parts("", arg))
    named: dict[str, Any] = {}
    for name, arg in (kwargs or {}).items():
        for part, value in _parts(name, arg):
            if part in named:
                raise _errors.ArgumentError(f"input '{part}' is given twice")
            named[part] = value
    return placed, named


def coerce(
    value: Any, name: str, dtype: str, rank: int, is_mutable: bool, place: str | None
) -> np.ndarray:
    """An array with the value of `value` that the runtime can read.

    Raises ArgumentError if there is none, or if the method writes the input and
    `value` is not memory that it can write.
    """
    if is_mutable:
        _refuse(name, "is written by the method and needs a dense array that may be written",
                place, "pass numpy.ascontiguousarray(x).copy() and read it afterwards")
    if hasattr(value, "detach") and hasattr(value, "device"):
        return _from_tensor(value, name, place)
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if hasattr(value, "__array__") and not isinstance(value, np.ndarray):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        return _from_array(value, name, place)
    return _from_numbers(value, name, dtype, rank, place)
