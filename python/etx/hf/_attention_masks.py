"""Masks of attention as plain comparisons of positions.

`transformers` makes masks by functions that it looks up by the name of the attention.
Its own ones leave masks out if no token is masked, which depends on values, and in some
versions use vmap, which torch.export cannot take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

_row_positions: ContextVar[torch.Tensor | None] = ContextVar("_row_positions", default=None)


def _allowed(
    batch_size: int,
    kv_length: int,
    mask_function: Callable[..., torch.Tensor],
    kv_offset: int = 0,
    attention_mask: torch.Tensor | None = None,
    cache_position: torch.Tensor | None = None,
    q_length: int = 0,
    q_offset: Any = 0,
    **_: Any,
) -> torch.Tensor:
    """bool [batch, 1, queries, keys]: which keys each query reads. Versions 4 of
    transformers give the positions of the queries, versions 5 their number and the first."""
    queries = _row_positions.get()
    if queries is None:
        queries = torch.arange(q_length) + q_offset if cache_position is None else cache_position
        queries = queries[None]
    keys = torch.arange(kv_length) + kv_offset
    rows = torch.arange(batch_size)
    allowed = mask_function(
        rows[:, None, None, None],
        torch.zeros(1, 1, 1, 1, dtype=torch.int64),
        queries[:, None, :, None],
        keys[None, None, None, :],
    )
    if attention_mask is not None:
        allowed = allowed & attention_mask.to(torch.bool)[:, None, None, :]
    return allowed.expand(batch_size, 1, queries.shape[1], kv_length)


def _as_bias(*, dtype: torch.dtype = torch.float32, **given: Any) -> torch.Tensor:
    return torch.where(_allowed(**given), 0.0, torch.finfo(dtype).min).to(dtype)


@contextmanager
def plain_masks() -> Iterator[None]:
    """Replaces the functions of transformers within the block."""
    from transformers.masking_utils import AttentionMaskInterface

    table = AttentionMaskInterface._global_mapping
    kept = {name: table[name] for name in ("sdpa", "eager")}
    table.update({"sdpa": _allowed, "eager": _as_bias})
    try:
        yield
    finally:
        table.update(kept)


@contextmanager
def positions_of_rows(positions: torch.Tensor) -> Iterator[None]:
    """Within the block, rows of queries have positions of their own, int64 [B, S], whatever
    the model says of them."""
    token = _row_positions.set(positions)
    try:
        yield
    finally:
        _row_positions.reset(token)
