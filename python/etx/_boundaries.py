"""Sizes at the bounds of a dimension that torch.export treats as special cases.

`buffer[:n] = x` makes torch.export ask whether n is the whole of the buffer, and
then refuse a dimension that may be that large, although the graph, traced for
a part, is right for the whole too. Such a graph is traced with these questions
as assertions; here they are taken out, after a trial: at each size in question
the graph must do what the method itself does, to the bit.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch.fx.experimental import _config as tracing
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ._dim_names import dims_of_leaves
from ._graphs import inputs_of
from ._method_args import MethodArg, by_position, dynamic_shapes

_TWOS = "_etx_twos"  # attribute of programs: symbols of sizes up to 2
_LEFT_OUT = re.compile(r"expression Ne\((\w+), (\d+)\)")


def is_about_one_size(error: Exception) -> bool:
    """True if PyTorch's error is about single sizes only."""
    lines = [line for line in str(error).splitlines() if "satisfy the generated guard" in line]
    return bool(lines) and all(
        re.search(r"guard (\S+ != \d+|\d+ != \S+?)\.?$", line.strip()) for line in lines
    )


def two_sized(given: Iterable[MethodArg]) -> list[Any]:
    """The Dims whose largest size is 2, and that may be smaller. Of such a size torch.export
    concludes that it is 2, because it takes 0 and 1 for constants: it would neither tell
    which sizes are the same one, nor ask what a size of 1 changes."""
    dims = (dim for arg in given for dim in pytree.tree_leaves(dynamic_shapes(arg)))
    roots = {id(root): root for root in (getattr(dim, "root", dim) for dim in dims)}
    return [
        root for root in roots.values()
        if getattr(root, "max", None) == 2 and getattr(root, "min", None) in (0, 1)
    ]


@contextmanager
def up_to_three(roots: list[Any]) -> Iterator[None]:
    """Within the block these Dims have a size more, so that a 2 is one of several sizes."""
    for root in roots:
        root.max = 3
    try:
        yield
    finally:
        for root in roots:
            root.max = 2


def note_twos(program: ExportedProgram, given: Mapping[str, MethodArg], roots: list[Any]) -> None:
    """After a trace `up_to_three`: notes which symbols have sizes up to 2 only, for
    `keep_open`. If the program stated it at once, run_decompositions would take them for 2."""
    named = {id(root) for root in roots}
    nodes = {node.name: node for node in inputs_of(program.graph)}
    values = [nodes[name].meta.get("val") for name in program.graph_signature.user_inputs if name in nodes]
    rows = [row for arg in given.values() for row in dims_of_leaves(arg.example_input, dynamic_shapes(arg))]
    sizes = [
        value.shape[index] for value, row in zip(values, rows) for index, dim in row.items()
        if id(getattr(dim, "root", dim)) in named
    ]
    program.__dict__[_TWOS] = {
        symbol for size in sizes if isinstance(size, torch.SymInt) for symbol in size.node.expr.free_symbols
    }


def without_special_sizes() -> AbstractContextManager[Any]:
    """Within the block, torch.export traces 0 and 1 as any other size."""
    return tracing.patch(backed_size_oblivious=True)


def _of_sizes(given: Mapping[str, MethodArg], sizes: dict[int, int]) -> dict[str, Any]:
    """Examples in which the Dims, by `id`, have these sizes."""
    made = {}
    for name, arg in given.items():
        leaves, structure = pytree.tree_flatten(arg.example_input)
        rows = dims_of_leaves(arg.example_input, dynamic_shapes(arg))
        resized = []
        for leaf, dims in zip(leaves, rows):
            for index, dim in dims.items():
                size = sizes.get(id(getattr(dim, "root", dim)))
                if size is not None:
                    size = dim.fn(size) if hasattr(dim, "fn") else size
                    leaf = leaf.index_select(index, torch.arange(size) % max(leaf.size(index), 1))
            resized.append(leaf.clone() if isinstance(leaf, torch.Tensor) else leaf)
        made[name] = pytree.tree_unflatten(resized, structure)
    return made


def open_ones(
    program: ExportedProgram, method: torch.nn.Module, given: Mapping[str, MethodArg], roots: list[Any]
) -> None:
    """After a trace without special sizes: takes out the conditions that sizes are not 1,
    which other traces do not state either. They stay if the graph does something else than
    the method where the Dims of `roots` are 1."""
    tensors = [*method.parameters(), *method.buffers()]
    for sizes in itertools.product((1, 2), repeat=len(roots)):
        of_dims = {id(root): size for root, size in zip(roots, sizes)}
        expected = _observe(method.forward, tensors, _of_sizes(given, of_dims))
        found = _observe(program.module(check_guards=False), tensors, _of_sizes(given, of_dims))
        if len(expected) != len(found) or not all(map(_same, expected, found)):
            return
    _drop_ones(program)


def _ones(program: ExportedProgram) -> list[str]:
    return [guard for guard in getattr(program, "_guards_code", []) if guard.endswith(" != 1")]


def _drop_ones(program: ExportedProgram) -> None:
    gone = _ones(program)
    if gone:
        program._guards_code = [guard for guard in program._guards_code if guard not in gone]


def keep_open(decomposed: ExportedProgram, program: ExportedProgram) -> None:
    """`run_decompositions` writes conditions and ranges anew: makes them what the trace of
    `program` found."""
    if not _ones(program):
        _drop_ones(decomposed)
    ranges = decomposed.range_constraints
    for symbol in program.__dict__.get(_TWOS, ()):
        if symbol in ranges:
            ranges[symbol] = type(ranges[symbol])(ranges[symbol].lower, 2)


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
