#!/usr/bin/env python3
"""Writes the SentencePiece models of tests/data/tokenizers, and what `sentencepiece` answers.

    python3 tests/tokenizer/record_sentence_pieces.py

The files are described in record_tokenizers.py. The tokens of a byte have the span of their
character.
"""

import pathlib
import random
import struct

import sample_sentence_pieces
import sample_tokenizers
import sentencepiece

CASES = 25


def spans_of(oracle, pieces):
    spans, waiting = [], 0
    for piece in pieces:
        waiting += 1
        # Of the bytes of a character the last has its span, the others an empty one.
        if oracle.is_byte(piece.id) and piece.begin == piece.end:
            continue
        spans += [piece.begin, piece.end] * waiting
        waiting = 0
    return spans


def record(oracle, draw):
    text = sample_tokenizers.draw_text(draw).replace("\0", "")
    pieces = oracle.encode(text, return_type="proto").pieces
    ids = [piece.id for piece in pieces]
    decoded = oracle.decode(ids).encode()
    numbers = ids + spans_of(oracle, pieces)
    head = struct.pack("<4I", len(text.encode()), 0, len(ids), len(decoded))
    return head + text.encode() + struct.pack(f"<{len(numbers)}I", *numbers) + decoded


def main():
    folder = pathlib.Path(__file__).parent.parent / "data" / "tokenizers"
    for name in sample_sentence_pieces.RECORDED:
        model = sample_sentence_pieces.recorded(name)
        oracle = sentencepiece.SentencePieceProcessor(model_proto=model)
        draw = random.Random(name)
        (folder / f"{name}.model").write_bytes(model)
        (folder / f"{name}.cases").write_bytes(b"".join(record(oracle, draw) for _ in range(CASES)))


if __name__ == "__main__":
    main()
