// bincount: how often each number occurs, or the sum of the weights of its
// occurrences. The largest number decides the size of the result. Sums are
// taken in the order of the elements, so results do not depend on threads.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"

// A block of a vector, from element `start` on, in the compute type.
static size_t load(const etx_tensor* vector, size_t start,
                   etx_compute_type compute, etx_block* block) {
  const size_t left = (size_t)vector->sizes[0] - start;
  const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
  const ptrdiff_t step =
      vector->strides[0] * (ptrdiff_t)etx_dtype_bytes(vector->dtype);
  etx_block_load(block, compute, vector->dtype,
                 (const char*)vector->data + (ptrdiff_t)start * step,
                 vector->strides[0], count);
  return count;
}

// One more than the largest number, or 0. Refuses negative numbers.
static etx_status count_bins(const etx_call* call, int64_t* out_bins) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_bincount_self);
  int64_t largest = -1;
  etx_block block;
  for (size_t at = 0; at < (size_t)self->sizes[0]; at += ETX_BLOCK) {
    const size_t count = load(self, at, ETX_COMPUTE_I64, &block);
    for (size_t i = 0; i < count; ++i) {
      if (block.i64[i] < 0) {
        return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                               "'self' has %i at index %z, expected at least 0",
                               block.i64[i], at + i);
      }
      if (block.i64[i] > largest) largest = block.i64[i];
    }
  }
  if (largest >= INT32_MAX) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "the largest number is %i, expected below %i",
                           largest, (int64_t)INT32_MAX);
  }
  *out_bins = largest + 1;
  return ETX_OK;
}

static void add_weights(etx_dtype dtype, void* bins, const int64_t* numbers,
                        const etx_block* weights, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (dtype == ETX_DTYPE_FLOAT32) {
      ((float*)bins)[numbers[i]] += weights->f32[i];
    } else {
      ((double*)bins)[numbers[i]] += weights->f64[i];
    }
  }
}

static etx_status run_bincount(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_bincount_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_bincount_out);
  const int64_t least = etx_call_integer(call, ETX_ARG_bincount_minlength);
  const bool is_weighted = !etx_call_is_none(call, ETX_ARG_bincount_weights);
  int64_t bins = 0;
  ETX_TRY(count_bins(call, &bins));
  if (self->sizes[0] > 0) {
    const int32_t size = (int32_t)(bins > least ? bins : least);
    ETX_TRY(etx_call_resize_out(call, ETX_ARG_bincount_out, &size));
  }
  if (out->sizes[0] > 0) memset(out->data, 0, etx_tensor_bytes(out));
  for (size_t at = 0; at < (size_t)self->sizes[0]; at += ETX_BLOCK) {
    etx_block numbers, weights;
    const size_t count = load(self, at, ETX_COMPUTE_I64, &numbers);
    if (is_weighted) {
      (void)load(etx_call_tensor(call, ETX_ARG_bincount_weights), at,
                 etx_compute_type_of(out->dtype), &weights);
      add_weights(out->dtype, out->data, numbers.i64, &weights, count);
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      ++((int64_t*)out->data)[numbers.i64[i]];
    }
  }
  return ETX_OK;
}

// The type of sums: that of float32 weights, otherwise float64.
static etx_dtype type_of_bins(const etx_call* call) {
  if (etx_call_is_none(call, ETX_ARG_bincount_weights)) return ETX_DTYPE_INT64;
  return etx_call_tensor(call, ETX_ARG_bincount_weights)->dtype ==
                 ETX_DTYPE_FLOAT32
             ? ETX_DTYPE_FLOAT32
             : ETX_DTYPE_FLOAT64;
}

etx_status etx_kernel_bincount_out_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_bincount_self)->dtype;
  if (dtype == ETX_DTYPE_BOOL ||
      etx_compute_type_of(dtype) != ETX_COMPUTE_I64) {
    return etx_call_refuse_dtype(call, ETX_ARG_bincount_self,
                                 "an integer type");
  }
  if (!etx_call_is_none(call, ETX_ARG_bincount_weights)) {
    ETX_TRY(etx_call_check_real(call, ETX_ARG_bincount_weights));
  }
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_bincount_out, type_of_bins(call)));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_bincount_out));
  call->run = run_bincount;
  return ETX_OK;
}
