// gather and the scatters: one dimension is read or written by an index for
// every element; and embedding: rows of a table. All indices are checked before
// the first element is written.

#include <string.h>

#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/indexing/row_indexing.h"
#include "runtime/kernels/indexing/advanced_index.h"
#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/indexing/gather_iterator.h"
#include "runtime/kernels/registry/checked_kernels.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/registry/temporary_kernels.h"

static etx_status run_embedding_dense(etx_call* call) {
  const etx_tensor* indices = etx_call_tensor(call, ETX_ARG_embedding_indices);
  ETX_TRY(etx_row_indexing_check(call, indices, false));
  etx_row_indexing_read(call, etx_call_tensor(call, ETX_ARG_embedding_weight),
                        indices, etx_call_tensor(call, ETX_ARG_embedding_out));
  return ETX_OK;
}

static etx_status refuse_embedding(const etx_call* call) {
  return etx_index_check(
      call, etx_call_tensor(call, ETX_ARG_embedding_indices),
      etx_call_tensor(call, ETX_ARG_embedding_weight)->sizes[0], false);
}

const etx_kernel_check etx_check_embedding = {
    UINT64_C(1) << ETX_ARG_embedding_indices, refuse_embedding};

static etx_status run_embedding(etx_call* call) {
  const etx_tensor* weight = etx_call_tensor(call, ETX_ARG_embedding_weight);
  const etx_tensor* indices = etx_call_tensor(call, ETX_ARG_embedding_indices);
  const etx_strided_view from = etx_strided_view_of(weight);
  const etx_strided_view out =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_embedding_out));
  etx_advanced_index rows;
  ETX_TRY(refuse_embedding(call));
  etx_advanced_index_of_one(&rows, indices, 0);
  etx_advanced_index_move(&rows, &from, &out, ETX_ADVANCED_INDEX_READS);
  return ETX_OK;
}

etx_status etx_kernel_embedding_out_prepare(etx_call* call) {
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_embedding_indices)));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_embedding_weight,
                                    ETX_ARG_embedding_out));
  const bool is_dense = etx_row_indexing_plan(
      call, etx_call_tensor(call, ETX_ARG_embedding_weight), 0,
      etx_call_tensor(call, ETX_ARG_embedding_indices),
      etx_call_tensor(call, ETX_ARG_embedding_out));
  call->run = is_dense ? run_embedding_dense : run_embedding;
  return ETX_OK;
}

// The size of the indexed dimension.
static int64_t indexed_size(const etx_tensor* tensor, size_t dimension) {
  return tensor->rank == 0 ? 1 : tensor->sizes[dimension];
}

static size_t dimension_of(const etx_call* call) {
  return etx_wrap_dimension(etx_call_integer(call, ETX_ARG_gather_dim),
                            etx_call_tensor(call, ETX_ARG_gather_self)->rank);
}

// Copies a row from or to `self`, with index type I and element type T.
#define MOVE_ROW(I, T)                                                      \
  for (size_t i = 0; i < r->count; ++i) {                                   \
    const ptrdiff_t n = (ptrdiff_t)i;                                       \
    I index;                                                                \
    memcpy(&index, r->index + n * r->index_step, sizeof index);             \
    char* self = r->self + n * r->self_step + (ptrdiff_t)index * r->stride; \
    char* other = r->other + n * r->other_step;                             \
    memcpy(reads ? other : self, reads ? self : other, sizeof(T));          \
  }

// Writes one element to all indices. The element and the row are read once,
// before the loop: reads in the loop took a third more time in some runs,
// probably by 4K aliasing of the stack with the stores.
#define FILL_ROW(I, T)                                                   \
  T element;                                                             \
  memcpy(&element, r.other, sizeof element);                             \
  for (size_t i = 0; i < r.count; ++i) {                                 \
    const ptrdiff_t n = (ptrdiff_t)i;                                    \
    I index;                                                             \
    memcpy(&index, r.index + n * r.index_step, sizeof index);            \
    char* self = r.self + n * r.self_step + (ptrdiff_t)index * r.stride; \
    memcpy(self, &element, sizeof element);                              \
  }

static void fill_row(etx_gather_row r, size_t bytes) {
  if (r.index_dtype == ETX_DTYPE_INT32) {
    ETX_SWITCH_BYTES(bytes, T, {FILL_ROW(int32_t, T)})
  } else {
    ETX_SWITCH_BYTES(bytes, T, {FILL_ROW(int64_t, T)})
  }
}

static void move_row(const etx_gather_row* r, size_t bytes, bool reads) {
  if (r->index_dtype == ETX_DTYPE_INT32) {
    ETX_SWITCH_BYTES(bytes, T, {MOVE_ROW(int32_t, T)})
  } else {
    ETX_SWITCH_BYTES(bytes, T, {MOVE_ROW(int64_t, T)})
  }
}

// The operators have the same first arguments. `indexed` is the one whose
// elements the indices select.
static etx_status check_indices(const etx_call* call, size_t indexed) {
  return etx_index_check(
      call, etx_call_tensor(call, ETX_ARG_gather_index),
      indexed_size(etx_call_tensor(call, indexed), dimension_of(call)), false);
}

static etx_status refuse_gather(const etx_call* call) {
  return check_indices(call, ETX_ARG_gather_self);
}

static etx_status refuse_scatter(const etx_call* call) {
  return check_indices(call, call->argument_count - 1);
}

const etx_kernel_check etx_check_gather = {UINT64_C(1) << ETX_ARG_gather_index,
                                           refuse_gather};
const etx_kernel_check etx_check_scatter = {
    UINT64_C(1) << ETX_ARG_scatter_src_index, refuse_scatter};

static etx_status run_gather(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_gather_self);
  const etx_tensor* index = etx_call_tensor(call, ETX_ARG_gather_index);
  const size_t at = dimension_of(call);
  const size_t bytes = etx_dtype_bytes(self->dtype);
  ETX_TRY(refuse_gather(call));
  etx_strided_iterator rows;
  etx_gather_row row;
  for (bool more =
           etx_gather_iterator_start(&rows, &row, self, at, index,
                                     etx_call_tensor(call, ETX_ARG_gather_out));
       more; more = etx_gather_iterator_next(&rows, &row)) {
    move_row(&row, bytes, true);
  }
  return ETX_OK;
}

etx_status etx_kernel_gather_out_prepare(etx_call* call) {
  ETX_TRY(
      etx_index_check_dtype(call, etx_call_tensor(call, ETX_ARG_gather_index)));
  ETX_TRY(
      etx_call_check_same_dtype(call, ETX_ARG_gather_self, ETX_ARG_gather_out));
  call->run = run_gather;
  return ETX_OK;
}

static etx_status scatter(const etx_call* call, const etx_tensor* source) {
  const etx_strided_view self =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_scatter_src_self));
  const etx_tensor* index = etx_call_tensor(call, ETX_ARG_scatter_src_index);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_scatter_src_out);
  const size_t at = dimension_of(call);
  const size_t bytes = etx_dtype_bytes(self.dtype);
  ETX_TRY(refuse_scatter(call));
  const etx_strided_view whole = etx_strided_view_of(out);
  etx_strided_view_copy(&whole, &self);
  etx_strided_iterator rows;
  etx_gather_row row;
  for (bool more =
           etx_gather_iterator_start(&rows, &row, out, at, index, source);
       more; more = etx_gather_iterator_next(&rows, &row)) {
    if (row.other_step == 0) {
      fill_row(row, bytes);
    } else {
      move_row(&row, bytes, false);
    }
  }
  return ETX_OK;
}

static etx_status run_scatter_source(etx_call* call) {
  return scatter(call, etx_call_tensor(call, ETX_ARG_scatter_src_src));
}

// Reads the value as a tensor without dimensions.
static etx_status run_scatter_value(etx_call* call) {
  const etx_dtype dtype =
      etx_call_tensor(call, ETX_ARG_scatter_value_self)->dtype;
  etx_scalar value = {0};
  etx_scalar_store(etx_call_value(call, ETX_ARG_scatter_value_value), dtype,
                   &value);
  const etx_tensor source = {.data = &value, .dtype = dtype};
  return scatter(call, &source);
}

static etx_status prepare_scatter(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_scatter_src_index)));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_scatter_src_self,
                                    call->argument_count - 1));
  if (etx_call_is_tensor(call, ETX_ARG_scatter_src_src)) {
    ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_scatter_src_self,
                                      ETX_ARG_scatter_src_src));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_scatter_src_out_prepare(etx_call* call) {
  return prepare_scatter(call, run_scatter_source);
}
etx_status etx_kernel_scatter_value_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_scatter_value_self));
  return prepare_scatter(call, run_scatter_value);
}

// Adds a row with index type I and element type T.
#define ADD_ROW(I, T)                                                       \
  for (size_t i = 0; i < r->count; ++i) {                                   \
    const ptrdiff_t n = (ptrdiff_t)i;                                       \
    I index;                                                                \
    T sum, more;                                                            \
    memcpy(&index, r->index + n * r->index_step, sizeof index);             \
    char* self = r->self + n * r->self_step + (ptrdiff_t)index * r->stride; \
    memcpy(&sum, self, sizeof sum);                                         \
    memcpy(&more, r->other + n * r->other_step, sizeof more);               \
    sum += more;                                                            \
    memcpy(self, &sum, sizeof sum);                                         \
  }

static void add_row(const etx_gather_row* r, etx_dtype to, etx_dtype from) {
  const bool is_wide = r->index_dtype == ETX_DTYPE_INT64;
  if (is_wide && from == ETX_DTYPE_FLOAT32) {
    ADD_ROW(int64_t, float)
  } else if (is_wide && from == ETX_DTYPE_INT64) {
    ADD_ROW(int64_t, uint64_t)
  } else {
    for (size_t i = 0; i < r->count; ++i) {
      const ptrdiff_t n = (ptrdiff_t)i;
      const int64_t index =
          etx_index_at(r->index_dtype, r->index + n * r->index_step, 0);
      etx_accumulate(to,
                     r->self + n * r->self_step + (ptrdiff_t)index * r->stride,
                     from, r->other + n * r->other_step, 1);
    }
  }
}

static void add_rows(const etx_call* call, const etx_tensor* to) {
  const etx_tensor* source = etx_call_tensor(call, ETX_ARG_scatter_add_src);
  etx_strided_iterator rows;
  etx_gather_row row;
  for (bool more = etx_gather_iterator_start(
           &rows, &row, to, dimension_of(call),
           etx_call_tensor(call, ETX_ARG_scatter_add_index), source);
       more; more = etx_gather_iterator_next(&rows, &row)) {
    add_row(&row, to->dtype, source->dtype);
  }
}

// Sums of half types are accumulated in a copy (accumulate.h).
static etx_status run_scatter_add(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_scatter_add_out);
  const etx_strided_view self =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_scatter_add_self));
  const etx_strided_view whole = etx_strided_view_of(out);
  ETX_TRY(refuse_scatter(call));
  if (!etx_adds_in_copy(out->dtype)) {
    etx_strided_view_copy(&whole, &self);
    add_rows(call, out);
    return ETX_OK;
  }
  int32_t strides[ETX_MAX_RANK];
  const etx_tensor sums = etx_sum_copy(call, out, strides);
  const etx_strided_view copy = etx_strided_view_of(&sums);
  etx_strided_view_copy(&copy, &self);
  add_rows(call, &sums);
  etx_strided_view_copy(&whole, &copy);
  return ETX_OK;
}

etx_status etx_kernel_scatter_add_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_scatter_add_self));
  ETX_TRY(etx_sum_copy_bytes(call,
                             etx_call_tensor(call, ETX_ARG_scatter_add_self),
                             &call->temporary_bytes));
  return prepare_scatter(call, run_scatter_add);
}

etx_status etx_temporary_scatter_add(const etx_call* call, size_t* out_bytes) {
  return etx_sum_copy_bytes(
      call, etx_call_tensor(call, ETX_ARG_scatter_add_self), out_bytes);
}
