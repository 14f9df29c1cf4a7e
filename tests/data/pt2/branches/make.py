"""Writes this set: torch.cond over state, over sizes, within each other.

    python make.py          (PyTorch 2.13, safetensors)
"""

import copy
import json
import os

import torch
from safetensors.torch import save_file
from torch.export import Dim
from torch.utils import _pytree as pytree

HERE = os.path.dirname(os.path.abspath(__file__))


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(4.0))
        self.register_buffer("b", torch.ones(4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("cache", torch.zeros(6, 3))
        self.w = torch.nn.Parameter(torch.linspace(-1, 1, 9).view(3, 3))

    def update(self, x):
        """One branch changes the state, the other leaves it."""
        new = torch.cond(x.sum() > 0, lambda x, a: a + x.sum(),
                         lambda x, a: a.clone(), (x, self.a))
        self.a.copy_(new)
        self.count.add_(1)
        return new * 2

    def exchange(self):
        """Two states change places every second time."""
        a, b = torch.cond(self.count % 2 == 0,
                          lambda a, b: (b.clone(), a.clone()),
                          lambda a, b: (a.clone(), b.clone()),
                          (self.a, self.b))
        self.a.copy_(a)
        self.b.copy_(b)
        self.count.add_(1)
        return a - b

    def pick(self, flag, x, i):
        """Results of several types; one of them is an input as it is."""
        def yes(x, i):
            return x.clone(), i * 2, x > 0

        def no(x, i):
            return x @ self.w, i.clone(), x < 0

        return torch.cond(flag, yes, no, (x, i))

    def sizes(self, x):
        """The condition is one on sizes, and so are the results."""
        y = torch.cond(x.shape[0] > 4, lambda x: (x + 1).relu(),
                       lambda x: x.sigmoid() - 1, (x,))
        return y.sum(0), y * 2

    def deep(self, x):
        """Three choices within each other; the inner ones use outer values."""
        def inner(x, y):
            return torch.cond(y.sum() > 4, lambda x, y: x * y,
                              lambda x, y: x - y, (x, y))

        def middle(x, y):
            z = y + 1
            return torch.cond(x.sum() > 2, inner,
                              lambda x, y: y * 3, (x, z)) + z

        def outer(x):
            y = x * 2
            return torch.cond(x.min() > 0, middle,
                              lambda x, y: y.tanh(), (x, y))

        return torch.cond(x.max() > 0, outer, lambda x: x.abs(), (x,))

    def rows(self, x, at):
        """A cache whose rows are written in one branch, cleared in another."""
        def write(x, at, cache):
            return cache.index_put((at,), x)

        def clear(x, at, cache):
            return torch.zeros_like(cache)

        self.cache.copy_(torch.cond(at.min() >= 0, write, clear,
                                    (x, at, self.cache)))
        return self.cache.sum(1)

    def fill(self, data):
        """An input that one branch changes."""
        data.copy_(torch.cond(data.sum() > 10, lambda d: d / 2,
                              lambda d: d.clone(), (data,)))


def leaves(value):
    return pytree.tree_leaves(value)


class Recorder:
    def __init__(self, model):
        self.model, self.calls, self.tensors = model, [], {}
        self.methods = {}
        self.mutated = {}  # names of methods: positions of inputs they write

    def method(self, name, arguments, shapes=None):
        module = copy.deepcopy(self.model)
        module.forward = getattr(module, name)
        program = torch.export.export(module, arguments, dynamic_shapes=shapes)
        for form, archive in (("", program.run_decompositions({})),
                              ("core", program.run_decompositions())):
            # The paths of this machine do not belong into the data.
            for graph in archive.graph_module.modules():
                for node in graph.graph.nodes:
                    for key in ("stack_trace", "from_node", "source_fn_stack"):
                        node.meta.pop(key, None)
            os.makedirs(os.path.join(HERE, form), exist_ok=True)
            torch.export.save(archive, os.path.join(HERE, form, f"{name}.pt2"))
        self.methods[name] = f"{name}.pt2"
        signature = archive.graph_signature
        self.mutated[name] = [
            signature.user_inputs.index(target)
            for target in signature.user_inputs_to_mutate.values()]

    def keep(self, value, key):
        if isinstance(value, torch.Tensor):
            self.tensors[key] = value.clone().contiguous()
            return {"tensor": key}
        return {"none": True}

    def call(self, name, *arguments):
        mark = f"c{len(self.calls):03d}"
        before = {k: v.clone() for k, v in self.model.named_buffers()}
        given = [a.clone() for a in arguments]
        outputs = leaves(getattr(self.model, name)(*arguments))
        self.calls.append({
            "method": name,
            "inputs": [self.keep(v, f"{mark}.in{i}")
                       for i, v in enumerate(given)],
            "outputs": [self.keep(v, f"{mark}.out{i}")
                        for i, v in enumerate(outputs)] or [{"none": True}],
            "input_mutations": [
                {"input": i, **self.keep(arguments[i], f"{mark}.in{i}.after")}
                for i in self.mutated[name]],
            "state": {k: self.keep(v, f"{mark}.state.{k}")["tensor"]
                      for k, v in self.model.named_buffers()
                      if not torch.equal(v, before[k])},
        })

    def write(self):
        case = {"format": 1, "atol": 1e-5, "rtol": 1e-5,
                "methods": self.methods, "calls": self.calls}
        with open(os.path.join(HERE, "cases.json"), "w") as file:
            json.dump(case, file, indent=1)
            file.write("\n")
        save_file(self.tensors, os.path.join(HERE, "expected.safetensors"))


def main():
    torch.manual_seed(7)
    model = Branches().eval()
    recorder = Recorder(model)
    n = Dim("n", min=1, max=8)
    x = torch.randn(3, 3)
    yes, no = torch.tensor(True), torch.tensor(False)
    i = torch.tensor([3, -4])
    recorder.method("update", (x,), ({0: n},))
    recorder.method("exchange", ())
    recorder.method("pick", (yes, x, i))
    recorder.method("sizes", (x,), ({0: n},))
    recorder.method("deep", (x,))
    recorder.method("rows", (x[:2], torch.tensor([1, 4])))
    recorder.method("fill", (x.clone(),))
    with torch.no_grad():
        for value in (torch.ones(2, 3), -torch.ones(8, 3), torch.ones(1, 3)):
            recorder.call("update", value)
        for _ in range(3):
            recorder.call("exchange")
        recorder.call("update", torch.ones(5, 3))
        recorder.call("exchange")
        for flag in (yes, no, yes):
            recorder.call("pick", flag, x, i)
        for rows in (1, 4, 5, 8, 2):
            recorder.call("sizes", torch.randn(rows, 3))
        for value in (x, x.abs() + 0.1, -x.abs(), x.abs() * 5 + 1,
                      torch.full((3, 3), 0.05), torch.full((3, 3), 0.3)):
            recorder.call("deep", value)
        recorder.call("rows", torch.ones(2, 3), torch.tensor([1, 4]))
        recorder.call("rows", torch.ones(2, 3) * 2, torch.tensor([4, 5]))
        recorder.call("rows", torch.ones(2, 3), torch.tensor([-1, 5]))
        recorder.call("rows", torch.ones(2, 3) * 3, torch.tensor([0, 5]))
        recorder.call("fill", torch.full((3, 3), 4.0))
        recorder.call("fill", torch.full((3, 3), 1.0))
    recorder.write()


if __name__ == "__main__":
    main()
