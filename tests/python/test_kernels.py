"""Operators of an application with kernels of a shared library: the model of
examples/custom_operator. The oracle is eager PyTorch (tests/data/custom_operator).
"""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etx
from conftest import DATA, ROOT

OPS = ROOT / "examples" / "custom_operator" / "my.ops"
FORMS = ("exported", "decomposed")


@pytest.fixture(scope="module")
def library() -> Path:
    path = os.environ.get("ETX_MY_KERNELS", "")
    if not path:
        pytest.skip("ETX_MY_KERNELS names no build of examples/custom_operator")
    return Path(path)


def plan(folder: Path, form: str) -> Path:
    program = folder / f"{form}.pte"
    etx.plan(DATA / "custom_operator" / form, program, ops=OPS)
    return program


def tensors_of(path: Path) -> dict[str, Any]:
    """The float32 tensors of a safetensors file."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    body = content[8 + size :]
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32"
        first, end = entry["data_offsets"]
        found[name] = np.frombuffer(body[first:end], np.float32).reshape(entry["shape"])
    return found


def results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("form", FORMS)
def test_methods_give_what_pytorch_gives(tmp_path: Path, library: Path, form: str) -> None:
    folder = DATA / "custom_operator" / form
    cases = json.loads((folder / "cases.json").read_text())
    tensors = tensors_of(folder / "expected.safetensors")
    session = etx.load(plan(tmp_path, form), kernels=library).session()
    compared = 0
    for call in cases["calls"]:
        inputs = [tensors[item["tensor"]] for item in call["inputs"]]
        found = results(getattr(session, call["method"])(*inputs))
        assert len(found) == len(call["outputs"])
        for one, wanted in zip(found, call["outputs"]):
            np.testing.assert_allclose(np.asarray(one), tensors[wanted["tensor"]], 1e-5, 1e-5)
            compared += 1
    assert compared > 20


def test_a_program_that_was_pickled_has_its_kernels(tmp_path: Path, library: Path) -> None:
    program = etx.load(plan(tmp_path, "exported"), kernels=[library])
    again = pickle.loads(pickle.dumps(program))
    assert again.kernels == (library.absolute(),)
    x = np.float32([1, -2, 3])
    for one in (program, again):
        np.testing.assert_array_equal(np.asarray(one.session().peak(x)), [2, -4, 6])


def test_missing_kernels_are_named(tmp_path: Path) -> None:
    with etx.load(plan(tmp_path, "exported")) as program:
        with program.session() as session, pytest.raises(etx.MissingOperatorError) as refused:
            session.peak(np.float32([1, -2, 3]))
    assert "my::track.out" in str(refused.value)


def test_files_that_are_no_libraries_are_refused(tmp_path: Path) -> None:
    program = plan(tmp_path, "exported")
    text = tmp_path / "text.so"
    text.write_text("no library")
    for path in (text, tmp_path / "absent.so"):
        with pytest.raises(etx.NotFoundError, match=path.name):
            etx.load(program, kernels=path)


def test_operators_without_a_description_are_refused(tmp_path: Path) -> None:
    with pytest.raises(etx.ExportError, match=r"my::scale\(Tensor x, float factor\) -> Tensor"):
        etx.plan(DATA / "custom_operator" / "exported", tmp_path / "none.pte")


def test_mistakes_in_a_description_have_line_and_column(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.ops"
    wrong.write_text("my::scale(Tensor x, float factor) -> Tensor\n    sizes: y\n")
    with pytest.raises(etx.Error, match=r"wrong.ops:2:\d+"):
        etx.plan(DATA / "custom_operator" / "exported", tmp_path / "none.pte", ops=[wrong])
