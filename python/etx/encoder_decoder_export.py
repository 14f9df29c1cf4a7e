"""An encoder-decoder model of `transformers` in two methods, by ExecuTools' names.

    cache = EncoderDecoderCache(StaticCache(config, max_cache_len=80),
                                StaticCache(config, max_cache_len=40))
    wrapper = EncoderDecoderWrapper(model, cache, max_batch_size=4)
    exporter = MultiEntryPointExporter(wrapper)
    exporter.register_shared_buffers(wrapper.get_shared_fqn())

A program written for `execu_tools.encoder_decoder_export` runs with this module instead.
New programs use `etx.hf.export`: its methods give logits, so that the caller searches.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from . import _errors
from .hf._attention_masks import plain_masks
from .hf._decoder_only import accepted, cache_argument, recorded
from .hf._encoder_decoder import cache_pair
from .hf._state_cache import RecordingCache, Rows, StateCache, StateLayer

__all__ = ["EncoderDecoderWrapper"]


class _BatchLayer(StateLayer):
    """A layer whose calls use the first `rows.batch` rows, and `rows.count` positions."""

    def _read(self, name: str) -> torch.Tensor:
        rows: Any = self.rows
        found = getattr(self.owner, name).narrow(0, 0, rows.batch)
        return found if rows.count is None else found.narrow(2, 0, rows.count)

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any):
        for name, new in zip(self.names, (keys, values)):
            stored = getattr(self.owner, name).narrow(0, 0, new.shape[0])
            stored.index_copy_(2, self.rows.positions, new)
        return (keys, values) if self.rows.is_filling else (self.keys, self.values)


class _BatchRows(Rows):
    batch: Any = 1
    count: Any = None


def _tokens(value: Any) -> list[int]:
    return [] if value is None else [value] if isinstance(value, int) else [int(token) for token in value]


class EncoderDecoderWrapper(torch.nn.Module):
    """`reset_encode_prefill` and `decode` of greedy search. Caches, position, the last
    tokens and which texts have ended are buffers: `get_shared_fqn` names them.

    Args:
      model: the model; its generation_config says which token ends a text, which ones are
        never chosen (`suppress_tokens`, single `bad_words_ids`), and `max_length`.
      cache: an EncoderDecoderCache of two StaticCache; only their lengths are used. That
        of the encoder is the longest source.
      max_batch_size: most texts of a call. Default: that of the caches if they were used
        before, or else 1: a new StaticCache does not keep the number that it is given.

    Raises:
      ArgumentError: the cache is of another kind.
      UnsupportedError: the model does not store keys and values of attention.
    """

    def __init__(self, model: torch.nn.Module, cache: Any, max_batch_size: int | None = None) -> None:
        super().__init__()
        if not isinstance(cache, EncoderDecoderCache):
            raise _errors.ArgumentError(f"the cache is a '{type(cache).__name__}', expected an EncoderDecoderCache")
        own, cross = (
            getattr(part.layers[0], "max_cache_len", None) if part.layers else None
            for part in (cache.self_attention_cache, cache.cross_attention_cache)
        )
        if own is None or cross is None:
            raise _errors.ArgumentError("the caches have no fixed length, expected two of StaticCache")
        keys = cache.self_attention_cache.layers[0].keys
        batch = max_batch_size or (1 if keys is None else keys.shape[0])
        self.model, self.max_batch_size, self.source_length = model.eval(), batch, cross
        self.generation_config = model.generation_config
        # One position more: torch.export takes a part that may be the whole for a special case.
        self.__dict__["cache"] = self._caches(own, cross + 1)
        states = torch.zeros(batch, cross + 1, self.width, dtype=model.dtype)
        self.register_buffer("encoder_output", states)
        self.register_buffer("cache_position", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("next_tokens", torch.zeros(batch, 1, dtype=torch.int64))
        self.register_buffer("unfinished_sequences", torch.ones(batch, dtype=torch.int64))
        vocabulary = model.config.get_text_config(decoder=True).vocab_size
        forbidden = torch.zeros(vocabulary, dtype=torch.bool)
        settings = self.generation_config
        single = [words[0] for words in settings.bad_words_ids or [] if len(words) == 1]
        forbidden[single + _tokens(settings.suppress_tokens)] = True
        self.register_buffer("forbidden", forbidden, persistent=False)

    def _caches(self, own: int, cross: int) -> EncoderDecoderCache:
        """Caches whose layers are buffers of this module."""
        recorders = RecordingCache(), RecordingCache()
        with torch.no_grad():
            states = self.model.get_encoder()(torch.ones(1, 2, dtype=torch.int64))[0]
        self.width = states.shape[2]
        inputs = {
            "encoder_outputs": BaseModelOutput(last_hidden_state=states),
            "decoder_input_ids": torch.zeros(1, 1, dtype=torch.int64),
        }
        recorded(self.model, cache_pair(*recorders, 0, False), recorders[1], inputs)
        self.layers = len(recorders[1].layers)
        lengths, names = (own, cross), ("self_cache", "cross_cache")
        parts = [
            StateCache(self, name, recorder, length, self.max_batch_size, _BatchLayer, _BatchRows())
            for name, recorder, length in zip(names, recorders, lengths)
        ]
        return cache_pair(*parts, self.layers, False)

    def format_prompt(self, prompt: Any = None) -> torch.Tensor:
        """What the decoder begins with: int64 [1]."""
        start = self.generation_config.decoder_start_token_id
        start = self.model.config.decoder_start_token_id if start is None else start
        return torch.tensor([start], dtype=torch.int64)

    def get_shared_fqn(self) -> list[str]:
        """The full names of all buffers that the methods share."""
        own = {name for name, _ in self.named_buffers() if not name.startswith("model.")}
        return sorted(own - {"forbidden"})

    def _chosen(self, logits: torch.Tensor, before: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The tokens [b, 1] with the largest logits [b, V] after the tokens [b, t], and whether all
        texts have ended: bool []."""
        settings, batch = self.generation_config, logits.shape[0]
        ends = _tokens(settings.eos_token_id)
        length = torch.ones_like(before[0]).sum() + 1  # with the new token
        tokens = logits.masked_fill(self.forbidden, float("-inf")).argmax(-1)
        forced = _tokens(settings.forced_eos_token_id)
        if forced and settings.max_length is not None:
            tokens = torch.where(length == settings.max_length, forced[0], tokens)
        going = self.unfinished_sequences.narrow(0, 0, batch)
        if ends:
            padding = settings.pad_token_id if settings.pad_token_id is not None else ends[0]
            tokens = torch.where(going == 1, tokens, padding)
        for end in ends:
            going = going * (tokens != end).to(torch.int64)
        if settings.max_length is not None:
            going = going * (length < settings.max_length).to(torch.int64)
        self.unfinished_sequences.narrow(0, 0, batch).copy_(going)
        self.next_tokens.narrow(0, 0, batch).copy_(tokens[:, None])
        return tokens[:, None], going.max() == 0

    def _decoded(self, tokens, positions, mask, states, before, is_filling: bool):
        own, cross = (
            self.cache.self_attention_cache.rows, self.cache.cross_attention_cache.rows,
        )
        own.positions, own.batch = positions, tokens.shape[0]
        cross.positions, cross.batch, cross.count = torch.arange(mask.shape[1]), tokens.shape[0], mask.shape[1]
        cross.is_filling = is_filling
        pair = cache_pair(
            self.cache.self_attention_cache, self.cache.cross_attention_cache, self.layers, not is_filling
        )
        length = self.cache.self_attention_cache.layers[0].length
        arguments = accepted(self.model, {
            "decoder_position_ids": positions[None].expand(tokens.shape[0], -1),
            "cache_position": positions,
            "decoder_attention_mask": torch.ones(tokens.shape[0], length, dtype=torch.int64),
        })
        with plain_masks():
            logits = self.model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states), attention_mask=mask,
                decoder_input_ids=tokens, use_cache=True, **{cache_argument(self.model): pair}, **arguments,
            ).logits
        found, has_ended = self._chosen(logits[:, -1].to(torch.float32), before)
        return has_ended, found, torch.cat([before, found], 1)

    def _check(self, given: torch.Tensor) -> None:
        most = (self.max_batch_size, self.source_length)
        for name, size, limit in zip(("texts", "source tokens"), given.shape, most):
            if isinstance(size, int) and size > limit:
                raise _errors.RangeError(
                    f"the input has {size} {name}, the wrapper is made for {limit}",
                    hint="give EncoderDecoderWrapper max_batch_size, and a longer StaticCache",
                )

    def reset_encode_prefill(self, encoder_inputs, encoder_attention_mask, prefill_prompt):
        """Begins new texts.

        Args:
          encoder_inputs: int [b, s], the sources.
          encoder_attention_mask: [b, s], 1 or True for tokens, 0 for padding.
          prefill_prompt: int64 [p], what each text begins with: see `format_prompt`.

        Returns:
          Whether all texts have ended, bool []; prompt and first tokens, [b, p + 1], twice.
        """
        self._check(encoder_inputs)
        batch, count = encoder_inputs.shape
        mask = encoder_attention_mask.to(torch.int64)
        self.unfinished_sequences.zero_()
        self.unfinished_sequences.narrow(0, 0, batch).fill_(1)
        with plain_masks():
            states = self.model.get_encoder()(encoder_inputs.to(torch.int64), attention_mask=mask)[0]
        self.encoder_output.zero_()
        self.encoder_output.narrow(0, 0, batch).narrow(1, 0, count).copy_(states)
        prompt = prefill_prompt[None].expand(batch, -1)
        positions = torch.arange(prefill_prompt.shape[0])
        has_ended, _, texts = self._decoded(prompt, positions, mask, states, prompt, True)
        self.cache_position.fill_(prefill_prompt.shape[0])
        return has_ended, texts, texts.clone()

    def decode(self, encoder_inputs, encoder_attention_mask, past_decoder_outputs):
        """Continues the texts by one token each.

        Args:
          encoder_inputs, encoder_attention_mask: as before; only the sizes of the first count.
          past_decoder_outputs: int [b, t], the texts so far.

        Returns:
          Whether all texts have ended, bool []; the new tokens, [b, 1]; the texts, [b, t + 1].
        """
        self._check(encoder_inputs)
        batch, count = encoder_inputs.shape
        states = self.encoder_output.narrow(0, 0, batch).narrow(1, 0, count)
        tokens = self.next_tokens.narrow(0, 0, batch).clone()
        found = self._decoded(
            tokens, self.cache_position.clone(), encoder_attention_mask.to(torch.int64), states,
            past_decoder_outputs.to(torch.int64), False,
        )
        self.cache_position.add_(1)
        return found
