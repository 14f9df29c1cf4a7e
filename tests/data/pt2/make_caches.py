"""Writes the set `caches` of this folder: a chat with caches of keys and values that the
program counts, and that program.yaml describes. Between calls, caches are cut back to
their first rows.

    pip install torch==2.13 safetensors
    python make_caches.py
"""

import os
import random
import warnings

import torch
import torch.nn.functional as F
from make_sets import Recorder
from torch.export import Dim

warnings.filterwarnings("ignore")

CAPACITY, HEADS, HEAD, LAYERS, WORDS, MOST = 12, 2, 8, 2, 20, 6
WIDTH = HEADS * HEAD

PROGRAM = """\
etx: 1
caches:
  "layers.*.keys": {dim: 2, length: position, overflow: error}
  "layers.*.values": {dim: -2, length: position}
"""


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, CAPACITY, HEAD))

    def forward(self, x, index):
        q, k, v = (t.view(1, -1, HEADS, HEAD).transpose(1, 2)
                   for t in self.qkv(x).split(WIDTH, -1))
        self.keys.index_copy_(2, index, k)
        self.values.index_copy_(2, index, v)
        seen = torch.arange(CAPACITY) <= index[:, None]
        y = F.scaled_dot_product_attention(q, self.keys, self.values, seen)
        return x + self.out(y.transpose(1, 2).reshape(1, -1, WIDTH))


class Chat(torch.nn.Module):
    states = ("position", *(f"layers.{i}.{name}" for i in range(LAYERS)
                            for name in ("keys", "values")))

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.places = torch.nn.Embedding(CAPACITY, WIDTH)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

    def step(self, words):
        """Appends words and gives the scores of the next one behind each."""
        index = self.position + torch.arange(words.shape[0])
        x = (self.words(words) + self.places(index))[None]
        for layer in self.layers:
            x = layer(x, index)
        self.position.add_(words.shape[0])
        return (x[0] @ self.words.weight.T,)

    def __getattr__(self, name):
        """States of layers, by the names that they have in a program."""
        if "." in name:
            return self.get_buffer(name)
        return super().__getattr__(name)


class CacheRecorder(Recorder):
    def truncate(self, length):
        """Cuts the caches back to their first rows."""
        for layer in self.model.layers:
            layer.keys[:, :, length:] = 0
            layer.values[:, :, length:] = 0
        self.model.position.fill_(length)
        self.calls.append({"truncate": length})

    def write(self, tolerance):
        super().write(tolerance)
        for folder in ("", "core"):
            path = os.path.join(self.folder, folder, "program.yaml")
            with open(path, "w") as file:
                file.write(PROGRAM)


def write_caches():
    recorder = CacheRecorder(Chat(), "caches")
    count = Dim("count", min=1, max=MOST)
    draw = random.Random(7)

    def words(number):
        return torch.tensor([draw.randrange(WORDS) for _ in range(number)])

    recorder.method("step", (words(3),), ({0: count},))
    length = 0
    for _ in range(40):
        number = draw.choice((1, 1, 1, 2, 3, MOST))
        if length + number <= CAPACITY:
            recorder.call("step", words(number))
            length += number
        else:
            length = draw.randrange(length + 1)
            recorder.truncate(length)
    recorder.write(1e-5)


if __name__ == "__main__":
    write_caches()
