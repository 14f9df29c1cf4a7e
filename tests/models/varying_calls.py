"""Calls of single operators with a varying size N, for varying_sizes.py: the
function and the shapes of its inputs.
"""

import torch
import torch.nn.functional as F
from varying_forms import FORMS
from varying_inputs import (COLUMNS, IMAGE, N, ROWS, WAVE, integer, truth,
                            weights)

ELEMENTWISE = {
    name: (getattr(torch, name), ROWS) for name in (
        "abs", "atan", "ceil", "cos", "erf", "exp", "floor", "isnan", "neg",
        "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "square",
        "tanh", "trunc")
} | {
    "add": (lambda x, y: x + y, ROWS, ROWS),
    "add_row": (lambda x, y: x + y, ROWS, (1, 4)),
    "add_column": (lambda x, y: x + y, ROWS, (N, 1)),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), ROWS),
    "div": (lambda x, y: x / (y.abs() + 1), ROWS, ROWS),
    "elu": (F.elu, ROWS),
    "gelu": (F.gelu, ROWS),
    "glu": (lambda x: F.glu(x, 1), ROWS),
    "hardswish": (F.hardswish, ROWS),
    "leaky_relu": (F.leaky_relu, ROWS),
    "logical_not": (torch.logical_not, truth(N, 4)),
    "maximum": (torch.maximum, ROWS, ROWS),
    "mul": (lambda x, y: x * y, ROWS, ROWS),
    "outer_add": (lambda x, y: x[:, None] + y[None], (N,), (N,)),
    "pow": (lambda x: x.abs() ** 1.5, ROWS),
    "softplus": (F.softplus, ROWS),
    "to_int": (lambda x: (x * 10).to(torch.int64), ROWS),
    "where": (torch.where, truth(N, 4), ROWS, ROWS),
}

REDUCTIONS = {
    "all": (lambda x: x.all(0), truth(N, 4)),
    "all_of": (lambda x: x.all(), truth(N, 4)),
    "amax": (lambda x: x.amax(0), ROWS),
    "amin_rows": (lambda x: x.amin(1), ROWS),
    "any": (lambda x: x.any(0), truth(N, 4)),
    "argmax": (lambda x: x.argmax(0), ROWS),
    "argmin_rows": (lambda x: x.argmin(1), ROWS),
    "argmax_of": (lambda x: x.argmax(), ROWS),
    "argsort": (lambda x: x.argsort(0), ROWS),
    "count_nonzero": (lambda x: x.count_nonzero(0), truth(N, 4)),
    "cummax": (lambda x: x.cummax(0), ROWS),
    "cumprod": (lambda x: x.cumprod(0), ROWS),
    "cumsum": (lambda x: x.cumsum(0), ROWS),
    "cumsum_rows": (lambda x: x.cumsum(1), ROWS),
    "log_softmax": (lambda x: x.log_softmax(0), ROWS),
    "logsumexp": (lambda x: x.logsumexp(1), ROWS),
    "logsumexp_varying": (lambda x: x.logsumexp(0), ROWS),
    "max": (lambda x: x.max(0), ROWS),
    "max_of": (lambda x: x.max(), ROWS),
    "mean": (lambda x: x.mean(0), ROWS),
    "mean_rows": (lambda x: x.mean(1), ROWS),
    "mean_of": (lambda x: x.mean(), ROWS),
    "median": (lambda x: x.median(0).values, ROWS),
    "min": (lambda x: x.min(1), ROWS),
    "norm": (lambda x: x.norm(dim=0), ROWS),
    "prod": (lambda x: x.prod(0), ROWS),
    "prod_of": (lambda x: x.prod(), ROWS),
    "softmax": (lambda x: x.softmax(0), ROWS),
    "softmax_rows": (lambda x: x.softmax(1), ROWS),
    "sort": (lambda x: x.sort(0), ROWS),
    "std": (lambda x: x.std(0), ROWS),
    "sum": (lambda x: x.sum(0), ROWS),
    "sum_of": (lambda x: x.sum(), ROWS),
    "sum_rows": (lambda x: x.sum(1, keepdim=True), ROWS),
    "topk": (lambda x: x.topk(2, 1), ROWS),
    "var": (lambda x: x.var(0, correction=0), ROWS),
    "var_mean": (lambda x: torch.var_mean(x, 0), ROWS),
}

PRODUCTS = {
    "addmm": (lambda b, x: torch.addmm(b, x, weights(4, 3)), (3,), ROWS),
    "baddbmm": (torch.baddbmm, (2, N, 3), (2, N, 4), (2, 4, 3)),
    "bmm": (torch.bmm, (2, 3, N), (2, N, 5)),
    "bmm_batch": (torch.bmm, (N, 3, 4), (N, 4, 5)),
    "einsum": (lambda x, y: torch.einsum("bnd,bmd->bnm", x, y), (2, N, 4),
               (2, N, 4)),
    "linear": (lambda x: F.linear(x, weights(5, 4), weights(5)), ROWS),
    "linear_3d": (lambda x: F.linear(x, weights(5, 4)), (2, N, 4)),
    "matmul": (lambda x: x @ x.transpose(-1, -2), (2, N, 4)),
    "mm": (lambda x, y: x @ y, COLUMNS, ROWS),
    "mm_outer": (lambda x, y: x @ y, ROWS, (4, N)),
    "mv": (torch.mv, COLUMNS, (N,)),
    "attention": (F.scaled_dot_product_attention, (1, 2, N, 4), (1, 2, N, 4),
                  (1, 2, N, 4)),
    "attention_causal": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v,
                                                       is_causal=True),
        (1, 2, N, 4), (1, 2, N, 4), (1, 2, N, 4)),
    "attention_mask": (F.scaled_dot_product_attention, (1, 2, 3, 4),
                       (1, 2, N, 4), (1, 2, N, 4), truth(3, N)),
    "bilinear": (lambda x, y: F.bilinear(x, y, weights(2, 4, 4)), ROWS, ROWS),
    "cdist": (torch.cdist, ROWS, ROWS),
    "cosine_similarity": (F.cosine_similarity, ROWS, ROWS),
}

NORMS = {
    "batch_norm": (lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)),
                   ROWS),
    "group_norm": (lambda x: F.group_norm(x, 2), (2, 4, N)),
    "group_norm_batch": (lambda x: F.group_norm(x, 2), (N, 4, 3)),
    "instance_norm": (F.instance_norm, (2, 3, N)),
    "layer_norm": (lambda x: F.layer_norm(x, (4,), weights(4), weights(4)),
                   ROWS),
    "normalize": (lambda x: F.normalize(x, dim=0), ROWS),
    "rms_norm": (lambda x: F.rms_norm(x, (4,), weights(4)), ROWS),
}

SHAPES = {
    "cat": (lambda x, y: torch.cat([x, y]), ROWS, (3, 4)),
    "cat_columns": (lambda x, y: torch.cat([x, y], 1), COLUMNS, (3, 2)),
    "cat_of_three": (lambda x: torch.cat([x, x[:, :2].sum(1, True), x], 1),
                     ROWS),
    "chunk": (lambda x: torch.chunk(x, 2, 1), (N, 6)),
    "chunk_varying": (lambda x: torch.chunk(x, 2), ROWS),
    "diagonal": (lambda x: x.diagonal(), (N, N)),
    "expand": (lambda x: x.expand(3, -1, -1), (1, N, 4)),
    "flatten": (lambda x: x.flatten(0, 1), (2, N, 4)),
    "flatten_all": (lambda x: x.flatten(), ROWS),
    "flip": (lambda x: x.flip(0), ROWS),
    "last_row": (lambda x: x[-1], ROWS),
    "first_row": (lambda x: x[0], ROWS),
    "movedim": (lambda x: x.movedim(0, 1) + 1, ROWS),
    "narrow": (lambda x: x.narrow(0, 0, 2), ROWS),
    "pad": (lambda x: F.pad(x, (1, 2)), COLUMNS),
    "pad_reflect": (lambda x: F.pad(x, (1, 1), mode="reflect"), WAVE),
    "pad_replicate": (lambda x: F.pad(x, (2, 1), mode="replicate"), WAVE),
    "permute": (lambda x: x.permute(2, 0, 1) + 1, (2, N, 4)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (1, 4, N, 3)),
    "repeat": (lambda x: x.repeat(2, 3), ROWS),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 0), ROWS),
    "reshape_heads": (lambda x: x.view(2, x.shape[1], 2, 2).transpose(1, 2)
                      * 1.5, (2, N, 4)),
    "roll": (lambda x: x.roll(1, 0), ROWS),
    "select": (lambda x: x[:, 1], ROWS),
    "slice_head": (lambda x: x[:2], ROWS),
    "slice_one": (lambda x: x[:1] + 1, ROWS),
    "slice_step": (lambda x: x[::2] + 1, ROWS),
    "slice_tail": (lambda x: x[1:], ROWS),
    "split_columns": (lambda x: x.split([1, 3], 1), ROWS),
    "split_varying": (lambda x: x.split(3), ROWS),
    "split_half": (lambda x: x.split(x.shape[0] // 2 + 1)[0], ROWS),
    "squeeze": (lambda x: x.squeeze(1), (N, 1, 4)),
    "squeeze_all": (lambda x: x.squeeze() + 1, (N, 1, 4)),
    "squeeze_varying": (lambda x: x.squeeze(0) + 1, ROWS),
    "stack": (lambda x: torch.stack([x, x * 2], 1), ROWS),
    "tile": (lambda x: x.tile(2, 1), ROWS),
    "transpose": (lambda x: x.t() * 2, ROWS),
    "tril": (torch.tril, (N, N)),
    "unbind": (lambda x: x.unbind(1), (N, 3)),
    "unbind_first": (lambda x: [t + 1 for t in x.unbind(0)], (3, N)),
    "unflatten": (lambda x: x.unflatten(1, (2, 2)) + 1, ROWS),
    "unfold": (lambda x: x.unfold(1, 2, 2) + 1, ROWS),
    "unsqueeze": (lambda x: x.unsqueeze(1) + 1, ROWS),
}

INDEXING = {
    "arange": (lambda x: torch.arange(x.shape[0]) + x[:, 0], ROWS),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1., 0, 1])),
                  ROWS),
    "embedding": (lambda i: F.embedding(i, weights(9, 4)), integer(N)),
    "full": (lambda x: torch.full((x.shape[0], 2), 1.5) + x[:, :2], ROWS),
    "gather": (lambda x, i: x.gather(1, i), ROWS, integer(N, 2)),
    "index": (lambda x, i: x[i], (9, 4), integer(N)),
    "index_add": (lambda x, y, i: x.index_add(0, i, y), (9, 4), ROWS,
                  integer(N)),
    "index_copy": (lambda x, y: x.index_copy(1, torch.tensor([1]), y), ROWS,
                   (N, 1)),
    "index_put": (lambda x, i, y: x.index_put((i,), y), (9, 4), integer(N),
                  ROWS),
    "index_select": (lambda x, i: x.index_select(0, i), (9, 4), integer(N)),
    "linspace": (lambda x: torch.linspace(0, 1, x.shape[0]) + x[:, 0], ROWS),
    "masked_fill": (lambda x, m: x.masked_fill(m, 0.5), ROWS, truth(N, 4)),
    "masked_scatter": (lambda x, m: x.masked_scatter(m, x * 2), ROWS,
                       truth(N, 4)),
    "one_hot": (lambda i: F.one_hot(i, 9), integer(N)),
    "ones": (lambda x: torch.ones(x.shape[0], 3) * x[:, :1], ROWS),
    "scatter": (lambda x, i, y: x.scatter(1, i, y), ROWS, integer(N, 2),
                (N, 2)),
    "scatter_add": (lambda x, i, y: x.scatter_add(1, i, y), (N, 9),
                    integer(N, 2), (N, 2)),
    "select_scatter": (lambda x, y: x.select_scatter(y, 1, 1), ROWS, (N,)),
    "slice_scatter": (lambda x, y: x.slice_scatter(y, 1, 1, 3), ROWS, (N, 2)),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 1), ROWS,
                       integer(N, 2)),
    "zeros_like": (lambda x: torch.zeros_like(x) + x, ROWS),
}

IMAGES = {
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), WAVE),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 2)), IMAGE),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 2), WAVE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 1), IMAGE),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), IMAGE),
    "conv1d": (lambda x: F.conv1d(x, weights(3, 2, 3), padding=1), WAVE),
    "conv2d": (lambda x: F.conv2d(x, weights(3, 2, 3, 3), padding=1), IMAGE),
    "conv2d_batch": (lambda x: F.conv2d(x, weights(3, 2, 3, 3), padding=1),
                     (N, 2, 5, 5)),
    "conv2d_stride": (lambda x: F.conv2d(x, weights(3, 2, 2, 2), stride=2),
                      IMAGE),
    "conv_transpose1d": (lambda x: F.conv_transpose1d(
        x, weights(2, 3, 4), stride=2, padding=1), WAVE),
    "conv_transpose2d": (lambda x: F.conv_transpose2d(x, weights(2, 3, 2, 2)),
                         IMAGE),
    "glu_varying": (lambda x: F.glu(x, 0), ROWS),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False),
                    (1, 2, 5, 5), (1, N, 3, 2)),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), WAVE),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), IMAGE),
    "max_pool2d_batch": (lambda x: F.max_pool2d(x, 2), (N, 2, 4, 4)),
    "upsample_area": (lambda x: F.interpolate(x, size=(4, 4), mode="area"),
                      IMAGE),
    "upsample_bicubic": (lambda x: F.interpolate(
        x, scale_factor=2, mode="bicubic"), IMAGE),
    "upsample_bicubic_to": (lambda x: F.interpolate(
        x, size=(5, 7), mode="bicubic", align_corners=True), IMAGE),
    "upsample_bilinear": (lambda x: F.interpolate(
        x, scale_factor=2, mode="bilinear"), IMAGE),
    "upsample_linear": (lambda x: F.interpolate(
        x, scale_factor=2, mode="linear"), WAVE),
    "upsample_nearest": (lambda x: F.interpolate(x, scale_factor=2), IMAGE),
    "upsample_nearest1d": (lambda x: F.interpolate(x, scale_factor=2), WAVE),
    "upsample_nearest_exact": (lambda x: F.interpolate(
        x, scale_factor=2, mode="nearest-exact"), IMAGE),
    "upsample_nearest_exact1d": (lambda x: F.interpolate(
        x, size=7, mode="nearest-exact"), WAVE),
    "upsample_nearest_to": (lambda x: F.interpolate(x, size=(3, 5)), IMAGE),
}

CALLS = (ELEMENTWISE | REDUCTIONS | PRODUCTS | NORMS | SHAPES | INDEXING |
         IMAGES | FORMS)

# Calls that etx runs although PyTorch raises an error.
NO_ELEMENTS = "PyTorch 2.14 refuses to normalise no elements, 2.13 does not"
RUNS = {
    "embedding_bag_offsets": "offsets are not compared with the indices",
    "group_norm": NO_ELEMENTS,
    "group_norm_image": NO_ELEMENTS,
}
# Calls of which etx refuses a size that a form of the exported program runs.
REFUSED = {
    "batch_norm_training": "PyTorch refuses no rows once it is decomposed",
}
