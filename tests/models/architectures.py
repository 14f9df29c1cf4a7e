"""Small models of known architectures with random weights.

Two layers a stack, narrow, everything else as the library's configuration
class has it. `ARCHITECTURES` maps a name to a function that gives a `Sample`.
"""

from dataclasses import dataclass, field
from typing import Any, Callable

import torch
import transformers as hf

WORDS = 64  # size of every vocabulary


@dataclass
class Sample:
    """A model and the calls to make."""

    model: torch.nn.Module
    calls: list  # tuples of positional inputs; the first is the example
    keywords: list = field(default_factory=list)  # or dictionaries of inputs
    strict: bool = False
    dynamic: Any = None  # dimensions that vary, as torch.export takes them


class Part(torch.nn.Module):
    """A model seen through one function of its inputs."""

    def __init__(self, model: torch.nn.Module, call: Callable[..., Any]):
        super().__init__()
        self.model = model
        self.call = call

    def forward(self, *inputs):
        return self.call(self.model, *inputs)


def tokens(length: int) -> torch.Tensor:
    return torch.randint(5, WORDS - 4, (1, length))


def twice(make: Callable[[], tuple]) -> list:
    return [make(), make()]


# ---------------------------------------------------------------- text

NARROW = {"hidden_size": 64, "intermediate_size": 96,
          "num_hidden_layers": 2, "num_attention_heads": 4}
SPECIAL = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1,
           "eos_token_id": 2}
DECODER = {**NARROW, **SPECIAL, "num_key_value_heads": 2,
           "max_position_embeddings": 64}
PAIR = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, **SPECIAL}


def language(kind, config) -> Sample:
    """Token ids to logits, without a cache."""
    part = Part(kind(config), lambda m, i: m(input_ids=i, use_cache=False)[0])
    return Sample(part, twice(lambda: (tokens(12),)))


def encoder(kind, config) -> Sample:
    """Token ids and their mask; the second call masks some."""
    part = Part(kind(config),
                lambda m, i, a: m(input_ids=i, attention_mask=a)[0])
    half = torch.ones(1, 12, dtype=torch.int64)
    half[:, 9:] = 0
    return Sample(part, [(tokens(12), torch.ones_like(half)),
                         (tokens(12), half)])


def varying(sample: Sample, sizes: list) -> Sample:
    """The same over batches and lengths that vary."""
    batch = torch.export.Dim("batch", min=1, max=4)
    length = torch.export.Dim("length", min=2, max=48)
    count = len(sample.calls[0])
    sample.dynamic = (({0: batch, 1: length},) * count,)
    sample.calls = [
        (torch.cat([tokens(columns)] * rows),
         torch.ones(rows, columns, dtype=torch.int64))[:count]
        for rows, columns in sizes]
    return sample


def translator(kind, config) -> Sample:
    """Source ids, their mask, target ids."""
    part = Part(kind(config), lambda m, i, a, d: m(
        input_ids=i, attention_mask=a, decoder_input_ids=d,
        use_cache=False)[0])
    ones = torch.ones(1, 12, dtype=torch.int64)
    return Sample(part, twice(lambda: (tokens(12), ones, tokens(5))))


def cached(kind, config) -> Sample:
    """Decode steps over the library's static cache: a state."""
    from transformers.integrations.executorch import (
        TorchExportableModuleWithStaticCache)
    config.use_cache = True
    model = kind(config).eval()
    model.generation_config = hf.GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=32,
        cache_config={"batch_size": 1, "max_cache_len": 32, "device": "cpu"})
    steps = [{"input_ids": tokens(1), "cache_position": torch.tensor([at])}
             for at in range(4)]
    return Sample(TorchExportableModuleWithStaticCache(model), [], steps, True)


def bert(**more):
    return hf.BertConfig(**NARROW, vocab_size=WORDS,
                         max_position_embeddings=64, **more)


def marian():
    return hf.MarianConfig(**PAIR, max_position_embeddings=64,
                           activation_function="swish",
                           decoder_start_token_id=0, scale_embedding=True)


def bart():
    return hf.BartConfig(**PAIR, max_position_embeddings=64,
                         decoder_start_token_id=2)


def t5(**more):
    return hf.T5Config(d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4,
                       vocab_size=WORDS, decoder_start_token_id=0, **more)


def distilbert():
    return hf.DistilBertConfig(dim=64, hidden_dim=96, n_layers=2, n_heads=4,
                               vocab_size=WORDS)


def gpt2():
    return hf.GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=64,
                         vocab_size=WORDS)


def opt():
    return hf.OPTConfig(hidden_size=64, ffn_dim=96, num_hidden_layers=2,
                        num_attention_heads=4, word_embed_proj_dim=64,
                        max_position_embeddings=64, **SPECIAL)


def mamba():
    return hf.MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=8,
                          **SPECIAL)


def mamba2():
    return hf.Mamba2Config(hidden_size=32, num_hidden_layers=2, state_size=8,
                           num_heads=8, head_dim=8, n_groups=1, chunk_size=8,
                           **SPECIAL)


# ---------------------------------------------------------------- sound


def whisper():
    return hf.WhisperConfig(**PAIR, num_mel_bins=16, max_source_positions=30,
                            max_target_positions=20, decoder_start_token_id=3)


def whisper_encoder() -> Sample:
    part = Part(hf.WhisperModel(whisper()).encoder, lambda m, x: m(x)[0])
    return Sample(part, twice(lambda: (torch.randn(1, 16, 60),)))


def whisper_whole() -> Sample:
    part = Part(hf.WhisperForConditionalGeneration(whisper()),
                lambda m, x, d: m(input_features=x, decoder_input_ids=d,
                                  use_cache=False)[0])
    return Sample(part, twice(lambda: (torch.randn(1, 16, 60), tokens(5))))


def waves(kind, config) -> Sample:
    part = Part(kind(config), lambda m, x: m(x)[0])
    return Sample(part, twice(lambda: (torch.randn(1, 4000),)))


def speech(config, **more):
    return config(**NARROW, conv_dim=(16,) * 7, num_conv_pos_embeddings=16,
                  num_conv_pos_embedding_groups=4, **more)


# ---------------------------------------------------------------- images


def picture():
    return torch.randn(1, 3, 64, 64)


def images(kind, config) -> Sample:
    part = Part(kind(config), lambda m, x: m(pixel_values=x)[0])
    return Sample(part, twice(lambda: (picture(),)))


def resnet(kind):
    return hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 48, 64],
                           depths=[1, 1, 1, 1], layer_type=kind)


def vit():
    return hf.ViTConfig(**NARROW, image_size=64)


def convnext():
    return hf.ConvNextConfig(hidden_sizes=[16, 24, 32, 48],
                             depths=[1, 1, 1, 1])


def segformer():
    return hf.SegformerConfig(hidden_sizes=[16, 32, 40, 64],
                              depths=[1, 1, 1, 1], decoder_hidden_size=32)


def clip() -> Sample:
    text = {**NARROW, **SPECIAL}
    vision = {**NARROW, "image_size": 64}
    config = hf.CLIPConfig(text_config=text, vision_config=vision,
                           projection_dim=32)
    part = Part(hf.CLIPModel(config),
                lambda m, i, x: m(input_ids=i, pixel_values=x)[0])
    return Sample(part, twice(lambda: (tokens(12), picture())))


# ---------------------------------------------------------------- torch


def recurrent(layer) -> Sample:
    part = Part(layer, lambda m, x: m(x)[0])
    return Sample(part, twice(lambda: (torch.randn(1, 5, 8),)))


def transformer() -> Sample:
    layer = torch.nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
    part = Part(layer, lambda m, s, t: m(s, t))
    return Sample(part, twice(lambda: (torch.randn(1, 6, 32),
                                       torch.randn(1, 4, 32))))


ARCHITECTURES: dict[str, Callable[[], Sample]] = {
    "bert": lambda: encoder(hf.BertModel, bert()),
    "gpt2": lambda: language(hf.GPT2LMHeadModel, gpt2()),
    "llama": lambda: language(hf.LlamaForCausalLM, hf.LlamaConfig(**DECODER)),
    "qwen2": lambda: language(hf.Qwen2ForCausalLM, hf.Qwen2Config(**DECODER)),
    "qwen3": lambda: language(hf.Qwen3ForCausalLM,
                              hf.Qwen3Config(head_dim=16, **DECODER)),
    "t5": lambda: translator(hf.T5ForConditionalGeneration, t5()),
    "whisper": whisper_whole,
    "marian": lambda: translator(hf.MarianMTModel, marian()),
    "bart": lambda: translator(hf.BartForConditionalGeneration, bart()),
    "vit": lambda: images(hf.ViTModel, vit()),
    "resnet_bottleneck": lambda: images(hf.ResNetForImageClassification,
                                        resnet("bottleneck")),
    "mobilenet_v2": lambda: images(
        hf.MobileNetV2ForImageClassification,
        hf.MobileNetV2Config(image_size=64, depth_multiplier=0.25)),
    "wav2vec2": lambda: waves(hf.Wav2Vec2ForCTC,
                              speech(hf.Wav2Vec2Config, vocab_size=32)),
    "llama_static_cache": lambda: cached(hf.LlamaForCausalLM,
                                         hf.LlamaConfig(**DECODER)),
    "bert_varying": lambda: varying(encoder(hf.BertModel, bert()),
                                    [(2, 12), (1, 5), (4, 48)]),
    "llama_varying": lambda: varying(
        language(hf.LlamaForCausalLM, hf.LlamaConfig(**DECODER)),
        [(2, 12), (1, 5), (4, 48), (3, 2)]),
    "marian_encoder": lambda: encoder(
        lambda c: hf.MarianMTModel(c).get_encoder(), marian()),
    "t5_gated": lambda: translator(hf.T5ForConditionalGeneration,
                                   t5(feed_forward_proj="gated-gelu")),
    "whisper_encoder": whisper_encoder,
    "minilm_classifier": lambda: encoder(hf.BertForSequenceClassification,
                                         bert(num_labels=3)),
    "distilbert": lambda: encoder(hf.DistilBertModel, distilbert()),
    "qwen3_static_cache": lambda: cached(
        hf.Qwen3ForCausalLM, hf.Qwen3Config(head_dim=16, **DECODER)),
    "gemma": lambda: language(hf.GemmaForCausalLM,
                              hf.GemmaConfig(head_dim=16, **DECODER)),
    "gemma2": lambda: language(hf.Gemma2ForCausalLM,
                               hf.Gemma2Config(head_dim=16, **DECODER)),
    "gemma3_text": lambda: language(
        hf.Gemma3ForCausalLM, hf.Gemma3TextConfig(head_dim=16, **DECODER)),
    "phi3": lambda: language(hf.Phi3ForCausalLM, hf.Phi3Config(**DECODER)),
    "opt": lambda: language(hf.OPTForCausalLM, opt()),
    "mamba": lambda: language(hf.MambaForCausalLM, mamba()),
    "mamba2": lambda: language(hf.Mamba2ForCausalLM, mamba2()),
    "clip": clip,
    "resnet_basic": lambda: images(hf.ResNetForImageClassification,
                                   resnet("basic")),
    "mobilenet_v1": lambda: images(
        hf.MobileNetV1ForImageClassification,
        hf.MobileNetV1Config(image_size=64, depth_multiplier=0.25)),
    "convnext": lambda: images(hf.ConvNextForImageClassification, convnext()),
    "hubert": lambda: waves(hf.HubertModel, speech(hf.HubertConfig)),
    "segformer": lambda: images(hf.SegformerForSemanticSegmentation,
                                segformer()),
    "rwkv": lambda: language(hf.RwkvForCausalLM, hf.RwkvConfig(
        hidden_size=32, num_hidden_layers=2, attention_hidden_size=32,
        context_length=64, **SPECIAL)),
    "longt5": lambda: translator(
        hf.LongT5ForConditionalGeneration,
        hf.LongT5Config(d_model=64, d_kv=16, d_ff=96, num_layers=2,
                        num_heads=4, vocab_size=WORDS, local_radius=3,
                        decoder_start_token_id=0)),
    "convbert": lambda: encoder(hf.ConvBertModel, hf.ConvBertConfig(
        **NARROW, vocab_size=WORDS, embedding_size=64,
        max_position_embeddings=64)),
    "swin": lambda: images(hf.SwinModel, hf.SwinConfig(
        image_size=64, embed_dim=24, depths=[2, 2], num_heads=[2, 4],
        window_size=4)),
    "torch_lstm": lambda: recurrent(torch.nn.LSTM(8, 16, 2, batch_first=True)),
    "torch_gru": lambda: recurrent(torch.nn.GRU(8, 16, batch_first=True)),
    "torch_transformer": transformer,
}
