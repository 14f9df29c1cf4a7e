"""What methods of varying sizes need, and memory that keeps its plan."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import DATA, make_program

import etx


@pytest.fixture(scope="module")
def whisper(tmp_path_factory):
    return make_program(DATA / "pt2" / "whisper", tmp_path_factory.mktemp("sizes") / "whisper.pte")


def test_smaller_sizes_need_less(whisper):
    program = etx.load(whisper)
    info = program.methods["encode"]
    port = info.inputs[0]
    at = next(i for i, dim in enumerate(port.shape) if dim.symbol is not None)
    dim = port.shape[at]
    needed = [program.needed("encode", {dim.symbol: n}) for n in (1, 8, 40)]
    assert [n.scratch_bytes for n in needed] == sorted({n.scratch_bytes for n in needed})
    assert needed[-1] == program.needed("encode") and isinstance(needed[0], etx.Memory)
    assert needed[-1].scratch_bytes == info.scratch_bytes
    assert needed[-1].structure_bytes == info.structure_bytes
    assert needed[-1].state_bytes == program.state_bytes
    size = dim.factor * 8 + dim.offset
    assert program.needed("encode", {f"{port.name}[{at}]": size, dim.symbol: 8}) == needed[1]


def test_the_session_is_not_touched(whisper):
    with etx.load(whisper) as program:
        session = program.session()
        rng = np.random.default_rng(0)
        arrays = [
            rng.standard_normal([dim.maximum for dim in port.shape]).astype(port.dtype)
            for port in program.methods["encode"].inputs
        ]
        wanted = session.encode(*arrays)
        shown = session.encode.view(*arrays)
        program.needed("encode")
        np.testing.assert_array_equal(np.asarray(shown), np.asarray(wanted))
        del shown
        session.close()


def test_wrong_sizes_are_refused(whisper):
    program = etx.load(whisper)
    port = program.methods["encode"].inputs[0]
    at = next(i for i, dim in enumerate(port.shape) if dim.symbol is not None)
    dim = port.shape[at]
    with pytest.raises(etx.MissingMethodError, match="no method 'encoder'"):
        program.needed("encoder")
    with pytest.raises(etx.NotFoundError, match="no symbol 'length'"):
        program.needed("encode", {"length": 3})
    with pytest.raises(etx.NotFoundError, match="no dimension 'nothing.0.' that varies"):
        program.needed("encode", {"nothing[0]": 3})
    with pytest.raises(etx.NotFoundError, match="that varies"):
        program.needed("encode", {f"{port.name}[9]": 3})
    for size in (0, 41, -1, 2**31, 2**70):
        with pytest.raises(etx.RangeError):
            program.needed("encode", {dim.symbol: size})
    with pytest.raises(etx.ArgumentError, match="whole number, not str"):
        program.needed("encode", {dim.symbol: "8"})
    with pytest.raises(etx.ArgumentError, match="other sizes make symbol"):
        program.needed("encode", {dim.symbol: 8, f"{port.name}[{at}]": dim.factor * 9 + dim.offset})
    if dim.factor > 1:
        with pytest.raises(etx.RangeError, match="cannot be"):
            program.needed("encode", {f"{port.name}[{at}]": dim.factor * 8 + dim.offset + 1})
    program.close()
    with pytest.raises(etx.StateError, match="closed"):
        program.needed("encode")


def test_a_plan_that_is_kept_gives_the_same_results(whisper):
    moving, kept = etx.load(whisper), etx.load(whisper, keep_plan=True)
    assert not moving.keep_plan and kept.keep_plan
    port = kept.methods["encode"].inputs[0]
    symbol = next(dim.symbol for dim in port.shape if dim.symbol is not None)
    upper = kept.methods["encode"].scratch_bytes
    assert kept.needed("encode", {symbol: 1}).scratch_bytes == upper
    assert moving.needed("encode", {symbol: 1}).scratch_bytes < upper
    assert pickle.loads(pickle.dumps(kept)).keep_plan
    sessions = [moving.session(), kept.session()]
    rng = np.random.default_rng(1)
    for length in (1, 40, 7, 8, 39):
        shape = [
            dim.maximum if dim.symbol is None else dim.factor * length + dim.offset
            for dim in port.shape
        ]
        x = rng.standard_normal(shape).astype(port.dtype)
        first, second = (session.encode(x) for session in sessions)
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))


def test_methods_of_fixed_sizes_need_the_same(programs):
    program = etx.load(programs["two"])
    assert program.needed("add").scratch_bytes == program.methods["add"].scratch_bytes
    with pytest.raises(etx.NotFoundError):
        program.needed("add", {"x[0]": 4})
