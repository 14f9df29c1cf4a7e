"""More calls with a varying size N, for varying_sizes.py: further operators,
and other forms of those in varying_calls.py. The specifications of inputs are
the same.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from varying_inputs import (COLUMNS, IMAGE, N, ROWS, WAVE, integer, truth,
                            weights)

HEADS = (1, 2, N, 4)
VOLUME = (1, 2, N, 4, N)


def attention(**options):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options)


def pad(mode, *widths):
    return lambda x: F.pad(x, widths, mode=mode)


def resize(mode, **options):
    return lambda x: F.interpolate(x, mode=mode, **options)


def layer(module, first=False):
    """A module of torch.nn in evaluation mode with weights of weights()."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(weights(*parameter.shape) / 2)
    return FirstOf(module).eval() if first else module.eval()


class FirstOf(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *tensors):
        return self.module(*tensors)[0]


REARRANGING = {
    "atleast_2d": (lambda x: torch.atleast_2d(x[0]) + 1, ROWS),
    "block_diag": (lambda x: torch.block_diag(x, x), ROWS),
    "broadcast_to": (lambda x: x.broadcast_to(2, *x.shape) + 1, ROWS),
    "cartesian_prod": (lambda x, y: torch.cartesian_prod(x, y), (N,), (3,)),
    "cat_empty": (lambda x: torch.cat([x, torch.zeros(0, 4), x]), ROWS),
    "cat_of_slices": (lambda x: torch.cat([x[1:], x[:1]]), ROWS),
    "cat_shifted": (lambda x: torch.cat([x[-1:], x[:-1]]), ROWS),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (1, 4, N, 3)),
    "chunk_three": (lambda x: x.chunk(3, 1), (N, 7)),
    "column_stack": (lambda x, y: torch.column_stack([x, y]), ROWS, (N,)),
    "combinations": (lambda x: torch.combinations(x), (N,)),
    "diag": (torch.diag, (N,)),
    "diag_embed": (torch.diag_embed, ROWS),
    "diag_embed_offset": (lambda x: torch.diag_embed(x, 1), (2, N)),
    "diag_of_matrix": (torch.diag, (N, N)),
    "diagonal_offset": (lambda x: x.diagonal(1), (N, N)),
    "diagonal_below": (lambda x: x.diagonal(-2), (N, 4)),
    "diff": (lambda x: x.diff(dim=0), ROWS),
    "diff_twice": (lambda x: x.diff(2, 0), ROWS),
    "diff_prepend": (lambda x, y: x.diff(dim=0, prepend=y), ROWS, (1, 4)),
    "dstack": (lambda x, y: torch.dstack([x, y]), ROWS, ROWS),
    "expand_as": (lambda x, y: x.expand_as(y) + 1, (1, 4), ROWS),
    "fliplr": (torch.fliplr, COLUMNS),
    "flip_both": (lambda x: x.flip(0, 1), ROWS),
    "hstack": (lambda x, y: torch.hstack([x, y]), ROWS, (N, 2)),
    "kron": (torch.kron, ROWS, (2, 3)),
    "last_rows": (lambda x: x[-3:] + 1, ROWS),
    "first_part": (lambda x: x[:int(x.shape[0] * 0.7)] + 1, ROWS),
    "middle_part": (lambda x: x[math.trunc(x.shape[0] * 0.3):] * 2, ROWS),
    "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="ij"), (N,), (3,)),
    "meshgrid_xy": (lambda x, y: torch.meshgrid(x, y, indexing="xy"), (N,),
                    (N,)),
    "middle_rows": (lambda x: x[1:3] + 1, ROWS),
    "narrow_tail": (lambda x: x.narrow(0, x.shape[0] // 2, x.shape[0] -
                                       x.shape[0] // 2), ROWS),
    "pad_circular": (pad("circular", 1, 2), WAVE),
    "pad_circular_2d": (pad("circular", 1, 1, 1, 0), IMAGE),
    "pad_constant_2d": (pad("constant", 1, 0, 2, 3), IMAGE),
    "pad_crop": (pad("constant", -1, 1), COLUMNS),
    "pad_reflect_2d": (pad("reflect", 1, 0, 1, 1), IMAGE),
    "pad_replicate_2d": (pad("replicate", 1, 2, 0, 1), IMAGE),
    "pad_to": (lambda x: F.pad(x, (0, 12 - x.shape[1])), COLUMNS),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (1, 2, 4, N)),
    "ravel": (lambda x: x.ravel() + 1, ROWS),
    "reverse_steps": (lambda x: x.flip(0)[::3] + 1, ROWS),
    "roll_both": (lambda x: x.roll((2, -1), (0, 1)), ROWS),
    "roll_flat": (lambda x: x.roll(3), ROWS),
    "rot90": (lambda x: x.rot90(), ROWS),
    "slice_five": (lambda x: x[:5] * 2, ROWS),
    "slice_head_sum": (lambda x: x[:3].sum(0), ROWS),
    "slice_of_slice": (lambda x: x[1:][:2] + 1, ROWS),
    "slice_two_columns": (lambda x: x[:, :2] @ weights(2, 3), COLUMNS),
    "split_one": (lambda x: x.split(1, 1), (N, 3)),
    "split_with_sizes": (lambda x: x.split([2, x.shape[0] - 2]), ROWS),
    "squeeze_dims": (lambda x: x.squeeze((1, 2)) + 1, (N, 1, 1, 4)),
    "stack_columns": (lambda x, y: torch.stack([x, y], -1), (N,), (N,)),
    "stack_first": (lambda x, y: torch.stack([x, y, x]), ROWS, ROWS),
    "swapaxes": (lambda x: x.swapaxes(0, 1) + 1, ROWS),
    "tensor_split": (lambda x: x.tensor_split(3, 1), (N, 7)),
    "tensor_split_at": (lambda x: x.tensor_split((1, 3), 1), (N, 7)),
    "tensor_split_rows": (lambda x: x.tensor_split(2), ROWS),
    "tril_below": (lambda x: x.tril(-1), (N, N)),
    "triu": (lambda x: x.triu(1), (N, N)),
    "triu_wide": (lambda x: x.triu(), COLUMNS),
    "tril_indices": (lambda x: torch.tril_indices(x.shape[0], x.shape[0]),
                     (N, 2)),
    "unfold_rows": (lambda x: x.unfold(0, 2, 1) * 2, ROWS),
    "unfold_steps": (lambda x: x.unfold(0, 3, 2) * 2, ROWS),
    "unfold_image": (lambda x: F.unfold(x, 2), IMAGE),
    "vstack": (lambda x, y: torch.vstack([x, y]), ROWS, (2, 4)),
}

SEARCHING = {
    "argmin_of": (lambda x: x.argmin(), ROWS),
    "argmax_keep": (lambda x: x.argmax(1, keepdim=True), ROWS),
    "argsort_rows": (lambda x: x.argsort(1, descending=True), ROWS),
    "argsort_stable": (lambda x: x.argsort(0, stable=True), ROWS),
    "aminmax": (lambda x: torch.aminmax(x, dim=0), ROWS),
    "bucketize_right": (lambda x: torch.bucketize(
        x, torch.tensor([-1., 0, 1]), right=True), ROWS),
    "isin": (lambda x: torch.isin(x, torch.tensor([1, 3])), integer(N)),
    "kthvalue": (lambda x: x.kthvalue(2, 1), ROWS),
    "kthvalue_rows": (lambda x: x.kthvalue(1, 0), ROWS),
    "median_of": (lambda x: x.median(), ROWS),
    "median_rows": (lambda x: x.median(1), ROWS),
    "mode": (lambda x: x.mode(0).values, integer(N, 3)),
    "mode_rows": (lambda x: x.mode(1, keepdim=True), integer(N, 5)),
    "mode_of_bools": (lambda x: x.mode(0).values, truth(N, 3)),
    "msort": (torch.msort, ROWS),
    "nanmean": (lambda x: x.nanmean(0), ROWS),
    "nanmedian": (lambda x: x.nanmedian(0).values, ROWS),
    "nansum": (lambda x: x.nansum(0), ROWS),
    "quantile": (lambda x: x.quantile(0.3, 0), ROWS),
    "quantile_rows": (lambda x: x.quantile(torch.tensor([0.25, 0.5]), 1),
                      ROWS),
    "quantile_of_all": (lambda x: x.quantile(torch.tensor([0.1, 0.9]),
                                             keepdim=True), ROWS),
    "quantile_higher": (lambda x: x.quantile(0.35, 0, True,
                                             interpolation="higher"), ROWS),
    "quantile_lower": (lambda x: x.quantile(0.65, 0, interpolation="lower"),
                       ROWS),
    "quantile_midpoint": (lambda x: x.quantile(
        torch.tensor([0.2, 0.7]), 0, interpolation="midpoint"), ROWS),
    "quantile_nearest": (lambda x: x.quantile(0.6, 1, interpolation="nearest"),
                         ROWS),
    "nanquantile": (lambda x: x.sqrt().nanquantile(0.4, 0), ROWS),
    "nanquantile_rows": (lambda x: x.sqrt().nanquantile(
        torch.tensor([0.25, 0.5, 1.0]), 1, keepdim=True), ROWS),
    "searchsorted": (lambda x, y: torch.searchsorted(x.sort().values, y),
                     (N,), (3,)),
    "searchsorted_rows": (lambda x, y: torch.searchsorted(
        x.sort(1).values, y), (2, N), (2, 3)),
    "searchsorted_values": (lambda x: torch.searchsorted(
        torch.tensor([-1., 0, 1]), x), (N,)),
    "sort_descending": (lambda x: x.sort(0, True), ROWS),
    "topk_rows": (lambda x: x.topk(1, 0), ROWS),
    "topk_all": (lambda x: x.topk(x.shape[0], 0), ROWS),
    "topk_smallest": (lambda x: x.topk(2, 1, largest=False), ROWS),
    "unique_consecutive": (lambda x: torch.unique_consecutive(x), integer(N)),
}

SUMS = {
    "all_rows": (lambda x: x.all(1), truth(N, 4)),
    "amax_both": (lambda x: x.amax((0, 1)), ROWS),
    "amin": (lambda x: x.amin(0), ROWS),
    "any_of": (lambda x: x.any(), truth(N, 4)),
    "any_rows": (lambda x: x.any(1, keepdim=True), truth(N, 4)),
    "cummin": (lambda x: x.cummin(0), ROWS),
    "cumsum_integers": (lambda x: x.cumsum(0), integer(N)),
    "cumsum_reversed": (lambda x: x.flip(0).cumsum(0).flip(0), ROWS),
    "cumulative_trapezoid": (lambda x: torch.cumulative_trapezoid(x, dim=0),
                             ROWS),
    "dist": (lambda x, y: torch.dist(x, y), ROWS, ROWS),
    "dist_most": (lambda x, y: torch.dist(x, y, float("inf")), ROWS, ROWS),
    "dist_three": (lambda x, y: torch.dist(x, y, 3), ROWS, (1, 4)),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), ROWS),
    "logcumsumexp_columns": (lambda x: (x * 50).logcumsumexp(-1), COLUMNS),
    "max_pair": (lambda x: x.max(1), ROWS),
    "mean_both": (lambda x: x.mean((0, 1)), ROWS),
    "mean_integers": (lambda x: x.float().mean(), integer(N)),
    "min_of": (lambda x: x.min(), ROWS),
    "norm_of": (lambda x: x.norm(), ROWS),
    "norm_one": (lambda x: x.norm(1, 0), ROWS),
    "norm_inf": (lambda x: torch.linalg.vector_norm(x, float("inf"), 1), ROWS),
    "norm_inf_rows": (lambda x: torch.linalg.vector_norm(x, float("inf"), 0),
                      ROWS),
    "norm_matrix": (torch.linalg.matrix_norm, (2, N, 3)),
    "prod_integers": (lambda x: x.prod(), integer(N)),
    "softmin": (lambda x: F.softmin(x, 0), ROWS),
    "std_correction": (lambda x: x.std(0, correction=2), ROWS),
    "std_of": (lambda x: x.std(), ROWS),
    "std_mean": (lambda x: torch.std_mean(x, 0), ROWS),
    "std_rows": (lambda x: x.std(1), ROWS),
    "sum_both": (lambda x: x.sum((0, 1)), ROWS),
    "sum_truths": (lambda x: x.sum(0), truth(N, 4)),
    "trace": (torch.trace, (N, N)),
    "trapezoid": (lambda x: torch.trapezoid(x, dim=0), ROWS),
    "var_of": (lambda x: x.var(), ROWS),
}

PRODUCTS = {
    "addbmm": (lambda b, x, y: torch.addbmm(b, x, y), (3, 5), (N, 3, 4),
               (N, 4, 5)),
    "addbmm_scaled": (lambda b, x, y: torch.addbmm(b, x, y, beta=0.5, alpha=2),
                      (5,), (2, N, 4), (2, 4, 5)),
    "addbmm_alone": (lambda b, x, y: torch.addbmm(b / 0, x, y, beta=0),
                     (3, 5), (N, 3, 4), (N, 4, 5)),
    "addr_scaled": (lambda x, a, b: torch.addr(x, a, b, beta=2, alpha=0.5),
                    ROWS, (N,), (4,)),
    "addmv": (torch.addmv, (N,), (N, 4), (4,)),
    "addr": (torch.addr, (N, 3), (N,), (3,)),
    "attention_causal_default": (attention(is_causal=True), HEADS, HEADS,
                                 HEADS),
    "attention_float_mask": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, m), HEADS,
        (N, N)),
    "attention_gqa": (attention(enable_gqa=True), (1, 4, N, 4), HEADS, HEADS),
    "attention_one_query": (attention(), (1, 2, 1, 4), HEADS, HEADS),
    "attention_scale": (attention(scale=0.3), HEADS, HEADS, HEADS),
    "attention_of_batch": (attention(), (N, 3, 4), (N, 3, 4), (N, 3, 4)),
    "bmm_inner": (torch.bmm, (2, N, 4), (2, 4, N)),
    "chain_matmul": (lambda x, y: x @ y @ x, ROWS, (4, N)),
    "cdist_one": (lambda x, y: torch.cdist(x, y, p=1), ROWS, (3, 4)),
    "cross": (lambda x, y: torch.linalg.cross(x, y), (N, 3), (N, 3)),
    "dot": (torch.dot, (N,), (N,)),
    "einsum_batch": (lambda x, y: torch.einsum("bij,bjk->bik", x, y),
                     (N, 3, 4), (N, 4, 2)),
    "einsum_heads": (lambda x, y: torch.einsum("bhqd,bhkd->bhqk", x, y), HEADS,
                     HEADS),
    "einsum_outer": (lambda x, y: torch.einsum("i,j->ij", x, y), (N,), (3,)),
    "einsum_rows": (lambda x, y: torch.einsum("ij,ij->i", x, y), ROWS, ROWS),
    "einsum_trace": (lambda x: torch.einsum("ii->", x), (N, N)),
    "inner": (torch.inner, ROWS, (3, 4)),
    "linear_batch": (lambda x: F.linear(x, weights(5, 4), weights(5)),
                     (N, 3, 4)),
    "linear_vector": (lambda x, w: F.linear(x, w), (2, N), (3, N)),
    "matmul_broadcast": (torch.matmul, (2, 1, N, 4), (3, 4, 2)),
    "matmul_vector": (torch.matmul, (2, N, 4), (4,)),
    "matrix_power": (lambda x: torch.linalg.matrix_power(x, 3), (N, N)),
    "outer": (torch.outer, (N,), (N,)),
    "pairwise_distance": (F.pairwise_distance, ROWS, ROWS),
    "pdist": (F.pdist, ROWS),
    "tensordot": (lambda x, y: torch.tensordot(x, y, 1), ROWS, (4, 3)),
    "vdot_of_rows": (lambda x, y: (x * y).sum(-1), ROWS, (4,)),
}

INDEXING = {
    "embedding_bag": (lambda i: F.embedding_bag(i, weights(9, 4)),
                      integer(N, 3)),
    "embedding_bag_max": (lambda i: F.embedding_bag(i, weights(9, 4),
                                                    mode="max"),
                          integer(N, 3)),
    "embedding_bag_offsets": (lambda i: F.embedding_bag(
        i, weights(9, 4), torch.tensor([0, 2]), mode="sum"), integer(N)),
    "embedding_bag_varying": (lambda i: F.embedding_bag(
        i, weights(9, 4), mode="sum"), integer(3, N)),
    "gather_rows": (lambda x, i: x.gather(0, i), (9, 4), integer(N, 4)),
    "index_add_columns": (lambda x, i, y: x.index_add(1, i, y), ROWS,
                          integer(2), (N, 2)),
    "index_copy_rows": (lambda x, i, y: x.index_copy(0, i, y), (4, 4),
                        integer(N), ROWS),
    "index_fill": (lambda x, i: x.index_fill(0, i, 2.0), (9, 4), integer(N)),
    "index_pairs": (lambda x, i: x[i, i], (9, 9), integer(N)),
    "index_put_add": (lambda x, i, y: x.index_put((i,), y, True), (9, 4),
                      integer(N), ROWS),
    "index_mask": (lambda x, m: torch.where(m, x, 0.0).sum(0), ROWS,
                   truth(N, 4)),
    "index_rows_columns": (lambda x, i: x[:, i], ROWS, integer(2)),
    "index_select_columns": (lambda x, i: x.index_select(1, i), ROWS,
                             integer(3)),
    "isfinite": (torch.isfinite, ROWS),
    "masked_fill_row": (lambda x, m: x.masked_fill(m, -1.0), ROWS,
                        truth(N, 1)),
    "nan_to_num": (torch.nan_to_num, ROWS),
    "one_hot_max": (lambda i: F.one_hot(i, 4).sum(0), integer(N)),
    "ones_matrix": (lambda x: torch.ones(x.shape[0], x.shape[0]).tril()
                    @ x, ROWS),
    "positions": (lambda x: x + weights(12, 4)[:x.shape[0]], ROWS),
    "arange_steps": (lambda x: torch.arange(0, 2 * x.shape[0], 2) * x[:, 0],
                     ROWS),
    "arange_back": (lambda x: torch.arange(x.shape[0], 0, -1) * x[:, 0], ROWS),
    "eye": (lambda x: torch.eye(x.shape[0]) @ x, ROWS),
    "full_like": (lambda x: torch.full_like(x, 2) * x, ROWS),
    "new_zeros": (lambda x: x.new_zeros(x.shape[0], 1) + x, ROWS),
    "scatter_reduce": (lambda x, i, y: x.scatter_reduce(
        0, i, y, "amax"), (9, 4), integer(N, 4), ROWS),
    "scatter_mean": (lambda x, i, y: x.scatter_reduce(
        0, i, y, "mean", include_self=False), (9, 4), integer(N, 4), ROWS),
    "scatter_prod": (lambda x, i, y: x.scatter_reduce(1, i, y, "prod"), ROWS,
                     integer(N, 2), (N, 2)),
    "scatter_value": (lambda x, i: x.scatter(1, i, 2.5), ROWS, integer(N, 2)),
    "scatter_add_rows": (lambda x, i, y: x.scatter_add(0, i, y), (9, 4),
                         integer(N, 4), ROWS),
    "slice_write": (lambda x, y: x.slice_scatter(y, 0, 0, 1), ROWS, (1, 4)),
    "take": (lambda x, i: x.take(i), (3, 4), integer(N)),
    "take_along_rows": (lambda x: x.take_along_dim(x.argsort(0), 0), ROWS),
    "where_row": (lambda m, x: torch.where(m, x, x * 2), truth(N, 1), ROWS),
    "where_number": (lambda x: torch.where(x > 0, x, 0.0), ROWS),
    "write_first": (lambda x: torch.cat([x[:1] * 2, x[1:]]), ROWS),
}

NORMS = {
    "batch_norm_image": (lambda x: F.batch_norm(
        x, weights(2), weights(2).abs() + 1, weights(2), weights(2)), IMAGE),
    "batch_norm_training": (lambda x: F.batch_norm(
        x, None, None, training=True), ROWS),
    "batch_norm_wave": (lambda x: F.batch_norm(
        x, weights(2), weights(2).abs() + 1), WAVE),
    "group_norm_image": (lambda x: F.group_norm(x, 2, weights(4), weights(4)),
                         (1, 4, N, N)),
    "instance_norm_image": (F.instance_norm, (1, 3, N, N)),
    "instance_norm_weights": (lambda x: F.instance_norm(
        x, weight=weights(3), bias=weights(3)), (2, 3, N)),
    "layer_norm_plain": (lambda x: F.layer_norm(x, (4,)), (2, N, 4)),
    "layer_norm_two": (lambda x: F.layer_norm(x, (3, 4)), (N, 3, 4)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 2), IMAGE),
    "normalize_rows": (lambda x: F.normalize(x, p=1, dim=1), ROWS),
    "log_softmax_rows": (lambda x: x.log_softmax(1), ROWS),
    "softmax_varying_last": (lambda x: x.softmax(-1), (2, 3, N)),
    "softmax_middle": (lambda x: x.softmax(1), (2, N, 3)),
    "masked_softmax": (lambda x, m: x.masked_fill(~m, float("-inf"))
                       .softmax(-1), (2, N), truth(2, N)),
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i), ROWS, integer(N)),
    "mse_loss": (F.mse_loss, ROWS, ROWS),
    "nll_loss": (lambda x, i: F.nll_loss(x.log_softmax(1), i,
                                         reduction="none"), ROWS, integer(N)),
    "smooth_l1_loss": (F.smooth_l1_loss, ROWS, ROWS),
}

IMAGES = {
    "adaptive_avg_pool1d_one": (lambda x: F.adaptive_avg_pool1d(x, 1), WAVE),
    "adaptive_avg_pool2d_mixed": (
        lambda x: F.adaptive_avg_pool2d(x, (3, None)), IMAGE),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, 2), VOLUME),
    "adaptive_max_pool2d_three": (lambda x: F.adaptive_max_pool2d(x, 3),
                                  IMAGE),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, 1), WAVE),
    "avg_pool1d_ceil": (lambda x: F.avg_pool1d(x, 3, 2, ceil_mode=True), WAVE),
    "avg_pool2d_ceil": (lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True),
                        IMAGE),
    "avg_pool2d_exclude": (lambda x: F.avg_pool2d(
        x, 3, 1, 1, count_include_pad=False), IMAGE),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), VOLUME),
    "conv1d_dilated": (lambda x: F.conv1d(x, weights(3, 2, 3), dilation=2,
                                          padding=2), WAVE),
    "conv1d_causal": (lambda x: F.conv1d(F.pad(x, (2, 0)), weights(3, 2, 3)),
                      WAVE),
    "conv1d_grouped": (lambda x: F.conv1d(x, weights(2, 1, 3), groups=2),
                       WAVE),
    "conv1d_same": (lambda x: F.conv1d(x, weights(3, 2, 4), padding="same"),
                    WAVE),
    "conv1d_stride": (lambda x: F.conv1d(x, weights(3, 2, 3), stride=2,
                                         padding=1), WAVE),
    "conv2d_depthwise": (lambda x: F.conv2d(x, weights(2, 1, 3, 3), groups=2,
                                            padding=1), IMAGE),
    "conv2d_pointwise": (lambda x: F.conv2d(x, weights(3, 2, 1, 1)), IMAGE),
    "conv2d_tall": (lambda x: F.conv2d(x, weights(3, 2, 3, 1)), IMAGE),
    "conv3d": (lambda x: F.conv3d(x, weights(3, 2, 2, 2, 2)), VOLUME),
    "conv_transpose1d_plain": (lambda x: F.conv_transpose1d(
        x, weights(2, 3, 3)), WAVE),
    "conv_transpose2d_stride": (lambda x: F.conv_transpose2d(
        x, weights(2, 3, 4, 4), stride=2, padding=1, output_padding=1), IMAGE),
    "fold_back": (lambda x: F.fold(x, (3, 3), 2), (N, 8, 4)),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), IMAGE),
    "max_pool1d_padded": (lambda x: F.max_pool1d(x, 3, 2, 1), WAVE),
    "max_pool2d_ceil": (lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
                        IMAGE),
    "max_pool2d_dilated": (lambda x: F.max_pool2d(x, 2, 1, dilation=2), IMAGE),
    "max_pool2d_indices": (lambda x: F.max_pool2d(
        x, 2, return_indices=True), IMAGE),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), VOLUME),
    "resize_antialias": (resize("bilinear", size=(3, 3), antialias=True),
                         IMAGE),
    "resize_area": (resize("area", scale_factor=0.5), IMAGE),
    "resize_bicubic": (resize("bicubic", scale_factor=1.5), IMAGE),
    "resize_bilinear_to": (resize("bilinear", size=(5, 7),
                                  align_corners=True), IMAGE),
    "resize_half": (resize("bilinear", scale_factor=0.5), IMAGE),
    "resize_like": (lambda x, y: F.interpolate(x, size=y.shape[-2:]),
                    (1, 2, 4, 4), IMAGE),
    "resize_linear_to": (resize("linear", size=7), WAVE),
    "resize_nearest_half": (resize("nearest", scale_factor=0.5), IMAGE),
    "resize_nearest_uneven": (resize("nearest", scale_factor=1.3), WAVE),
    "resize_trilinear": (resize("trilinear", scale_factor=2), VOLUME),
    "resize_trilinear_to": (resize("trilinear", size=(3, 3, 3)), VOLUME),
    "resize_nearest3d": (resize("nearest", scale_factor=2), VOLUME),
}

LAYERS = {
    "conv_relu_pool": (layer(nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(3, 2))), IMAGE),
    "decoder_layer": (layer(nn.TransformerDecoderLayer(
        8, 2, 16, batch_first=True)), (1, N, 8), (1, 3, 8)),
    "decoder_memory": (layer(nn.TransformerDecoderLayer(
        8, 2, 16, batch_first=True)), (1, 3, 8), (1, N, 8)),
    "encoder_layer": (layer(nn.TransformerEncoderLayer(
        8, 2, 16, batch_first=True)), (1, N, 8)),
    "encoder_layer_batch": (layer(nn.TransformerEncoderLayer(
        8, 2, 16, batch_first=True)), (N, 3, 8)),
    "encoder_layer_first": (layer(nn.TransformerEncoderLayer(
        8, 2, 16, norm_first=True, activation="gelu")), (N, 2, 8)),
    "gru": (layer(nn.GRU(4, 3, batch_first=True)), (N, 5, 4)),
    "gru_both_ways": (layer(nn.GRU(4, 3, bidirectional=True)), (5, N, 4)),
    "gru_cell": (layer(nn.GRUCell(4, 3)), ROWS, (N, 3)),
    "gru_length": (layer(nn.GRU(4, 3)), (N, 2, 4)),
    "lstm": (layer(nn.LSTM(4, 3, batch_first=True), True), (N, 5, 4)),
    "lstm_cell": (layer(nn.LSTMCell(4, 3)), ROWS),
    "lstm_length": (layer(nn.LSTM(4, 3), True), (N, 2, 4)),
    "lstm_two": (layer(nn.LSTM(4, 3, 2)), (5, N, 4)),
    "multihead_attention": (layer(nn.MultiheadAttention(
        8, 2, batch_first=True)), (1, N, 8), (1, N, 8), (1, N, 8)),
    "multihead_memory": (layer(nn.MultiheadAttention(8, 2, batch_first=True),
                               True), (1, 3, 8), (1, N, 8), (1, N, 8)),
    "prelu": (layer(nn.PReLU(4)), ROWS),
    "rnn": (layer(nn.RNN(4, 3, batch_first=True)), (N, 5, 4)),
    "rnn_length": (layer(nn.RNN(4, 3)), (N, 2, 4)),
}

FORMS = (REARRANGING | SEARCHING | SUMS | PRODUCTS | INDEXING | NORMS | IMAGES
         | LAYERS)
