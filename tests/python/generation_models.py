"""A small language model twice: for transformers, and as a program of etx.

Logits are a function of all tokens so far: each has an embedding, weighted by
where it is. transformers computes them from the whole text, the program from a
cache of embeddings that it fills token by token, with the inputs that programs of
`etx.hf` have.
"""

from __future__ import annotations

import torch
from torch.export import Dim

import etx

VOCAB, WIDTH, LENGTH, END = 31, 16, 48, 2


class Weights(torch.nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.register_buffer("embedding", torch.randn(VOCAB, WIDTH, generator=generator))
        self.register_buffer("head", torch.randn(WIDTH, VOCAB, generator=generator) * 1.5)
        self.register_buffer("waves", torch.rand(WIDTH, generator=generator) * 2 + 0.3)

    def logits(self, rows, age, is_live):
        """rows [B, L, WIDTH], age [B, L]: tokens since each, is_live [B, L]."""
        weight = torch.cos(age[..., None] * self.waves) * 0.8 ** age[..., None]
        mixed = torch.where(is_live[..., None], rows * weight, 0.0).sum(1)
        return torch.tanh(mixed) @ self.head


class Cached(torch.nn.Module):
    """The program: `prefill`, `decode` and `verify` over a cache of `rows` rows."""

    def __init__(self, seed: int, rows: int, beams: int) -> None:
        super().__init__()
        self.weights = Weights(seed)
        self.rows, self.beams = rows, beams
        self.register_buffer("cache", torch.zeros(rows, LENGTH, WIDTH))

    def step(self, input_ids, position, padding=None, beam_rows=None):
        count = input_ids.shape[1]
        places = position + torch.arange(count)
        self.cache.index_copy_(1, places, self.weights.embedding[input_ids])
        rows = self.cache
        if beam_rows is not None:
            rows = rows[beam_rows, torch.arange(LENGTH)[None]]
        age = position + count - 1 - torch.arange(LENGTH)
        is_live = (age >= 0)[None].expand(self.rows, LENGTH)
        if padding is not None:
            is_live = is_live & (torch.arange(LENGTH)[None] >= padding[:, None])
        age = age[None].expand(self.rows, LENGTH).clamp(min=0).to(torch.float32)
        return self.weights.logits(rows, age, is_live)

    def prefill(self, input_ids, position, padding=None, beam_rows=None):
        return self.step(input_ids, position, padding, beam_rows)

    def decode(self, input_ids, position, padding=None, beam_rows=None):
        return self.step(input_ids, position, padding, beam_rows)


    def verify(self, input_ids, position, padding=None, beam_rows=None):
        # Entries behind a token are younger than it, and do not count.
        ends = range(1, input_ids.shape[1] + 1)
        each = [self.step(input_ids[:, :end], position, padding, beam_rows) for end in ends]
        return torch.stack(each, 1)


def plan(
    path, seed: int, rows: int = 1, beams: int = 1, most: int = 6, ends=END, verified: int = 0
) -> etx.Program:
    """A program for `rows` rows, whose prefill takes up to `most` tokens, and whose
    verify takes `verified`."""
    model = Cached(seed, rows, beams).eval()

    def inputs(count, names):
        given = {
            "input_ids": etx.MethodArg(torch.ones(rows, count, dtype=torch.int64), names),
            "position": torch.zeros(1, dtype=torch.int64),
        }
        if rows > 1:
            given["padding"] = torch.zeros(rows, dtype=torch.int64)
        if beams > 1:
            table = torch.arange(rows)[:, None].expand(rows, LENGTH).contiguous()
            given["beam_rows"] = table
        return given

    etx.export(
        model,
        {
            "prefill": inputs(3, {1: Dim("count", max=most)}),
            "decode": inputs(1, {}),
            **({"verify": inputs(verified, {})} if verified else {}),
        },
        constants={"get_eos_ids": ends, "get_max_context_len": LENGTH, "get_vocab_size": VOCAB},
    ).plan(path)
    return etx.load(path)


def reference(seed: int):
    """The same model for `generate` of transformers."""
    from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutput

    class Config(PretrainedConfig):
        model_type = "etx_test"

        def __init__(self, **settings) -> None:
            self.vocab_size = VOCAB
            super().__init__(**settings)

    class Reference(PreTrainedModel, GenerationMixin):
        config_class = Config

        def __init__(self, config) -> None:
            super().__init__(config)
            self.weights = Weights(seed)
            # transformers asks the first parameter for the device.
            self.unused = torch.nn.Parameter(torch.zeros(1))
            self.post_init()

        def _init_weights(self, module) -> None:
            pass

        def forward(self, input_ids, attention_mask=None, **ignored):
            count = input_ids.shape[1]
            live = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            age = (count - 1 - torch.arange(count)).to(torch.float32)[None].expand_as(input_ids)
            rows = self.weights.embedding[input_ids]
            logits = self.weights.logits(rows, age, live != 0)
            return CausalLMOutput(logits=logits[:, None])

        def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **ignored):
            return {"input_ids": input_ids, "attention_mask": attention_mask}

    model = Reference(Config()).eval()
    model.generation_config.eos_token_id = END
    model.generation_config.pad_token_id = END
    model.generation_config.use_cache = False
    return model
