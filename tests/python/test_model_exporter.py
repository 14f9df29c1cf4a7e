"""The exporter by ExecuTools' names and stages.

Each test stands for what ExecuTools' own tests of the same behaviour ask:

  registration_is_kept                 test_register_method
  wrong_registrations_are_refused      test_register_invalid_method_arg,
                                       test_register_invalid_method
  buffers_are_shared_by_name           test_register_shared_buffer_by_fqn
  stages_follow_each_other             test_export_single_method, ..._multiple_methods,
                                       test_export_with_shared_buffers, test_to_edge,
                                       test_to_edge_with_multiple_shared_buffers,
                                       test_to_executorch, test_method_with_multiple_args
  graphs_show_shared_buffers_as_written  test_copy_insertion, test_copy_insertion_dynamic
  files_are_saved                      test_save
  one_place_for_all_methods            test_memory_planning
  the_stateful_model                   test_dynamic_buffer_set, test_dynamic_buffer_load,
                                       manual test_stateful_export

Different on purpose: buffers that are not persistent, examples that are tuples
or as long as the dimension's maximum are accepted, initial values are those of
the model instead of zeros. In ExecuTorch's runtime a written input is the first
output, where ExecuTools' files write the caller's tensor.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim

import etx
from etx.model_exporter import MethodArg, MultiEntryPointExporter

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS, COLUMNS = 6, 8


class Part(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("left", torch.ones(ROWS, COLUMNS))
        self.register_buffer("right", torch.ones(ROWS, COLUMNS))
        self.register_buffer("passing", torch.ones(2), persistent=False)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.full((ROWS, COLUMNS), 4.0))
        self.register_buffer("other", torch.zeros(1, 3, dtype=torch.uint8))
        self.part = Part()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.plain = torch.ones(2)
        self.number = 3

    def add_part(self, x: torch.Tensor):
        return x + self.part.right

    def add_both(self, x: torch.Tensor, y: torch.Tensor):
        return x + y

    def read_cache(self):
        return self.cache

    def set_cache(self, data: torch.Tensor):
        self.cache[0 : data.shape[0], 0 : data.shape[1]] = data
        return None

    def get_cache(self, data: torch.Tensor):
        data.copy_(self.cache.narrow(0, 0, data.size(0)).narrow(1, 0, data.size(1)))
        return None


def dims():
    return {0: Dim("rows", min=1, max=ROWS), 1: Dim("columns", min=1, max=COLUMNS)}


def block():
    return MethodArg(torch.ones(ROWS, COLUMNS))


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def exporter(model):
    return MultiEntryPointExporter(model)


def test_registration_is_kept(exporter, model):
    rows = {0: Dim("rows", min=1, max=ROWS)}
    exporter.register(model.add_part, x=MethodArg(torch.ones(ROWS - 1, COLUMNS), rows))
    row = exporter.registered_method_dict["add_part"]
    assert row.fn == model.add_part
    assert torch.equal(row.kwargs["x"].example_input, torch.ones(ROWS - 1, COLUMNS))
    assert row.kwargs["x"].dynamic_dims == rows


@pytest.mark.parametrize(
    "argument",
    [
        torch.ones(1),
        MethodArg(torch.ones(1), dynamic_dims=[]),
        MethodArg(torch.ones(1), dynamic_dims={"0": Dim("n", max=4)}),
        MethodArg(torch.ones(1), dynamic_dims={0: "n"}),
        MethodArg(torch.ones(1), dynamic_dims={2: Dim("n", max=4)}),
        MethodArg(torch.ones(9), dynamic_dims={0: Dim("n", max=4)}),
    ],
)
def test_wrong_registrations_are_refused(exporter, model, argument):
    with pytest.raises(ValueError):
        exporter.register(model.add_part, x=argument)


def test_functions_that_are_no_methods_are_refused(exporter):
    def stranger(x):
        return x

    with pytest.raises(ValueError, match="not a method"):
        exporter.register(stranger, x=MethodArg(torch.ones(1)))


def test_buffers_are_shared_by_name(exporter):
    exporter.register_shared_buffer("cache")
    exporter.register_shared_buffers(["part.left", "part"])
    assert set(exporter.registered_shared_buffers) == {
        "cache", "part.left", "part.right", "part.passing",
    }
    for wrong in ("nothing", "part.nothing", "number", "weight", "plain", "part.left.real"):
        with pytest.raises(ValueError):
            exporter.register_shared_buffer(wrong)


def test_missing_and_unknown_arguments_are_refused(exporter, model):
    exporter.register(model.add_part)
    with pytest.raises(ValueError, match="'x'"):
        exporter.export()
    exporter.register(model.add_part, x=block(), y=block())
    with pytest.raises(ValueError, match="'y'"):
        exporter.export()


def test_stages_follow_each_other(exporter, model):
    exporter.register(model.add_part, x=block())
    exporter.register(model.add_both, x=block(), y=block())
    for early in (exporter.to_edge, exporter.to_executorch):
        with pytest.raises(ValueError):
            early()
    exporter.register_shared_buffer("cache")
    exporter.register_shared_buffer("part")
    graphs = exporter.export()
    names = {"add_part", "add_both", "et_module_init"}
    assert set(graphs) == names
    assert set(exporter.to_edge()._edge_programs) == names
    with pytest.raises(ValueError):
        exporter.save("nowhere", "model")
    program = exporter.to_executorch()
    assert set(program.methods) == names and program.buffer[4:8] == b"ET12"


def test_graphs_show_shared_buffers_as_written(exporter, model):
    exporter.register_shared_buffer("cache")
    exporter.register(model.read_cache)
    exporter.register(model.set_cache, data=MethodArg(torch.ones(ROWS - 1, COLUMNS - 1), dims()))
    exporter.register(model.get_cache, data=MethodArg(torch.ones(ROWS, COLUMNS), dims()))
    graphs = exporter.export()

    def copies(name):
        copy = torch.ops.aten.copy_.default
        return sum(node.target is copy for node in graphs[name].graph.nodes)

    assert (copies("read_cache"), copies("set_cache"), copies("get_cache")) == (1, 1, 2)


def test_one_place_for_all_methods(exporter, model):
    exporter.register_shared_buffers(["cache", "other", "part"])
    exporter.register(model.add_part, x=block())
    exporter.register(model.read_cache)
    exporter.export()
    exporter.to_edge()
    program = exporter.to_executorch()
    places = {}
    for method in program.methods:
        exported = program.exported_program(method)
        buffers = exported.graph_signature.inputs_to_buffers
        for node in exported.graph.nodes:
            name = buffers.get(node.target)
            if name in exporter.registered_shared_buffers and node.users:
                spec = node.meta["spec"]
                place = (spec.mem_id, spec.mem_obj_id, spec.mem_offset)
                assert places.setdefault(name, place) == place
    assert set(places) >= {"cache", "part.right"}
    assert len(set(places.values())) == len(places)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = Model()
    exporter = MultiEntryPointExporter(model)
    folder = tmp_path_factory.mktemp("saved")
    exporter.register_shared_buffers(["cache", "other"])
    exporter.register(model.set_cache, data=MethodArg(torch.ones(ROWS, COLUMNS), dims()))
    exporter.register(model.get_cache, data=MethodArg(torch.ones(ROWS, COLUMNS), dims()))
    exporter.export()
    exporter.to_edge(constant_methods={"rows": ROWS, "zeros": torch.zeros(3, 3)})
    exporter.to_executorch()
    path = exporter.save(folder, "model")
    assert path == folder / "model.pte"
    return exporter.save(folder, "model", mk_subdir=True)


def test_files_are_saved(saved):
    assert saved.parent.name == "Model" and (saved.parent.parent / "model.pte").read_bytes() == saved.read_bytes()
    names = {path.name for path in saved.parent.iterdir()}
    assert {"model.pte", "model.etrecord", "model-memory_profile.html"} <= names
    assert "model-set_cache-graph_trace_exported.txt" in names


def test_the_stateful_model_runs(saved):
    session = etx.load(saved).session()
    assert session.program.constants["rows"] == ROWS
    assert session.program.constants["zeros"].shape == (3, 3)
    session.set_cache(np.full((2, 3), 9, np.float32))
    for rows, columns in ((ROWS, COLUMNS), (1, 1), (2, COLUMNS)):
        data = np.zeros((rows, columns), np.float32)
        session.get_cache(data)
        expected = np.full((ROWS, COLUMNS), 4, np.float32)
        expected[:2, :3] = 9
        assert (data == expected[:rows, :columns]).all()


def test_the_stateful_model_runs_in_the_stock_runtime(saved):
    """With the shared arena that its Python binding lacks each method has state of
    its own, so here one method's state is looked at over several calls."""
    runtime = pytest.importorskip("executorch.runtime")
    program = runtime.Runtime.get().load_program(saved)
    assert {"set_cache", "get_cache", "et_module_init", "rows"} <= program.method_names
    get_cache = program.load_method("get_cache")
    assert torch.equal(get_cache.execute([torch.ones(2, 2)])[0], torch.zeros(2, 2))
    assert get_cache.execute([torch.ones(ROWS, COLUMNS)])[0].shape == (ROWS, COLUMNS)


def test_lists_are_constants_in_both_runtimes(tmp_path):
    """ExecuTorch's runners read each end token of a text from an output of its own, and its
    exporter writes a list that way."""
    runtime = pytest.importorskip("executorch.runtime")
    from executorch.exir import to_edge

    class Doubled(torch.nn.Module):
        def forward(self, x):
            return x + x

    values = {"get_eos_ids": [2, 7, 5], "rates": [0.5, 1.0]}
    mine = tmp_path / "mine.pte"
    etx.export(Doubled(), {"forward": (torch.ones(2),)}, constants=values).plan(mine, target="executorch")
    program = runtime.Runtime.get().load_program(mine)
    for name, value in values.items():
        assert list(program.load_method(name).execute([])) == value
        assert list(etx.load(mine).constants[name]) == value
    theirs = tmp_path / "theirs.pte"
    exported = torch.export.export(Doubled(), (torch.ones(2),))
    theirs.write_bytes(to_edge(exported, constant_methods=values).to_executorch().buffer)
    for name, value in values.items():
        assert list(etx.load(theirs).constants[name]) == value
