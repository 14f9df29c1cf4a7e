// Writes rows into a cache; other rows keep their content.

#include <string.h>

#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/registry/checked_kernels.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/strided_view.h"

// Refuses rows from `start` on that exceed the cache.
static etx_status check_start(const etx_call* call, int64_t start,
                              int32_t count, int32_t size) {
  if (start >= 0 && start <= (int64_t)size - count) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "%i rows from %i on are written to a cache of %i",
                         (int64_t)count, start, (int64_t)size);
}

static void write_rows(const etx_strided_view* cache, const etx_tensor* rows,
                       size_t dimension, int64_t start) {
  const etx_strided_view from = etx_strided_view_of(rows);
  etx_strided_view part = *cache;
  etx_strided_view_slice(&part, dimension, start, from.sizes[dimension], 1);
  etx_strided_view_copy(&part, &from);
}

static etx_status refuse_kv_update(const etx_call* call) {
  const etx_tensor* value = etx_call_tensor(call, ETX_ARG_kv_update_value);
  const etx_tensor* cache = etx_call_tensor(call, ETX_ARG_kv_update_cache);
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_kv_update_dim), cache->rank);
  return check_start(call, etx_call_integer(call, ETX_ARG_kv_update_start),
                     value->sizes[at], cache->sizes[at]);
}

const etx_kernel_check etx_check_kv_update = {
    UINT64_C(1) << ETX_ARG_kv_update_dim | UINT64_C(1)
                                               << ETX_ARG_kv_update_start,
    refuse_kv_update};

static etx_status run_kv_update(etx_call* call) {
  const etx_tensor* value = etx_call_tensor(call, ETX_ARG_kv_update_value);
  const etx_strided_view cache =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_kv_update_cache));
  const etx_strided_view out =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_kv_update_out));
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_kv_update_dim), cache.rank);
  const int64_t start = etx_call_integer(call, ETX_ARG_kv_update_start);
  ETX_TRY(refuse_kv_update(call));
  etx_strided_view_copy(&out, &cache);
  write_rows(&out, value, at, start);
  return ETX_OK;
}

etx_status etx_kernel_kv_update_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_kv_update_cache,
                                    ETX_ARG_kv_update_value));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_kv_update_cache,
                                    ETX_ARG_kv_update_out));
  call->run = run_kv_update;
  return ETX_OK;
}

// Several positions must be below the capacity even if the cache is a ring: the
// queries of the earlier ones would read rows that the later ones overwrite.
// Writes the rows to `out`, unless it is NULL.
static etx_status find_rows(const etx_call* call, const etx_tensor* out) {
  const etx_tensor* index = etx_call_tensor(call, ETX_ARG_cache_rows_index);
  const int64_t capacity = etx_call_integer(call, ETX_ARG_cache_rows_capacity);
  const size_t count = etx_tensor_numel(index);
  const size_t bytes = etx_dtype_bytes(index->dtype);
  const bool wraps =
      count == 1 && etx_call_boolean(call, ETX_ARG_cache_rows_wraps);
  for (size_t i = 0; i < count; ++i) {
    const char* at = (const char*)index->data + i * bytes;
    int64_t row = etx_index_at(index->dtype, at, 0);
    if (row < 0 || (row >= capacity && !wraps)) {
      return etx_call_refuse(
          call, ETX_OUT_OF_RANGE,
          "%t has room for %i rows, a row at position %i does not fit",
          etx_call_value(call, ETX_ARG_cache_rows_what)->as.string, capacity,
          row);
    }
    if (wraps) row %= capacity;
    if (out == NULL) continue;
    if (index->dtype == ETX_DTYPE_INT32) {
      ((int32_t*)out->data)[i] = (int32_t)row;
    } else {
      ((int64_t*)out->data)[i] = row;
    }
  }
  return ETX_OK;
}

static etx_status run_cache_rows(etx_call* call) {
  return find_rows(call, etx_call_tensor(call, ETX_ARG_cache_rows_out));
}

static etx_status refuse_cache_rows(const etx_call* call) {
  return find_rows(call, NULL);
}

const etx_kernel_check etx_check_cache_rows = {
    UINT64_C(1) << ETX_ARG_cache_rows_index, refuse_cache_rows};

etx_status etx_kernel_cache_rows_out_prepare(etx_call* call) {
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_cache_rows_index)));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_cache_rows_index,
                                    ETX_ARG_cache_rows_out));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_cache_rows_index));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_cache_rows_out));
  if (etx_call_integer(call, ETX_ARG_cache_rows_capacity) <= 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a cache has room for %i rows",
                           etx_call_integer(call, ETX_ARG_cache_rows_capacity));
  }
  call->run = run_cache_rows;
  return ETX_OK;
}

// The out tensor has one element, which is not used.
static void clear_result(const etx_tensor* out) {
  if (out->data != NULL) memset(out->data, 0, etx_tensor_bytes(out));
}

static etx_status refuse_update_cache(const etx_call* call) {
  return check_start(
      call, etx_call_integer(call, ETX_ARG_update_cache_start_pos),
      etx_call_tensor(call, ETX_ARG_update_cache_value)->sizes[1],
      etx_call_tensor(call, ETX_ARG_update_cache_cache)->sizes[1]);
}

const etx_kernel_check etx_check_update_cache = {
    UINT64_C(1) << ETX_ARG_update_cache_start_pos, refuse_update_cache};

static etx_status run_update_cache(etx_call* call) {
  const etx_tensor* value = etx_call_tensor(call, ETX_ARG_update_cache_value);
  const etx_strided_view cache =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_update_cache_cache));
  const int64_t start = etx_call_integer(call, ETX_ARG_update_cache_start_pos);
  ETX_TRY(refuse_update_cache(call));
  write_rows(&cache, value, 1, start);
  clear_result(etx_call_tensor(call, ETX_ARG_update_cache_out));
  return ETX_OK;
}

etx_status etx_kernel_update_cache_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_update_cache_value,
                                    ETX_ARG_update_cache_cache));
  call->run = run_update_cache;
  return ETX_OK;
}

static etx_status refuse_update_with_indices(const etx_call* call) {
  return etx_index_check(
      call, etx_call_tensor(call, ETX_ARG_update_cache_with_indices_indices),
      etx_call_tensor(call, ETX_ARG_update_cache_with_indices_cache)->sizes[1],
      false);
}

const etx_kernel_check etx_check_update_with_indices = {
    UINT64_C(1) << ETX_ARG_update_cache_with_indices_indices,
    refuse_update_with_indices};

// value is [B, S, H, D], indices are [B, S].
static etx_status run_update_with_indices(etx_call* call) {
  const etx_strided_view value = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_update_cache_with_indices_value));
  const etx_strided_view cache = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_update_cache_with_indices_cache));
  const etx_tensor* indices =
      etx_call_tensor(call, ETX_ARG_update_cache_with_indices_indices);
  const char* index = indices->data;
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(indices->dtype);
  ETX_TRY(refuse_update_with_indices(call));
  for (int32_t b = 0; b < indices->sizes[0]; ++b) {
    for (int32_t s = 0; s < indices->sizes[1]; ++s) {
      etx_strided_view from = value, to = cache;
      const ptrdiff_t at = b * (ptrdiff_t)indices->strides[0] +
                           s * (ptrdiff_t)indices->strides[1];
      etx_strided_view_select(&from, 0, b);
      etx_strided_view_select(&from, 0, s);
      etx_strided_view_select(&to, 0, b);
      etx_strided_view_select(
          &to, 0, etx_index_at(indices->dtype, index + at * bytes, 0));
      etx_strided_view_copy(&to, &from);
    }
  }
  clear_result(etx_call_tensor(call, ETX_ARG_update_cache_with_indices_out));
  return ETX_OK;
}

etx_status etx_kernel_update_cache_with_indices_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call,
                                    ETX_ARG_update_cache_with_indices_value,
                                    ETX_ARG_update_cache_with_indices_cache));
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_update_cache_with_indices_indices)));
  call->run = run_update_with_indices;
  return ETX_OK;
}
