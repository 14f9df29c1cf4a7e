"""Encoders and decoders of known architectures, as deep as real ones.

Weights are random. Vocabularies are small and deep models are narrow, so that
files stay small; the memory plan depends on neither. `MODELS` maps a name to a
function that gives the methods, each a module and its inputs.
"""

from typing import Any, Callable

import torch
import transformers as hf

WORDS = 512  # size of every vocabulary
TOKENS = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1,
          "eos_token_id": 2}


class Part(torch.nn.Module):
    """A module whose `forward` is one function of another model."""

    def __init__(self, model: torch.nn.Module, call: Callable[..., Any]):
        super().__init__()
        self.model = model
        self.call = call

    def forward(self, *inputs):
        return self.call(self.model, *inputs)


def tokens(length):
    return torch.ones(1, length, dtype=torch.int64)


def translator(model, length, width):
    """A method that reads the source, one that continues the target."""
    encode = Part(model.get_encoder(),
                  lambda m, i, a: m(input_ids=i, attention_mask=a)[0])
    decode = Part(model.get_decoder(), lambda m, i, h, a: m(
        input_ids=i, encoder_hidden_states=h, encoder_attention_mask=a,
        use_cache=False)[0])
    return {"encode": (encode, (tokens(length), tokens(length))),
            "decode": (decode, (tokens(length), torch.rand(1, length, width),
                                tokens(length)))}


def marian(layers, width, heads, length):
    config = hf.MarianConfig(
        d_model=width, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
        activation_function="swish", decoder_start_token_id=0,
        scale_embedding=True, **TOKENS)
    return translator(hf.MarianModel(config), length, width)


def t5(layers, width, heads, inner, length):
    config = hf.T5Config(
        d_model=width, d_kv=width // heads, d_ff=inner, num_layers=layers,
        num_heads=heads, vocab_size=WORDS, decoder_start_token_id=0)
    return translator(hf.T5Model(config), length, width)


def whisper(layers, width, heads, frames):
    config = hf.WhisperConfig(
        d_model=width, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
        max_source_positions=frames, use_cache=False,
        decoder_start_token_id=3, **TOKENS)
    model = hf.WhisperModel(config)
    encode = Part(model.get_encoder(), lambda m, x: m(x)[0])
    decode = Part(model.get_decoder(), lambda m, i, h: m(
        input_ids=i, encoder_hidden_states=h, use_cache=False)[0])
    return {"encode": (encode, (torch.rand(1, 80, 2 * frames),)),
            "decode": (decode, (tokens(4), torch.rand(1, frames, width)))}


def bert(layers, width, heads, lengths):
    model = hf.BertModel(hf.BertConfig(
        hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=4 * width,
        vocab_size=WORDS), add_pooling_layer=False)
    part = Part(model, lambda m, i, a: m(input_ids=i, attention_mask=a)[0])
    return {f"length_{length}": (part, (tokens(length), tokens(length)))
            for length in lengths}


def llama(layers, width, heads, length):
    model = hf.LlamaForCausalLM(hf.LlamaConfig(
        hidden_size=width, intermediate_size=8 * width // 3,
        num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=heads // 2, use_cache=False, **TOKENS))
    part = Part(model, lambda m, i: m(input_ids=i, use_cache=False)[0])
    return {"forward": (part, (tokens(length),))}


MODELS: dict[str, Callable[[], dict]] = {
    "marian-6x512": lambda: marian(6, 512, 8, 64),
    "whisper-4x384": lambda: whisper(4, 384, 6, 1500),
    "t5-6x512": lambda: t5(6, 512, 8, 2048, 64),
    "llama-16x256": lambda: llama(16, 256, 8, 128),
    "llama-24x128": lambda: llama(24, 128, 4, 64),
    "marian-24x128": lambda: marian(24, 128, 4, 48),
}

# Planned by etx's lifetimes only: ExecuTorch's exporter takes too long.
DEEP: dict[str, Callable[[], dict]] = {
    "bert-48x128": lambda: bert(48, 128, 4, (16,)),
}
