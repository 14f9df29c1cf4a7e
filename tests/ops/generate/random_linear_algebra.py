#!/usr/bin/env python3
"""Random calls of factors, solutions and determinants, and of views as another type.

    random_linear_algebra.py TARGET [--seed N] [--count N] [--only PART]
                             [--most BYTES]

Writes TARGET/<operator>.jsonl and .safetensors, COUNT cases of each operator.
Matrices are far enough from singular ones that float32 determines the result;
some are singular, or have other sizes than the operator takes. Singular vectors
and eigenvectors are compared without their signs, and not at all if values are
too near to each other; tests/python/test_operators.py multiplies them.

tests/data/ops/linear_algebra holds what `--seed 1 --count 12 --most 2000`
writes.
"""

import torch

from random_calls import (ALL, F32, F64, I32, Skip, command_line, encode,
                          generate)
from wide_calls import Operator, magnitude

aten = torch.ops.aten


def lead(draw):
    return draw.shape(0, 2, most=3, long=3)


def matrix(draw, shape, dtype):
    """With a diagonal that keeps it from being singular, in exchanged rows."""
    x = draw.values(shape, dtype, special=0)
    size = min(shape[-2:])
    x = x + 4 * torch.eye(*shape[-2:], dtype=dtype)
    order = torch.randperm(shape[-2], generator=draw.torch)
    return x[..., order, :] if size else x


def definite(draw, shape, dtype):
    x = draw.values(shape, F64, special=0)
    return (x @ x.mT + torch.eye(shape[-1], dtype=F64)).to(dtype)


def near(*_):
    """Some hundred roundings of the largest element."""
    return lambda high, dtype, k: (200 * max(1.0, magnitude(high)), 200)


def square(draw):
    size = draw.pick([0, 1, 2, 3, 5, draw.int(1, 9)])
    return lead(draw) + [size, size]


def factors(op, draw):
    dtype = draw.pick([F32, F64] if draw.chance(0.95) else [I32])
    shape = lead(draw) + [draw.int(0, 5), draw.int(1, 6)]
    x = matrix(draw, shape, dtype)
    if draw.chance(0.15) and x.numel():
        x[..., -1] = 0
    op.add([("A", draw.lay(x)), ("pivot", True),
            ("check_errors", draw.chance(0.5))], near(),
           keywords=("pivot", "check_errors"))


def cholesky(op, draw):
    dtype = draw.pick([F32, F64])
    shape = square(draw)
    x = definite(draw, shape, dtype)
    if draw.chance(0.2) and x.numel():
        x[..., -1, -1] = -1
    upper, checks = draw.chance(0.5), draw.chance(0.5)
    fails = bool(aten.linalg_cholesky_ex(x)[1].any())
    # The other triangle is not read.
    noise = 7 * torch.ones_like(x)
    x = x.triu() + noise.tril(-1) if upper else x.tril() + noise.triu(1)
    op.add([("self", draw.lay(x)), ("upper", upper), ("check_errors", checks)],
           near(), keywords=("upper", "check_errors"),
           free=(0,) if fails else ())


def sides(draw, shape, dtype, left):
    extra = [draw.int(0, 4)]
    size = [shape[-1]] + extra if left else extra + [shape[-1]]
    leading = shape[:-2]
    if draw.chance(0.4):
        leading = leading[1:] if draw.chance(0.5) else [1] * len(leading)
    return draw.tensor(leading + size, dtype, special=0)


def lu_solve(op, draw):
    dtype = draw.pick([F32, F64])
    shape = square(draw)
    lu, pivots, _ = aten.linalg_lu_factor_ex(matrix(draw, shape, dtype))
    left, adjoint = draw.chance(0.6), draw.chance(0.4)
    op.add([("LU", lu.contiguous()), ("pivots", pivots),
            ("B", sides(draw, shape, dtype, left)), ("left", left),
            ("adjoint", adjoint)], near(), keywords=("left", "adjoint"))


def solve_triangular(op, draw):
    dtype = draw.pick([F32, F64])
    shape = square(draw)
    x = draw.values(shape, dtype, special=0, low=-1, high=1)
    x = draw.lay(x + 3 * torch.eye(shape[-1], dtype=dtype))
    left = draw.chance(0.6)
    op.add([("self", x), ("B", sides(draw, shape, dtype, left)),
            ("upper", draw.chance(0.5)), ("left", left),
            ("unitriangular", draw.chance(0.3))], near(),
           keywords=("upper", "left", "unitriangular"))


def diagonal(lu, pivots):
    """The diagonal of U, and the sign of the exchanges."""
    rows = torch.arange(1, pivots.shape[-1] + 1)
    odd = (pivots != rows).sum(-1) % 2
    return lu.diagonal(dim1=-2, dim2=-1), 1 - 2 * odd.to(lu.dtype)


def det(lu, pivots):
    values, sign = diagonal(lu, pivots)
    return values.prod(-1) * sign


def slogdet(lu, pivots):
    values, sign = diagonal(lu, pivots)
    return values.sign().prod(-1) * sign, values.abs().log().sum(-1)


def determinants(op, draw):
    dtype = draw.pick([F32, F64])
    x = matrix(draw, square(draw), dtype)
    if draw.chance(0.2) and x.numel():
        x[..., -1] = 0
    lu, pivots, _ = aten.linalg_lu_factor_ex(x)
    op.add([("LU", draw.lay(lu.contiguous())), ("pivots", pivots)], near())


# ------------------------------------------------ orthogonal factors

def plain(draw, shape, dtype):
    """Of any rank and size: with equal rows, with zeros, very large or small."""
    x = draw.values(shape, F64, special=0)
    if draw.chance(0.2) and x.numel():
        x[..., -1, :] = x[..., 0, :]
    if draw.chance(0.1):
        x = x * 0
    return (x * 2.0**draw.pick([0, 0, 0, 40, -40])).to(dtype)


def relative(high, dtype, k):
    return 200 * magnitude(high), 200


def beside(values):
    """The relative distance of the nearest values."""
    steps = torch.diff(values.double(), dim=-1).abs()
    return 1.0 if steps.numel() == 0 else float(
        steps.min() / max(magnitude(values), 1e-300))


def sized(draw):
    return lead(draw) + [draw.int(0, 6), draw.int(0, 6)]


def qr_of(a, complete, compute_q):
    mode = "complete" if complete else "reduced"
    q, r = torch.linalg.qr(a, mode)
    return (q if compute_q else q.new_empty(0)), r


def qr(op, draw):
    dtype = draw.pick([F32, F64] if draw.chance(0.95) else [I32])
    shape = sized(draw)
    x = plain(draw, shape, dtype)
    rank = torch.linalg.matrix_rank(x.double(), rtol=1e-3) if x.numel() else 0
    is_unique = x.numel() == 0 or bool((rank == min(shape[-2:])).all())
    op.add([("A", draw.lay(x)), ("complete", draw.chance(0.4)),
            ("compute_q", draw.chance(0.7))], relative,
           free=() if is_unique else (0, 1))


def svd_of(a, full_matrices, compute_uv):
    if not compute_uv:
        none = a.new_empty(0)
        return none, torch.linalg.svdvals(a), none
    u, s, vh = torch.linalg.svd(a, full_matrices)
    return u.abs(), s, vh.abs()


def svd(op, draw):
    dtype = draw.pick([F32, F64] if draw.chance(0.95) else [I32])
    shape = sized(draw)
    x = plain(draw, shape, dtype)
    full, vectors = draw.chance(0.5), draw.chance(0.7)
    near_by = x.is_floating_point() and beside(
        torch.nn.functional.pad(torch.linalg.svdvals(x), (0, 1))) < 0.02
    extra = (shape[-2] - shape[-1]) if full else 0
    free = [k for k, sign in ((0, 1), (2, -1)) if near_by or sign * extra > 1]
    op.add([("A", draw.lay(x)), ("full_matrices", full),
            ("compute_uv", vectors)], relative, free=free if vectors else ())
    op.ignore_signs(0, 2)


def eigh_of(a, upper, compute_v):
    triangle = "U" if upper else "L"
    if not compute_v:
        return torch.linalg.eigvalsh(a, triangle), a.new_empty(0)
    values, vectors = torch.linalg.eigh(a, triangle)
    return values, vectors.abs()


def eigh(op, draw):
    dtype = draw.pick([F32, F64])
    shape = square(draw) if draw.chance(0.95) else sized(draw)
    x = plain(draw, shape, dtype)
    upper, vectors = draw.chance(0.5), draw.chance(0.7)
    is_square = shape[-1] == shape[-2]
    near_by = is_square and beside(
        eigh_of(x, upper, False)[0]) < 0.02
    op.add([("A", draw.lay(x)), ("upper", upper), ("compute_v", vectors)],
           relative, free=(1,) if near_by and vectors else ())
    op.ignore_signs(1)


def lu_unpack(op, draw):
    dtype = draw.pick([F32, F64])
    shape = lead(draw) + [draw.int(0, 5), draw.int(0, 6)]
    lu, pivots, _ = aten.linalg_lu_factor_ex(matrix(draw, shape, dtype))
    op.add([("LU_data", draw.lay(lu.contiguous())), ("LU_pivots", pivots),
            ("unpack_data", draw.chance(0.8)),
            ("unpack_pivots", draw.chance(0.8))], None)


class Bits(Operator):
    """The results have another type, and are not compared in float64."""

    def add_view(self, x, dtype):
        case = {"id": f"aten.view_dtype#r{len(self.writer.cases) + 1}",
                "op": self.op,
                "args": [encode(self.writer, "self", x),
                         encode(self.writer, "dtype", dtype)]}
        try:
            want = x.clone(memory_format=torch.contiguous_format).view(
                dtype)
        except RuntimeError:
            case.update(expect="error", tags=["error"])
        else:
            case.update(expect="ok", atol=0.0, rtol=0.0, tags=[], outs=[
                {"name": "out", "t": self.writer.put(want), "atol": 0.0,
                 "rtol": 0.0}])
        self.writer.cases.append(case)


def bits(op, draw):
    of, to = draw.pick(ALL), draw.pick(ALL)
    if torch.bool in (of, to):
        raise Skip  # not all bytes are truth values
    shape = draw.shape(0, 3)
    if shape and draw.chance(0.6):
        shape[-1] *= 8
    if 0 in shape:
        raise Skip
    op.add_view(draw.tensor(shape, of, special=0), to)


OPERATORS = {
    "aten::linalg_lu_factor_ex.out": factors,
    "aten::linalg_cholesky_ex.L": cholesky,
    "aten::linalg_lu_solve.out": lu_solve,
    "aten::linalg_solve_triangular.out": solve_triangular,
    "aten::linalg_qr.out": qr,
    "aten::linalg_svd.out": svd,
    "aten::linalg_eigh.out": eigh,
    "aten::lu_unpack.out": lu_unpack,
    "aten::lu_det.out": determinants,
    "aten::lu_slogdet.out": determinants,
    "aten::view_dtype.out": bits,
}


# Operators that PyTorch has under another name or with other arguments: the
# function, and the names of its results.
OWN = {
    "aten::linalg_qr.out": (qr_of, ["Q", "R"]),
    "aten::linalg_svd.out": (svd_of, ["U", "S", "Vh"]),
    "aten::linalg_eigh.out": (eigh_of, ["eigenvalues", "eigenvectors"]),
    "aten::lu_det.out": (det, ["out"]),
    "aten::lu_slogdet.out": (slogdet, ["sign", "logabsdet"]),
}


class Named(Operator):
    def __init__(self, op, writer, most):
        function, self.names = OWN[op]
        super().__init__(op, writer, most, function)

    def out_names(self, count):
        return self.names

    def ignore_signs(self, *results):
        """Of the last case."""
        outs = self.writer.cases[-1].get("outs") if self.writer.cases else None
        for k in results if outs else ():
            outs[k]["any_sign"] = True


def operator(op, writer, most):
    if "view_dtype" in op:
        return Bits(op, writer, most, torch.Tensor.view)
    return (Named if op in OWN else Operator)(op, writer, most)


if __name__ == "__main__":
    generate(command_line(__doc__, most="bytes"), OPERATORS, operator,
             base_of=lambda op: op.split("::")[1].split(".")[0])
