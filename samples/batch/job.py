"""A file of lines, translated block by block, in any order, by anybody, again.

    out.txt.unfinished/6c0f.../        this job: input, model, vocabulary, cut
                        00000000       a block: a line about it, then its answers
                        00000003
    out.txt                            all of them in order, when all are there

A block is a run of lines, found in the input by its first byte. Its answers get
their name when they are whole and on the disk, and who writes them a second time
writes the same: so a worker may be killed, its block may be given to another, or
to both, and a second run begins where an earlier one ended.
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
    """What the user has to mend."""


@dataclass(frozen=True)
class Block:
    """Lines of the input."""

    index: int
    start: int  # byte
    size: int  # bytes
    lines: int
    crc: int  # of its bytes: a worker reads what was cut

    def read(self, path: Path) -> list[bytes]:
        with open(path, "rb") as file:
            file.seek(self.start)
            text = file.read(self.size)
        if zlib.crc32(text) != self.crc:
            raise JobError(f"'{path}' changed while it was translated: run again")
        return text.removesuffix(b"\n").split(b"\n")


class Folder:
    """Where the blocks of one job lie. It goes to workers, who share the path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, block: Block) -> bool:
        return self._of(block).exists()

    def write(self, block: Block, answers: list[bytes], refused: list[tuple[int, str]]) -> None:
        """`refused` are lines, numbered from 0 in the block, and why."""
        if len(answers) != block.lines:
            raise ValueError(f"block {block.index}: {len(answers)} answers, {block.lines} lines")
        about = json.dumps({"lines": block.lines, "refused": refused})
        name = self._of(block)
        part = name.with_name(f"{name.name}.{os.uname().nodename}-{os.getpid()}")
        write_whole(name, part, (b"%s\n" % line for line in [about.encode(), *answers]))

    def read(self, block: Block) -> tuple[bytes, list[tuple[int, str]]]:
        with open(self._of(block), "rb") as file:
            about = json.loads(file.readline())
            answers = file.read()
        if not block.lines == about["lines"] == answers.count(b"\n"):
            raise JobError(f"'{self._of(block)}' does not hold {block.lines} lines: remove it")
        return answers, about["refused"]

    def _of(self, block: Block) -> Path:
        return self.path / f"{block.index:08}"


class Job:
    """An input, its blocks, and the folder that their answers go to."""

    def __init__(self, source: Path, output: Path, lines: int, model: str) -> None:
        """`model` says all else that answers depend on."""
        self.source = source.absolute()
        self.output = output.resolve()  # a link stays, its file is replaced
        digest = hashlib.sha256(f"{lines}\n{model}\n".encode())
        self.blocks = list(cut(self.source, lines, digest))
        self._all = self.output.with_name(f"{self.output.name}.unfinished")
        self.folder = Folder(self._all / digest.hexdigest()[:16])

    def open(self) -> None:
        """Until this process ends, no other takes the same output."""
        if self.output.exists() and not self.output.is_file():
            # It would be replaced instead of written to.
            raise JobError(f"cannot write '{self.output}': it is no regular file")
        self.folder.path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._all, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobError(f"another run writes '{self.output}': wait for it") from None

    def rows(self) -> list[dict[str, Any]]:
        """Blocks that are not finished, as rows of a data set."""
        return [asdict(block) for block in self.blocks if not self.folder.has(block)]

    def finish(self) -> list[tuple[int, str]]:
        """Joins all blocks; returns the lines that were refused, from 1, and why."""
        refused: list[tuple[int, str]] = []
        first = 1

        def answers() -> Iterator[bytes]:
            nonlocal first
            for block in self.blocks:
                text, about = self.folder.read(block)
                refused.extend((first + line, why) for line, why in about)
                first += block.lines
                yield text

        write_whole(self.output, self._all / "joined", answers())
        shutil.rmtree(self._all, ignore_errors=True)
        return refused


def cut(path: Path, lines: int, digest: Any) -> Iterator[Block]:
    """Runs of so many lines; the last line may lack its end."""
    index = start = 0
    with open(path, "rb") as file:
        while text := take_lines(file, lines):
            digest.update(text)
            yield Block(index, start, len(text), text.count(b"\n") + (text[-1:] != b"\n"),
                        zlib.crc32(text))
            index, start = index + 1, start + len(text)


def take_lines(file: BinaryIO, count: int) -> bytes:
    return b"".join(line for _, line in zip(range(count), file))


def write_whole(path: Path, part: Path, texts: Iterable[bytes]) -> None:
    """The file is there when it is whole, whenever this process is killed; until
    then it is called `part`."""
    with open(part, "wb") as file:
        file.writelines(texts)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
