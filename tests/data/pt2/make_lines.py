"""Writes the set `lines` of this folder: methods whose lines are known.

    pip install torch==2.13
    python make_lines.py
"""

import linecache
import os
import types
import warnings

import torch
from torch.export import export, save

warnings.filterwarnings("ignore")

# Its own lines, which the tests know, counted from 1.
MODEL = """\
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.fc(x)
        return torch.relu(y)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.rest = torch.nn.ModuleList([Block()])
        self.register_buffer("table", torch.arange(4.0))
        self.register_buffer("seen", torch.zeros(4))

    def step(self, x):
        hidden = self.first(x)
        turned = torch.sin(self.table).flip(0)
        hidden = hidden * turned
        self.seen.copy_(hidden[0])
        return torch.softmax(
            self.rest[0](hidden), -1)

    def pick(self, x, places):
        rows = torch.index_select(x, 0, places)
        return rows.sqrt() + self.seen
"""


def main():
    name = "model.py"
    linecache.cache[name] = (len(MODEL), None, MODEL.splitlines(True), name)
    space = {"__name__": "model"}
    exec(compile(MODEL, name, "exec"), space)
    torch.manual_seed(5)
    model = space["Model"]().eval()
    x = torch.rand(2, 4)
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines")
    os.makedirs(folder, exist_ok=True)
    # Frames of PyTorch itself do not tell where it was installed.
    installed = os.path.dirname(os.path.dirname(torch.__file__)) + os.sep
    for method, inputs in {"step": (x,), "pick": (x, torch.tensor([1, 0]))}.items():
        # PyTorch keeps the lines of functions of this name.
        code = space["Model"].__dict__[method].__code__.replace(co_name="forward")
        space["Model"].forward = types.FunctionType(code, space)
        program = export(model, inputs).run_decompositions({})
        for node in program.graph.nodes:
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = trace.replace(installed, "")
        save(program, os.path.join(folder, method + ".pt2"))


main()
