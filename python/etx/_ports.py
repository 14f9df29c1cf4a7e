"""Descriptions of a program's methods and states, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
