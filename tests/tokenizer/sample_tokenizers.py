"""Tokenizers of every kind, trained on made-up text in many scripts."""

import base64
import json
import random
import struct

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

RANGES = [(0x20, 0x7E), (0x20, 0x7E), (0x61, 0x7A), (0xA0, 0x17F), (0x370, 0x3FF),
          (0x400, 0x4FF), (0x5D0, 0x5EA), (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF),
          (0xB80, 0xBFF), (0xE00, 0xE7F), (0x10A0, 0x10FF), (0x1100, 0x11FF),
          (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x20A0, 0x20BF), (0x2100, 0x214F),
          (0x3040, 0x30FF), (0x4E00, 0x4E80), (0xAC00, 0xAD00), (0xFB00, 0xFB4F),
          (0xFF00, 0xFFEF), (0x300, 0x36F), (0x1F600, 0x1F64F), (0x1D400, 0x1D4FF),
          (0x20000, 0x20040), (0x2F800, 0x2F840), (0x1F1E6, 0x1F1FF), (0x0, 0x1F)]
WORDS = ("the quick brown fox jumps over lazy dogs it's don't I'll we've you're he'd "
         "Hello WORLD naïve café Straße İstanbul ﬁne Ⅳ 12345 3.14 foo_bar CamelCase "
         "привет мир שלום नमस्ते 안녕하세요 こんにちは 世界 สวัสดี").split()
ODD = ["<s>", "</s>", "[CLS]", "[MASK]", "<|endoftext|>", "<|im_start|>", "👨‍👩‍👧‍👦",
       "🇩🇪", "e\u0301", "\u1112\u1161\u11ab", "\r\n", "\n\n", "\t", "   ", "\u00a0",
       "\u3000", "▁", "Ġ", "##", "ſ", "'S", "'ſ", "K", "a\u0328\u0301", "\u200d",
       "\u200b", "\ufeff", "©\u200d", "word", "Added", " word ", "\u2581x", "\u0085"]


def draw_text(draw, longest=12):
    """A text of words, odd parts, and characters of a few scripts."""
    scripts = draw.choices(RANGES, k=2)
    parts = []
    for _ in range(draw.randrange(longest)):
        kind = draw.random()
        if kind < 0.35:
            parts.append(draw.choice(WORDS))
        elif kind < 0.5:
            parts.append(draw.choice(ODD))
        elif kind < 0.55:
            parts.append(draw.choice("a .1\n\u4e00é") * draw.randrange(1, 40))
        elif kind < 0.58:
            code = draw.randrange(0x110000)
            parts.append("" if 0xD800 <= code < 0xE000 else chr(code))
        else:
            low, high = draw.choice(scripts)
            parts.append("".join(chr(draw.randint(low, high))
                                 for _ in range(draw.randrange(1, 9))))
        if draw.random() < 0.6:
            parts.append(" ")
    return "".join(parts)


def corpus():
    draw = random.Random(7)
    lines = [draw_text(draw, 20) for _ in range(1500)]
    lines += [" ".join(draw.choices(WORDS, k=12)) for _ in range(1500)]
    return lines


def charsmap():
    """A map as SentencePiece writes it, from a few rows, as a double array."""
    rows = {"ﬁ": "fi", "Ⅳ": "IV", "\u3000": " ", "é": "e", "e\u0301": "é", "\t": " ",
            "Ａ": "A", "ａ": "a", "\u200d": "", "½": "1/2", "©": "(c)", "\r": "",
            "a\u0328": "ą"}
    texts, places = b"", {}
    for key, value in rows.items():
        places[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    units = {0: 0}
    used = {0}

    def children(prefix):
        return sorted({key[len(prefix)] for key in places
                       if key.startswith(prefix) and len(key) > len(prefix)})

    def place(prefix, node):
        labels = children(prefix)
        has_value = prefix in places
        # The offset must change only bits that the unit can hold.
        base = 1
        while True:
            target = node ^ base
            wanted = [target ^ label for label in labels] + ([target] if has_value else [])
            if all(index not in used for index in wanted) and base < 1 << 21:
                break
            base += 1
        used.update(wanted)
        units[node] = units.get(node, 0) | base << 10 | (256 if has_value else 0)
        if has_value:
            units[target] = 1 << 31 | places[prefix]
        for label in labels:
            units[target ^ label] = label
        for label in labels:
            place(prefix + bytes([label]), target ^ label)

    place(b"", 0)
    size = (max(units) | 255) + 1  # as blocks of 256, which readers rely on
    trie = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))
    return struct.pack("<I", len(trie)) + trie + texts


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
          r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
DEEPSEEK = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"]
DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?"
             r"[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"


def byte_level(pre, special="<|endoftext|>", post=None, normalizer=None, **model):
    made = Tokenizer(models.BPE(**model))
    made.pre_tokenizer = pre
    if normalizer:
        made.normalizer = normalizer
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1500, special_tokens=[special],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made.post_processor = post or processors.ByteLevel(trim_offsets=True)
    return made


def split_bytes(patterns):
    steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(
        steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_fallback(prefix):
    made = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    made.normalizer = normalizers.Sequence(
        ([normalizers.Prepend("▁")] if prefix else []) + [normalizers.Replace(" ", "▁")])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    made.train_from_iterator([" ".join(WORDS)] * 9, trainers.BpeTrainer(
        vocab_size=900, special_tokens=special, show_progress=False))
    data = json.loads(made.to_str())
    data["added_tokens"] = data["added_tokens"][:3]
    made = Tokenizer.from_str(json.dumps(data))
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        + ([decoders.Strip(" ", 1, 0)] if prefix else []))
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return made


def unigram(normalizer, scheme, fallback=False):
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", scheme)]
        if scheme == "always" else [pre_tokenizers.Metaspace("▁", scheme)])
    made.decoder = decoders.Metaspace("▁", scheme)
    special = ["<pad>", "</s>", "<unk>"]
    if fallback:
        special += [f"<0x{i:02X}>" for i in range(256)]
    made.train_from_iterator(
        [" ".join(WORDS)] * 9 + corpus()[:100], trainers.UnigramTrainer(
            vocab_size=4000, special_tokens=special, unk_token="<unk>", show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    data = json.loads(made.to_str())
    if fallback:
        data["model"]["byte_fallback"] = True
        data["added_tokens"] = data["added_tokens"][:3]
        data["decoder"] = json.loads(byte_fallback(False).to_str())["decoder"]
    if normalizer is None:
        data["normalizer"] = {"type": "Precompiled", "precompiled_charsmap":
                              base64.b64encode(charsmap()).decode()}
    return Tokenizer.from_str(json.dumps(data))


def word_piece(normalizer, pre, post="bert"):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizer
    made.pre_tokenizer = pre
    made.decoder = decoders.WordPiece(cleanup=post == "bert")
    made.train_from_iterator(corpus(), trainers.WordPieceTrainer(
        vocab_size=1500, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        show_progress=False))
    if post == "bert":
        made.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return made


def word_level(pre, decoder=None):
    made = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])
    made.pre_tokenizer = pre
    if decoder:
        made.decoder = decoder
    made.train_from_iterator(corpus(), trainers.WordLevelTrainer(
        vocab_size=1500, special_tokens=["[UNK]"], show_progress=False))
    return made


def add_odd_tokens(made):
    made.add_tokens([AddedToken("word", single_word=True), AddedToken("Added"),
                     AddedToken("<|im_start|>", lstrip=True, normalized=False),
                     AddedToken("[MASK]", lstrip=True, rstrip=True, special=True),
                     AddedToken("é", normalized=True)])
    return made


def all_tokenizers():
    """Pairs of name and a function that makes the tokenizer."""
    pre, norm = pre_tokenizers, normalizers
    return {
        "gpt2": lambda: byte_level(pre.ByteLevel(add_prefix_space=False)),
        "roberta": lambda: add_odd_tokens(byte_level(
            pre.ByteLevel(add_prefix_space=True), "<s>",
            processors.RobertaProcessing(("</s>", 1), ("<s>", 0)))),
        "llama3": lambda: byte_level(split_bytes([LLAMA3]), ignore_merges=True),
        "qwen2": lambda: add_odd_tokens(byte_level(
            split_bytes([LLAMA3.replace("{1,3}", "")]), normalizer=norm.NFC())),
        "o200k": lambda: byte_level(split_bytes([O200K])),
        "cl100k": lambda: byte_level(split_bytes([CL100K])),
        "deepseek": lambda: byte_level(split_bytes(DEEPSEEK)),
        "deepseek3": lambda: byte_level(split_bytes([r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
                                                     DEEPSEEK3])),
        "bloom": lambda: byte_level(split_bytes([BLOOM])),
        "starcoder": lambda: byte_level(pre.Sequence(
            [pre.Digits(individual_digits=True), pre.ByteLevel(False)])),
        "llama2": lambda: byte_fallback(True),
        "gemma": lambda: add_odd_tokens(byte_fallback(False)),
        "suffix": lambda: suffix_bpe(),
        "t5": lambda: unigram(None, "always"),
        "xlmr": lambda: unigram(norm.Sequence(
            [norm.NFKC(), norm.Replace(Regex(" {2,}"), " "), norm.Lowercase()]), "first"),
        "unigram_bytes": lambda: unigram(norm.NFKD(), "never", True),
        "bert": lambda: word_piece(norm.BertNormalizer(), pre.BertPreTokenizer()),
        "bert_cased": lambda: add_odd_tokens(word_piece(
            norm.BertNormalizer(lowercase=False), pre.Sequence(
                [pre.Whitespace(), pre.Punctuation()]), "none")),
        "accents": lambda: word_piece(norm.Sequence(
            [norm.NFD(), norm.StripAccents(), norm.Lowercase()]), pre.Sequence(
                [pre.WhitespaceSplit(), pre.Punctuation("merged_with_previous"),
                 pre.Digits()])),
        "words": lambda: word_level(pre.Whitespace()),
        "next": lambda: word_level(pre.Sequence(
            [pre.CharDelimiterSplit(" "), pre.Split(Regex("[aeiou]"), "merged_with_next"),
             pre.Split("o", "contiguous", True)])),
        "ctc": lambda: word_level(pre.Split(Regex("."), "isolated"),
                                  decoders.CTC("a", " ", True)),
    }


def suffix_bpe():
    made = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>",
                                fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.BPEDecoder("</w>")
    made.train_from_iterator([" ".join(WORDS)] * 9, trainers.BpeTrainer(
        vocab_size=700, special_tokens=["[UNK]"], end_of_word_suffix="</w>",
        show_progress=False))
    return made
