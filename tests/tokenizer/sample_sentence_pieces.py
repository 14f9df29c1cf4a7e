"""SentencePiece models of every kind, trained on the text of sample_tokenizers."""

import io
import random
import tempfile
from pathlib import Path

import sentencepiece

import sample_tokenizers

KINDS = {
    "unigram": {"model_type": "unigram"},
    "unigram_bytes": {"model_type": "unigram", "byte_fallback": True, "vocab_size": 900},
    "bpe": {"model_type": "bpe"},
    "bpe_bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 900},
    "identity": {"model_type": "unigram", "normalization_rule_name": "identity"},
    "bpe_identity": {
        "model_type": "bpe", "normalization_rule_name": "identity", "byte_fallback": True, "vocab_size": 900,
        "add_dummy_prefix": False, "remove_extra_whitespaces": False, "split_digits": True,
    },
    "nfkc": {"model_type": "unigram", "normalization_rule_name": "nfkc_cf", "remove_extra_whitespaces": False},
    "suffix": {"model_type": "unigram", "treat_whitespace_as_suffix": True},
    "bpe_suffix": {"model_type": "bpe", "treat_whitespace_as_suffix": True, "allow_whitespace_only_pieces": True},
    "no_prefix": {"model_type": "unigram", "add_dummy_prefix": False},
    "symbols": {
        "model_type": "unigram", "user_defined_symbols": ["<user>", "é", "  ", "ab", "abc"],
        "control_symbols": ["<mask>"], "pad_id": 3,
    },
    "bpe_symbols": {
        "model_type": "bpe", "user_defined_symbols": ["<user>", "é", "the", "th"], "control_symbols": ["<2de>"],
        "unk_surface": "?", "character_coverage": 0.98,
    },
}


def corpus():
    draw = random.Random(5)
    lines = [sample_tokenizers.draw_text(draw) for _ in range(60)]
    lines += [" ".join(draw.choices(sample_tokenizers.WORDS, k=12)) for _ in range(600)]
    lines = [" ".join(line.split()) for line in lines]
    return [line for line in lines if line] + [
        "the quick brown fox abc ab <user> says it is not the first time", "größe und maß für alle",
    ] * 40


def train(**options):
    """The bytes of a model file."""
    out = io.BytesIO()
    options = {"vocab_size": 700, "character_coverage": 0.99, "hard_vocab_limit": False, "num_threads": 1, "minloglevel": 2} | options
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=out, **options)
    return out.getvalue()


# Small files that are recorded: without the maps of NFKC, which take 240 kB.
RULES = "41\t61\nFB01\t66 69\n65 301\tE9\n3000\t20\nAD\t\n"
RECORDED = {
    "pieces_unigram": {"model_type": "unigram", "user_defined_symbols": ["<user>", "ab"]},
    "pieces_bytes": {"model_type": "unigram", "byte_fallback": True, "vocab_size": 500},
    "pieces_bpe": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 500, "control_symbols": ["<2de>"]},
    "pieces_suffix": {
        "model_type": "bpe", "treat_whitespace_as_suffix": True, "user_defined_symbols": ["the", "th"],
    },
}


def recorded(name):
    """The bytes of a model of RECORDED."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        rules.write(RULES)
        rules.flush()
        options = {"vocab_size": 300, "normalization_rule_tsv": rules.name, "character_coverage": 0.98}
        data = train(**(options | RECORDED[name]))
        # The trainer writes the name of the file into the model.
        return data.replace(rules.name.encode(), b"r" * len(rules.name))
