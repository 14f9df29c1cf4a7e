"""Writes the sets `prefix`, `integers` and `planes` of this folder.

    pip install torch==2.13 safetensors
    python make_sets.py
"""

import json
import os
import warnings

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch.export import Dim, export, save

warnings.filterwarnings("ignore")

ROWS, WIDTH = 16, 4


class Prefix(torch.nn.Module):
    """Rows that are read from the front of states, constants and intermediate
    values, as many as an input has."""

    states = ("cache", "mask")

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.register_buffer("cache", torch.zeros(ROWS, WIDTH))
        self.register_buffer("mask", torch.zeros(1, ROWS, dtype=torch.bool))
        self.register_buffer("table", torch.randn(ROWS, WIDTH))
        self.register_buffer("places", torch.arange(100, 100 + ROWS)[None])
        self.weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH))

    def push(self, x):
        """The newest rows stand in front: old ones are read while new ones
        are written."""
        n = x.shape[0]
        kept = torch.cat([x, self.cache])[:ROWS]
        self.cache.copy_(kept)
        self.mask[:, :n] = True

    def attend(self, x):
        """Reads prefixes of two states and two constants."""
        n = x.shape[0]
        keys = self.cache[:n]
        scores = torch.softmax(x @ keys.T, -1)
        seen = torch.where(self.mask[:, :n], self.places[:, :n], 0)
        return scores @ (keys + self.table[:n]), seen

    def later(self, x):
        """Prefixes behind a fixed start, one of them next to the whole."""
        n = x.shape[0]
        return (
            x + self.cache[2 : 2 + n] * self.table[3 : 3 + n],
            self.table.sum(0) + x,
        )

    def add(self, x):
        """Changes a prefix in place; returns what was there before."""
        n = x.shape[0]
        before = self.cache[:n].clone()
        self.cache[:n] += x
        return before, self.cache[:n] * 2

    def show(self, x):
        """Returns prefixes as they are."""
        n = x.shape[0]
        return self.cache[:n], self.table[:n], self.table[2 : 2 + n]

    def work(self, x):
        """The same of a value that this call computes, used twice."""
        n = x.shape[0]
        hidden = torch.relu(self.cache @ self.weight)
        front = hidden[:n]
        return (front + x).sum(0), front.reshape(-1), hidden[1 : 1 + n] - front


class Integers(torch.nn.Module):
    """Quotients, powers and sums beyond what floats hold."""

    states = ()

    def wide(self, a, b):
        return (
            torch.remainder(a, b),
            torch.fmod(a, b),
            torch.div(a, b, rounding_mode="floor"),
            torch.div(a, b, rounding_mode="trunc"),
            a**3,
            a.sum(0),
        )

    def medium(self, a, b):
        return self.wide(a, b)[:5]

    def small(self, a, b):
        return self.wide(a, b)[:4]

    def unsigned(self, a, b):
        return torch.remainder(a, b), torch.fmod(a, b), a // b, a**5

    def numbers(self, a):
        return (
            a % 7,
            a % -7,
            torch.fmod(a, -7),
            a // -7,
            torch.div(a, -7, rounding_mode="trunc"),
            a**5,
            a.sum(1),
            a.sum(-2, keepdim=True),
        )

    def doubles(self, a, b):
        return torch.remainder(a, b), torch.remainder(a, 0.3), a.sum(0)


class Planes(torch.nn.Module):
    """Convolution, pooling and resampling over lines, planes and boxes."""

    states = ()

    def __init__(self):
        super().__init__()
        torch.manual_seed(11)
        self.line = torch.nn.Conv1d(4, 6, 3, stride=2, padding=1)
        self.same = torch.nn.Conv1d(4, 4, 4, padding="same", groups=2)
        self.plane = torch.nn.Conv2d(4, 6, (3, 2), dilation=(2, 1), groups=2)
        self.depthwise = torch.nn.Conv2d(4, 8, 3, padding=1, groups=4)
        self.back = torch.nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1,
                                             output_padding=1)
        self.back_line = torch.nn.ConvTranspose1d(4, 2, 4, stride=3)
        self.box = torch.nn.Conv3d(2, 3, (2, 3, 3), stride=(2, 1, 1),
                                   padding=(1, 1, 0))

    def convolve(self, line, plane, box):
        return (self.line(line), self.same(line), self.back_line(line),
                self.line(line[0]), self.plane(plane), self.depthwise(plane),
                self.back(plane), self.box(box))

    def largest(self, line, plane, box):
        found, places = F.max_pool2d(plane, 3, 2, 1, return_indices=True)
        return (F.max_pool1d(line, 3, 2, 1, ceil_mode=True),
                F.max_pool2d(plane, (2, 3), ceil_mode=True, dilation=(1, 2)),
                found, places, F.max_pool2d(plane[0], 2),
                F.max_pool3d(box, (2, 3, 2), (1, 2, 2), (1, 1, 0)),
                F.adaptive_max_pool1d(line, 4),
                F.adaptive_max_pool2d(plane, (5, 4)),
                F.adaptive_max_pool3d(box, (1, 4, 3)))

    def means(self, line, plane, box):
        return (F.avg_pool1d(line, 3, 2, 1),
                F.avg_pool1d(line, 3, 2, 1, True, False),
                F.avg_pool2d(plane, 3, 2, 1, True),
                F.avg_pool2d(plane, (3, 2), 2, (1, 0), False, False),
                F.avg_pool2d(plane, 2, divisor_override=3),
                F.avg_pool3d(box, 2, 2, 1, True, False),
                F.avg_pool3d(box, (2, 1, 3), divisor_override=5),
                F.adaptive_avg_pool1d(line, 5),
                F.adaptive_avg_pool2d(plane, (4, 7)),
                F.adaptive_avg_pool2d(plane, 1),
                F.adaptive_avg_pool3d(box, (2, 3, 4)))

    def resize(self, line, plane, box):
        def to(x, mode, **more):
            return F.interpolate(x, mode=mode, **more)

        return (to(line, "nearest", size=19), to(line, "linear", size=7),
                to(line, "linear", scale_factor=2.0, align_corners=True),
                to(plane, "nearest", scale_factor=(1.5, 2.0)),
                to(plane, "bilinear", scale_factor=1.7),
                to(plane, "bilinear", size=(13, 5), align_corners=True),
                to(plane, "bilinear", size=(4, 6), antialias=True),
                to(plane, "bicubic", size=(13, 7)),
                to(plane, "nearest-exact", size=(7, 11)),
                to(plane, "area", size=(3, 4)),
                to(box, "nearest", scale_factor=2),
                to(box, "trilinear", size=(3, 9, 4)))

    def sample(self, plane, grid):
        return tuple(F.grid_sample(plane, grid, mode, padding, corners)
                     for mode in ("bilinear", "nearest", "bicubic")
                     for padding, corners in (("zeros", False),
                                              ("border", True),
                                              ("reflection", False)))

    def varying(self, plane):
        return (F.max_pool2d(plane, 3, 2, 1), F.avg_pool2d(plane, 2),
                F.adaptive_avg_pool2d(plane, (3, 2)),
                F.interpolate(plane, scale_factor=2.0),
                F.interpolate(plane, scale_factor=1.5, mode="bilinear"),
                self.depthwise(plane), self.back(plane))


class Recorder:
    def __init__(self, model, folder):
        self.model, self.folder = model.eval(), folder
        self.methods, self.calls, self.tensors = {}, [], {}
        os.makedirs(os.path.join(folder, "core"), exist_ok=True)

    def plain(self, exported):
        """The form beside core ATen's."""
        return exported.run_decompositions({})

    def method(self, name, inputs, sizes=None):
        self.model.forward = getattr(self.model, name)
        exported = export(self.model, inputs, dynamic_shapes=sizes, strict=False)
        for form, folder in (
            (self.plain(exported), ""),
            (exported.run_decompositions(), "core"),
        ):
            for module in form.graph_module.modules():
                for node in module.graph.nodes:
                    # The author's paths do not belong into the data.
                    for key in ("stack_trace", "from_node", "nn_module_stack"):
                        node.meta.pop(key, None)
            save(form, os.path.join(self.folder, folder, name + ".pt2"))
        self.methods[name] = name + ".pt2"

    def call(self, name, *inputs):
        key = f"c{len(self.calls):03d}"
        record = {"method": name, "inputs": [], "outputs": [],
                  "input_mutations": [], "state": {}}

        def note(what, tensor):
            self.tensors[f"{key}.{what}"] = tensor.clone().contiguous()
            return f"{key}.{what}"

        for i, tensor in enumerate(inputs):
            record["inputs"].append({"tensor": note(f"in{i}", tensor)})
        with torch.no_grad():
            outputs = getattr(self.model, name)(*inputs)
        for i, value in enumerate(outputs or ()):
            record["outputs"].append(
                {"float": value} if isinstance(value, float)
                else {"tensor": note(f"out{i}", value)})
        if outputs is None:
            record["outputs"].append({"none": True})
        for state in self.model.states:
            record["state"][state] = note(state, getattr(self.model, state))
        self.calls.append(record)

    def refuse(self, name, *inputs):
        """A call that must fail and change no state."""
        key = f"c{len(self.calls):03d}"
        record = {"method": name, "refused": True, "inputs": [], "outputs": [],
                  "input_mutations": [], "state": {}}
        for i, tensor in enumerate(inputs):
            self.tensors[f"{key}.in{i}"] = tensor.clone().contiguous()
            record["inputs"].append({"tensor": f"{key}.in{i}"})
        self.calls.append(record)

    def write(self, tolerance):
        with open(os.path.join(self.folder, "cases.json"), "w") as file:
            json.dump({"format": 1, "atol": tolerance, "rtol": tolerance,
                       "methods": self.methods, "calls": self.calls},
                      file, indent=1)
            file.write("\n")
        path = os.path.join(self.folder, "expected.safetensors")
        save_file(self.tensors, path)
        os.chmod(path, 0o644)


def write_prefix():
    recorder = Recorder(Prefix(), "prefix")
    rows = Dim("n", min=1, max=12)
    for name in ("push", "attend", "later", "add", "show", "work"):
        recorder.method(name, (torch.zeros(3, WIDTH),), ({0: rows},))
    for name, count in (
        ("attend", 5), ("push", 3), ("attend", 3), ("attend", 1), ("push", 12),
        ("later", 12), ("later", 1), ("show", 7), ("add", 4), ("add", 12),
        ("show", 12), ("show", 1), ("work", 6), ("work", 12), ("work", 1),
        ("push", 1), ("attend", 12), ("add", 1), ("later", 9),
    ):
        recorder.call(name, torch.randn(count, WIDTH))
    recorder.write(1e-5)


def write_integers():
    recorder = Recorder(Integers(), "integers")

    def signs(dtype, large):
        a = torch.tensor([5, -5, 5, -5, large, -large, 7, -1, 0, large - 1])
        b = torch.tensor([3, 3, -3, -3, 3, -7, -7, 2, -5, 1 - large])
        return a.to(dtype), b.to(dtype)

    calls = {
        "wide": signs(torch.int64, 2**60 + 12345),
        "medium": signs(torch.int32, 2**30 + 7),
        "small": signs(torch.int8, 120),
        "unsigned": (torch.tensor([0, 1, 7, 250, 120, 13], dtype=torch.uint8),
                     torch.tensor([3, 3, 3, 7, 255, 2], dtype=torch.uint8)),
        "numbers": (torch.tensor([[5, -5, 2**56 + 1, -(2**56) - 3],
                                  [0, 48, 2**24 + 1, -(2**31)]]),),
        "doubles": (
            torch.tensor([5.5, -5.5, 5.5, -5.5, 1e15 + 0.5, -0.1, 7, 1 / 3, 0],
                         dtype=torch.float64),
            torch.tensor([3, 3, -3, -3, 0.7, 0.3, 0.1, -1 / 7, -2],
                         dtype=torch.float64)),
    }
    for name, inputs in calls.items():
        recorder.method(name, inputs)
        recorder.call(name, *inputs)
    recorder.write(1e-14)


def write_planes():
    recorder = Recorder(Planes(), "planes")
    line, plane = torch.randn(2, 4, 10), torch.randn(2, 4, 9, 10)
    box = torch.randn(2, 2, 4, 6, 7)
    for name in ("convolve", "largest", "means", "resize"):
        recorder.method(name, (line, plane, box))
        recorder.call(name, line, plane, box)
    grid = torch.rand(2, 5, 6, 2) * 2.6 - 1.3
    recorder.method("sample", (plane, grid))
    recorder.call("sample", plane, grid)
    rows = Dim("rows", min=4, max=16)
    recorder.method("varying", (torch.randn(2, 4, 10, 8),), ({2: rows},))
    for count in (4, 16, 9):
        recorder.call("varying", torch.randn(2, 4, count, 8))
    recorder.write(1e-5)


if __name__ == "__main__":
    write_prefix()
    write_integers()
    write_planes()
