// Copies of tensors: with a type cast, reshaped, permuted, repeated.

#include "runtime/kernels/views/flat_order.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/prepared_copy.h"

static const etx_tensor* out_of(const etx_call* call) {
  return etx_call_tensor(call, call->argument_count - 1);
}

static void describe_all(const etx_call* call, etx_strided_view* to,
                         etx_strided_view* from) {
  (void)call;
  (void)to;
  (void)from;
}

static etx_status run_copy_self(etx_call* call) {
  return etx_run_described(call, describe_all);
}

static etx_status prepare_all(etx_call* call) {
  return etx_prepare_described(call, describe_all, run_copy_self);
}

// `memory_format` 2 and 3 order the dimensions of images and volumes.
static etx_status check_memory_format(const etx_call* call, size_t index) {
  if (etx_call_is_none(call, index)) return ETX_OK;
  const int64_t format = etx_call_integer(call, index);
  const int64_t rank = etx_call_tensor(call, ETX_ARG_clone_self)->rank;
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
  ETX_TRY(check_memory_format(call, ETX_ARG_clone_memory_format));
  return prepare_all(call);
}
etx_status etx_kernel_alias_copy_out_prepare(etx_call* call) {
  return prepare_all(call);
}
etx_status etx_kernel_detach_copy_out_prepare(etx_call* call) {
  return prepare_all(call);
}
etx_status etx_kernel_lift_fresh_copy_out_prepare(etx_call* call) {
  return prepare_all(call);
}
etx_status etx_kernel_h2d_copy_out_prepare(etx_call* call) {
  return prepare_all(call);
}
etx_status etx_kernel_d2h_copy_out_prepare(etx_call* call) {
  return prepare_all(call);
}
etx_status etx_kernel_fallback_out_prepare(etx_call* call) {
  return prepare_all(call);
}
etx_status etx_kernel_clone_dim_order_out_prepare(etx_call* call) {
  return prepare_all(call);
}
etx_status etx_kernel_expand_copy_out_prepare(etx_call* call) {
  return prepare_all(call);
}

// A copy that may change the type.
static etx_status prepare_cast(etx_call* call, size_t from, size_t to,
                               etx_kernel_function run) {
  const etx_tensor* source = etx_call_tensor(call, from);
  const etx_tensor* target = etx_call_tensor(call, to);
  if (source->dtype != target->dtype) {
    ETX_TRY(etx_call_check_real(call, from));
    ETX_TRY(etx_call_check_real(call, to));
  }
  const etx_strided_view to_view = etx_strided_view_of(target);
  const etx_strided_view from_view = etx_strided_view_of(source);
  etx_prepare_copy(call, to, &to_view, from, &from_view, run);
  return ETX_OK;
}

etx_status etx_kernel_to_copy_out_prepare(etx_call* call) {
  ETX_TRY(check_memory_format(call, ETX_ARG_to_copy_memory_format));
  return prepare_cast(call, ETX_ARG_to_copy_self, call->argument_count - 1,
                      run_copy_self);
}
etx_status etx_kernel_to_dim_order_copy_out_prepare(etx_call* call) {
  return prepare_cast(call, ETX_ARG_to_dim_order_copy_self,
                      call->argument_count - 1, run_copy_self);
}

static etx_status copy_source(const etx_call* call, size_t target) {
  const etx_strided_view from =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_copy_src));
  const etx_strided_view to =
      etx_strided_view_of(etx_call_tensor(call, target));
  etx_strided_view_copy(&to, &from);
  return ETX_OK;
}

// copy.out uses only the sizes and the type of `self`.
static etx_status run_copy_source(etx_call* call) {
  return copy_source(call, ETX_ARG_copy_out);
}

etx_status etx_kernel_copy_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_copy_self, ETX_ARG_copy_out));
  return prepare_cast(call, ETX_ARG_copy_src, ETX_ARG_copy_out,
                      run_copy_source);
}

static etx_status run_copy_in_place(etx_call* call) {
  return copy_source(call, ETX_ARG_copy_in_place_self);
}

etx_status etx_kernel_copy_in_place_prepare(etx_call* call) {
  return prepare_cast(call, ETX_ARG_copy_in_place_src,
                      ETX_ARG_copy_in_place_self, run_copy_in_place);
}

// Reshapes: the same elements in the same order with other sizes.

static void use_sizes_of(etx_strided_view* dense,
                         const etx_strided_view* other) {
  ptrdiff_t stride = 1;
  dense->rank = other->rank;
  for (size_t i = dense->rank; i-- > 0;) {
    dense->sizes[i] = other->sizes[i];
    dense->strides[i] = stride;
    stride *= other->sizes[i];
  }
}

// If one of the two is contiguous, it has a view with the sizes of the other.
static void describe_reshape(const etx_call* call, etx_strided_view* to,
                             etx_strided_view* from) {
  if (etx_tensor_is_contiguous(out_of(call))) {
    use_sizes_of(to, from);
  } else {
    use_sizes_of(from, to);
  }
}

static etx_status run_reshape(etx_call* call) {
  return etx_run_described(call, describe_reshape);
}

static etx_status run_reshape_strided(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_view_copy_self);
  const etx_tensor* out = out_of(call);
  const size_t numel = etx_tensor_numel(self);
  if (numel == 0) return ETX_OK;
  etx_flat_cursor to = etx_flat_start(out, 0);
  etx_flat_cursor from = etx_flat_start(self, 0);
  etx_flat_copy(&to, &from, numel);
  return ETX_OK;
}

static etx_status prepare_reshape(etx_call* call) {
  if (etx_tensor_is_contiguous(out_of(call)) ||
      etx_tensor_is_contiguous(etx_call_tensor(call, ETX_ARG_view_copy_self))) {
    return etx_prepare_described(call, describe_reshape, run_reshape);
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_view_copy_self,
                                    call->argument_count - 1));
  call->run = run_reshape_strided;
  return ETX_OK;
}

etx_status etx_kernel_view_copy_out_prepare(etx_call* call) {
  return prepare_reshape(call);
}
etx_status etx_kernel_unsqueeze_copy_out_prepare(etx_call* call) {
  return prepare_reshape(call);
}
etx_status etx_kernel_squeeze_copy_dim_out_prepare(etx_call* call) {
  return prepare_reshape(call);
}
etx_status etx_kernel_squeeze_copy_dims_out_prepare(etx_call* call) {
  return prepare_reshape(call);
}

// Makes the real and imaginary parts of a complex view its last dimension.
static void view_parts(etx_strided_view* complex, etx_dtype dtype) {
  complex->dtype = dtype;
  for (size_t i = 0; i < complex->rank; ++i) complex->strides[i] *= 2;
  etx_strided_view_append(complex, 2, 1);
}

static etx_status run_view_as_real(etx_call* call) {
  const etx_strided_view to = etx_strided_view_of(out_of(call));
  etx_strided_view from = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_view_as_real_copy_self));
  view_parts(&from, to.dtype);
  etx_strided_view_copy(&to, &from);
  return ETX_OK;
}

etx_status etx_kernel_view_as_real_copy_out_prepare(etx_call* call) {
  const etx_dtype part = etx_dtype_real_type(
      etx_call_tensor(call, ETX_ARG_view_as_real_copy_self)->dtype);
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_view_as_real_copy_out, part));
  const etx_strided_view to = etx_strided_view_of(out_of(call));
  etx_strided_view from = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_view_as_real_copy_self));
  view_parts(&from, part);
  etx_prepare_copy(call, ETX_ARG_view_as_real_copy_out, &to,
                   ETX_ARG_view_as_real_copy_self, &from, run_view_as_real);
  return ETX_OK;
}

// The inverse of view_as_real.
static etx_status run_view_as_complex(etx_call* call) {
  const etx_strided_view from = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_view_as_complex_copy_self));
  etx_strided_view to = etx_strided_view_of(out_of(call));
  view_parts(&to, from.dtype);
  etx_strided_view_copy(&to, &from);
  return ETX_OK;
}

etx_status etx_kernel_view_as_complex_copy_out_prepare(etx_call* call) {
  const etx_dtype part =
      etx_call_tensor(call, ETX_ARG_view_as_complex_copy_self)->dtype;
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_view_as_complex_copy_out,
                               etx_dtype_to_complex(part)));
  const etx_strided_view from = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_view_as_complex_copy_self));
  etx_strided_view to = etx_strided_view_of(out_of(call));
  view_parts(&to, part);
  etx_prepare_copy(call, ETX_ARG_view_as_complex_copy_out, &to,
                   ETX_ARG_view_as_complex_copy_self, &from,
                   run_view_as_complex);
  return ETX_OK;
}

// Permutations.

static void describe_permute(const etx_call* call, etx_strided_view* to,
                             etx_strided_view* from) {
  (void)to;
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_permute_copy_self);
  for (size_t i = 0; i < from->rank; ++i) {
    const size_t at = etx_wrap_dimension(
        etx_call_item(call, ETX_ARG_permute_copy_dims, i), from->rank);
    from->sizes[i] = self->sizes[at];
    from->strides[i] = self->strides[at];
  }
}

static etx_status run_permute(etx_call* call) {
  return etx_run_described(call, describe_permute);
}

etx_status etx_kernel_permute_copy_out_prepare(etx_call* call) {
  const size_t last = call->argument_count - 1;
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_permute_copy_self, last));
  }
  const etx_tensor* const self =
      etx_call_tensor(call, ETX_ARG_permute_copy_self);
  const etx_tensor* const out = etx_call_tensor(call, last);
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype);
  etx_copy copy;  // without the zeros that an initialiser would write
  copy.bytes = (size_t)bytes;
  copy.rank = out->rank;
  for (size_t i = 0; i < out->rank; ++i) {
    const size_t at = etx_wrap_dimension(
        etx_call_item(call, ETX_ARG_permute_copy_dims, i), out->rank);
    copy.dims[i] = (etx_copy_dim){out->sizes[i], out->strides[i] * bytes,
                                  self->strides[at] * bytes};
  }
  etx_prepare_strides(call, &copy, run_permute);
  return ETX_OK;
}

static void swap(etx_strided_view* view, size_t a, size_t b) {
  if (a == b) return;
  const size_t low = a < b ? a : b, high = a < b ? b : a;
  etx_strided_view_move(view, high, low);
  etx_strided_view_move(view, low + 1, high);
}

static void describe_transpose(const etx_call* call, etx_strided_view* to,
                               etx_strided_view* from) {
  (void)to;
  const size_t rank = from->rank;
  swap(from,
       etx_wrap_dimension(
           etx_call_integer(call, ETX_ARG_transpose_copy_int_dim0), rank),
       etx_wrap_dimension(
           etx_call_integer(call, ETX_ARG_transpose_copy_int_dim1), rank));
}

static etx_status run_transpose(etx_call* call) {
  return etx_run_described(call, describe_transpose);
}

etx_status etx_kernel_transpose_copy_int_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_transpose, run_transpose);
}

static void describe_t(const etx_call* call, etx_strided_view* to,
                       etx_strided_view* from) {
  (void)call;
  (void)to;
  if (from->rank == 2) swap(from, 0, 1);
}

static etx_status run_t(etx_call* call) {
  return etx_run_described(call, describe_t);
}

etx_status etx_kernel_t_copy_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_t, run_t);
}

static void describe_flip(const etx_call* call, etx_strided_view* to,
                          etx_strided_view* from) {
  (void)to;
  const size_t count =
      etx_call_value(call, ETX_ARG_flip_dims)->as.integers.count;
  for (size_t i = 0; i < count && from->rank > 0; ++i) {
    const size_t at = etx_wrap_dimension(
        etx_call_item(call, ETX_ARG_flip_dims, i), from->rank);
    const int64_t size = from->sizes[at];
    if (size > 0) etx_strided_view_slice(from, at, size - 1, size, -1);
  }
}

static etx_status run_flip(etx_call* call) {
  return etx_run_described(call, describe_flip);
}

etx_status etx_kernel_flip_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_flip, run_flip);
}

// `from` has an additional dimension of stride 0 before each of its dimensions.
static void describe_repeat(const etx_call* call, etx_strided_view* to,
                            etx_strided_view* from) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_repeat_self);
  const etx_tensor* out = out_of(call);
  const size_t extra = (size_t)out->rank - self->rank;
  if (etx_tensor_numel(out) == 0) {
    *from = *to;
    return;
  }
  to->rank = from->rank = 0;
  for (size_t i = 0; i < out->rank; ++i) {
    const int32_t size = i < extra ? 1 : self->sizes[i - extra];
    const int32_t count = out->sizes[i] / size;
    etx_strided_view_append(to, count, (ptrdiff_t)out->strides[i] * size);
    etx_strided_view_append(from, count, 0);
    etx_strided_view_append(to, size, out->strides[i]);
    etx_strided_view_append(from, size,
                            i < extra ? 0 : self->strides[i - extra]);
  }
}

static etx_status run_repeat(etx_call* call) {
  return etx_run_described(call, describe_repeat);
}

etx_status etx_kernel_repeat_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_repeat, run_repeat);
}
