"""The tokenizer and the chat template that a program carries."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import jinja2.ext
import jinja2.sandbox
import numpy as np

from api_error import ApiError

_BYTE = re.compile("<0x[0-9A-Fa-f]{2}>")


class ProgramTokenizer:
    """Text to ids and back, by the packages `tokenizers` or `sentencepiece`."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        """Raises ValueError if the program has no tokenizer, or one that cannot be read."""
        blob = constants.get("tokenizer_blob")
        if blob is None:
            raise ValueError("the program has no tokenizer: export a checkpoint, or give etx.hf.export a tokenizer")
        self._bos = constants.get("get_bos_id")
        data = np.asarray(blob, dtype=np.uint8).tobytes()
        if constants.get("tokenizer_format") == "sentencepiece":
            import sentencepiece

            self._pieces = sentencepiece.SentencePieceProcessor(model_proto=data)
            self._fast = None
        else:
            import tokenizers

            self._fast = tokenizers.Tokenizer.from_str(data.decode())
            self._fast.no_padding()
            self._fast.no_truncation()
            added = self._fast.get_added_tokens_decoder()
            self._special = frozenset(i for i, token in added.items() if token.special)
            # Without such a decoder these are ordinary words.
            has_bytes = '"ByteFallback"' in data.decode()
            names = self._fast.get_vocab() if has_bytes else {}
            self._bytes = frozenset(i for name, i in names.items() if _BYTE.fullmatch(name))

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Ids of a text. `special`: with the tokens that the tokenizer puts around a text."""
        if self._fast is not None:
            return self._fast.encode(text, add_special_tokens=special).ids
        ids = self._pieces.encode(text)
        return [self._bos, *ids] if special and self._bos is not None else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, without special tokens."""
        if self._fast is not None:
            return self._fast.decode(list(ids), skip_special_tokens=True)
        return self._pieces.decode([int(i) for i in ids if not self.is_silent(i)])

    def is_silent(self, token_id: int) -> bool:
        """True for tokens without text: special ones, and those that only the model has,
        whose vocabulary may be larger."""
        if self._fast is not None:
            return token_id in self._special or self._fast.id_to_token(token_id) is None
        return token_id >= self._pieces.get_piece_size() or self._pieces.is_control(token_id)

    def is_byte(self, token_id: int) -> bool:
        """True for tokens of one byte, such as <0xE5>, that are decoded together with those
        beside them."""
        if self._fast is not None:
            return token_id in self._bytes
        return token_id < self._pieces.get_piece_size() and self._pieces.is_byte(token_id)

    def token(self, token_id: int) -> str:
        """The text of one token, special or not."""
        if self._fast is None:
            return self._pieces.decode([token_id]) or self._pieces.id_to_piece(token_id)
        return self._fast.decode([token_id], skip_special_tokens=False)

    def name(self, token_id: int | None) -> str | None:
        """How templates write a special token."""
        if token_id is None:
            return None
        if self._fast is not None:
            return self._fast.id_to_token(int(token_id))
        return self._pieces.id_to_piece(int(token_id))

    def find(self, name: str) -> int | None:
        """The id of a token by its name, or None."""
        if self._fast is not None:
            return self._fast.token_to_id(name)
        found = self._pieces.piece_to_id(name)
        return None if found == self._pieces.unk_id() else found


class _GenerationTag(jinja2.ext.Extension):
    """`{% generation %}` marks what a model wrote, for training; here it changes nothing."""

    tags = {"generation"}

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatTemplate:
    """Makes the prompt of a chat, in the environment that transformers gives templates."""

    def __init__(self, source: str, constants: Mapping[str, Any], tokenizer: ProgramTokenizer) -> None:
        """Raises ValueError if the template is wrong."""
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, "jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _as_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
        ends = np.atleast_1d(np.asarray(constants.get("get_eos_ids", []), dtype=np.int64)).tolist()
        tokens = {
            "bos_token": tokenizer.name(constants.get("get_bos_id")),
            "eos_token": tokenizer.name(ends[0] if ends else None),
            "pad_token": tokenizer.name(constants.get("get_pad_id")),
        }
        self._tokens = {name: token for name, token in tokens.items() if token is not None}
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as cause:
            raise ValueError(f"the chat template of the program is wrong: {cause}") from cause

    def render(self, messages: list[dict[str, Any]]) -> str:
        """The prompt, up to where the answer begins. Raises ApiError if the template
        refuses the messages."""
        try:
            return self._template.render(
                messages=messages, tools=None, documents=None, add_generation_prompt=True, **self._tokens
            )
        except (jinja2.TemplateError, TypeError, ValueError, KeyError) as cause:
            raise ApiError(
                f"the chat template refuses the messages: {cause}", param="messages",
                code="invalid_messages",
            ) from None


def _as_json(
    value: Any, ensure_ascii: bool = False, indent: int | None = None,
    separators: tuple[str, str] | None = None, sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)
