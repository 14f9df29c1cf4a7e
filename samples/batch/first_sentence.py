"""From a PyTorch model to its first sentence: exports the translator's methods,
plans them into a program and runs it.

    python samples/batch/first_sentence.py "the train leaves at half past seven"
"""

from __future__ import annotations

import sys
from pathlib import Path

import etx
import torch
from etx import MethodArg
from torch.export import Dim

from block_translator import BlockTranslator

MODEL = Path(__file__).resolve().parents[1] / "translate" / "model"
sys.path.append(str(MODEL))

from export_batch import POSITIONS, ROWS, Decode, Encode, load


class Translation(torch.nn.Module):
    """Both methods with one cache."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = load(Encode), load(Decode)
        self.encoder.cache = self.decoder.cache

    def encode(self, ids, last, places):
        return self.encoder(ids, last, places)

    def decode(self, tokens, positions, places, own, sources, last):
        return self.decoder(tokens, positions, places, own, sources, last)


def export(path: str) -> None:
    rows = Dim("rows", min=1, max=ROWS)
    length = Dim("length", min=1, max=POSITIONS)
    source = Dim("source", min=1, max=POSITIONS)

    def row() -> MethodArg:
        return MethodArg(torch.zeros(3, dtype=torch.int64), {0: rows})

    def table(columns: Dim) -> MethodArg:
        return MethodArg(torch.zeros(3, 9, dtype=torch.int64), {0: rows, 1: columns})

    methods = {
        "encode": (table(source), row(), table(source)),
        "decode": (row(), row(), row(), table(length), table(source), row()),
    }
    etx.export(Translation().eval(), methods).plan(path, progress=True)


def main() -> None:
    export("translate.pte")
    translator = BlockTranslator(etx.load("translate.pte"), MODEL / "vocab.txt")
    translations, _ = translator.translate([sentence.encode() for sentence in sys.argv[1:]])
    print(*map(bytes.decode, translations), sep="\n")


if __name__ == "__main__":
    main()
