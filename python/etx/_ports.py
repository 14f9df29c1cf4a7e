"""Descriptions of a program's methods and states, as plain data."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _errors


@dataclass(frozen=True)
class Size:
    """A size of an input or output: every value that it may have.

    Inputs whose sizes share a symbol must agree: each is factor * symbol + offset.

    Attributes:
      minimum: smallest size, in elements; 0 for an output of varying size.
      maximum: largest size, in elements; memory is planned for it.
      symbol: name of the symbol; None for a fixed size, and for outputs.
      factor: of the symbol, at least 1.
      offset: added to the product.
      expression: the size as text, such as "2*t + 1"; None if the file states
        the bounds only, as stock files do.
    """

    minimum: int
    maximum: int
    symbol: str | None = None
    factor: int = 1
    offset: int = 0
    expression: str | None = None

    def __str__(self) -> str:
        if self.expression is not None:
            return self.expression
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
      shape: a Size for each dimension of a tensor; else None.
      is_mutable: the method writes the array that is passed.
      varies: an int input that may take any value of a symbol.
      fixed: the value that a number was fixed to when exported.
      shows: position of the input whose new content an output is, or -1.
    """

    name: str
    kind: str
    dtype: str | None
    shape: tuple[Size, ...] | None
    is_mutable: bool
    varies: bool
    fixed: Any
    shows: int

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"

    @property
    def type(self) -> str:
        """Type and sizes, such as ``int64[1, length]``."""
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
        """Name and inputs, such as ``encode(tokens: int64[1, length])``."""
        return f"{self.name}({', '.join(map(str, self.inputs))})"

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """The smallest and the largest value of each symbol of the inputs."""
        found: dict[str, tuple[int, int]] = {}
        for size in (size for port in self.inputs for size in port.shape or ()):
            if size.symbol is not None:
                low, high = size.minimum - size.offset, size.maximum - size.offset
                found[size.symbol] = low // size.factor, high // size.factor
        return found

    def __str__(self) -> str:
        shown = [str(port) for port in self.outputs if port.shows < 0]
        bounds = [f"{name} = {low}..{high}" for name, (low, high) in self.bounds.items()]
        where = f", {', '.join(bounds)}" if bounds else ""
        return f"{self.signature} -> ({', '.join(shown)}){where}"


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


def _affine(symbol: str, factor: int, offset: int) -> str:
    product = symbol if factor == 1 else f"{factor}*{symbol}"
    return product if offset == 0 else f"{product} {'+-'[offset < 0]} {abs(offset)}"


def _expressions(text: str) -> list[str]:
    """The expressions of "b, max(s, t), 8": at commas outside of parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _sizes_of(row: dict[str, Any]) -> tuple[Size, ...] | None:
    if row["kind"] != "tensor":
        return None
    largest = row["sizes"]
    stated = _expressions(row["expressions"]) if row["expressions"] else []
    if len(stated) == len(largest):
        return tuple(
            Size(size, size) if text == str(size) else Size(0, size, expression=text)
            for size, text in zip(largest, stated)
        )
    known = {
        dim: Size(
            factor * low + offset, factor * high + offset, symbol, factor, offset,
            _affine(symbol, factor, offset),
        )
        for dim, symbol, factor, offset, low, high in row["dims"]
    }
    # A stock file states only the upper bound of a dynamic size.
    return tuple(
        known.get(i, Size(0 if row["dynamic"] and not known else size, size))
        for i, size in enumerate(largest)
    )


def port_of(row: dict[str, Any]) -> Port:
    """From the extension's description."""
    return Port(
        name=row["name"],
        kind=row["kind"],
        dtype=row.get("dtype"),
        shape=_sizes_of(row),
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
