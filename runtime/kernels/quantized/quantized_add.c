// Sums of quantised tensors: both become floats, are added and quantised again,
// all in float32 as PyTorch's operators would do it one by one.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// Arguments: a and b at 0 and 5, each followed by scale, zero point and bounds;
// scale, zero point and bounds of the result from 10 on; out.
enum { A = 0, B = 5, RESULT = 9, OUT = 14 };

typedef struct pair {
  float scale, zero;
} pair;

static pair read_pair(const etx_call* call, size_t tensor) {
  const pair p = {(float)etx_call_real(call, tensor + 1),
                  (float)etx_call_integer(call, tensor + 2)};
  return p;
}

static void add_block(const pair* a, const pair* b, const pair* out,
                      const float bounds[2], const float* x, const float* y,
                      size_t count, float* sums) {
  for (size_t i = 0; i < count; ++i) {
    const float sum = (x[i] - a->zero) * a->scale + (y[i] - b->zero) * b->scale;
    const float q = etx_round_f32(sum / out->scale) + out->zero;
    const float above = q < bounds[0] ? bounds[0] : q;
    sums[i] = above > bounds[1] ? bounds[1] : above;
  }
}

static etx_status run(etx_call* call) {
  const pair a = read_pair(call, A), b = read_pair(call, B);
  const pair result = read_pair(call, RESULT);
  const float bounds[2] = {(float)etx_call_integer(call, RESULT + 3),
                           (float)etx_call_integer(call, RESULT + 4)};
  const etx_tensor* out = etx_call_tensor(call, OUT);
  etx_strided_iterator walk;
  etx_strided_iterator_init(&walk, out->sizes, out->rank);
  etx_strided_iterator_add(&walk, out);
  etx_strided_iterator_add(&walk, etx_call_tensor(call, A));
  etx_strided_iterator_add(&walk, etx_call_tensor(call, B));
  for (bool more = etx_strided_iterator_start(&walk); more;
       more = etx_strided_iterator_next(&walk)) {
    char* data[3] = {walk.data[0], walk.data[1], walk.data[2]};
    for (size_t done = 0; done < walk.count; done += ETX_BLOCK) {
      const size_t rest = walk.count - done;
      const size_t count = rest < ETX_BLOCK ? rest : ETX_BLOCK;
      etx_block x, y;
      etx_block_load(&x, ETX_COMPUTE_F32, out->dtype, data[1], walk.stride[1],
                     count);
      etx_block_load(&y, ETX_COMPUTE_F32, out->dtype, data[2], walk.stride[2],
                     count);
      add_block(&a, &b, &result, bounds, x.f32, y.f32, count, x.f32);
      etx_block_store(&x, ETX_COMPUTE_F32, out->dtype, data[0], walk.stride[0],
                      count);
      for (size_t k = 0; k < 3; ++k) {
        data[k] += walk.stride[k] * walk.bytes[k] * (ptrdiff_t)count;
      }
    }
  }
  return ETX_OK;
}

static etx_status check_bounds(const etx_call* call, size_t tensor) {
  const int64_t low = etx_call_integer(call, tensor + 3);
  const int64_t high = etx_call_integer(call, tensor + 4);
  const etx_dtype dtype = etx_call_tensor(call, A)->dtype;
  const int64_t least = dtype == ETX_DTYPE_INT8 ? INT8_MIN : 0;
  if (low >= least && high <= least + UINT8_MAX && low <= high) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the quantised numbers are %i to %i, expected them "
                         "within %i to %i",
                         low, high, least, least + UINT8_MAX);
}

etx_status etx_kernel_quantized_add_out_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, A)->dtype;
  if (dtype != ETX_DTYPE_INT8 && dtype != ETX_DTYPE_UINT8) {
    return etx_call_refuse_dtype(call, A, "int8 or uint8");
  }
  ETX_TRY(etx_call_check_same_dtype(call, A, B));
  ETX_TRY(etx_call_check_same_dtype(call, A, OUT));
  ETX_TRY(check_bounds(call, A));
  ETX_TRY(check_bounds(call, B));
  ETX_TRY(check_bounds(call, RESULT));
  call->run = run;
  return ETX_OK;
}
