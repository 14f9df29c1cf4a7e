"""Operators that take several kernels, or one that only etx has, against eager
PyTorch: with NaN, with ties, with bags that are empty, and for
another count of rows than the one that was exported."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim

import etx
from etx import MethodArg

pytestmark = pytest.mark.filterwarnings("ignore")

NAN, INF = math.nan, math.inf
ROWS = [[3.0, 1, NAN, 2, 1], [INF, -INF, 0, -0.0, 5], [NAN] * 5, [2.0, 2, 1, 1, 0], [5.0, 4, 3, 2, 1]]
WINDOW = torch.hann_window(16)
TABLE = torch.randn(9, 3, generator=torch.Generator().manual_seed(1))


def complex_of(x):
    return torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))


def rotated(x, angles):
    turned = complex_of(x) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(1)


def bag(**options):
    def pooled(indices):
        return torch.nn.functional.embedding_bag(indices, TABLE, **options)

    return pooled


def bag_at(**options):
    def pooled(indices, offsets):
        return torch.nn.functional.embedding_bag(indices, TABLE, offsets, **options)

    return pooled


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def whole(*shape):
    return torch.randint(0, 9, shape, generator=torch.Generator().manual_seed(7))


def resized(**options):
    """A grid of weights in the shape of the rows, or the rows as an image."""

    def call(x):
        if "scale_factor" in options:
            return resize(x.reshape(1, 1, -1, 20), **options)
        return resize(GRID, size=(x.shape[0], x.shape[0] + 3), **options)

    return call


resize = torch.nn.functional.interpolate
GRID = draw(1, 2, 7, 7)
SQUARE = draw(4, 5, 5) + 4 * torch.eye(5)
EDGES = torch.tensor([-1.0, 0, 2])
EVEN = whole(4, 6)
UNEVEN = (torch.tensor([2, 2, 5, 1, 2, 8, 0]), torch.tensor([0, 2, 2, 6]))
NUMBERS = torch.tensor(ROWS)
CASES = {
    "median": (lambda x: x.median(1), NUMBERS),
    "median of all": (lambda x: (x.median(), x[:2].nanmedian()), NUMBERS),
    "nanmedian": (lambda x: x.nanmedian(1)[0], NUMBERS),
    "kthvalue": (lambda x: x.kthvalue(4, 1)[0], NUMBERS),
    "running extremes": (lambda x: (*x.cummax(1), *x.cummin(1)), NUMBERS),
    "copysign": (lambda x: torch.copysign(x, x.roll(1, 1)), NUMBERS.nan_to_num(3)),
    "hypot": (lambda x: torch.hypot(x, x.roll(1, 1)), NUMBERS),
    "gamma": (lambda x: (x.lgamma(), x.digamma(), torch.polygamma(2, x)), draw(4, 5) * 4),
    "trigamma": (lambda x: torch.polygamma(1, x), draw(4, 5).double() * 4),
    "inverse error": (lambda x: (x.erfinv(), torch.special.ndtri(x), torch.special.erfcx(x)), draw(4, 5).clamp(-1, 1)),
    "bessel": (lambda x: (x.i0(), torch.special.i1e(x), torch.special.i0e(x)), NUMBERS),
    "extremes but NaN": (lambda x: (torch.fmax(x, x.roll(1, 1)), torch.fmin(x, x.roll(1, 1))), NUMBERS),
    "sign bits": (lambda x: (x.signbit(), torch.ldexp(x, x.new_tensor(3))), NUMBERS.nan_to_num(3)),
    "close": (lambda x: torch.isclose(x, x.roll(1, 1), equal_nan=True), NUMBERS),
    "buckets": (lambda x: (torch.bucketize(x, EDGES), torch.bucketize(x, EDGES, right=True)), NUMBERS),
    "triangle": (lambda x: x[:, torch.triu_indices(3, 4, 1)[1]] + torch.tril_indices(2, 4, -1)[0, 0], NUMBERS),
    "angles": (lambda x: (x.deg2rad(), x.rad2deg()), NUMBERS),
    "a grid made finer": (resized(antialias=True, mode="bicubic"), draw(12, 4)),
    "a grid by its size": (resized(antialias=True, mode="bicubic", scale_factor=(0.6, 1.5)), draw(12, 40)),
    "parts of a size": (lambda x: resize(x.T[None], scale_factor=1.3, mode="linear"), draw(16, 4)),
    "sizes": (lambda x: complex_of(x).abs(), torch.cat([NUMBERS, NUMBERS[:, :1]], 1)),
    "large sizes": (lambda x: complex_of(x).abs(), draw(3, 6).double() * 1e200),
    "rotary": (rotated, draw(5, 8), draw(5, 4)),
    "spectrogram": (lambda x: torch.stft(x, 16, 5, window=WINDOW, return_complex=True).abs(), draw(3, 70)),
    "phases": (lambda x: torch.fft.rfft(x).angle().cos(), draw(3, 9)),
    "transforms": (lambda x: (torch.fft.fft(torch.fft.fft(x)).real, torch.fft.ifft(x).imag), draw(4, 7)),
    "a filter": (lambda x: torch.fft.ifft(torch.fft.fft(x) * WINDOW[:7]).real, draw(4, 7)),
    "bags": (bag(mode="sum"), EVEN),
    "mean of bags": (bag(mode="mean", padding_idx=2), EVEN),
    "most of bags": (bag(mode="max", padding_idx=2), torch.cat([EVEN, torch.full((1, 6), 2)])),
    "bags at": (bag_at(mode="sum"), *UNEVEN),
    "mean of bags at": (bag_at(mode="mean", padding_idx=2), *UNEVEN),
    "most of bags at": (bag_at(mode="max", padding_idx=2), *UNEVEN),
    "addmv": (lambda x, y: torch.addmv(x[:, 0] * NAN, x, y, beta=0, alpha=2), draw(4, 5), draw(5)),
    "bilinear": (torch.nn.Bilinear(3, 4, 5), draw(6, 3), draw(6, 4)),
    "projections": (torch.nn.LSTM(4, 6, 2, proj_size=3, bidirectional=True), draw(5, 2, 4)),
    "diagonal": (lambda x, y: torch.diagonal_scatter(x, y, -1, 2, 0), draw(4, 3, 5), draw(3, 4)),
    "inverses": (lambda x: (torch.linalg.inv(x), torch.linalg.inv_ex(x)[0], x.inverse()), SQUARE),
    "systems": (lambda x, y: (torch.linalg.solve(x, y), torch.linalg.solve(x, y[0])), SQUARE, draw(4, 5, 2)),
    "a vector for each": (lambda x, y: torch.linalg.solve(x, y), SQUARE, draw(4, 5)),
    "systems from the right": (lambda x: torch.linalg.solve(x, x[:, :2], left=False), SQUARE),
    "factors": (lambda x: (*torch.linalg.lu_factor(x), torch.linalg.lu_solve(*torch.linalg.lu_factor(x), x.mT)), SQUARE),
    "triangles": (lambda x: (torch.linalg.solve_triangular(x, x.mT, upper=True), x.triangular_solve(x.mT)[0]), SQUARE),
    "roots": (lambda x: (torch.linalg.cholesky(x @ x.mT), torch.linalg.cholesky(x @ x.mT, upper=True)), SQUARE),
    "of roots": (lambda x: (torch.cholesky_inverse(x), torch.cholesky_solve(x.mT, x, upper=True)), SQUARE),
    "determinants": (lambda x: (x.det(), *torch.linalg.slogdet(-x), x.logdet(), (-x).logdet()), SQUARE),
    "bits": (lambda x: (x.view(torch.int32), x.view(torch.int16), x.double().view(torch.float32)), draw(4, 6)),
    "wider bits": (lambda x: x.to(torch.uint8).view(torch.int32) + x.view(torch.int64)[:, :1], whole(4, 8).int()),
    "equation": (lambda x: torch.einsum("bi,oi->bo", x, TABLE), draw(4, 3)),
}
FIXED = {"a vector for each", "addmv", "projections", "diagonal"}  # or rows of several inputs that differ
FIXED |= {name for name, (_, *inputs) in CASES.items() if len(inputs) > 1 and inputs[0].shape[0] != inputs[1].shape[0]}


class Call(torch.nn.Module):
    def __init__(self, call) -> None:
        super().__init__()
        self.call = call

    def forward(self, x, y=None):
        results = self.call(x) if y is None else self.call(x, y)
        return tuple(torch.utils._pytree.tree_leaves(results))


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager(name, tmp_path):
    call, *inputs = CASES[name]
    model = Call(call).eval()
    rows = Dim("rows", min=2, max=16)
    varying = {} if name in FIXED else {0: rows}
    arguments = tuple(MethodArg(value, varying) if varying else value for value in inputs)
    etx.export(model, {"forward": arguments}).plan(tmp_path / "model.pte")
    session = etx.load(tmp_path / "model.pte").session()
    for count in [None] if name in FIXED else [None, 2, 3]:
        given = [value[:count] for value in inputs]
        with torch.no_grad():
            wanted = model(*given)
        found = session.forward(*given)
        found = found if isinstance(found, (tuple, list)) else [found]
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(np.asarray(a), b.resolve_neg().numpy(), rtol=2e-5, atol=1e-5)


MATRICES = {
    "inv": (torch.linalg.inv, "singular"),
    "solve": (lambda x: torch.linalg.solve(x, x[:, :1]), "singular"),
    "cholesky": (torch.linalg.cholesky, "not positive definite"),
}


@pytest.mark.parametrize("is_core", [False, True])
@pytest.mark.parametrize("name", MATRICES)
def test_refuses_a_matrix_as_pytorch_does(name, is_core, tmp_path):
    call, reason = MATRICES[name]
    good, bad = torch.eye(3), torch.zeros(3, 3)
    program = torch.export.export(Call(call), (good,))
    torch.export.save(program.run_decompositions() if is_core else program, tmp_path / "forward.pt2")
    etx.plan(tmp_path / "forward.pt2", tmp_path / "model.pte")
    session = etx.load(tmp_path / "model.pte").session()
    with pytest.raises(RuntimeError):
        call(bad)
    with pytest.raises(etx.Error, match=reason):
        session.forward(bad)
    np.testing.assert_allclose(np.asarray(session.forward(good)), call(good).numpy(), atol=1e-6)


ISTFT = {
    "centered": {},
    "from the start": {"center": False, "length": 9},
    "longer than its frames": {"length": 60},
    "shorter": {"length": 13, "normalized": True},
    "all frequencies": {"onesided": False},
    "a short window": {"win_length": 6, "window": torch.hann_window(6) + 0.1},
    "no window": {"window": None, "hop_length": None},
}


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("name", ISTFT)
def test_istft_is_read_as_it_is_exported(name, rank, tmp_path):
    """Without run_decompositions the graph has aten.istft itself."""
    given = {"n_fft": 8, "hop_length": 2, "window": torch.hann_window(8) + 0.01, **ISTFT[name]}
    frequencies = 8 if given.get("onesided") is False else 5
    real = draw(2, frequencies, 12) if rank == 3 else draw(frequencies, 12)
    imaginary = real.flip(-1)
    model = Call(lambda x, y: torch.istft(torch.complex(x, y), **given))
    frames = Dim("frames", min=2, max=40)
    dims = {} if "length" in given else {rank - 1: frames}
    try:
        program = torch.export.export(model, (real, imaginary), dynamic_shapes=(dims, dims))
    except torch._dynamo.exc.UserError:  # PyTorch 2.14 exports batches with one length alone
        dims = {}
        program = torch.export.export(model, (real, imaginary))
    assert any("istft" in str(node.target) for node in program.graph.nodes)
    torch.export.save(program, tmp_path / "forward.pt2")
    etx.plan(tmp_path / "forward.pt2", tmp_path / "model.pte")
    session = etx.load(tmp_path / "model.pte").session()
    for count in [12, 4, 11] if dims else [12]:
        inputs = real[..., :count].contiguous(), imaginary[..., :count].contiguous()
        found = session.forward(*inputs)
        np.testing.assert_allclose(np.asarray(found), model(*inputs)[0].numpy(), rtol=2e-5, atol=2e-5)


# ---- sizes that go through a tensor and come back by item() ----

MOST, MIDDLE = 9, 5


class Span(torch.nn.Module):
    """Rows of a table around its middle, as many as the input is long, as in DeBERTa."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(4.0 * MIDDLE).reshape(2 * MIDDLE, 2))

    def forward(self, x):
        span = torch.tensor(min(x.size(0), MIDDLE))
        rows = self.table[MIDDLE - span : MIDDLE + span]
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


# Factors of matrices: what is unique is compared, and the products of what is not.

linalg = torch.linalg
FORMS = {"exported": lambda program: program, "core": lambda program: program.run_decompositions()}
SIZES = ((1, 1), (6, 6), (7, 3), (3, 7), (0, 3), (3, 0))
COUNT = 25  # matrices of each kind
EPSILON = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def draw_matrices(rows, columns, dtype):
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


def run_program(call, x, form, tmp_path):
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


MATRIX_CASES = pytest.mark.parametrize(
    ("size", "dtype", "form"),
    [(size, dtype, form) for size in SIZES for dtype, form in ((torch.float32, "exported"), (torch.float64, "core"))],
)


@MATRIX_CASES
@pytest.mark.parametrize("full", [False, True])
def test_svd(size, dtype, form, full, tmp_path):
    x = draw_matrices(*size, dtype)
    (u, s, vh), _ = run_program(lambda x: linalg.svd(x, full), x, form, tmp_path)
    count = min(size)
    is_near(s, linalg.svdvals(x.double()), x, 20)
    is_near((u[..., :count] * s[:, None]).double() @ vh[:, :count].double(), x, x, 60)
    is_orthogonal(u)
    is_orthogonal(vh.mT)
    assert (s >= 0).all() and (s.diff(dim=-1) <= 0).all()
    (values,), _ = run_program(linalg.svdvals, x, form, tmp_path)
    is_near(values, s, x, 4)


@MATRIX_CASES
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(size, dtype, form, mode, tmp_path):
    x = draw_matrices(*size, dtype)
    (q, r), (_, wanted) = run_program(lambda x: linalg.qr(x, mode), x, form, tmp_path)
    is_near(r[:COUNT], wanted[:COUNT], x[:COUNT], 2000)  # of full rank, also in the signs
    assert torch.equal(r, r.triu())
    if mode != "r":
        is_near(q.double() @ r.double(), x, x, 60)
        is_orthogonal(q)


@MATRIX_CASES
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigh(size, dtype, form, triangle, tmp_path):
    x = draw_matrices(size[0], size[0], dtype)
    x = x + x.mT
    given = x.tril() if triangle == "L" else x.triu()  # the other one is not read
    (values, vectors), _ = run_program(lambda x: linalg.eigh(x, triangle), given, form, tmp_path)
    is_near(values, linalg.eigvalsh(x.double()), x, 20)
    is_near((vectors * values[:, None]).double() @ vectors.mT.double(), x, x, 60)
    is_orthogonal(vectors)
    assert (values.diff(dim=-1) >= 0).all()
    (alone,), _ = run_program(lambda x: linalg.eigvalsh(x, triangle), given, form, tmp_path)
    is_near(alone, values, x, 4)


@MATRIX_CASES
def test_lu(size, dtype, form, tmp_path):
    x = draw_matrices(*size, dtype)[:COUNT]
    (p, lower, upper), (wanted, *_) = run_program(linalg.lu, x, form, tmp_path)
    assert torch.equal(p, wanted)
    is_near(p.double() @ lower.double() @ upper.double(), x, x, 20)
    unpacked = lambda x: torch.lu_unpack(*linalg.lu_factor(x))
    for a, b in zip(run_program(unpacked, x, form, tmp_path)[0], (p, lower, upper)):
        assert torch.equal(a, b)


TOLERANCES = {
    "default": {},
    "rtol": {"rtol": 1e-3},
    "atol": {"atol": 0.5},
    "both": {"atol": 0.1, "rtol": 0.1},
    "tensors": {"atol": torch.tensor(0.25)},
    "symmetric": {"hermitian": True},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TOLERANCES)
def test_pinv_and_rank(name, form, tmp_path):
    options = TOLERANCES[name]
    x = draw_matrices(5, 5, torch.float32)[: 4 * COUNT]
    x = x + x.mT if "hermitian" in options else x[:, :3]
    call = lambda x: (linalg.pinv(x, **options), linalg.matrix_rank(x, **options))
    (inverse, rank), (wanted, wanted_rank) = run_program(call, x, form, tmp_path)
    assert torch.equal(rank, wanted_rank)
    is_near(inverse, wanted, wanted, 5000)


OLDER = {
    "pinverse": torch.pinverse,
    "svd": lambda x: (lambda u, s, v: (u * s[:, None]) @ v.mT)(*torch.svd(x)),
    "values": lambda x: torch.svd(x, compute_uv=False)[1],
    "zeros": lambda x: torch.svd(x, compute_uv=False),
    "lu": lambda x: torch.lu(x, pivot=True),
    "rank": lambda x: linalg.matrix_rank(x, 0.1),
    "rcond": lambda x: linalg.pinv(x, 0.2),
    "nuclear": lambda x: linalg.matrix_norm(x, "nuc"),
    "spectral": lambda x: (linalg.matrix_norm(x, 2), linalg.cond(x)),
}
if hasattr(torch.ops.aten, "qr"):  # up to PyTorch 2.13
    OLDER["qr"] = lambda x: torch.ops.aten.qr(x, False)
ONLY_CORE = {"nuclear", "spectral"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OLDER)
def test_other_names(name, form, tmp_path):
    if form == "exported" and name in ONLY_CORE:
        pytest.skip("matrix norms are planned from core ATen")
    x = draw_matrices(5, 3, torch.float32)[:COUNT]
    for a, b in zip(*run_program(OLDER[name], x, form, tmp_path)):
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
    x = draw_matrices(12, 4, torch.float32)[0]
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
