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

attend = torch.nn.functional.scaled_dot_product_attention

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


# ------------------------------------------------ caches in a narrower type
#
# plan(kv=...): against the same model in PyTorch, whose caches are rounded by
# PyTorch's functions.

HEADS, LENGTH, WIDTH = 2, 24, 16
TOLERANCE = 2e-5


def rounded(rows, kv):
    """What the cache holds of rows, in float32."""
    if kv == "f16":
        return rows.half().float()
    if kv == "bf16":
        return rows.bfloat16().float()
    factor = rows.abs().amax(-1, keepdim=True) / 127
    whole = torch.round(rows / torch.where(factor == 0, 1, factor))
    return whole.clamp(-127, 127) * factor


class Cached(torch.nn.Module):
    """Attention over caches, which `write` fills in the way of a subclass."""

    shape = (2, HEADS, LENGTH, WIDTH)

    def __init__(self):
        super().__init__()
        self.kv = None
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(self.shape))

    def stored(self, rows):
        return rows if self.kv is None else rounded(rows, self.kv)

    def read(self, cache):
        return cache

    def seen(self, position):
        return torch.arange(LENGTH) <= position.max()

    def forward(self, query, key, value, position):
        self.write(self.keys, self.stored(key), position)
        self.write(self.values, self.stored(value), position)
        return attend(query, self.read(self.keys), self.read(self.values), self.seen(position)[None], enable_gqa=True)


class Copied(Cached):
    def write(self, cache, rows, position):
        cache.index_copy_(2, position, rows)


class Put(Cached):
    def write(self, cache, rows, position):
        cache[:, :, position] = rows


class Rows(Cached):
    """Each row of the batch is at a position of its own."""

    def write(self, cache, rows, position):
        cache[torch.arange(2), :, position] = rows[:, :, 0]


class Transposed(Cached):
    """Stored as [batch, positions, heads, width]."""

    shape = (2, LENGTH, HEADS, WIDTH)

    def write(self, cache, rows, position):
        cache.index_copy_(1, position, rows.transpose(1, 2))

    def read(self, cache):
        return cache.transpose(1, 2)


class Beams(Copied):
    """A table says which row of the batch holds each position."""

    def read(self, cache):
        flat = cache.transpose(1, 2).reshape(2 * LENGTH, HEADS * WIDTH)
        places = (torch.arange(LENGTH) % 2) * LENGTH + torch.arange(LENGTH)
        found = torch.nn.functional.embedding(torch.stack([places, places.flip(0)]), flat)
        return found.view(2, LENGTH, HEADS, WIDTH).transpose(1, 2)


class Slid(Cached):
    """The oldest row goes when one is appended."""

    def write(self, cache, rows, position):
        cache.copy_(torch.cat([cache[:, :, 1:], rows], 2))

    def seen(self, position):
        return torch.arange(LENGTH) >= LENGTH - 1 - position.max()


def called(module, generator, position, count, kv):
    """A call of the module and its result, with `kv` as its caches' type."""
    given = [torch.randn(2, heads, count, WIDTH, generator=generator) for heads in (4, HEADS, HEADS)]
    given[1][:, 0] *= 30
    given[2][:, 1] = 0
    given.append(torch.tensor(position))
    module.kv = kv
    with torch.no_grad():
        wanted = module(*given)
    module.kv = None
    return [part.numpy() for part in given], wanted.numpy()


def stored_module(module, count, places):
    given = [torch.zeros(2, heads, count, WIDTH) for heads in (4, HEADS, HEADS)]
    return etx.export(module, {"forward": (*given, torch.arange(places))})


@pytest.mark.parametrize("kv", ["int8", "f16", "bf16"])
@pytest.mark.parametrize("kind", [Copied, Put, Rows, Transposed, Beams, Slid])
def test_rounds_rows_where_they_are_stored(kind, kv, tmp_path):
    module, generator = kind(), torch.Generator().manual_seed(3)
    count = 1 if kind in (Rows, Slid) else 3
    places = 2 if kind is Rows else count
    report = stored_module(module, count, places).plan(tmp_path / "m.pte", kv=kv)
    assert [row["reason"] for row in report["caches"]] == [None, None]
    session = etx.load(tmp_path / "m.pte").session()
    plain = kind()
    for i in range(6):
        position = [i, (3 * i) % 7] if kind is Rows else list(range(i * count, (i + 1) * count))
        given, wanted = called(module, generator, position, count, kv)
        with torch.no_grad():
            exact = plain(*map(torch.from_numpy, given)).numpy()
        found = session.forward(*given)
        np.testing.assert_allclose(found, wanted, atol=TOLERANCE, rtol=TOLERANCE)
    assert np.abs(found - exact).max() > TOLERANCE  # they were rounded


def test_sessions_with_factors_are_saved_and_restored(tmp_path):
    module, generator = Copied(), torch.Generator().manual_seed(4)
    stored_module(module, 1, 1).plan(tmp_path / "m.pte", kv="int8")
    session = etx.load(tmp_path / "m.pte").session()
    first, _ = called(module, generator, [0], 1, "int8")
    second, wanted = called(module, generator, [1], 1, "int8")
    session.forward(*first)
    saved = session.save()
    session.forward(*second)
    session.forward(*first[:3], np.array([1]))  # over the second
    session.restore(saved)
    np.testing.assert_allclose(session.forward(*second), wanted, atol=TOLERANCE)
    bytes_of_rows = 2 * 2 * HEADS * LENGTH * (WIDTH + 4)
    assert bytes_of_rows <= len(saved) < bytes_of_rows + 1024


class Crossed(torch.nn.Module):
    """`encode` writes whole caches, `decode` reads them."""

    def __init__(self):
        super().__init__()
        self.kv = None
        self.project = torch.nn.Linear(WIDTH, WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, LENGTH, WIDTH))

    def encode(self, source):
        rows = self.project(source)
        rows = rows if self.kv is None else rounded(rows, self.kv)
        self.keys.copy_(rows)
        self.values.copy_(rows.flip(2))
        return source.sum()

    def decode(self, query):
        return attend(query, self.keys, self.values)


@pytest.mark.parametrize("kv", ["int8", "f16"])
def test_caches_that_are_written_whole(kv, tmp_path):
    torch.manual_seed(5)
    module = Crossed()
    source, query = torch.randn(1, HEADS, LENGTH, WIDTH), torch.randn(1, 4 // 2, 3, WIDTH)
    report = etx.export(module, {"encode": (source,), "decode": (query,)}).plan(tmp_path / "m.pte", kv=kv)
    assert [row["reason"] for row in report["caches"]] == [None, None]
    session = etx.load(tmp_path / "m.pte").session()
    session.encode(source.numpy())
    module.kv = kv
    with torch.no_grad():
        module.encode(source)
        wanted = module.decode(query).numpy()
    np.testing.assert_allclose(session.decode(query.numpy()), wanted, atol=2e-4)


class Counted(Copied):
    """The keys are read by something else, too."""

    def forward(self, query, key, value, position):
        return super().forward(query, key, value, position) + self.keys.sum()


def test_other_states_stay_and_the_report_says_why(tmp_path):
    with pytest.warns(UserWarning, match="no cache is stored as int8"):
        report = stored_module(Counted(), 1, 1).plan(tmp_path / "m.pte", kv="int8")
    reasons = {row["name"]: row["reason"] for row in report["caches"]}
    assert "not only written and attended to" in reasons["keys"]
    assert "keys or values that stay float32" in reasons["values"]


def test_types_and_targets(tmp_path):
    with pytest.raises(etx.ExportError, match="cannot be stored as 'int4', expected int8, f16, bf16 or f32"):
        stored_module(Copied(), 1, 1).plan(tmp_path / "m.pte", kv="int4")
    with pytest.raises(etx.ExportError, match="int8: it needs the target etx"):
        stored_module(Copied(), 1, 1).plan(tmp_path / "m.pte", kv="int8", target="executorch")
    report = stored_module(Copied(), 1, 1).plan(tmp_path / "m.pte", kv="f32")
    assert report["caches"] == []
