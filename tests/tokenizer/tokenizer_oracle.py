#!/usr/bin/env python3
"""Compares the tokenizer library with the package `tokenizers`.

    python3 tests/tokenizer/tokenizer_oracle.py --library LIBRARY [--cases N] [--only NAME]

Texts are drawn at random; ids, spans, types, decoded text and decoded streams must be
equal. Prints the first differences and how many cases were compared.
"""

import argparse
import random
import sys

import sample_tokenizers
import tokenizer_library


def byte_spans(text, offsets):
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    return [(starts[a], starts[b]) for a, b in offsets]


def stream_of(oracle, ids):
    """What decoding every prefix shows, when its end is whole."""
    return oracle.decode(ids, skip_special_tokens=True)


def compare(oracle, ours, text, pair, special):
    """What differs, or None."""
    expected = oracle.encode(text, pair, add_special_tokens=special)
    ids, spans, types = ours.encode(text.encode(), pair and pair.encode(), special)
    if ids != expected.ids:
        return f"ids {ids}\n expected {expected.ids} {expected.tokens}"
    if pair is None and spans != byte_spans(text, expected.offsets):
        return f"spans {spans}\n expected {byte_spans(text, expected.offsets)}"
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
        pair = sample_tokenizers.draw_text(draw, 5) if draw.random() < 0.15 else None
        try:
            problem = compare(oracle, ours, text, pair, draw.random() < 0.7)
        except tokenizer_library.Failed as failed:
            problem = str(failed)
        if problem:
            wrong += 1
            if wrong <= 3:
                print(f"{name}: {text!r} {pair!r}\n {problem}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", help="write the tokenizers to this folder")
    chosen = parser.parse_args()
    wrong = total = 0
    for name, make in sample_tokenizers.all_tokenizers().items():
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
