"""Models of `transformers`, exported as several methods over static caches, against
eager PyTorch over 32 greedy steps.

Small and with random weights: T5, Marian and Whisper as `encode` (which fills the
cross-attention cache) and `decode`, Llama as `prefill` and `decode`. What PyTorch
does in float32 is what etx has to do, up to the order of sums.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")
from torch.export import Dim
from transformers.cache_utils import EncoderDecoderCache, StaticCache
from transformers.modeling_outputs import BaseModelOutput

import etx
from etx import MethodArg

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS, STEPS, SOURCE, HEADS, WIDTH = 64, 32, 12, 4, 64
TOLERANCE = 2e-4
SPECIAL = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PAIR = {
    "d_model": WIDTH, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, **SPECIAL,
}


def static_cache(config, length: int, heads: int) -> StaticCache:
    cache = StaticCache(config=config, max_cache_len=length)
    cache.early_initialization(1, heads, WIDTH // HEADS, torch.float32, torch.device("cpu"))
    return cache


def register(module: torch.nn.Module, name: str, cache: StaticCache) -> None:
    """Buffers of the module that are the cache's own tensors."""
    for i, layer in enumerate(cache.layers):
        for part in ("keys", "values"):
            module.register_buffer(f"{name}_{part}_{i}", getattr(layer, part), persistent=False)


class Holder(torch.nn.Module):
    """A model, and caches as buffers, which a method writes again:
    torch.export replaces a module's buffers while it traces."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def add_cache(self, name: str, cache: StaticCache) -> None:
        register(self, name, cache)
        self.__dict__[name] = cache

    def current(self, name: str) -> StaticCache:
        cache = self.__dict__[name]
        for i, layer in enumerate(cache.layers):
            layer.keys = getattr(self, f"{name}_keys_{i}")
            layer.values = getattr(self, f"{name}_values_{i}")
        return cache


class EncoderDecoder(Holder):
    """`encode` runs the encoder and fills the cross-attention cache from it;
    `decode` reads that and appends to its own."""

    def __init__(self, model: torch.nn.Module, source: int) -> None:
        super().__init__(model)
        config = model.config
        self.source = source
        self.add_cache("self_cache", static_cache(config, STEPS, HEADS))
        self.add_cache("cross_cache", static_cache(config, source, HEADS))
        self.__dict__["caches"] = EncoderDecoderCache(
            self.__dict__["self_cache"], self.__dict__["cross_cache"]
        )

    def attentions(self):
        decoder = self.model.get_decoder()
        if hasattr(decoder, "block"):
            return [block.layer[1].EncDecAttention for block in decoder.block]
        return [layer.encoder_attn for layer in decoder.layers]

    def encode(self, x):
        states = self.model.get_encoder()(x)[0]
        for i, attention in enumerate(self.attentions()):
            key = getattr(attention, "k", None) or attention.k_proj
            value = getattr(attention, "v", None) or attention.v_proj
            shape = (1, self.source, HEADS, WIDTH // HEADS)
            self.get_buffer(f"cross_cache_keys_{i}").copy_(key(states).view(shape).transpose(1, 2))
            self.get_buffer(f"cross_cache_values_{i}").copy_(value(states).view(shape).transpose(1, 2))

    def decode(self, token, position):
        cache = self.__dict__["caches"]
        self.current("self_cache")
        self.current("cross_cache")
        cache.is_updated = dict.fromkeys(range(len(self.attentions())), True)
        states = torch.zeros(1, self.source, WIDTH)  # read from the cache instead
        mask = torch.where(torch.arange(STEPS) <= position, 0.0, float("-inf"))[None, None, None]
        is_whisper = self.model.config.model_type == "whisper"
        arguments = {"decoder_position_ids": position[None]} if is_whisper else {}
        return self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            decoder_input_ids=token,
            decoder_attention_mask=mask,
            cache_position=position,
            past_key_values=cache,
            use_cache=True,
            **arguments,
        ).logits


class Decoder(Holder):
    """`prefill` takes a prompt of any length, `decode` one token."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__(model)
        self.add_cache("cache", static_cache(model.config, STEPS + 8, 2))

    def run(self, tokens, positions):
        cache = self.current("cache")
        known = torch.arange(STEPS + 8)[None] <= positions[:, None]
        mask = torch.where(known, 0.0, float("-inf"))[None, None]
        return self.model(
            input_ids=tokens, position_ids=positions[None], attention_mask=mask,
            cache_position=positions, past_key_values=cache, use_cache=True,
        ).logits

    def prefill(self, tokens):
        return self.run(tokens, torch.arange(tokens.shape[1]))[:, -1:]

    def decode(self, token, position):
        return self.run(token, position)


def t5():
    config = hf.T5Config(
        d_model=WIDTH, d_kv=WIDTH // HEADS, d_ff=96, num_layers=2, num_heads=HEADS,
        vocab_size=WORDS, decoder_start_token_id=0,
    )
    return hf.T5ForConditionalGeneration(config), torch.randint(5, WORDS, (1, SOURCE))


def marian():
    config = hf.MarianConfig(
        **PAIR, max_position_embeddings=64, activation_function="swish",
        decoder_start_token_id=0, scale_embedding=True,
    )
    return hf.MarianMTModel(config), torch.randint(5, WORDS, (1, SOURCE))


def whisper():
    config = hf.WhisperConfig(
        **PAIR, num_mel_bins=16, max_source_positions=SOURCE, max_target_positions=STEPS + 4,
        decoder_start_token_id=3,
    )
    return hf.WhisperForConditionalGeneration(config), torch.randn(1, 16, 2 * SOURCE)


def greedy(decode, token: int, start: int, steps: int) -> tuple[list[int], np.ndarray]:
    """Tokens and scores of `steps` steps; `decode` takes a token and a position."""
    chosen, scores = [], []
    for position in range(start, start + steps):
        logits = np.asarray(decode(torch.tensor([[token]]), torch.tensor([position])))
        scores.append(logits.reshape(-1, WORDS)[-1])
        token = int(scores[-1].argmax())
        chosen.append(token)
    return chosen, np.stack(scores)


def compare(ours, theirs) -> None:
    assert np.abs(ours[1] - theirs[1]).max() < TOLERANCE
    assert ours[0] == theirs[0]


def load(exported, tmp_path, **options):
    exported.plan(tmp_path / "model.pte", **options)
    return etx.load(tmp_path / "model.pte").session()


ONE = {"token": torch.tensor([[3]]), "position": torch.tensor([0])}


@pytest.mark.parametrize("make", [t5, marian, whisper])
def test_encoder_and_decoder_share_caches(make, tmp_path):
    torch.manual_seed(11)
    model, source = make()
    module = EncoderDecoder(model.eval(), SOURCE)
    with torch.no_grad():
        exported = etx.export(module, {"encode": (source,), "decode": ONE})
        session = load(exported, tmp_path)
        assert len(session.program.state) == 8
        for _ in range(2):  # another source over the same session
            session.reset()
            session.encode(source)
            for buffer in module.buffers():
                if buffer.dim() == 4:
                    buffer.zero_()
            module.encode(source)
            compare(greedy(session.decode, 3, 0, STEPS), greedy(module.decode, 3, 0, STEPS))
            source = source.flip(1)


def test_llama_prefills_and_decodes(tmp_path):
    torch.manual_seed(12)
    config = hf.LlamaConfig(
        hidden_size=WIDTH, intermediate_size=96, num_hidden_layers=2, num_attention_heads=HEADS,
        num_key_value_heads=2, max_position_embeddings=64, **SPECIAL,
    )
    module = Decoder(hf.LlamaForCausalLM(config).eval())
    prompt = MethodArg(torch.ones(1, 4, dtype=torch.long), {1: Dim("length", min=1, max=8)})
    with torch.no_grad():
        session = load(etx.export(module, {"prefill": (prompt,), "decode": ONE}), tmp_path)
        for length in (5, 1, 8):
            tokens = torch.randint(5, WORDS, (1, length))
            session.reset()
            module.cache_keys_0.zero_()
            mine, theirs = session.prefill(tokens), module.prefill(tokens).numpy()
            assert np.abs(mine - theirs).max() < TOLERANCE
            first = int(theirs[0, -1].argmax())
            compare(
                greedy(session.decode, first, length, STEPS),
                greedy(module.decode, first, length, STEPS),
            )
