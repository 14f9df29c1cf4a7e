"""`etx.export`: several methods of a module, to be planned into one program."""

from __future__ import annotations

import fnmatch
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from . import _caches, _errors, _plan, _tensor_file, _trace
from ._caches import Cache
from ._dim_names import dim_names
from ._method_args import MethodArg, check, joined, positional_names
from ._report import Report

RESERVED = ("et_module_init", "et_get_shared_buffer_names", "et_get_shared_buffer_memory_plan")


def method_of(model: torch.nn.Module, name: str) -> Callable[..., Any]:
    """The model's method of that name. Raises ArgumentError if there is none."""
    if name in RESERVED:
        raise _errors.ArgumentError(f"the name '{name}' is made by etx itself: call it otherwise")
    method = getattr(model, name, None)
    if not callable(method) or isinstance(method, torch.nn.Module):
        raise _errors.ArgumentError(f"'{type(model).__name__}' has no method '{name}'")
    return method


def shared_names(model: torch.nn.Module, name: str) -> list[str]:
    """The names of the buffers that `name` selects: that buffer, all buffers of
    that module, or all that match the pattern (`*`, `?`). Raises ArgumentError if
    no buffer or module has the name, or no buffer matches. A buffer that is
    registered under several names is returned under the last one, which PyTorch's
    graphs use."""
    known = list(model.named_buffers(remove_duplicate=False))
    last = {id(tensor): each for each, tensor in known}
    buffers = {each: last[id(tensor)] for each, tensor in known}
    owner = type(model).__name__
    if name in buffers:
        return [buffers[name]]
    if any(mark in name for mark in "*?"):
        found = fnmatch.filter(buffers, name)
        if found:
            return list(dict.fromkeys(buffers[each] for each in found))
        raise _errors.ArgumentError(f"no buffer of '{owner}' matches '{name}'")
    try:
        item = attrgetter(name)(model)
    except AttributeError:
        raise _errors.ArgumentError(f"'{name}' does not exist in '{owner}'") from None
    if isinstance(item, torch.nn.Module):
        found = [kept for each, kept in buffers.items() if each.startswith(name + ".")]
        return list(dict.fromkeys(found))
    kind = "a parameter" if isinstance(item, torch.nn.Parameter) else f"a '{type(item).__name__}'"
    raise _errors.ArgumentError(
        f"'{name}' in '{owner}' is {kind}, expected a buffer or a module",
        hint="register_buffer(name, tensor) makes a tensor a buffer",
    )


def arguments_of(name: str, method: Callable[..., Any], given: Any) -> dict[str, MethodArg]:
    """Arguments by name, from a tuple in the method's order or a dictionary, of
    MethodArgs or plain examples."""
    names, rest = positional_names(method)
    if isinstance(given, Mapping):
        pairs = [
            (key, _joined(name, key, arg) if key == rest and isinstance(arg, (tuple, list)) else arg)
            for key, arg in given.items()
        ]
    else:
        if not isinstance(given, (tuple, list)):
            given = (given,)
        if len(given) > len(names) and rest is None:
            raise _errors.ArgumentError(
                f"method '{name}' takes {len(names)} arguments, {len(given)} examples were given"
            )
        pairs = list(zip(names, given))
        if len(given) > len(names):
            assert rest is not None
            pairs.append((rest, _joined(name, rest, given[len(names) :])))
    return {key: check(name, key, _as_method_arg(arg)) for key, arg in pairs}


def _joined(method: str, rest: str, given: Sequence[Any]) -> MethodArg:
    """What `*args` of a method gets, as one argument."""
    return joined(
        [check(method, f"{rest}[{i}]", _as_method_arg(arg)) for i, arg in enumerate(given)]
    )


def _as_method_arg(given: Any) -> MethodArg:
    return given if isinstance(given, MethodArg) else MethodArg(given)


class Exported:
    """Methods that PyTorch exported, and the other content of the program.

    Attributes:
      methods: torch.export.ExportedProgram by name, functional.
      shared: full names of buffers that are state even if no method mutates them.
      constants: values of constant methods.
      initial: initial values of state by name, instead of the model's.
      caches: Cache by the name of a state, of a module or a pattern.
      dim_names: names of varying sizes by place: {"encode.tokens[1]": "length"}.
    """

    def __init__(
        self,
        methods: Mapping[str, ExportedProgram],
        shared: Iterable[str] = (),
        constants: Mapping[str, Any] | None = None,
        initial: Mapping[str, torch.Tensor] | None = None,
        caches: Mapping[str, Cache] | None = None,
        dim_names: Mapping[str, str] | None = None,
    ) -> None:
        self.methods = dict(methods)
        self.shared = list(shared)
        self.constants = dict(constants or {})
        self.initial = dict(initial or {})
        self.caches = dict(caches or {})
        self.dim_names = dict(dim_names or {})
        self._check_names()

    def _check_names(self) -> None:
        for name in self.constants:
            if name in self.methods:
                raise _errors.ArgumentError(f"'{name}' is a method and a constant method")
            if name in RESERVED:
                raise _errors.ArgumentError(
                    f"the name '{name}' is made by etx itself: call the constant otherwise"
                )

    def _stored(self, folder: Path, file: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """Writes tensors; returns their names for program.yaml."""
        for name, tensor in tensors.items():
            if not _tensor_file.can_write(tensor):
                raise _errors.ArgumentError(f"'{name}' is {tensor.dtype}, which cannot be stored")
        if tensors:
            _tensor_file.write(folder / file, tensors)
        return {name: {"tensor": f"{file}#{name}"} for name in tensors}

    def _constants(self, folder: Path) -> dict[str, Any]:
        plain = {}
        tensors = {}
        for name, value in self.constants.items():
            if isinstance(value, torch.Tensor):
                tensors[name] = value
            elif isinstance(value, (bool, int, float, str)):
                plain[name] = value
            elif isinstance(value, (list, tuple)) and value and all(
                isinstance(item, (bool, int, float, str)) for item in value
            ):
                plain[name] = list(value)
            else:
                raise _errors.ArgumentError(
                    f"constant method '{name}' is a '{type(value).__name__}', "
                    "expected a number, bool, str, a list of these, or a tensor"
                )
        return plain | self._stored(folder, "constants.safetensors", tensors)

    def save(self, folder: str | Path) -> Path:
        """Writes what `etx plan` reads: an archive for each method, program.yaml.

        Args:
          folder: the directory, made if it is not there.

        Returns:
          The directory.

        Raises:
          ArgumentError: a constant or an initial value cannot be stored.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, program in self.methods.items():
            torch.export.save(program, folder / f"{name}.pt2")
        about: dict[str, Any] = {"etx": 1}
        if self.shared:
            about["shared_buffers"] = self.shared
        if self.constants:
            about["constant_methods"] = self._constants(folder)
        if self.initial:
            about["initial"] = self._stored(folder, "initial.safetensors", self.initial)
        if self.caches:
            about["caches"] = {name: cache.row() for name, cache in self.caches.items()}
        if self.dim_names:
            about["dims"] = {place: {"name": name} for place, name in self.dim_names.items()}
        # JSON is YAML.
        (folder / "program.yaml").write_text(json.dumps(about))
        return folder

    def plan(self, output: str | Path, *, keep: str | Path | None = None, **options: Any) -> Report:
        """Plans the methods into a program file.

        Args:
          output: the program to write, .pte.
          keep: a directory in which the archives and program.yaml stay. Without
            it they are written to a temporary one.
          options: as `etx.plan` has them.

        Returns:
          The report of the plan.

        Raises:
          Error: as `etx.plan` raises them.
        """
        with ExitStack() as stack:
            folder = keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="etx-"))
            return _plan.plan(self.save(folder), output, **options)


def _declared(model: torch.nn.Module, shared: Sequence[str]) -> list[str]:
    if isinstance(shared, str):
        shared = (shared,)
    names: list[str] = []
    for i, name in enumerate(shared):
        if name in shared[:i]:
            raise _errors.ArgumentError(f"buffer '{name}' is shared twice")
        names += [known for known in shared_names(model, name) if known not in names]
    return names


def caches_of(model: torch.nn.Module, name: str, given: Any) -> dict[str, Cache]:
    """The descriptions of the caches that `name` selects, checked. Buffers that are
    registered under several names have the ones that PyTorch's graphs use."""
    found = shared_names(model, name)
    cache = _caches.checked(name, given)
    if cache.length is not None:
        counters = shared_names(model, cache.length)
        if len(counters) != 1:
            raise _errors.ArgumentError(
                f"'length' of cache '{name}' is '{cache.length}', expected one buffer"
            )
        cache = Cache(cache.dim, counters[0], cache.overflow)
    known = dict(model.named_buffers(remove_duplicate=False))
    selected = fnmatch.filter(known, name) + [each for each in known if each.startswith(name + ".")]
    if set(found) <= set(selected):
        return {name: cache}  # the planner selects the same, without buffers that are no state
    return {each: cache for each in found if each != cache.length}


def names_of_sizes(
    programs: Mapping[str, ExportedProgram], arguments: Mapping[str, Mapping[str, MethodArg]]
) -> dict[str, str]:
    """The names that Dims give to sizes of the methods' inputs, by place: {"encode.tokens[1]":
    "length"}. Arguments are in the order of `_trace.in_order`."""
    return {
        f"{method}.{place}": name
        for method, program in programs.items()
        for place, name in dim_names(program, arguments.get(method, {})).items()
    }


def export(
    model: torch.nn.Module,
    methods: Mapping[str, Any],
    *,
    shared: Sequence[str] = (),
    constants: Mapping[str, Any] | None = None,
    caches: Mapping[str, Cache] | None = None,
    strict: bool = False,
) -> Exported:
    """Exports methods of a module by `torch.export`.

        exported = etx.export(model, {"encode": (tokens,), "decode": (token, pos)},
                              shared=["cache"])
        exported.plan("model.pte", quantize="int8")

    Buffers that some method mutates are state anyway; `shared` adds others.
    Their initial values are those that the model has now. An argument whose
    sizes vary is a MethodArg(example, {dimension: etx.Dim(name, max=N)}); programs,
    their messages and their types call the size by that name. `etx.Dim` is
    torch.export.Dim.

    Args:
      model: the module. It is not changed, and exported as it is: call `eval()`.
      methods: for each method a tuple or dictionary of example arguments.
      shared: names of buffers, of modules (all their buffers) or patterns.
      constants: values that the program stores as constant methods, readable without running.
        Numbers, bool, str or tensors.
      caches: a Cache for each buffer that methods append rows to, or for all buffers of a
        module or a pattern.
      strict: trace Python's bytecode instead of running the methods, as `torch.export` does
        with the argument of that name. Modules that were written for it need it.

    Returns:
      The methods in functional form, to be planned or saved.

    Raises:
      ArgumentError: a method, argument or buffer does not exist or does not fit.
      ExportError: PyTorch cannot export a method; it names the source line.
    """
    if not isinstance(model, torch.nn.Module):
        raise _errors.ArgumentError(f"the model is a '{type(model).__name__}', expected a torch.nn.Module")
    if not methods:
        raise _errors.ArgumentError("there is no method to export")
    names = _declared(model, shared)
    described: dict[str, Cache] = {}
    for name, given in (caches or {}).items():
        described |= caches_of(model, name, given)
    traced = {}
    arguments = {}
    for name, given in methods.items():
        method = method_of(model, name)
        arguments[name] = _trace.in_order(name, method, arguments_of(name, method, given))
        traced[name] = _trace.trace(model, name, method, arguments[name], strict=strict)
    functional = {name: _trace.functional(name, program) for name, program in traced.items()}
    named = names_of_sizes(functional, arguments)
    return Exported(functional, names, constants, caches=described, dim_names=named)
