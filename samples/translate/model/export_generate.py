"""Writes generate/generate.pt2: a whole greedy translation in one call.

    python samples/translate/model/export_generate.py

The weights are those of pt2/*.pt2. The decoder runs in a `while_loop`, which
carries the cache of its self-attention.
"""

import os

import torch
from export_batch import (HEAD, HEADS, HERE, LAYERS, POSITIONS, PROJECTIONS,
                          SCALE, WIDTH, Layer, Model, Stack, load,
                          without_traces)
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.nn import functional

END, PAD = 0, 595
NORMS = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")


def heads(x):
    """[1, m, width] -> [heads, m, head]"""
    return x[0].view(-1, HEADS, HEAD).transpose(0, 1)


def attend_heads(q, k, v, seen=None):
    """Attention of the rows q [1, n, width] over k and v [heads, keys, head], of
    which `seen` marks keys."""
    scores = torch.matmul(heads(q), k.transpose(1, 2)) * HEAD ** -0.5
    if seen is not None:
        scores = torch.where(seen, scores, -torch.inf)
    mixed = torch.matmul(functional.softmax(scores, -1), v)
    return mixed.transpose(0, 1).reshape(1, q.shape[1], WIDTH)


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("self_k", "self_v"):
            self.register_buffer(
                name, torch.zeros(LAYERS, HEADS, POSITIONS, HEAD))


class Generate(nn.Module):
    """ids [1, s], limit [] -> tokens [64], count [].

    The first `count` tokens are the translation: up to and with the end of the
    sentence, or `limit` tokens, of which 63 are possible.
    """

    def __init__(self, vocabulary):
        super().__init__()
        self.model = Model(vocabulary)
        self.model.encoder = Stack(
            [Layer({"self_attn": PROJECTIONS},
                   ("self_attn_layer_norm", "final_layer_norm"), True)
             for _ in range(LAYERS)])
        self.model.decoder = Stack(
            [Layer({"self_attn": PROJECTIONS, "encoder_attn": PROJECTIONS},
                   NORMS, True) for _ in range(LAYERS)])
        self.register_buffer("final_logits_bias", torch.zeros(1, vocabulary))
        self.cache = Cache()

    def encode(self, ids):
        encoder, length = self.model.encoder, ids.shape[1]
        x = self.model.shared(ids) * SCALE
        x = x + encoder.embed_positions.weight[:length]
        for layer in encoder.layers:
            a = layer.self_attn
            mixed = attend_heads(a.q_proj(x), heads(a.k_proj(x)),
                                 heads(a.v_proj(x)))
            x = layer.self_attn_layer_norm(x + a.out_proj(mixed))
            x = layer.feed_forward(x)
        cross = []
        for layer in self.model.decoder.layers:
            a = layer.encoder_attn
            cross += [heads(a.k_proj(x)), heads(a.v_proj(x))]
        return cross

    def step(self, token, position, cross, keys, values):
        decoder = self.model.decoder
        at = position.view(1)
        x = self.model.shared(token.view(1, 1)) * SCALE
        x = x + decoder.embed_positions(at)
        past = torch.arange(POSITIONS) <= position
        for index, layer in enumerate(decoder.layers):
            a = layer.self_attn
            k = keys[index].index_copy(1, at, heads(a.k_proj(x)))
            v = values[index].index_copy(1, at, heads(a.v_proj(x)))
            keys = keys.select_scatter(k, 0, index)
            values = values.select_scatter(v, 0, index)
            mixed = attend_heads(a.q_proj(x), k, v, past)
            x = layer.self_attn_layer_norm(x + a.out_proj(mixed))
            a = layer.encoder_attn
            mixed = attend_heads(a.q_proj(x), *cross[2 * index:2 * index + 2])
            x = layer.encoder_attn_layer_norm(x + a.out_proj(mixed))
            x = layer.feed_forward(x)
        logits = functional.linear(x, self.model.shared.weight)[0]
        return (logits + self.final_logits_bias).argmax(), keys, values

    def forward(self, ids, limit):
        cross = self.encode(ids)

        limit = limit.clamp(max=POSITIONS - 1)

        def goes_on(count, token, tokens, keys, values):
            return (count < limit) & (token != END)

        def body(count, token, tokens, keys, values):
            token, keys, values = self.step(token, count, cross, keys, values)
            tokens = tokens.index_copy(0, count.view(1), token.view(1))
            return count + 1, token, tokens, keys, values

        count, _, tokens, keys, values = while_loop(
            goes_on, body,
            (torch.tensor(0), torch.tensor(PAD),
             torch.zeros(POSITIONS, dtype=torch.int64), self.cache.self_k,
             self.cache.self_v))
        self.cache.self_k.copy_(keys)
        self.cache.self_v.copy_(values)
        return tokens, count


def main():
    folder = os.path.join(HERE, "generate")
    os.makedirs(folder, exist_ok=True)
    source = torch.export.Dim("s", min=1, max=POSITIONS)
    with torch.no_grad():
        program = torch.export.export(
            load(Generate),
            (torch.zeros(1, 9, dtype=torch.int64), torch.tensor(5)),
            dynamic_shapes=({1: source}, None), strict=False)
    program = without_traces(program.run_decompositions({}))
    torch.export.save(program, os.path.join(folder, "generate.pt2"))


if __name__ == "__main__":
    main()
