// New tensors: fill, full, arange. The type is that of the out tensor.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/views/strided_view.h"

static const etx_tensor* out_of(const etx_call* call) {
  return etx_call_tensor(call, call->argument_count - 1);
}

// Prepare stores in etx_call.prepared the number of elements of a contiguous
// result, or 0.
enum { CONTIGUOUS_COUNT };

static etx_status fill(const etx_call* call, const etx_scalar* value) {
  const size_t count = (size_t)call->prepared[CONTIGUOUS_COUNT];
  if (count > 0) {
    const etx_tensor* out = out_of(call);
    etx_fill_dense(out->data, (const char*)value, etx_dtype_bytes(out->dtype),
                   count);
    return ETX_OK;
  }
  const etx_strided_view out = etx_strided_view_of(out_of(call));
  etx_strided_view_fill(&out, value);
  return ETX_OK;
}

static etx_status fill_integer(const etx_call* call, int64_t integer) {
  etx_scalar value = {0};
  etx_convert_integer(out_of(call)->dtype, integer, &value);
  return fill(call, &value);
}

static etx_status prepare_real(etx_call* call, etx_kernel_function run) {
  const etx_tensor* out = out_of(call);
  ETX_TRY(etx_call_check_real(call, call->argument_count - 1));
  call->prepared[CONTIGUOUS_COUNT] =
      etx_tensor_is_contiguous(out) ? (int64_t)etx_tensor_numel(out) : 0;
  call->run = run;
  return ETX_OK;
}

static etx_status run_zeros(etx_call* call) { return fill_integer(call, 0); }
static etx_status run_ones(etx_call* call) { return fill_integer(call, 1); }

etx_status etx_kernel_zeros_out_prepare(etx_call* call) {
  return prepare_real(call, run_zeros);
}
etx_status etx_kernel_ones_out_prepare(etx_call* call) {
  return prepare_real(call, run_ones);
}

// An empty tensor gets its sizes only. Its bytes must not be cleared: a file
// may place it over bytes that another instruction wrote (etx_op_only_sizes).
static etx_status run_nothing(etx_call* call) {
  (void)call;
  return ETX_OK;
}
etx_status etx_kernel_empty_out_prepare(etx_call* call) {
  return prepare_real(call, run_nothing);
}
etx_status etx_kernel_empty_dim_order_out_prepare(etx_call* call) {
  return prepare_real(call, run_nothing);
}

// Writes argument `index` to every element.
static etx_status fill_number(const etx_call* call, size_t index) {
  etx_scalar value = {0};
  etx_scalar_store(etx_call_value(call, index), out_of(call)->dtype, &value);
  return fill(call, &value);
}

static etx_status run_scalar_tensor(etx_call* call) {
  return fill_number(call, ETX_ARG_scalar_tensor_s);
}
static etx_status run_full(etx_call* call) {
  return fill_number(call, ETX_ARG_full_fill_value);
}

// Refuses an argument `index` that the result's type cannot hold.
static etx_status prepare_number(etx_call* call, size_t index,
                                 etx_kernel_function run) {
  ETX_TRY(prepare_real(call, run));
  return etx_call_check_scalar(call, index, out_of(call)->dtype);
}

etx_status etx_kernel_full_out_prepare(etx_call* call) {
  return prepare_number(call, ETX_ARG_full_fill_value, run_full);
}
etx_status etx_kernel_full_like_out_prepare(etx_call* call) {
  return prepare_number(call, ETX_ARG_full_like_fill_value, run_full);
}
etx_status etx_kernel_scalar_tensor_out_prepare(etx_call* call) {
  return prepare_number(call, ETX_ARG_scalar_tensor_s, run_scalar_tensor);
}
etx_status etx_kernel_fill_scalar_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_fill_scalar_self,
                                    ETX_ARG_fill_scalar_out));
  return prepare_number(call, ETX_ARG_fill_scalar_value, run_full);
}

static etx_status run_fill_tensor(etx_call* call) {
  const etx_strided_view value =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_fill_tensor_value));
  const etx_strided_view out = etx_strided_view_of(out_of(call));
  etx_strided_view_copy(&out, &value);
  return ETX_OK;
}

etx_status etx_kernel_fill_tensor_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_fill_tensor_value));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_fill_tensor_self,
                                    ETX_ARG_fill_tensor_out));
  return prepare_real(call, run_fill_tensor);
}

static void write_integer_range(int64_t* out, size_t count, uint64_t first,
                                uint64_t distance) {
  for (size_t i = 0; i < count; ++i, first += distance) {
    out[i] = (int64_t)first;
  }
}

// Element i is start + i step: in integers if out holds integers, else in
// double, rounded once.
static void write_range(const etx_tensor* out, const etx_value* start,
                        const etx_value* step) {
  const size_t count = etx_tensor_numel(out);
  const bool exact = etx_compute_type_of(out->dtype) == ETX_COMPUTE_I64;
  const etx_dtype wide = exact ? ETX_DTYPE_INT64 : ETX_DTYPE_FLOAT64;
  const etx_scalar first = etx_scalar_read(start, wide);
  const etx_scalar distance = etx_scalar_read(step, wide);
  const ptrdiff_t stride = out->strides[0];
  char* at = out->data;
  etx_block block;
  if (out->dtype == ETX_DTYPE_INT64 && stride == 1) {
    write_integer_range(out->data, count, (uint64_t)first.i64,
                        (uint64_t)distance.i64);
    return;
  }
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    if (exact) {
      for (size_t i = 0; i < part; ++i) {
        block.i64[i] = (int64_t)((uint64_t)first.i64 +
                                 (done + i) * (uint64_t)distance.i64);
      }
    } else {
      for (size_t i = 0; i < part; ++i) {
        block.f64[i] = first.f64 + (double)(int64_t)(done + i) * distance.f64;
      }
    }
    etx_block_store(&block, exact ? ETX_COMPUTE_I64 : ETX_COMPUTE_F64,
                    out->dtype, at, stride, part);
    at += stride * (ptrdiff_t)(part * etx_dtype_bytes(out->dtype));
  }
}

static etx_status run_arange(etx_call* call) {
  const etx_value zero = {.kind = ETX_VALUE_INT, .as = {.integer = 0}};
  const etx_value one = {.kind = ETX_VALUE_INT, .as = {.integer = 1}};
  write_range(out_of(call), &zero, &one);
  return ETX_OK;
}

static etx_status run_arange_start(etx_call* call) {
  write_range(out_of(call), etx_call_value(call, ETX_ARG_arange_start_start),
              etx_call_value(call, ETX_ARG_arange_start_step));
  return ETX_OK;
}

etx_status etx_kernel_arange_out_prepare(etx_call* call) {
  return prepare_real(call, run_arange);
}
etx_status etx_kernel_arange_start_out_prepare(etx_call* call) {
  return prepare_real(call, run_arange_start);
}
