"""`encode` and `decode` of an encoder-decoder model, of text or of speech."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.export import Dim
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from .._method_args import MethodArg
from ._decoder_only import (
    Sizes,
    accepted,
    cache_argument,
    ordinary_tokens,
    recorded,
    row_inputs,
)
from ._mixture import as_published
from ._state_cache import RecordingCache, StateCache


def cache_pair(own: Any, cross: Any, layers: int, is_filled: bool) -> EncoderDecoderCache:
    """One cache of two. `is_filled`: layers read the second one as it is, and do not
    compute their keys and values again."""
    # The constructor asks caches how long they are, which a traced one cannot answer.
    pair = EncoderDecoderCache(RecordingCache(), RecordingCache())
    pair.self_attention_cache, pair.cross_attention_cache = own, cross
    pair.is_updated = dict.fromkeys(range(layers), is_filled)
    return pair


def encoded(states: torch.Tensor) -> BaseModelOutput:
    """What an encoder returns. Mixtures of experts read the scores of its routers, which
    only training needs."""
    output = BaseModelOutput(last_hidden_state=states)
    output.router_logits = None
    return output


class EncoderDecoder(torch.nn.Module):
    """A model, its caches as buffers, and methods over them.

    `encode` calls the decoder too, for one token: that call fills the cross-attention
    cache. What it computes besides is not used, and PyTorch removes it.

    Args:
      model: the model.
      sizes: what the program is made for; `prompt` is the longest source of text.
      source: an example of the encoder's input: int64 [N, S], or floats.
      features: from the program's input to the encoder's, for speech; or None.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        sizes: Sizes,
        source: torch.Tensor,
        features: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.model, self.sizes, self.source, self.features = model, sizes, source, features
        self.is_text = not source.is_floating_point()
        own, cross = RecordingCache(), RecordingCache()
        states = self._states(source[:, :2] if self.is_text else source, None)
        recorded(model, cache_pair(own, cross, 0, False), cross, self._decoder_inputs(states, None))
        length = sizes.prompt if self.is_text else states.shape[1]
        self.width, self.layers = states.shape[2], len(cross.layers)
        stored = sizes.cache_dtype
        self.__dict__["own"] = StateCache(
            self, "self_cache", own, sizes.length, sizes.rows, dtype=stored
        )
        self.rows = self.__dict__["own"].rows
        self.__dict__["cross"] = StateCache(
            self, "cross_cache", cross, length, sizes.batch, dtype=stored
        )
        self.length = length  # of the source, as the decoder sees it
        if self.is_text:
            mask = torch.zeros(sizes.batch, length, dtype=torch.int64)
            self.register_buffer("source_mask", mask, persistent=False)

    def _states(self, source: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        encoder = self.model.get_encoder()
        if self.features is not None:
            source = self.features(source)
        if not self.is_text:
            source = source.to(self.model.dtype)
        with torch.no_grad():
            return encoder(source, **accepted(encoder, {"attention_mask": mask}))[0]

    def _decoder_inputs(self, states: torch.Tensor, mask: torch.Tensor | None) -> dict[str, Any]:
        token = torch.zeros(states.shape[0], 1, dtype=torch.int64)
        inputs = {
            "encoder_outputs": encoded(states),
            "decoder_input_ids": token,
            **accepted(self.model, {"output_router_logits": False}),
        }
        return inputs if mask is None else inputs | {"attention_mask": mask}

    def _fill(self, states: torch.Tensor, mask: torch.Tensor | None) -> None:
        rows = self.__dict__["cross"].rows
        rows.positions, rows.repeat, rows.is_filling = torch.arange(states.shape[1]), 1, True
        cache = cache_pair(RecordingCache(), self.__dict__["cross"], self.layers, False)
        self.model(
            **self._decoder_inputs(states, mask), **{cache_argument(self.model): cache, "use_cache": True}
        )

    def encode(self, input_ids, attention_mask):
        self.source_mask.zero_()
        self.source_mask.index_copy_(1, torch.arange(input_ids.shape[1]), attention_mask)
        self._fill(self._states(input_ids, attention_mask), attention_mask)

    def decode(self, input_ids, position, beam_rows=None):
        sizes, own, cross = self.sizes, self.__dict__["own"], self.__dict__["cross"]
        own.rows.positions, own.rows.table = position, beam_rows
        cross.rows.repeat, cross.rows.is_filling = sizes.beams, False
        arguments = accepted(
            self.model,
            {
                "decoder_position_ids": position[None].expand(sizes.rows, 1),
                "cache_position": position,
                "output_router_logits": False,
                "decoder_attention_mask": torch.ones(sizes.rows, sizes.length, dtype=torch.int64),
            },
        )
        if self.is_text:
            arguments["attention_mask"] = self.source_mask.repeat_interleave(sizes.beams, 0)
        states = torch.zeros(sizes.rows, self.length, self.width, dtype=self.model.dtype)
        logits = self.model(
            encoder_outputs=encoded(states),
            decoder_input_ids=input_ids,
            use_cache=True,
            **{cache_argument(self.model): cache_pair(own, cross, self.layers, True)},
            **arguments,
        ).logits
        return logits[:, -1].to(torch.float32)

    def compared(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of two tokens: by the methods, and by the model without a cache."""
        sizes = self.sizes
        vocabulary = self.model.config.get_text_config(decoder=True).vocab_size
        generator = torch.Generator().manual_seed(0)
        source, mask = torch.randn(self.source.shape, generator=generator), None
        if self.is_text:
            source = ordinary_tokens(vocabulary, sizes.batch, min(sizes.prompt, 12))
            mask = torch.ones_like(source)
            self.encode(source, mask)
        else:
            self.encode(source)
        count = min(sizes.length, 2)
        tokens = ordinary_tokens(vocabulary, sizes.rows, count)
        logits = [
            self.decode(tokens[:, i : i + 1], torch.tensor([i]), **row_inputs(sizes)) for i in range(count)
        ]
        states = self._states(source, mask).repeat_interleave(sizes.beams, 0)
        mask = None if mask is None else mask.repeat_interleave(sizes.beams, 0)
        inputs = self._decoder_inputs(states, mask)
        with as_published():
            wanted = self.model(**inputs | {"decoder_input_ids": tokens}, use_cache=False).logits
        return torch.stack(logits, 1), wanted.to(torch.float32)

    def methods(self) -> dict[str, dict[str, Any]]:
        """Examples of the arguments of each method."""
        sizes = self.sizes
        token = torch.ones(sizes.rows, 1, dtype=torch.int64)
        decode = {"input_ids": token, "position": torch.tensor([0]), **row_inputs(sizes)}
        if not self.is_text:
            name = "input_features" if self.source.dim() == 3 else "input_values"
            return {"encode": {name: self.source}, "decode": decode}
        ids: Any = torch.ones(sizes.batch, sizes.prompt, dtype=torch.int64)
        mask: Any = torch.ones(sizes.batch, sizes.prompt, dtype=torch.int64)
        if sizes.prompt > 1:
            dim = Dim("source", min=1, max=sizes.prompt)
            ids, mask = MethodArg(ids, {1: dim}), MethodArg(mask, {1: dim})
        return {"encode": {"input_ids": ids, "attention_mask": mask}, "decode": decode}


class SpeechFromFeatures(EncoderDecoder):
    """Its `encode` takes a log-mel spectrogram."""

    def encode(self, input_features):
        self._fill(self._states(input_features, None), None)


class SpeechFromSamples(EncoderDecoder):
    """Its `encode` takes samples."""

    def encode(self, input_values):
        self._fill(self._states(input_values, None), None)
