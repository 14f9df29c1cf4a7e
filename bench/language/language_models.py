"""Decoders of language models with random weights from a seed: methods for etx,
a GGUF file of the same weights for llama.cpp, and PyTorch's logits.

A model is CACHE/SHAPE. Its methods share static caches of `CONTEXT` positions:

    decode(token, position)   one token of one sequence
    prefill(tokens, places)   up to `PREFILL` tokens of one sequence
    decode8(tokens, places)   one token of each of eight sequences
"""

import os

import numpy
import torch
from torch import nn
from torch.nn import functional

SEED = 5
CONTEXT = 2048
PREFILL = 512
SEQUENCES = 8
# What both sides compute for the comparison: tokens at positions from 0, then
# one more token.
CHECKED = [(i * 7 + 3) % 500 for i in range(17)]
NEXT = 9

SHAPES = {
    "llama": {"arch": "llama", "width": 2048, "inner": 5632, "heads": 32,
              "key_heads": 4, "head": 64, "words": 32000, "layers": 8,
              "tied": False, "bias": False, "theta": 1e4, "epsilon": 1e-5},
    "qwen2": {"arch": "qwen2", "width": 896, "inner": 4864, "heads": 14,
              "key_heads": 2, "head": 64, "words": 151936, "layers": 12,
              "tied": True, "bias": True, "theta": 1e6, "epsilon": 1e-6},
    "small": {"arch": "llama", "width": 256, "inner": 704, "heads": 8,
              "key_heads": 2, "head": 32, "words": 512, "layers": 2,
              "tied": False, "bias": False, "theta": 1e4, "epsilon": 1e-5},
}


class Norm(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape["width"]))
        self.epsilon = shape["epsilon"]

    def forward(self, x):
        return functional.rms_norm(x, (x.shape[-1],), self.weight, self.epsilon)


def rotate(x, cosines, sines):
    low, high = x.chunk(2, -1)
    return x * cosines + torch.cat([-high, low], -1) * sines


class Layer(nn.Module):
    def __init__(self, shape, rows):
        super().__init__()
        width, head, bias = shape["width"], shape["head"], shape["bias"]
        self.shape = shape
        self.attention_norm, self.inner_norm = Norm(shape), Norm(shape)
        self.query = nn.Linear(width, shape["heads"] * head, bias=bias)
        self.key = nn.Linear(width, shape["key_heads"] * head, bias=bias)
        self.value = nn.Linear(width, shape["key_heads"] * head, bias=bias)
        self.output = nn.Linear(shape["heads"] * head, width, bias=False)
        self.gate = nn.Linear(width, shape["inner"], bias=False)
        self.up = nn.Linear(width, shape["inner"], bias=False)
        self.down = nn.Linear(shape["inner"], width, bias=False)
        cache = torch.zeros(rows, shape["key_heads"], CONTEXT, head)
        self.register_buffer("keys", cache)
        self.register_buffer("values", cache.clone())

    def heads(self, x, name):
        rows, count, _ = x.shape
        return getattr(self, name)(x).view(
            rows, count, -1, self.shape["head"]).transpose(1, 2)

    def forward(self, x, angles, write, mask):
        y = self.attention_norm(x)
        query = rotate(self.heads(y, "query"), *angles)
        write(self.keys, rotate(self.heads(y, "key"), *angles))
        write(self.values, self.heads(y, "value"))
        mixed = functional.scaled_dot_product_attention(
            query, self.keys, self.values, attn_mask=mask, enable_gqa=True)
        x = x + self.output(mixed.transpose(1, 2).reshape(*x.shape[:2], -1))
        y = self.inner_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, shape, rows=1):
        super().__init__()
        torch.manual_seed(SEED)
        self.embedding = nn.Embedding(shape["words"], shape["width"])
        self.layers = nn.ModuleList(
            Layer(shape, rows) for _ in range(shape["layers"]))
        self.last_norm = Norm(shape)
        self.head = nn.Linear(shape["width"], shape["words"], bias=False)
        with torch.no_grad():
            self.embedding.weight.mul_(0.05)
        if shape["tied"]:
            self.head.weight = self.embedding.weight
        rates = shape["theta"] ** (
            -torch.arange(0, shape["head"], 2).float() / shape["head"])
        angles = torch.arange(CONTEXT).float()[:, None] * rates
        self.register_buffer("cosines", torch.cat([angles, angles], 1).cos())
        self.register_buffer("sines", torch.cat([angles, angles], 1).sin())
        self.register_buffer("places", torch.arange(CONTEXT))
        self.register_buffer("row", torch.arange(rows)[:, None])
        self.register_buffer("key_head",
                             torch.arange(shape["key_heads"])[None])

    def logits(self, tokens, angles, write, mask):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, angles, write, mask)
        return self.head(self.last_norm(x[:, -1:]))[:, 0].float()

    def one_sequence(self, tokens, positions):
        def write(cache, rows):
            cache.index_copy_(2, positions, rows)

        return self.logits(
            tokens, (self.cosines[positions], self.sines[positions]), write,
            self.places[None] <= positions[:, None])

    def many_sequences(self, tokens, positions):
        def write(cache, rows):
            cache.index_put_((self.row, self.key_head, positions[:, None]),
                             rows[:, :, 0])

        return self.logits(
            tokens, (self.cosines[positions][:, None, None],
                     self.sines[positions][:, None, None]), write,
            (self.places[None] <= positions[:, None])[:, None, None])


class Method(nn.Module):
    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, tokens, positions):
        return getattr(self.model, self.name)(tokens, positions)


def decoder(shape, rows=1, dtype=torch.float32):
    model = Decoder(SHAPES[shape], rows).eval().requires_grad_(False)
    return model.to(dtype)


def save(model, name, inputs, dynamic, path):
    with torch.no_grad():
        program = torch.export.export(Method(model, name), inputs,
                                      dynamic_shapes=dynamic, strict=False)
        program = program.run_decompositions({})
    torch.export.save(program, path + ".part")
    os.replace(path + ".part", path)


def save_methods(shape, dtype, folder):
    """decode and prefill over one cache."""
    os.makedirs(folder, exist_ok=True)
    model = decoder(shape, 1, dtype)
    count = torch.export.Dim("count", min=2, max=PREFILL)
    save(model, "one_sequence", (torch.tensor([[5]]), torch.tensor([3])), None,
         os.path.join(folder, "decode.pt2"))
    save(model, "one_sequence",
         (torch.ones(1, 17, dtype=torch.long), torch.arange(17)),
         ({1: count}, {0: count}), os.path.join(folder, "prefill.pt2"))


def save_batch(shape, dtype, folder):
    os.makedirs(folder, exist_ok=True)
    save(decoder(shape, SEQUENCES, dtype), "many_sequences",
         (torch.ones(SEQUENCES, 1, dtype=torch.long), torch.arange(SEQUENCES)),
         None, os.path.join(folder, "decode8.pt2"))


def expected(shape):
    """PyTorch's logits of `NEXT` after `CHECKED`."""
    model = decoder(shape)
    with torch.no_grad():
        model.one_sequence(torch.tensor([CHECKED]), torch.arange(len(CHECKED)))
        return model.one_sequence(torch.tensor([[NEXT]]),
                                  torch.tensor([len(CHECKED)]))[0].numpy()


def interleaved(weight, heads):
    """Rows of each head in the order of llama.cpp's rotary embeddings, which
    turn neighbours instead of halves."""
    pairs = weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1)
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def gguf_tensors(shape, model):
    names = {"attn_norm": "attention_norm", "ffn_norm": "inner_norm",
             "attn_q": "query", "attn_k": "key", "attn_v": "value",
             "attn_output": "output", "ffn_gate": "gate", "ffn_up": "up",
             "ffn_down": "down"}
    heads = {"attn_q": shape["heads"], "attn_k": shape["key_heads"]}
    yield "token_embd.weight", model.embedding.weight.numpy()
    if not shape["tied"]:
        yield "output.weight", model.head.weight.numpy()
    yield "output_norm.weight", model.last_norm.weight.numpy()
    for i, layer in enumerate(model.layers):
        for name, attribute in names.items():
            part = getattr(layer, attribute)
            for kind in ("weight", "bias"):
                tensor = getattr(part, kind, None)
                if tensor is None:
                    continue
                tensor = tensor.numpy()
                if shape["arch"] == "llama" and name in heads:
                    tensor = interleaved(tensor, heads[name])
                yield f"blk.{i}.{name}.{kind}", tensor


def save_gguf(name, path):
    import gguf
    shape = SHAPES[name]
    file = gguf.GGUFWriter(path + ".part", shape["arch"])
    file.add_context_length(CONTEXT)
    file.add_embedding_length(shape["width"])
    file.add_block_count(shape["layers"])
    file.add_feed_forward_length(shape["inner"])
    file.add_head_count(shape["heads"])
    file.add_head_count_kv(shape["key_heads"])
    file.add_layer_norm_rms_eps(shape["epsilon"])
    file.add_rope_freq_base(shape["theta"])
    file.add_rope_dimension_count(shape["head"])
    file.add_vocab_size(shape["words"])
    file.add_file_type(0)
    file.add_tokenizer_model("llama")  # no text is read
    file.add_token_list([f"<{i}>".encode() for i in range(shape["words"])])
    file.add_token_scores([0.0] * shape["words"])
    file.add_token_types([2, 3, 3] + [1] * (shape["words"] - 3))
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    file.add_unk_token_id(0)
    for tensor, values in gguf_tensors(shape, decoder(name)):
        file.add_tensor(tensor, numpy.ascontiguousarray(values))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    os.replace(path + ".part", path)
