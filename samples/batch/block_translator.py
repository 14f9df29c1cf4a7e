"""What a worker does with a block: lines in, a file of answers out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import etx

from job import Block, Folder
from tokenizer import Tokenizer
from translator import Translator


class BlockTranslator:
    """Made once in each worker. The program came as its path and fingerprint and
    was mapped again here; so all workers of a machine share its weights."""

    def __init__(
        self, program: etx.Program, vocabulary: Path,
        source: Path | None = None, folder: Folder | None = None,
    ) -> None:
        """Without `source` and `folder` it translates lines, not blocks."""
        self._tokenizer = Tokenizer(vocabulary)
        self._translator = Translator(program, self._tokenizer.padding)
        self._source = source
        self._folder = folder

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """A block's row in, its number of lines out."""
        block = Block(**{name: int(value) for name, value in row.items()})
        # A worker that died may have finished it before anybody was told.
        if not self._folder.has(block):
            self._folder.write(block, *self.translate(block.read(self._source)))
        return {"lines": block.lines}

    def translate(self, lines: list[bytes]) -> tuple[list[bytes], list[tuple[int, str]]]:
        """Answers in the order of the lines, empty ones for lines that are refused,
        and which those are and why."""
        most = self._translator.positions
        sources = [self._tokenizer.encode(line) for line in lines]
        refused = [
            (i, f"the sentence has {len(source)} tokens, the model takes {most}")
            for i, source in enumerate(sources) if len(source) > most
        ]
        for i, _ in refused:
            sources[i] = []
        return [*map(self._tokenizer.decode, self._translator.translate(sources))], refused
