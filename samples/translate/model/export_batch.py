"""Writes batch/encode.pt2 and batch/decode.pt2: the model for many rows at once.

    python samples/translate/model/export_batch.py

The weights are those of pt2/*.pt2. Rows of a batch keep their keys and values
in tables of rows, [rows * 64, 128], and every call is given the numbers of those
rows: nothing moves when a sentence ends, when another takes its place, or when
beams change places.
"""

import math
import os

import torch
from torch import nn
from torch.nn import functional

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS, WIDTH, HEADS, POSITIONS, ROWS = 3, 128, 4, 64, 32
HEAD = WIDTH // HEADS
SCALE = math.sqrt(WIDTH)


def split(x):
    """[n, m, width] -> [n, heads, m, head]"""
    return x.view(x.shape[0], x.shape[1], HEADS, HEAD).transpose(1, 2)


def join(x):
    """[n, heads, m, head] -> [n, m, width]"""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], WIDTH)


def attend(q, k, v, seen):
    """Attention of the rows of q over the keys and values that `seen` [n, keys] marks."""
    scores = torch.matmul(split(q), split(k).transpose(2, 3)) * HEAD ** -0.5
    scores = torch.where(seen[:, None, None, :], scores, -torch.inf)
    return join(torch.matmul(functional.softmax(scores, -1), split(v)))


class Attention(nn.Module):
    def __init__(self, names):
        super().__init__()
        for name in names:
            setattr(self, name, nn.Linear(WIDTH, WIDTH))


class Layer(nn.Module):
    """One layer of the encoder or decoder; has the parts, by name, that a method uses."""

    def __init__(self, attentions, norms, is_whole):
        super().__init__()
        for name, parts in attentions.items():
            setattr(self, name, Attention(parts))
        for name in norms:
            setattr(self, name, nn.LayerNorm(WIDTH))
        if is_whole:
            self.fc1 = nn.Linear(WIDTH, 4 * WIDTH)
            self.fc2 = nn.Linear(4 * WIDTH, WIDTH)

    def feed_forward(self, x):
        inner = functional.silu(self.fc1(x))
        return self.final_layer_norm(x + self.fc2(inner))


class Stack(nn.Module):
    def __init__(self, layers, has_positions=True):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        if has_positions:
            self.embed_positions = nn.Embedding(POSITIONS, WIDTH)


class Cache(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        for kind in kinds:
            for index in range(LAYERS):
                self.register_buffer(
                    f"{kind}{index}", torch.zeros(ROWS * POSITIONS, WIDTH))


class Model(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.shared = nn.Embedding(vocabulary, WIDTH)


PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")


class Encode(nn.Module):
    """ids [n, s], last [n], places [n, s] -> states [n, s, width].

    Sentence i has last[i] + 1 tokens; what follows them is padding. The key and
    value of its token j, which the decoder reads, go to row places[i, j] of the
    cross cache.
    """

    def __init__(self, vocabulary):
        super().__init__()
        self.model = Model(vocabulary)
        self.model.encoder = Stack(
            [Layer({"self_attn": PROJECTIONS},
                   ("self_attn_layer_norm", "final_layer_norm"), True)
             for _ in range(LAYERS)])
        self.model.decoder = Stack(
            [Layer({"encoder_attn": ("k_proj", "v_proj")}, (), False)
             for _ in range(LAYERS)], False)
        self.cache = Cache(("cross_k", "cross_v"))

    def forward(self, ids, last, places):
        encoder, length = self.model.encoder, ids.shape[1]
        x = self.model.shared(ids) * SCALE
        x = x + encoder.embed_positions.weight[:length]
        seen = torch.arange(length) <= last[:, None]
        for layer in encoder.layers:
            a = layer.self_attn
            mixed = attend(a.q_proj(x), a.k_proj(x), a.v_proj(x), seen)
            x = layer.self_attn_layer_norm(x + a.out_proj(mixed))
            x = layer.feed_forward(x)
        rows = places.view(-1)
        for index, layer in enumerate(self.model.decoder.layers):
            a = layer.encoder_attn
            for kind, project in (("k", a.k_proj), ("v", a.v_proj)):
                cache = getattr(self.cache, f"cross_{kind}{index}")
                cache.index_copy_(0, rows, project(x).view(-1, WIDTH))
        return x


class Decode(nn.Module):
    """tokens, positions, places [b], own [b, t], sources [b, s], last [b] ->
    logits [b, vocabulary].

    Row i of the batch is a sentence, or one of its beams. The key and value of its
    token go to row places[i] of the self cache; those of its position j lie in row
    own[i, j], and those of token j of its source in row sources[i, j] of the cross
    cache, for j up to last[i].
    """

    def __init__(self, vocabulary):
        super().__init__()
        self.model = Model(vocabulary)
        self.model.decoder = Stack(
            [Layer({"self_attn": PROJECTIONS,
                    "encoder_attn": ("q_proj", "out_proj")},
                   ("self_attn_layer_norm", "encoder_attn_layer_norm",
                    "final_layer_norm"), True) for _ in range(LAYERS)])
        self.register_buffer("final_logits_bias", torch.zeros(1, vocabulary))
        self.cache = Cache(("self_k", "self_v", "cross_k", "cross_v"))

    def forward(self, tokens, positions, places, own, sources, last):
        decoder = self.model.decoder
        x = self.model.shared(tokens) * SCALE
        x = (x + decoder.embed_positions(positions))[:, None]
        past = torch.arange(own.shape[1]) <= positions[:, None]
        seen = torch.arange(sources.shape[1]) <= last[:, None]
        for index, layer in enumerate(decoder.layers):
            a = layer.self_attn
            kept = {}
            for kind, project in (("k", a.k_proj), ("v", a.v_proj)):
                cache = getattr(self.cache, f"self_{kind}{index}")
                cache.index_copy_(0, places, project(x)[:, 0])
                kept[kind] = functional.embedding(own, cache)
            mixed = attend(a.q_proj(x), kept["k"], kept["v"], past)
            x = layer.self_attn_layer_norm(x + a.out_proj(mixed))
            a = layer.encoder_attn
            k, v = (functional.embedding(
                sources, getattr(self.cache, f"cross_{kind}{index}"))
                for kind in "kv")
            mixed = attend(a.q_proj(x), k, v, seen)
            x = layer.encoder_attn_layer_norm(x + a.out_proj(mixed))
            x = layer.feed_forward(x)
        logits = functional.linear(x, self.model.shared.weight)[:, 0]
        return logits + self.final_logits_bias


def load(make):
    """A method with the weights of the two archives in pt2/, which translate one
    sentence at a time."""
    weights = {}
    for name in ("encode", "decode"):
        program = torch.export.load(os.path.join(HERE, "pt2", name + ".pt2"))
        weights.update(program.state_dict)
    method = make(weights["model.shared.weight"].shape[0]).eval()
    method.requires_grad_(False)
    wanted = dict(method.state_dict())
    method.load_state_dict(
        {name: value if name.startswith("cache.") else weights[name]
         for name, value in wanted.items()})
    return method


def without_traces(program):
    """Removes where nodes come from: paths of the machine that exported, and the
    history of passes and modules, which is larger than the graph. Graphs of loops
    and branches are modules of their own."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes:
            for key in ("stack_trace", "from_node", "nn_module_stack"):
                node.meta.pop(key, None)
    return program


def export(name, method, inputs, dims):
    program = torch.export.export(method, inputs, dynamic_shapes=dims,
                                  strict=False)
    program = without_traces(program.run_decompositions({}))
    torch.export.save(program, os.path.join(HERE, "batch", name + ".pt2"))


def main():
    os.makedirs(os.path.join(HERE, "batch"), exist_ok=True)
    rows = torch.export.Dim("b", min=1, max=ROWS)
    source = torch.export.Dim("s", min=1, max=POSITIONS)
    length = torch.export.Dim("t", min=1, max=POSITIONS)

    def zeros(*sizes):
        return torch.zeros(sizes, dtype=torch.int64)

    with torch.no_grad():
        export("encode", load(Encode), (zeros(3, 9), zeros(3), zeros(3, 9)),
               ({0: rows, 1: source}, {0: rows}, {0: rows, 1: source}))
        export("decode", load(Decode),
               (zeros(3), zeros(3), zeros(3), zeros(3, 5), zeros(3, 9),
                zeros(3)),
               ({0: rows}, {0: rows}, {0: rows}, {0: rows, 1: length},
                {0: rows, 1: source}, {0: rows}))


if __name__ == "__main__":
    main()
