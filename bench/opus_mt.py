"""The translator that every contender uses: a Marian model of the size of the
opus-mt translators with random weights from a seed, or the small trained one of
the sample (shapes.py).

Exporters take a graph without the loop around it, so the parts of the model are
written out below in three forms: the encoder with the keys and values of the
decoder's cross-attention (called `crossing`); a decoder step whose cache is an input and, one
position longer, an output; and both as methods over buffers of a fixed size.
"""

import math
import os

import torch
from torch import nn
from torch.nn import functional

from shapes import (BATCH, CAPACITY, END, HEAD, HEADS, INNER, LAYERS, NAME,
                    PADDING, SEED, SOURCE, VOCABULARY, WIDTH)


def source(row=0):
    """32 tokens, the same in every run; the last is the end mark."""
    generator = torch.Generator().manual_seed(SEED + row)
    # END is 0 and PADDING is the last id: neither is drawn.
    ids = torch.randint(1, PADDING, (SOURCE,), generator=generator).tolist()
    ids[-1] = END
    return ids


def sources(rows):
    return torch.tensor([source(row) for row in range(rows)])


def configuration():
    from transformers import MarianConfig
    return MarianConfig(
        vocab_size=VOCABULARY, d_model=WIDTH,
        encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER, decoder_ffn_dim=INNER,
        activation_function="swish", max_position_embeddings=64 if NAME == "trained" else 512,
        scale_embedding=True, static_position_embeddings=True,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
        pad_token_id=PADDING, eos_token_id=END, bos_token_id=END,
        decoder_start_token_id=PADDING, forced_eos_token_id=None, dropout=0.0,
        attention_dropout=0.0, activation_dropout=0.0)


def make():
    """The model as a MarianMTModel of the package transformers."""
    return trained() if NAME == "trained" else random()


def trained():
    """The model with the weights of the sample's archives."""
    from transformers import MarianMTModel
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          os.pardir, "samples", "translate", "model", "pt2")
    model, weights = MarianMTModel(configuration()).eval(), {}
    for name in ("encode", "decode"):
        program = torch.export.load(os.path.join(folder, name + ".pt2"))
        weights.update(program.state_dict)
    wanted = model.state_dict()
    shared = weights["model.shared.weight"]
    model.load_state_dict(
        {name: weights.get(name, shared if value.shape == shared.shape
                           else value) for name, value in wanted.items()})
    model.generation_config.forced_eos_token_id = None
    return model


def random():
    """The model with random weights from the seed.

    Random weights alone give the same word at every step. Random signs in the last
    layer norm make the words vary, so that an error in the cache changes them. Translations
    never end early: the end mark and the padding have very low logits.
    """
    from transformers import MarianMTModel
    torch.manual_seed(SEED)
    model = MarianMTModel(configuration()).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(".bias"):
                weight.uniform_(-0.03, 0.03)
        last = model.model.decoder.layers[-1].final_layer_norm
        last.weight.copy_(1 - 2 * torch.randint(0, 2, (WIDTH,)).float())
        model.final_logits_bias.uniform_(-0.03, 0.03)
        model.final_logits_bias[0, [END, PADDING]] = -10000.0
    model.generation_config.forced_eos_token_id = None
    return model


def load(cache):
    from transformers import MarianMTModel
    path = os.path.join(cache, "transformers")
    return MarianMTModel.from_pretrained(path).eval()


def positions(count):
    """Position embeddings: sines in the first half of a row, cosines in the second."""
    rates = 10000.0 ** (-2.0 * torch.arange(WIDTH // 2).double() / WIDTH)
    angles = torch.arange(count).double()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1).float()


def split(x):
    return x.view(x.shape[0], -1, HEADS, HEAD).transpose(1, 2)


def join(x):
    return x.transpose(1, 2).reshape(x.shape[0], -1, WIDTH)


def feed_forward(layer, x):
    inner = functional.silu(layer.fc1(x))
    return layer.final_layer_norm(x + layer.fc2(inner))


class Encoder(nn.Module):
    """ids -> keys and values for each layer of the decoder: k0, v0, k1, ..."""

    def __init__(self, model, count=SOURCE):
        super().__init__()
        self.encoder = model.model.encoder
        self.crossings = nn.ModuleList(
            layer.encoder_attn for layer in model.model.decoder.layers)
        self.register_buffer("positions", positions(count), persistent=False)

    def forward(self, ids):
        x = self.encoder.embed_tokens(ids) * math.sqrt(WIDTH) + self.positions
        for layer in self.encoder.layers:
            own = layer.self_attn
            mixed = functional.scaled_dot_product_attention(
                split(own.q_proj(x)), split(own.k_proj(x)),
                split(own.v_proj(x)))
            x = layer.self_attn_layer_norm(x + own.out_proj(join(mixed)))
            x = feed_forward(layer, x)
        out = []
        for crossing in self.crossings:
            out.append(split(crossing.k_proj(x)).contiguous())
            out.append(split(crossing.v_proj(x)).contiguous())
        return tuple(out)


class Decoder(nn.Module):
    """One step; `attend(layer, q, k, v)` computes attention over the decoder's own cache."""

    def __init__(self, model, count):
        super().__init__()
        self.decoder = model.model.decoder
        self.head = model.lm_head
        self.register_buffer("head_bias", model.final_logits_bias.clone(),
                             persistent=False)
        self.register_buffer("positions", positions(count), persistent=False)

    def step(self, token, position, attend, crossings):
        x = self.decoder.embed_tokens(token) * math.sqrt(WIDTH)
        x = x + self.positions[position][None]
        for index, layer in enumerate(self.decoder.layers):
            own, crossing = layer.self_attn, layer.encoder_attn
            mixed = attend(index, split(own.q_proj(x)), split(own.k_proj(x)),
                           split(own.v_proj(x)))
            x = layer.self_attn_layer_norm(x + own.out_proj(join(mixed)))
            mixed = functional.scaled_dot_product_attention(
                split(crossing.q_proj(x)), crossings[2 * index],
                crossings[2 * index + 1])
            x = layer.encoder_attn_layer_norm(
                x + crossing.out_proj(join(mixed)))
            x = feed_forward(layer, x)
        return self.head(x)[:, 0] + self.head_bias


class GrowingDecoder(Decoder):
    """token, position, own cache, cross cache -> logits, own cache with one
    more position."""

    def __init__(self, model):
        super().__init__(model, CAPACITY)

    def forward(self, token, position, *caches):
        past, crossings = caches[:2 * LAYERS], caches[2 * LAYERS:]
        present = []

        def attend(index, q, k, v):
            k = torch.cat([past[2 * index], k], 2)
            v = torch.cat([past[2 * index + 1], v], 2)
            present.extend((k, v))
            return functional.scaled_dot_product_attention(q, k, v)

        logits = self.step(token, position, attend, crossings)
        return (logits, *present)


class Translator(Decoder):
    """The caches are buffers that two methods share, for `rows` sentences."""

    def __init__(self, model, rows=1):
        super().__init__(model, CAPACITY)
        self.source = Encoder(model)
        self.register_buffer("places", torch.arange(CAPACITY),
                             persistent=False)
        for index in range(LAYERS):
            for kind in "kv":
                own = torch.zeros(rows, HEADS, CAPACITY, HEAD)
                crossing = torch.zeros(rows, HEADS, SOURCE, HEAD)
                self.register_buffer(f"own_{kind}{index}", own)
                self.register_buffer(f"crossing_{kind}{index}", crossing)

    def encode(self, ids):
        out = self.source(ids)
        for index in range(LAYERS):
            getattr(self, f"crossing_k{index}").copy_(out[2 * index])
            getattr(self, f"crossing_v{index}").copy_(out[2 * index + 1])
        return torch.ones(1)

    def decode(self, token, position):
        seen = torch.where(self.places <= position, 0.0, -1e9)
        seen = seen.view(1, 1, 1, CAPACITY)

        def attend(index, q, k, v):
            keys = getattr(self, f"own_k{index}")
            values = getattr(self, f"own_v{index}")
            keys.index_copy_(2, position, k)
            values.index_copy_(2, position, v)
            return functional.scaled_dot_product_attention(
                q, keys, values, attn_mask=seen)

        crossings = []
        for index in range(LAYERS):
            crossings.append(getattr(self, f"crossing_k{index}"))
            crossings.append(getattr(self, f"crossing_v{index}"))
        return self.step(token, position, attend, crossings)

    def choose(self, token, position):
        """The next tokens: a greedy step that ends with argmax."""
        return self.decode(token, position).argmax(-1)


class Method(nn.Module):
    """One method of a Translator as a module, for exporters that take only
    `forward`."""

    def __init__(self, translator, name):
        super().__init__()
        self.model, self.name = translator, name

    def forward(self, *arguments):
        return getattr(self.model, self.name)(*arguments)


def method_examples(rows=1):
    return {"encode": (sources(rows),),
            "decode": (torch.full((rows, 1), PADDING), torch.tensor([3]))}


def cache_names():
    """Names of the growing decoder's inputs and outputs."""
    past, crossing, present = [], [], []
    for index in range(LAYERS):
        for kind in "kv":
            past.append(f"past_{kind}{index}")
            crossing.append(f"crossing_{kind}{index}")
            present.append(f"present_{kind}{index}")
    return past, crossing, present


def growing_examples():
    past = [torch.zeros(1, HEADS, 3, HEAD) for _ in range(2 * LAYERS)]
    crossing = [torch.zeros(1, HEADS, SOURCE, HEAD) for _ in range(2 * LAYERS)]
    return (torch.tensor([[PADDING]]), torch.tensor([3]), *past, *crossing)
