"""Generates text with the methods of a session; options as in transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _errors, _runtime

if TYPE_CHECKING:
    from ._session import Session

_STOPPING = {False: 0, True: 1, "never": 2}

# Options that the extension reads as they are, with the type of each.
_PLAIN: dict[str, type] = {
    "max_new_tokens": int,
    "min_new_tokens": int,
    "min_length": int,
    "num_beams": int,
    "length_penalty": float,
    "num_return_sequences": int,
    "do_sample": bool,
    "temperature": float,
    "top_k": int,
    "top_p": float,
    "min_p": float,
    "typical_p": float,
    "seed": int,
    "repetition_penalty": float,
    "frequency_penalty": float,
    "presence_penalty": float,
    "no_repeat_ngram_size": int,
    "forced_bos_token_id": int,
    "pad_token_id": int,
}
_TOKENS = ("eos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens")
_OTHERS = ("early_stopping", "bad_words_ids", "sequence_bias", "stop_strings")


@dataclass(frozen=True)
class GenerateOutput:
    """What `Session.generate(..., return_dict_in_generate=True)` returns.

    Attributes:
      sequences: int64 [texts, longest]: as `generate` returns them.
      sequences_scores: float64 [texts]: sums of log probabilities of beams,
        divided by length ** length_penalty; 0 without beams.
      lengths: tokens of each text, without padding behind it.
      ends: why each text ended: "end_token", "stop_string", "length" or
        "cancelled".
      drafted: tokens of drafts that the program checked.
      accepted: how many of them the text has.
    """

    sequences: np.ndarray
    sequences_scores: np.ndarray
    lengths: tuple[int, ...]
    ends: tuple[str, ...]
    drafted: int = 0
    accepted: int = 0


def _ids(value: Any, name: str) -> bytes:
    """Token ids, one or many, as bytes of int64."""
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise _errors.ArgumentError(f"{name} has {array.dtype}, expected token ids")
    return np.ascontiguousarray(array, dtype=np.int64).tobytes()


def _number(name: str, value: Any, kind: type) -> Any:
    try:
        number = kind(value)
    except (TypeError, ValueError) as cause:
        raise _errors.ArgumentError(f"{name} is {value!r}, expected {kind.__name__}") from cause
    if kind is int and number != value:
        raise _errors.ArgumentError(f"{name} is {value!r}, expected int")
    if kind is int and number < (-1 if name.endswith("_id") else 0):
        raise _errors.ArgumentError(f"{name} is {number}, expected 0 or more")
    return number


def _biases(value: Any) -> tuple[tuple[bytes, float], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    return tuple(
        (_ids([ids] if np.ndim(ids) == 0 else list(ids), "sequence_bias"), float(bias))
        for ids, bias in pairs
    )


def read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the extension takes them. None stands for the default."""
    read: dict[str, Any] = {}
    for name, value in options.items():
        if name not in (*_PLAIN, *_TOKENS, *_OTHERS):
            raise _errors.ArgumentError(
                f"generate has no option '{name}'",
                hint=f"it has {', '.join((*_PLAIN, *_TOKENS, *_OTHERS))}",
            )
        if value is None:
            continue
        if name in _PLAIN:
            read[name] = _number(name, value, _PLAIN[name])
        elif name in _TOKENS:
            read[name] = _ids(value, name)
        elif name == "early_stopping":
            if value not in _STOPPING:
                raise _errors.ArgumentError(
                    f"early_stopping is {value!r}, expected False, True or 'never'"
                )
            read[name] = _STOPPING[value]
        elif name == "bad_words_ids":
            read[name] = tuple(_ids(list(word), name) for word in value)
        elif name == "sequence_bias":
            read[name] = _biases(value)
        else:
            strings = [value] if isinstance(value, str) else value
            read[name] = tuple(string.encode() for string in strings)
    return read


def _texts_of(tokenizer: Any) -> Callable[[int], bytes]:
    """A function from a token to the bytes that it adds to a text.

    A tokenizer joins tokens differently at the beginning of a text, so tokens are
    joined behind another text, and what they add to it is theirs.
    """
    known: dict[int, bytes] = {}
    start: list[str] | None = None

    def text_of(token: int) -> bytes:
        nonlocal start
        if token in known:
            return known[token]
        if not hasattr(tokenizer, "convert_ids_to_tokens"):
            text = tokenizer(token)
        else:
            if start is None:
                start = tokenizer.tokenize("abcdef")
            first = tokenizer.convert_tokens_to_string(start)
            piece = tokenizer.convert_ids_to_tokens(token)
            text = "" if piece is None else tokenizer.convert_tokens_to_string([*start, piece])
            text = text[len(first) :]
        known[token] = text if isinstance(text, bytes) else str(text).encode()
        return known[token]

    return text_of


def _constant(session: Session, name: str, default: Any = None) -> Any:
    """What a constant method of the program returns."""
    constants = session.program.constants
    return constants[name] if name in constants else default


def _rows_of(ids: Any, name: str) -> np.ndarray:
    array = np.asarray(ids)
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
        raise _errors.ArgumentError(
            f"{name} is {array.dtype}{list(array.shape)}, expected token ids [texts, length]"
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def _padding_of(mask: Any, ids: np.ndarray) -> np.ndarray:
    """Tokens at the start of each row that are padding."""
    if mask is None:
        return np.zeros(len(ids), dtype=np.int64)
    array = np.asarray(mask)
    if array.ndim == 1:
        array = array[None]
    padding = (array != 0).argmax(axis=1)
    expected = np.arange(array.shape[-1])[None] >= padding[:, None]
    if array.shape != ids.shape or not np.array_equal(array != 0, expected):
        raise _errors.ArgumentError(
            f"attention_mask is {list(array.shape)} for input_ids {list(ids.shape)}",
            hint="expected the same sizes, with all padding at the start of rows "
            "(tokenizer.padding_side = 'left')",
        )
    return padding.astype(np.int64)


def _encode(session: Session, inputs: dict[str, Any], texts: int) -> np.ndarray:
    """Runs the encoder; returns the tokens that the decoder starts with."""
    names = [port.name for port in session.program.methods["encode"].inputs]
    for name in names:
        if name == "attention_mask" and inputs.get(name) is None:
            inputs[name] = np.ones(np.shape(inputs["input_ids"]), dtype=np.int64)
        if inputs.get(name) is None:
            raise _errors.ArgumentError(f"method 'encode' needs {name}")
    session.call("encode", *(inputs[name] for name in names))
    start = [int(_constant(session, "get_decoder_start_token_id", 0))]
    forced = _constant(session, "get_forced_decoder_ids")
    start += [] if forced is None else np.asarray(forced).reshape(-1).tolist()
    return np.tile(np.array(start, dtype=np.int64), (texts, 1))


def _stream(streamer: Any, on_token: Any, ids: np.ndarray) -> Callable[[int, int], Any] | None:
    if streamer is None:
        return on_token
    if len(ids) > 1:
        raise _errors.ArgumentError("a streamer takes one text", hint="use on_token")
    streamer.put(ids)

    def token(text: int, token_id: int) -> Any:
        streamer.put(np.array([token_id]))
        return None if on_token is None else on_token(text, token_id)

    return token


def _drafts(
    assistant_model: Session | None,
    draft_tokens: Callable[[np.ndarray, int], Iterable[int]] | None,
    numbers: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Where drafts come from, as the extension takes it. None and 0 stand for defaults."""
    numbers = {name: _number(name, value or 0, int) for name, value in numbers.items()}
    lookup = numbers["prompt_lookup_num_tokens"]
    given = [
        name
        for name, value in (
            ("assistant_model", assistant_model),
            ("prompt_lookup_num_tokens", lookup or None),
            ("draft_tokens", draft_tokens),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise _errors.ArgumentError(f"{' and '.join(given)} are given, expected one source of drafts")
    if assistant_model is not None:
        methods = assistant_model.methods
        if "decode" not in methods:
            raise _errors.ArgumentError(
                "assistant_model is no session of a program with the methods prefill and decode"
            )
        return ("assistant", methods.get("prefill"), methods["decode"], numbers["num_assistant_tokens"])
    if lookup:
        return ("lookup", lookup, numbers["max_matching_ngram_size"])
    if draft_tokens is None:
        return ()
    propose = draft_tokens

    def function(ids: bytes, most: int) -> bytes:
        return _ids(list(propose(np.frombuffer(ids, np.int64), most)), "draft_tokens")

    return ("function", function)


def _as_output(
    result: tuple[Sequence[tuple[bytes, float, str]], int, int], pad: int
) -> GenerateOutput:
    found, drafted, accepted = result
    texts = [np.frombuffer(ids, dtype=np.int64) for ids, _, _ in found]
    longest = max(len(ids) for ids in texts)
    sequences = np.full((len(texts), longest), pad, dtype=np.int64)
    for row, ids in zip(sequences, texts):
        row[: len(ids)] = ids
    return GenerateOutput(
        sequences,
        np.array([score for _, score, _ in found]),
        tuple(len(ids) for ids in texts),
        tuple(end for _, _, end in found),
        drafted,
        accepted,
    )


def _pad_of(session: Session, options: Mapping[str, Any]) -> int:
    """What follows a text that ended before others."""
    pad = options.get("pad_token_id", _constant(session, "get_pad_id", -1))
    if pad >= 0:
        return int(pad)
    ends = options.get("eos_token_id")
    if ends is None:
        ends = _ids(_constant(session, "get_eos_ids", []), "get_eos_ids")
    return int.from_bytes(ends[:8], "little")


def generate(
    session: Session,
    input_ids: Any = None,
    *,
    attention_mask: Any = None,
    input_features: Any = None,
    input_values: Any = None,
    decoder_input_ids: Any = None,
    max_length: int | None = None,
    cached_tokens: int = 0,
    tokenizer: Any = None,
    streamer: Any = None,
    on_token: Callable[[int, int], Any] | None = None,
    return_dict_in_generate: bool = False,
    assistant_model: Session | None = None,
    num_assistant_tokens: int | None = None,
    prompt_lookup_num_tokens: int | None = None,
    max_matching_ngram_size: int | None = None,
    draft_tokens: Callable[[np.ndarray, int], Iterable[int]] | None = None,
    **options: Any,
) -> np.ndarray | GenerateOutput:
    """See `Session.generate`."""
    read = read_options(options)
    drafts = _drafts(
        assistant_model,
        draft_tokens,
        {
            "num_assistant_tokens": num_assistant_tokens,
            "prompt_lookup_num_tokens": prompt_lookup_num_tokens,
            "max_matching_ngram_size": max_matching_ngram_size,
        },
    )
    methods = session.program.methods
    stride = 0
    if "encode" in methods:
        inputs = {
            "input_ids": None if input_ids is None else _rows_of(input_ids, "input_ids"),
            "attention_mask": attention_mask,
            "input_features": input_features,
            "input_values": input_values,
        }
        given = [value for value in inputs.values() if value is not None]
        texts = len(given[0]) if given else 0
        ids = _encode(session, inputs, texts)
        if decoder_input_ids is not None:
            ids = _rows_of(decoder_input_ids, "decoder_input_ids")
        stride = int(_constant(session, "get_num_beams", 0))
        padding = np.zeros(len(ids), dtype=np.int64)
    else:
        ids = _rows_of(input_ids, "input_ids")
        padding = _padding_of(attention_mask, ids)
    if max_length is not None and "max_new_tokens" not in read:
        read["max_new_tokens"] = max(0, int(max_length) - ids.shape[1])
    found = _runtime.generate(
        (
            session.methods["prefill"] if "prefill" in methods else None,
            session.methods["decode"],
            session.methods["verify"] if drafts and "verify" in methods else None,
        ),
        (ids.tobytes(), len(ids), padding.tobytes(), cached_tokens, stride),
        read,
        _stream(streamer, on_token, ids),
        None if tokenizer is None else _texts_of(tokenizer),
        drafts,
    )
    if streamer is not None:
        streamer.end()
    output = _as_output(found, _pad_of(session, read))
    return output if return_dict_in_generate else output.sequences


def _sample(
    logits: Any, input_ids: Any, prompt_length: int | None, draws: range, options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    row = np.ascontiguousarray(np.asarray(logits).reshape(-1), dtype=np.float32)
    ids = np.asarray(input_ids, dtype=np.int64).reshape(-1)
    read = read_options(options)
    prompt = ids.size if prompt_length is None else prompt_length
    if not 0 <= prompt <= ids.size:
        raise _errors.ArgumentError(f"prompt_length is {prompt}, input_ids has {ids.size}")
    longest = prompt + read.get("max_new_tokens", 20)
    shares, drawn = _runtime.sample(
        read, row.tobytes(), ids.tobytes(), prompt, longest, draws.start, len(draws)
    )
    return np.frombuffer(shares, np.float32), np.frombuffer(drawn, np.int64)


def token_probabilities(
    logits: Any, input_ids: Iterable[int] = (), *, prompt_length: int | None = None, **options: Any
) -> np.ndarray:
    """Probabilities of the next token, after all options: for a loop of your own.

    Args:
      logits: float32 [tokens of the vocabulary], of the last position.
      input_ids: the tokens so far, prompt and text.
      prompt_length: how many of them are the prompt; None: all.
      options: as of `Session.generate`, those of sampling among them.

    Returns:
      float32 [tokens of the vocabulary]; 0 for tokens that are left out.

    Raises:
      ArgumentError: an option is out of its range or leaves no token.
    """
    return _sample(logits, input_ids, prompt_length, range(0), options)[0]


def sample_tokens(
    logits: Any,
    input_ids: Iterable[int] = (),
    *,
    count: int = 1,
    first: int = 0,
    prompt_length: int | None = None,
    **options: Any,
) -> np.ndarray:
    """Draws the next token `count` times by these probabilities.

    Args:
      logits: float32 [tokens of the vocabulary], of the last position.
      input_ids: the tokens so far, prompt and text.
      count: draws.
      first: draws that were made with this seed before, which are skipped. The n-th
        token that `Session.generate` draws for one text is that of `first=n`, from 0.
      prompt_length: how many of the tokens so far are the prompt; None: all.
      options: as of `token_probabilities`; an equal `seed` draws equal tokens.

    Returns:
      int64 [count].

    Raises:
      ArgumentError: an option is out of its range or leaves no token.
    """
    for name, value in (("count", count), ("first", first)):
        if value < 0:
            raise _errors.ArgumentError(f"{name} is {value}, expected 0 or more")
    return _sample(logits, input_ids, prompt_length, range(first, first + count), options)[1]
