"""A cache of `transformers` whose keys and values are buffers of a module.

The models write to it through `Cache.update`, and ask it how many positions it has.
Where rows go is said before each call, by the tensors of the module: so one graph is
right for every position, and nothing is counted in Python.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin, StaticCache


class _GrowingLayer(CacheLayerMixin):
    """A layer that returns what it is given: enough for the first call of a model."""

    is_compileable = False
    is_sliding = False

    def lazy_initialization(self, *given: Any) -> None:
        self.is_initialized = True

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any):
        self.keys, self.values = keys, values
        return keys, values

    def get_mask_sizes(self, query: Any) -> tuple[int, int]:
        return (query.shape[0] if isinstance(query, torch.Tensor) else query), 0

    def get_seq_length(self) -> int:
        return 0

    def get_max_cache_shape(self) -> int:
        return -1

    get_max_length = get_max_cache_shape


class RecordingCache(Cache):
    """Takes one call of a model and records which layers store what."""

    has_previous_state = True  # hybrid models of transformers 4 ask, whatever their layers are

    def __init__(self) -> None:
        Cache.__init__(self, layer_class_to_replicate=_GrowingLayer)


class Rows:
    """Which rows of the caches a call writes and reads, for all layers of a cache.

    Attributes:
      positions: int64 [S], the positions that the call writes.
      table: int64 [B, L], or None: the row that holds each position of each row.
      repeat: how often each row is read: beams of one source share its keys.
      is_filling: the call reads what it writes, and nothing else of the cache.
      as_number: models get the first position as a Python number instead of a tensor:
        some compare it with sizes.
    """

    def __init__(self) -> None:
        self.positions: torch.Tensor | None = None
        self.table: torch.Tensor | None = None
        self.repeat = 1
        self.is_filling = False
        self.as_number = False

    def first(self, length: int) -> Any:
        """The first position of the call."""
        if self.positions is None:
            return 0
        if not self.as_number:
            return self.positions[0]
        number = self.positions[0].item()
        torch._check(number >= 0)
        torch._check(number + self.positions.shape[0] <= length)
        return number


class StateLayer(CacheLayerMixin):
    """Keys and values of one layer, [B, heads, L, width], as buffers of `owner`."""

    is_compileable = True
    is_sliding = False

    def __init__(self, owner: torch.nn.Module, name: str, index: int, length: int, rows: Rows) -> None:
        super().__init__()
        self.dtype: torch.dtype | None = None  # of the model's keys and values
        self.owner, self.index, self.length, self.rows = owner, index, length, rows
        self.names = (f"{name}_keys_{index}", f"{name}_values_{index}")
        self.is_initialized = True

    def allocate(
        self, keys: torch.Tensor, values: torch.Tensor, batch: int, dtype: torch.dtype | None
    ) -> None:
        """Registers the buffers, for keys and values like the given ones, of their type
        or of `dtype`."""
        self.dtype = keys.dtype
        for name, like in zip(self.names, (keys, values)):
            size = (batch, like.shape[1], self.length, like.shape[3])
            stored = torch.zeros(size, dtype=dtype or like.dtype)
            self.owner.register_buffer(name, stored, persistent=False)

    def lazy_initialization(self, *given: Any) -> None:
        pass

    def _read(self, name: str) -> torch.Tensor:
        return self._read_stored(getattr(self.owner, name)).to(self.dtype)

    def _read_stored(self, stored: torch.Tensor) -> torch.Tensor:
        rows = self.rows
        if rows.repeat > 1:
            return stored.repeat_interleave(rows.repeat, 0)
        if rows.table is None:
            return stored
        # Row b's position j lies in row table[b, j].
        batch, heads, length, width = stored.shape
        flat = stored.transpose(1, 2).reshape(batch * length, heads * width)
        places = rows.table * length + torch.arange(length)
        found = torch.nn.functional.embedding(places, flat)
        return found.view(batch, length, heads, width).transpose(1, 2)

    # Models read keys and values of layers that they do not update: cross-attention.
    @property
    def keys(self) -> torch.Tensor:
        return self._read(self.names[0])

    @keys.setter
    def keys(self, value: None) -> None:
        assert value is None  # the base class clears them

    @property
    def values(self) -> torch.Tensor:
        return self._read(self.names[1])

    @values.setter
    def values(self, value: None) -> None:
        assert value is None

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any):
        positions = self.rows.positions
        for name, new in zip(self.names, (keys, values)):
            # The buffer is looked up in each call: torch.export replaces it.
            stored = getattr(self.owner, name)
            stored.index_copy_(2, positions, new.to(stored.dtype))
        return (keys, values) if self.rows.is_filling else (self.keys, self.values)

    def get_mask_sizes(self, query: Any) -> tuple[int, int]:
        return self.length, 0

    def get_seq_length(self) -> Any:
        return self.rows.first(self.length)

    def get_max_cache_shape(self) -> int:
        return self.length

    get_max_length = get_max_cache_shape


class StateCache(StaticCache):
    """All layers of a model. Some models share keys between layers: those layers exist,
    and have no buffers."""

    has_previous_state = True

    def __init__(
        self,
        owner: torch.nn.Module,
        name: str,
        recorded: RecordingCache,
        length: int,
        batch: int,
        layer_class: type[StateLayer] = StateLayer,
        rows: Rows | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        self.rows = Rows() if rows is None else rows
        layers = []
        for index, layer in enumerate(recorded.layers):
            layers.append(layer_class(owner, name, index, length, self.rows))
            if layer.keys is not None:
                layers[-1].allocate(layer.keys, layer.values, batch, dtype)
        Cache.__init__(self, layers=layers)
