"""Writes the programs of this folder with the stock exporter, and what
ExecuTorch's runtime answers: NAME.pte and NAME.expected.

    pip install torch==2.13 executorch==1.5.1
    python make.py [NAME...]

NAME.expected holds, for each call and each of its outputs, int32 rank, int32
sizes, and the elements as float32.
"""

import logging
import struct
import sys
import warnings

import numpy as np
import torch
import executorch.extension.llm.custom_ops.custom_ops  # registers llama::
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import (
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch._higher_order_ops.map import map as loop_map
from torch.export import Dim, export

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


class Counter(torch.nn.Module):
    """State without a name, planned in arena 1."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(x)
        return self.count * 2


class Get(torch.nn.Module):
    def __init__(self, counter):
        super().__init__()
        self.count = counter.count

    def forward(self, x):
        return self.count + x


class HalfDelegated(torch.nn.Module):
    """XNNPACK has no cumulative sum, and computes the rest."""

    def forward(self, x):
        return torch.cumsum(x * 2, 0) + 1


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = torch.nn.Linear(4, 8)
        self.b = torch.nn.Linear(8, 2)

    def forward(self, x):
        return torch.softmax(self.b(torch.relu(self.a(x))), -1).reshape(-1)


class Branch(torch.nn.Module):
    def forward(self, p, x):
        return torch.cond(p, lambda x: x * x, lambda x: x + x, (x,))


class Loop(torch.nn.Module):
    def forward(self, xs, y):
        return loop_map(lambda x, y: x * y + x, xs, y)


class MutableInput(torch.nn.Module):
    def forward(self, x, y):
        x.add_(y)
        return x * 2


class Sizes(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        rows = torch.arange(n, dtype=torch.float32).reshape(n, 1)
        return torch.cat([x, rows.expand(n, x.shape[1])], 0) * n


class Unplanned(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1


class Weighted(torch.nn.Module):
    """Weights that may lie in another file, and a constant of its own."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.Linear(4, 3)
        self.register_buffer("table", torch.tensor([1, 2, 3], dtype=torch.int32))

    def forward(self, x):
        return self.layer(x) * self.table


class Steps(torch.nn.Module):
    """State and numbers, for a bundle."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2, dtype=torch.int64))

    def forward(self, x, n: int):
        self.count.add_(1)
        return x * n + self.count, self.count.clone()


class Turned(torch.nn.Module):
    """An input in another order of dimensions, which is changed."""

    def forward(self, x):
        x.add_(x)
        return x + x


class Item(torch.nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k <= x.shape[0])
        return x.narrow(0, 0, k) * 2


class Selected(torch.nn.Module):
    """Sizes that depend on elements: three operators, and what follows them."""

    def forward(self, x, repeats):
        positive = x[x > 0]
        torch._check(positive.shape[0] <= 12)
        small = torch.masked_select(x, x < 0.25)
        torch._check(small.shape[0] <= 12)
        rows = torch.repeat_interleave(repeats)
        torch._check(rows.shape[0] <= 8)
        return (
            positive * 2 + 1,
            torch.cat([small.exp(), x[0]]),
            small.sum(),
            x[rows % 3],
        )


class UpdatedCaches(torch.nn.Module):
    """An operator for each cache, and one that reads them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 6, 1, 4))
        self.register_buffer("values", torch.zeros(1, 6, 1, 4))

    def start(self, at):
        start = at.item()
        torch._check_is_size(start)
        torch._check(start < 5)
        return start

    def forward(self, q, k, v, at):
        start = self.start(at)
        torch.ops.llama.update_cache(k, self.keys, start)
        torch.ops.llama.update_cache(v, self.values, start)
        return torch.ops.llama.custom_sdpa(
            q, self.keys, self.values, start, None, 0.0, True
        )


class AttentionWithCaches(UpdatedCaches):
    """One operator that changes two arguments and has a result."""

    def forward(self, q, k, v, at):
        return torch.ops.llama.sdpa_with_kv_cache(
            q, k, v, self.keys, self.values, self.start(at), 1, None, 0.0, True
        )


def ramp(*sizes):
    count = int(np.prod(sizes))
    return torch.arange(count, dtype=torch.float32).reshape(*sizes) / 8 - 1


def wanted(name):
    return len(sys.argv) < 2 or name in sys.argv[1:]


def write(name, methods, calls, data=None, **config):
    if not wanted(name):
        return
    edge = to_edge(methods, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = edge.to_executorch(ExecutorchBackendConfig(**config))
    with open(name + ".pte", "wb") as file:
        file.write(program.buffer)
    if data is not None:
        program.write_tensor_data_to_file(".")
    loaded = Runtime.get().load_program(name + ".pte", data_path=data)
    known = {method: loaded.load_method(method) for method in methods}
    with open(name + ".expected", "wb") as file:
        for method, inputs in calls:
            outputs = known[method].execute([x.clone() for x in inputs])
            for output in outputs:
                file.write(struct.pack("<i", output.dim()))
                file.write(struct.pack(f"<{output.dim()}i", *output.shape))
                file.write(output.contiguous().float().numpy().tobytes())


def write_bundle():
    """A bundle of four cases, the third of which is wrong."""
    if not wanted("bundle"):
        return
    x = torch.arange(2, dtype=torch.float32)
    program = to_edge(export(Steps(), (x, 3))).to_executorch()
    count = torch.ones(2, dtype=torch.int64)
    cases = [
        MethodTestCase(inputs=(x + i, 3),
                       expected_outputs=((x + i) * 3 + i + 1, count * (i + 1)))
        for i in range(4)
    ]
    cases[2].expected_outputs[0].data.add_(0.5)
    bundle = BundledProgram(program, [MethodTestSuite("forward", cases)])
    with open("bundle.bpte", "wb") as file:
        file.write(serialize_from_bundled_program_to_flatbuffer(bundle))


def write_delegated(name, methods, partitioner):
    """A program of ExecuTorch with parts that the backend XNNPACK has compiled."""
    if not wanted(name):
        return
    lowered = to_edge_transform_and_lower(methods, partitioner=partitioner)
    with open(name + ".pte", "wb") as file:
        file.write(lowered.to_executorch().buffer)


def main():
    x = (ramp(3),)
    batch = Dim("batch", min=1, max=10)
    counter = Counter()
    write("private_state", {"forward": export(counter, x)}, [("forward", x)] * 3)
    shared = {"add": export(counter, x), "get": export(Get(counter), x)}
    write(
        "shared_state",
        shared,
        [("add", x), ("get", x), ("add", x), ("get", x)],
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True),
        emit_mutable_buffer_names=True,
    )
    layers = export(Layers(), (ramp(3, 4),), dynamic_shapes={"x": {0: batch}})
    rows = [("forward", (ramp(n, 4),)) for n in (3, 10, 1, 5)]
    write("dynamic_layers", {"forward": layers}, rows)
    sizes = export(Sizes(), (ramp(3, 4),), dynamic_shapes={"x": {0: batch}})
    write("dynamic_sizes", {"forward": sizes}, rows)
    flag = torch.tensor(True)
    write(
        "branch",
        {"forward": export(Branch(), (flag, ramp(3)))},
        [("forward", (torch.tensor(p), ramp(3))) for p in (True, False, True)],
    )
    write(
        "loop",
        {"forward": export(Loop(), (ramp(4, 3), ramp(3)))},
        [("forward", (ramp(4, 3), ramp(3)))] * 2,
    )
    write(
        "mutable_input",
        {"forward": export(MutableInput(), (ramp(3), ramp(3)))},
        [("forward", (ramp(3), ramp(3)))] * 2,
    )
    write(
        "unplanned",
        {"forward": export(Unplanned(), x)},
        [("forward", x)] * 2,
        memory_planning_pass=MemoryPlanningPass(
            alloc_graph_input=False, alloc_graph_output=False
        ),
    )
    write(
        "item",
        {"forward": export(Item(), (ramp(5, 2), torch.tensor(3)))},
        [("forward", (ramp(5, 2), torch.tensor(n))) for n in (3, 5, 0)],
    )
    repeats = torch.tensor([2, 0, 3])
    x = ramp(3, 4)
    write(
        "selected",
        {"forward": export(Selected(), (x, repeats))},
        [("forward", (x - shift, repeats)) for shift in (0.0, 9.0, -9.0)],
    )
    token = (ramp(1, 1, 2, 4), ramp(1, 1, 1, 4), ramp(1, 1, 1, 4) * 2)
    for name, module in (
        ("update_cache", UpdatedCaches()),
        ("kv_cache", AttentionWithCaches()),
    ):
        write(
            name,
            {"forward": export(module, (*token, torch.tensor(0)), strict=True)},
            [("forward", (*token, torch.tensor(n))) for n in (0, 1, 2)],
        )
    write(
        "external",
        {"forward": export(Weighted(), (ramp(2, 4),))},
        [("forward", (ramp(2, 4),))],
        data="external.ptd",
        external_constants=lambda node: "external"
        if node.name.startswith("p_") else None,
    )
    write_bundle()
    vector = (ramp(3),)
    parts = {"forward": export(HalfDelegated(), vector)}
    write_delegated("delegated", parts, [XnnpackPartitioner()])
    parts = {**parts, "plain": export(Get(counter), vector)}
    write_delegated("one_delegated", parts, {"forward": [XnnpackPartitioner()]})
    image = ramp(1, 2, 2, 3).to(memory_format=torch.channels_last)
    write(
        "channels_last",
        {"forward": export(Turned(), (image,))},
        [("forward", (image,))],
    )


if __name__ == "__main__":
    main()
