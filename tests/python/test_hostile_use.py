"""Code of users in the middle of a call, arrays that outlive what they show,
tensors that lie about themselves: refused or harmless, never a crash."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import etx
from conftest import make_program

PASS_ON = """\
etx: 1
method: pass_on
inputs:
  - {name: x, type: "float32[4]"}
buffers:
  - {name: w, type: "float32[4]", init: 3}
nodes:
  - {out: square, op: aten.view.default, args: [x, [2, 2]]}
  - {out: sum, op: aten.add.Tensor, args: [x, w]}
outputs: [x, square, w, sum]
mutates: {}
"""

CONSTANT = """\
etx: 1
method: three
inputs: []
buffers:
  - {name: w, type: "float32[4]", init: 3}
nodes: []
outputs: [w]
mutates: {}
"""


@pytest.fixture
def two(programs):
    return etx.load(programs["two"]).session()


@pytest.fixture
def passing(tmp_path):
    folder = tmp_path / "pass"
    folder.mkdir()
    (folder / "pass_on.yaml").write_text(PASS_ON)
    return etx.load(make_program(folder, tmp_path / "pass.pte")).session()


def test_a_session_is_not_closed_while_its_arguments_are_taken_apart(two):
    four = np.ones(4, np.float32)

    class Closing(dict):
        def items(self):
            two.close()
            return super().items()

    with pytest.raises(etx.StateError):
        two.add(Closing(x=four, y=four))
    assert two.add((four, four)).tolist() == [2] * 4


def test_a_seed_may_close_the_session(two):
    class Closing:
        def __index__(self):
            two.close()
            return 1

    method = two.add
    with pytest.raises(etx.StateError, match="closed"):
        method.seed(Closing())


def test_a_program_is_not_closed_while_a_constant_is_read(tmp_path):
    (tmp_path / "three.yaml").write_text(CONSTANT)
    program = etx.load(make_program(tmp_path / "three.yaml", tmp_path / "three.pte"))
    refused = []

    def close(frame, event, argument):
        if frame.f_code.co_name == "wrap":
            with pytest.raises(etx.StateError, match="being read") as caught:
                program.close()
            refused.append(caught.value)

    before = sys.gettrace()
    sys.settrace(close)
    try:
        value = program.constants["three"]
    finally:
        sys.settrace(before)
    assert len(refused) == 1 and value.tolist() == [3] * 4
    program.close()


def test_what_users_do_to_a_view_is_not_seen_by_the_next_call(two):
    four = np.ones(4, np.float32)
    two.add.view(four, four).dtype = np.int32
    again = two.add.view(four, four)
    assert again.dtype == np.float32 and again.tolist() == [2] * 4
    assert two.add(four, four).tolist() == [2] * 4
    with pytest.raises(etx.StateError, match="1 arrays"):
        two.close()
    del again
    two.close()


def test_outputs_that_are_inputs_are_no_memory_of_others(passing):
    x = np.arange(4, dtype=np.float32)
    outputs = passing.pass_on.view(x)
    assert not any(np.shares_memory(x, output) for output in outputs)
    outputs = passing.pass_on.view([1, 2, 3, 4])
    others = [np.full(4, 7, np.float32) for _ in range(50)]  # reuse the memory of the list's array
    assert outputs[0].tolist() == [1, 2, 3, 4] and outputs[1].tolist() == [[1, 2], [3, 4]]
    del others


def test_outputs_that_are_constants_are_not_written(passing):
    view = passing.pass_on.view([1, 2, 3, 4])[2]
    with pytest.raises(ValueError):
        view[:] = 1
    own = passing.pass_on([1, 2, 3, 4])[2]
    own[:] = 1
    assert passing.pass_on([1, 2, 3, 4])[3].tolist() == [4, 5, 6, 7]


def test_a_structure_may_come_with_empty_names(two):
    four = np.ones(4, np.float32)
    assert two.call("add", (four, four)).tolist() == [2] * 4


def test_messages_with_bytes_that_are_no_text_arrive(two, tmp_path):
    with pytest.raises(etx.HostError, match="No such file"):
        etx.load(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.pte"))
    with pytest.raises(etx.NotFoundError):  # longer than a message: cut, at either byte
        two.add(**{"\xe9" * 600: 1})
    with pytest.raises(etx.NotFoundError):
        two.add(**{"a" + "\xe9" * 600: 1})


def test_problems_in_files_whose_names_are_no_text_arrive(tmp_path):
    pytest.importorskip("etx._planner")
    folder = os.fsdecode(bytes(tmp_path) + b"/caf\xe9")
    os.mkdir(folder)
    with open(os.path.join(folder, "step.yaml"), "w") as file:
        file.write("etx: 1\nmethod: jump\n")
    with pytest.raises(etx.ExportError):
        etx.plan(folder, tmp_path / "x.pte")


def test_threads_may_plan_the_same_program(tmp_path):
    pytest.importorskip("etx._planner")
    (tmp_path / "three.yaml").write_text(CONSTANT)

    def plan(_):
        for _ in range(20):
            etx.plan(tmp_path / "three.yaml", tmp_path / "three.pte")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(plan, range(4)))
    assert etx.load(tmp_path / "three.pte").constants["three"].tolist() == [3] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["three.pte", "three.yaml"]


def test_a_file_that_was_replaced_before_pickling_is_refused(programs, tmp_path):
    path = tmp_path / "copy.pte"
    path.write_bytes(programs["stateful"].read_bytes())
    program = etx.load(path)
    pickle.dumps(program)
    (tmp_path / "new").write_bytes(programs["two"].read_bytes())
    os.replace(tmp_path / "new", path)
    with pytest.raises(etx.FileError, match="changed since"):
        pickle.dumps(program)


def test_arrays_of_ctypes_are_read_where_they_lie(two):
    four = (ctypes.c_float * 4)(1, 2, 3, 4)
    assert two.add(four, four).tolist() == [2, 4, 6, 8]
    with pytest.raises(etx.ArgumentError):
        two.add((ctypes.c_float * 2 * 2)(), four)
    with pytest.raises(etx.ArgumentError):
        two.add(ctypes.c_float(1), four)


def test_a_profile_within_a_profile_is_refused_and_takes_nothing(two):
    four = np.ones(4, np.float32)
    with two.profile() as outer:
        two.add(four, four)
        with pytest.raises(etx.StateError, match="already being profiled"):
            with two.profile():
                pass
        two.add(four, four)
    assert [row.calls for row in outer.rows] == [2]
    with two.profile() as later:
        two.add(four, four)
    assert [row.calls for row in later.rows] == [1]


class Garbage:
    """Closes a session when it is collected."""

    def __init__(self, session):
        self.session = session
        self.cycle = self

    def __del__(self):
        self.session.close()


@pytest.mark.parametrize("threshold", range(1, 9))
def test_garbage_that_closes_a_session_while_a_method_is_loaded(programs, threshold):
    program = etx.load(programs["stateful"])
    session = program.session()._native
    load = session.method
    before = gc.get_threshold()
    kept = [[] for _ in range(300)]  # new lists and tuples come from the collector's heap
    gc.collect()
    gc.disable()
    Garbage(session)
    gc.set_threshold(threshold)
    try:
        gc.enable()
        load("get_cache", "get_cache()")
    except etx.StateError:
        assert not session.is_open
    finally:
        gc.set_threshold(*before)
        gc.enable()
        gc.collect()
    assert len(kept) == 300


class Buffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [
        ("memory", ctypes.c_void_p), ("owner", ctypes.py_object), ("bytes", ctypes.c_ssize_t),
        ("item_bytes", ctypes.c_ssize_t), ("is_readonly", ctypes.c_int), ("rank", ctypes.c_int),
        ("format", ctypes.c_char_p), ("sizes", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]


def test_a_buffer_has_what_was_asked_for(programs):
    session = etx.load(programs["stateful"]).session()
    view = session._native.state("cache")
    ask = ctypes.pythonapi.PyObject_GetBuffer
    ask.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    simple, nd, strides, fortran = 0, 0x8, 0x18, 0x58
    found = []
    for flags in (simple, nd, strides):
        buffer = Buffer()
        ask(view, ctypes.addressof(buffer), flags)
        found.append((buffer.sizes is not None, buffer.strides is not None))
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    assert found == [(False, False), (True, False), (True, True)]
    buffer = Buffer()
    with pytest.raises(BufferError):
        ask(view, ctypes.addressof(buffer), fortran)
    assert len(bytes(view)) == 800


class Head(ctypes.Structure):
    """A DLPack tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
        ("device_index", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]


class Foreign:
    """Four numbers, described as the caller says."""

    def __init__(self, code, bits, rank=1, size=4):
        self.memory = (ctypes.c_int64 * 4)(1, 2, 3, 4)
        self.sizes = (ctypes.c_int64 * 1)(size)
        self.head = Head(ctypes.addressof(self.memory), 1, 0, rank, code, bits, 1, self.sizes)

    def __dlpack__(self, **options):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        )
        return make(ctypes.addressof(self.head), b"dltensor", None)


@pytest.mark.parametrize("wrong", [
    {"code": 0, "bits": 4}, {"code": 0, "bits": 24}, {"code": 1, "bits": 128},
    {"code": 0, "bits": 64, "rank": -1}, {"code": 0, "bits": 64, "size": -4},
])
def test_foreign_tensors_of_odd_types_are_not_read(programs, wrong):
    session = etx.load(programs["clash"]).session()
    assert session.look_up(np.zeros(4, np.int64)).shape == (4, 2)
    with pytest.raises(etx.ArgumentError, match="cannot be made of"):
        session.look_up(Foreign(**wrong))
