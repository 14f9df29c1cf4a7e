#!/usr/bin/env python3
"""Exports models with sizes that vary, for sized_scratch.py and sized_time.py.

    sized_models.py DIRECTORY [--list] [NAME...]

Writes DIRECTORY/NAME/forward.pt2 for every model of MODELS, or for those that
are named. Weights are random; models have three or four layers of width 128,
or images of up to 224 pixels a side. Needs torch and transformers, as
bench/requirements.txt has them. A model that is there is not exported again.
"""

import argparse
import os
import sys

import torch
import transformers as hf
from torch import nn
from torch.export import Dim

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             os.pardir, "models"))
import architectures  # noqa: E402
from architectures import SPECIAL, WORDS, Part  # noqa: E402

WIDTH, HEADS, INNER, LAYERS = 128, 4, 512, 4
LENGTH = 256
STACK = {"hidden_size": WIDTH, "intermediate_size": INNER,
         "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
PAIR = {"d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS,
        "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER, **SPECIAL}


def tokens(length, rows=1):
    return torch.randint(5, WORDS - 4, (rows, length))


# ---------------------------------------------------------------- texts

def encoder(kind, config):
    model = Part(kind(config), lambda m, ids: m(input_ids=ids)[0])
    return model, (tokens(33),), ({1: Dim("length", min=1, max=LENGTH)},)


def encoder_of_batches(kind, config):
    model = Part(kind(config), lambda m, ids: m(input_ids=ids)[0])
    return model, (tokens(33, 2),), ({0: Dim("batch", min=1, max=4),
                                      1: Dim("length", min=2, max=128)},)


def pair(kind, config):
    model = Part(kind(config), lambda m, ids, target: m(
        input_ids=ids, decoder_input_ids=target, use_cache=False)[0])
    return model, (tokens(33), tokens(17)), (
        {1: Dim("source", min=1, max=128)}, {1: Dim("target", min=1, max=128)})


def prefill(kind, config, **more):
    """All positions of a prompt, masked by a mask that is an input: the library
    makes its own mask by a function that torch.export cannot save."""
    def call(model, ids, mask):
        return model(input_ids=ids, attention_mask={
            name: mask for name in ("full_attention", "sliding_attention")
        } if config.model_type.startswith("gemma3") else mask,
            use_cache=False, **more)[0]
    length = Dim("length", min=2, max=LENGTH)
    mask = torch.full((33, 33), float("-inf")).triu(1)[None, None]
    return (Part(kind(config), call), (tokens(33), mask),
            ({1: length}, {2: length, 3: length}))


def decoder(**more):
    return {**STACK, **SPECIAL, "num_key_value_heads": 2,
            "max_position_embeddings": 512, **more}


class Whisper(nn.Module):
    """The library's encoder takes 30 seconds alone; this one takes less."""

    def __init__(self):
        super().__init__()
        self.encoder = hf.WhisperModel(hf.WhisperConfig(
            **PAIR, num_mel_bins=16, max_source_positions=128,
            max_target_positions=64, decoder_start_token_id=3)).encoder

    def forward(self, frames):
        gelu, encoder_ = nn.functional.gelu, self.encoder
        x = gelu(encoder_.conv2(gelu(encoder_.conv1(frames)))).permute(0, 2, 1)
        x = x + encoder_.embed_positions.weight[:x.shape[1]]
        for layer in encoder_.layers:
            x = layer(x, None, layer_head_mask=None)[0]
        return encoder_.layer_norm(x)


def whisper():
    return (Whisper(), (torch.randn(1, 16, 66),),
            ({2: 2 * Dim("half", min=1, max=128)},))


def torch_encoder():
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, batch_first=True)
    model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    return (model, (torch.randn(1, 33, WIDTH),),
            ({1: Dim("length", min=1, max=LENGTH)},))


def torch_pair():
    """Source and target length, with PyTorch's own layers."""
    model = nn.Transformer(WIDTH, HEADS, 3, 3, INNER, batch_first=True)
    model.encoder.enable_nested_tensor = False
    return (model, (torch.randn(1, 33, WIDTH), torch.randn(1, 17, WIDTH)),
            ({1: Dim("source", min=1, max=128)},
             {1: Dim("target", min=1, max=128)}))


# ---------------------------------------------------------------- images

def image(kind, config):
    """Height and width in multiples of 32."""
    model = Part(kind(config), lambda m, pixels: m(pixel_values=pixels)[0])
    return model, (torch.randn(1, 3, 96, 128),), (
        {2: 32 * Dim("h", min=2, max=7), 3: 32 * Dim("w", min=2, max=7)},)


def convolution(inputs, outputs, stride=1, size=3):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2), nn.ReLU())


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(convolution(3, 16, 2), convolution(16, 32))
        self.body = convolution(32, 32)
        self.tail = nn.Sequential(convolution(64, 16, 1, 1),
                                  nn.Conv2d(16, 8, 3, 1, 1))

    def forward(self, x):
        x = self.head(x)
        return self.tail(torch.cat([x, self.body(x)], 1)) + 0


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.downs = nn.ModuleList([convolution(3, 16), convolution(16, 32, 2),
                                    convolution(32, 64, 2)])
        self.ups = nn.ModuleList([convolution(96, 32), convolution(48, 16)])
        self.last = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        kept = []
        for down in self.downs:
            x = down(x)
            kept.append(x)
        for up, other in zip(self.ups, (kept[1], kept[0])):
            x = nn.functional.interpolate(x, scale_factor=2, mode="nearest")
            x = up(torch.cat([x, other], 1))
        return self.last(x)


class DenseNet(nn.Module):
    """Every layer reads the results of all layers before it."""

    def __init__(self):
        super().__init__()
        self.head = convolution(3, 16, 2)
        self.layers = nn.ModuleList([convolution(16 + 12 * i, 12)
                                     for i in range(5)])

    def forward(self, x):
        x = self.head(x)
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return nn.functional.avg_pool2d(x, 2)


class Pyramid(nn.Module):
    """Results at three scales, as detectors have them."""

    def __init__(self):
        super().__init__()
        self.downs = nn.ModuleList([convolution(3, 16, 2),
                                    convolution(16, 32, 2),
                                    convolution(32, 64, 2)])
        self.sides = nn.ModuleList([nn.Conv2d(c, 24, 1) for c in (16, 32, 64)])
        self.outs = nn.ModuleList([nn.Conv2d(24, 24, 3, 1, 1)
                                   for _ in range(3)])

    def forward(self, x):
        kept = []
        for down in self.downs:
            x = down(x)
            kept.append(x)
        results, above = [], None
        for i in (2, 1, 0):
            x = self.sides[i](kept[i])
            if above is not None:
                x = x + nn.functional.interpolate(above, scale_factor=2.0)
            above = x
            results.append(self.outs[i](x))
        return tuple(results)


class Inverted(nn.Module):
    """Inverted residuals with squeeze and excitation, as MobileNetV3's."""

    def __init__(self):
        super().__init__()
        self.head = convolution(3, 16, 2)
        self.blocks = nn.ModuleList()
        for inputs, outputs, stride in ((16, 16, 1), (16, 24, 2), (24, 24, 1),
                                        (24, 40, 2), (40, 40, 1)):
            wide = 4 * inputs
            self.blocks.append(nn.ModuleDict({
                "grow": nn.Sequential(nn.Conv2d(inputs, wide, 1),
                                      nn.Hardswish()),
                "deep": nn.Sequential(
                    nn.Conv2d(wide, wide, 3, stride, 1, groups=wide),
                    nn.Hardswish()),
                "gate": nn.Sequential(
                    nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide // 4, 1),
                    nn.ReLU(), nn.Conv2d(wide // 4, wide, 1),
                    nn.Hardsigmoid()),
                "shrink": nn.Conv2d(wide, outputs, 1)}))

    def forward(self, x):
        x = self.head(x)
        for block in self.blocks:
            y = block["deep"](block["grow"](x))
            y = block["shrink"](y * block["gate"](y))
            x = x + y if x.shape == y.shape else y
        return x


def sides(model, step, most):
    """Height and width in multiples of `step`."""
    return model, (torch.randn(1, 3, 8 * step, 12 * step),), (
        {2: step * Dim("h", min=2, max=most),
         3: step * Dim("w", min=2, max=most)},)


# ---------------------------------------------------------------- all

MODELS = {
    "bert": lambda: encoder(hf.BertModel, hf.BertConfig(
        **STACK, vocab_size=WORDS)),
    "bert-batches": lambda: encoder_of_batches(hf.BertModel, hf.BertConfig(
        **STACK, vocab_size=WORDS)),
    "distilbert": lambda: encoder(hf.DistilBertModel, hf.DistilBertConfig(
        dim=WIDTH, hidden_dim=INNER, n_layers=LAYERS, n_heads=HEADS,
        vocab_size=WORDS)),
    "roberta": lambda: encoder(hf.RobertaModel, hf.RobertaConfig(
        **STACK, **SPECIAL, max_position_embeddings=514)),
    "albert": lambda: encoder(hf.AlbertModel, hf.AlbertConfig(
        **STACK, embedding_size=64, **SPECIAL)),
    "electra": lambda: encoder(hf.ElectraModel, hf.ElectraConfig(
        **STACK, embedding_size=64, vocab_size=WORDS)),
    "mpnet": lambda: encoder(hf.MPNetModel, hf.MPNetConfig(
        **STACK, **SPECIAL, max_position_embeddings=514)),
    "deberta": lambda: encoder(hf.DebertaV2Model, hf.DebertaV2Config(
        **STACK, **SPECIAL)),
    "torch-encoder": torch_encoder,
    "t5-encoder": lambda: encoder(hf.T5EncoderModel, t5(4)),
    "whisper": whisper,
    "opt": lambda: encoder(hf.OPTForCausalLM, hf.OPTConfig(
        hidden_size=WIDTH, ffn_dim=INNER, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, word_embed_proj_dim=WIDTH,
        max_position_embeddings=512, **SPECIAL)),
    "gpt2": lambda: prefill(hf.GPT2LMHeadModel, hf.GPT2Config(
        n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=512,
        vocab_size=WORDS)),
    "gpt-neox": lambda: prefill(hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig(
        **STACK, **SPECIAL, max_position_embeddings=512)),
    "llama": lambda: prefill(hf.LlamaForCausalLM, hf.LlamaConfig(**decoder())),
    "qwen2": lambda: prefill(hf.Qwen2ForCausalLM, hf.Qwen2Config(**decoder())),
    "qwen3": lambda: prefill(hf.Qwen3ForCausalLM, hf.Qwen3Config(
        head_dim=32, **decoder())),
    "gemma": lambda: prefill(hf.GemmaForCausalLM, hf.GemmaConfig(
        head_dim=32, **decoder())),
    "phi": lambda: prefill(hf.PhiForCausalLM, hf.PhiConfig(**decoder())),
    "t5": lambda: pair(hf.T5ForConditionalGeneration, t5(3)),
    "marian": lambda: pair(hf.MarianMTModel, hf.MarianConfig(
        **PAIR, max_position_embeddings=512, activation_function="swish",
        decoder_start_token_id=0)),
    "bart": lambda: pair(hf.BartForConditionalGeneration, hf.BartConfig(
        **PAIR, max_position_embeddings=512, decoder_start_token_id=2)),
    "torch-pair": torch_pair,
    "resnet": lambda: image(hf.ResNetForImageClassification,
                            architectures.resnet("bottleneck")),
    "convnext": lambda: image(hf.ConvNextForImageClassification,
                              architectures.convnext()),
    "segformer": lambda: image(hf.SegformerForSemanticSegmentation,
                               architectures.segformer()),
    "regnet": lambda: image(hf.RegNetForImageClassification, hf.RegNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 2, 1],
        groups_width=16)),
    "plain": lambda: sides(Plain(), 2, 64),
    "unet": lambda: sides(UNet(), 4, 24),
    "dense": lambda: sides(DenseNet(), 4, 24),
    "pyramid": lambda: sides(Pyramid(), 8, 16),
    "inverted": lambda: sides(Inverted(), 8, 16),
}


def t5(layers):
    return hf.T5Config(d_model=WIDTH, d_kv=32, d_ff=INNER, num_layers=layers,
                       num_heads=HEADS, vocab_size=WORDS,
                       decoder_start_token_id=0)


def export(make, path):
    torch.manual_seed(0)
    model, inputs, sizes = make()
    if isinstance(model, Part):
        sizes = (sizes,)  # its inputs are one tuple
    with torch.no_grad():
        program = torch.export.export(model.eval(), inputs,
                                      dynamic_shapes=sizes, strict=False)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.export.save(program, path)


def main(models):
    """Exports those of `models`, functions by name, that the command names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    words = parser.parse_args()
    if words.list or words.directory is None:
        print("\n".join(models))
        return 0
    failed = 0
    for name in words.names or models:
        path = os.path.join(words.directory, name, "forward.pt2")
        if os.path.exists(path):
            continue
        try:
            export(models[name], path)
            print(f"{name}: exported", flush=True)
        except Exception as error:  # whatever the exporter raises
            failed += 1
            print(f"{name}: {type(error).__name__}: "
                  f"{str(error).splitlines()[0][:200]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(MODELS))
