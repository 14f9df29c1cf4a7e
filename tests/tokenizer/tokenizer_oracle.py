#!/usr/bin/env python3
"""Compares the tokenizer library with the package `tokenizers`.

    python3 tests/tokenizer/tokenizer_oracle.py --library LIBRARY [--cases N] [--only NAME]

Texts are drawn at random, a fifth of them damaged so that they are no UTF-8; ids, spans, types, decoded text and decoded streams must be
equal. Prints the first differences and how many cases were compared.
"""

import argparse
import codecs
import random
import sys

import sample_tokenizers
import tokenizer_library


def byte_spans(text, offsets):
    starts = character_starts(text.encode())[1]
    return [(starts[a], starts[b]) for a, b in offsets]


def character_starts(data):
    """The text of bytes that may be no UTF-8, and where each character begins."""
    wrong = []

    def replace(error):
        wrong.append((error.start, error.end))
        return "\ufffd", error.end

    codecs.register_error("tokenizer-oracle", replace)
    text = data.decode(errors="tokenizer-oracle")
    starts, at = [], 0
    ends = dict(wrong)
    for character in text:
        starts.append(at)
        at = ends.get(at) or at + len(character.encode())
    return text, [*starts, at]


def damage(draw, text):
    """Its bytes, some of them lost, changed or put in."""
    data = bytearray(text.encode())
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(data) + 1)
        byte = draw.choice(b"\x80\xbf\xc0\xc2\xe0\xed\xf0\xf4\xff\xa9\x9f")
        kind = draw.randrange(3)
        data[at:at + (kind > 0)] = b"" if kind == 2 else bytes([byte])
    return bytes(data)


def compare(oracle, ours, data, pair, special):
    """What differs for a text as bytes, or None."""
    text, starts = character_starts(data)
    expected = oracle.encode(text, pair, add_special_tokens=special)
    ids, spans, types = ours.encode(data, pair and pair.encode(), special)
    if ids != expected.ids:
        return f"ids {ids}\n expected {expected.ids} {expected.tokens}"
    if pair is None:
        wanted = [(starts[a], starts[b]) for a, b in expected.offsets]
        if spans != wanted:
            return f"spans {spans}\n expected {wanted}"
    if types != expected.type_ids:
        return f"types {types}\n expected {expected.type_ids}"
    for skip in (True, False):
        decoded, wanted = ours.decode(ids, skip), oracle.decode(ids, skip)
        if decoded.decode() != wanted:
            return f"decoded {decoded.decode()!r}\n expected {wanted!r}"
    texts = ours.stream(ids[:40])
    for part in texts:
        part.decode()
    return None


def run(name, oracle, ours, cases, seed):
    draw = random.Random(seed)
    wrong = 0
    for _ in range(cases):
        text = sample_tokenizers.draw_text(draw)
        data = damage(draw, text) if draw.random() < 0.2 else text.encode()
        pair = sample_tokenizers.draw_text(draw, 5) if draw.random() < 0.15 else None
        try:
            problem = compare(oracle, ours, data, pair, draw.random() < 0.7)
        except tokenizer_library.Failed as failed:
            problem = str(failed)
        if problem:
            wrong += 1
            if wrong <= 3:
                print(f"{name}: {data!r} {pair!r}\n {problem}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--only")
    parser.add_argument("--published", action="store_true",
                        help="those of published models, which need sentencepiece and protobuf")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", help="write the tokenizers to this folder")
    chosen = parser.parse_args()
    wrong = total = 0
    made = sample_tokenizers.all_tokenizers()
    if chosen.published:
        import published_tokenizers
        made = published_tokenizers.published_tokenizers()
    for name, make in made.items():
        if chosen.only and name not in chosen.only.split(","):
            continue
        oracle = make()
        file = oracle.to_str().encode()
        if chosen.write:
            with open(f"{chosen.write}/{name}.json", "wb") as out:
                out.write(file)
        try:
            ours = tokenizer_library.Tokenizer(chosen.library, file)
        except tokenizer_library.Failed as failed:
            print(f"{name}: cannot be read: {failed}")
            wrong += 1
            continue
        differ = run(name, oracle, ours, chosen.cases, chosen.seed)
        print(f"{name}: {chosen.cases} texts, {differ} differ", flush=True)
        wrong += differ
        total += chosen.cases
    print(f"{total} texts, {wrong} differ")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
