"""Caches that the exporter is told of, against eager PyTorch."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import etx
from etx import Cache, MethodArg, MultiEntryPointExporter

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 5


class Sums(torch.nn.Module):
    """Attention over the rows so far, which are written at a position that the model
    counts. `first` is another name of a buffer, of which PyTorch's graphs use one."""

    def __init__(self, is_ring: bool = False, slides: bool = False) -> None:
        super().__init__()
        self.is_ring, self.slides = is_ring, slides
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))
        self.layer = torch.nn.Module()
        for name in ("keys", "values"):
            self.layer.register_buffer(name, torch.zeros(1, 2, ROWS, 4))
        self.first = self.layer

    def append(self, cache, row):
        if self.slides:
            cache.copy_(torch.cat((cache[:, :, 1:], row), 2))
            return
        at = self.position
        if self.is_ring and not torch.compiler.is_exporting():
            at = at % ROWS
        cache.index_copy_(2, at, row)

    def step(self, x):
        self.append(self.layer.keys, x)
        self.append(self.layer.values, x * 2)
        place = torch.arange(ROWS)
        seen = place >= ROWS - 1 - self.position if self.slides else place <= self.position
        y = torch.nn.functional.scaled_dot_product_attention(
            x, self.layer.keys, self.layer.values, seen[None, None, None]
        )
        self.position.add_(1)
        return y


def exported(model, caches, name="layer"):
    x = torch.randn(1, 2, 1, 4)
    return etx.export(model, {"step": (x,)}, caches={name: caches})


def steps(seed, count):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(1, 2, 1, 4, generator=generator) for _ in range(count)]


def plan(tmp_path, program):
    program.plan(tmp_path / "model.pte", target="etx")
    return etx.load(tmp_path / "model.pte")


@pytest.mark.parametrize("overflow", ["error", "ring", "slide"])
def test_steps_are_those_of_pytorch(tmp_path, overflow):
    count = ROWS if overflow == "error" else 4 * ROWS
    model = Sums(is_ring=overflow == "ring", slides=overflow == "slide")
    program = plan(tmp_path, exported(model, Cache(dim=2, length="position", overflow=overflow)))
    session = program.session()
    for i, x in enumerate(steps(1, count)):
        assert session.length() == i
        wanted = model.step(x).numpy()
        np.testing.assert_allclose(session.step(x.numpy()), wanted, rtol=1e-5, atol=1e-6)


def test_a_full_cache_refuses_before_it_writes(tmp_path):
    program = plan(tmp_path, exported(Sums(), Cache(dim=-2, length="position")))
    session = program.session()
    rows = steps(2, ROWS + 1)
    for x in rows[:ROWS]:
        session.step(x)
    before = session.save()
    with pytest.raises(etx.Error):
        session.step(rows[ROWS])
    assert session.save() == before
    session.truncate(2)
    fresh = program.session()
    for x in rows[:2]:
        fresh.step(x)
    assert session.save() == fresh.save()
    np.testing.assert_array_equal(session.step(rows[4]), fresh.step(rows[4]))


def test_the_exporter_of_executools_takes_caches(tmp_path):
    exporter = MultiEntryPointExporter(Sums())
    exporter.register(exporter.model.step, x=MethodArg(torch.randn(1, 2, 1, 4)))
    exporter.register_shared_buffer("layer")
    exporter.register_cache("layer.*", Cache(2, "position"))
    exporter.export()
    exporter.to_edge()
    exporter.to_executorch(target="etx")
    path = exporter.save(str(tmp_path), "model")
    session = etx.load(path).session()
    for x in steps(3, 3):
        session.step(x)
    assert session.length() == 3


def test_program_yaml_has_the_description(tmp_path):
    row = {"dim": 2, "length": "position", "overflow": "error"}
    exported(Sums(), {"dim": 2, "length": "position"}, "first").save(tmp_path)
    about = json.loads((tmp_path / "program.yaml").read_text())
    assert about["caches"] == {"first": row}
    exported(Sums(), Cache(2, "position")).save(tmp_path)
    about = json.loads((tmp_path / "program.yaml").read_text())
    assert about["caches"] == {"first.keys": row, "first.values": row}
    exported(Sums(), Cache(2), "layer.keys").save(tmp_path)
    about = json.loads((tmp_path / "program.yaml").read_text())
    assert len(about["caches"]) == 1 and "length" not in next(iter(about["caches"].values()))


def test_wrong_descriptions_are_refused(tmp_path):
    with pytest.raises(etx.ArgumentError, match="expected one of error, ring, slide"):
        Cache(dim=2, overflow="wrap")
    with pytest.raises(etx.ArgumentError, match="whole number, not str"):
        Cache(dim="2")
    with pytest.raises(etx.ArgumentError, match="name of a buffer, not int"):
        Cache(dim=2, length=3)
    for given in (2, {"dimension": 2}, None):
        with pytest.raises(etx.ArgumentError, match="expected etx.Cache"):
            exported(Sums(), given)
    with pytest.raises(etx.ArgumentError, match="'nothing' does not exist"):
        exported(Sums(), Cache(2), "nothing")
    with pytest.raises(etx.ArgumentError, match="expected one buffer"):
        exported(Sums(), Cache(2, length="layer"))
    with pytest.raises(etx.ArgumentError, match="'count' does not exist"):
        exported(Sums(), Cache(2, length="count"))
    with pytest.raises(etx.Error, match="dimension"):
        plan(tmp_path, exported(Sums(), Cache(7, length="position")))
