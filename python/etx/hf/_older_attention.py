"""Attention of models that take the last rows of a cache for the newest ones.

A cache of etx has a fixed length, and a call writes rows at positions that it is told. Some
models assume otherwise: GPT-Neo takes rows of a table of windows by the number of keys, and
in versions 4 of `transformers` MPT and NLLB-MoE make masks, and PhiMoE a table of rotations,
for as many tokens as there are so far. Hybrid models whose layers are all of attention make
a mask for other layers, by values.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MethodType
from typing import Any

import torch

from ._mixture import IS_4

_positions: ContextVar[torch.Tensor | None] = ContextVar("_positions", default=None)

_MODELS = "transformers.models."
_STATE_MASKS = ("_update_mamba_mask", "_update_linear_attn_mask")


@contextmanager
def positions_of_queries(positions: torch.Tensor) -> Iterator[None]:
    """Within the block, a call reads caches of fixed length; int64 [rows, S] are the positions
    of its queries, one row for all or one for each."""
    token = _positions.set(positions)
    try:
        yield
    finally:
        _positions.reset(token)


class _TableAtPositions:
    """The buffer `bias` of GPT-Neo's attention, bool [1, 1, positions, positions]. A slice
    of its last rows becomes the rows at the positions of the queries."""

    def __init__(self, table: torch.Tensor) -> None:
        self._table = table

    def __getitem__(self, at: Any) -> torch.Tensor:
        positions = _positions.get()
        if positions is None:
            return self._table[at]
        keys = at[3].stop
        rows = self._table[0, 0, :, :keys].index_select(0, positions.reshape(-1))
        return rows.view(positions.shape[0], 1, positions.shape[1], keys)


class _AtPositions:
    """GPT-Neo's attention with such a table, for a call of one of its methods."""

    def __init__(self, attention: torch.nn.Module) -> None:
        self._attention = attention
        self.bias = _TableAtPositions(attention.bias)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._attention, name)


def _attend(self: Any, *given: Any, **named: Any) -> Any:
    return type(self)._attn(_AtPositions(self), *given, **named)


def _no_mask(*_: Any, **__: Any) -> None:
    """Of recurrent layers, in a model that has none."""


def _mask_of_mpt(
    attention_mask: torch.Tensor, input_shape: tuple[int, int], embeddings: torch.Tensor, past: Any, **_: Any
) -> torch.Tensor:
    """[rows, 1, queries, keys], not zero where a query does not read a key."""
    if attention_mask.dim() == 4:
        return attention_mask
    positions = _positions.get()
    if positions is None:
        positions = (torch.arange(input_shape[1]) + past)[None]
    keys = torch.arange(attention_mask.shape[1])
    is_later = keys > positions[:, None, :, None]
    return is_later | (attention_mask == 0)[:, None, None, :]


def _bias_of_nllb(attention_mask: Any, shape: Any, embeddings: torch.Tensor, past: Any) -> torch.Tensor:
    """The same, added to the scores of attention."""
    given = torch.ones(*shape) if attention_mask is None else attention_mask
    is_hidden = _mask_of_mpt(given, shape, embeddings, past)
    return torch.where(is_hidden, torch.finfo(embeddings.dtype).min, 0.0).to(embeddings.dtype)


class _WavesAtPositions:
    """A table of cosines or sines [positions, width], of which only the rows that are read
    are computed."""

    def __init__(self, wave: Any, frequencies: torch.Tensor, scale: Any, dtype: torch.dtype) -> None:
        self._wave, self._frequencies, self._scale, self._dtype = wave, frequencies, scale, dtype

    def __getitem__(self, positions: torch.Tensor) -> torch.Tensor:
        angles = positions[..., None].to(torch.float32) * self._frequencies
        return (self._wave(torch.cat([angles, angles], -1)) * self._scale).to(self._dtype)


def _waves_of_phimoe(self: Any, x: torch.Tensor, seq_len: Any) -> tuple[Any, Any]:
    """Its table has as many rows as the text has tokens, a size that data decide."""
    scaling = self.config.rope_scaling
    if scaling is None:
        frequencies, scale = self.rope_init_fn(self.config, x.device, 1)
    else:
        limit = scaling["original_max_position_embeddings"]
        short, long = (self.rope_init_fn(self.config, x.device, limit + more)[0] for more in (0, 1))
        frequencies = torch.where(seq_len > limit, long, short)
        scale = torch.where(seq_len > limit, float(self.long_mscale), float(self.short_mscale))
    return tuple(_WavesAtPositions(wave, frequencies, scale, x.dtype) for wave in (torch.cos, torch.sin))


def _waves_of_phimoe_5(self: Any, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[Any, Any]:
    about = self.config.rope_parameters
    frequencies, scale = self.rope_init_fn(self.config)
    if about["rope_type"] != "default":
        is_long = position_ids.max() + 1 > about["original_max_position_embeddings"]
        scale = torch.where(is_long, float(about["long_mscale"]), float(about["short_mscale"]))
    waves = (_WavesAtPositions(wave, frequencies, scale, x.dtype) for wave in (torch.cos, torch.sin))
    return tuple(each[position_ids] for each in waves)


def _without_warning(forward: Any) -> Any:
    """PhiMoE compares the position with a limit, to warn of it, unless its cache is not its own."""

    @wraps(forward)
    def call(*given: Any, use_cache: Any = None, **named: Any) -> Any:
        return forward(*given, use_cache=False, **named)

    return call


_METHODS = {
    ("GPTNeoSelfAttention", "_attn"): _attend,
    ("PhimoeRotaryEmbedding", "forward"): _waves_of_phimoe if IS_4 else _waves_of_phimoe_5,
}
_FUNCTIONS = {
    ("mpt.modeling_mpt", "_prepare_4d_causal_attention_mask"): _mask_of_mpt,
    ("nllb_moe.modeling_nllb_moe", "_prepare_4d_causal_attention_mask"): _bias_of_nllb,
    ("nllb_moe.modeling_nllb_moe", "_prepare_4d_causal_attention_mask_for_sdpa"): _bias_of_nllb,
}


def _replaced_methods(model: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str, Any]]:
    for part in model.modules():
        if type(part).__name__ == "PhimoeForCausalLM":
            yield part, "forward", _without_warning(part.forward)
        for (kind, name), function in _METHODS.items():
            if type(part).__name__ == kind and hasattr(part, name):
                yield part, name, MethodType(function, part)
        for name in _STATE_MASKS:
            if hasattr(part, name):
                yield part, name, _no_mask


@contextmanager
def fixed_caches(model: torch.nn.Module) -> Iterator[None]:
    """Replaces what such models assume within the block."""
    methods = list(_replaced_methods(model))
    for part, name, function in methods:
        part.__dict__[name] = function
    functions = []
    for (module, name), function in _FUNCTIONS.items():
        maker = sys.modules.get(_MODELS + module)
        if hasattr(maker, name):
            functions.append((maker, name, getattr(maker, name)))
            setattr(maker, name, function)
    try:
        yield
    finally:
        for part, name, _ in methods:
            del part.__dict__[name]
        for maker, name, original in functions:
            setattr(maker, name, original)
