"""Parallel regions: the bits and the errors of a run without them."""

import gc
import os
import pickle

import numpy as np
import pytest

import etx
from conftest import make_program

ROWS, COLUMNS, LAYERS = 32, 128, 4
BRANCHES = (("i", "tanh"), ("k", "sin"))


def _model():
    """Two branches of softmax and tanh or sin, over selected rows, multiplied."""
    lines = ["etx: 1", "method: encode", "inputs:"]
    lines.append(f"  - {{name: x, type: 'float32[{ROWS}, {COLUMNS}]'}}")
    lines += [f"  - {{name: {name}, type: 'int64[{ROWS}]'}}" for name, _ in BRANCHES]
    lines.append("nodes:")
    for name, op in BRANCHES:
        lines.append(f"  - {{out: {name}0, op: aten.index_select.default, args: [x, 0, {name}]}}")
        for layer in range(LAYERS):
            lines.append(
                f"  - {{out: s{name}{layer}, op: aten._softmax.default, "
                f"args: [{name}{layer}, 1, false]}}"
            )
            lines.append(
                f"  - {{out: {name}{layer + 1}, op: aten.{op}.default, args: [s{name}{layer}]}}"
            )
    lines.append(f"  - {{out: y, op: aten.mul.Tensor, args: [i{LAYERS}, k{LAYERS}]}}")
    return "\n".join([*lines, "outputs: [y]", ""])


def _expected(x, i, k):
    results = []
    for rows, function in ((i, np.tanh), (k, np.sin)):
        value = x[rows].astype(np.float64)
        for _ in range(LAYERS):
            value = np.exp(value - value.max(1, keepdims=True))
            value = function(value / value.sum(1, keepdims=True))
        results.append(value)
    return results[0] * results[1]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regions")
    (folder / "methods").mkdir()
    (folder / "methods" / "encode.yaml").write_text(_model())
    return make_program(folder / "methods", folder / "encode.pte", parallel_regions=True)


@pytest.fixture
def inputs():
    random = np.random.default_rng(3)
    x = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    return x, np.arange(ROWS)[::-1].copy(), np.arange(ROWS) * 7 % ROWS


def test_results_have_the_bits_of_a_plain_run(path, inputs):
    plain = etx.load(path).session()
    expected = plain.encode(*inputs)
    assert plain.encode.region_steps == 0
    np.testing.assert_allclose(expected, _expected(*inputs), rtol=1e-5, atol=1e-9)
    for threads in (2, 8):
        session = etx.load(path, threads=threads, parallel_regions=True).session()
        for _ in range(10):
            assert session.encode(*inputs).tobytes() == expected.tobytes()
        assert session.encode.region_steps >= 2 * LAYERS
        assert session.fork().encode(*inputs).tobytes() == expected.tobytes()


def test_one_thread_has_no_regions(path, inputs):
    session = etx.load(path, parallel_regions=True).session()
    np.testing.assert_allclose(session.encode(*inputs), _expected(*inputs), rtol=1e-5, atol=1e-9)
    assert session.encode.region_steps == 0


@pytest.mark.parametrize("wrong", [(1,), (2,), (1, 2)])
def test_errors_are_those_of_a_plain_run(path, inputs, wrong):
    broken = [value.copy() for value in inputs]
    for position in wrong:
        broken[position][5] = 1000 * position
    seen = []
    for options in ({}, {"threads": 2, "parallel_regions": True}):
        session = etx.load(path, **options).session()
        with pytest.raises(etx.Error) as raised:
            session.encode(*broken)
        seen.append((type(raised.value), str(raised.value)))
        np.testing.assert_allclose(
            session.encode(*inputs), _expected(*inputs), rtol=1e-5, atol=1e-9
        )
    assert seen[0] == seen[1]
    assert str(1000 * wrong[0]) in seen[0][1]


def test_a_profile_sees_instructions_one_by_one(path, inputs):
    session = etx.load(path, threads=2, parallel_regions=True).session()
    expected = session.encode(*inputs)
    with session.profile() as profile:
        assert session.encode(*inputs).tobytes() == expected.tobytes()
        assert session.encode.region_steps == 0
    assert sum(row.calls for row in profile.rows) >= 4 * LAYERS
    assert session.encode(*inputs).tobytes() == expected.tobytes()
    assert session.encode.region_steps > 0


def test_sessions_of_a_pool_end_their_regions(path, inputs):
    program = etx.load(path, threads=2, parallel_regions=True)
    with program.pool(1) as pool:
        for _ in range(3):
            with pool.session() as session:
                assert session.encode.region_steps == 0
                np.testing.assert_allclose(
                    session.encode(*inputs), _expected(*inputs), rtol=1e-5, atol=1e-9
                )
                assert session.encode.region_steps > 0
            gc.collect()


def test_an_unpickled_program_has_regions(path, inputs):
    program = pickle.loads(pickle.dumps(etx.load(path, threads=2, parallel_regions=True)))
    session = program.session()
    session.encode(*inputs)
    assert program.parallel_regions and session.encode.region_steps > 0


def test_a_forked_child_runs_without_regions(path, inputs):
    session = etx.load(path, threads=2, parallel_regions=True).session()
    expected = session.encode(*inputs)
    child = os.fork()
    if child == 0:
        same = session.encode(*inputs).tobytes() == expected.tobytes()
        os._exit(0 if same and session.encode.region_steps == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session.encode(*inputs).tobytes() == expected.tobytes()
