"""Calls of the functions that models use most, for common_functions.py: the name
as models write it, a function, and its inputs. An input is a shape, of the type
under test, or integer(...) or truth(...) of varying_inputs.py.

A name stands for its method, its function and its in-place form, which one row
checks together where they differ in what torch.export gives.
"""

import math

import torch
import torch.nn.functional as F
from varying_inputs import (COLUMNS, IMAGE, N, ROWS, WAVE, integer, truth,
                            weights)

SQUARE, BATCH = (3, 3), (N, 3, 3)
HEADS = (1, 2, N, 4)


def named(module, names, *specs):
    """A call for each name of a module, all with the same inputs."""
    return {name: (getattr(module, name), *specs) for name in names.split()}


def in_place(name, *arguments):
    """The in-place form, on a result, since inputs are not written."""
    return lambda x, *more: getattr(x.clone(), name)(*arguments, *more)


def positive(matrix):
    """Symmetric positive definite matrices from any."""
    return matrix @ matrix.mT + 2 * torch.eye(matrix.shape[-1])


def regular(matrix):
    """Invertible matrices from any."""
    return matrix + 4 * torch.eye(matrix.shape[-1])


UNARY = named(torch, """
    abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj cos cosh
    deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 isfinite isinf
    isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit
    nan_to_num neg positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign
    signbit sin sinc sinh sqrt square tan tanh trunc""", ROWS) | named(F, """
    celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu
    logsigmoid mish relu6 selu silu softplus softshrink softsign tanhshrink
    """, ROWS) | named(torch.special, """
    airy_ai bessel_j0 bessel_j1 bessel_y0 entr erfcx i0e i1 i1e log_ndtr
    ndtr ndtri""", ROWS) | {
    "clamp": (lambda x: x.clamp(-1, 1), ROWS),
    "clamp_min": (lambda x: x.clamp_min(0), ROWS),
    "clamp_max": (lambda x: x.clamp_max(1), ROWS),
    "clip": (lambda x: x.clip(-1), ROWS),
    "clamp_tensors": (torch.clamp, ROWS, (1, 4), (4,)),
    "fill_": (in_place("fill_", 2), ROWS),
    "zero_": (in_place("zero_"), ROWS),
    "clamp_": (in_place("clamp_", -1, 1), ROWS),
    "floor_": (in_place("floor_"), ROWS),
    "log_": (in_place("log_"), ROWS),
    "neg_": (in_place("neg_"), ROWS),
    "pow_": (in_place("pow_", 2), ROWS),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), ROWS),
    "glu": (lambda x: F.glu(x, -1), ROWS),
    "prelu": (lambda x: F.prelu(x, weights(4)), ROWS),
    "threshold": (lambda x: F.threshold(x, 0.5, 2), ROWS),
    "round_decimals": (lambda x: torch.round(x, decimals=2), ROWS),
    "pow_scalar": (lambda x: x ** 3, ROWS),
    "pow_of_number": (lambda x: 2 ** x, ROWS),
    "pow_half": (lambda x: x ** 0.5, ROWS),
    "polygamma": (lambda x: torch.polygamma(1, x), ROWS),
    "mvlgamma": (lambda x: torch.mvlgamma(x.abs() + 2, 2), ROWS),
    "zeta": (lambda x: torch.special.zeta(x.abs() + 2, 1.5), ROWS),
    "frexp": (torch.frexp, ROWS),
    "dropout": (lambda x: F.dropout(x, 0.5, False), ROWS),
    "feature_dropout": (lambda x: F.dropout2d(x, 0.5, False), IMAGE),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, 0.5, False), ROWS),
    "rrelu": (F.rrelu, ROWS),
    "nan_to_num_numbers": (lambda x: x.nan_to_num(0.5, 9, -9), ROWS),
    "is_nonzero": (lambda x: x.ne(0), ROWS),
    "type_as": (lambda x, y: y.type_as(x), ROWS, integer(N, 4)),
    "to_half": (lambda x: x.half(), ROWS),
    "to_bfloat16": (lambda x: x.bfloat16(), ROWS),
    "to_float": (lambda x: x.float(), ROWS),
    "to_double": (lambda x: x.double(), ROWS),
    "to_int": (lambda x: (x.nan_to_num(0, 9, -9) * 3).clamp(-99, 99).int(),
               ROWS),
    "to_long": (lambda x: (x.nan_to_num(0, 9, -9) * 3).clamp(-99, 99).long(),
                ROWS),
    "to_bool": (lambda x: x.bool(), ROWS),
    "to_byte": (lambda x: (x.nan_to_num(0, 9, 9).abs() * 3).clamp(0, 99).byte(),
                ROWS),
    "to_type": (lambda x: x.to(torch.float32), ROWS),
    "clone": (lambda x: x.clone(), ROWS),
    "detach": (lambda x: x.detach() + 1, ROWS),
    "contiguous": (lambda x: x.t().contiguous(), ROWS),
    "view_dtype": (lambda x: x.view(torch.int32), ROWS),
    "view_dtype_narrower": (lambda x: x.view(torch.uint8), ROWS),
    "view_dtype_wider": (lambda x: x.view(torch.int64), ROWS),
}

BINARY = named(torch, """
    add atan2 copysign div eq floor_divide fmax fmin fmod ge gt hypot
    ldexp le logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum
    minimum mul ne nextafter pow remainder sub xlogy bitwise_and bitwise_or
    bitwise_xor heaviside float_power true_divide isclose
    """, ROWS, ROWS) | named(torch, "gcd lcm", integer(N, 4), integer(N, 4)) | {
    "add_alpha": (lambda x, y: torch.add(x, y, alpha=2), ROWS, (1, 4)),
    "add_number": (lambda x: x + 1.5, ROWS),
    "add_": (in_place("add_"), ROWS, ROWS),
    "sub_": (in_place("sub_"), ROWS, (4,)),
    "mul_": (in_place("mul_"), ROWS, (N, 1)),
    "div_": (in_place("div_", 3), ROWS),
    "rsub": (lambda x: 1 - x, ROWS),
    "div_trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), ROWS,
                  ROWS),
    "div_floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), ROWS,
                  ROWS),
    "floordiv_number": (lambda x: x // 2, ROWS),
    "remainder_number": (lambda x: x % 3, ROWS),
    "fmod_number": (lambda x: torch.fmod(x, -2), ROWS),
    "bitwise_left_shift": (lambda i: i << 2, integer(N, 4)),
    "bitwise_right_shift": (lambda i: i >> 1, integer(N, 4)),
    "where": (torch.where, truth(N, 4), ROWS, (4,)),
    "where_number": (lambda c, x: torch.where(c, x, 0.5), truth(N, 4), ROWS),
    "where_indices": (lambda c: torch.where(c), truth(N, 4)),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=2), ROWS, ROWS,
                ROWS),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z, value=2), ROWS, ROWS,
                ROWS),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), ROWS, ROWS),
    "lerp_tensor": (torch.lerp, ROWS, ROWS, ROWS),
    "equal": (lambda x, y: torch.eq(x, y).all(), ROWS, ROWS),
    "allclose": (lambda x, y: torch.isclose(x, y, equal_nan=True).all(), ROWS,
                 ROWS),
    "masked_fill": (lambda x, m: x.masked_fill(m, -math.inf), ROWS,
                    truth(N, 4)),
    "masked_fill_": (in_place("masked_fill_"), ROWS, truth(N, 4), ()),
    "gammainc": (lambda x, y: torch.special.gammainc(x.abs() + 1, y.abs()),
                 ROWS, ROWS),
    "gammaincc": (lambda x, y: torch.special.gammaincc(x.abs() + 1, y.abs()),
                  ROWS, ROWS),
    "xlog1py": (torch.special.xlog1py, ROWS, ROWS),
    "dist": (torch.dist, ROWS, ROWS),
    "cross": (lambda x, y: torch.linalg.cross(x, y), (N, 3), (N, 3)),
}

REDUCTIONS = {
    "sum": (lambda x: x.sum(-1), ROWS),
    "sum_all": (lambda x: x.sum(), ROWS),
    "sum_type": (lambda x: x.sum((0, 1), keepdim=True, dtype=torch.float32),
                 ROWS),
    "mean": (lambda x: x.mean(-2, keepdim=True), ROWS),
    "mean_all": (torch.mean, ROWS),
    "prod": (lambda x: x.prod(-1), ROWS),
    "prod_all": (torch.prod, ROWS),
    "max": (lambda x: x.max(-1), ROWS),
    "max_all": (torch.max, ROWS),
    "max_of_two": (torch.max, ROWS, ROWS),
    "min": (lambda x: x.min(-2, keepdim=True), COLUMNS),
    "min_all": (torch.min, ROWS),
    "amax": (lambda x: x.amax((-1, -2)), ROWS),
    "amin": (lambda x: x.amin(-1), ROWS),
    "aminmax": (lambda x: torch.aminmax(x, dim=-1), ROWS),
    "argmax": (lambda x: x.argmax(-1), ROWS),
    "argmax_all": (torch.argmax, ROWS),
    "argmin": (lambda x: x.argmin(-1, keepdim=True), ROWS),
    "all": (lambda x: x.all(-1), ROWS),
    "all_all": (torch.all, ROWS),
    "any": (lambda x: x.any(-1, keepdim=True), ROWS),
    "any_all": (torch.any, ROWS),
    "std": (lambda x: x.std(-1), ROWS),
    "std_all": (torch.std, ROWS),
    "std_mean": (lambda x: torch.std_mean(x, -1, correction=0), ROWS),
    "var": (lambda x: x.var(-1, unbiased=False), ROWS),
    "var_mean": (lambda x: torch.var_mean(x, (0, 1), keepdim=True), ROWS),
    "norm": (lambda x: x.norm(), ROWS),
    "norm_p1": (lambda x: x.norm(1, -1), ROWS),
    "vector_norm": (lambda x: torch.linalg.vector_norm(x, 3, -1), ROWS),
    "vector_norm_inf": (lambda x: torch.linalg.vector_norm(x, math.inf, 0),
                        COLUMNS),
    "matrix_norm": (torch.linalg.matrix_norm, ROWS),
    "matrix_norm_1": (lambda x: torch.linalg.matrix_norm(x, 1), (2, 3, N)),
    "matrix_norm_nuclear": (lambda x: torch.linalg.matrix_norm(x, "nuc"),
                            (2, 3, 4)),
    "linalg_norm": (torch.linalg.norm, ROWS),
    "logsumexp": (lambda x: x.logsumexp(-1), ROWS),
    "nansum": (lambda x: x.nansum(-1), ROWS),
    "nanmean": (lambda x: x.nanmean(-1), ROWS),
    "median": (lambda x: x.median(-1), ROWS),
    "median_all": (torch.median, ROWS),
    "nanmedian": (lambda x: x.nanmedian(-1).values, ROWS),
    "mode": (lambda x: x.mode(-1).values, ROWS),
    "quantile": (lambda x: x.quantile(0.4, -1), ROWS),
    "quantile_tensor": (lambda x, q: x.quantile(q.abs().clamp(0, 1), 0), ROWS,
                        (3,)),
    "nanquantile": (lambda x: x.nanquantile(0.4, -1), ROWS),
    "kthvalue": (lambda x: x.kthvalue(2, -1), ROWS),
    "count_nonzero": (lambda x: x.count_nonzero(-1), ROWS),
    "count_nonzero_all": (torch.count_nonzero, ROWS),
    "cumsum": (lambda x: x.cumsum(-1), ROWS),
    "cumsum_rows": (lambda x: x.cumsum(0), ROWS),
    "cumprod": (lambda x: x.cumprod(-1), ROWS),
    "cummax": (lambda x: x.cummax(-1), ROWS),
    "cummin": (lambda x: x.cummin(0), ROWS),
    "logcumsumexp": (lambda x: x.logcumsumexp(-1), ROWS),
    "trapezoid": (lambda x: torch.trapezoid(x, dx=0.5), ROWS),
    "trapezoid_x": (torch.trapezoid, ROWS, ROWS),
    "cumulative_trapezoid": (torch.cumulative_trapezoid, ROWS),
    "gradient": (lambda x: torch.gradient(x, dim=-1)[0], ROWS),
    "diff": (lambda x: x.diff(dim=-1), ROWS),
    "softmax": (lambda x: x.softmax(-1), ROWS),
    "softmax_type": (lambda x: F.softmax(x, -1, dtype=torch.float32), ROWS),
    "softmin": (lambda x: F.softmin(x, -1), ROWS),
    "log_softmax": (lambda x: F.log_softmax(x, -1), ROWS),
    "gumbel_softmax": (lambda x: F.gumbel_softmax(x, dim=-1), ROWS),
    "trace": (torch.trace, (N, 4)),
    "histc": (lambda x: torch.histc(x, 5, -2, 2), ROWS),
    "histogram": (lambda x: torch.histogram(x, 5, range=(-2., 2.))[0], ROWS),
    "bincount": (lambda i: torch.bincount(i, minlength=6), integer(N)),
    "cov": (torch.cov, COLUMNS),
    "corrcoef": (torch.corrcoef, COLUMNS),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.0), ROWS),
    "sort": (lambda x: x.sort(-1, descending=True, stable=True), ROWS),
    "argsort": (lambda x: x.argsort(-1, stable=True), ROWS),
    "topk": (lambda x: x.topk(2, -1).values, ROWS),
    "topk_smallest": (lambda x: x.topk(3, -1, largest=False).values, ROWS),
    "msort": (torch.msort, ROWS),
    "unique": (lambda i: torch.unique(i), integer(N)),
    "unique_counts": (lambda i: torch.unique(i, return_inverse=True,
                                             return_counts=True), integer(N)),
    "unique_dim": (lambda i: torch.unique(i, dim=0), integer(N, 2)),
    "unique_consecutive": (lambda i: torch.unique_consecutive(i), integer(N)),
    "searchsorted": (lambda x: torch.searchsorted(
        torch.tensor([-1, 0, 1], dtype=x.dtype), x), ROWS),
    "bucketize": (lambda x: torch.bucketize(
        x, torch.tensor([-1, 0, 1], dtype=x.dtype), right=True), ROWS),
    "isin": (lambda x: torch.isin(x, torch.tensor([1, 2])), integer(N, 4)),
}

PRODUCTS = {
    "matmul": (torch.matmul, (2, N, 4), (4, 3)),
    "matmul_vector": (torch.matmul, ROWS, (4,)),
    "matmul_broadcast": (torch.matmul, (2, 1, N, 4), (3, 4, 2)),
    "mm": (torch.mm, ROWS, (4, 3)),
    "bmm": (torch.bmm, (2, N, 4), (2, 4, 3)),
    "mv": (torch.mv, ROWS, (4,)),
    "dot": (torch.dot, (N,), (N,)),
    "vdot": (torch.vdot, (N,), (N,)),
    "inner": (torch.inner, ROWS, ROWS),
    "outer": (torch.outer, (N,), (4,)),
    "addmm": (lambda b, x, y: torch.addmm(b, x, y, beta=2, alpha=0.5), (3,),
              ROWS, (4, 3)),
    "addmv": (torch.addmv, (N,), ROWS, (4,)),
    "addbmm": (torch.addbmm, (N, 3), (2, N, 4), (2, 4, 3)),
    "addr": (torch.addr, ROWS, (N,), (4,)),
    "baddbmm": (torch.baddbmm, (2, N, 3), (2, N, 4), (2, 4, 3)),
    "einsum": (lambda x, y: torch.einsum("bnd,bmd->bnm", x, y), (2, N, 4),
               (2, 3, 4)),
    "tensordot": (lambda x, y: torch.tensordot(x, y, 1), ROWS, (4, 3)),
    "chain_matmul": (torch.chain_matmul, ROWS, (4, 3), (3, 2)),
    "multi_dot": (lambda x, y, z: torch.linalg.multi_dot((x, y, z)), ROWS,
                  (4, 3), (3, 2)),
    "kron": (torch.kron, ROWS, (2, 2)),
    "linear": (F.linear, ROWS, (3, 4), (3,)),
    "bilinear": (F.bilinear, ROWS, ROWS, (2, 4, 4)),
    "scaled_dot_product_attention": (F.scaled_dot_product_attention, HEADS,
                                     HEADS, HEADS),
    "scaled_dot_product_attention_causal": (
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=0.3), HEADS, HEADS, HEADS),
    "scaled_dot_product_attention_mask": (
        F.scaled_dot_product_attention, HEADS, HEADS, HEADS, (N, N)),
    "cosine_similarity": (F.cosine_similarity, ROWS, ROWS),
    "pairwise_distance": (F.pairwise_distance, ROWS, ROWS),
    "cdist": (torch.cdist, ROWS, (3, 4)),
    "cdist_p1": (lambda x, y: torch.cdist(x, y, 1), ROWS, (3, 4)),
    "pdist": (F.pdist, ROWS),
    "matrix_power": (lambda x: torch.linalg.matrix_power(x, 3), BATCH),
    "matrix_power_inverse": (
        lambda x: torch.linalg.matrix_power(regular(x), -1), BATCH),
    "matrix_exp": (torch.matrix_exp, BATCH),
    "inv": (lambda x: torch.linalg.inv(regular(x)), BATCH),
    "inv_ex": (lambda x: torch.linalg.inv_ex(regular(x))[0], BATCH),
    "inverse": (lambda x: torch.inverse(regular(x)), SQUARE),
    "pinv": (lambda x: torch.linalg.pinv(x), (2, 4, 3)),
    "solve": (lambda x, y: torch.linalg.solve(regular(x), y), BATCH,
              (N, 3, 2)),
    "solve_ex": (lambda x, y: torch.linalg.solve_ex(regular(x), y)[0], BATCH,
                 (N, 3, 2)),
    "solve_vector": (lambda x, y: torch.linalg.solve(regular(x), y), SQUARE,
                     (3,)),
    "solve_triangular": (lambda x, y: torch.linalg.solve_triangular(
        regular(x).tril(), y, upper=False), BATCH, (N, 3, 2)),
    "triangular_solve": (lambda x, y: torch.triangular_solve(
        y, regular(x).triu())[0], BATCH, (N, 3, 2)),
    "cholesky": (lambda x: torch.linalg.cholesky(positive(x)), BATCH),
    "cholesky_ex": (lambda x: torch.linalg.cholesky_ex(positive(x))[0], BATCH),
    "cholesky_solve": (lambda y, x: torch.cholesky_solve(
        y, torch.linalg.cholesky(positive(x))), (N, 3, 2), BATCH),
    "cholesky_inverse": (lambda x: torch.cholesky_inverse(
        torch.linalg.cholesky(positive(x))), BATCH),
    "det": (lambda x: torch.linalg.det(regular(x)), BATCH),
    "slogdet": (lambda x: torch.linalg.slogdet(regular(x)), BATCH),
    "logdet": (lambda x: torch.logdet(positive(x)), BATCH),
    "qr": (lambda x: torch.linalg.qr(x), (2, 4, 3)),
    "svd": (lambda x: torch.linalg.svd(x)[1], (2, 4, 3)),
    "svdvals": (torch.linalg.svdvals, (2, 4, 3)),
    "eigh": (lambda x: torch.linalg.eigh(x + x.mT)[0], BATCH),
    "eigvalsh": (lambda x: torch.linalg.eigvalsh(x + x.mT), BATCH),
    "lstsq": (lambda x, y: torch.linalg.lstsq(x, y)[0], (2, 4, 3), (2, 4, 2)),
    "lu_factor": (lambda x: torch.linalg.lu_factor(regular(x))[0], BATCH),
    "lu": (lambda x: torch.linalg.lu(regular(x)), BATCH),
    "lu_solve": (lambda x, y: torch.linalg.lu_solve(
        *torch.linalg.lu_factor(regular(x)), y), BATCH, (N, 3, 2)),
    "matrix_rank": (torch.linalg.matrix_rank, (2, 4, 3)),
    "vander": (lambda x: torch.vander(x, 3), (N,)),
}

LAYERS = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), ROWS, (4,),
                   (4,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), ROWS, (4,)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (1, 4, N), (4,),
                   (4,)),
    "batch_norm": (lambda x, m, v: F.batch_norm(x, m, v.abs()), (N, 4), (4,),
                   (4,)),
    "instance_norm": (F.instance_norm, WAVE),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), IMAGE),
    "normalize": (lambda x: F.normalize(x, dim=-1), ROWS),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1), WAVE, (3, 2, 3),
               (3,)),
    "conv1d_same": (lambda x, w: F.conv1d(x, w, padding="same", dilation=2),
                    WAVE, (3, 2, 3)),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), IMAGE,
               (3, 2, 3, 3), (3,)),
    "conv2d_groups": (lambda x, w: F.conv2d(x, w, padding=1, groups=2), IMAGE,
                      (2, 1, 3, 3)),
    "conv3d": (lambda x, w: F.conv3d(x, w, padding=1), (1, 2, N, 4, 4),
               (3, 2, 3, 3, 3)),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2), WAVE,
                         (2, 3, 3)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(
        x, w, stride=2, padding=1, output_padding=1), IMAGE, (2, 3, 3, 3)),
    "conv_transpose3d": (lambda x, w: F.conv_transpose3d(x, w, stride=2),
                         (1, 2, N, 2, 2), (2, 3, 2, 2, 2)),
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 1, 1), WAVE),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), IMAGE),
    "max_pool2d_indices": (lambda x: F.max_pool2d(
        x, 2, 1, 1, return_indices=True), IMAGE),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, 1, 1), (1, 2, N, 4, 4)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 1, 1), WAVE),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 1, 1,
                                          count_include_pad=False), IMAGE),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, 1, 1), (1, 2, N, 4, 4)),
    "lp_pool1d": (lambda x: F.lp_pool1d(x, 2, 2, 1), WAVE),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2, 1), IMAGE),
    "max_unpool2d": (lambda x: F.max_unpool2d(*F.max_pool2d(
        x, 2, return_indices=True), 2), (1, 2, 4, 4)),
    "fractional_max_pool2d": (lambda x: F.fractional_max_pool2d(
        x, 2, output_size=2), (1, 2, 6, 6)),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), WAVE),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 2)), IMAGE),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, 1),
                            (1, 2, N, 4, 4)),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 2), WAVE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), IMAGE),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 2),
                            (1, 2, 4, 4, 4)),
    "embedding": (F.embedding, integer(N), (5, 3)),
    "embedding_bag": (lambda i, w: F.embedding_bag(i, w, mode="mean"),
                      integer(N, 2), (5, 3)),
    "one_hot": (lambda i: F.one_hot(i, 5), integer(N)),
    "grid_sample": (lambda x, g: F.grid_sample(
        x, g, mode="bilinear", align_corners=False), (1, 2, N, 4),
        (1, 3, 3, 2)),
    "grid_sample_bicubic": (lambda x, g: F.grid_sample(
        x, g, mode="bicubic", padding_mode="border", align_corners=True),
        (1, 2, N, 4), (1, 3, 3, 2)),
    "grid_sample_nearest": (lambda x, g: F.grid_sample(
        x, g, mode="nearest", padding_mode="reflection", align_corners=False),
        (1, 2, N, 4), (1, 3, 3, 2)),
    "grid_sample_3d": (lambda x, g: F.grid_sample(x, g, align_corners=False),
                       (1, 2, 3, N, 4), (1, 2, 3, 3, 3)),
    "affine_grid": (lambda t: F.affine_grid(t, (1, 2, 3, 4),
                                            align_corners=False), (1, 2, 3)),
    "fold": (lambda x: F.fold(x, (4, 4), 2), (1, 8, 9)),
    "unfold": (lambda x: F.unfold(x, 3, padding=1), IMAGE),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (1, 4, N, 3)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (1, 2, 4, 4)),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (1, 4, N, 3)),
    "pad": (lambda x: F.pad(x, (1, -1, 2, 0), value=0.5), ROWS),
    "pad_reflect": (lambda x: F.pad(x, (2, 1), mode="reflect"), (1, 2, 5)),
    "pad_replicate": (lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"),
                      IMAGE),
    "pad_circular": (lambda x: F.pad(x, (1, 1), mode="circular"), WAVE),
    "gru": (torch.nn.GRU(4, 3), (N, 2, 4)),
    "lstm": (torch.nn.LSTM(4, 3, 2, bidirectional=True), (N, 2, 4)),
    "rnn_tanh": (torch.nn.RNN(4, 3), (N, 2, 4)),
    "gru_cell": (torch.nn.GRUCell(4, 3), ROWS),
    "lstm_cell": (torch.nn.LSTMCell(4, 3), ROWS),
    "rnn_cell": (torch.nn.RNNCell(4, 3), ROWS),
    "multi_head_attention_forward": (
        lambda x, m=torch.nn.MultiheadAttention(4, 2): m(x, x, x)[0],
        (N, 2, 4)),
    "transformer_encoder_layer": (
        torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(),
        (2, N, 4)),
}


def resize(mode, **options):
    return lambda x: F.interpolate(x, mode=mode, **options)


def resize_like(mode, **options):
    return lambda x, y: F.interpolate(x, size=y.shape[2:], mode=mode, **options)


RESIZING = {
    "interpolate_nearest": (resize("nearest", scale_factor=2), IMAGE),
    "interpolate_nearest_exact": (resize("nearest-exact", size=(5, 3)), IMAGE),
    "interpolate_linear": (resize("linear", scale_factor=1.5), WAVE),
    "interpolate_bilinear": (resize("bilinear", scale_factor=0.5), IMAGE),
    "interpolate_bilinear_corners": (
        resize("bilinear", size=(5, 7), align_corners=True), IMAGE),
    "interpolate_bicubic": (resize("bicubic", scale_factor=2), IMAGE),
    "interpolate_trilinear": (resize("trilinear", scale_factor=2),
                              (1, 2, N, 3, 3)),
    "interpolate_area": (resize("area", size=(2, 3)), IMAGE),
    "interpolate_bilinear_antialias": (
        resize("bilinear", size=(3, 2), antialias=True), IMAGE),
    "interpolate_bicubic_antialias": (
        resize("bicubic", size=(3, 2), antialias=True), IMAGE),
    "interpolate_like_nearest": (resize_like("nearest"), (1, 2, 4, 5), IMAGE),
    "interpolate_like_bilinear": (resize_like("bilinear"), (1, 2, 4, 5),
                                  IMAGE),
    "interpolate_like_bicubic": (resize_like("bicubic"), (1, 2, 4, 5), IMAGE),
    "interpolate_like_bilinear_antialias": (
        resize_like("bilinear", antialias=True), (1, 2, 9, 8), IMAGE),
    "interpolate_like_bicubic_antialias": (
        resize_like("bicubic", antialias=True), (1, 2, 9, 8), IMAGE),
    "interpolate_like_nearest_exact": (resize_like("nearest-exact"),
                                       (1, 2, 4, 5), IMAGE),
    "interpolate_like_area": (resize_like("area"), (1, 2, 4, 5), IMAGE),
    "interpolate_like_trilinear": (resize_like("trilinear"), (1, 2, 4, 5, 3),
                                   (1, 2, N, 4, N)),
    "interpolate_thirtieth": (resize("nearest", scale_factor=1 / 3), WAVE),
    "interpolate_linear_third": (
        resize("linear", scale_factor=1 / 3, align_corners=True), WAVE),
    "interpolate_recompute": (
        resize("bilinear", scale_factor=0.7, recompute_scale_factor=True),
        IMAGE),
}

LOSSES = {
    name: (getattr(F, name), ROWS, ROWS) for name in (
        "l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss",
        "kl_div", "binary_cross_entropy_with_logits", "poisson_nll_loss",
        "hinge_embedding_loss", "multilabel_soft_margin_loss")
} | {
    "cross_entropy": (F.cross_entropy, ROWS, integer(N)),
    "cross_entropy_probabilities": (
        lambda x, y: F.cross_entropy(x, y.softmax(-1), label_smoothing=0.1),
        ROWS, ROWS),
    "nll_loss": (lambda x, i: F.nll_loss(x.log_softmax(-1), i), ROWS,
                 integer(N)),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy(
        x.sigmoid(), y.sigmoid()), ROWS, ROWS),
    "margin_ranking_loss": (F.margin_ranking_loss, ROWS, ROWS, ROWS),
    "triplet_margin_loss": (F.triplet_margin_loss, ROWS, ROWS, ROWS),
    "cosine_embedding_loss": (F.cosine_embedding_loss, ROWS, ROWS, (N,)),
    "gaussian_nll_loss": (lambda x, y, v: F.gaussian_nll_loss(
        x, y, v.abs()), ROWS, ROWS, ROWS),
    "multi_margin_loss": (F.multi_margin_loss, ROWS, integer(N)),
    "multilabel_margin_loss": (F.multilabel_margin_loss, ROWS, integer(N, 4)),
    "ctc_loss": (lambda x, i: F.ctc_loss(
        x.log_softmax(-1), i + 1, torch.tensor([6, 6]), torch.tensor([2, 2])),
        (6, 2, 5), integer(2, 2)),
}

UNINITIALISED = "PyTorch's loss of no rows is not initialised"
# Why a call differs, or is refused, where the message does not say it.
STATED = {
    "multi_margin_loss": UNINITIALISED,
    "multilabel_margin_loss": UNINITIALISED,
    "gumbel_softmax": "draws random numbers; pass them as an input",
    "fractional_max_pool2d": "draws random numbers; pass them as an input",
    "rrelu": "draws random numbers in PyTorch's decomposition",
}
