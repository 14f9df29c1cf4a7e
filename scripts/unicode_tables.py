#!/usr/bin/env python3
"""Writes tokenizer/unicode/unicode_tables.c.

The tables hold what the package `tokenizers` knows about each code point. Its parts
use several versions of Unicode, so each property is asked of the part that uses it:
a text of all code points goes through a normalizer that deletes what has (or lacks) a
property. Pairs for composition, boundaries of grapheme clusters and the values of
combining classes cannot be asked for; they are from `unicodedata` and from the package
`regex`.

    python3 scripts/unicode_tables.py > tokenizer/unicode/unicode_tables.c
"""

import sys
import unicodedata

import regex
from tokenizers import Regex, normalizers, pre_tokenizers

LAST = 0x110000
ALL = [c for c in range(LAST) if not 0xD800 <= c <= 0xDFFF]
TEXT = "".join(map(chr, ALL))
CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So "
              "Zs Zl Zp Cc Cf Co").split()  # the order of etx_category; last: Cn


def matching(pattern):
    """The code points that a pattern of a Split matches."""
    other = normalizers.Replace(Regex(pattern), "").normalize_str(TEXT)
    return set(ALL) - set(map(ord, other))


def removed(normalizer, text=TEXT):
    return set(map(ord, text)) - set(map(ord, normalizer.normalize_str(text)))


def each(normalizer):
    """What a normalizer writes for each code point alone."""
    for code in ALL:
        if code == 10:
            continue
        yield code, normalizer.normalize_str(chr(code))


def properties():
    bits = [len(CATEGORIES)] * LAST
    for index, category in enumerate(CATEGORIES):
        for code in matching(r"\p{%s}" % category):
            bits[code] = index
    flags = []
    flags.append(matching(r"\w"))
    flags.append(matching(r"\s"))
    # Rust: words of the pre-tokenizer Whitespace, spaces of WhitespaceSplit.
    splits = pre_tokenizers.Whitespace()
    flags.append({c for c in ALL if len(splits.pre_tokenize_str("a" + chr(c))) == 1
                  and not chr(c).isspace()} - {
                      c for c in ALL if splits.pre_tokenize_str(chr(c)) == []})
    spaces = pre_tokenizers.WhitespaceSplit()
    flags.append({c for c in ALL if spaces.pre_tokenize_str(chr(c)) == []})
    points = pre_tokenizers.Punctuation("removed")
    flags.append({c for c in ALL if points.pre_tokenize_str(chr(c)) == []})
    clean = normalizers.BertNormalizer(True, False, False, False)
    flags.append({c for c in ALL if clean.normalize_str(chr(c)) == ""})
    # An accent is deleted from what NFD writes, so only marks that stay themselves count.
    marks = normalizers.BertNormalizer(False, False, True, False)
    flags.append({c for c in ALL if marks.normalize_str(chr(c)) == ""})
    flags.append({c for c in ALL if normalizers.StripAccents().normalize_str(chr(c)) == ""})
    digits = pre_tokenizers.Digits()
    flags.append({c for c in ALL if len(digits.pre_tokenize_str("a" + chr(c))) == 2})
    flags.append(set(map(ord, regex.findall(r"[\p{GCB=Control}\r\n]", TEXT))))
    flags.append(set(map(ord, regex.findall(
        r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]", TEXT))))
    flags.append(set(map(ord, regex.findall(r"\p{GCB=Prepend}", TEXT))))
    flags.append(set(map(ord, regex.findall(r"\p{Extended_Pictographic}", TEXT))))
    for position, members in enumerate(flags):
        for code in members:
            bits[code] |= 1 << (5 + position)
    return bits


def pages(values):
    """Two stages: numbers of pages of 128 code points, and the different pages."""
    numbers, different, content = [], {}, []
    for start in range(0, LAST, 128):
        page = tuple(values[start:start + 128])
        if page not in different:
            different[page] = len(different)
            content.extend(page)
        numbers.append(different[page])
    return numbers, content


def table(name, kind, values):
    print(f"const {kind} {name}[{len(values)}] = {{")
    line = "   "
    for value in values:
        text = f" {value},"
        if len(line) + len(text) > 79:
            print(line)
            line = "   "
        line += text
    print(line + "\n};\n")


def two_stages(name, values, kind="uint8_t"):
    numbers, content = pages(values)
    table(f"etx_unicode_{name}_pages", "uint16_t" if max(numbers) > 255 else "uint8_t", numbers)
    table(f"etx_unicode_{name}", kind, content)


def combining_class(code):
    """The class if the package knows it: then marks of other classes change places."""
    known = unicodedata.combining(chr(code))
    if known == 0:
        return 0
    nfd = normalizers.NFD()
    if nfd.normalize_str(chr(code)) != chr(code):
        return known  # never in decomposed text
    first, second = (chr(code), "\u0334") if known > 1 else ("\u0301", chr(code))
    changed = nfd.normalize_str("a" + first + second) == "a" + second + first
    return known if changed else 0


def mappings():
    """Texts that replace one code point: index of its text, 0 for none."""
    texts = [0]
    known = {}

    def index_of(text):
        codes = tuple(map(ord, text))
        if codes not in known:
            known[codes] = len(texts)
            texts.append(len(codes))
            texts.extend(codes)
        return known[codes]

    for name, normalizer in (("canonical", normalizers.NFD()),
                             ("compatible", normalizers.NFKD()),
                             ("lower", normalizers.Lowercase())):
        index = [0] * LAST
        for code, text in each(normalizer):
            hangul = 0xAC00 <= code < 0xAC00 + 11172 and name != "lower"
            if text != chr(code) and not hangul:
                index[code] = index_of(text)
        two_stages(name, index, "uint16_t")
    assert len(texts) < 65536
    table("etx_unicode_texts", "uint32_t", texts)


def compositions():
    compose = normalizers.NFC()
    rows = []
    for code in ALL:
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if compose.normalize_str(chr(first) + chr(second)) == chr(code):
                rows.append((first, second, code))
    rows.sort()
    table("etx_unicode_pairs", "uint32_t", [value for row in rows for value in row])
    print(f"const size_t etx_unicode_pair_count = {len(rows)};\n")


def main():
    print("// Made by scripts/unicode_tables.py; do not edit.\n")
    print('#include "tokenizer/unicode/unicode_tables.h"\n')
    bits = properties()
    kinds = sorted(set(bits))
    assert len(kinds) < 256
    table("etx_unicode_kinds", "uint32_t", kinds)
    two_stages("kind", [kinds.index(value) for value in bits])
    two_stages("combining", [0 if 0xD800 <= c <= 0xDFFF else combining_class(c)
                             for c in range(LAST)])
    mappings()
    compositions()


if __name__ == "__main__":
    sys.exit(main())
