"""A file of lines, translated in blocks, in any order, by any worker, repeatably.

    out.txt.unfinished/6c0f.../        this job: input, model, vocabulary, block size
                        00000000       a block: a line about it, then translations
                        00000003
    out.txt                            all blocks in order, when all are finished

A block is a run of consecutive lines; its first byte in the input is known. The
file of a block is renamed when it is complete and on the disk, and writing it a
second time writes the same bytes. So a worker may be killed, a block may be given
to another worker or to two, and a second run continues an earlier one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO


class JobError(Exception):
    """An error that the user must fix."""


@dataclass(frozen=True)
class Block:
    """Consecutive lines of the input."""

    index: int
    start: int  # byte
    size: int  # bytes
    lines: int
    crc: int  # of its bytes: a worker checks that the input has not changed

    def read(self, path: Path) -> list[bytes]:
        with open(path, "rb") as file:
            file.seek(self.start)
            text = file.read(self.size)
        if zlib.crc32(text) != self.crc:
            raise JobError(f"'{path}' changed while it was translated: run again")
        return text.removesuffix(b"\n").split(b"\n")


class Folder:
    """The folder of the blocks of one job. It is sent to workers, which share it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, block: Block) -> bool:
        return self._of(block).exists()

    def write(
        self, block: Block, translations: list[bytes], refused: list[tuple[int, str]],
    ) -> None:
        """`refused` has lines, numbered from 0 in the block, and reasons."""
        if len(translations) != block.lines:
            raise ValueError(
                f"block {block.index}: {len(translations)} translations, {block.lines} lines")
        about = json.dumps({"lines": block.lines, "refused": refused})
        name = self._of(block)
        part = name.with_name(f"{name.name}.{os.uname().nodename}-{os.getpid()}")
        write_atomically(name, part, (b"%s\n" % line for line in [about.encode(), *translations]))

    def read(self, block: Block) -> tuple[bytes, list[tuple[int, str]]]:
        with open(self._of(block), "rb") as file:
            about = json.loads(file.readline())
            text = file.read()
        if not block.lines == about["lines"] == text.count(b"\n"):
            raise JobError(f"'{self._of(block)}' does not have {block.lines} lines: remove it")
        return text, about["refused"]

    def _of(self, block: Block) -> Path:
        return self.path / f"{block.index:08}"


class Job:
    """An input, its blocks, and the folder of their translations."""

    def __init__(self, source: Path, output: Path, lines: int, model: str) -> None:
        """`model` is a text of everything else that translations depend on."""
        self.source = source.absolute()
        self.output = output.resolve()  # a symbolic link stays, its file is replaced
        digest = hashlib.sha256(f"{lines}\n{model}\n".encode())
        self.blocks = list(cut(self.source, lines, digest))
        self._all = self.output.with_name(f"{self.output.name}.unfinished")
        self.folder = Folder(self._all / digest.hexdigest()[:16])

    def open(self) -> None:
        """Locks the output until this process ends."""
        if self.output.exists() and not self.output.is_file():
            # A rename would replace a device or a pipe instead of writing to it.
            raise JobError(f"cannot write '{self.output}': it is not a regular file")
        self.folder.path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._all, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobError(f"another run writes '{self.output}': wait until it ends") from None

    def rows(self) -> list[dict[str, Any]]:
        """Unfinished blocks, as rows of a data set."""
        return [asdict(block) for block in self.blocks if not self.folder.has(block)]

    def finish(self) -> list[tuple[int, str]]:
        """Joins all blocks; returns the refused lines, counted from 1, with reasons."""
        refused: list[tuple[int, str]] = []
        first = 1

        def texts() -> Iterator[bytes]:
            nonlocal first
            for block in self.blocks:
                text, about = self.folder.read(block)
                refused.extend((first + line, why) for line, why in about)
                first += block.lines
                yield text

        write_atomically(self.output, self._all / "joined", texts())
        shutil.rmtree(self._all, ignore_errors=True)
        return refused


def cut(path: Path, lines: int, digest: Any) -> Iterator[Block]:
    """Blocks of `lines` lines; the last line may have no newline."""
    index = start = 0
    with open(path, "rb") as file:
        while text := take_lines(file, lines):
            digest.update(text)
            yield Block(index, start, len(text), text.count(b"\n") + (text[-1:] != b"\n"),
                        zlib.crc32(text))
            index, start = index + 1, start + len(text)


def take_lines(file: BinaryIO, count: int) -> bytes:
    return b"".join(line for _, line in zip(range(count), file))


def write_atomically(path: Path, part: Path, texts: Iterable[bytes]) -> None:
    """Writes the file as `part` and renames it when it is complete and on the disk, so
    it is complete or missing whenever this process is killed."""
    with open(part, "wb") as file:
        file.writelines(texts)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
