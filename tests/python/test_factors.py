"""Factors of matrices against eager PyTorch: what is unique is compared, and the
products of what is not, for the form that is exported and for core ATen."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import etx

pytestmark = pytest.mark.filterwarnings("ignore")
linalg = torch.linalg
FORMS = {"exported": lambda program: program, "core": lambda program: program.run_decompositions()}
SIZES = ((1, 1), (6, 6), (7, 3), (3, 7), (0, 3), (3, 0))
COUNT = 25  # matrices of each kind
EPSILON = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


class Call(torch.nn.Module):
    def __init__(self, call) -> None:
        super().__init__()
        self.call = call

    def forward(self, x):
        return tuple(torch.utils._pytree.tree_leaves(self.call(x)))


def draw(rows, columns, dtype):
    """Of full rank, of a lower one, of small whole numbers, zero, and of several scales."""
    generator = torch.Generator().manual_seed(rows * 100 + columns)

    def normal(*shape):
        return torch.randn(COUNT, *shape, dtype=torch.float64, generator=generator)

    rank = max(1, min(rows, columns) // 2)
    low = normal(rows, rank) @ normal(rank, columns)
    full = normal(rows, columns)
    scales = 10.0 ** torch.randint(-15, 16, (COUNT, 1, 1), generator=generator).double()
    graded = full * 10.0 ** -torch.arange(columns).double()
    return torch.cat([full, low, full.round(), 0 * full, full * scales, graded]).to(dtype)


def run(call, x, form, tmp_path):
    program = FORMS[form](torch.export.export(Call(call).eval(), (x,)))
    torch.export.save(program, tmp_path / "forward.pt2")
    etx.plan(tmp_path / "forward.pt2", tmp_path / "model.pte")
    found = etx.load(tmp_path / "model.pte").session().forward(x)
    found = found if isinstance(found, (tuple, list)) else [found]
    wanted = Call(call)(x)
    assert [np.asarray(a).shape for a in found] == [tuple(b.shape) for b in wanted]
    return [torch.as_tensor(np.asarray(a)) for a in found], wanted


def is_near(found, wanted, x, units):
    """Within `units` roundings of the largest element of each matrix of `x`."""
    if found.numel() == 0:
        return
    largest = x.double().abs().flatten(1).amax(1) if x.numel() else torch.ones(len(found))
    distance = (found.double() - wanted.double()).abs().flatten(1).amax(1)
    assert (distance <= units * EPSILON[x.dtype] * largest).all()


def is_orthogonal(columns, units=40):
    found = columns.double().mT @ columns.double()
    unit = torch.eye(found.shape[-1], dtype=torch.float64).expand_as(found)
    assert (found - unit).abs().max().item() <= units * EPSILON[columns.dtype] if found.numel() else True


CASES = pytest.mark.parametrize(
    ("size", "dtype", "form"),
    [(size, dtype, form) for size in SIZES for dtype, form in ((torch.float32, "exported"), (torch.float64, "core"))],
)


@CASES
@pytest.mark.parametrize("full", [False, True])
def test_svd(size, dtype, form, full, tmp_path):
    x = draw(*size, dtype)
    (u, s, vh), _ = run(lambda x: linalg.svd(x, full), x, form, tmp_path)
    count = min(size)
    is_near(s, linalg.svdvals(x.double()), x, 20)
    is_near((u[..., :count] * s[:, None]).double() @ vh[:, :count].double(), x, x, 60)
    is_orthogonal(u)
    is_orthogonal(vh.mT)
    assert (s >= 0).all() and (s.diff(dim=-1) <= 0).all()
    (values,), _ = run(linalg.svdvals, x, form, tmp_path)
    is_near(values, s, x, 4)


@CASES
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(size, dtype, form, mode, tmp_path):
    x = draw(*size, dtype)
    (q, r), (_, wanted) = run(lambda x: linalg.qr(x, mode), x, form, tmp_path)
    is_near(r[:COUNT], wanted[:COUNT], x[:COUNT], 2000)  # of full rank, also in the signs
    assert torch.equal(r, r.triu())
    if mode != "r":
        is_near(q.double() @ r.double(), x, x, 60)
        is_orthogonal(q)


@CASES
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigh(size, dtype, form, triangle, tmp_path):
    x = draw(size[0], size[0], dtype)
    x = x + x.mT
    # The other triangle is not read.
    other = torch.full_like(x, math.nan)
    given = x.tril() + other.triu(1) if triangle == "L" else x.triu() + other.tril(-1)
    (values, vectors), _ = run(lambda x: linalg.eigh(x.nan_to_num(0), triangle), given, form, tmp_path)
    is_near(values, linalg.eigvalsh(x.double()), x, 20)
    is_near((vectors * values[:, None]).double() @ vectors.mT.double(), x, x, 60)
    is_orthogonal(vectors)
    assert (values.diff(dim=-1) >= 0).all()
    (alone,), _ = run(lambda x: linalg.eigvalsh(x, triangle), given, form, tmp_path)
    is_near(alone, values, x, 4)


@CASES
def test_lu(size, dtype, form, tmp_path):
    x = draw(*size, dtype)[:COUNT]
    (p, lower, upper), (wanted, *_) = run(linalg.lu, x, form, tmp_path)
    assert torch.equal(p, wanted)
    is_near(p.double() @ lower.double() @ upper.double(), x, x, 20)
    unpacked = lambda x: torch.lu_unpack(*linalg.lu_factor(x))
    for a, b in zip(run(unpacked, x, form, tmp_path)[0], (p, lower, upper)):
        assert torch.equal(a, b)


RANKS = {
    "default": {},
    "rtol": {"rtol": 1e-3},
    "atol": {"atol": 0.5},
    "both": {"atol": 0.1, "rtol": 0.1},
    "tensors": {"atol": torch.tensor(0.25)},
    "symmetric": {"hermitian": True},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", RANKS)
def test_pinv_and_rank(name, form, tmp_path):
    options = RANKS[name]
    x = draw(5, 5, torch.float32)[: 4 * COUNT]
    x = x + x.mT if "hermitian" in options else x[:, :3]
    call = lambda x: (linalg.pinv(x, **options), linalg.matrix_rank(x, **options))
    (inverse, rank), (wanted, wanted_rank) = run(call, x, form, tmp_path)
    assert torch.equal(rank, wanted_rank)
    is_near(inverse, wanted, wanted, 5000)


OLDER = {
    "pinverse": torch.pinverse,
    "qr": torch.qr,
    "svd": lambda x: (lambda u, s, v: (u * s[:, None]) @ v.mT)(*torch.svd(x)),
    "values": lambda x: torch.svd(x, compute_uv=False)[1],
    "zeros": lambda x: torch.svd(x, compute_uv=False),
    "lu": lambda x: torch.lu(x, pivot=True),
    "rank": lambda x: linalg.matrix_rank(x, 0.1),
    "rcond": lambda x: linalg.pinv(x, 0.2),
    "nuclear": lambda x: linalg.matrix_norm(x, "nuc"),
    "spectral": lambda x: (linalg.matrix_norm(x, 2), linalg.cond(x)),
}
ONLY_CORE = {"nuclear", "spectral"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OLDER)
def test_other_names(name, form, tmp_path):
    if form == "exported" and name in ONLY_CORE:
        pytest.skip("matrix norms are planned from core ATen")
    x = draw(5, 3, torch.float32)[:COUNT]
    for a, b in zip(*run(OLDER[name], x, form, tmp_path)):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_sizes_that_vary(tmp_path):
    class Factors(torch.nn.Module):
        def forward(self, x):
            q, r = linalg.qr(x)
            u, s, vh = linalg.svd(x, full_matrices=False)
            values, vectors = linalg.eigh(x.mT @ x)
            return q @ r, (u * s) @ vh, s, (vectors * values) @ vectors.mT, linalg.pinv(x, rtol=1e-5)

    model = Factors()
    rows = torch.export.Dim("rows", min=4, max=12)
    x = draw(12, 4, torch.float32)[0]
    etx.export(model, {"forward": (etx.MethodArg(x, {0: rows}),)}).plan(tmp_path / "model.pte")
    session = etx.load(tmp_path / "model.pte").session()
    for count in (12, 4, 7):
        for a, b in zip(session.forward(x[:count]), model(x[:count])):
            np.testing.assert_allclose(np.asarray(a), b.numpy(), rtol=1e-3, atol=1e-4)


def test_values_that_are_not_finite(tmp_path):
    """PyTorch raises an error for such a matrix; the others are computed."""
    call = lambda x: (*linalg.svd(x), *linalg.eigh(x))
    good = torch.eye(3).expand(3, 3, 3).contiguous()
    torch.export.save(torch.export.export(Call(call), (good,)), tmp_path / "forward.pt2")
    etx.plan(tmp_path / "forward.pt2", tmp_path / "model.pte")
    bad = good.clone()
    bad[0, 1, 1], bad[2, 2, 0] = math.nan, math.inf
    with pytest.raises(RuntimeError):
        call(bad)
    for result in etx.load(tmp_path / "model.pte").session().forward(bad):
        result = np.asarray(result)
        assert np.isnan(result[0]).all() and np.isnan(result[2]).all() and np.isfinite(result[1]).all()
