"""Sizes at the bounds of a dimension that torch.export treats as special cases.

`buffer[:n] = x` makes torch.export ask whether n is the whole of the buffer, and
then refuse a dimension that may be that large, although the graph, traced for
a part, is right for the whole too. Such a graph is traced with these questions
as assertions; here they are taken out, after a trial: at each size in question
the graph must do what the method itself does, to the bit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ._graphs import inputs_of
from ._method_args import by_position

_LEFT_OUT = re.compile(r"expression Ne\((\w+), (\d+)\)")


def is_about_one_size(error: Exception) -> bool:
    """True if PyTorch's error is about single sizes only."""
    lines = [line for line in str(error).splitlines() if "satisfy the generated guard" in line]
    return bool(lines) and all(
        re.search(r"guard (\S+ != \d+|\d+ != \S+?)\.?$", line.strip()) for line in lines
    )


def _assertions(program: ExportedProgram) -> list[tuple[torch.fx.Node, str, int]]:
    found = []
    for node in program.graph.nodes:
        if node.target is not torch.ops.aten._assert_scalar.default:
            continue
        match = _LEFT_OUT.search(str(node.args[1]))
        if match:
            found.append((node, match[1], int(match[2])))
    return found


def _erase(node: torch.fx.Node) -> None:
    """Removes the node, and the nodes that only it used."""
    waiting = [node]
    while waiting:
        gone = waiting.pop()
        if gone.users or gone._erased or gone.op != "call_function":
            continue
        inputs = gone.all_input_nodes
        gone.graph.erase_node(gone)
        waiting.extend(inputs)


def _dims_of(program: ExportedProgram, symbol: str) -> dict[str, list[int]]:
    """The dimensions of that size, by input."""
    names = set(program.graph_signature.user_inputs)
    found: dict[str, list[int]] = {}
    for node in inputs_of(program.graph):
        value = node.meta.get("val")
        if node.name not in names or not hasattr(value, "shape"):
            continue
        dims = [i for i, size in enumerate(value.shape) if str(size) == symbol]
        if dims:
            found[node.name] = dims
    return found


def _at_size(examples: dict[str, Any], dims: dict[str, list[int]], size: int) -> dict[str, Any]:
    made = {}
    for name, example in examples.items():
        if isinstance(example, torch.Tensor):
            for dim in dims.get(name, []):
                wanted = torch.arange(size) % max(example.size(dim), 1)
                example = example.index_select(dim, wanted)
            example = example.clone()
        made[name] = example
    return made


def _observe(
    call: Callable[..., Any], tensors: list[torch.Tensor], arguments: dict[str, Any]
) -> list[Any]:
    """Outputs, and the new content of arguments and state, whose old content is restored."""
    before = [tensor.clone() for tensor in tensors]
    try:
        placed, named = by_position(call, arguments)
        outputs = call(*placed, **named)
        seen = pytree.tree_leaves((outputs, list(arguments.values())))
        return seen + [tensor.clone() for tensor in tensors]
    finally:
        for tensor, old in zip(tensors, before):
            tensor.copy_(old)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(
            torch.nan_to_num(a), torch.nan_to_num(b)
        )
    return bool(a == b)


def open_boundaries(
    program: ExportedProgram, method: torch.nn.Module, examples: dict[str, Any]
) -> bool:
    """Takes the assertions out if the graph does at those sizes what the method
    does. False if it does not, or if that cannot be tried."""
    questions = _assertions(program)
    for node, _, _ in questions:
        _erase(node)
    program.graph_module.recompile()
    tensors = [*method.parameters(), *method.buffers()]
    for symbol, size in sorted({(symbol, size) for _, symbol, size in questions}):
        dims = _dims_of(program, symbol)
        if not dims or not dims.keys() <= examples.keys():
            return False
        arguments = _at_size(examples, dims, size)
        copied = _at_size(examples, dims, size)
        expected = _observe(method.forward, tensors, arguments)
        found = _observe(program.module(check_guards=False), tensors, copied)
        if len(expected) != len(found) or not all(map(_same, expected, found)):
            return False
    return True
