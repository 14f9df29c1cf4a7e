"""Files that the stock exporter writes, in etx."""

import json
import os
import struct

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import \
    XnnpackPartitioner
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import (MethodTestCase,
                                                        MethodTestSuite)
from executorch.devtools.bundled_program.serialize import \
    serialize_from_bundled_program_to_flatbuffer
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir._serialize import _program as serializer
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.memory_planning import (MemoryPlanningAlgorithmSuite,
                                             naive)
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.tensor import TensorSpec
from torch import nn
from torch._higher_order_ops.map import map as loop_map
from torch._higher_order_ops.scan import scan
from torch.export.experimental import _export_forward_backward

from eager_side import called_forward
from file_check_list import (call, check, export, load, lower, ok, refused,
                             same, save)


class Affine(nn.Module):
    """A layer, a table, a state that two methods change."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("table", torch.tensor([5.0, 7.0]))
        self.register_buffer("sum", torch.zeros(2))

    def forward(self, x):
        return self.layer(x) * self.table

    def add(self, x):
        self.sum.add_(self.layer(x).sum(0))
        return self.sum + 0

    def read(self, x):
        return self.sum * x


X = torch.linspace(-1, 1, 6).view(2, 3)


def methods(*names):
    """The module, and these methods of it exported."""
    module = Affine()
    programs = {}
    for name in names:
        with called_forward(module, name):
            example = torch.ones(2) if name == "read" else X
            programs[name] = export(module, example)
    return module, programs


def agrees(etx, directory, program, inputs, expected, *words, **options):
    """Both runtimes, and the proof of the plan."""
    path = save(program, directory)
    stock = load(path, **options).load_method("forward").execute(inputs)
    same(stock[-1], expected)
    found = call(etx, directory, path, "forward", inputs, *words)
    same(found[f"output_{len(stock) - 1}"], expected)
    ok(etx, "verify", path)
    return path


def check_config(sentence, **config):
    """A check that a way of writing files is read."""

    @check("theirs", sentence)
    def run(etx, directory):
        module, programs = methods("forward")
        agrees(etx, directory, lower(programs, **config), [X], module(X).detach())


check_config("planned inputs and outputs")
check_config(
    "inputs and outputs without planned memory",
    memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False,
                                            alloc_graph_output=False))
check_config("every tensor at a place of its own",
             memory_planning_pass=MemoryPlanningPass(
                 memory_planning_algo=MemoryPlanningAlgorithmSuite(
                     algo_list=[naive])))
check_config("segments at multiples of 4096", segment_alignment=4096)
check_config("constants at multiples of 64", constant_tensor_alignment=64)
check_config("stack traces in chains", emit_stacktrace=True)
check_config("views as copies", remove_view_copy=False)
check_config("operators in place where they may", run_reinplace_pass=True)


@check("theirs", "a file without extended header")
def no_header(etx, directory):

    class Twice(nn.Module):

        def forward(self, x):
            return x + x

    path = agrees(etx, directory, lower({"forward": export(Twice(), X)}), [X],
                  X * 2)
    with open(path, "rb") as file:
        assert file.read(12)[8:] != b"eh00"
    assert "no extended header" in ok(etx, "inspect", path)


@check("theirs", "an extended header of 24 bytes")
def short_header(etx, directory):
    module, programs = methods("forward")
    path = agrees(etx, directory, lower(programs), [X], module(X).detach())
    with open(path, "r+b") as file:
        head = file.read(16)
        assert struct.unpack("<I", head[12:])[0] == 32
        file.seek(12)
        file.write(struct.pack("<I", 24))
    stock = load(path).load_method("forward").execute([X])[0]
    same(stock, module(X).detach())
    same(call(etx, directory, path, "forward", [X])["output_0"], stock)


@check("theirs", "constant methods of every kind")
def constants(etx, directory):
    table = torch.tensor([[1, 2], [3, 4]], dtype=torch.int16)
    wanted = {"length": 64, "rate": 0.25, "is_on": True, "name": "etx",
              "table": table}
    _, programs = methods("forward")
    path = save(lower(programs, constant_methods=wanted), directory)
    shown = ok(etx, "inspect", path)
    for line in ("length = 64", "rate = 0.25", "is_on = true", "name = 'etx'",
                 "table = int16[2, 2] [[1, 2], [3, 4]]"):
        assert line in shown, shown
    for name, value in wanted.items():
        found = call(etx, directory, path, name, [])["output_0"]
        if name == "table":
            same(found, value)
        else:
            assert found == value, (name, found)


def trained(**config):
    """A loss with its gradients, exported for training on a device."""

    class Loss(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x, y):
            return nn.functional.mse_loss(self.layer(x), y)

    module, goal = Loss(), torch.ones(2, 2)
    program = torch.export.export(module, (X, goal))
    loss = module(X, goal)
    loss.backward()
    return lower({"forward": _export_forward_backward(program)}, **config), [
        X, goal], [loss.detach(), module.layer.weight.grad,
                   module.layer.bias.grad, module.layer.weight.detach(),
                   module.layer.bias.detach()]


@check("theirs", "parameters that are trained: planned, with initial data")
def training(etx, directory):
    program, inputs, expected = trained()
    path = agrees(etx, directory, program, inputs, expected[-1])
    found = call(etx, directory, path, "forward", inputs)
    for index, want in enumerate(expected):
        same(found[f"output_{index}"], want)
    assert ("__et_training_fqn_forward = 'layer.weight', 'layer.bias'"
            in ok(etx, "inspect", path))


@check("theirs", "parameters that are trained, in a data file")
def training_outside(etx, directory):
    program, inputs, expected = trained(external_mutable_weights=True)
    program.write_tensor_data_to_file(directory)
    data, = [f for f in os.listdir(directory) if f.endswith(".ptd")]
    data = os.path.join(directory, data)
    path = agrees(etx, directory, program, inputs, expected[-1], "--data", data,
                  data_path=data)
    found = call(etx, directory, path, "forward", inputs, "--data", data)
    for index, want in enumerate(expected):
        same(found[f"output_{index}"], want)


class Spread(MemoryPlanningPass):
    """Plans values in turn into arenas 1, 2 and 3."""

    def run(self, graph_module, graph_signature=None):
        for index, node in enumerate(graph_module.graph.nodes):
            spec = node.meta.get("spec")
            if isinstance(spec, TensorSpec) and not spec.const:
                spec.mem_id = 1 + index % 3
        return super().run(graph_module, graph_signature)


check_config("values in three arenas", memory_planning_pass=Spread())


@check("theirs", "named data beside the program's own")
def named_data(etx, directory):
    module, programs = methods("forward")
    manager = lower(programs)
    read = serializer.deserialize_pte_binary(manager.buffer)
    store = NamedDataStore()
    store.add_named_data("notes", b"nothing to run", alignment=32)
    store.add_named_data("more", bytes(range(256)))
    written = serializer.serialize_pte_binary(
        serializer.PTEFile(program=read.program,
                           named_data=store.get_named_data_store_output()))
    path = os.path.join(directory, "named.pte")
    with open(path, "wb") as file:
        file.write(bytes(written))
    assert "data 'notes', 14 bytes" in ok(etx, "inspect", path)
    same(call(etx, directory, path, "forward", [X])["output_0"],
         module(X).detach())


@check("theirs", "several methods that keep their state for themselves")
def private_state(etx, directory):
    module, programs = methods("add", "read")
    path = save(lower(programs), directory)
    same(call(etx, directory, path, "add", [X])["output_0"],
         module.add(X).detach())
    same(call(etx, directory, path, "read", [torch.ones(2)])["output_0"],
         [0, 0])
    ok(etx, "verify", path)


@check("theirs", "several methods over shared state")
def shared_state(etx, directory):
    module, programs = methods("add", "read", "forward")
    path = save(
        lower(programs,
              memory_planning_pass=MemoryPlanningPass(
                  share_mutable_buffers=True), emit_mutable_buffer_names=True),
        directory)
    facts = json.loads(ok(etx, "inspect", path, "--json"))
    assert facts["shares_state"] and facts["state"][0]["name"] == "sum", facts
    # One process is one session: the state is a result like any other.
    found = call(etx, directory, path, "add", [X], "--out",
                 f"sum={directory}/sum.npy")
    same(found["output_0"], module.add(X).detach())
    ok(etx, "verify", path)


def weights_apart(directory, where):
    """The program of a method whose parameters lie in data files."""
    module, programs = methods("forward")
    program = lower(programs, external_constants=where)
    program.write_tensor_data_to_file(directory)
    return module, program


@check("theirs", "constants in a data file")
def one_data_file(etx, directory):
    module, program = weights_apart(directory, True)
    data, = [f for f in os.listdir(directory) if f.endswith(".ptd")]
    data = os.path.join(directory, data)
    agrees(etx, directory, program, [X], module(X).detach(), "--data", data,
           data_path=data)


@check("theirs", "constants in two data files, some in the program")
def two_data_files(etx, directory):
    module, program = weights_apart(
        directory, lambda node: {"p_layer_weight": "first",
                                 "p_layer_bias": "second"}.get(node.name))
    path = save(program, directory)
    first, second = (os.path.join(directory, f"{n}.ptd")
                     for n in ("first", "second"))
    found = call(etx, directory, path, "forward", [X], "--data", first,
                 "--data", second)
    same(found["output_0"], module(X).detach())
    words = ("run", path, "forward", "--in", f"input_0={directory}/in0.npy")
    refused(etx, 2, "'layer.weight' of a data file", *words)
    refused(etx, 2, "no data file has 'layer.bias', which method 'forward'",
            *words, "--data", first)
    refused(etx, 2, "2 data files have 'layer.weight'", *words, "--data",
            first, "--data", second, "--data", first)


@check("theirs", "a data file of another model")
def wrong_data_file(etx, directory):
    _, program = weights_apart(directory, True)
    path = save(program, directory)

    class Other(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)
            self.register_buffer("table", torch.ones(2))

        def forward(self, x):
            return self.layer(x) * self.table

    other = lower({"forward": export(Other(), torch.ones(2, 4))},
                  external_constants=True)
    other.write_tensor_data_to_file(directory)
    data, = [f for f in os.listdir(directory) if f.endswith(".ptd")]
    refused(etx, 2, "'layer.weight' is float32[2, 4] in the data file, method "
            "'forward' expects float32[2, 3]", "run", path, "forward", "--data",
            os.path.join(directory, data))


@check("theirs", "a bundled program")
def bundle(etx, directory):
    module, programs = methods("add", "forward")
    program = lower(programs)
    cases = [MethodTestCase(inputs=(X * i,),
                            expected_outputs=(module(X * i).detach(),))
             for i in range(3)]
    more = [MethodTestCase(inputs=(X,), expected_outputs=(
        module.add(X).detach().clone(),)) for _ in range(2)]
    suites = [MethodTestSuite("add", more), MethodTestSuite("forward", cases)]
    path = os.path.join(directory, "model.bpte")

    def write():
        with open(path, "wb") as file:
            file.write(serialize_from_bundled_program_to_flatbuffer(
                BundledProgram(program, suites)))

    write()
    assert "5 cases passed, 0 failed" in ok(etx, "run", path, "--bundled")
    cases[1].expected_outputs[0].data[0, 0] += 1
    write()
    refused(etx, 6, "", "run", path, "--bundled")


@check("theirs", "a delegated method is refused, the other one runs")
def delegated(etx, directory):
    module, programs = methods("add", "forward")
    edge = to_edge(programs)
    edge = edge.to_backend({"forward": XnnpackPartitioner()})
    program = edge.to_executorch(ExecutorchBackendConfig())
    path = save(program, directory)
    refused(etx, 2, "method 'forward' calls delegate 'XnnpackBackend' in "
            "instruction 0; this runtime has none: export without to_backend",
            "run", path, "forward", "--in", f"input_0={X.tolist()}")
    same(call(etx, directory, path, "add", [X])["output_0"],
         module.add(X).detach())
    assert "1 delegate" in ok(etx, "inspect", path)


def loops(sentence, function, *inputs):
    """A check of control flow that only the stock exporter writes so far."""

    @check("theirs", sentence)
    def run(etx, directory):

        class Loop(nn.Module):

            def forward(self, xs, y):
                return function(xs, y)

        expected = Loop()(*inputs)
        agrees(etx, directory, lower({"forward": export(Loop(), *inputs)}),
               list(inputs), expected.detach())


loops("a loop over rows", lambda xs, y: loop_map(lambda x, y: x * y + x, xs, y),
      torch.rand(4, 3), torch.rand(3))
loops("a scan with a carry",
      lambda xs, y: scan(lambda c, x: (c + x, c * x), y, xs)[1],
      torch.rand(5, 3), torch.rand(3))


@check("theirs", "an operator that cannot be, before one that can")
def resolution(etx, directory):
    """Upstream forgets such an error if a later operator is found, and then
    calls a kernel that is not there."""
    _, programs = methods("forward")
    read = serializer.deserialize_pte_binary(lower(programs).buffer)
    operators = read.program.execution_plan[0].operators
    good = operators[0].name
    path = os.path.join(directory, "long.pte")
    words = ("run", path, "forward", "--in", f"input_0={X.tolist()}")
    for name, part in (("aten::" + "x" * 120,
                        "the name of operator '0' has 130 bytes"),
                       ("aten::nothing", "operator 'aten::nothing.out' of "
                        "instruction 0 is missing")):
        operators[0].name = name
        with open(path, "wb") as file:
            file.write(bytes(serializer.serialize_pte_binary(read)))
        refused(etx, 2, part, *words)
    operators[0].name = good
    with open(path, "wb") as file:
        file.write(bytes(serializer.serialize_pte_binary(read)))
    ok(etx, *words)
