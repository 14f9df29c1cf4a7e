"""From a method of a module to an ExportedProgram.

torch.export takes a module's `forward`. A method is put there by a module that
shares the tables of parameters, buffers and submodules with the model, so that
names stay as they are, and whose `forward` calls the method of the model: which
may be `forward` itself, or call it.
"""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

import torch
from torch.export import ExportedProgram

from . import _boundaries, _errors
from ._graphs import inputs_of
from ._method_args import MethodArg, by_position, dynamic_shapes, positional_names, tracing_example


class _Shell(torch.nn.Module):
    """A module with the tables of another one, and a method of it as forward."""

    def __init__(self, model: torch.nn.Module, method: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__.update(
            {
                name: model.__dict__[name]
                for name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
            }
        )
        self.training = model.training
        self.__dict__["forward"] = _named_forward(method)


def _named_forward(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method by the name `forward`: PyTorch keeps the source lines of
    functions of that name, and messages about nodes quote them."""
    function = getattr(method, "__func__", method)
    if not isinstance(function, FunctionType):
        return method
    code = function.__code__.replace(co_name="forward")
    copied = FunctionType(
        code, function.__globals__, "forward", function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__annotations__ = function.__annotations__
    copied.__dict__.update(function.__dict__)
    owner = getattr(method, "__self__", None)
    return copied if owner is None else MethodType(copied, owner)


def in_order(
    name: str, method: Callable[..., Any], given: Mapping[str, MethodArg]
) -> dict[str, MethodArg]:
    """The arguments in the order of the method's parameters, which is that of the graph's
    inputs. Raises ArgumentError if some are missing or unknown."""
    signature = inspect.signature(method).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.values())
    named = [p for p in signature.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    for argument in given:
        if argument not in signature and not takes_any:
            raise _errors.ArgumentError(
                f"method '{name}' has no argument '{argument}'",
                where=name,
                hint=f"it has {', '.join(p.name for p in named) or 'none'}",
            )
    rest = positional_names(method)[1]
    if rest in given and not isinstance(given[rest].example_input, (tuple, list)):
        raise _errors.ArgumentError(
            f"argument '*{rest}' of method '{name}' is a "
            f"'{type(given[rest].example_input).__name__}', expected a tuple of examples",
            where=name,
        )
    for parameter in named:
        if parameter.name not in given and parameter.default is parameter.empty:
            raise _errors.ArgumentError(
                f"argument '{parameter.name}' of method '{name}' is not registered", where=name
            )
    order = [p.name for p in named if p.name in given]
    order += [argument for argument in given if argument not in order]
    return {argument: given[argument] for argument in order}


def _user_line(error: BaseException) -> str | None:
    """The last line of a traceback that is not PyTorch's or etx's."""
    ours = (os.path.dirname(torch.__file__), os.path.dirname(__file__))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}" if frames else None


# What to try, by words of PyTorch's messages. The first row that fits counts.
_ADVICE = (
    (
        ("data-dependent", "DataDependent", "unbacked"),
        "a choice that data decide is written with torch.cond, a size that data decide is "
        "bounded with torch._check(size <= N)",
    ),
    (
        ("Constraints violated", "specialized", "not in range"),
        "a Dim has the sizes that the method can have, and the example is one of them; "
        "Dim.AUTO lets PyTorch choose",
    ),
)


def _advice(error: Exception, strict: bool) -> str:
    text = f"{type(error).__name__}: {error}"
    for words, advice in _ADVICE:
        if any(word in text for word in words):
            return advice
    other = "runs the method" if strict else "reads its bytecode"
    return f"try etx.export(..., strict={not strict}), which {other}; PyTorch's graph is made " \
        "from what the method does with the examples"


def _refuse(name: str, error: Exception, hint: str | None = None) -> _errors.ExportError:
    # PyTorch ends its messages with how to call its other functions.
    text = str(error).split("\n\nThe error above occurred when calling")[0].strip()
    text = text or type(error).__name__
    line = _user_line(error)
    problem = {"message": text, "method": name} | ({"source": line} if line else {})
    source = f"\n  from the source line: {line}" if line else ""
    return _errors.ExportError(
        f"method '{name}' cannot be exported: {text}{source}",
        where=name,
        hint=hint,
        problems=[problem],
    )


def _export(shell: _Shell, examples: dict[str, Any], shapes: Any, **options: Any) -> ExportedProgram:
    args, kwargs = by_position(shell.forward, examples)
    return torch.export.export(shell, args, kwargs, dynamic_shapes=shapes, **options)


def _export_all_sizes(
    shell: _Shell, examples: dict[str, Any], shapes: Any, strict: bool
) -> ExportedProgram:
    try:
        return _export(shell, examples, shapes, strict=strict)
    except Exception as error:
        if not _boundaries.is_about_one_size(error):
            raise
        refusal = error
    program = _export(
        shell, examples, shapes, strict=strict, prefer_deferred_runtime_asserts_over_guards=True
    )
    if not _boundaries.open_boundaries(program, shell, examples):
        raise refusal
    return program


def _export_twos(
    shell: _Shell, given: Mapping[str, MethodArg], examples: dict[str, Any], shapes: Any, strict: bool
) -> ExportedProgram:
    """As `_export_all_sizes`, with Dims of up to two sizes, which torch.export would take for
    the constant 2."""
    roots = _boundaries.two_sized(given.values())
    if not roots:
        return _export_all_sizes(shell, examples, shapes, strict)
    try:
        with _boundaries.up_to_three(roots):
            program = _export_all_sizes(shell, examples, shapes, strict)
        _boundaries.note_twos(program, given, roots)
    except Exception:  # a third size does not fit into what the model has, such as a buffer
        with _boundaries.without_special_sizes():
            program = _export_all_sizes(shell, examples, shapes, strict)
        _boundaries.open_ones(program, shell, given, roots)
    return program


def _drop_other_names(program: ExportedProgram) -> None:
    """A tensor that the model has under two names is two inputs of the graph, one
    of them unused; if a method writes it, PyTorch's own passes stop at that."""
    graph, signature = program.graph, program.graph_signature
    pairs = list(zip(inputs_of(graph), signature.input_specs))

    def tensor_of(spec: Any) -> Any:
        return program.state_dict.get(spec.target, program.constants.get(spec.target))

    used = {id(tensor_of(spec)) for node, spec in pairs if spec.target and node.users}
    for node, spec in pairs:
        if spec.target and not node.users and id(tensor_of(spec)) in used:
            graph.erase_node(node)
            signature.input_specs.remove(spec)
    program.graph_module.recompile()


def trace(
    model: torch.nn.Module,
    name: str,
    method: Callable[..., Any],
    given: Mapping[str, MethodArg],
    *,
    strict: bool = False,
) -> ExportedProgram:
    """Exports one method. Raises ArgumentError for arguments that do not fit it,
    ExportError if PyTorch cannot export it."""
    ordered = in_order(name, method, given)
    examples = {argument: tracing_example(arg) for argument, arg in ordered.items()}
    shapes = {argument: dynamic_shapes(arg) for argument, arg in ordered.items()}
    varies = any(shape is not None for shape in shapes.values())
    try:
        with torch.no_grad():
            program = _export_twos(_Shell(model, method), ordered, examples, shapes if varies else None, strict)
            _drop_other_names(program)
            return program
    except _errors.Error:
        raise
    except Exception as error:
        raise _refuse(name, error, _advice(error, strict)) from error


def functional(name: str, program: ExportedProgram) -> ExportedProgram:
    """The form that the planner reads: no mutation, operators as they are. Raises
    ExportError if PyTorch cannot make it."""
    try:
        with torch.no_grad():
            decomposed = program.run_decompositions({})
            _boundaries.keep_open(decomposed, program)
            return decomposed
    except Exception as error:
        raise _refuse(name, error) from error
