"""The steps of published models, with small vocabularies that are trained here.

The steps are those that the tokenizer.json of these models has.
"""

import json

import sample_sentence_pieces
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

from sample_tokenizers import (LLAMA3, byte_fallback, byte_level, corpus, split_bytes,
                               word_piece)

THREE_DIGITS = r"[0-9][0-9][0-9]"
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
_maps = {}


def precompiled(rule):
    """The map that SentencePiece has for nmt_nfkc, nfkc_cf and the like."""
    if rule not in _maps:
        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(sample_sentence_pieces.train(normalization_rule_name=rule))
        _maps[rule] = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    return _maps[rule]


def from_pieces(steps, pre, special, post, scheme="always"):
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence(steps)
    made.pre_tokenizer = pre
    made.decoder = decoders.Metaspace("▁", scheme)
    made.train_from_iterator(corpus(), trainers.UnigramTrainer(
        vocab_size=5000, special_tokens=special, unk_token="<unk>", show_progress=False))
    ids = [(token, made.token_to_id(token)) for token in special]
    made.post_processor = processors.TemplateProcessing(
        single=post, pair=post.replace("$A", "$A $B:1"),
        special_tokens=[pair for pair in ids if pair[0] in post])
    # Read back: what was trained has other scores than its file in the last digit.
    return Tokenizer.from_str(made.to_str())


def spaced(*steps, rule="nmt_nfkc"):
    return [*steps, precompiled(rule), normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), "▁")]


def metaspace(scheme="always", split=True):
    return pre_tokenizers.Metaspace("▁", prepend_scheme=scheme, split=split)


SPM = ["<s>", "<pad>", "</s>", "<unk>"]
QUOTES = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
SINGLE_SPACE = normalizers.Replace(Regex(" {2,}"), " ")
PLAIN = [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]


def languages(made):
    made.add_special_tokens([AddedToken(code, normalized=False) for code in
                             ("eng_Latn", "fra_Latn", "zho_Hans", "en_XX", "de_DE")])
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    return made


def whisper():
    made = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    times = [f"<|{second / 50:.2f}|>" for second in range(0, 1501, 100)]
    made.add_special_tokens(["<|startoftranscript|>", "<|en|>", "<|de|>", "<|transcribe|>",
                             "<|notimestamps|>"])
    made.add_tokens([AddedToken(time, normalized=False) for time in times])
    return made


def clip():
    made = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>",
                                continuing_subword_prefix=""))
    made.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(CLIP), "removed", invert=True),
         pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1500, special_tokens=["<|startoftext|>", "<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), end_of_word_suffix="</w>",
        show_progress=False))
    made.post_processor = processors.RobertaProcessing(
        sep=("<|endoftext|>", 1), cls=("<|startoftext|>", 0), add_prefix_space=False,
        trim_offsets=False)
    return made


def gemma():
    """As Gemma 2 and 3: spaces become pieces of their own words, and runs of them."""
    made = byte_fallback(False)
    data = json.loads(made.to_str())
    data["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    data["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "},
                             "behavior": "MergedWithPrevious", "invert": False}
    made = Tokenizer.from_str(json.dumps(data))
    made.add_tokens([AddedToken(token, normalized=False) for token in
                     ("\n", "\n\n", "\t", "<table>", "▁▁", "▁▁▁", "[multimodal]")])
    made.add_special_tokens(["<start_of_turn>", "<end_of_turn>"])
    return made


def falcon():
    return byte_level(pre_tokenizers.Sequence(
        [pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(False),
         pre_tokenizers.Digits(individual_digits=False),
         pre_tokenizers.Split(Regex(THREE_DIGITS), "isolated")]))


def helium():
    """Pieces of SentencePiece with bytes, and a line end that is a token."""
    made = from_pieces([normalizers.Prepend(" "), normalizers.Replace(" ", "▁")],
                       pre_tokenizers.Sequence([pre_tokenizers.Split("\n", "contiguous")]),
                       ["<unk>", "<s>", "</s>", "<pad>"], "<s> $A")
    made.add_tokens([AddedToken("\n", normalized=False)])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
         decoders.Strip(" ", 1, 0)])
    return made


def deberta():
    return from_pieces(
        [normalizers.Strip(), precompiled("nmt_nfkc"), SINGLE_SPACE],
        pre_tokenizers.Sequence([pre_tokenizers.Punctuation("isolated"), metaspace()]),
        ["[PAD]", "[CLS]", "[SEP]", "<unk>"], "[CLS] $A [SEP]")


def bert(**options):
    return word_piece(normalizers.BertNormalizer(**options), pre_tokenizers.BertPreTokenizer())


def published_tokenizers():
    """Pairs of name and a function that makes the tokenizer."""
    split = pre_tokenizers.WhitespaceSplit
    return {
        "xlm_roberta": lambda: languages(from_pieces(spaced(), metaspace(), SPM, "<s> $A </s>")),
        "nllb": lambda: languages(from_pieces(spaced(), metaspace(), SPM, "<s> $A </s>")),
        "mbart": lambda: languages(from_pieces(
            [precompiled("nmt_nfkc"), SINGLE_SPACE],
            pre_tokenizers.Sequence([split(), metaspace()]), SPM, "$A </s> <s>")),
        "t5_trained": lambda: from_pieces(spaced(), metaspace(), ["<pad>", "</s>", "<unk>"],
                                          "$A </s>"),
        "albert": lambda: from_pieces([*QUOTES, *PLAIN, precompiled("nfkc_cf"), SINGLE_SPACE],
                                      metaspace(), ["<pad>", "<unk>", "[CLS]", "[SEP]"],
                                      "[CLS] $A [SEP]"),
        "rembert": lambda: from_pieces([*QUOTES, SINGLE_SPACE, precompiled("nfkc")],
                                       metaspace("first"), ["[CLS]", "<unk>", "[SEP]"],
                                       "[CLS] $A [SEP]", "first"),
        "deberta_v2": deberta,
        "helium": helium,
        "gemma3": gemma,
        "whisper": whisper,
        "clip": clip,
        "falcon": falcon,
        "tekken": lambda: byte_level(split_bytes([TEKKEN]), ignore_merges=True),
        "starcoder2": lambda: byte_level(pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
             pre_tokenizers.ByteLevel(False)])),
        "phi4": lambda: byte_level(split_bytes([LLAMA3]), normalizer=normalizers.NFC()),
        "electra": lambda: bert(),
        "bert_accents": lambda: bert(lowercase=False, strip_accents=True),
        "bert_chinese": lambda: bert(handle_chinese_chars=False, strip_accents=False),
    }
