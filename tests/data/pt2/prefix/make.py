"""Writes the set of this folder: rows that are read from the front of states,
constants and intermediate values, as many as an input has.

    pip install torch==2.13 safetensors
    python make.py
"""

import json
import os
import warnings

import torch
from safetensors.torch import save_file
from torch.export import Dim, export, save

warnings.filterwarnings("ignore")

ROWS, WIDTH = 16, 4


class Prefix(torch.nn.Module):
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


class Recorder:
    def __init__(self, model):
        self.model = model
        self.methods, self.calls, self.tensors = {}, [], {}

    def method(self, name):
        rows = Dim("n", min=1, max=12)
        self.model.forward = getattr(self.model, name)
        exported = export(
            self.model, (torch.zeros(3, WIDTH),), dynamic_shapes=({0: rows},), strict=False
        )
        os.makedirs("core", exist_ok=True)
        for folder, form in (
            (".", exported.run_decompositions({})),
            ("core", exported.run_decompositions()),
        ):
            for module in form.graph_module.modules():
                for node in module.graph.nodes:
                    # Where the author's files lie is nobody's business.
                    for key in ("stack_trace", "from_node", "nn_module_stack"):
                        node.meta.pop(key, None)
            save(form, os.path.join(folder, name + ".pt2"))
        self.methods[name] = name + ".pt2"

    def call(self, name, rows):
        key = f"c{len(self.calls):03d}"
        x = torch.randn(rows, WIDTH)
        self.tensors[key + ".in"] = x.clone()
        with torch.no_grad():
            outputs = getattr(self.model, name)(x)
        if outputs is None:
            outputs = ()
        record = {
            "method": name,
            "inputs": [{"tensor": key + ".in"}],
            "outputs": [{"tensor": f"{key}.out{i}"} for i in range(len(outputs))]
            or [{"none": True}],
            "input_mutations": [],
            "state": {},
        }
        for i, output in enumerate(outputs):
            self.tensors[f"{key}.out{i}"] = output.clone().contiguous()
        for state in ("cache", "mask"):
            self.tensors[f"{key}.{state}"] = getattr(self.model, state).clone()
            record["state"][state] = f"{key}.{state}"
        self.calls.append(record)


def main():
    recorder = Recorder(Prefix().eval())
    for name in ("push", "attend", "later", "add", "show", "work"):
        recorder.method(name)
    for name, rows in (
        ("attend", 5), ("push", 3), ("attend", 3), ("attend", 1), ("push", 12),
        ("later", 12), ("later", 1), ("show", 7), ("add", 4), ("add", 12),
        ("show", 12), ("show", 1), ("work", 6), ("work", 12), ("work", 1),
        ("push", 1), ("attend", 12), ("add", 1), ("later", 9),
    ):
        recorder.call(name, rows)
    with open("cases.json", "w") as file:
        json.dump({"format": 1, "atol": 1e-5, "rtol": 1e-5,
                   "methods": recorder.methods, "calls": recorder.calls},
                  file, indent=1)
        file.write("\n")
    save_file(recorder.tensors, "expected.safetensors")


if __name__ == "__main__":
    main()
