"""Several methods over one state."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from model_list import Method, Model, ints, model, rand


class SetAndGet(nn.Module):

    def __init__(self, start=0.0):
        super().__init__()
        self.register_buffer("stored", torch.full((2, 3), start))

    def put(self, x):
        self.stored.copy_(x)
        return x.sum()

    def get(self, x):
        return self.stored + x

    def add(self, x):
        self.stored.add_(x)
        return self.stored * 2


def set_and_get(**options):
    x = rand(2, 3)
    methods = {n: Method((x,)) for n in ("put", "get", "add")}
    calls = [("get", (rand(2, 3),)), ("put", (rand(2, 3),)),
             ("get", (rand(2, 3),)), ("add", (rand(2, 3),)),
             ("get", (rand(2, 3),)), ("put", (rand(2, 3),)),
             ("add", (rand(2, 3),)), ("get", (rand(2, 3),))]
    return Model(SetAndGet(**options), methods, calls)


@model("methods without sharing")
def unshared():
    made = set_and_get()
    made.share = False
    # Each method has a state of its own in arena 1 of such a file, so only
    # calls of one method tell the same everywhere.
    made.methods = {"add": made.methods["add"]}
    made.calls = [("add", (rand(2, 3),)) for _ in range(3)]
    return made


@model("methods without state")
def stateless():

    class Stateless(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def encode(self, x):
            return F.relu(self.layer(x))

        def decode(self, x):
            return F.linear(x, self.layer.weight.t())

    x = rand(2, 4)
    return Model(Stateless(), {"encode": Method((x,)), "decode": Method((x,))},
                 [(n, (rand(2, 4),))
                  for n in ("encode", "decode", "encode", "decode")],
                 share=False)


@model("encoder, decoder, reset")
def translator():

    class Translator(nn.Module):

        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(12, 8)
            self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8)
            self.query, self.out = nn.Linear(8, 8), nn.Linear(8, 12)
            self.register_buffer("cross_k", torch.zeros(1, 6, 8))
            self.register_buffer("cross_v", torch.zeros(1, 6, 8))
            self.register_buffer("self_k", torch.zeros(1, 10, 8))
            self.register_buffer("length", torch.zeros(1, dtype=torch.int64))

        def encode(self, source):
            x = self.tokens(source)
            self.cross_k.copy_(self.key(x))
            self.cross_v.copy_(self.value(x))
            self.length.zero_()
            return x.mean(1)

        def decode(self, token, position):
            x = self.tokens(token)
            self.self_k.index_copy_(1, position, self.key(x))
            self.length.add_(1)
            y = F.scaled_dot_product_attention(self.query(x), self.cross_k,
                                               self.cross_v)
            seen = (torch.arange(10) <= position).float()
            y = y + (self.self_k * seen.view(1, 10, 1)).sum(1, keepdim=True)
            return self.out(y), self.length + 0

        def reset(self):
            self.self_k.zero_()
            self.length.zero_()
            return self.length + 1

    at = lambda n: torch.tensor([n])
    source, token = ints(1, 6), ints(1, 1)
    return Model(Translator(), {
        "encode": Method((source,)),
        "decode": Method((token, at(0))),
        "reset": Method(())
    }, [("encode", (ints(1, 6),)), ("decode", (ints(1, 1), at(0))),
        ("decode", (ints(1, 1), at(1))), ("reset", ()),
        ("decode", (ints(1, 1), at(0))), ("encode", (ints(1, 6),)),
        ("decode", (ints(1, 1), at(0)))])


@model("prefill and decode")
def prefill():

    class Cached(nn.Module):

        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(9, 8)
            self.q, self.k = nn.Linear(8, 8), nn.Linear(8, 8)
            self.v, self.o = nn.Linear(8, 8), nn.Linear(8, 9)
            self.register_buffer("keys", torch.zeros(1, 12, 8))
            self.register_buffer("values", torch.zeros(1, 12, 8))

        def step(self, tokens, positions):
            x = self.tokens(tokens)
            self.keys.index_copy_(1, positions, self.k(x))
            self.values.index_copy_(1, positions, self.v(x))
            mask = torch.arange(12) <= positions.unsqueeze(1)
            y = F.scaled_dot_product_attention(self.q(x), self.keys,
                                               self.values, attn_mask=mask)
            return self.o(y)

        def prefill(self, tokens, positions):
            return self.step(tokens, positions)

        def decode(self, tokens, positions):
            return self.step(tokens, positions)

    s = Dim("s", min=2, max=10)
    return Model(Cached(), {
        "prefill": Method((ints(1, 5, high=9), torch.arange(5)),
                          ({1: s}, {0: s})),
        "decode": Method((ints(1, 1, high=9), torch.tensor([5])))
    }, [("prefill", (ints(1, 4, high=9), torch.arange(4))),
        ("decode", (ints(1, 1, high=9), torch.tensor([4]))),
        ("decode", (ints(1, 1, high=9), torch.tensor([5]))),
        ("prefill", (ints(1, 7, high=9), torch.arange(7))),
        ("decode", (ints(1, 1, high=9), torch.tensor([7])))])


@model("reader only, never mutates")
def reader():

    class Reader(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.Module()
            self.layer.register_buffer("memory", torch.zeros(3))

        def write(self, x):
            self.layer.memory.copy_(x * 2)
            return x + 1

        def read(self):
            return self.layer.memory + 0

        def unrelated(self, x):
            return x * 3

    x = rand(3)
    return Model(Reader(), {
        "write": Method((x,)),
        "read": Method(()),
        "unrelated": Method((x,))
    }, [("read", ()), ("write", (rand(3),)), ("unrelated", (rand(3),)),
        ("read", ()), ("write", (rand(3),)), ("read", ())])


@model("swap of shared states")
def shared_swap():

    class Swap(nn.Module):

        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.zeros(3))
            self.register_buffer("b", torch.zeros(3))

        def put(self, x):
            self.a.copy_(x)
            self.b.copy_(-x)
            return x + 0

        def swap(self):
            a, b = self.a.clone(), self.b.clone()
            self.a.copy_(b)
            self.b.copy_(a)
            return a + 1

    x = rand(3)
    return Model(Swap(), {"put": Method((x,)), "swap": Method(())},
                 [("put", (rand(3),)), ("swap", ()), ("swap", ()),
                  ("put", (rand(3),)), ("swap", ())])
