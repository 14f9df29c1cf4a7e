// Operators that are one copy between two views: as_strided, diagonal, unfold,
// pixel_shuffle, pixel_unshuffle, tile_crop; and roll, which is several copies.

#include "runtime/kernels/views/flat_order.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/prepared_copy.h"

static bool is_empty(const etx_strided_view* view) {
  for (size_t i = 0; i < view->rank; ++i) {
    if (view->sizes[i] == 0) return true;
  }
  return false;
}

// The shape rule has checked that the view lies within the memory of self.
static void describe_as_strided(const etx_call* call, etx_strided_view* to,
                                etx_strided_view* from) {
  const bool has_none = is_empty(to);
  from->rank = to->rank;
  for (size_t i = 0; i < to->rank; ++i) {
    // The stride of a dimension of size 1 is not used and may be any number.
    const bool is_taken = to->sizes[i] > 1 && !has_none;
    from->sizes[i] = to->sizes[i];
    from->strides[i] = is_taken ? (ptrdiff_t)etx_call_item(
                                      call, ETX_ARG_as_strided_copy_stride, i)
                                : 0;
  }
  if (etx_call_is_none(call, ETX_ARG_as_strided_copy_storage_offset) ||
      has_none)
    return;
  etx_strided_view_shift(from,
                         (ptrdiff_t)etx_call_integer(
                             call, ETX_ARG_as_strided_copy_storage_offset));
}

static etx_status run_as_strided(etx_call* call) {
  return etx_run_described(call, describe_as_strided);
}

// True if the elements are contiguous in some order of dimensions.
static bool is_dense(const etx_tensor* tensor) {
  size_t last = 0;
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (tensor->sizes[i] == 0) return true;
    last += (size_t)(tensor->sizes[i] - 1) * (size_t)tensor->strides[i];
  }
  return last + 1 == etx_tensor_numel(tensor);
}

etx_status etx_kernel_as_strided_copy_out_prepare(etx_call* call) {
  if (!is_dense(etx_call_tensor(call, ETX_ARG_as_strided_copy_self))) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "'self' does not lie densely");
  }
  return etx_prepare_described(call, describe_as_strided, run_as_strided);
}

// The stride of the diagonal is the sum of the strides of both dimensions.
static void describe_diagonal(const etx_call* call, etx_strided_view* to,
                              etx_strided_view* from) {
  const int64_t offset = etx_call_integer(call, ETX_ARG_diagonal_copy_offset);
  const size_t a = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_diagonal_copy_dim1), from->rank);
  const size_t b = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_diagonal_copy_dim2), from->rank);
  const int64_t size = to->sizes[to->rank - 1];
  if (is_empty(to)) return;
  etx_strided_view_slice(from, a, offset < 0 ? -offset : 0, size, 1);
  etx_strided_view_slice(from, b, offset < 0 ? 0 : offset, size, 1);
  const ptrdiff_t stride = from->strides[a] + from->strides[b];
  etx_strided_view_select(from, a > b ? a : b, 0);
  etx_strided_view_select(from, a > b ? b : a, 0);
  etx_strided_view_append(from, size, stride);
}

static etx_status run_diagonal(etx_call* call) {
  return etx_run_described(call, describe_diagonal);
}

etx_status etx_kernel_diagonal_copy_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_diagonal, run_diagonal);
}

static void describe_unfold(const etx_call* call, etx_strided_view* to,
                            etx_strided_view* from) {
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_unfold_copy_dimension), from->rank);
  const int64_t size = etx_call_integer(call, ETX_ARG_unfold_copy_size);
  const int64_t step = etx_call_integer(call, ETX_ARG_unfold_copy_step);
  const bool has_dimension = from->rank > 0;
  etx_strided_view_append(from, size, has_dimension ? from->strides[at] : 0);
  if (!has_dimension) return;
  from->sizes[at] = to->sizes[at];
  // The step of a single window is not used.
  from->strides[at] *= to->sizes[at] > 1 ? (ptrdiff_t)step : 0;
}

static etx_status run_unfold(etx_call* call) {
  return etx_run_described(call, describe_unfold);
}

etx_status etx_kernel_unfold_copy_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_unfold, run_unfold);
}

// Views [.., H * f, W * f] as [.., f, f, H, W].
static void divide_pixels(etx_strided_view* view, int64_t factor) {
  const size_t height = view->rank - 2;
  const int64_t rows = view->sizes[height], columns = view->sizes[height + 1];
  etx_strided_view_divide(view, height + 1, columns / factor, factor);
  etx_strided_view_divide(view, height, rows / factor, factor);
  etx_strided_view_move(view, height + 1, height);
  etx_strided_view_move(view, height + 3, height + 1);
}

// Views channels [.., C * f * f, H, W] as [.., C, f, f, H, W].
static void divide_channels(etx_strided_view* view, int64_t factor) {
  const size_t channel = view->rank - 3;
  const int64_t channels = view->sizes[channel] / (factor * factor);
  etx_strided_view_divide(view, channel, channels * factor, factor);
  etx_strided_view_divide(view, channel, channels, factor);
}

static void describe_shuffle(const etx_call* call, etx_strided_view* to,
                             etx_strided_view* from) {
  divide_channels(from,
                  etx_call_integer(call, ETX_ARG_pixel_shuffle_upscale_factor));
  divide_pixels(to,
                etx_call_integer(call, ETX_ARG_pixel_shuffle_upscale_factor));
}

static etx_status run_pixel_shuffle(etx_call* call) {
  return etx_run_described(call, describe_shuffle);
}

etx_status etx_kernel_pixel_shuffle_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_shuffle, run_pixel_shuffle);
}

static void describe_unshuffle(const etx_call* call, etx_strided_view* to,
                               etx_strided_view* from) {
  if (is_empty(to)) return;
  divide_pixels(
      from, etx_call_integer(call, ETX_ARG_pixel_unshuffle_downscale_factor));
  divide_channels(
      to, etx_call_integer(call, ETX_ARG_pixel_unshuffle_downscale_factor));
}

static etx_status run_pixel_unshuffle(etx_call* call) {
  return etx_run_described(call, describe_unshuffle);
}

etx_status etx_kernel_pixel_unshuffle_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_unshuffle, run_pixel_unshuffle);
}

// input is [C, H, W], out [rows * columns, C, t, t]: tiles in row-major order.
static void describe_tile_crop(const etx_call* call, etx_strided_view* to,
                               etx_strided_view* from) {
  const int64_t tile = etx_call_integer(call, ETX_ARG_tile_crop_tile_size);
  const int64_t rows = from->sizes[1] / tile, columns = from->sizes[2] / tile;
  etx_strided_view_divide(from, 2, columns, tile);  // C H columns t
  etx_strided_view_divide(from, 1, rows, tile);     // C rows t columns t
  etx_strided_view_move(from, 1, 0);                // rows C t columns t
  etx_strided_view_move(from, 3, 1);                // rows columns C t t
  etx_strided_view_divide(to, 0, rows, columns);
}

static etx_status run_tile_crop(etx_call* call) {
  return etx_run_described(call, describe_tile_crop);
}

etx_status etx_kernel_tile_crop_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_tile_crop, run_tile_crop);
}

// Rolls: out is a grid of at most two parts along each shifted dimension.

typedef struct rolling {
  size_t count;  // dimensions that move
  size_t dims[ETX_MAX_RANK];
  int64_t shifts[ETX_MAX_RANK];  // 1 up to size - 1
} rolling;

static int64_t wrap_shift(int64_t shift, int64_t size) {
  const int64_t rest = shift % size;
  return rest < 0 ? rest + size : rest;
}

// A dimension may be named more than once.
static void add_shift(rolling* r, const etx_strided_view* self, size_t at,
                      int64_t shift) {
  size_t k = 0;
  while (k < r->count && r->dims[k] != at) ++k;
  if (k == r->count) {
    r->dims[r->count] = at;
    r->shifts[r->count++] = 0;
  }
  const int64_t size = self->sizes[at];
  r->shifts[k] = (r->shifts[k] + wrap_shift(shift, size)) % size;
}

// Copies one part of the grid: bit k of `parts` means the elements of dimension
// k behind its shift.
static void copy_part(const rolling* r, uint32_t parts,
                      const etx_strided_view* self,
                      const etx_strided_view* out) {
  etx_strided_view from = *self, to = *out;
  for (size_t k = 0; k < r->count; ++k) {
    const size_t at = r->dims[k];
    const int64_t shift = r->shifts[k], rest = self->sizes[at] - shift;
    if ((parts >> k & 1) != 0) {
      etx_strided_view_slice(&from, at, 0, rest, 1);
      etx_strided_view_slice(&to, at, shift, rest, 1);
    } else if (shift == 0) {
      return;
    } else {
      etx_strided_view_slice(&from, at, rest, shift, 1);
      etx_strided_view_slice(&to, at, 0, shift, 1);
    }
  }
  etx_strided_view_copy(&to, &from);
}

static void roll(const rolling* r, const etx_strided_view* self,
                 const etx_strided_view* out) {
  for (uint32_t parts = 0; parts < UINT32_C(1) << r->count; ++parts) {
    copy_part(r, parts, self, out);
  }
}

static etx_status run_roll(etx_call* call) {
  const etx_strided_view self =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_roll_self));
  const etx_strided_view out =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_roll_out));
  const size_t count =
      etx_call_value(call, ETX_ARG_roll_dims)->as.integers.count;
  rolling r = {0};
  if (etx_tensor_numel(etx_call_tensor(call, ETX_ARG_roll_self)) == 0)
    return ETX_OK;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = etx_wrap_dimension(
        etx_call_item(call, ETX_ARG_roll_dims, i), self.rank);
    add_shift(&r, &self, at, etx_call_item(call, ETX_ARG_roll_shifts, i));
  }
  roll(&r, &self, &out);
  return ETX_OK;
}

// Without dimensions, all elements are shifted as one row.
static etx_status run_roll_flat(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_roll_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_roll_out);
  const int64_t numel = (int64_t)etx_tensor_numel(self);
  etx_strided_view from = etx_strided_view_of(self),
                   to = etx_strided_view_of(out);
  rolling r = {0};
  if (numel == 0) return ETX_OK;
  if (!etx_tensor_is_contiguous(self) || !etx_tensor_is_contiguous(out)) {
    const int64_t shift =
        wrap_shift(etx_call_item(call, ETX_ARG_roll_shifts, 0), numel);
    etx_flat_cursor target = etx_flat_start(out, (size_t)shift);
    etx_flat_cursor source = etx_flat_start(self, 0);
    etx_flat_copy(&target, &source, (size_t)numel);
    return ETX_OK;
  }
  from.rank = to.rank = 0;
  etx_strided_view_append(&from, numel, 1);
  etx_strided_view_append(&to, numel, 1);
  add_shift(&r, &from, 0, etx_call_item(call, ETX_ARG_roll_shifts, 0));
  roll(&r, &from, &to);
  return ETX_OK;
}

etx_status etx_kernel_roll_out_prepare(etx_call* call) {
  const bool is_flat =
      etx_call_value(call, ETX_ARG_roll_dims)->as.integers.count == 0;
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_roll_self, ETX_ARG_roll_out));
  call->run = is_flat ? run_roll_flat : run_roll;
  return ETX_OK;
}
