"""`prefill`, `decode` and `verify` of a decoder-only model."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim

from .. import _errors
from .._method_args import MethodArg
from ._mixture import as_published
from ._older_attention import positions_of_queries
from ._state_cache import RecordingCache, StateCache


@dataclass(frozen=True)
class Sizes:
    """The sizes that a program is made for.

    Attributes:
      batch: texts, or sources, of one call.
      beams: rows of the decoder for each text.
      length: positions of the caches.
      prompt: most tokens of one call of `prefill` or `encode`.
      verify: most tokens of one call of `verify`; 0: no such method.
      is_continuous: each row of the decoder is at a position of its own.
      cache_dtype: of keys and values in the caches; None: the model's.
    """

    batch: int
    beams: int
    length: int
    prompt: int
    verify: int = 0
    is_continuous: bool = False
    cache_dtype: torch.dtype | None = None

    @property
    def rows(self) -> int:
        return self.batch * self.beams


def accepted(module: torch.nn.Module, given: dict[str, Any]) -> dict[str, Any]:
    """Those arguments that the forward method of the module names."""
    named = inspect.signature(module.forward).parameters
    return {name: value for name, value in given.items() if name in named}


def cache_argument(module: torch.nn.Module) -> str:
    """The argument that takes a cache. Raises UnsupportedError if there is none."""
    named = inspect.signature(module.forward).parameters
    for name in ("past_key_values", "cache"):
        if name in named:
            return name
    raise _errors.UnsupportedError(
        f"'{type(module).__name__}' takes no cache of keys and values, so its tokens "
        "cannot be generated one by one",
        hint="task='feature-extraction' exports one call over all tokens",
    )


def states_of_layers(config: Any) -> list[str]:
    """Kinds of layers that have a recurrent state instead of keys and values."""
    text = config.get_text_config(decoder=True)
    kinds = getattr(text, "layers_block_type", None) or getattr(text, "layer_types", None) or ()
    return sorted({"mamba", "linear_attention", "conv", "recurrent"}.intersection(kinds))


def recorded(model: torch.nn.Module, cache: Any, recorder: RecordingCache, inputs: dict[str, Any]):
    """What the model stores in one call. Raises UnsupportedError if it stores something
    that is not keys and values of attention."""
    name = type(model).__name__
    states = states_of_layers(model.config)
    if states:
        raise _errors.UnsupportedError(
            f"'{name}' has layers of kind {', '.join(states)}, whose state is not a row for each token",
            hint="such models are exported with etx.export",
        )
    try:
        with torch.no_grad():
            model(**inputs, **{cache_argument(model): cache, "use_cache": True})
    except _errors.UnsupportedError:
        raise
    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError) as cause:
        raise _errors.UnsupportedError(
            f"'{name}' does not run over a cache of keys and values of each layer: {cause}",
            hint="models with recurrent state, such as Mamba, are exported with etx.export",
        ) from cause
    if not any(layer.keys is not None for layer in recorder.layers):
        raise _errors.UnsupportedError(
            f"'{name}' stores no keys and values in its cache",
            hint="models with recurrent state, such as Mamba, are exported with etx.export",
        )
    return recorder


def row_inputs(sizes: Sizes) -> dict[str, torch.Tensor]:
    """Examples of the inputs that say which rows a call reads."""
    if sizes.beams == 1:
        return {}
    return {"beam_rows": torch.arange(sizes.rows)[:, None].repeat(1, sizes.length)}


def ordinary_tokens(vocabulary: int, *shape: int) -> torch.Tensor:
    """Always the same tokens, from the middle of the vocabulary: special ones, such as
    padding, which some models skip, are at its ends."""
    generator = torch.Generator().manual_seed(0)
    low = vocabulary // 4
    return torch.randint(low, max(3 * vocabulary // 4, low + 1), shape, generator=generator)


class DecoderOnly(torch.nn.Module):
    """A model, its caches as buffers, and methods over them."""

    def __init__(self, model: torch.nn.Module, sizes: Sizes) -> None:
        super().__init__()
        self.model, self.sizes = model, sizes
        recorder = RecordingCache()
        tokens = torch.ones(1, 2, dtype=torch.int64)
        recorded(model, recorder, recorder, {"input_ids": tokens})
        self.__dict__["cache"] = StateCache(
            self, "cache", recorder, sizes.length, sizes.rows, dtype=sizes.cache_dtype
        )
        self.rows = self.__dict__["cache"].rows

    def _run(self, input_ids, position, padding, beam_rows, keep: int) -> torch.Tensor:
        length, count = self.sizes.length, input_ids.shape[1]
        positions = position + torch.arange(count)
        cache = self.__dict__["cache"]
        cache.rows.positions, cache.rows.table = positions, beam_rows
        if padding is None:
            padding = torch.zeros(input_ids.shape[0], dtype=torch.int64)
        mask = (torch.arange(length)[None] >= padding[:, None]).to(torch.int64)
        arguments = accepted(
            self.model,
            {
                "position_ids": (positions[None] - padding[:, None]).clamp(min=0),
                "cache_position": positions,
                "logits_to_keep": keep,
                "output_router_logits": False,
            },
        )
        with positions_of_queries(positions[None]):
            logits = self.model(
                input_ids=input_ids, attention_mask=mask, use_cache=True,
                **{cache_argument(self.model): cache}, **arguments,
            ).logits
        return logits[:, -keep:].to(torch.float32)

    def prefill(self, input_ids, position, padding=None, beam_rows=None):
        return self._run(input_ids, position, padding, beam_rows, 1)[:, -1]

    def decode(self, input_ids, position, padding=None, beam_rows=None):
        return self._run(input_ids, position, padding, beam_rows, 1)[:, -1]

    def verify(self, input_ids, position, padding=None, beam_rows=None):
        return self._run(input_ids, position, padding, beam_rows, 0)

    def compared(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of two texts' ends: by the methods, and by the model without a cache."""
        sizes = self.sizes
        count = min(sizes.length, 24)
        part = min(sizes.prompt, max(count - 2, 1))
        vocabulary = self.model.config.get_text_config().vocab_size
        tokens = ordinary_tokens(vocabulary, sizes.rows, count)
        rest = row_inputs(sizes)
        logits, start = [], 0
        while start < count:
            size = min(part, count - 2 - start) if start < count - 2 else 1
            call = self.prefill if start < count - 2 else self.decode
            logits.append(call(tokens[:, start : start + size], torch.tensor([start]), **rest))
            start += size
        with as_published():
            wanted = self.model(input_ids=tokens, use_cache=False).logits[:, -2:]
        return torch.stack(logits[-2:], 1)[:, -wanted.shape[1] :], wanted.to(torch.float32)

    def methods(self) -> dict[str, dict[str, Any]]:
        """Examples of the arguments of each method."""
        sizes = self.sizes
        rest: dict[str, Any] = {"position": torch.tensor([0])}
        if sizes.rows > 1:
            rest["padding"] = torch.zeros(sizes.rows, dtype=torch.int64)
        rest |= row_inputs(sizes)

        def tokens(count: int) -> torch.Tensor:
            return torch.ones(sizes.rows, count, dtype=torch.int64)

        prompt: Any = tokens(sizes.prompt)
        if sizes.prompt > 1:
            prompt = MethodArg(prompt, {1: Dim("length", min=1, max=sizes.prompt)})
        methods = {"prefill": {"input_ids": prompt, **rest}, "decode": {"input_ids": tokens(1), **rest}}
        if sizes.verify:
            drafted: Any = tokens(sizes.verify)
            if sizes.verify > 1:
                drafted = MethodArg(drafted, {1: Dim("drafted", min=1, max=sizes.verify)})
            methods["verify"] = {"input_ids": drafted, **rest}
        return methods
