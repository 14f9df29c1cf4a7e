"""Descriptions of a program's methods and states, as plain data."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _errors


@dataclass(frozen=True)
class Dim:
    """A size of an input: every value that it may have.

    Inputs whose sizes share a symbol must agree: each is factor * symbol + offset.

    Attributes:
      minimum: smallest size, in elements.
      maximum: largest size, in elements; memory is planned for it.
      symbol: name of the symbol; None for a fixed size.
      factor: of the symbol, at least 1.
      offset: added to the product.
    """

    minimum: int
    maximum: int
    symbol: str | None = None
    factor: int = 1
    offset: int = 0

    def __str__(self) -> str:
        if self.minimum == self.maximum:
            return str(self.maximum)
        return f"{self.minimum}..{self.maximum}"


@dataclass(frozen=True)
class Port:
    """An input or output.

    Attributes:
      name: as the exported graph has it; "input_0" and so on in stock files.
      kind: "tensor", "int", "float", "bool", "str", "none" or "list".
      dtype: of a tensor's elements, such as "float32"; else None.
      shape: a Dim for each dimension of a tensor; else None.
      is_mutable: the method writes the array that is passed.
      varies: an int input that may take any value of a symbol.
      fixed: the value that a number was fixed to when exported.
      shows: position of the input whose new content an output is, or -1.
    """

    name: str
    kind: str
    dtype: str | None
    shape: tuple[Dim, ...] | None
    is_mutable: bool
    varies: bool
    fixed: Any
    shows: int

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"

    @property
    def type(self) -> str:
        """Type and sizes, such as ``int64[1, 1..64]``."""
        if self.shape is None:
            return self.kind
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class MethodInfo:
    """A method of a program: its inputs and outputs, and the memory that it needs.

    Attributes:
      name: of the method.
      inputs: a Port for each input, in order.
      outputs: a Port for each output, in order.
      instruction_count: instructions of the method.
      scratch_bytes: part of the shared scratch block that it uses.
      structure_bytes: memory of its own; None if this build cannot load it.
      temporary_bytes: what its kernels take while they run; None in the same case.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    instruction_count: int
    scratch_bytes: int
    structure_bytes: int | None = None
    temporary_bytes: int | None = None

    @property
    def signature(self) -> str:
        """Name and inputs, such as ``decode(token: int64[1], pos: int64[1])``."""
        return f"{self.name}({', '.join(map(str, self.inputs))})"

    def __str__(self) -> str:
        shown = [str(port) for port in self.outputs if port.shows < 0]
        return f"{self.signature} -> ({', '.join(shown)})"


@dataclass(frozen=True)
class Memory:
    """Bytes that a method needs at some sizes, as `Program.needed` finds them.

    Attributes:
      structure_bytes: memory of its own.
      scratch_bytes: of the scratch block that methods share.
      state_bytes: of a session's state.
      temporary_bytes: what its kernels take while they run.
    """

    structure_bytes: int
    scratch_bytes: int
    state_bytes: int
    temporary_bytes: int


@dataclass(frozen=True)
class StateInfo:
    """A state of a program.

    Attributes:
      name: full name, such as "decoder.cache".
      dtype: of its elements, such as "float32".
      shape: sizes, which are fixed.
      offset: of its first byte in the state arena, in bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


def _dims_of(row: dict[str, Any]) -> tuple[Dim, ...] | None:
    if row["kind"] != "tensor":
        return None
    known = {
        dim: Dim(factor * low + offset, factor * high + offset, symbol, factor, offset)
        for dim, symbol, factor, offset, low, high in row["dims"]
    }
    # A stock file states only the upper bound of a dynamic size.
    return tuple(
        known.get(i, Dim(0 if row["dynamic"] and not known else size, size))
        for i, size in enumerate(row["sizes"])
    )


def port_of(row: dict[str, Any]) -> Port:
    """From the extension's description."""
    return Port(
        name=row["name"],
        kind=row["kind"],
        dtype=row.get("dtype"),
        shape=_dims_of(row),
        is_mutable=row["mutable"],
        varies=row["varies"],
        fixed=row["fixed"],
        shows=row["shows"],
    )


def method_of(row: dict[str, Any]) -> MethodInfo:
    """From the extension's description."""
    structure, _, _, temporary = row["needed"] or (None,) * 4
    return MethodInfo(
        name=row["name"],
        inputs=tuple(map(port_of, row["inputs"])),
        outputs=tuple(map(port_of, row["outputs"])),
        instruction_count=row["instructions"],
        scratch_bytes=row["scratch"],
        structure_bytes=structure,
        temporary_bytes=temporary,
    )


def state_of(row: dict[str, Any]) -> StateInfo:
    """From the extension's description."""
    return StateInfo(row["name"], row["dtype"], tuple(row["sizes"]), row["offset"])


def symbols_of(method: MethodInfo, sizes: Mapping[str, int]) -> dict[str, int]:
    """Values of symbols from sizes by name of a symbol or as "input[dimension]"."""
    found: dict[str, int] = {}
    for name, size in sizes.items():
        try:
            value = operator.index(size)
        except TypeError as cause:
            raise _errors.ArgumentError(
                f"the size of '{name}' is a whole number, not {type(size).__name__}"
            ) from cause
        symbol, value = _symbol_of(method, name, value)
        if not -(2**63) <= value < 2**63:
            raise _errors.RangeError(f"the size of '{name}' is {size}, which is out of bounds")
        if found.setdefault(symbol, value) != value:
            raise _errors.ArgumentError(
                f"'{name}' is {size}, but other sizes make symbol '{symbol}' {found[symbol]}"
            )
    return found


def _symbol_of(method: MethodInfo, name: str, size: int) -> tuple[str, int]:
    place = re.fullmatch(r"(.+)\[(\d+)\]", name)
    if place is None:
        return name, size
    port = next((port for port in method.inputs if port.name == place[1]), None)
    at = int(place[2])
    dims = () if port is None or port.shape is None else port.shape
    symbol = dims[at].symbol if at < len(dims) else None
    if symbol is None:
        raise _errors.NotFoundError(
            f"method '{method.name}' has no dimension '{name}' that varies",
            hint=f"its inputs are {', '.join(map(str, method.inputs)) or 'none'}",
        )
    value, rest = divmod(size - dims[at].offset, dims[at].factor)
    if rest != 0:
        raise _errors.RangeError(
            f"'{name}' cannot be {size}: it is {dims[at].factor} * {symbol} + {dims[at].offset}"
        )
    return symbol, value
