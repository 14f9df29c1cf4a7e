"""Requests of the API of OpenAI, read from JSON. What is not understood is refused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from api_error import ApiError

MOST_CHOICES = 128
MOST_STOPS = 4
# Fields that say something about the caller, not about the text.
_IGNORED = ("user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key")
# Fields with the only values that are supported.
_FIXED: dict[str, tuple[Any, ...]] = {
    "tools": ([],), "tool_choice": ("none",), "functions": ([],), "function_call": ("none",),
    "response_format": ({"type": "text"},), "modalities": (["text"],), "audio": (),
    "parallel_tool_calls": (True, False), "suffix": ("",), "best_of": (1,), "echo": (False,),
    "dimensions": (), "prediction": (), "web_search_options": (), "reasoning_effort": (),
    "verbosity": (),
}


@dataclass
class TextRequest:
    """What both chats and completions ask for.

    Attributes:
      options: of `etx.serving.TextBatch.add`.
      stop: strings that end a text and are not part of it.
      logprobs: alternatives of each token to report; None: no log probabilities.
    """

    model: str
    options: dict[str, Any]
    stop: list[str]
    n: int
    logprobs: int | None
    stream: bool
    include_usage: bool
    messages: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[str | list[int]] = field(default_factory=list)


@dataclass
class EmbeddingRequest:
    model: str
    inputs: list[str | list[int]]
    is_base64: bool


class Fields:
    """Takes fields out of an object, and at the end refuses those that are left."""

    def __init__(self, body: bytes) -> None:
        try:
            self._left = json.loads(body)
        except (ValueError, RecursionError) as cause:
            raise ApiError(f"the body is not JSON: {cause}", code="invalid_json") from None
        if not isinstance(self._left, dict):
            raise ApiError("the body is not a JSON object", code="invalid_json")

    def take(self, name: str, default: Any = None) -> Any:
        value = self._left.pop(name, None)
        return default if value is None else value

    def text(self, name: str) -> str:
        value = self.take(name)
        if not isinstance(value, str) or not value:
            raise wrong(name, value, "a string")
        return value

    def flag(self, name: str) -> bool:
        value = self.take(name, False)
        if not isinstance(value, bool):
            raise wrong(name, value, "true or false")
        return value

    def number(self, name: str, low: float, high: float, default: Any = None) -> Any:
        value = self.take(name, default)
        if value is None:
            return None
        # NaN compares false with everything.
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            raise wrong(name, value, f"a number from {low:g} to {high:g}")
        return float(value)

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> Any:
        value = self.take(name, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise wrong(name, value, f"a whole number from {low} to {high}")
        return value

    def finish(self) -> None:
        for name in _IGNORED:
            self._left.pop(name, None)
        for name, value in self._left.items():
            if value is None:
                continue
            if name not in _FIXED:
                raise ApiError(
                    f"Unrecognized request argument supplied: {name}", param=name,
                    code="unknown_parameter",
                )
            if value not in _FIXED[name]:
                raise ApiError(
                    f"'{name}' is not supported by this server", param=name,
                    code="unsupported_parameter",
                )


def wrong(name: str, value: Any, expected: str) -> ApiError:
    shown = json.dumps(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    found = "is missing" if value is None else f"is {shown}"
    return ApiError(f"'{name}' {found}, expected {expected}", param=name, code="invalid_value")


def read_chat(body: bytes) -> TextRequest:
    fields = Fields(body)
    model = fields.text("model")
    messages = _messages(fields.take("messages"))
    wants = fields.flag("logprobs")
    top = fields.whole("top_logprobs", 0, 20)
    if top is not None and not wants:
        raise ApiError("'top_logprobs' needs 'logprobs': true", param="top_logprobs")
    longest = fields.whole("max_tokens", 1, 2**31 - 1)
    longest = fields.whole("max_completion_tokens", 1, 2**31 - 1, longest)
    request = _text_request(fields, model, longest or 2**31 - 1, (top or 0) if wants else None)
    request.messages = messages
    return request


def read_completion(body: bytes) -> TextRequest:
    fields = Fields(body)
    model = fields.text("model")
    prompts = _inputs(fields.take("prompt"), "prompt")
    longest = fields.whole("max_tokens", 1, 2**31 - 1, 16)
    request = _text_request(fields, model, longest, fields.whole("logprobs", 0, 5))
    request.prompts = prompts
    if len(prompts) * request.n > MOST_CHOICES:
        raise ApiError(f"prompts times n is more than {MOST_CHOICES}", param="n")
    return request


def read_embedding(body: bytes) -> EmbeddingRequest:
    fields = Fields(body)
    model = fields.text("model")
    inputs = _inputs(fields.take("input"), "input")
    form = fields.take("encoding_format", "float")
    if form not in ("float", "base64"):
        raise wrong("encoding_format", form, "float or base64")
    fields.finish()
    return EmbeddingRequest(model, inputs, form == "base64")


def _text_request(fields: Fields, model: str, longest: int, logprobs: int | None) -> TextRequest:
    temperature = fields.number("temperature", 0, 2, 1.0)
    top_p = fields.number("top_p", 0, 1, 1.0)
    options: dict[str, Any] = {
        "max_new_tokens": longest,
        "frequency_penalty": fields.number("frequency_penalty", -2, 2) or None,
        "presence_penalty": fields.number("presence_penalty", -2, 2) or None,
        "sequence_bias": _biases(fields.take("logit_bias", {})),
        # Not of OpenAI, but common: as in transformers.
        "repetition_penalty": fields.number("repetition_penalty", 1e-3, 1e3),
    }
    seed = fields.whole("seed", -(2**63), 2**63 - 1)
    top_k, min_p = fields.whole("top_k", 0, 2**31 - 1, 0), fields.number("min_p", 0, 1, 0.0)
    if temperature > 0 and top_p > 0:
        options |= {
            "do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": top_k,
            "min_p": min_p, "seed": None if seed is None else seed % 2**63,
        }
    stream = fields.flag("stream")
    more = fields.take("stream_options", {})
    if not isinstance(more, dict) or (more and not stream):
        raise ApiError("'stream_options' is an object, for 'stream': true", param="stream_options")
    request = TextRequest(
        model, options, _stops(fields.take("stop", [])), fields.whole("n", 1, MOST_CHOICES, 1),
        logprobs, stream, bool(more.get("include_usage")),
    )
    fields.finish()
    return request


def _stops(value: Any) -> list[str]:
    stops = [value] if isinstance(value, str) else value
    is_list = isinstance(stops, list) and len(stops) <= MOST_STOPS
    if not is_list or not all(isinstance(stop, str) and stop for stop in stops):
        raise wrong("stop", value, f"a string or up to {MOST_STOPS} strings that are not empty")
    return stops


def _biases(value: Any) -> list[tuple[int, float]] | None:
    expected = "an object from token ids to numbers from -100 to 100"
    if not isinstance(value, dict):
        raise wrong("logit_bias", value, expected)
    pairs = []
    for key, bias in value.items():
        is_number = isinstance(bias, (int, float)) and not isinstance(bias, bool)
        if not key.isascii() or not key.isdigit() or not is_number or not math.fabs(bias) <= 100:
            raise wrong("logit_bias", value, expected)
        pairs.append((int(key), float(bias)))
    return pairs or None


def _is_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int for item in value)


def _inputs(value: Any, name: str) -> list[str | list[int]]:
    """A text, texts, token ids, or lists of token ids."""
    if isinstance(value, str) or _is_ids(value):
        return [value]
    if isinstance(value, list) and 1 <= len(value) <= 2048:
        if all(isinstance(item, str) or _is_ids(item) for item in value):
            return value
    raise wrong(name, value, "a string, strings, token ids, or lists of token ids")


def _messages(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise wrong("messages", value, "a list of messages")
    return [_message(item, f"messages[{index}]") for index, item in enumerate(value)]


def _message(item: Any, where: str) -> dict[str, Any]:
    if not isinstance(item, dict) or not isinstance(item.get("role"), str):
        raise wrong(where, item, "an object with a role and content")
    content = item.get("content")
    if isinstance(content, list):  # parts; templates of text models take one string
        for part in content:
            is_text = isinstance(part, dict) and part.get("type") == "text"
            if not is_text or not isinstance(part.get("text"), str):
                raise ApiError(
                    f"'{where}.content' has a part that is no text, and the model reads text only",
                    param=f"{where}.content", code="unsupported_content",
                )
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise wrong(f"{where}.content", content, "a string or parts of text")
    return {**item, "content": content}
