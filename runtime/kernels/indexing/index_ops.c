// Operators with several index tensors (index, index_put) and with one index
// along a dimension (index_select, index_copy, index_add, index_fill). All
// indices are checked first, so a refused call has written nothing.

#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/indexing/row_indexing.h"
#include "runtime/kernels/indexing/advanced_index.h"
#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/registry/checked_kernels.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/registry/temporary_kernels.h"

static bool has_masks(const etx_advanced_index* s) {
  for (size_t k = 0; k < s->count; ++k) {
    if (etx_index_is_mask(s->indices[k])) return true;
  }
  return false;
}

static etx_status run_index(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_index_tensor_self);
  int32_t sizes[2 * ETX_MAX_RANK];
  etx_advanced_index s;
  ETX_TRY(etx_advanced_index_read(&s, call, 1));
  ETX_TRY(etx_advanced_index_check(&s, call, self, true));
  if (has_masks(&s)) {
    (void)etx_advanced_index_sizes(&s, self->sizes, self->rank, sizes);
    ETX_TRY(etx_call_resize_out(call, ETX_ARG_index_tensor_out, sizes));
  }
  const etx_strided_view from = etx_strided_view_of(self);
  const etx_strided_view out =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_index_tensor_out));
  etx_advanced_index_move(&s, &from, &out, ETX_ADVANCED_INDEX_READS);
  return ETX_OK;
}

static etx_status refuse_index(const etx_call* call) {
  etx_advanced_index s;
  ETX_TRY(etx_advanced_index_read(&s, call, 1));
  return etx_advanced_index_check(
      &s, call, etx_call_tensor(call, ETX_ARG_index_tensor_self), true);
}

const etx_kernel_check etx_check_index = {
    UINT64_C(1) << ETX_ARG_index_tensor_indices, refuse_index};

// The index tensor and its position, if a list has exactly one.
static const etx_tensor* single_index(const etx_call* call,
                                      size_t* out_dimension) {
  const etx_value* list = etx_call_value(call, ETX_ARG_index_tensor_indices);
  const etx_tensor* index = NULL;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    if (list->as.tensors.items[i] == NULL) continue;
    if (index != NULL) return NULL;
    index = &list->as.tensors.items[i]->as.tensor;
    *out_dimension = i;
  }
  return index;
}

static etx_status run_index_dense(etx_call* call) {
  size_t dimension = 0;
  const etx_tensor* index = single_index(call, &dimension);
  ETX_TRY(etx_row_indexing_check(call, index, true));
  etx_row_indexing_read(call, etx_call_tensor(call, ETX_ARG_index_tensor_self),
                        index, etx_call_tensor(call, ETX_ARG_index_tensor_out));
  return ETX_OK;
}

etx_status etx_kernel_index_tensor_out_prepare(etx_call* call) {
  size_t dimension = 0;
  const etx_tensor* index = single_index(call, &dimension);
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_index_tensor_self,
                                    ETX_ARG_index_tensor_out));
  const bool is_dense =
      index != NULL &&
      etx_row_indexing_plan(
          call, etx_call_tensor(call, ETX_ARG_index_tensor_self), dimension,
          index, etx_call_tensor(call, ETX_ARG_index_tensor_out));
  call->run = is_dense ? run_index_dense : run_index;
  return ETX_OK;
}

// `values`, broadcast to these sizes.
static etx_strided_view broadcast_values(const etx_tensor* values,
                                         const int32_t* sizes, size_t rank) {
  etx_strided_view view;
  view.data = values->data;
  view.dtype = values->dtype;
  view.rank = 0;
  for (size_t i = 0; i < rank; ++i) {
    const size_t missing = rank > values->rank ? rank - values->rank : 0;
    const size_t at = i + values->rank - rank;
    const bool still = i < missing || values->sizes[at] == 1;
    etx_strided_view_append(&view, sizes[i], still ? 0 : values->strides[at]);
  }
  return view;
}

static etx_status check_values(const etx_call* call, const etx_tensor* values,
                               const int32_t* sizes, size_t rank) {
  for (size_t i = 0; i < values->rank; ++i) {
    const int32_t found = values->sizes[values->rank - 1 - i];
    const int32_t wanted = i < rank ? sizes[rank - 1 - i] : 1;
    if (found == 1 || found == wanted) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a size of 'values' is %i, expected 1 or %i",
                           (int64_t)found, (int64_t)wanted);
  }
  return ETX_OK;
}

// Adds to `self`. Sums of half types are accumulated in a copy (accumulate.h).
static void add_selected(const etx_call* call, const etx_advanced_index* s,
                         const etx_strided_view* self,
                         const etx_strided_view* values) {
  if (!etx_adds_in_copy(self->dtype)) {
    etx_advanced_index_move(s, self, values, ETX_ADVANCED_INDEX_ADDS);
    return;
  }
  etx_strided_view sums = *self;
  ptrdiff_t stride = 1;
  sums.data = call->temporary;
  sums.dtype = ETX_DTYPE_FLOAT32;
  for (size_t i = sums.rank; i-- > 0;) {
    sums.strides[i] = stride;
    stride *= sums.sizes[i];
  }
  etx_strided_view_copy(&sums, self);
  etx_advanced_index_move(s, &sums, values, ETX_ADVANCED_INDEX_ADDS);
  etx_strided_view_copy(self, &sums);
}

// Writes to argument `target`. Self is copied to it first, unless it is self.
static etx_status put(const etx_call* call, const etx_advanced_index* s,
                      const etx_strided_view* values, size_t target,
                      bool adds) {
  const etx_strided_view self =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_index_put_self));
  const etx_strided_view out =
      etx_strided_view_of(etx_call_tensor(call, target));
  if (target != 0) etx_strided_view_copy(&out, &self);
  if (adds) {
    add_selected(call, s, &out, values);
  } else {
    etx_advanced_index_move(s, &out, values, ETX_ADVANCED_INDEX_WRITES);
  }
  return ETX_OK;
}

// The argument that index_put_ or index_put.out writes.
static size_t target_of(const etx_call* call) {
  return call->argument_count == 4 ? 0 : 4;
}

// A single number may have another type than self (see prepare_put); `number`
// is room for it in the type of self.
static etx_tensor values_of(const etx_call* call, etx_scalar* number) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_index_put_self)->dtype;
  etx_tensor values = *etx_call_tensor(call, ETX_ARG_index_put_values);
  if (values.dtype == dtype) return values;
  etx_convert(dtype, number, 1, values.dtype, values.data, 1, 1);
  values.dtype = dtype;
  values.data = number;
  return values;
}

// What is selected, whose sizes are written to `sizes`; checked.
static etx_status read_selection(const etx_call* call, etx_advanced_index* s,
                                 int32_t sizes[2 * ETX_MAX_RANK],
                                 size_t* out_rank) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_index_put_self);
  ETX_TRY(etx_advanced_index_read(s, call, 1));
  *out_rank = etx_advanced_index_sizes(s, self->sizes, self->rank, sizes);
  ETX_TRY(check_values(call, etx_call_tensor(call, ETX_ARG_index_put_values),
                       sizes, *out_rank));
  return etx_advanced_index_check(s, call, self, true);
}

static etx_status run_index_put(etx_call* call) {
  etx_scalar number = {0};
  const etx_tensor values = values_of(call, &number);
  int32_t sizes[2 * ETX_MAX_RANK];
  size_t rank = 0;
  etx_advanced_index s;
  ETX_TRY(read_selection(call, &s, sizes, &rank));
  const etx_strided_view spread = broadcast_values(&values, sizes, rank);
  return put(call, &s, &spread, target_of(call),
             etx_call_boolean(call, ETX_ARG_index_put_accumulate));
}

static etx_status refuse_put(const etx_call* call) {
  size_t dimension = 0;
  const etx_tensor* index = single_index(call, &dimension);
  int32_t sizes[2 * ETX_MAX_RANK];
  size_t rank = 0;
  etx_advanced_index s;
  // It has no index that could be out of range.
  if (index != NULL && index->rank == 0 && etx_index_is_mask(index)) {
    return ETX_OK;
  }
  return read_selection(call, &s, sizes, &rank);
}

const etx_kernel_check etx_check_index_put = {
    UINT64_C(1) << ETX_ARG_index_put_indices, refuse_put};

// A mask without dimensions as the only index selects all of self or nothing.
static etx_status run_put_all(etx_call* call) {
  const etx_tensor* mask = &etx_call_value(call, ETX_ARG_index_put_indices)
                                ->as.tensors.items[0]
                                ->as.tensor;
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_index_put_self);
  const etx_tensor* values = etx_call_tensor(call, ETX_ARG_index_put_values);
  etx_advanced_index s = {.rank = 1};
  int32_t sizes[ETX_MAX_RANK + 1];
  s.sizes[0] = *(const uint8_t*)mask->data != 0;
  const size_t rank =
      etx_advanced_index_sizes(&s, self->sizes, self->rank, sizes);
  ETX_TRY(check_values(call, values, sizes, rank));
  const etx_strided_view spread = broadcast_values(values, sizes, rank);
  return put(call, &s, &spread, target_of(call),
             etx_call_boolean(call, ETX_ARG_index_put_accumulate));
}

// As in PyTorch, values of one element may have another type than self if the
// only index is a mask.
static bool is_masked_fill(const etx_call* call) {
  size_t dimension = 0;
  const etx_tensor* index = single_index(call, &dimension);
  return index != NULL && index->dtype == ETX_DTYPE_BOOL && index->rank > 0 &&
         !etx_call_boolean(call, ETX_ARG_index_put_accumulate) &&
         etx_tensor_numel(etx_call_tensor(call, ETX_ARG_index_put_values)) == 1;
}

static etx_status check_types(const etx_call* call) {
  if (!is_masked_fill(call))
    return etx_call_check_same_dtype(call, ETX_ARG_index_put_self,
                                     ETX_ARG_index_put_values);
  const etx_dtype self = etx_call_tensor(call, ETX_ARG_index_put_self)->dtype;
  if (etx_call_tensor(call, ETX_ARG_index_put_values)->dtype == self)
    return ETX_OK;
  ETX_TRY(etx_call_check_real(call, ETX_ARG_index_put_self));
  return etx_call_check_real(call, ETX_ARG_index_put_values);
}

// Values that have the sizes of the selection by one index.
static etx_status run_put_dense(etx_call* call) {
  size_t dimension = 0;
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_index_put_self);
  const etx_tensor* out = etx_call_tensor(call, target_of(call));
  const etx_tensor* index = single_index(call, &dimension);
  ETX_TRY(etx_row_indexing_check(call, index, true));
  if (out->data != self->data) {
    etx_copy_short(out->data, self->data, etx_tensor_bytes(out));
  }
  etx_row_indexing_write(call, out, index,
                         etx_call_tensor(call, ETX_ARG_index_put_values));
  return ETX_OK;
}

static etx_kernel_function choose_put(etx_call* call) {
  size_t dimension = 0;
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_index_put_self);
  const etx_tensor* values = etx_call_tensor(call, ETX_ARG_index_put_values);
  const etx_tensor* index = single_index(call, &dimension);
  if (index == NULL) return run_index_put;
  if (etx_index_is_mask(index)) {
    return index->rank == 0 ? run_put_all : run_index_put;
  }
  const bool is_dense =
      !etx_call_boolean(call, ETX_ARG_index_put_accumulate) &&
      values->dtype == self->dtype &&
      etx_tensor_is_contiguous(etx_call_tensor(call, target_of(call))) &&
      etx_row_indexing_plan(call, self, dimension, index, values);
  return is_dense ? run_put_dense : run_index_put;
}

static etx_status prepare_put(etx_call* call) {
  ETX_TRY(check_types(call));
  if (etx_call_boolean(call, ETX_ARG_index_put_accumulate)) {
    const etx_tensor* self = etx_call_tensor(call, ETX_ARG_index_put_self);
    ETX_TRY(etx_call_check_real(call, ETX_ARG_index_put_self));
    ETX_TRY(etx_sum_copy_bytes(call, self, &call->temporary_bytes));
  }
  call->run = choose_put(call);
  return ETX_OK;
}

etx_status etx_kernel_index_put_in_place_prepare(etx_call* call) {
  return prepare_put(call);
}

etx_status etx_kernel_index_put_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_index_put_self,
                                    ETX_ARG_index_put_out));
  return prepare_put(call);
}

etx_status etx_temporary_index_put(const etx_call* call, size_t* out_bytes) {
  *out_bytes = 0;
  if (!etx_call_boolean(call, ETX_ARG_index_put_accumulate)) return ETX_OK;
  return etx_sum_copy_bytes(call, etx_call_tensor(call, ETX_ARG_index_put_self),
                            out_bytes);
}

// ---- one index along a dimension ----

// Operators with (self, dim, index, ..). A tensor or an index without
// dimensions is treated as a vector of one element.
typedef struct dim_index {
  etx_advanced_index s;
  etx_tensor index;
  int32_t index_size, index_stride;
  size_t dimension;
} dim_index;

static etx_strided_view as_vector(const etx_tensor* tensor) {
  etx_strided_view view = etx_strided_view_of(tensor);
  if (view.rank == 0) etx_strided_view_append(&view, 1, 0);
  return view;
}

static etx_status read_along(dim_index* a, const etx_call* call, bool wraps) {
  const etx_strided_view self =
      as_vector(etx_call_tensor(call, ETX_ARG_index_select_self));
  const etx_tensor* index = etx_call_tensor(call, ETX_ARG_index_select_index);
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_index_select_dim), self.rank);
  a->index = *index;
  a->index_size = index->rank == 0 ? 1 : index->sizes[0];
  a->index_stride = index->rank == 0 ? 1 : index->strides[0];
  a->index.rank = 1;
  a->index.sizes = &a->index_size;
  a->index.strides = &a->index_stride;
  a->dimension = at;
  etx_advanced_index_of_one(&a->s, &a->index, at);
  return etx_index_check(call, &a->index, self.sizes[at], wraps);
}

static etx_status refuse_along(const etx_call* call) {
  dim_index a;
  return read_along(&a, call, false);
}

static etx_status refuse_fill(const etx_call* call) {
  dim_index a;
  return read_along(&a, call, true);
}

const etx_kernel_check etx_check_index_along = {
    UINT64_C(1) << ETX_ARG_index_select_index, refuse_along};
const etx_kernel_check etx_check_index_fill = {
    UINT64_C(1) << ETX_ARG_index_fill_int_scalar_index, refuse_fill};

static etx_status run_index_select(etx_call* call) {
  const etx_strided_view self =
      as_vector(etx_call_tensor(call, ETX_ARG_index_select_self));
  const etx_strided_view out =
      as_vector(etx_call_tensor(call, ETX_ARG_index_select_out));
  dim_index a;
  ETX_TRY(read_along(&a, call, false));
  etx_advanced_index_move(&a.s, &self, &out, ETX_ADVANCED_INDEX_READS);
  return ETX_OK;
}

static etx_status run_index_select_dense(etx_call* call) {
  const etx_tensor* index = etx_call_tensor(call, ETX_ARG_index_select_index);
  ETX_TRY(etx_row_indexing_check(call, index, false));
  etx_row_indexing_read(call, etx_call_tensor(call, ETX_ARG_index_select_self),
                        index, etx_call_tensor(call, ETX_ARG_index_select_out));
  return ETX_OK;
}

etx_status etx_kernel_index_select_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_index_select_self);
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_index_select_index)));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_index_select_self,
                                    ETX_ARG_index_select_out));
  const bool is_dense = etx_row_indexing_plan(
      call, self,
      etx_wrap_dimension(etx_call_integer(call, ETX_ARG_index_select_dim),
                         self->rank),
      etx_call_tensor(call, ETX_ARG_index_select_index),
      etx_call_tensor(call, ETX_ARG_index_select_out));
  call->run = is_dense ? run_index_select_dense : run_index_select;
  return ETX_OK;
}

// Writes or adds slices of source.
static etx_status put_along(const etx_call* call, bool adds) {
  const etx_strided_view source =
      as_vector(etx_call_tensor(call, ETX_ARG_index_copy_source));
  const etx_strided_view self =
      as_vector(etx_call_tensor(call, ETX_ARG_index_copy_self));
  const etx_strided_view out =
      as_vector(etx_call_tensor(call, call->argument_count - 1));
  dim_index a;
  ETX_TRY(read_along(&a, call, false));
  etx_strided_view_copy(&out, &self);
  if (adds) {
    add_selected(call, &a.s, &out, &source);
  } else {
    etx_advanced_index_move(&a.s, &out, &source, ETX_ADVANCED_INDEX_WRITES);
  }
  return ETX_OK;
}

static etx_status run_index_copy(etx_call* call) {
  return put_along(call, false);
}
static etx_status run_index_add(etx_call* call) {
  return put_along(call, true);
}

static etx_status prepare_along(etx_call* call, etx_kernel_function run) {
  const size_t out = call->argument_count - 1;
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_index_copy_self,
                                    ETX_ARG_index_copy_source));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_index_copy_self, out));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_index_copy_out_prepare(etx_call* call) {
  ETX_TRY(
      etx_call_check_dtype(call, ETX_ARG_index_copy_index, ETX_DTYPE_INT64));
  return prepare_along(call, run_index_copy);
}

etx_status etx_kernel_index_add_out_prepare(etx_call* call) {
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_index_add_index)));
  ETX_TRY(etx_call_check_real(call, ETX_ARG_index_add_self));
  if (etx_call_real(call, ETX_ARG_index_add_alpha) != 1) {
    return etx_call_refuse(call, ETX_UNSUPPORTED, "'alpha' is not 1");
  }
  ETX_TRY(etx_sum_copy_bytes(call,
                             etx_call_tensor(call, ETX_ARG_index_add_self),
                             &call->temporary_bytes));
  return prepare_along(call, run_index_add);
}

etx_status etx_temporary_index_add(const etx_call* call, size_t* out_bytes) {
  return etx_sum_copy_bytes(call, etx_call_tensor(call, ETX_ARG_index_add_self),
                            out_bytes);
}

static etx_status run_index_fill(etx_call* call) {
  const etx_strided_view self =
      as_vector(etx_call_tensor(call, ETX_ARG_index_fill_int_scalar_self));
  const etx_strided_view out =
      as_vector(etx_call_tensor(call, ETX_ARG_index_fill_int_scalar_out));
  etx_scalar value = {0};
  dim_index a;
  ETX_TRY(read_along(&a, call, true));
  etx_scalar_store(etx_call_value(call, ETX_ARG_index_fill_int_scalar_value),
                   out.dtype, &value);
  etx_strided_view spread = out;
  spread.data = (char*)&value;
  for (size_t i = 0; i < spread.rank; ++i) spread.strides[i] = 0;
  spread.sizes[a.dimension] = a.index_size;
  etx_strided_view_copy(&out, &self);
  etx_advanced_index_move(&a.s, &out, &spread, ETX_ADVANCED_INDEX_WRITES);
  return ETX_OK;
}

etx_status etx_kernel_index_fill_int_scalar_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_index_fill_int_scalar_index,
                               ETX_DTYPE_INT64));
  ETX_TRY(etx_call_check_real(call, ETX_ARG_index_fill_int_scalar_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_index_fill_int_scalar_self,
                                    ETX_ARG_index_fill_int_scalar_out));
  call->run = run_index_fill;
  return ETX_OK;
}
