"""Tokenizers of `transformers` as tokenizers of the package `tokenizers`.

    get_fast_tokenizer(AutoTokenizer.from_pretrained(folder)).save("tokenizer.json")

A program written for `execu_tools.tokenizer_converters` runs with this module instead.
Needs transformers, and protobuf for tokenizers that are SentencePiece models.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from . import _errors

__all__ = ["get_fast_tokenizer"]

_RARE = -1e6
_LANGUAGE = re.compile(r">>.+<<")


def _score(piece: str, scores: dict[str, float]) -> float:
    """Pieces that only the other language has are needed for decoding. SentencePiece cannot
    find them in a text, but its unknown characters may be pieces: so those of one character
    come after all others, and longer ones are never better than their characters."""
    return scores.get(piece, _RARE if len(piece) == 1 else 2 * _RARE * len(piece))


def _marian(tokenizer: Any) -> Any:
    """A Marian tokenizer: pieces of the source's SentencePiece model, with the numbers of
    vocab.json, which has the pieces of both languages. Transformers has no converter for it."""
    from tokenizers import AddedToken, Tokenizer
    from tokenizers.models import Unigram
    from tokenizers.processors import TemplateProcessing
    from transformers.convert_slow_tokenizer import SpmConverter

    numbers: dict[str, int] = dict(tokenizer.encoder)
    end, unknown = tokenizer.eos_token, tokenizer.unk_token

    class MarianConverter(SpmConverter):
        def tokenizer(self, proto: Any) -> Tokenizer:
            if proto.trainer_spec.model_type != 1:
                raise _errors.UnsupportedError("the SentencePiece model of the source is not a unigram model")
            scores = {piece.piece: piece.score for piece in proto.pieces}
            pieces = {number: (piece, _score(piece, scores)) for piece, number in numbers.items()}
            count = max(pieces) + 1
            rows = [pieces.get(number, (f"<number {number}>", 9 * _RARE)) for number in range(count)]
            found = Tokenizer(Unigram(rows, unk_id=numbers[unknown], byte_fallback=False))
            found.add_special_tokens([
                AddedToken(token, normalized=False, special=True)
                for token in (end, unknown, tokenizer.pad_token) if token in numbers
            ])
            found.add_tokens([
                AddedToken(piece, normalized=False) for piece in numbers if _LANGUAGE.fullmatch(piece)
            ])
            return found

        def post_processor(self) -> TemplateProcessing:
            return TemplateProcessing(
                single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, numbers[end])]
            )

    return MarianConverter(SimpleNamespace(vocab_file=tokenizer.spm_files[0])).converted()


def converted(tokenizer: Any) -> Any:
    """The tokenizer as one of `tokenizers`, as it is stored in tokenizer.json.

    Args:
      tokenizer: a tokenizer of transformers.

    Raises:
      UnsupportedError: there is no way to convert it, or a package for it is missing.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        return backend
    try:
        if len(getattr(tokenizer, "spm_files", ())) == 2:
            return _marian(tokenizer)
        from transformers.convert_slow_tokenizer import convert_slow_tokenizer

        return convert_slow_tokenizer(tokenizer)
    except (ImportError, AttributeError, ValueError) as cause:
        raise _errors.UnsupportedError(
            f"'{type(tokenizer).__name__}' cannot be converted: {cause}",
            hint="SentencePiece models need: pip install sentencepiece protobuf",
        ) from cause


def get_fast_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer as a `tokenizers.Tokenizer`. Its `encode_batch` pads shorter texts on
    the side and with the token that the tokenizer names.

    Args:
      tokenizer: a tokenizer of transformers. It is not changed.

    Raises:
      UnsupportedError: there is no way to convert it, or a package for it is missing.
    """
    from tokenizers import Tokenizer

    found = Tokenizer.from_str(converted(tokenizer).to_str())
    if tokenizer.pad_token is not None:
        found.enable_padding(
            direction=tokenizer.padding_side, pad_id=tokenizer.pad_token_id,
            pad_token=tokenizer.pad_token,
        )
    return found
