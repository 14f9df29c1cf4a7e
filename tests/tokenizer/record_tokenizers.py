#!/usr/bin/env python3
"""Writes tests/data/tokenizers: tokenizers, and what `tokenizers` answers.

    python3 tests/tokenizer/record_tokenizers.py

NAME.cases has for each text, all numbers 32 bits little endian: bytes of the text,
1 if special tokens are added, number of ids, bytes of the decoded text; then the
text, the ids, begin and end of each span in bytes, and the decoded text.
"""

import json
import pathlib
import random
import struct

import sample_tokenizers
import tokenizer_oracle

CASES = 25


def record(oracle, draw):
    text = sample_tokenizers.draw_text(draw)
    special = draw.random() < 0.7
    encoded = oracle.encode(text, add_special_tokens=special)
    decoded = oracle.decode(encoded.ids).encode()
    spans = [place for span in tokenizer_oracle.byte_spans(text, encoded.offsets)
             for place in span]
    numbers = encoded.ids + spans
    head = struct.pack("<4I", len(text.encode()), special, len(encoded.ids), len(decoded))
    return head + text.encode() + struct.pack(f"<{len(numbers)}I", *numbers) + decoded


def main():
    folder = pathlib.Path(__file__).parent.parent / "data" / "tokenizers"
    for name, make in sample_tokenizers.all_tokenizers().items():
        oracle = make()
        draw = random.Random(name)
        (folder / f"{name}.json").write_text(
            json.dumps(json.loads(oracle.to_str()), ensure_ascii=False,
                       separators=(",", ":")))
        (folder / f"{name}.cases").write_bytes(
            b"".join(record(oracle, draw) for _ in range(CASES)))


if __name__ == "__main__":
    main()
