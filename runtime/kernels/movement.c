// Copies: of whole tensors, in another order of dimensions, of parts.

#include "runtime/kernels/flat_order.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/strided_view.h"

static const etx_tensor* out_of(const etx_call* call) {
  return etx_call_tensor(call, call->argument_count - 1);
}

// Self and out of one type; `run` does the rest.
static etx_status prepare_move(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, call->argument_count - 1));
  call->run = run;
  return ETX_OK;
}

static etx_status run_copy_self(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(out_of(call));
  etx_view_copy(&out, &self);
  return ETX_OK;
}

// `memory_format` 2 and 3 order the dimensions of images and volumes.
static etx_status check_memory_format(const etx_call* call, size_t index) {
  if (etx_call_is_none(call, index)) return ETX_OK;
  const int64_t format = etx_call_integer(call, index);
  const int64_t rank = etx_call_tensor(call, 0)->rank;
  if (format > 3) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "memory format %i is unknown", format);
  }
  if (format < 2 || rank == format + 2) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "rank of 'self' is %i, a channels-last format wants "
                         "%i",
                         rank, format + 2);
}

etx_status etx_kernel_clone_out_prepare(etx_call* call) {
  ETX_TRY(check_memory_format(call, 1));
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_alias_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_detach_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_lift_fresh_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_h2d_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_d2h_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_fallback_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_clone_dim_order_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}
etx_status etx_kernel_expand_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_copy_self);
}

// A copy that may change the type.
static etx_status prepare_cast(etx_call* call, size_t from, size_t to,
                               etx_kernel_function run) {
  if (etx_call_tensor(call, from)->dtype != etx_call_tensor(call, to)->dtype) {
    ETX_TRY(etx_call_check_real(call, from));
    ETX_TRY(etx_call_check_real(call, to));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_to_copy_out_prepare(etx_call* call) {
  ETX_TRY(check_memory_format(call, 2));
  return prepare_cast(call, 0, call->argument_count - 1, run_copy_self);
}
etx_status etx_kernel_to_dim_order_copy_out_prepare(etx_call* call) {
  return prepare_cast(call, 0, call->argument_count - 1, run_copy_self);
}

// (self, src, non_blocking, out): self gives sizes and type alone.
static etx_status run_copy_source(etx_call* call) {
  const etx_view source = etx_view_of(etx_call_tensor(call, 1));
  const etx_view out = etx_view_of(out_of(call));
  etx_view_copy(&out, &source);
  return ETX_OK;
}

etx_status etx_kernel_copy_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 3));
  return prepare_cast(call, 1, 3, run_copy_source);
}

static etx_status run_copy_in_place(etx_call* call) {
  const etx_view source = etx_view_of(etx_call_tensor(call, 1));
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  etx_view_copy(&self, &source);
  return ETX_OK;
}

etx_status etx_kernel_copy_in_place_prepare(etx_call* call) {
  return prepare_cast(call, 1, 0, run_copy_in_place);
}

// Where one of two tensors with the same elements in the same order lies
// densely, it can be seen with the sizes of the other.
static etx_view with_sizes_of(const etx_view* view, void* data) {
  etx_view dense = *view;
  ptrdiff_t stride = 1;
  dense.data = data;
  for (size_t i = dense.rank; i-- > 0;) {
    dense.strides[i] = stride;
    stride *= dense.sizes[i];
  }
  return dense;
}

static etx_status run_reshape(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* out = out_of(call);
  const size_t numel = etx_tensor_numel(self);
  if (numel == 0) return ETX_OK;
  if (etx_tensor_is_contiguous(out)) {
    const etx_view from = etx_view_of(self);
    const etx_view to = with_sizes_of(&from, out->data);
    etx_view_copy(&to, &from);
  } else if (etx_tensor_is_contiguous(self)) {
    const etx_view to = etx_view_of(out);
    const etx_view from = with_sizes_of(&to, self->data);
    etx_view_copy(&to, &from);
  } else {
    etx_flat_cursor to = etx_flat_start(out, 0);
    etx_flat_cursor from = etx_flat_start(self, 0);
    etx_flat_copy(&to, &from, numel);
  }
  return ETX_OK;
}

etx_status etx_kernel_view_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_reshape);
}
etx_status etx_kernel_unsqueeze_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_reshape);
}
etx_status etx_kernel_squeeze_copy_dim_out_prepare(etx_call* call) {
  return prepare_move(call, run_reshape);
}
etx_status etx_kernel_squeeze_copy_dims_out_prepare(etx_call* call) {
  return prepare_move(call, run_reshape);
}

// Self as its parts, which are the last dimension of out.
static etx_status run_view_as_real(etx_call* call) {
  const etx_view out = etx_view_of(out_of(call));
  etx_view from = etx_view_of(etx_call_tensor(call, 0));
  from.dtype = out.dtype;
  for (size_t i = 0; i < from.rank; ++i) from.strides[i] *= 2;
  etx_view_append(&from, 2, 1);
  etx_view_copy(&out, &from);
  return ETX_OK;
}

static etx_dtype part_of(etx_dtype dtype) {
  switch (dtype) {
    case ETX_DTYPE_COMPLEX32:
      return ETX_DTYPE_FLOAT16;
    case ETX_DTYPE_COMPLEX64:
      return ETX_DTYPE_FLOAT32;
    default:
      return ETX_DTYPE_FLOAT64;
  }
}

etx_status etx_kernel_view_as_real_copy_out_prepare(etx_call* call) {
  const etx_dtype part = part_of(etx_call_tensor(call, 0)->dtype);
  ETX_TRY(etx_call_check_dtype(call, 1, part));
  call->run = run_view_as_real;
  return ETX_OK;
}

static etx_status run_permute(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(out_of(call));
  etx_view from = self;
  for (size_t i = 0; i < self.rank; ++i) {
    const size_t at = etx_wrap_dimension(etx_call_item(call, 1, i), self.rank);
    from.sizes[i] = self.sizes[at];
    from.strides[i] = self.strides[at];
  }
  etx_view_copy(&out, &from);
  return ETX_OK;
}

etx_status etx_kernel_permute_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_permute);
}

static void copy_swapped(const etx_call* call, size_t a, size_t b) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(out_of(call));
  etx_view from = self;
  if (self.rank > 0) {
    from.sizes[a] = self.sizes[b];
    from.sizes[b] = self.sizes[a];
    from.strides[a] = self.strides[b];
    from.strides[b] = self.strides[a];
  }
  etx_view_copy(&out, &from);
}

static etx_status run_transpose(etx_call* call) {
  const size_t rank = etx_call_tensor(call, 0)->rank;
  copy_swapped(call, etx_wrap_dimension(etx_call_integer(call, 1), rank),
               etx_wrap_dimension(etx_call_integer(call, 2), rank));
  return ETX_OK;
}

etx_status etx_kernel_transpose_copy_int_out_prepare(etx_call* call) {
  return prepare_move(call, run_transpose);
}

static etx_status run_t(etx_call* call) {
  copy_swapped(call, 0, etx_call_tensor(call, 0)->rank == 2 ? 1 : 0);
  return ETX_OK;
}

etx_status etx_kernel_t_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_t);
}

static etx_status run_flip(etx_call* call) {
  etx_view from = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(out_of(call));
  const size_t count = etx_call_value(call, 1)->as.integers.count;
  for (size_t i = 0; i < count && from.rank > 0; ++i) {
    const size_t at = etx_wrap_dimension(etx_call_item(call, 1, i), from.rank);
    const int64_t size = from.sizes[at];
    if (size > 0) etx_view_slice(&from, at, size - 1, size, -1);
  }
  etx_view_copy(&out, &from);
  return ETX_OK;
}

etx_status etx_kernel_flip_out_prepare(etx_call* call) {
  return prepare_move(call, run_flip);
}

// Each dimension of out is self's, repeated by one of stride 0 before it.
static etx_status run_repeat(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(out_of(call));
  const size_t extra = out.rank - self.rank;
  etx_view to, from;
  if (etx_tensor_numel(out_of(call)) == 0) return ETX_OK;
  to.data = out.data;
  from.data = self.data;
  to.dtype = from.dtype = self.dtype;
  to.rank = from.rank = 0;
  for (size_t i = 0; i < out.rank; ++i) {
    const int32_t size = i < extra ? 1 : self.sizes[i - extra];
    const int32_t count = out.sizes[i] / size;
    etx_view_append(&to, count, out.strides[i] * size);
    etx_view_append(&from, count, 0);
    etx_view_append(&to, size, out.strides[i]);
    etx_view_append(&from, size, i < extra ? 0 : self.strides[i - extra]);
  }
  etx_view_copy(&to, &from);
  return ETX_OK;
}

etx_status etx_kernel_repeat_out_prepare(etx_call* call) {
  return prepare_move(call, run_repeat);
}
