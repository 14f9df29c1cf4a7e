"""What a method is exported with: examples of its arguments, and which of their
sizes vary."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import _errors


@dataclass
class MethodArg:
    """An example of an argument, and its dynamic dimensions.

    A `Dim` states `max`: programs are planned for the largest sizes.

    Attributes:
      example_input: a tensor, a number, None, or a tuple, list or dictionary of
        them.
      dynamic_dims: `{dimension: torch.export.Dim}` for a tensor; for a structure
        the structure that `torch.export` takes as dynamic shapes.
    """

    example_input: Any
    dynamic_dims: Any = field(default_factory=dict)


def positional_names(method: Callable[..., Any]) -> tuple[list[str], str | None]:
    """The parameters that positions stand for, and the name of the one that takes
    the rest (`*args`), if there is one."""
    names: list[str] = []
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return names, parameter.name
        if parameter.kind is not parameter.VAR_KEYWORD:
            names.append(parameter.name)
    return names, None


def by_position(
    method: Callable[..., Any], arguments: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as Python passes them: what `*args` takes has positions, and so has
    what stands before it; all else has names."""
    names, rest = positional_names(method)
    if rest not in arguments:
        return (), arguments
    signature = inspect.signature(method).parameters
    placed = tuple(arguments.get(name, signature[name].default) for name in names)
    placed += tuple(arguments[rest])
    return placed, {name: arguments[name] for name in arguments if name not in (*names, rest)}


def joined(args: list[MethodArg]) -> MethodArg:
    """One argument that is a tuple: what `*args` is in a method."""
    examples = tuple(arg.example_input for arg in args)
    shapes = tuple(dynamic_shapes(arg) for arg in args)
    return MethodArg(examples, shapes if any(shapes) else {})


def _is_dim(value: object) -> bool:
    from torch.export import Dim
    from torch.export import dynamic_shapes as shapes

    hints = tuple(
        getattr(shapes, name) for name in ("_DimHint", "_Dim") if hasattr(shapes, name)
    )
    return isinstance(value, (Dim, *hints))


def check(method: str, name: str, arg: object) -> MethodArg:
    """Refuses what cannot be an argument, with a message that names it."""
    at = f"argument '{name}' of method '{method}'"
    if not isinstance(arg, MethodArg):
        raise _errors.ArgumentError(
            f"{at} is a '{type(arg).__name__}', expected a MethodArg",
            hint="MethodArg(example, dynamic_dims={0: Dim('n', max=10)})",
        )
    if not isinstance(arg.example_input, torch.Tensor):
        return arg
    if not isinstance(arg.dynamic_dims, dict):
        raise _errors.ArgumentError(f"dynamic_dims of {at} is not a dictionary")
    for index, dim in arg.dynamic_dims.items():
        if not isinstance(index, int) or isinstance(index, bool):
            raise _errors.ArgumentError(f"dynamic_dims of {at} has the key {index!r}, expected an int")
        if not -arg.example_input.dim() <= index < arg.example_input.dim():
            raise _errors.RangeError(
                f"dynamic_dims of {at} has dimension {index}, "
                f"the example has {arg.example_input.dim()}"
            )
        if not _is_dim(dim):
            raise _errors.ArgumentError(f"dynamic_dims of {at} has {dim!r}, expected a Dim")
        _check_size(at, arg.example_input, index, dim)
    return arg


def _bounds(dim: object) -> tuple[int, int] | None:
    low, high = getattr(dim, "min", None), getattr(dim, "max", None)
    return (low, high) if isinstance(low, int) and isinstance(high, int) else None


def _check_size(at: str, example: torch.Tensor, index: int, dim: object) -> None:
    bounds = _bounds(dim)
    size = example.size(index)
    if bounds is not None and not bounds[0] <= size <= bounds[1]:
        raise _errors.RangeError(
            f"the example of {at} has size {size} in dimension {index}, "
            f"bounds are {bounds[0]} and {bounds[1]}"
        )


def _root(dim: Any) -> Any:
    return getattr(dim, "root", dim)


def _tracing_size(dim: Any, size: int) -> int:
    """A size that torch.export takes for one of many: it treats 0, 1 and the
    largest as special."""
    root = _root(dim)
    bounds = _bounds(root)
    if bounds is None:
        return size
    derive = getattr(dim, "fn", None) or (lambda value: value)
    candidates = [value for value in (bounds[1] - 1, bounds[1]) if value > 1]
    usual = bounds[0] < derive_back(dim, size) < bounds[1] and size > 1
    return size if usual or not candidates else int(derive(candidates[0]))


def derive_back(dim: Any, size: int) -> int:
    """The size of the dimension that `dim` is derived from."""
    derive = getattr(dim, "fn", None)
    bounds = _bounds(_root(dim))
    if derive is None or bounds is None:
        return size
    return next((v for v in range(bounds[0], bounds[1] + 1) if derive(v) == size), size)


def _resized(tensor: torch.Tensor, index: int, size: int) -> torch.Tensor:
    if size == tensor.size(index):
        return tensor
    if size < tensor.size(index):
        # Strides of its own: torch.export would compare the size with those of the larger one.
        return tensor.narrow(index, 0, size).clone(memory_format=torch.contiguous_format)
    wanted = torch.arange(size) % max(tensor.size(index), 1)
    return tensor.index_select(index, wanted)


def _tracing_tensor(example: torch.Tensor, dims: dict[int, Any]) -> torch.Tensor:
    for index, dim in dims.items():
        example = _resized(example, index, _tracing_size(dim, example.size(index)))
    return example


def tracing_example(arg: MethodArg) -> Any:
    """The example to trace with. Tensors are distinct objects, because
    torch.export takes one object given twice for one argument."""
    example = arg.example_input
    if isinstance(example, torch.Tensor):
        example = _tracing_tensor(example, arg.dynamic_dims)
    elif isinstance(example, tuple) and isinstance(arg.dynamic_dims, tuple):  # joined
        example = tuple(
            _tracing_tensor(part, dims) if isinstance(part, torch.Tensor) and dims else part
            for part, dims in zip(example, arg.dynamic_dims)
        )
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), example)


def dynamic_shapes(arg: MethodArg) -> Any:
    """The description of the argument's dynamic dimensions for torch.export."""
    if isinstance(arg.example_input, torch.Tensor):
        rank = arg.example_input.dim()
        return {index % rank: dim for index, dim in arg.dynamic_dims.items()} or None
    return arg.dynamic_dims or None
