"""Caches that `plan(kv=...)` stores in a narrower type: against the same model in
PyTorch, whose caches are rounded by PyTorch's functions."""

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as attend

import etx

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


def call(module, generator, position, count, kv):
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


def exported(module, count, places):
    given = [torch.zeros(2, heads, count, WIDTH) for heads in (4, HEADS, HEADS)]
    return etx.export(module, {"forward": (*given, torch.arange(places))})


@pytest.mark.parametrize("kv", ["int8", "f16", "bf16"])
@pytest.mark.parametrize("kind", [Copied, Put, Rows, Transposed, Beams, Slid])
def test_rounds_rows_where_they_are_stored(kind, kv, tmp_path):
    module, generator = kind(), torch.Generator().manual_seed(3)
    count = 1 if kind in (Rows, Slid) else 3
    places = 2 if kind is Rows else count
    report = exported(module, count, places).plan(tmp_path / "m.pte", kv=kv)
    assert [row["reason"] for row in report["caches"]] == [None, None]
    session = etx.load(tmp_path / "m.pte").session()
    plain = kind()
    for i in range(6):
        position = [i, (3 * i) % 7] if kind is Rows else list(range(i * count, (i + 1) * count))
        given, wanted = call(module, generator, position, count, kv)
        with torch.no_grad():
            exact = plain(*map(torch.from_numpy, given)).numpy()
        found = session.forward(*given)
        np.testing.assert_allclose(found, wanted, atol=TOLERANCE, rtol=TOLERANCE)
    assert np.abs(found - exact).max() > TOLERANCE  # they were rounded


def test_sessions_with_factors_are_saved_and_restored(tmp_path):
    module, generator = Copied(), torch.Generator().manual_seed(4)
    exported(module, 1, 1).plan(tmp_path / "m.pte", kv="int8")
    session = etx.load(tmp_path / "m.pte").session()
    first, _ = call(module, generator, [0], 1, "int8")
    second, wanted = call(module, generator, [1], 1, "int8")
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
        report = exported(Counted(), 1, 1).plan(tmp_path / "m.pte", kv="int8")
    reasons = {row["name"]: row["reason"] for row in report["caches"]}
    assert "not only written and attended to" in reasons["keys"]
    assert "keys or values that stay float32" in reasons["values"]


def test_types_and_targets(tmp_path):
    with pytest.raises(etx.ExportError, match="cannot be stored as 'int4', expected int8, f16, bf16 or f32"):
        exported(Copied(), 1, 1).plan(tmp_path / "m.pte", kv="int4")
    with pytest.raises(etx.ExportError, match="int8: it needs the target etx"):
        exported(Copied(), 1, 1).plan(tmp_path / "m.pte", kv="int8", target="executorch")
    report = exported(Copied(), 1, 1).plan(tmp_path / "m.pte", kv="f32")
    assert report["caches"] == []
