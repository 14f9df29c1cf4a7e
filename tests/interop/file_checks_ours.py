"""Files that etx writes for ExecuTorch's runtime, in stock tools."""

import importlib.resources
import json
import os
import subprocess

import executorch
import torch
from executorch.devtools import Inspector
from executorch.exir._serialize import _program as serializer
from torch import nn
from torch.export import Dim

import etx_side
from eager_side import called_forward
from file_check_list import check, export, load, ok, same


class Cached(nn.Module):
    """Two named states, a dynamic size, an input that is changed."""

    def __init__(self):
        super().__init__()
        self.part = nn.Module()
        self.part.register_buffer("cache", torch.arange(8.0).view(4, 2))
        self.register_buffer("count", torch.tensor([3], dtype=torch.int64))
        self.layer = nn.Linear(2, 2)

    def store(self, x):
        self.part.cache[: x.shape[0]] = x
        self.count.add_(1)
        return self.layer(x)

    def fetch(self, x):
        x.copy_(self.part.cache[1:3])
        return self.count + 0

    def peek(self):
        return self.part.cache.sum(0)


X = torch.rand(2, 2)


def planned(etx, directory):
    """The module, and its program planned for ExecuTorch's runtime."""
    module = Cached()
    rows = Dim("rows", min=1, max=4)
    examples = {"store": ((X,), ({0: rows},)), "fetch": ((X,), None),
                "peek": ((), None)}
    functional = {}
    for name, (args, shapes) in examples.items():
        with called_forward(module, name):
            program = export(module, *args, dynamic_shapes=shapes)
            functional[name] = program.run_decompositions({})
    path = os.path.join(directory, "ours.pte")
    etx_side.plan(etx, functional, os.path.join(directory, "methods"), path)
    return module, path


def started(etx, directory, **options):
    """The module, its program, and the init method, which has been run."""
    module, path = planned(etx, directory)
    program = load(path, **options)
    init = program.load_method("et_module_init")
    init.execute([])
    return module, program, init


def refuses(action, what):
    try:
        action()
    except RuntimeError:
        return
    raise AssertionError(what)


def states_of(etx, path):
    facts = json.loads(ok(etx, "inspect", path, "--json"))
    return {state["name"]: state for state in facts["state"]}


@check("ours", "the deserialiser of stock tools reads what etx read")
def deserialised(etx, directory):
    _, path = planned(etx, directory)
    with open(path, "rb") as file:
        program = serializer.deserialize_pte_binary(file.read()).program
    names = [plan.name for plan in program.execution_plan]
    assert names == ["et_module_init", "fetch", "peek", "store",
                     "et_get_shared_buffer_names",
                     "et_get_shared_buffer_memory_plan"], names
    for plan in program.execution_plan[:4]:
        sizes = list(plan.non_const_buffer_sizes)
        assert sizes[0] == 0 and sizes[2] > 0, sizes
        states = {
            value.val.extra_tensor_info.fully_qualified_name:
            value.val.allocation_info.memory_offset_low
            for value in plan.values
            if getattr(value.val, "extra_tensor_info", None) is not None
        }
        for name, offset in states.items():
            assert offset == states_of(etx, path)[name]["offset"], name
        for operator in plan.operators:
            assert not operator.name.startswith("etx::"), operator.name


@check("ours", "written again by stock tools it is the same program")
def written_again(etx, directory):
    module, path = planned(etx, directory)
    with open(path, "rb") as file:
        read = serializer.deserialize_pte_binary(file.read())
    again = os.path.join(directory, "again.pte")
    with open(again, "wb") as file:
        file.write(bytes(serializer.serialize_pte_binary(read)))
    first, second = (json.loads(ok(etx, "inspect", p, "--json"))
                     for p in (path, again))
    for key in ("methods", "state", "operators"):
        assert first[key] == second[key], key
    ok(etx, "verify", again)
    program = load(again)
    program.load_method("et_module_init").execute([])
    found = program.load_method("peek").execute([])[0]
    same(found, module.peek())


@check("ours", "flatc decodes it with the schema of the package")
def flatc(etx, directory):
    _, path = planned(etx, directory)
    package = os.path.dirname(
        str(importlib.resources.files("executorch.exir").joinpath("x")))
    schema = os.path.join(package, "_serialize", "program.fbs")
    root = list(executorch.__path__)[0]
    tool = os.path.join(root, "data", "bin", "flatc")
    subprocess.run([tool, "--json", "--raw-binary", "--strict-json",
                    "--defaults-json", "-o", directory, schema, "--", path],
                   check=True, capture_output=True)
    with open(os.path.join(directory, "ours.json")) as file:
        decoded = json.load(file)
    plans = {plan["name"]: plan for plan in decoded["execution_plan"]}
    assert "store" in plans and len(plans["store"]["chains"]) == 1
    assert [d["key"] for d in decoded["named_data"]] == ["etx.plan.v1", "etx.source.v1"]


@check("ours", "a state has one address in all methods")
def one_address(etx, directory):
    _, path = planned(etx, directory)
    program = load(path)
    states = states_of(etx, path)
    loaded = {name: program.load_method(name)._method
              for name in ("et_module_init", "store", "fetch", "peek")}
    bases = set()
    for name, method in loaded.items():
        for state, facts in states.items():
            try:
                tensor = method.get_attribute(state)
            except RuntimeError:
                # Only the init method has to touch every state.
                assert name != "et_module_init", state
                continue
            bases.add(tensor.data_ptr() - facts["offset"])
    assert len(bases) == 1, bases


@check("ours", "state is found by its full name, and nothing else is")
def attributes(etx, directory):
    module, _, init = started(etx, directory)
    for name in ("part.cache", "count"):
        same(init._method.get_attribute(name), module.get_buffer(name))
    meta = init.metadata
    assert meta.num_attributes() == 2, meta.num_attributes()
    refuses(lambda: init._method.get_attribute("cache"),
            "'cache' was found, which is not a full name")


@check("ours", "the init method resets, whenever the others are loaded")
def resets(etx, directory):
    module, program, init = started(etx, directory)
    start = module.peek()
    stored = program.load_method("store").execute([X])[0]
    same(stored, module.store(X).detach())
    # Loaded late: nothing is reset by that.
    same(program.load_method("peek").execute([])[0], module.peek())
    init.execute([])
    same(program.load_method("peek").execute([])[0], start)


@check("ours", "changed inputs come back as leading outputs")
def leading_outputs(etx, directory):
    module, program, _ = started(etx, directory)
    outputs = program.load_method("fetch").execute([X.clone()])
    assert len(outputs) == 2, len(outputs)
    changed = X.clone()
    count = module.fetch(changed)
    same(outputs[0], changed)
    same(outputs[1], count)


@check("ours", "the layout-exchange methods agree with etx inspect")
def layout_methods(etx, directory):
    _, path = planned(etx, directory)
    program = load(path)
    names = program.load_method("et_get_shared_buffer_names").execute([])[0]
    plan = program.load_method("et_get_shared_buffer_memory_plan").execute(
        [])[0]
    states = states_of(etx, path)
    assert names.dtype == torch.uint8 and plan.dtype == torch.int64
    assert list(plan.shape) == [len(states), 6]
    for row, numbers in zip(names, plan.tolist()):
        name = bytes(row.tolist()).rstrip(b"\0").decode()
        facts = states[name]
        elements = 1
        for size in facts["sizes"]:
            elements *= size
        width = {"float32": 4, "int64": 8}[facts["type"]]
        assert numbers[0] == 2, "mem_id"
        assert numbers[2] == facts["offset"], "offset"
        assert numbers[3] >= numbers[4] == elements * width, "bytes"
        assert numbers[5] == elements, "elements"


@check("ours", "sizes vary within their bounds")
def sizes(etx, directory):
    module, program, _ = started(etx, directory)
    store = program.load_method("store")
    for count in (4, 1, 3):
        rows = torch.rand(count, 2)
        same(store.execute([rows])[0], module.store(rows).detach())
        same(program.load_method("peek").execute([])[0], module.peek())
    refuses(lambda: store.execute([torch.rand(5, 2)]),
            "five rows were taken, four is the bound")


@check("ours", "inputs and outputs of a method are known without loading it")
def metadata(etx, directory):
    _, path = planned(etx, directory)
    program = load(path)
    meta = program.metadata("store")
    assert (meta.name(), meta.num_inputs(), meta.num_outputs()) == ("store", 1,
                                                                    1)
    assert list(meta.input_tensor_meta(0).sizes()) == [4, 2]
    assert list(meta.output_tensor_meta(0).sizes()) == [4, 2]


@check("ours", "the inspector shows each instruction of a run")
def inspected(etx, directory):
    _, program, _ = started(etx, directory, enable_etdump=True,
                            debug_buffer_size=1 << 20)
    program.load_method("peek").execute([])
    dump, debug = (os.path.join(directory, f"run.{end}")
                   for end in ("etdp", "bin"))
    program.write_etdump_result_to_file(dump, debug)
    events = {event.name
              for block in Inspector(etdump_path=dump).event_blocks
              for event in block.events}
    assert "Method::execute" in events, events
    assert "native_call_sum.IntList_out" in events, events
    assert "native_call_copy_" in events, events
