"""Writes the sets `caches`, `rings` and `slides` of this folder: chats with caches of keys and values
that the program counts, and that program.yaml describes. `caches` refuses words for which
there is no room; between calls, caches are cut back to their first rows. `rings` overwrites
the oldest words; what it gives is compared here with attention over a window of words that
are kept one by one. `slides` drops the oldest row and appends one, which etx does as a ring;
its states are recorded in the order of the ring.

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

RINGS = """\
etx: 1
caches: {layers: {dim: 2, length: position, overflow: ring}}
"""

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

    def place(self, index):
        """The rows that positions take."""
        return index

    def forward(self, x, index):
        q, k, v = (t.view(1, -1, HEADS, HEAD).transpose(1, 2)
                   for t in self.qkv(x).split(WIDTH, -1))
        self.keys.index_copy_(2, self.place(index), k)
        self.values.index_copy_(2, self.place(index), v)
        seen = torch.arange(CAPACITY) <= index[:, None]
        y = F.scaled_dot_product_attention(q, self.keys, self.values, seen)
        return x + self.out(y.transpose(1, 2).reshape(1, -1, WIDTH))


class RingLayer(Layer):
    """Exported, it writes rows beyond its capacity, which program.yaml makes a ring. In
    eager PyTorch, it computes the modulus itself and keeps a window of rows as well."""

    def place(self, index):
        return index if torch.compiler.is_exporting() else index % CAPACITY

    def forward(self, x, index):
        y = super().forward(x, index)
        if not torch.compiler.is_exporting():
            torch.testing.assert_close(y, self.windowed(x, index))
        return y

    def windowed(self, x, index):
        q, k, v = (t.view(1, -1, HEADS, HEAD).transpose(1, 2)
                   for t in self.qkv(x).split(WIDTH, -1))
        if index[0] == 0:
            self.window = k[:, :, :0], v[:, :, :0]
        before = self.window[0].shape[2]
        k, v = (torch.cat(pair, 2) for pair in zip(self.window, (k, v)))
        self.window = k[:, :, -CAPACITY:], v[:, :, -CAPACITY:]
        place = torch.arange(k.shape[2])
        now = before + torch.arange(q.shape[2])[:, None]
        seen = (place <= now) & (place > now - CAPACITY)
        y = F.scaled_dot_product_attention(q, k, v, seen)
        return x + self.out(y.transpose(1, 2).reshape(1, -1, WIDTH))


class Chat(torch.nn.Module):
    kind, positions = Layer, CAPACITY
    states = ("position", *(f"layers.{i}.{name}" for i in range(LAYERS)
                            for name in ("keys", "values")))

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.places = torch.nn.Embedding(self.positions, WIDTH)
        self.layers = torch.nn.ModuleList(self.kind() for _ in range(LAYERS))
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


class RingChat(Chat):
    kind, positions = RingLayer, 5 * CAPACITY


class SlideLayer(Layer):
    """Drops the oldest row: by roll, as transformers does, and by cat."""

    def forward(self, x, index):
        q, k, v = (t.view(1, -1, HEADS, HEAD).transpose(1, 2)
                   for t in self.qkv(x).split(WIDTH, -1))
        rolled = self.keys.roll(-1, dims=-2)
        rolled[:, :, torch.tensor([-1])] = k
        self.keys.copy_(rolled)
        self.values.copy_(torch.cat((self.values[:, :, 1:], v), 2))
        seen = torch.arange(CAPACITY) >= CAPACITY - 1 - index
        y = F.scaled_dot_product_attention(q, self.keys, self.values, seen[None])
        return x + self.out(y.transpose(1, 2).reshape(1, -1, WIDTH))


class SlideChat(RingChat):
    kind = SlideLayer

    def __getattr__(self, name):
        """Eager PyTorch has the oldest row first, a ring has row p at p % CAPACITY."""
        found = super().__getattr__(name)
        if name.endswith((".keys", ".values")):
            return found.roll(int(self.position) % CAPACITY, 2)
        return found


class CacheRecorder(Recorder):
    program = PROGRAM

    def truncate(self, length):
        """Cuts the caches back to their first rows."""
        for layer in self.model.layers:
            layer.keys[:, :, length:] = 0
            layer.values[:, :, length:] = 0
        self.model.position.fill_(length)
        self.calls.append({"truncate": length})

    def reset(self):
        self.truncate(0)
        self.calls[-1] = {"reset": True}

    def write(self, tolerance):
        super().write(tolerance)
        for folder in ("", "core"):
            path = os.path.join(self.folder, folder, "program.yaml")
            with open(path, "w") as file:
                file.write(self.program)


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
            recorder.refuse("step", words(number))
            length = draw.randrange(length + 1)
            recorder.truncate(length)
    recorder.write(1e-5)


def write_rings():
    recorder = CacheRecorder(RingChat(), "rings")
    recorder.program = RINGS
    count = Dim("count", min=1, max=MOST)
    draw = random.Random(8)

    def words(number):
        return torch.tensor([draw.randrange(WORDS) for _ in range(number)])

    recorder.method("step", (words(3),), ({0: count},))
    length = 0
    for number in (MOST, 1, 2, 1, MOST, 2):
        if length + number <= CAPACITY:
            recorder.call("step", words(number))
            length += number
        else:  # the queries of several words would read what the last ones overwrite
            recorder.refuse("step", words(number))
    while length < 3 * CAPACITY:
        recorder.call("step", words(1))
        length += 1
    recorder.refuse("step", words(2))
    recorder.reset()
    for number in (3, 1, MOST, 1, 1, 1, 1):
        recorder.call("step", words(number))
    recorder.write(1e-5)


def write_slides():
    recorder = CacheRecorder(SlideChat(), "slides")
    recorder.program = RINGS.replace("ring", "slide")
    draw = random.Random(9)
    recorder.method("step", (torch.tensor([3]),))
    for _ in range(3 * CAPACITY):
        recorder.call("step", torch.tensor([draw.randrange(WORDS)]))
    recorder.write(1e-5)


if __name__ == "__main__":
    write_caches()
    write_rings()
    write_slides()
