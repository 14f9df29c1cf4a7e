"""PyTorch's tensors as arguments: read in place, converted, or refused."""

from __future__ import annotations

import sys
import time
import timeit

import numpy as np
import pytest
from conftest import make_program

torch = pytest.importorskip("torch")

import etx

MIX = """\
etx: 1
method: mix
inputs:
  - {name: x, type: "float32[4]"}
  - {name: z, type: "complex64[2]"}
nodes:
  - {out: rx, op: aten.clone.default, args: [x]}
  - {out: rz, op: aten.clone.default, args: [z]}
outputs: [rx, rz]
mutates: {}
"""
ONES = torch.ones(4)
PAIR = torch.tensor([1 + 2j, 3 - 4j])


@pytest.fixture(scope="module")
def mix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mix")
    (folder / "mix.yaml").write_text(MIX)
    return etx.load(make_program(folder, folder.with_suffix(".pte"))).session().mix


@pytest.mark.parametrize(
    "x, z",
    [
        (ONES, PAIR),
        (ONES, PAIR.conj()),  # a mark on the same memory
        (torch.cat([PAIR, PAIR]).conj().imag, PAIR),  # strides too
        (torch._neg_view(ONES), torch._neg_view(PAIR)),
        (torch.nn.Parameter(torch.arange(4.0)), PAIR.clone().requires_grad_()),
        (torch.arange(8.0)[::2], PAIR.flip(0)),
        (torch.arange(8.0)[4:], torch.cat([PAIR, 2 * PAIR])[2:]),
    ],
)
def test_a_tensor_is_what_pytorch_says(mix, x, z):
    for _ in range(2):  # the second call knows the types
        got_x, got_z = mix(x, z)
        assert np.array_equal(got_x, x.detach().resolve_neg().numpy())
        assert np.array_equal(got_z, z.detach().resolve_conj().resolve_neg().numpy())


@pytest.mark.parametrize(
    "x", [ONES.to_sparse(), torch.empty(4, device="meta"), ONES.to(torch.float64), torch.ones(3)]
)
def test_what_cannot_be_read_is_refused(mix, x):
    with pytest.raises(etx.ArgumentError, match="'x'"):
        mix(x, PAIR)


def test_tensors_are_let_go(mix):
    array = np.ones(4, np.float32)
    before = sys.getrefcount(array)
    x = torch.from_numpy(array)  # holds the array until its memory is given back
    for _ in range(100):
        mix(x, PAIR)
        with pytest.raises(etx.ArgumentError):
            mix(x, ONES)
    del x
    assert sys.getrefcount(array) == before


def test_a_call_with_tensors_costs_little(programs):
    """2 microseconds beyond the run are the promise for a quiet machine."""
    add = etx.load(programs["two"]).session().add
    y = torch.ones(4)
    best = min(timeit.repeat(lambda: add(ONES, y), timer=time.process_time, number=2000, repeat=20)) / 2000
    assert best < 20e-6, best
