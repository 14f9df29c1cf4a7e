"""The exporter of ExecuTools, by its names and in its stages, over etx.

    exporter = MultiEntryPointExporter(model)
    exporter.register(model.decode, token=MethodArg(example, dynamic_dims={0: n}))
    exporter.register_shared_buffer("cache")
    exporter.export()
    exporter.to_edge(constant_methods={"max_length": 64})
    exporter.to_executorch()
    exporter.save(directory, "model")

A program written for `execu_tools.model_exporter` runs with this module instead.
Not limited as there: initial values are kept, `forward` may be registered, an
example may be as long as its dimension's maximum, buffers need not be
persistent, arguments may be numbers and structures.
"""

from __future__ import annotations

import copy
import io
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.export import ExportedProgram

from . import _errors, _trace
from ._caches import Cache
from ._export import RESERVED, Exported, caches_of, method_of, names_of_sizes, shared_names
from ._graphs import inputs_of
from ._method_args import MethodArg, check
from ._program import Program
from ._report import Report

__all__ = [
    "EdgePrograms",
    "MethodArg",
    "MethodRegistration",
    "MultiEntryPointExporter",
    "PlannedProgram",
    "SharedBufferRegistration",
]

INIT_METHOD = RESERVED[0]
STATE_ARENA = 2


@dataclass
class MethodRegistration:
    """A method of the model, and its arguments by name.

    Attributes:
      fn: the method.
      kwargs: a MethodArg for each argument.
    """

    fn: Callable[..., Any]
    kwargs: dict[str, MethodArg]


@dataclass
class SharedBufferRegistration:
    """A copy of the buffer as it was when registered: its initial value.

    Attributes:
      buffer: the copy.
    """

    buffer: torch.Tensor


class EdgePrograms:
    """Methods in functional form, as `to_edge` makes them."""

    def __init__(self, programs: dict[str, ExportedProgram], constants: dict[str, Any]) -> None:
        self._edge_programs = programs
        self._config_methods = constants

    @property
    def methods(self) -> set[str]:
        """Names of the methods."""
        return set(self._edge_programs)

    def exported_program(self, name: str = "forward") -> ExportedProgram:
        """The method of that name; KeyError if there is none."""
        return self._edge_programs[name]


@dataclass
class PlannedProgram:
    """A program, planned: its bytes, its report, and the methods it was made of.

    In their graphs `node.meta["spec"]` of a shared buffer has its location:
    `mem_id`, `mem_obj_id`, `mem_offset` (in bytes).

    Attributes:
      buffer: the bytes of the program file.
      report: the report of the planning.
    """

    buffer: bytes
    report: Report
    _execution_programs: dict[str, ExportedProgram]

    @property
    def methods(self) -> set[str]:
        """Names of the methods."""
        return set(self._execution_programs)

    def exported_program(self, name: str = "forward") -> ExportedProgram:
        """The method of that name; KeyError if there is none."""
        return self._execution_programs[name]


def _is_written(node: torch.fx.Node) -> bool:
    """True if an operator writes in place into the tensor, or into a view of it."""
    names, seen = [node], {node}
    while names:
        name = names.pop()
        for user in name.users:
            schema = getattr(user.target, "_schema", None)
            for argument, given in zip(schema.arguments if schema else (), user.args):
                if given is not name or argument.alias_info is None:
                    continue
                if argument.alias_info.is_write:
                    return True
                if user not in seen:
                    seen.add(user)
                    names.append(user)
    return False


def _mark_shared(program: ExportedProgram) -> None:
    """A buffer that a method only reads is copied to itself first, so that the
    graph shows it as written. The planner takes such copies out again."""
    graph = program.graph
    buffers = program.graph_signature.inputs_to_buffers
    inputs = inputs_of(graph)
    first = next(node for node in graph.nodes if node not in inputs)
    for node in inputs:
        if node.target not in buffers or not node.users or _is_written(node):
            continue
        with graph.inserting_before(first):
            copied = graph.call_function(torch.ops.aten.copy_.default, (node, node))
        copied.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(copied, delete_user_cb=lambda user, own=copied: user is not own)
    program.graph_module.recompile()


def _set_places(programs: dict[str, ExportedProgram], places: dict[str, int]) -> None:
    order = {name: i for i, name in enumerate(places)}
    for program in programs.values():
        buffers = program.graph_signature.inputs_to_buffers
        for node in inputs_of(program.graph):
            name = buffers.get(node.target)
            if name in places:
                node.meta["spec"] = SimpleNamespace(
                    mem_id=STATE_ARENA, mem_obj_id=order[name], mem_offset=places[name]
                )


class MultiEntryPointExporter:
    """Registers methods and shared buffers of a module and exports them together.

    Attributes:
      registered_method_dict: MethodRegistration by name.
      registered_shared_buffers: SharedBufferRegistration by full name.
      method_graphs: ExportedProgram by name, after `export()`.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        if not isinstance(model, torch.nn.Module):
            raise _errors.ArgumentError(
                f"the model is a '{type(model).__name__}', expected a torch.nn.Module"
            )
        self.model = model
        self.registered_method_dict: dict[str, MethodRegistration] = {}
        self.registered_shared_buffers: dict[str, SharedBufferRegistration] = {}
        self.method_graphs: dict[str, ExportedProgram] = {}
        self.edge_program: EdgePrograms | None = None
        self.executorch_program: PlannedProgram | None = None
        self._asked: set[str] = set()
        self._caches: dict[str, Cache] = {}
        self._arguments: dict[str, dict[str, MethodArg]] = {}

    def register(self, fn: Callable[..., Any], **kwargs: MethodArg) -> None:
        """Registers a method of the model, or replaces one of that name.

        Args:
          fn: the method, such as `model.decode`.
          kwargs: a MethodArg for each argument.

        Raises:
          ArgumentError: the model has no such method, or an argument is not a MethodArg
            or does not fit its dimensions.
        """
        name = getattr(fn, "__name__", str(fn))
        if getattr(type(self.model), name, None) is None:
            raise _errors.ArgumentError(
                f"function '{name}' is not a method of '{type(self.model).__name__}'"
            )
        method_of(self.model, name)
        arguments = {key: check(name, key, arg) for key, arg in kwargs.items()}
        self.registered_method_dict[name] = MethodRegistration(fn, arguments)

    def register_shared_buffer(self, fqn: str) -> None:
        """Registers a buffer as state that methods share.

        Args:
          fqn: its full name, that of a module for all its buffers, or a pattern.

        Raises:
          ArgumentError: there is no such buffer, or it was registered before.
        """
        names = shared_names(self.model, fqn)
        if fqn in self._asked:
            raise _errors.ArgumentError(f"buffer '{fqn}' is shared twice")
        self._asked.add(fqn)
        buffers = dict(self.model.named_buffers(remove_duplicate=False))
        for name in names:
            value = buffers[name].detach().clone()
            self.registered_shared_buffers[name] = SharedBufferRegistration(value)

    def register_shared_buffers(self, fqn: list[str]) -> None:
        """Registers several buffers: see `register_shared_buffer`."""
        for name in fqn:
            self.register_shared_buffer(name)

    def register_cache(self, fqn: str, cache: Cache) -> None:
        """Says of a buffer that methods append rows to it: see `etx.Cache`.

        Args:
          fqn: its full name, that of a module for all its buffers, or a pattern.
          cache: the description.

        Raises:
          ArgumentError: there is no such buffer, or the description does not fit.
        """
        self._caches |= caches_of(self.model, fqn, cache)

    def _initial(self) -> dict[str, torch.Tensor]:
        return {name: row.buffer for name, row in self.registered_shared_buffers.items()}

    def _init_method(self) -> Callable[[], None]:
        initial = self._initial()
        model = self.model

        def et_module_init() -> None:
            buffers = dict(model.named_buffers(remove_duplicate=False))
            for name, value in initial.items():
                buffers[name].copy_(value)

        return et_module_init

    def export(self) -> dict[str, ExportedProgram]:
        """Exports every method by torch.export; with shared buffers also one that
        sets their initial values, `et_module_init`.

        Returns:
          A torch.export.ExportedProgram by method.

        Raises:
          StateError: no method is registered.
          ArgumentError: the arguments of a method do not fit.
          ExportError: PyTorch cannot export a method; it names the source line.
        """
        if not self.registered_method_dict:
            raise _errors.StateError("no method is registered", hint="exporter.register(model.method)")
        methods = {
            name: (row.fn, row.kwargs)
            for name, row in self.registered_method_dict.items()
            if name != INIT_METHOD
        }
        self._arguments = {
            name: _trace.in_order(name, fn, given) for name, (fn, given) in methods.items()
        }
        graphs = {
            name: _trace.trace(self.model, name, fn, self._arguments[name])
            for name, (fn, _) in methods.items()
        }
        if self.registered_shared_buffers:
            init = self._init_method()
            self.registered_method_dict[INIT_METHOD] = MethodRegistration(init, {})
            graphs[INIT_METHOD] = _trace.trace(self.model, INIT_METHOD, init, {})
        for program in graphs.values():
            _mark_shared(program)
        self.method_graphs = graphs
        return graphs

    def to_edge(
        self, to_edge_function: Callable[..., Any] | None = None, **kwargs: Any
    ) -> EdgePrograms:
        """Brings methods to functional form.

        Args:
          to_edge_function: ignored; ExecuTools has it.
          kwargs: `constant_methods` are values by name; what else ExecuTorch's own
            function takes has no meaning here.

        Raises:
          StateError: nothing is exported yet.
          ArgumentError: a constant has the name of a method.
        """
        if not self.method_graphs:
            raise _NotYet("no method is exported yet: call export() first")
        constants = dict(kwargs.get("constant_methods") or {})
        programs = {
            name: _trace.functional(name, copy.copy(program))
            for name, program in self.method_graphs.items()
        }
        self.edge_program = EdgePrograms(programs, constants)
        self._exported()  # refuses names that clash
        return self.edge_program

    def _exported(self) -> Exported:
        assert self.edge_program is not None
        edge = self.edge_program._edge_programs
        programs = {name: program for name, program in edge.items() if name != INIT_METHOD}
        return Exported(
            programs,
            self.registered_shared_buffers,
            self.edge_program._config_methods,
            self._initial(),
            self._caches,
            names_of_sizes(programs, self._arguments),
        )

    def to_executorch(self, *, target: str = "executorch", **options: Any) -> PlannedProgram:
        """Plans the program.

        Args:
          target: "executorch" for ExecuTorch's runtime, "etx" for etx's alone, which
            knows more operators.
          options: as `etx.plan` has them.

        Raises:
          StateError: there is no edge program yet.
          Error: as `etx.plan` raises them.
        """
        if self.edge_program is None:
            raise _NotYet("there is no edge program yet: call to_edge() first")
        with tempfile.TemporaryDirectory(prefix="etx-") as folder:
            path = Path(folder) / "model.pte"
            report = self._exported().plan(path, target=target, **options)
            with Program(path) as program:
                places = {name: state.offset for name, state in program.state.items()}
            data = path.read_bytes()
        _set_places(self.edge_program._edge_programs, places)
        self.executorch_program = PlannedProgram(data, report, self.edge_program._edge_programs)
        return self.executorch_program

    def save(
        self,
        dir: str | Path,
        name: str,
        et_record: bool = True,
        memory_trace: bool = True,
        op_trace: bool = True,
        mk_subdir: bool = False,
    ) -> Path:
        """Writes `name`.pte and what describes it into the directory.

        Args:
          dir: where to write; made if it is not there.
          name: of the file, without `.pte`.
          et_record: all exported methods beside it, a zip file of `.pt2` archives.
          memory_trace: the memory of every method as a page for a browser.
          op_trace: the graphs as text.
          mk_subdir: write into a directory in it with the name of the model's class.

        Returns:
          The path of the program.

        Raises:
          StateError: there is no program yet.
        """
        if self.executorch_program is None:
            raise _NotYet("there is no program yet: call to_executorch() first")
        folder = Path(dir) / type(self.model).__name__ if mk_subdir else Path(dir)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.pte"
        path.write_bytes(self.executorch_program.buffer)
        if et_record:
            self._write_record(folder / f"{name}.etrecord")
        if memory_trace:
            self._write_memory(path)
        if op_trace:
            self._write_graphs(folder, name)
        return path

    def _write_record(self, path: Path) -> None:
        assert self.executorch_program is not None
        with zipfile.ZipFile(path, "w") as archive:
            for name, program in self.executorch_program._execution_programs.items():
                saved = io.BytesIO()
                for node in program.graph.nodes:
                    node.meta.pop("spec", None)
                torch.export.save(program, saved)
                archive.writestr(f"{name}.pt2", saved.getvalue())

    def _write_memory(self, path: Path) -> None:
        from . import _plan

        page = _plan.native().memory_page(bytes(path), path.name)
        path.with_name(f"{path.stem}-memory_profile.html").write_text(page)

    def _write_graphs(self, folder: Path, name: str) -> None:
        assert self.executorch_program is not None
        stages = {
            "exported": self.method_graphs,
            "edge": self.executorch_program._execution_programs,
        }
        for stage, programs in stages.items():
            for method, program in programs.items():
                stem = folder / f"{name}-{method}-graph_trace_{stage}"
                stem.with_name(stem.name + ".txt").write_text(str(program.graph))
                stem.with_name(stem.name + "_with_stack.txt").write_text(str(program))


class _NotYet(_errors.StateError, ValueError):
    """A stage was asked for before the one that it needs."""
