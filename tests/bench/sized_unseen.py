#!/usr/bin/env python3
"""Exports more models with sizes that vary, for sized_work.py.

    sized_unseen.py DIRECTORY [--list] [NAME...]

These were written after the passes that they check, from descriptions of
architectures: what they have in common with sized_models.py is that sizes vary.
They split, crop, shift and join tensors of varying sizes in more ways. Weights
are random. Needs torch and transformers, as bench/requirements.txt has them.
"""

import math
import sys

import torch
import transformers as hf
from torch import nn
from torch.export import Dim

from sized_models import (HEADS, INNER, LENGTH, SPECIAL, STACK, WIDTH, WORDS,
                          convolution, decoder, image, main, prefill, sides,
                          tokens)


def frames(model, width, step=1, least=2, most=64, count=20):
    """Sequences [1, frames, width] whose length is a multiple of `step`."""
    return model, (torch.randn(1, count * step, width),), (
        {1: step * Dim("frames", min=least, max=most)},)


def split_heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(2)


# ---------------------------------------------------------------- speech

class RelativeAttention(nn.Module):
    """Transformer-XL's: scores of distances, shifted by a reshape."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.distances = nn.Linear(WIDTH, WIDTH, bias=False)
        self.content = nn.Parameter(torch.randn(HEADS, 1, WIDTH // HEADS))
        self.position = nn.Parameter(torch.randn(HEADS, 1, WIDTH // HEADS))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, table):
        q, k, v = map(split_heads, self.qkv(x).chunk(3, -1))
        p = split_heads(self.distances(table))
        scores = (q + self.content) @ k.transpose(-1, -2)
        shifted = (q + self.position) @ p.transpose(-1, -2)
        batch, heads, rows, columns = shifted.shape
        shifted = nn.functional.pad(shifted, (1, 0))
        shifted = shifted.view(batch, heads, columns + 1, rows)[:, :, 1:]
        shifted = shifted.view(batch, heads, rows, columns)[..., :rows]
        weights = ((scores + shifted) / math.sqrt(WIDTH // HEADS)).softmax(-1)
        return self.out(join_heads(weights @ v))


class ConformerLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(5)])
        self.feeds = nn.ModuleList([nn.Sequential(
            nn.Linear(WIDTH, INNER), nn.SiLU(), nn.Linear(INNER, WIDTH))
            for _ in range(2)])
        self.attention = RelativeAttention()
        self.grow = nn.Conv1d(WIDTH, 2 * WIDTH, 1)
        self.deep = nn.Conv1d(WIDTH, WIDTH, 7, padding=3, groups=WIDTH)
        self.batch = nn.BatchNorm1d(WIDTH)
        self.shrink = nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, x, table):
        x = x + 0.5 * self.feeds[0](self.norms[0](x))
        x = x + self.attention(self.norms[1](x), table)
        y = nn.functional.glu(self.grow(self.norms[2](x).transpose(1, 2)), 1)
        y = nn.functional.silu(self.batch(self.deep(y)))
        x = x + self.shrink(y).transpose(1, 2)
        x = x + 0.5 * self.feeds[1](self.norms[3](x))
        return self.norms[4](x)


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.sample = nn.Sequential(convolution(1, 8, 2), convolution(8, 8, 2))
        self.project = nn.Linear(8 * 8, WIDTH)
        self.layers = nn.ModuleList([ConformerLayer() for _ in range(3)])
        self.register_buffer("table", torch.randn(1, 255, WIDTH))

    def forward(self, x):
        x = self.sample(x[:, None])
        x = self.project(x.transpose(1, 2).flatten(2))
        length = x.shape[1]
        table = self.table[:, 128 - length:127 + length]
        for layer in self.layers:
            x = layer(x, table)
        return x


def wav2vec2():
    """Samples in, features of every 20 milliseconds out."""
    model = hf.Wav2Vec2Model(hf.Wav2Vec2Config(
        **STACK, conv_dim=[32] * 5, conv_stride=[5, 2, 2, 2, 2],
        conv_kernel=[10, 3, 3, 2, 2], num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4, num_feat_extract_layers=5,
        apply_spec_augment=False)).feature_extractor
    return model, (torch.randn(1, 1600),), (
        {1: 80 * Dim("steps", min=5, max=64)},)


# ---------------------------------------------------------------- images

def vit():
    model = hf.ViTModel(hf.ViTConfig(**STACK, image_size=64, patch_size=16),
                        add_pooling_layer=False)

    class Interpolated(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, pixels):
            return self.model(pixels, interpolate_pos_encoding=True)[0]
    return Interpolated(), (torch.randn(1, 3, 96, 128),), (
        {2: 16 * Dim("h", min=2, max=14), 3: 16 * Dim("w", min=2, max=14)},)


def efficientnet():
    return image(hf.EfficientNetForImageClassification, hf.EfficientNetConfig(
        width_coefficient=0.5, depth_coefficient=0.5, image_size=64,
        hidden_dim=640, num_labels=10))


class Detector(nn.Module):
    """DETR: sine positions of a feature map, and learnt object queries."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(convolution(3, 32, 4),
                                      convolution(32, WIDTH, 4))
        layer = nn.TransformerDecoderLayer(WIDTH, HEADS, INNER,
                                           batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 3)
        self.queries = nn.Parameter(torch.randn(1, 20, WIDTH))
        self.boxes = nn.Linear(WIDTH, 4)
        self.classes = nn.Linear(WIDTH, 11)

    def forward(self, x):
        x = self.backbone(x)
        ones = torch.ones_like(x[:, :1])
        powers = 10000 ** (torch.arange(WIDTH // 4) / (WIDTH // 4))
        parts = []
        for dim in (2, 3):
            angles = ones.cumsum(dim) / powers[:, None, None]
            parts += [angles.sin(), angles.cos()]
        x = (x + torch.cat(parts, 1)).flatten(2).transpose(1, 2)
        x = self.decoder(self.queries, x)
        return self.boxes(x).sigmoid(), self.classes(x)


class Laterals(nn.Module):
    """A pyramid whose enlarged maps are cropped to the sizes of the others."""

    def __init__(self):
        super().__init__()
        self.downs = nn.ModuleList([convolution(3, 16, 2),
                                    convolution(16, 32, 2),
                                    convolution(32, 64, 2)])
        self.mixes = nn.ModuleList([convolution(64 + 32, 32),
                                    convolution(32 + 16, 16)])
        self.head = nn.Conv2d(16 + 16, 8, 1)

    def forward(self, x):
        kept = []
        for down in self.downs:
            x = down(x)
            kept.append(x)
        for mix, side in zip(self.mixes, (kept[1], kept[0])):
            x = x.repeat_interleave(2, 2).repeat_interleave(2, 3)
            x = x[:, :, :side.shape[2], :side.shape[3]]
            x = mix(torch.cat([x, side], 1))
        return self.head(torch.cat([x, kept[0]], 1))


class Shuffle(nn.Module):
    """ShuffleNetV2: half of the channels pass by, then channels are mixed."""

    def __init__(self):
        super().__init__()
        self.head = convolution(3, 32, 2)
        self.branches = nn.ModuleList([nn.Sequential(
            nn.Conv2d(16, 16, 1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.Conv2d(16, 16, 1),
            nn.ReLU()) for _ in range(4)])

    def forward(self, x):
        x = self.head(x)
        for branch in self.branches:
            a, b = x.chunk(2, 1)
            x = torch.cat([a, branch(b)], 1)
            x = x.unflatten(1, (2, 16)).transpose(1, 2).flatten(1, 2)
        return x.mean((2, 3))


# ---------------------------------------------------------------- sequences

class UNet1d(nn.Module):
    """Wave-U-Net: convolutions of sequences, crops and joins of them."""

    def __init__(self):
        super().__init__()
        sizes = [1, 16, 32, 64]
        self.downs = nn.ModuleList([
            nn.Conv1d(a, b, 5) for a, b in zip(sizes, sizes[1:])])
        self.ups = nn.ModuleList([
            nn.ConvTranspose1d(64, 32, 4, 2), nn.ConvTranspose1d(32, 16, 4, 2)])
        self.mixes = nn.ModuleList([nn.Conv1d(32 + 32, 32, 3),
                                    nn.Conv1d(16 + 16, 16, 3)])
        self.last = nn.Conv1d(16, 1, 1)

    def forward(self, x):
        kept = []
        for down in self.downs:
            x = nn.functional.leaky_relu(down(x))
            kept.append(x)
            x = x[..., ::2]
        for up, mix, side in zip(self.ups, self.mixes, (kept[1], kept[0])):
            x = up(x)
            more = side.shape[-1] - x.shape[-1]
            side = side[..., more // 2:more // 2 + x.shape[-1]]
            x = nn.functional.leaky_relu(mix(torch.cat([x, side], 1)))
        return self.last(x).tanh()


class Retention(nn.Module):
    """RetNet's parallel form: products that decay with the distance."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ModuleDict({
            "qkvg": nn.Linear(WIDTH, 4 * WIDTH), "out": nn.Linear(WIDTH, WIDTH),
            "norm": nn.LayerNorm(WIDTH), "group": nn.GroupNorm(HEADS, WIDTH),
        }) for _ in range(3)])
        self.register_buffer("rates", torch.log(
            1 - 2.0 ** (-5 - torch.arange(HEADS).float())))

    def forward(self, x):
        at = torch.arange(x.shape[1])
        distance = (at[:, None] - at[None, :]).float()
        decay = torch.exp(distance * self.rates[:, None, None])
        decay = torch.where(distance >= 0, decay, 0.0)
        for layer in self.layers:
            q, k, v, g = layer["qkvg"](layer["norm"](x)).chunk(4, -1)
            q, k, v = split_heads(q), split_heads(k), split_heads(v)
            y = join_heads((q @ k.transpose(-1, -2) * decay) @ v)
            y = layer["group"](y.transpose(1, 2)).transpose(1, 2)
            x = x + layer["out"](y * nn.functional.silu(g))
        return x


class Selective(nn.Module):
    """Mamba-like: gates and decays of the input, a scan as sums of logs."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ModuleDict({
            "into": nn.Linear(WIDTH, 2 * WIDTH),
            "deep": nn.Conv1d(WIDTH, WIDTH, 4, padding=3, groups=WIDTH),
            "steps": nn.Linear(WIDTH, WIDTH), "norm": nn.LayerNorm(WIDTH),
            "out": nn.Linear(WIDTH, WIDTH)}) for _ in range(3)])

    def forward(self, x):
        length = x.shape[1]
        for layer in self.layers:
            y, gate = layer["into"](layer["norm"](x)).chunk(2, -1)
            y = layer["deep"](y.transpose(1, 2))[..., :length].transpose(1, 2)
            y = nn.functional.silu(y)
            step = nn.functional.softplus(layer["steps"](y))
            decay = (-0.1 * step).cumsum(1)
            y = (step * y * torch.exp(-decay)).cumsum(1) * torch.exp(decay)
            x = x + layer["out"](y * nn.functional.silu(gate))
        return x


class Shifted(nn.Module):
    """RWKV-like: every layer mixes a token with the one before it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ModuleDict({
            "norm": nn.LayerNorm(WIDTH), "key": nn.Linear(WIDTH, INNER),
            "value": nn.Linear(INNER, WIDTH), "gate": nn.Linear(WIDTH, WIDTH)})
            for _ in range(3)])
        self.mix = nn.Parameter(torch.rand(WIDTH))

    def forward(self, x):
        for layer in self.layers:
            y = layer["norm"](x)
            before = nn.functional.pad(y[:, :-1], (0, 0, 1, 0))
            y = y * self.mix + before * (1 - self.mix)
            k = torch.relu(layer["key"](y)) ** 2
            x = x + torch.sigmoid(layer["gate"](y)) * layer["value"](k)
        return x


class Cached(nn.Module):
    """GPT-2 over a prompt that continues one whose keys are given."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(2 * LENGTH, WIDTH)
        self.layers = nn.ModuleList([nn.ModuleDict({
            "qkv": nn.Linear(WIDTH, 3 * WIDTH), "out": nn.Linear(WIDTH, WIDTH),
            "norm": nn.LayerNorm(WIDTH), "last": nn.LayerNorm(WIDTH),
            "feed": nn.Sequential(nn.Linear(WIDTH, INNER), nn.GELU(),
                                  nn.Linear(INNER, WIDTH))})
            for _ in range(3)])

    def forward(self, ids, keys, values):
        past, length = keys.shape[3], ids.shape[1]
        at = torch.arange(past, past + length)
        x = self.words(ids) + self.positions(at)
        mask = torch.arange(past + length)[None, :] <= at[:, None]
        new = []
        for i, layer in enumerate(self.layers):
            q, k, v = map(split_heads,
                          layer["qkv"](layer["norm"](x)).split(WIDTH, -1))
            k, v = torch.cat([keys[i], k], 2), torch.cat([values[i], v], 2)
            y = nn.functional.scaled_dot_product_attention(q, k, v, mask)
            x = x + layer["out"](join_heads(y))
            x = x + layer["feed"](layer["last"](x))
            new += [k, v]
        return x, *new


def cached():
    past = {3: Dim("past", min=1, max=128)}
    caches = torch.randn(3, 1, HEADS, 9, WIDTH // HEADS)
    return (Cached(), (tokens(17), caches, caches.clone()),
            ({1: Dim("length", min=2, max=128)}, past, past))


class Prompted(nn.Module):
    """Two sequences are joined, read together, and taken apart again."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER,
                                           batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3,
                                             enable_nested_tensor=False)
        self.kinds = nn.Parameter(torch.randn(2, WIDTH))
        self.first = nn.Linear(WIDTH, 16)
        self.second = nn.Linear(WIDTH, 32)

    def forward(self, text, picture):
        x = torch.cat([text + self.kinds[0], picture + self.kinds[1]], 1)
        a, b = self.encoder(x).split([text.shape[1], picture.shape[1]], 1)
        return self.first(a), self.second(b).mean(1)


def prompted():
    return Prompted(), (torch.randn(1, 9, WIDTH), torch.randn(1, 33, WIDTH)), (
        {1: Dim("words", min=1, max=64)}, {1: Dim("patches", min=1, max=128)})


def padded():
    """BERT with a mask of tokens that count, as batches of texts have it."""
    model = hf.BertModel(hf.BertConfig(**STACK, vocab_size=WORDS),
                         add_pooling_layer=False)

    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            x = self.model(input_ids=ids, attention_mask=mask)[0]
            return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    sizes = {0: Dim("batch", min=1, max=4), 1: Dim("length", min=2, max=128)}
    return (Padded(), (tokens(33, 2), torch.ones(2, 33, dtype=torch.int64)),
            (sizes, sizes))


UNSEEN = {
    "conformer": lambda: frames(Conformer(), 32, 4, most=96),
    "wav2vec2": wav2vec2,
    "vit": vit,
    "efficientnet": efficientnet,
    "detr": lambda: sides(Detector(), 16, 14),
    "laterals": lambda: sides(Laterals(), 8, 16),
    "shuffle": lambda: sides(Shuffle(), 2, 64),
    "unet1d": lambda: (UNet1d(), (torch.randn(1, 1, 8 * 20 + 20),), (
        {2: 8 * Dim("steps", min=8, max=64) + 20},)),
    "retention": lambda: frames(Retention(), WIDTH, most=LENGTH),
    "selective": lambda: frames(Selective(), WIDTH, most=LENGTH),
    "shifted": lambda: frames(Shifted(), WIDTH, least=3, most=LENGTH),
    "cached": cached,
    "prompted": prompted,
    "padded": padded,
    "mistral": lambda: prefill(hf.MistralForCausalLM, hf.MistralConfig(
        **decoder(), sliding_window=32)),
    "falcon": lambda: prefill(hf.FalconForCausalLM, hf.FalconConfig(
        **STACK, **SPECIAL, ffn_hidden_size=INNER)),
    "gptj": lambda: prefill(hf.GPTJForCausalLM, hf.GPTJConfig(
        n_embd=WIDTH, n_layer=4, n_head=HEADS, n_positions=512, rotary_dim=16,
        **SPECIAL)),
}


if __name__ == "__main__":
    sys.exit(main(UNSEEN))
