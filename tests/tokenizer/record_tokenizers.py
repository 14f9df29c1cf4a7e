#!/usr/bin/env python3
"""Writes tests/data/tokenizers: tokenizers, and what `tokenizers` answers.

    python3 tests/tokenizer/record_tokenizers.py

A tokenizer whose NAME.json is there is not trained again, since training gives other
tokens each time; delete the file for a new one.

NAME.cases has for each text, all numbers 32 bits little endian: bytes of the text,
1 if special tokens are added, number of ids, bytes of the decoded text; then the
text, the ids, begin and end of each span in bytes, and the decoded text.
"""

import json
import pathlib
import random
import struct

import tokenizers

import sample_tokenizers
import tokenizer_oracle

CASES = 25
# Grapheme clusters with characters that a map deletes, joins or changes: a joiner joins
# only pictographs.
CLUSTERS = ["\u200d©", "\u200d©\u200d it's", "x\u200d©\u0301", "©\u200d©\u0301",
            "©\u200d\u200d©\u0301", "\u200d\r\n©", "a\u0328\u200d é\u200d½", "\u0600©\ufe0f"]


def record(oracle, draw, text):
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
        file = folder / f"{name}.json"
        if not file.exists():
            file.write_text(json.dumps(json.loads(make().to_str()), ensure_ascii=False,
                                       separators=(",", ":")))
        oracle = tokenizers.Tokenizer.from_file(str(file))
        draw = random.Random(name)
        cases = [record(oracle, draw, sample_tokenizers.draw_text(draw))
                 for _ in range(CASES)]
        cases += [record(oracle, draw, text) for text in CLUSTERS]
        (folder / f"{name}.cases").write_bytes(b"".join(cases))


if __name__ == "__main__":
    main()
