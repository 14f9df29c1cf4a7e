"""A mapped program file: its content, and sessions and pools over it."""

from __future__ import annotations

import hashlib
import html
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _errors, _ports, _runtime
from ._paths import bytes_of, paths_of
from ._pool import Pool
from ._report import table
from ._session import Session

_RESERVED = frozenset(
    {"et_module_init", "et_get_shared_buffer_names", "et_get_shared_buffer_memory_plan"}
)


class Constants(Mapping[str, Any]):
    """Values that are readable without running anything: constant methods."""

    def __init__(self, native: _runtime.File, counts: dict[str, int]) -> None:
        self._native = native
        self._counts = counts

    def __getitem__(self, name: str) -> Any:
        if name not in self._counts:
            raise _errors.NotFoundError(
                f"the program has no constant method '{name}'",
                hint=f"it has {', '.join(self._counts) or 'none'}",
            )
        values = tuple(self._native.constant(name, i) for i in range(self._counts[name]))
        return values[0] if len(values) == 1 else values

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or `default` if there is no such constant method."""
        return self[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"<etx constants {', '.join(self)}>"


class Program:
    """A program file that `load` mapped, or read, and verified.

    Any number of threads may use a program. A pickled program is its path and
    the fingerprint of its content: where it is unpickled the file is mapped
    again, and refused if it is another one. Processes that map the same file
    share its weights in memory.

    Attributes:
      path: of the file, absolute.
      threads: how many its runs use.
      parallel_regions: True if independent parts of a method run at the same time.
      keep_plan: True if methods use the memory of their largest sizes at all sizes.
      kernels: shared libraries with kernels of your own operators.
      resident_bytes: how much of the file stays in memory; None: all of it.
      in_memory: True if the file was read, False if it is mapped.
      methods: MethodInfo by name; those that etx adds itself are left out.
      constants: values of constant methods by name.
      state: StateInfo by full name; empty for files of the stock exporter.
      state_bytes: size of a session's state.
      file_bytes: size of the file.
      is_stock: True if the stock exporter wrote the file.
      target: "etx" or "executorch", what it was planned for; None if it is stock.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, threads: int = 1, data: Sequence[Any] = (),
        parallel_regions: bool = False, keep_plan: bool = False,
        kernels: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        resident_bytes: int | None = None,
        in_memory: bool = False,
    ) -> None:
        self.path = Path(path).absolute()
        self.threads = threads
        self.parallel_regions = bool(parallel_regions)
        self.keep_plan = bool(keep_plan)
        self.resident_bytes = resident_bytes
        self.in_memory = bool(in_memory)
        self.kernels = tuple(Path(item).absolute() for item in paths_of(kernels))
        self._data = tuple(Path(item).absolute() for item in data)
        self._marks = _marks_of((self.path, *self._data))
        data_paths = tuple(bytes_of(item) for item in self._data)
        try:
            self._native = _runtime.File(
                bytes_of(self.path), threads, data_paths, self.parallel_regions, self.keep_plan,
                tuple(map(bytes_of, self.kernels)), resident_bytes or 0, self.in_memory,
            )
        except _errors.FileError as refused:
            # The library was given bytes and has no path for its message.
            raise refused.about(self.path) from None
        about = self._native.describe()
        rows = [row for row in about["methods"] if row["name"] not in _RESERVED]
        self.methods: dict[str, _ports.MethodInfo] = {
            row["name"]: _ports.method_of(row) for row in rows if not row["constant"]
        }
        self.constants = Constants(
            self._native, {row["name"]: len(row["outputs"]) for row in rows if row["constant"]}
        )
        self.state: dict[str, _ports.StateInfo] = {
            row["name"]: _ports.state_of(row) for row in about["states"]
        }
        self.state_bytes: int = about["state_bytes"]
        self.file_bytes: int = about["file_bytes"]
        self.is_stock: bool = about["is_stock"]
        self.target: str | None = about.get("target")

    def session(self) -> Session:
        """A new session with initial values and memory of its own.

        Raises:
          OutOfMemoryError: there is no memory for it.
          StateError: the program is closed.
        """
        return Session(self, _runtime.Session(self._native))

    def pool(
        self, count: int, *, methods: Iterable[str] | None = None, keep_state: bool = False
    ) -> Pool:
        """A pool of sessions for threads: a fixed number of them, which are loaded now.

        Args:
          count: number of sessions, from 1 to 65535.
          methods: names of the methods to load; all if it is None.
          keep_state: True if a session keeps its state when it goes back to the
            pool. This saves time for methods that write each part of a state
            before they read it. Otherwise states get their initial values.

        Raises:
          ArgumentError: `count` is not such a number.
          MissingMethodError: the program has no method of such a name.
          MissingOperatorError: this build cannot run one of the methods.
          OutOfMemoryError: there is no memory for the sessions.
          StateError: the program is closed.
        """
        return Pool(self, count, methods, keep_state)

    def needed(self, method: str, sizes: Mapping[str, int] | None = None) -> _ports.Memory:
        """The bytes that a method needs at given sizes.

            program.needed("encode", {"tokens[1]": 8}).scratch_bytes

        Args:
          method: its name.
          sizes: by name of a symbol, or of an input with one of its dimensions. What is
            not given has its largest size.

        Raises:
          MissingMethodError: the program has no such method.
          NotFoundError: the method has no such symbol, or no such dimension that varies.
          RangeError: a size out of bounds, or one that the symbol cannot give.
          ArgumentError: two sizes contradict each other.
          StateError: the program is closed.
        """
        info = self.methods.get(method)
        if info is None:
            raise _errors.MissingMethodError(
                f"the program has no method '{method}'",
                hint=f"it has {', '.join(self.methods) or 'none'}",
            )
        symbols = _ports.symbols_of(info, sizes or {})
        return _ports.Memory(*self._native.needed(method, tuple(symbols.items())))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the file and its data files, in hexadecimal. Reads them.

        Raises:
          HostError: a file cannot be read again.
          FileError: they are no longer those that were mapped.
        """
        paths = (self.path, *self._data)
        try:
            found = _fingerprint_of(paths)
        except OSError as cause:
            raise _errors.HostError(f"cannot read '{self.path}' again: {cause}") from cause
        if _marks_of(paths) != self._marks:
            raise _errors.FileError(
                f"'{self.path}' changed since it was loaded", hint="load it again with etx.load(path)"
            )
        return found

    def report(self) -> str:
        """Methods, states and bytes as text."""
        head = (
            f"{self.path.name}: {self.file_bytes:,} bytes, state {self.state_bytes:,}"
            + (", by the stock exporter" if self.is_stock else f", for {self.target}")
        )
        rows = self._rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        states = [f"  state {state}, at {state.offset:,}" for state in self.state.values()]
        return "\n".join([head, *lines, *states])

    def _rows(self) -> list[tuple[str, ...]]:
        def text(value: int | None) -> str:
            return "-" if value is None else f"{value:,}"

        rows: list[tuple[str, ...]] = [("method", "scratch", "structures", "temporary", "instructions")]
        for method in self.methods.values():
            rows.append((
                str(method), text(method.scratch_bytes), text(method.structure_bytes),
                text(method.temporary_bytes), text(method.instruction_count),
            ))
        return rows

    def memory_page(self) -> str:
        """The memory plan over time as a page for a browser, complete in
        itself.

        Raises:
          UnsupportedError: this build cannot make programs, nor such pages.
        """
        from . import _plan

        return _plan.native().memory_page(bytes_of(self.path), self.path.name)

    def _repr_html_(self) -> str:
        name = f"<p><b>{html.escape(self.path.name)}</b>, {self.file_bytes:,} bytes</p>"
        states: list[tuple[str, ...]] = [("state", "offset")]
        states += [(str(state), f"{state.offset:,}") for state in self.state.values()]
        parts = [name, table(self._rows()), table(states) if self.state else ""]
        try:
            page = html.escape(self.memory_page(), quote=True)
        except (_errors.UnsupportedError, ValueError):
            page = ""  # a build without the exporter; a file with unknown parts
        if page:
            parts.append(f'<iframe srcdoc="{page}" width="100%" height="560"></iframe>')
        return "".join(parts)

    def prefault(self) -> None:
        """Reads the files into memory, so that the first call does not wait for the disk.

        Raises:
          HostError: a file cannot be read, or became shorter.
        """
        self._native.prefault()

    def mlock(self) -> None:
        """Reads the files into memory and keeps them there until the program is closed,
        also when the system is short of memory. State and scratch are not locked, and
        a pickled program does not carry the lock along.

        Raises:
          HostError: the system refuses, mostly because of its limit for a process
            (`ulimit -l`). Nothing is locked then.
          StateError: the program was loaded with `resident_bytes`.
        """
        self._native.mlock()

    def close(self) -> None:
        """Unmaps the file.

        Raises:
          StateError: sessions are still open, or another thread reads the file.
        """
        self._native.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        if _marks_of((self.path, *self._data)) != self._marks:
            self.__dict__.pop("fingerprint", None)  # computed again from the new bytes
        data = tuple(map(str, self._data))
        kernels = tuple(map(str, self.kernels))
        options = (
            self.threads, data, self.parallel_regions, self.keep_plan, kernels,
            self.resident_bytes, self.in_memory,
        )
        return _open_again, (str(self.path), self.fingerprint, *options)

    def __repr__(self) -> str:
        lines = [f"<etx program '{self.path.name}'"]
        lines += [f"  {method}" for method in self.methods.values()]
        lines += [f"  state {state}" for state in self.state.values()]
        return "\n".join(lines) + ">"


def load(
    path: str | os.PathLike[str], *, threads: int = 1, data: Sequence[Any] = (),
    parallel_regions: bool = False, keep_plan: bool = False,
    kernels: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    resident_bytes: int | None = None,
    in_memory: bool = False,
) -> Program:
    """Maps a program file (.pte, of etx or of the stock exporter) and verifies it.

    Args:
      path: the file. It must not change while it is mapped: a file that becomes
        shorter ends the process. Replacing it by a rename is safe.
      threads: how many threads its kernels use; results do not depend on it.
      data: files (.ptd) that hold tensors of the program.
      parallel_regions: True to run independent parts of a method at the same time on
        these threads. Results and errors are those of a run without it. There are
        more such parts in a program that was planned with
        `plan(..., parallel_regions=True)`.
      keep_plan: True to leave every value of a method where it lies at the largest
        sizes. Otherwise a method of varying sizes uses less memory at smaller ones.
        Results are the same.
      kernels: shared libraries with kernels of your own operators
        (docs/custom-operators.md). Loading a library runs its code.
      resident_bytes: how many bytes at the start of the file, at least 1, stay in
        memory once they were read. Weights behind them are let go after each
        instruction that read them, so that a model may have more weights than the
        device has memory (docs/large-models.md). Results are the same. None: all of the
        file stays.
      in_memory: True to read the files of the program into memory instead of mapping
        them. They may change then, but processes do not share their bytes.

    Raises:
      HostError: the file cannot be read.
      FileError: it is damaged or not a program.
      NotFoundError: a library cannot be opened.
      UnsupportedError: a library was built for another version of etx.
      ArgumentError: `threads` is not a number of threads, a path holds a zero byte, or
        a kernel has other arguments than the program was planned for.
    """
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise _errors.ArgumentError(f"'threads' is {threads!r}, expected a number from 1 on")
    if resident_bytes is not None:
        if not isinstance(resident_bytes, int) or not 1 <= resident_bytes < 1 << 63:
            raise _errors.ArgumentError(
                f"'resident_bytes' is {resident_bytes!r}, expected a number of bytes from 1 on"
            )
        if in_memory:
            raise _errors.ArgumentError(
                "'resident_bytes' is for a file that is mapped, so it cannot be combined with "
                "'in_memory'"
            )
        if parallel_regions:
            raise _errors.ArgumentError(
                "'resident_bytes' lets go of weights between instructions that run one by one, "
                "so it cannot be combined with 'parallel_regions'"
            )
    return Program(
        path, threads=threads, data=data, parallel_regions=parallel_regions,
        keep_plan=keep_plan, kernels=kernels, resident_bytes=resident_bytes,
        in_memory=in_memory,
    )


def _fingerprint_of(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _marks_of(paths: Sequence[Path]) -> list[tuple[int, ...] | None]:
    """For each file, numbers that change if it is replaced, found without reading
    it. None: they cannot be found; opening the file then reports the reason."""
    marks: list[tuple[int, ...] | None] = []
    for path in paths:
        try:
            seen = os.stat(path)
        except (OSError, ValueError):
            marks.append(None)
        else:
            marks.append((seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return marks


def _open_again(
    path: str, fingerprint: str, threads: int, data: tuple[str, ...], parallel_regions: bool,
    keep_plan: bool, kernels: tuple[str, ...], resident_bytes: int | None, in_memory: bool,
) -> Program:
    """Unpickles a program."""
    program = Program(
        path, threads=threads, data=data, parallel_regions=parallel_regions,
        keep_plan=keep_plan, kernels=kernels, resident_bytes=resident_bytes,
        in_memory=in_memory,
    )
    if program.fingerprint != fingerprint:
        raise _errors.FileError(
            f"'{path}' is not the file that was pickled",
            expected=fingerprint,
            found=program.fingerprint,
            hint="load it again with etx.load(path) before you pickle it",
        )
    return program
