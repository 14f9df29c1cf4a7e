"""Caches that the exporter is told of, against eager PyTorch.

ETX_RANDOM_CACHES random models are drawn, 2 of each kind if it is not set.
"""

from __future__ import annotations

import json
import os
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import etx
from etx import Cache, MethodArg, MultiEntryPointExporter

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 5
RANDOM_MODELS = int(os.environ.get("ETX_RANDOM_CACHES", "2"))


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


# ---- random models ----


class Decoder(torch.nn.Module):
    """Layers of attention with residuals, over the last `rows` positions."""

    def __init__(self, draw: random.Random, overflow: str) -> None:
        super().__init__()
        self.overflow = overflow
        self.rows, self.head_width = draw.randint(2, 17), draw.choice([4, 8, 12])
        self.groups = draw.randint(1, 3)  # heads of keys and values
        self.heads = self.groups * draw.choice([1, 1, 2])
        self.width = self.heads * self.head_width
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))
        self.layers = torch.nn.ModuleList(self.layer() for _ in range(draw.randint(1, 3)))

    def layer(self) -> torch.nn.Module:
        layer = torch.nn.Module()
        narrow = self.groups * self.head_width
        layer.query = torch.nn.Linear(self.width, self.width)
        layer.key = torch.nn.Linear(self.width, narrow)
        layer.value = torch.nn.Linear(self.width, narrow)
        for name in ("keys", "values"):
            cache = torch.zeros(1, self.groups, self.rows, self.head_width)
            layer.register_buffer(name, cache)
        return layer

    def append(self, cache: torch.Tensor, row: torch.Tensor) -> None:
        if self.overflow == "slide":
            cache.copy_(torch.cat((cache[:, :, 1:], row), 2))
            return
        at = self.position
        if not torch.compiler.is_exporting():  # etx itself wraps the position
            at = at % self.rows
        cache.index_copy_(2, at, row)

    def step(self, x: torch.Tensor) -> torch.Tensor:
        place = torch.arange(self.rows)
        seen = place <= self.position
        if self.overflow == "slide":
            seen = place >= self.rows - 1 - self.position

        def heads(y):
            return y.view(1, 1, -1, self.head_width).transpose(1, 2)

        for layer in self.layers:
            self.append(layer.keys, heads(layer.key(x)))
            self.append(layer.values, heads(layer.value(x)))
            y = torch.nn.functional.scaled_dot_product_attention(
                heads(layer.query(x)),
                layer.keys,
                layer.values,
                seen[None, None, None],
                enable_gqa=self.heads != self.groups,
            )
            x = x + y.transpose(1, 2).reshape(1, 1, self.width)
        self.position.add_(1)
        return x

    def feed_again(self, inputs: list[torch.Tensor]) -> None:
        """Starts from the beginning with these inputs alone."""
        self.position.zero_()
        for layer in self.layers:
            layer.keys.zero_()
            layer.values.zero_()
        for x in inputs:
            self.step(x)


def cut_at_random(session, model, fed, draw) -> list[torch.Tensor]:
    """Truncates to a random length; a cache that has lost rows refuses it."""
    length = draw.randint(len(fed) // 2, len(fed))
    if length < len(fed) and len(fed) > model.rows:
        before = session.save()
        with pytest.raises(etx.Error):
            session.truncate(length)
        assert session.save() == before
        return fed
    session.truncate(length)
    model.feed_again(fed[:length])
    return fed[:length]


@pytest.mark.parametrize("seed", range(RANDOM_MODELS))
@pytest.mark.parametrize("overflow", ["ring", "slide"])
def test_random_appends_and_cuts_are_those_of_pytorch(tmp_path, overflow, seed):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model = Decoder(draw, overflow).eval()
    path, fed = tmp_path / "model.pte", []
    with torch.no_grad():
        caches = {"layers": Cache(dim=2, length="position", overflow=overflow)}
        x = torch.randn(1, 1, model.width)
        etx.export(model, {"step": (x,)}, caches=caches).plan(path, target="etx")
        session = etx.load(path).session()
        for _ in range(draw.randint(model.rows, 4 * model.rows)):
            x = torch.randn(1, 1, model.width)
            wanted = model.step(x).numpy()
            np.testing.assert_allclose(session.step(x.numpy()), wanted, rtol=1e-4, atol=1e-5)
            fed.append(x)
            assert session.length() == len(fed)
            if draw.random() < (0.2 if len(fed) <= model.rows else 0.05):
                fed = cut_at_random(session, model, fed, draw)
