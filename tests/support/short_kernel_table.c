#include "tests/support/short_kernel_table.h"

size_t test_prepare_count;

static etx_status use(etx_call* call, etx_kernel_function run) {
  ++test_prepare_count;
  call->run = run;
  return ETX_OK;
}

static etx_status run_add(etx_call* call) {
  const etx_tensor* a = etx_call_tensor(call, 0);
  const etx_tensor* b = etx_call_tensor(call, 1);
  const etx_tensor* out = etx_call_tensor(call, 3);
  const size_t count = etx_tensor_numel(out);
  const bool one_a = etx_tensor_numel(a) == 1;
  const bool one_b = etx_tensor_numel(b) == 1;
  for (size_t i = 0; i < count; ++i) {
    ((float*)out->data)[i] = ((const float*)a->data)[one_a ? 0 : i] +
                             ((const float*)b->data)[one_b ? 0 : i];
  }
  return ETX_OK;
}

static etx_status prepare_add(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, 0, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_dtype(call, 1, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_dtype(call, 3, ETX_DTYPE_FLOAT32));
  return use(call, run_add);
}

static void copy_bytes(const etx_tensor* from, const etx_tensor* to) {
  const size_t bytes = etx_tensor_bytes(to);
  if (bytes > 0 && to->data != from->data) memcpy(to->data, from->data, bytes);
}

static etx_status run_copy(etx_call* call) {
  copy_bytes(etx_call_tensor(call, 1), etx_call_tensor(call, 0));
  return ETX_OK;
}

static etx_status prepare_copy(etx_call* call) {
  if (etx_tensor_bytes(etx_call_tensor(call, 0)) !=
      etx_tensor_bytes(etx_call_tensor(call, 1))) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT, "sizes differ");
  }
  return use(call, run_copy);
}

static etx_status run_index_put(etx_call* call) {
  const etx_value* indices = etx_call_value(call, 1);
  const etx_tensor* index = &indices->as.tensors.items[0]->as.tensor;
  const etx_tensor* values = etx_call_tensor(call, 2);
  const etx_tensor* out = etx_call_tensor(call, 4);
  const size_t count = etx_tensor_numel(index);
  copy_bytes(etx_call_tensor(call, 0), out);
  for (size_t i = 0; i < count; ++i) {
    const int64_t at = ((const int64_t*)index->data)[i];
    if (at < 0 || at >= out->sizes[0]) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "index %i is outside 0 to %i", at,
                             (int64_t)out->sizes[0] - 1);
    }
    ((float*)out->data)[at] = ((const float*)values->data)[i];
  }
  return ETX_OK;
}

static etx_status prepare_index_put(etx_call* call) {
  return use(call, run_index_put);
}

static etx_status run_mm(etx_call* call) {
  const etx_tensor* a = etx_call_tensor(call, 0);
  const etx_tensor* b = etx_call_tensor(call, 1);
  const etx_tensor* out = etx_call_tensor(call, 2);
  float* sums = call->temporary;
  const int32_t rows = a->sizes[0];
  const int32_t inner = a->sizes[1];
  const int32_t columns = b->sizes[1];
  for (int32_t i = 0; i < rows * columns; ++i) {
    sums[i] = 0;
    for (int32_t k = 0; k < inner; ++k) {
      sums[i] += ((const float*)a->data)[i / columns * inner + k] *
                 ((const float*)b->data)[k * columns + i % columns];
    }
  }
  const size_t bytes = (size_t)(rows * columns) * sizeof(float);
  if (bytes > 0) memcpy(out->data, sums, bytes);
  return ETX_OK;
}

static etx_status bytes_of_mm(const etx_call* call, size_t* out_bytes) {
  *out_bytes = etx_tensor_bytes(etx_call_tensor(call, 2));
  return ETX_OK;
}

static etx_status prepare_mm(etx_call* call) {
  ETX_TRY(bytes_of_mm(call, &call->temporary_bytes));
  return use(call, run_mm);
}

static etx_status run_sym_size(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const int64_t dim = etx_call_integer(call, 1);
  if (dim < 0 || dim >= self->rank) {
    return etx_call_refuse(call, ETX_BAD_FILE, "no such dimension");
  }
  etx_call_out(call, 2)->as.integer = self->sizes[dim];
  return ETX_OK;
}

static etx_status prepare_sym_size(etx_call* call) {
  return use(call, run_sym_size);
}

static etx_status run_prim_add(etx_call* call) {
  etx_value* out = etx_call_out(call, 2);
  if (etx_call_value(call, 0)->kind == ETX_VALUE_DOUBLE) {
    out->kind = ETX_VALUE_DOUBLE;
    out->as.real = etx_call_real(call, 0) + etx_call_real(call, 1);
    return ETX_OK;
  }
  out->kind = ETX_VALUE_INT;
  out->as.integer = etx_call_integer(call, 0) + etx_call_integer(call, 1);
  return ETX_OK;
}

static etx_status prepare_prim_add(etx_call* call) {
  return use(call, run_prim_add);
}

static etx_status run_prim_lt(etx_call* call) {
  etx_value* out = etx_call_out(call, 2);
  out->kind = ETX_VALUE_BOOL;
  out->as.boolean = etx_call_integer(call, 0) < etx_call_integer(call, 1);
  return ETX_OK;
}

static etx_status prepare_prim_lt(etx_call* call) {
  return use(call, run_prim_lt);
}

static etx_status run_local_scalar(etx_call* call) {
  etx_value* out = etx_call_out(call, 1);
  out->kind = ETX_VALUE_INT;
  out->as.integer = *(const int64_t*)etx_call_tensor(call, 0)->data;
  return ETX_OK;
}

static etx_status prepare_local_scalar(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, 0, ETX_DTYPE_INT64));
  return use(call, run_local_scalar);
}

static etx_status run_nothing(etx_call* call) {
  (void)call;
  return ETX_OK;
}

static etx_status prepare_nothing(etx_call* call) {
  return use(call, run_nothing);
}

static etx_status run_view(etx_call* call) {
  copy_bytes(etx_call_tensor(call, 0), etx_call_tensor(call, 2));
  return ETX_OK;
}

static etx_status prepare_view(etx_call* call) { return use(call, run_view); }

static etx_status run_slice(etx_call* call) {
  copy_bytes(etx_call_tensor(call, 0), etx_call_tensor(call, 5));
  return ETX_OK;
}

static etx_status prepare_slice(etx_call* call) { return use(call, run_slice); }

static const etx_kernel kernels[] = {
    {&etx_op_row_mm_out, prepare_mm, bytes_of_mm, NULL},
    {&etx_op_row_add_out, prepare_add, NULL, NULL},
    {&etx_op_row_copy_in_place, prepare_copy, NULL, NULL},
    {&etx_op_row_index_put_out, prepare_index_put, NULL, NULL},
    {&etx_op_row_sym_size_int, prepare_sym_size, NULL, NULL},
    {&etx_op_row_prim_add_scalar, prepare_prim_add, NULL, NULL},
    {&etx_op_row_prim_lt_scalar, prepare_prim_lt, NULL, NULL},
    {&etx_op_row_local_scalar_dense, prepare_local_scalar, NULL, NULL},
    {&etx_op_row_relu_out, prepare_nothing, NULL, NULL},
    {&etx_op_row_empty_out, prepare_nothing, NULL, NULL},
    {&etx_op_row_view_copy_out, prepare_view, NULL, NULL},
    {&etx_op_row_slice_copy_tensor_out, prepare_slice, NULL, NULL},
};

const etx_kernel_table test_few_kernels = {
    kernels, sizeof kernels / sizeof kernels[0], NULL};
