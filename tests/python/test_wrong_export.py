"""Wrong use of the exporters: the method, the argument and the line are named."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim

import etx
from etx import MethodArg

pytestmark = pytest.mark.filterwarnings("ignore")


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4))
        self.weight = torch.nn.Parameter(torch.ones(4))
        self.inner = torch.nn.Linear(4, 4)

    def step(self, x):
        return x + self.cache

    def join(self, x, *more):
        return torch.cat([x, *more])

    def depends_on_data(self, x):
        if x.sum() > 0:
            return x
        return x * 2

    def prints_item(self, x):
        return torch.ones(int(x.sum()))

    def unknown_operator(self, x):
        return torch.linalg.matrix_exp(x)

    def et_module_init(self):
        return None


FOUR = torch.ones(4)

# (methods, other arguments, exception, words of the message)
CASES = [
    ({}, {}, etx.ArgumentError, "no method to export"),
    ({"jump": (FOUR,)}, {}, etx.ArgumentError, "no method 'jump'"),
    ({"weight": (FOUR,)}, {}, etx.ArgumentError, "no method 'weight'"),
    ({"inner": (FOUR,)}, {}, etx.ArgumentError, "no method 'inner'"),
    ({"et_module_init": ()}, {}, etx.ArgumentError, "made by etx"),
    ({"step": ()}, {}, etx.ArgumentError, "'x' of method 'step'"),
    ({"step": (FOUR, FOUR)}, {}, etx.ArgumentError, "takes 1 arguments, 2"),
    ({"join": {"x": FOUR, "more": FOUR}}, {}, etx.ArgumentError, "expected a tuple"),
    ({"join": {"more": (FOUR,)}}, {}, etx.ArgumentError, "'x' of method 'join'"),
    ({"join": (FOUR, MethodArg(FOUR, {1: Dim("n", max=9)}))}, {}, etx.RangeError, "'more[0]'"),
    ({"step": {"y": FOUR}}, {}, etx.ArgumentError, "no argument 'y'"),
    ({"step": (MethodArg(FOUR, {0: "n"}),)}, {}, etx.ArgumentError, "expected a Dim"),
    ({"step": (MethodArg(FOUR, {1: Dim("n", max=9)}),)}, {}, etx.RangeError, "dimension 1"),
    ({"step": (MethodArg(FOUR, {0: Dim("n", max=3)}),)}, {}, etx.RangeError, "size 4"),
    ({"step": (FOUR,)}, {"shared": ["cash"]}, etx.ArgumentError, "'cash' does not exist"),
    ({"step": (FOUR,)}, {"shared": ["weight"]}, etx.ArgumentError, "a parameter"),
    ({"step": (FOUR,)}, {"shared": ["cache", "cache"]}, etx.ArgumentError, "shared twice"),
    ({"step": (FOUR,)}, {"shared": ["cash*"]}, etx.ArgumentError, "matches 'cash*'"),
    ({"step": (FOUR,)}, {"constants": {"step": 1}}, etx.ArgumentError, "'step' is a method and"),
    ({"step": (FOUR,)}, {"constants": {"et_module_init": 1}}, etx.ArgumentError, "made by etx"),
    ({"depends_on_data": (FOUR,)}, {}, etx.ExportError, "if x.sum() > 0"),
    ({"prints_item": (FOUR,)}, {}, etx.ExportError, "torch.ones(int(x.sum()))"),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_wrong_exports_are_refused(number):
    methods, others, kind, words = CASES[number]
    with pytest.raises(kind) as caught:
        etx.export(Model(), methods, **others)
    assert words in str(caught.value) and isinstance(caught.value, ValueError)


def test_the_model_is_a_module():
    with pytest.raises(etx.ArgumentError, match="'int', expected a torch.nn.Module"):
        etx.export(3, {"step": ()})
    with pytest.raises(etx.ArgumentError, match="expected a torch.nn.Module"):
        etx.MultiEntryPointExporter(None)


def test_what_pytorch_cannot_bring_into_functional_form_is_refused():
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            frozen = torch.nn.Parameter(torch.ones(4), requires_grad=False)
            self.register_buffer("odd", frozen, persistent=False)

        def step(self, x):
            return x + self.odd

    with pytest.raises(etx.ExportError, match="method 'step' cannot be exported"):
        etx.export(Odd(), {"step": (FOUR,)})


def test_a_size_without_a_maximum_is_refused_by_the_planner(tmp_path):
    exported = etx.export(torch.nn.Linear(4, 4), {
        "forward": (MethodArg(torch.ones(3, 4), {0: Dim("n")}),)
    })
    with pytest.raises(etx.ExportError, match="upper bound"):
        exported.plan(tmp_path / "x.pte")
    assert not (tmp_path / "x.pte").exists()


def test_an_operator_that_etx_does_not_know_is_named_with_its_line(tmp_path):
    exported = etx.export(Model(), {"unknown_operator": (torch.ones(3, 3),)})
    with pytest.raises(etx.ExportError) as caught:
        exported.plan(tmp_path / "x.pte")
    assert "matrix_exp" in str(caught.value) and caught.value.problems
    assert "torch.linalg.matrix_exp(x)" in str(caught.value)


def test_a_constant_of_another_kind_is_refused(tmp_path):
    exported = etx.export(Model(), {"step": (FOUR,)}, constants={"names": {"a": 1}})
    with pytest.raises(etx.ArgumentError, match="'dict'"):
        exported.plan(tmp_path / "x.pte")
    exported = etx.export(Model(), {"step": (FOUR,)}, constants={"names": ["a", None]})
    with pytest.raises(etx.ArgumentError, match="a list of these"):
        exported.plan(tmp_path / "x.pte")


def test_stages_out_of_order_are_refused():
    exporter = etx.MultiEntryPointExporter(Model())
    with pytest.raises(etx.StateError, match="no method is registered"):
        exporter.export()
    exporter.register_shared_buffer("cache")
    with pytest.raises(etx.ArgumentError, match="shared twice"):
        exporter.register_shared_buffer("cache")


def test_a_rule_that_quantises_nothing_warns(tmp_path):
    exported = etx.export(torch.nn.Conv2d(3, 8, 3), {"forward": (torch.ones(1, 3, 8, 8),)})
    with pytest.warns(UserWarning, match="the rule 'int8' quantised no weight") as caught:
        exported.plan(tmp_path / "x.pte", quantize="int8", keep=tmp_path / "kept")
        etx.plan(tmp_path / "kept", tmp_path / "x.pte", quantize="int8")
    assert [warning.filename for warning in caught] == [__file__, __file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exported.plan(tmp_path / "x.pte", quantize="none")
