"""`etx.export`: methods of a module become one program that does what they do."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim

import etx
from etx import MethodArg

pytestmark = pytest.mark.filterwarnings("ignore")


class Model(torch.nn.Module):
    """State with values, a buffer that is not saved, a parameter that is written,
    `forward` beside other methods, and arguments of every form."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.register_buffer("cache", torch.full((10, 20), 3.0))
        self.register_buffer("scale", torch.tensor([1.0, 2, 3, 4]), persistent=False)
        self.gain = torch.nn.Parameter(torch.ones(4))
        self.linear = torch.nn.Linear(20, 64)

    def forward(self, x):
        return self.linear(x) * self.scale.sum()

    def set_cache(self, data):
        self.cache[0 : data.shape[0], 0 : data.shape[1]] = data

    def get_cache(self, data):
        data.copy_(self.cache.narrow(0, 0, data.size(0)).narrow(1, 0, data.size(1)))

    def grow(self):
        self.gain.add_(1)
        return self.gain * 2, self.forward(torch.ones(1, 20))

    def total(self, x, *more, by=2.0):
        return sum(more, x) * by

    def late(self, x, y=None, *rest):
        return x + rest[0] if y is None else y

    def spectrum(self, x):
        return [torch.view_as_real(torch.fft.rfft(x, n=n, dim=dim)) for n, dim in ((8, 0), (3, 1))]

    def parts(self, pair, table):
        return pair[0] + pair[1][0] * 10 + table["A-b"] * 100 + table["c"]["d"] * 1000

    def ends(self, x):
        return x[:, :1] + x[:, -x.shape[1] :].sum(), x.new_zeros(2, 9)[:, max(1 - x.shape[1], 0) :]

    def mix(self, pair, times: int, is_long: bool):
        return pair[0] + pair[1] * times if is_long else pair[0]


def example(rows: int, columns: int) -> MethodArg:
    dims = {0: Dim("rows", min=1, max=10), 1: Dim("columns", min=1, max=20)}
    return MethodArg(torch.ones(rows, columns), dims)


COUNT = Dim("count", max=6)


def of_count() -> MethodArg:
    return MethodArg(torch.ones(6), {0: COUNT})  # as long as the maximum


@pytest.fixture(scope="module")
def model():
    return Model().eval()


@pytest.fixture(scope="module")
def exported(model):
    methods = {
        "forward": (torch.ones(2, 20),),
        "set_cache": (example(10, 20),),  # as long as the maxima
        "get_cache": {"data": example(1, 1)},  # and as short as can be
        "grow": (),
        "mix": ((torch.ones(3), torch.ones(3)), 2, True),
        "total": (of_count(), of_count(), of_count()),
        "ends": (MethodArg(torch.ones(2, 4), {1: Dim("width", max=6)}),),
        "spectrum": (torch.ones(5, 4),),
        "late": {"x": torch.ones(2), "rest": (torch.ones(2),)},
        "parts": {
            "pair": (torch.ones(2), (torch.ones(2),)),
            "table": {"A-b": torch.ones(2), "c": {"d": torch.ones(2)}},
        },
    }
    constants = {"length": 20, "ready": True, "name": "tiny", "table": torch.arange(3)}
    return etx.export(model, methods, shared=["cache"], constants=constants)


@pytest.fixture
def session(exported, tmp_path):
    report = exported.plan(tmp_path / "model.pte")
    assert report["state_bytes"] >= 816 and "set_cache" in str(report)
    return etx.load(tmp_path / "model.pte").session()


def test_all_sizes_up_to_the_largest_run(session):
    for rows, columns in ((10, 20), (1, 1), (9, 19), (10, 1), (1, 20), (3, 20)):
        session.reset()
        session.set_cache(torch.full((rows, columns), 5.0))
        data = torch.zeros(10, 20)
        session.get_cache(data)
        expected = torch.full((10, 20), 3.0)
        expected[:rows, :columns] = 5
        assert torch.equal(data, expected)


def test_initial_values_are_the_model_s(session):
    assert (session.state["cache"] == 3).all()
    assert session.state["gain"].tolist() == [1, 1, 1, 1]


def test_forward_runs_beside_other_methods(session, model):
    x = torch.randn(2, 20)
    assert np.allclose(session.forward(x), model(x).detach(), atol=1e-5)


def test_a_parameter_that_a_method_writes_is_state(session):
    assert session.grow()[0].tolist() == [4] * 4
    assert session.grow()[0].tolist() == [6] * 4
    session.reset("gain")
    assert session.grow()[0].tolist() == [4] * 4


def test_structures_and_numbers_are_arguments(session):
    info = session.program.methods["mix"]
    assert [port.name for port in info.inputs] == ["pair_0", "pair_1", "times", "is_long"]
    result = session.mix([1, 2, 3], torch.ones(3), 2, True)
    assert result.tolist() == [3, 4, 5]
    assert session.mix((torch.ones(3), [1, 2, 3]), 2, True).tolist() == [3, 5, 7]
    with pytest.raises(etx.ArgumentError, match="fixed when the program was exported"):
        session.mix([1, 2, 3], torch.ones(3), 5, True)


def test_a_dim_without_min_takes_sizes_from_zero_on(session, model):
    for width in (0, 1, 2, 6):
        x = torch.arange(2.0 * width).reshape(2, width)
        for found, wanted in zip(session.ends(x), model.ends(x), strict=True):
            assert found.shape == tuple(wanted.shape) and found.tolist() == wanted.tolist()
    with pytest.raises(etx.ArgumentError):
        session.ends(torch.ones(2, 7))


def test_what_a_star_takes_has_positions(session):
    assert [port.name for port in session.program.methods["total"].inputs] == ["x", "more_0", "more_1"]
    for count in (1, 4, 6):
        x = torch.arange(count, dtype=torch.float32)
        assert session.total(x, x, x).tolist() == (x * 6).tolist()
    assert session.late(torch.ones(2), None, torch.ones(2)).tolist() == [2, 2]


def test_lines_are_cut_or_padded_before_they_are_transformed(session, model):
    x = torch.arange(20.0).reshape(5, 4).sin()
    for found, wanted in zip(session.spectrum(x), model.spectrum(x), strict=True):
        assert np.allclose(found, wanted, atol=1e-5)


def test_structures_are_passed_by_name_too(session):
    one = torch.ones(2)
    pair, table = (one * 2, (one * 3,)), {"A-b": one * 4, "c": {"d": one * 5}}
    by_part = {"pair_0": one * 2, "pair_1_0": one * 3, "table_a_b": one * 4, "table_c_d": one * 5}
    assert list(by_part) == [port.name for port in session.program.methods["parts"].inputs]
    for args, kwargs in (
        ((pair, table), {}),
        ((pair,), {"table": table}),
        ((), {"table": table, "pair": pair}),
        ((), by_part),
        ((one * 2, one * 3), {"table": table}),
    ):
        assert session.parts(*args, **kwargs).tolist() == [5432, 5432]
    with pytest.raises(etx.ArgumentError, match="input 'table_c_d' is missing"):
        session.parts(pair=pair, table={"A-b": one})
    with pytest.raises(etx.ArgumentError, match="'pair_0' is given twice"):
        session.parts(pair=pair, pair_0=one, table=table)
    with pytest.raises(etx.NotFoundError, match="no input 'pear_0'"):
        session.parts(pear=pair, table=table)


def test_constants_are_read_without_a_session(session):
    constants = session.program.constants
    assert constants["length"] == 20 and constants["ready"] is True
    assert constants["name"] == "tiny" and constants["table"].tolist() == [0, 1, 2]


def test_tensors_of_torch_are_written_in_place(session):
    data = torch.zeros(2, 2)
    assert session.get_cache(data) is None
    assert torch.equal(data, torch.full((2, 2), 3.0))


def test_bfloat16_tensors_go_in(tmp_path):
    class Half(torch.nn.Module):
        def double(self, x):
            return (x * 2).float()

    etx.export(Half(), {"double": (torch.ones(3, dtype=torch.bfloat16),)}).plan(tmp_path / "half.pte")
    session = etx.load(tmp_path / "half.pte").session()
    assert session.double(torch.tensor([1, 2.5, -3], dtype=torch.bfloat16)).tolist() == [2, 5, -6]


def test_weights_are_rounded_when_asked(exported, tmp_path):
    report = exported.plan(tmp_path / "small.pte", quantize="int8")
    assert report["quantized"]
    assert etx.load(tmp_path / "small.pte").session().forward(torch.ones(2, 20)).shape == (2, 64)


def test_weights_are_stored_as_halves_when_asked(exported, tmp_path):
    report = exported.plan(tmp_path / "half.pte", weights="bf16")
    rounded = [row for row in report["quantized"] if row["kind"] == "bf16"]
    assert rounded and all(2 * row["bytes_after"] == row["bytes"] for row in rounded)
    exported.plan(tmp_path / "rule.pte", quantize="bf16")
    assert (tmp_path / "half.pte").read_bytes() == (tmp_path / "rule.pte").read_bytes()
    with pytest.raises(etx.ArgumentError, match="needs a file of weights"):
        exported.plan(tmp_path / "half.pte", weights="f16", weights_names="names")


def test_weights_are_packed_when_asked(model, tmp_path):
    exported = etx.export(model, {"forward": (torch.ones(20, 20),)})
    assert not exported.plan(tmp_path / "plain.pte")["packed"]
    report = exported.plan(tmp_path / "packed.pte", pack=True)
    assert any(weight["packed"] for weight in report["packed"])
    x = torch.randn(20, 20)
    outputs = [etx.load(tmp_path / name).session().forward(x) for name in ("plain.pte", "packed.pte")]
    assert (outputs[0] == outputs[1]).all()


def test_sizes_have_variants_when_asked(tmp_path):
    class Layers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(32, 48)

        def forward(self, x):
            return self.layer(x).relu()

    model = Layers()
    length = Dim("length", min=1, max=64)
    exported = etx.export(model, {"forward": (MethodArg(torch.ones(20, 32), {0: length}),)})
    report = exported.plan(
        tmp_path / "variants.pte", specialize=["forward:x[0]=1", "x[0]=2..4"], pack_budget=32 * 48 * 4
    )
    assert [weight["copy_bytes"] for weight in report["packed"]] == [32 * 48 * 4]
    program = etx.load(tmp_path / "variants.pte")
    assert [name for name in program.methods if name.startswith("forward")] == ["forward"]
    session = program.session()
    for rows in (1, 3, 64, 4, 1):
        x = torch.randn(rows, 32)
        np.testing.assert_allclose(session.forward(x), model(x).detach(), atol=1e-5)
    with program.pool(2).session() as leased:
        x = torch.randn(1, 32)
        np.testing.assert_allclose(leased.forward(x), model(x).detach(), atol=1e-5)
    with pytest.raises(etx.ArgumentError, match="needs target 'etx'"):
        exported.plan(tmp_path / "other.pte", specialize="x[0]=1", target="executorch")
    with pytest.raises(etx.ArgumentError, match="number of bytes"):
        exported.plan(tmp_path / "other.pte", pack_budget=-1)


def test_the_same_model_gives_the_same_bytes(exported, tmp_path):
    exported.plan(tmp_path / "one.pte")
    exported.plan(tmp_path / "two.pte", keep=tmp_path / "methods")
    assert (tmp_path / "one.pte").read_bytes() == (tmp_path / "two.pte").read_bytes()
    assert (tmp_path / "methods" / "grow.pt2").exists()


def test_the_model_is_not_changed(model, exported):
    assert torch.equal(model.cache, torch.full((10, 20), 3.0))
    assert model.forward.__func__ is Model.forward


def test_a_method_that_tells_its_largest_size_apart_is_refused(tmp_path):
    """What the graph for a part does is not what the method does for the whole."""

    class Tells(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("cache", torch.zeros(8))

        def step(self, x):
            self.cache[: x.shape[0]] = x
            return x * 2 if x.shape[0] != 8 else x

    with pytest.raises(etx.ExportError, match="step"):
        etx.export(Tells(), {"step": (MethodArg(torch.ones(4), {0: Dim("n", max=8)}),)})


class Part(torch.nn.Module):
    def __init__(self, cache: torch.nn.Module) -> None:
        super().__init__()
        self.cache = cache


class Shared(torch.nn.Module):
    """One cache under two names, as an encoder and a decoder have it."""

    def __init__(self) -> None:
        super().__init__()
        cache = torch.nn.Module()
        cache.register_buffer("k", torch.zeros(4))
        cache.register_buffer("v", torch.ones(4), persistent=False)
        self.encoder, self.decoder = Part(cache), Part(cache)

    def encode(self, x):
        self.encoder.cache.k.copy_(x)
        return x + 1

    def decode(self, x):
        self.decoder.cache.v.add_(self.encoder.cache.k)
        return self.decoder.cache.v + x


@pytest.mark.parametrize("shared", [(), ["encoder.cache"], ["*.cache.*", "decoder"]])
def test_a_buffer_with_two_names_is_one_state(tmp_path, shared):
    model, x = Shared(), torch.arange(4.0)
    methods = {"encode": (x,), "decode": (x,)}
    etx.export(model, methods, shared=shared).plan(tmp_path / "shared.pte")
    session = etx.load(tmp_path / "shared.pte").session()
    for name in ("encode", "decode", "decode"):
        expected = getattr(model, name)(x)
        assert np.array_equal(getattr(session, name)(x), expected)
    assert sorted(session.state) == ["decoder.cache.k", "decoder.cache.v"]


class Sizes(torch.nn.Module):
    def join(self, x, pair, *more):
        return x[:, :2], torch.cat([pair["a"], pair["a"], more[0]]), x.reshape(-1)

    def halve(self, y, *, z):
        return y[:, ::2] + 1, z


def test_varying_sizes_have_the_names_of_their_dims(tmp_path):
    rows, length = etx.Dim("rows", max=16), etx.Dim("length", min=4, max=50)
    exported = etx.export(Sizes(), {
        "join": {
            "x": MethodArg(torch.ones(3, 4), {0: rows}),
            "pair": MethodArg({"a": torch.ones(10)}, {"a": {0: 2 * length}}),
            "more": (MethodArg(torch.ones(5), {0: etx.Dim("others", max=9)}),),
        },
        "halve": {"z": torch.ones(2), "y": MethodArg(torch.ones(3, 5), {1: length})},
    })
    exported.plan(tmp_path / "sizes.pte")
    program = etx.load(tmp_path / "sizes.pte")
    join, halve = program.methods["join"], program.methods["halve"]
    assert str(join) == (
        "join(x: float32[rows, 4], pair_a: float32[2*length], more_0: float32[others]) -> "
        "(output_0: float32[rows, 2], output_1: float32[4*length + others], "
        "output_2: float32[4*rows]), rows = 0..16, length = 4..50, others = 0..9"
    )
    assert halve.outputs[0].type == "float32[3, (length + 1)//2]"
    assert halve.outputs[0].shape[1] == etx.Size(0, 25, expression="(length + 1)//2")
    assert halve.outputs[0].shape[0] == etx.Size(3, 3)
    assert halve.bounds == {"length": (4, 50)}
    assert program.needed("halve", {"length": 4}).scratch_bytes > 0
    with pytest.raises(etx.RangeError, match="makes 'length' 51, its bounds are 4 and 50"):
        program.session().halve(torch.ones(3, 51), torch.ones(2))


def test_a_dim_that_has_the_name_of_another_size_does_not_rename(tmp_path):
    taken = {str(symbol) for symbol in etx.export(Sizes(), {
        "halve": {"z": torch.ones(2), "y": MethodArg(torch.ones(3, 5), {1: etx.Dim("n", min=4, max=9)})},
    }).methods["halve"].range_constraints}
    name = taken.pop()
    exported = etx.export(Sizes(), {
        "halve": {"z": torch.ones(2), "y": MethodArg(torch.ones(3, 5), {1: etx.Dim(name, min=4, max=9)})},
    })
    assert exported.dim_names == {}
    exported.plan(tmp_path / "sizes.pte")
    assert etx.load(tmp_path / "sizes.pte").methods["halve"].bounds == {name: (4, 9)}


def test_strict_is_pytorchs_argument(tmp_path, monkeypatch):
    asked = []
    original = torch.export.export

    def record(*args, **kwargs):
        asked.append(kwargs["strict"])
        return original(*args, **kwargs)

    monkeypatch.setattr(torch.export, "export", record)
    for strict in (False, True):
        etx.export(torch.nn.Linear(2, 2), {"forward": (torch.ones(1, 2),)}, strict=strict).plan(
            tmp_path / "x.pte"
        )
    assert asked == [False, True]


def test_names_that_are_loaded_later_are_listed():
    assert {"export", "MethodArg", "MultiEntryPointExporter", "Dim", "plan"} <= set(dir(etx))
    assert etx.Dim is Dim


class Widened(torch.nn.Module):
    """Reads its input with a stride that is the input's own."""

    def forward(self, mask):
        length = mask.shape[1]
        return mask[:, None, None, :].expand(1, 1, length, length).to(torch.float32).sum(-1)


def test_an_example_of_the_largest_size_stands_for_all_sizes(tmp_path):
    example = MethodArg(torch.ones(1, 16, dtype=torch.long), {1: Dim("n", max=16)})
    etx.export(Widened(), {"forward": (example,)}).plan(tmp_path / "widened.pte")
    session = etx.load(tmp_path / "widened.pte").session()
    for length in (1, 7, 16):
        given = torch.randint(0, 9, (1, length))
        assert np.array_equal(session.forward(given), Widened()(given))


class TwoRows(torch.nn.Module):
    """A buffer of two rows of which as many are read as the arguments have."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.arange(6.0).view(2, 3))

    def forward(self, x, y):
        count = x.shape[0]
        return (x + y).view(-1, 3), self.rows[:count] * y, torch.cat([x, y]).sum(0) / count


@pytest.mark.parametrize("traced", [1, 2])
def test_a_dim_of_one_or_two_stays_one_dim(tmp_path, traced):
    """PyTorch takes a size of 1 for a constant, and of sizes up to 2 what is left is 2."""
    rows = Dim("rows", min=1, max=2)
    arg = MethodArg(torch.ones(traced, 3), {0: rows})
    model = TwoRows()
    etx.export(model, {"forward": {"x": arg, "y": arg}}).plan(tmp_path / "two.pte")
    session = etx.load(tmp_path / "two.pte").session()
    for count in (1, 2):
        x, y = torch.randn(count, 3), torch.randn(count, 3)
        for found, wanted in zip(session.forward(x, y), model(x, y)):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
