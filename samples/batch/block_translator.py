"""Translates a block of lines in a worker and writes the file of the block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import etx

from job import Block, Folder
from tokenizer import Tokenizer
from translator import Translator


class BlockTranslator:
    """Made once in each worker. The program was pickled as its path and fingerprint
    and is mapped again here, so all workers of a machine share its weights."""

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
        """Translates the block that `row` describes; returns its number of lines."""
        block = Block(**{name: int(value) for name, value in row.items()})
        # A worker that died may have finished the block without reporting it.
        if not self._folder.has(block):
            self._folder.write(block, *self.translate(block.read(self._source)))
        return {"lines": block.lines}

    def translate(self, lines: list[bytes]) -> tuple[list[bytes], list[tuple[int, str]]]:
        """Translations in the order of the lines, and the refused lines, with reasons;
        the translation of a refused line is empty."""
        most = self._translator.positions
        sources = [self._tokenizer.encode(line) for line in lines]
        refused = [
            (i, f"the sentence has {len(source)} tokens, the model takes {most}")
            for i, source in enumerate(sources) if len(source) > most
        ]
        for i, _ in refused:
            sources[i] = []
        return [*map(self._tokenizer.decode, self._translator.translate(sources))], refused
