"""Models with a single call and random weights from a seed. `MODELS` maps names
to functions that give a module and its inputs.
"""

import torch
from torch import nn
from torch.nn import functional

import opus_mt
import other_models
from other_models import SEED, First, floats, seeded, with_statistics


def ids(count, vocabulary):
    generator = torch.Generator().manual_seed(SEED)
    return torch.randint(1, vocabulary, (1, count), generator=generator)


class Encode(nn.Module):
    """The translator's encoder with the keys and values that the decoder reads."""

    def __init__(self, count):
        super().__init__()
        self.encoder = opus_mt.Encoder(opus_mt.make(), count)

    def forward(self, x):
        return torch.cat(self.encoder(x), 1)


def encode(count):
    # END is 0 and PADDING is the last id: neither is drawn.
    return seeded(lambda: Encode(count)), (ids(count, opus_mt.PADDING),)


def bert():
    from transformers import BertConfig, BertModel
    model = seeded(lambda: BertModel(
        BertConfig(attn_implementation="eager"), add_pooling_layer=False))
    return First(model, "input_ids"), (ids(128, 30522),)


def whisper():
    from transformers import WhisperConfig, WhisperModel
    sizes = WhisperConfig(
        d_model=384, encoder_layers=4, decoder_layers=1,
        encoder_attention_heads=6, decoder_attention_heads=6,
        encoder_ffn_dim=1536, decoder_ffn_dim=64,
        attn_implementation="eager")
    model = seeded(lambda: WhisperModel(sizes).encoder)
    return First(model, "input_features"), (floats(1, 80, 3000),)


def resnet():
    from transformers import ResNetConfig, ResNetForImageClassification
    sizes = ResNetConfig(
        embedding_size=64, hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2], layer_type="basic", num_labels=1000)
    model = seeded(lambda: ResNetForImageClassification(sizes))
    return with_statistics(First(model, "pixel_values"),
                           (floats(1, 3, 224, 224),))


def mobilenet():
    from transformers import (MobileNetV2Config,
                              MobileNetV2ForImageClassification)
    sizes = MobileNetV2Config(tf_padding=False, num_labels=1000)
    model = seeded(lambda: MobileNetV2ForImageClassification(sizes))
    return with_statistics(First(model, "pixel_values"),
                           (floats(1, 3, 224, 224),))


# ---- a step of two Llama layers with a cache ----

# Grouped-query attention: four heads of queries share one of keys and values.
WIDTH, HEADS, KV_HEADS, HEAD, INNER, LAYERS = 1024, 16, 4, 64, 2816, 2
LIVE, CAPACITY = 128, 256


class RootNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return x * scale * self.weight


class LlamaLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = RootNorm(), RootNorm()
        self.q = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.k = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.v = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.o = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)
        self.register_buffer("keys", torch.zeros(1, KV_HEADS, CAPACITY, HEAD))
        self.register_buffer("values", torch.zeros(1, KV_HEADS, CAPACITY, HEAD))

    def rows(self, x, turn):
        y = self.before(x)
        return (turn(self.q(y).view(1, 1, HEADS, HEAD).transpose(1, 2)),
                turn(self.k(y).view(1, 1, KV_HEADS, HEAD).transpose(1, 2)),
                self.v(y).view(1, 1, KV_HEADS, HEAD).transpose(1, 2))

    def after(self, x, mixed):
        x = x + self.o(mixed.transpose(1, 2).reshape(1, 1, HEADS * HEAD))
        y = self.between(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def mix(q, keys, values, mask=None):
    keys = keys.repeat_interleave(HEADS // KV_HEADS, 1)
    values = values.repeat_interleave(HEADS // KV_HEADS, 1)
    return functional.scaled_dot_product_attention(q, keys, values,
                                                   attn_mask=mask)


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(LlamaLayer() for _ in range(LAYERS))
        rates = 500000.0 ** (-torch.arange(0, HEAD, 2).float() / HEAD)
        angles = torch.arange(CAPACITY).float()[:, None] * rates
        angles = torch.cat([angles, angles], 1)
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())
        self.register_buffer("places", torch.arange(CAPACITY))
        past = floats(2 * LAYERS, 1, KV_HEADS, CAPACITY, HEAD)
        for index, layer in enumerate(self.layers):
            layer.keys.copy_(past[2 * index])
            layer.values.copy_(past[2 * index + 1])

    def turn_at(self, position):
        cosine, sine = self.cosines[position], self.sines[position]

        def turn(x):
            first, second = x.chunk(2, -1)
            return x * cosine + torch.cat([-second, first], -1) * sine
        return turn


class LlamaInPlace(Llama):
    """The caches are state; only the new row is written."""

    def forward(self, x, position):
        turn = self.turn_at(position)
        seen = (self.places <= position).view(1, 1, 1, CAPACITY)
        for layer in self.layers:
            q, k, v = layer.rows(x, turn)
            layer.keys.index_copy_(2, position, k)
            layer.values.index_copy_(2, position, v)
            x = layer.after(x, mix(q, layer.keys, layer.values, seen))
        return x


class LlamaGrowing(Llama):
    """The caches are inputs and, one position longer, outputs: for libraries
    without state."""

    def forward(self, x, position, *past):
        turn, out = self.turn_at(position), []
        for index, layer in enumerate(self.layers):
            q, k, v = layer.rows(x, turn)
            keys = torch.cat([past[2 * index], k], 2)
            values = torch.cat([past[2 * index + 1], v], 2)
            out += [keys, values]
            x = layer.after(x, mix(q, keys, values))
        return (x, *out)


def llama():
    return (seeded(LlamaInPlace),
            (floats(1, 1, WIDTH), torch.tensor([LIVE])))


def llama_growing():
    model = seeded(LlamaGrowing)
    past = []
    for layer in model.layers:
        past += [layer.keys[:, :, :LIVE].clone(),
                 layer.values[:, :, :LIVE].clone()]
    return model, (floats(1, 1, WIDTH), torch.tensor([LIVE]), *past)


MODELS = {
    "encode-32": lambda: encode(32),
    "encode-128": lambda: encode(128),
    "bert-base-128": bert,
    "whisper-tiny-encoder": whisper,
    "llama-2-layer-step": llama,
    "mobilenet-v2": mobilenet,
    "resnet-18": resnet,
}
# These, and others that are made and measured only if they are named.
ALL = {**MODELS, **other_models.MODELS}
# Replacements for contenders without state.
STATELESS = {"llama-2-layer-step": llama_growing}
# Models that are also made with int8 weights.
INT8 = ["encode-32", "encode-128", "bert-base-128", "llama-2-layer-step"]
# Models that are also made with static quantisation.
STATIC = ["mobilenet-v2", "resnet-18", "mobilenet-v3", "resnet-50",
          "squeezenet", "shufflenet", "efficientnet-b0"]
