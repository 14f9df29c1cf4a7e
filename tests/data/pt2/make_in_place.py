"""Writes the set `in_place` of this folder: programs as torch.export gives them,
whose nodes write into tensors, views of them, buffers and inputs; and in core/
what run_decompositions() makes of them.

    pip install torch==2.13 safetensors
    python make_in_place.py
"""

import torch
from torch import nn

from make_sets import Recorder

ROWS, WIDTH = 6, 4


class Writer(nn.Module):
    states = ("cache", "window", "count")

    def __init__(self):
        super().__init__()
        torch.manual_seed(11)
        self.register_buffer("cache", torch.zeros(2, ROWS, WIDTH))
        self.register_buffer("window", torch.zeros(3, WIDTH))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.first = nn.Conv2d(3, 3, 3, padding=1)
        self.second = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.steps = nn.ModuleList([
            nn.ReLU(inplace=True), nn.Hardswish(inplace=True),
            nn.SiLU(inplace=True), nn.LeakyReLU(0.1, inplace=True),
            nn.ELU(inplace=True), nn.ReLU6(inplace=True)])
        self.drop = nn.Dropout(0.5, inplace=True)

    def append(self, x, place):
        """A cache by position, a window that moves on, a counter."""
        self.cache.index_copy_(1, place, x)
        self.window.copy_(torch.roll(self.window, -1, 0))
        self.window[-1] = x[0, 0]
        self.count += 1
        return self.cache.sum(1), self.window * 2, self.count + 0

    def parts(self, x, y):
        """Parts of a buffer through views of views; what was read before."""
        before = self.cache[1] * 1
        self.cache[0, 1:4, ::2] += x
        self.cache[1, 2].mul_(3)
        self.cache.transpose(1, 2)[:, 0].sub_(1)
        self.window.view(-1)[3:7] = y
        return before, self.cache[0] + 1

    def reset(self, x):
        self.cache.zero_()
        self.window.fill_(0.5)
        self.count.copy_(torch.zeros((), dtype=torch.int64))
        return (x + self.window[0, 0],)

    def layers(self, image):
        """Activations in place, a residual that is added to, dropout."""
        kept = image
        out = self.steps[0](self.norm(self.first(image)))
        out = self.second(out)
        out += kept
        for step in self.steps:
            out = self.drop(step(self.first(step(out))))
        return (torch.relu_(out.flatten(1)),)

    def values(self, x, y):
        """Values of the call: views, masks, other types, an input."""
        z = torch.zeros(4, 6)
        z[1:3, 1:5] = x
        z.t()[0].add_(2).unsqueeze(0).exp_()
        z.masked_fill_(z > 2, 1.5)
        whole = (x * 10).to(torch.int32)
        whole.add_(3).bitwise_and_(7)
        power = x.abs()
        power.pow_(1.5).clamp_(0.1, 2).div_(3)
        y.mul_(2)
        y[0] -= 1
        return z, whole, power, y + 0


class RawRecorder(Recorder):
    def plain(self, exported):
        return exported

    def call(self, name, *inputs):
        changed = [x.clone() for x in inputs]
        super().call(name, *changed)
        record = self.calls[-1]
        for i, (before, after) in enumerate(zip(inputs, changed)):
            key = record["inputs"][i]["tensor"]
            self.tensors[key] = before.clone()
            if not torch.equal(before, after):
                self.tensors[key + ".after"] = after.clone()
                record["input_mutations"].append(
                    {"input": i, "tensor": key + ".after"})


def main():
    recorder = RawRecorder(Writer(), "in_place")

    def inputs_of(name, place=0):
        return {"append": lambda: (torch.randn(2, 1, WIDTH),
                                   torch.tensor([place])),
                "parts": lambda: (torch.randn(3, 2), torch.randn(4)),
                "reset": lambda: (torch.randn(2, 3),),
                "layers": lambda: (torch.randn(1, 3, 5, 6),),
                "values": lambda: (torch.randn(2, 4), torch.randn(3, 2)),
                }[name]()

    names = ("append", "parts", "reset", "layers", "values")
    for name in names:
        recorder.method(name, inputs_of(name))
    for place, name in enumerate(("append", "append", "parts", "append",
                                  "layers", "values", "parts", "reset",
                                  "append", "values", "parts", "layers")):
        recorder.call(name, *inputs_of(name, place % ROWS))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
