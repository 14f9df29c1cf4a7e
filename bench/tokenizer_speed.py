#!/usr/bin/env python3
"""Times the tokenizer library beside the package `tokenizers`, each with one thread.

    pip install tokenizers
    ninja -C build tokenizer_under_test
    python3 bench/tokenizer_speed.py --library build/tests/libtokenizer_under_test.so

Trains tokenizers of the size that models have on the sources and documents of this tree,
and encodes these texts, in parts of about 4 kB. Both give ids and spans. Prints MB/s, the
best of some rounds, and fails if the ids differ.
"""

import argparse
import os
import pathlib
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

TREE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TREE / "tests/tokenizer"))
import sample_tokenizers
import tokenizer_library

PART = 4096  # characters of a text
VOCAB = 30000


def texts(megabytes):
    """Documents and sources of the tree, and words in other scripts."""
    found = []
    size = 0
    other = "".join(line + "\n" for line in sample_tokenizers.corpus())
    files = sorted([*TREE.glob("docs/**/*.md"), *TREE.glob("*/**/README.md"),
                    *TREE.glob("exporter/**/*.c"), *TREE.glob("python/**/*.py")])
    for text in [other, *(file.read_text() for file in files)]:
        for at in range(0, len(text), PART):
            found.append(text[at:at + PART])
            size += len(found[-1].encode())
        if size > megabytes * 1e6:
            break
    return found


def trained(model, trainer, normalizer, pre_tokenizer, lines):
    made = tokenizers.Tokenizer(model)
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizer
    made.train_from_iterator(lines, trainer)
    return made


def byte_level(pattern, lines, **options):
    pre = (sample_tokenizers.split_bytes([pattern]) if pattern
           else pre_tokenizers.ByteLevel(add_prefix_space=False))
    trainer = trainers.BpeTrainer(vocab_size=VOCAB, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return trained(models.BPE(**options), trainer, None, pre, lines)


def byte_fallback(lines):
    """As Llama 2: one piece for the whole text."""
    special = ["<unk>"] + [f"<0x{i:02X}>" for i in range(256)]
    made = trained(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"),
                   trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=special,
                                       show_progress=False),
                   normalizers.Replace(" ", "▁"), pre_tokenizers.Metaspace("▁", "never"), lines)
    made.pre_tokenizer = None
    return made


def unigram(normalizer, pre, lines):
    return trained(models.Unigram(), trainers.UnigramTrainer(
        vocab_size=VOCAB, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False),
        normalizer, pre, lines)


def word_piece(lines, **options):
    return trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(
        vocab_size=VOCAB, special_tokens=["[UNK]"], show_progress=False),
        normalizers.BertNormalizer(**options), pre_tokenizers.BertPreTokenizer(), lines)


def clip(lines):
    """Lower case, and a suffix behind words."""
    return trained(
        models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"),
        trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=["[UNK]"], show_progress=False,
                            end_of_word_suffix="</w>"),
        normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]),
        pre_tokenizers.BertPreTokenizer(), lines)


def word_level(lines):
    return trained(models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(
        vocab_size=VOCAB, special_tokens=["[UNK]"], show_progress=False),
        None, pre_tokenizers.Whitespace(), lines)


KINDS = {
    "BPE, GPT-2": lambda lines: byte_level(None, lines),
    "BPE, Llama 3": lambda lines: byte_level(sample_tokenizers.LLAMA3, lines,
                                             ignore_merges=True),
    "BPE, GPT-4o": lambda lines: byte_level(sample_tokenizers.O200K, lines),
    "BPE, Llama 2": byte_fallback,
    "BPE, CLIP": clip,
    "Unigram, T5": lambda lines: unigram(
        normalizers.Precompiled(sample_tokenizers.charsmap()),
        pre_tokenizers.Metaspace("▁", "always"), lines),
    "Unigram, NFKC": lambda lines: unigram(
        normalizers.NFKC(), pre_tokenizers.Metaspace("▁", "always"), lines),
    "WordPiece, BERT": lambda lines: word_piece(lines),
    "WordPiece, cased": lambda lines: word_piece(lines, lowercase=False),
    "WordLevel": word_level,
}


def best(rounds, encode, parts):
    """Seconds of this thread in the fastest round: others may use the machine."""
    found = []
    for _ in range(rounds):
        start = time.thread_time()
        for part in parts:
            encode(part)
        found.append(time.thread_time() - start)
    return min(found)


def made(name, lines, folder):
    """The tokenizer, from the folder if it was made before."""
    file = folder and pathlib.Path(folder) / (name.replace(", ", "_").replace(" ", "_") + ".json")
    if file and file.exists():
        return tokenizers.Tokenizer.from_file(str(file))
    # Read back: what was trained has other scores than its file in the last digit.
    tokenizer = tokenizers.Tokenizer.from_str(KINDS[name](lines).to_str())
    if file:
        tokenizer.save(str(file))
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--megabytes", type=float, default=2.0, help="of text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="part of a name")
    parser.add_argument("--keep", help="folder where tokenizers are kept")
    chosen = parser.parse_args()
    parts = texts(chosen.megabytes)
    raw = [part.encode() for part in parts]
    size = sum(map(len, raw))
    print(f"{size / 1e6:.1f} MB in {len(parts)} texts\n")
    print(f"{'tokenizer':<18}{'tokens':>9}{'etx MB/s':>10}{'tokenizers MB/s':>17}")
    wrong = 0
    for name in KINDS:
        if chosen.only and chosen.only not in name:
            continue
        oracle = made(name, parts, chosen.keep)
        ours = tokenizer_library.Tokenizer(chosen.library, oracle.to_str().encode())
        count = 0
        for part, data in zip(parts, raw):
            ids = oracle.encode(part).ids
            count += len(ids)
            wrong += ours.encode(data)[0] != ids
        own = best(chosen.rounds, ours.encode_only, raw)
        other = best(chosen.rounds, oracle.encode, parts)
        print(f"{name:<18}{count:>9}{size / own / 1e6:>10.1f}{size / other / 1e6:>17.1f}",
              flush=True)
    if wrong:
        print(f"{wrong} texts have other ids")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
