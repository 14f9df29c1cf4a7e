"""Sizes that go through a tensor and come back by item(), against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim

import etx

pytestmark = pytest.mark.filterwarnings("ignore")

MOST, ROWS = 9, 5


class Span(torch.nn.Module):
    """Rows of a table around its middle, as many as the input is long, as in DeBERTa."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(4.0 * ROWS).reshape(2 * ROWS, 2))

    def forward(self, x):
        span = torch.tensor(min(x.size(0), ROWS))
        rows = self.table[ROWS - span : ROWS + span]
        at = torch.clamp(torch.arange(x.size(0)) + span, 0, span * 2 - 1)
        return rows[at] + x[:, None]


class Middle(torch.nn.Module):
    """A slice whose start counts from the end for small sizes only."""

    def forward(self, x):
        start = torch.tensor(x.size(0)) - 4
        return x[start:] + 1


class Several(torch.nn.Module):
    """Arithmetic of such tensors, and a number that is an operand of its own."""

    def forward(self, x):
        count = torch.tensor(x.size(0))
        half = torch.maximum(3 * count - 2 * count - 1, torch.tensor(1))
        return x[: half.item()] * half, x[-half:] - count


def check(module: torch.nn.Module, path) -> None:
    x = torch.randn(6, generator=torch.Generator().manual_seed(0))
    dim = Dim("n", min=1, max=MOST)
    etx.export(module, {"forward": {"x": etx.MethodArg(x, {0: dim})}}).plan(path)
    session = etx.load(path).session()
    for size in range(1, MOST + 1):
        x = torch.randn(size, generator=torch.Generator().manual_seed(size))
        wanted = module(x)
        found = session.forward(x.numpy())
        for mine, theirs in zip(*(a if isinstance(a, tuple) else (a,) for a in (found, wanted)), strict=True):
            assert np.array_equal(mine, theirs.numpy()), size


@pytest.mark.parametrize("module", [Span, Middle, Several])
def test_sizes_that_a_tensor_holds(module, tmp_path) -> None:
    check(module(), tmp_path / "sizes.pte")
