"""Names of varying sizes: PyTorch's archives call them s31, their authors "length"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from ._graphs import inputs_of
from ._method_args import MethodArg, dynamic_shapes


def dims_of_leaves(example: Any, shapes: Any) -> Iterator[Mapping[int, Any]]:
    """For each leaf of the example its dynamic dimensions: {position: Dim}."""
    if isinstance(example, torch.Tensor):
        rows = enumerate(shapes) if isinstance(shapes, (list, tuple)) else (shapes or {}).items()
        yield {index: dim for index, dim in rows if dim is not None}
    elif isinstance(example, dict):
        given = shapes if isinstance(shapes, Mapping) else {}
        for key, part in example.items():
            yield from dims_of_leaves(part, given.get(key))
    elif type(example) in (list, tuple):
        given = shapes if isinstance(shapes, (list, tuple)) else ()
        for i, part in enumerate(example):
            yield from dims_of_leaves(part, given[i] if i < len(given) else None)
    else:
        yield from ({} for _ in pytree.tree_leaves(example))


def _name_of(dim: Any, size: Any) -> tuple[str, str] | None:
    """The symbol that `size` consists of, and its name. None if the dimension has
    no name, or the size is not what the dimension says."""
    name = getattr(getattr(dim, "root", dim), "__name__", None)
    if not isinstance(name, str) or not isinstance(size, torch.SymInt):
        return None
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in ("min", "max"):
        return None
    expression = size.node.expr
    symbols = list(expression.free_symbols)
    derive = getattr(dim, "fn", None) or (lambda value: value)
    probe = 7  # any number shows whether the size is the symbol itself, or derived as stated
    if len(symbols) != 1 or expression.subs(symbols[0], probe) != derive(probe):
        return None
    return str(symbols[0]), name


def dim_names(program: ExportedProgram, given: Mapping[str, MethodArg]) -> dict[str, str]:
    """The names that Dims give to sizes of inputs, once for each symbol.

    Args:
      program: the exported method.
      given: its arguments, in the order of the graph's inputs.

    Returns:
      Names by place, such as {"tokens[1]": "length"}.
    """
    specs = program.graph_signature.input_specs
    nodes = [
        node for node, spec in zip(inputs_of(program.graph), specs)
        if spec.kind == InputKind.USER_INPUT
    ]
    dims = [
        row for arg in given.values()
        for row in dims_of_leaves(arg.example_input, dynamic_shapes(arg))
    ]
    if len(nodes) != len(dims):
        return {}
    taken = {str(symbol) for symbol in program.range_constraints}
    named: set[str] = set()
    places: dict[str, str] = {}
    for node, row in zip(nodes, dims):
        for index, dim in row.items():
            symbol, name = _name_of(dim, node.meta["val"].shape[index]) or (None, None)
            if symbol is None or symbol in named or name in taken:
                continue
            named.add(symbol)
            taken.add(name)
            places[f"{node.name}[{index}]"] = name
    return places
