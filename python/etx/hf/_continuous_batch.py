"""`prefill` and `decode` of a decoder-only model whose rows are at positions of their own.

Texts start and end at any time: `prefill` writes one row of the caches, and `decode`
continues the first R rows, each at its position.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.export import Dim

from .._method_args import MethodArg
from ._attention_masks import positions_of_rows
from ._decoder_only import Sizes, accepted, cache_argument, ordinary_tokens, recorded
from ._older_attention import positions_of_queries
from ._state_cache import RecordingCache, StateCache, StateLayer


class _RowsLayer(StateLayer):
    """Keys and values of one layer, with [B * heads * L, width] as the buffers' sizes: a
    call writes lines of them, and reads one row or the first R rows.

    `rows.table` is the number of the one row, int64 [1]; None: the call has rows 0 to R-1.
    `rows.positions` is int64 [R, S].
    """

    def allocate(
        self, keys: torch.Tensor, values: torch.Tensor, batch: int, dtype: torch.dtype | None
    ) -> None:
        self.dtype, self.batch, self.heads = keys.dtype, batch, keys.shape[1]
        for name, like in zip(self.names, (keys, values)):
            size = (batch * self.heads * self.length, like.shape[3])
            stored = torch.zeros(size, dtype=dtype or like.dtype)
            self.owner.register_buffer(name, stored, persistent=False)

    def _read_stored(self, stored: torch.Tensor) -> torch.Tensor:
        rows = stored.view(self.batch, self.heads, self.length, stored.shape[1])
        if self.rows.table is not None:
            return rows.index_select(0, self.rows.table)
        return rows[: self.rows.positions.shape[0]]

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any):
        positions, row = self.rows.positions, self.rows.table
        if row is None:
            row = torch.arange(positions.shape[0])
        heads = row[:, None] * self.heads + torch.arange(self.heads)
        lines = (heads[:, :, None] * self.length + positions[:, None]).reshape(-1)
        for name, new in zip(self.names, (keys, values)):
            new = new.reshape(-1, new.shape[3])
            stored = getattr(self.owner, name)
            stored.index_copy_(0, lines, new.to(stored.dtype))
        return self.keys, self.values


class ContinuousBatch(torch.nn.Module):
    """A model, its caches as buffers, and methods over them."""

    def __init__(self, model: torch.nn.Module, sizes: Sizes) -> None:
        super().__init__()
        self.model, self.sizes = model, sizes
        # A window of attention is not in the whole mask of `_mask`.
        has_window = getattr(model.config.get_text_config(), "sliding_window", None) is not None
        maker = sys.modules[type(model).__module__]
        self.has_plain_masks = hasattr(maker, "create_causal_mask") or has_window
        recorder = RecordingCache()
        tokens = torch.ones(1, 2, dtype=torch.int64)
        recorded(model, recorder, recorder, {"input_ids": tokens})
        self.__dict__["cache"] = StateCache(
            self, "cache", recorder, sizes.length, sizes.batch, _RowsLayer, dtype=sizes.cache_dtype
        )

    def _run(self, input_ids, positions, row) -> torch.Tensor:
        """Logits [R, V] of the last token of each row; positions are int64 [R, S]."""
        cache = self.__dict__["cache"]
        cache.rows.positions, cache.rows.table = positions, row
        arguments = accepted(
            self.model,
            {"position_ids": positions, "cache_position": positions[0], "logits_to_keep": 1},
        )
        with positions_of_rows(positions), positions_of_queries(positions):
            logits = self.model(
                input_ids=input_ids, attention_mask=self._mask(positions), use_cache=True,
                **{cache_argument(self.model): cache}, **arguments,
            ).logits
        return logits[:, -1].to(torch.float32)

    def _mask(self, positions: torch.Tensor) -> torch.Tensor:
        """Nothing is padding; or for models of transformers 4 that make their masks
        themselves, from one position for all rows, the whole mask, which they take."""
        if self.has_plain_masks:
            return torch.ones(positions.shape[0], self.sizes.length, dtype=torch.int64)
        is_read = torch.arange(self.sizes.length) <= positions[:, None, :, None]
        dtype = self.model.dtype
        return torch.where(is_read, 0.0, torch.finfo(dtype).min).to(dtype)

    def prefill(self, input_ids, position, row):
        positions = (position + torch.arange(input_ids.shape[1]))[None]
        return self._run(input_ids, positions, row)

    def decode(self, input_ids, position):
        return self._run(input_ids, position[:, None], None)

    def compared(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of texts' ends: by the methods, and by the model without a cache. Each
        text has another length, so that rows are at different positions."""
        sizes = self.sizes
        vocabulary = self.model.config.get_text_config().vocab_size
        counts = [max(2, min(sizes.length, 24) - 5 * row) for row in range(min(sizes.batch, 4))]
        texts = [ordinary_tokens(vocabulary, 1, count) for count in counts]
        wanted = [self.model(input_ids=text, use_cache=False).logits[:, -1] for text in texts]
        for row, (text, count) in enumerate(zip(texts, counts)):
            for start in range(0, count - 1, sizes.prompt):
                part = text[:, start : min(start + sizes.prompt, count - 1)]
                self.prefill(part, torch.tensor([start]), torch.tensor([row]))
        last = torch.cat([text[:, -1:] for text in texts])
        found = self.decode(last, torch.tensor(counts) - 1)
        return found, torch.cat(wanted).to(torch.float32)

    def methods(self) -> dict[str, dict[str, Any]]:
        """Examples of the arguments of each method."""
        sizes = self.sizes
        prompt: Any = torch.ones(1, sizes.prompt, dtype=torch.int64)
        if sizes.prompt > 1:
            prompt = MethodArg(prompt, {1: Dim("length", min=1, max=sizes.prompt)})
        tokens: Any = torch.ones(sizes.batch, 1, dtype=torch.int64)
        positions: Any = torch.zeros(sizes.batch, dtype=torch.int64)
        if sizes.batch > 1:
            rows = Dim("rows", min=1, max=sizes.batch)
            tokens, positions = MethodArg(tokens, {0: rows}), MethodArg(positions, {0: rows})
        first = torch.tensor([0])
        return {
            "prefill": {"input_ids": prompt, "position": first, "row": first.clone()},
            "decode": {"input_ids": tokens, "position": positions},
        }
