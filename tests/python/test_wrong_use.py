"""Wrong use: what is refused, by which exception, with which words.

Every exception is an `etx.Error` and one of Python's own.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import etx


class Bench:
    """A session of each program, and arrays to misuse."""

    def __init__(self, programs: dict[str, Path], folder: Path) -> None:
        self.folder = folder
        self.paths = programs
        self.program = etx.load(programs["stateful"])
        self.session = self.program.session()
        self.two = etx.load(programs["two"]).session()
        self.types = etx.load(programs["types"]).session()
        self.clash = etx.load(programs["clash"]).session()
        self.data = np.zeros((3, 4), np.float32)
        self.four = np.zeros(4, np.float32)

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def closed(self) -> etx.Session:
        session = self.program.session()
        session.close()
        return session

    def call_types(self, **changed):
        good = dict(
            a=[1, 2], b=0.5, c=[True, False, True], d=[1, 2], e=[[1, 2]], f=np.zeros(2, np.uint16)
        )
        return self.types.pass_on(**(good | changed))

    def unplanned(self, text: str) -> None:
        folder = self.folder / "wrong"
        folder.mkdir()
        (folder / "step.yaml").write_text(text)
        etx.plan(folder, self.folder / "wrong.pte")


def damaged(bench: Bench) -> bytes:
    data = bytearray(bench.paths["two"].read_bytes())
    data[40:400] = bytes(360)
    return bytes(data)


def closed_program(bench: Bench):
    program = etx.load(bench.paths["two"])
    program.close()
    return program


def held(bench: Bench):
    session = bench.program.session()
    cache = session.state["cache"]
    try:
        session.close()
    finally:
        del cache


def frozen() -> np.ndarray:
    array = np.zeros((3, 4), np.float32)
    array.flags.writeable = False
    return array


BAD_NODE = """\
etx: 1
method: step
inputs:
  - {name: x, type: "float32[4]"}
nodes:
  - {out: y, op: aten.ad.Tensor, args: [x, x]}
outputs: [y]
mutates: {}
"""

# (what is done, exception, one of Python's own, words of the message)
CASES = [
    # files
    (lambda b: etx.load(b.folder / "none.pte"), etx.HostError, OSError, "No such file"),
    (lambda b: etx.load(b.folder), etx.HostError, OSError, "regular file"),
    (lambda b: etx.load(b.write("empty", b"")), etx.FileError, ValueError, "/empty: the file"),
    (lambda b: etx.load(b.write("text", b"x" * 4000)), etx.FileError, ValueError, "identifier"),
    (lambda b: etx.load(b.write("cut", b.paths["two"].read_bytes()[:300])),
     etx.FileError, ValueError, ""),
    (lambda b: etx.load(b.write("bad", damaged(b))), etx.FileError, ValueError, ""),
    (lambda b: etx.load(b.paths["two"], threads=0), etx.ArgumentError, ValueError, "threads"),
    (lambda b: etx.load(b.paths["two"], threads=True), etx.ArgumentError, ValueError, "threads"),
    (lambda b: etx.load(b.paths["two"], threads=1000), etx.Error, Exception, "256"),
    (lambda b: etx.load(b.paths["two"], data=["none.ptd"]), etx.HostError, OSError, "none.ptd"),
    (lambda b: etx.load(b.paths["two"], data=[b.paths["kv"]]), etx.Error, Exception, "kv.pte"),
    (lambda b: etx.load("a\0b"), etx.ArgumentError, ValueError, "zero byte"),
    (lambda b: etx.load(b.paths["two"], data=["a\0b"]), etx.ArgumentError, ValueError, "zero byte"),
    (lambda b: etx.plan(b.paths["two"].parent / "two", b.folder / "add.yaml"),
     etx.ArgumentError, ValueError, "a program ends in .pte"),
    # names
    (lambda b: b.session.get_cash, etx.MissingMethodError, AttributeError, "mean 'get_cache'"),
    (lambda b: b.session.call("step"), etx.MissingMethodError, LookupError, "has get_cache"),
    (lambda b: b.session.methods["step"], etx.NotFoundError, LookupError, "'step'"),
    (lambda b: b.session.state["cash"], etx.NotFoundError, LookupError, "'cash'"),
    (lambda b: b.session.reset("cash"), etx.NotFoundError, LookupError, "cash"),
    (lambda b: b.program.constants["none"], etx.NotFoundError, LookupError, "max_batch"),
    # arguments
    (lambda b: b.two.add(b.four), etx.ArgumentError, ValueError, "'y' is missing"),
    (lambda b: b.two.add(b.four, b.four, b.four), etx.ArgumentError, ValueError, "3 inputs"),
    (lambda b: b.two.add(b.four, z=b.four), etx.NotFoundError, LookupError, "'z'"),
    (lambda b: b.two.add(b.four, x=b.four), etx.ArgumentError, ValueError, "given twice"),
    (lambda b: b.two.add(b.four.astype(np.float64), b.four),
     etx.ArgumentError, ValueError, "is float64, expected float32"),
    (lambda b: b.two.add(b.four.astype(np.int32), b.four),
     etx.ArgumentError, ValueError, "is int32, expected float32"),
    (lambda b: b.two.add(b.four[:3], b.four), etx.ArgumentError, ValueError, "'x'"),
    (lambda b: b.two.add(b.four[:, None], b.four), etx.ArgumentError, ValueError, "rank 2"),
    (lambda b: b.two.add("four", b.four), etx.ArgumentError, ValueError, "'str'"),
    (lambda b: b.two.add(None, b.four), etx.ArgumentError, ValueError, "'NoneType'"),
    (lambda b: b.two.add([[1], [2, 3]], b.four), etx.ArgumentError, ValueError, "lengths"),
    (lambda b: b.two.add(np.array(["a"] * 4), b.four), etx.ArgumentError, ValueError, "array of"),
    (lambda b: b.two.add(np.array([object()] * 4), b.four), etx.ArgumentError, ValueError, ""),
    (lambda b: b.session.set_cache(np.zeros((11, 4), np.float32)),
     etx.RangeError, ValueError, "bounds are 1 and 10"),
    (lambda b: b.session.set_cache(np.zeros((0, 4), np.float32)),
     etx.RangeError, ValueError, "bounds are 1 and 10"),
    (lambda b: b.session.get_cache([[1.0]]), etx.ArgumentError, ValueError, "written by"),
    (lambda b: b.session.get_cache(frozen()), etx.ArgumentError, ValueError, "written by"),
    (lambda b: b.session.get_cache(b.data.T[:, :2]), etx.ArgumentError, ValueError, "written by"),
    (lambda b: b.call_types(a=[1.5, 2]), etx.ArgumentError, ValueError, "float64 numbers"),
    (lambda b: b.call_types(a=[2**63, 1]), etx.ArgumentError, ValueError, "int64"),
    (lambda b: b.call_types(d=[256, 1]), etx.ArgumentError, ValueError, "cannot hold"),
    (lambda b: b.call_types(d=[-1, 1]), etx.ArgumentError, ValueError, "uint8"),
    (lambda b: b.call_types(c=[1, 0, 1]), etx.ArgumentError, ValueError, "bool"),
    (lambda b: b.call_types(f=[1.0, 2.0]), etx.ArgumentError, ValueError, "bfloat16"),
    (lambda b: b.clash.look_up(np.array([0, 3])), etx.Error, ValueError, "3"),
    (lambda b: b.clash.look_up(np.zeros(5, np.int64)), etx.RangeError, ValueError, "1 and 4"),
    # state
    (lambda b: b.session.state.__setitem__("cache", np.zeros((3, 3))),
     etx.ArgumentError, ValueError, "'cache' is float32"),
    (lambda b: b.session.restore(b"nothing"), etx.ArgumentError, ValueError, ""),
    (lambda b: b.session.restore(b.session.save()[:-1]), etx.ArgumentError, ValueError, "800"),
    (lambda b: b.session.restore(b.clash.save()), etx.ArgumentError, ValueError, ""),
    # when
    (lambda b: b.closed().set_cache(b.data), etx.StateError, RuntimeError, "closed"),
    (lambda b: b.closed().state["cache"], etx.StateError, RuntimeError, "program.session()"),
    (lambda b: b.closed().save(), etx.StateError, RuntimeError, "closed"),
    (lambda b: b.program.close(), etx.StateError, RuntimeError, "sessions"),
    (lambda b: closed_program(b).session(), etx.StateError, RuntimeError, "etx.load"),
    (held, etx.StateError, RuntimeError, "1 arrays still use"),
    (lambda b: pickle.dumps(b.session), etx.StateError, RuntimeError, "save()"),
    # planning
    (lambda b: etx.plan(b.folder / "none", b.folder / "x.pte"),
     etx.NotFoundError, LookupError, "none"),
    (lambda b: etx.plan(b.paths["two"].parent / "two", b.folder / "none" / "x.pte"),
     etx.NotFoundError, LookupError, "directory"),
    (lambda b: etx.plan(b.paths["two"].parent / "two", b.folder / "x.pte", target="tpu"),
     etx.ArgumentError, ValueError, "tpu"),
    (lambda b: etx.plan(b.paths["two"].parent / "two", b.folder / "x.pte", quantize="int3"),
     etx.Error, ValueError, "int3"),
    (lambda b: etx.plan(b.paths["two"].parent / "two", b.folder / "x.pte", passes="-nothing"),
     etx.Error, Exception, "nothing"),
    (lambda b: etx.plan(b.paths["two"].parent / "two", f"{b.folder}/x.pte\0y"),
     etx.ArgumentError, ValueError, "zero byte"),
    (lambda b: etx.plan(b.paths["two"].parent / "two", b.folder / "x.pte", progress=1),
     etx.ArgumentError, ValueError, "(stage, done, total)"),
    (lambda b: b.unplanned(BAD_NODE), etx.ExportError, ValueError, "step.yaml:6"),
    (lambda b: b.unplanned("etx: 1\nmethod: jump\n"), etx.ExportError, ValueError, "step"),
]


@pytest.fixture
def bench(programs, tmp_path):
    return Bench(programs, tmp_path)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_wrong_use_is_refused(bench, number):
    act, kind, own, words = CASES[number]
    if {"plan", "unplanned"} & set(act.__code__.co_names):
        pytest.importorskip("etx._planner")
    with pytest.raises(kind) as caught:
        act(bench)
    assert isinstance(caught.value, own)
    assert words in str(caught.value) and caught.value.message
    assert caught.value.code != "error"


def test_an_error_tells_its_parts(bench):
    with pytest.raises(etx.ArgumentError) as caught:
        bench.two.add(bench.four.astype(np.float64), bench.four)
    error = caught.value
    assert error.code == "bad_argument" and error.where == "add"
    assert error.expected == "add(x: float32[4], y: float32[4])"
    assert error.found == "input 'x' is float64"
    assert "astype(numpy.float32)" in error.hint


def test_a_refused_call_changes_nothing(bench):
    bench.session.set_cache(np.ones((10, 20), np.float32))
    for wrong in (np.zeros((11, 4), np.float32), np.zeros((3, 4))):
        with pytest.raises(etx.ArgumentError):
            bench.session.set_cache(wrong)
    assert bench.session.state["cache"].sum() == 200
    assert not bench.session.is_torn


def test_a_counter_past_the_end_leaves_the_session_usable(programs):
    with etx.load(programs["append"]).session() as session:
        for row in range(1, 4):
            session.append(np.array([row], np.float32))
        full = session.save()
        for _ in range(2):
            with pytest.raises(etx.ArgumentError, match="index 4 is not in -4..3"):
                session.append(np.array([9], np.float32))
            assert not session.is_torn
            assert session.save() == full
        np.testing.assert_array_equal(session.state["first"], [1, 2, 3, 0, 0, 0, 0, 0])
        np.testing.assert_array_equal(session.state["second"], [0, 1, 2, 3])
        session.reset()
        session.append(np.array([5], np.float32))
        np.testing.assert_array_equal(session.state["second"], [0, 5, 0, 0])


@pytest.mark.parametrize("place", [4, 7, 8, -9])
def test_a_place_past_the_end_leaves_the_session_usable(programs, place):
    with etx.load(programs["rows"]).session() as session:
        session.put(np.array([1]), np.array([5], np.float32))
        kept = {name: session.state[name].copy() for name in ("first", "second")}
        with pytest.raises(etx.ArgumentError, match="is not in -8..7"):
            session.put(np.array([place]), np.array([6], np.float32))
        assert not session.is_torn
        for name, value in kept.items():
            np.testing.assert_array_equal(session.state[name], value)
        session.put(np.array([3]), np.array([7], np.float32))
        np.testing.assert_array_equal(session.state["second"], [0, 0, 5, 0, 0, 0, 7, 0])


def test_hasattr_works_with_sessions(bench):
    assert hasattr(bench.session, "set_cache") and not hasattr(bench.session, "step")


def test_nothing_is_written_when_planning_fails(bench):
    pytest.importorskip("etx._planner")
    with pytest.raises(etx.ExportError) as caught:
        bench.unplanned(BAD_NODE)
    assert caught.value.problems[0]["line"] == 6
    assert [path.name for path in bench.folder.iterdir()] == ["wrong"]
