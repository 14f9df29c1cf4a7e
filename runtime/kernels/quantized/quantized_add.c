// quantized_decomposed::add: dequantises both operands, adds them and quantises
// the sum, all in float32, as PyTorch's operators do one by one.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// Positions of arguments: a and b, each followed by scale, zero point and
// bounds; scale, zero point and bounds of the result follow RESULT; out.
enum { A = 0, B = 5, RESULT = 9, OUT = 14 };

typedef struct tensor_qparams {
  float scale, zero;
} tensor_qparams;

typedef struct add_params {
  tensor_qparams a, b, out;
  float low, high;  // bounds of the result
} add_params;

static tensor_qparams read_qparams(const etx_call* call, size_t tensor) {
  const tensor_qparams p = {(float)etx_call_real(call, tensor + 1),
                            (float)etx_call_integer(call, tensor + 2)};
  return p;
}

// sums = quantised x + y. `sums` may be x.
static void add_block(const add_params* params, const float* x, const float* y,
                      size_t count, float* sums) {
  const add_params p = *params;
  for (size_t i = 0; i < count; ++i) {
    const float sum =
        (x[i] - p.a.zero) * p.a.scale + (y[i] - p.b.zero) * p.b.scale;
    const float q = etx_round_f32(sum / p.out.scale) + p.out.zero;
    const float raised = q < p.low ? p.low : q;
    sums[i] = raised > p.high ? p.high : raised;
  }
}

static etx_status run(etx_call* call) {
  const add_params p = {.a = read_qparams(call, A),
                        .b = read_qparams(call, B),
                        .out = read_qparams(call, RESULT),
                        .low = (float)etx_call_integer(call, RESULT + 3),
                        .high = (float)etx_call_integer(call, RESULT + 4)};
  const etx_tensor* out = etx_call_tensor(call, OUT);
  etx_strided_iterator iterator;
  etx_strided_iterator_init(&iterator, out->sizes, out->rank);
  etx_strided_iterator_add(&iterator, out);
  etx_strided_iterator_add(&iterator, etx_call_tensor(call, A));
  etx_strided_iterator_add(&iterator, etx_call_tensor(call, B));
  for (bool more = etx_strided_iterator_start(&iterator); more;
       more = etx_strided_iterator_next(&iterator)) {
    char* data[3] = {iterator.data[0], iterator.data[1], iterator.data[2]};
    for (size_t done = 0; done < iterator.count; done += ETX_BLOCK) {
      const size_t rest = iterator.count - done;
      const size_t count = rest < ETX_BLOCK ? rest : ETX_BLOCK;
      etx_block x, y;
      etx_block_load(&x, ETX_COMPUTE_F32, out->dtype, data[1],
                     iterator.stride[1], count);
      etx_block_load(&y, ETX_COMPUTE_F32, out->dtype, data[2],
                     iterator.stride[2], count);
      add_block(&p, x.f32, y.f32, count, x.f32);
      etx_block_store(&x, ETX_COMPUTE_F32, out->dtype, data[0],
                      iterator.stride[0], count);
      for (size_t k = 0; k < 3; ++k) {
        data[k] += iterator.stride[k] * iterator.bytes[k] * (ptrdiff_t)count;
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
                         "bounds of quantised values are %i to %i, expected "
                         "them within %i to %i",
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
