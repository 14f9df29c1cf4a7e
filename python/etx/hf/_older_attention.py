"""Attention of models that take the last rows of a cache for the newest ones.

A cache of etx has a fixed length, and a call writes rows at positions that it is told. Two
models assume otherwise: GPT-Neo takes rows of a table of windows by the number of keys,
and MPT, in versions 4 of `transformers`, makes a mask as wide as the tokens so far.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import MethodType
from typing import Any

import torch

_positions: ContextVar[torch.Tensor | None] = ContextVar("_positions", default=None)

_MPT = "transformers.models.mpt.modeling_mpt"
_MPT_MASK = "_prepare_4d_causal_attention_mask"


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


@contextmanager
def fixed_caches(model: torch.nn.Module) -> Iterator[None]:
    """Replaces what such models assume within the block."""
    tables = [part for part in model.modules() if type(part).__name__ == "GPTNeoSelfAttention"]
    for part in tables:
        part.__dict__["_attn"] = MethodType(_attend, part)
    maker = sys.modules.get(_MPT)
    original = getattr(maker, _MPT_MASK, None)
    if original is not None:
        setattr(maker, _MPT_MASK, _mask_of_mpt)
    try:
        yield
    finally:
        for part in tables:
            del part.__dict__["_attn"]
        if original is not None:
            setattr(maker, _MPT_MASK, original)
