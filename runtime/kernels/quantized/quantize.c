// Quantises: out = clamp(round(x * (1 / scale)) + zero_point), rounding to
// nearest even, in float32 or float64 according to PyTorch's promotion. Per
// token the zero point is added before rounding. NaN becomes what PyTorch's
// conversion to an integer gives on x86: 0, or the smallest int32.

#include <float.h>

#include "runtime/kernels/quantized/affine.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/simd/int8/u8_loops.h"

typedef struct quantizer {
  etx_affine_kind kind;
  double low, high;  // smallest and largest result
  etx_dtype dtype;   // type of the result
} quantizer;

// 1 / scale and zero points, in the compute type. If they do not vary, there is
// one for all elements.
typedef struct block_qparams {
  const void* inverse;
  const void* zero;
  bool scales_vary, zeros_vary;
} block_qparams;

// Results are integers in a float type.
static void quantize_f32(const quantizer* q, const block_qparams* p,
                         const float* x, size_t count, float* out) {
  const float *inverse = p->inverse, *zero = p->zero;
  const bool scales_vary = p->scales_vary, zeros_vary = p->zeros_vary;
  const float low = (float)q->low, high = (float)q->high;
  const bool adds_before_rounding = q->kind == ETX_AFFINE_PER_TOKEN;
  if (!scales_vary && !zeros_vary && !adds_before_rounding) {
    const float factor = inverse[0], shift = zero[0];
    for (size_t i = 0; i < count; ++i) {
      const float y = etx_round_f32(x[i] * factor) + shift;
      const float raised = y < low ? low : y;
      out[i] = raised > high ? high : raised;
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const float product = x[i] * inverse[scales_vary ? i : 0];
    const float shift = zero[zeros_vary ? i : 0];
    const float y = adds_before_rounding ? etx_round_f32(product + shift)
                                         : etx_round_f32(product) + shift;
    const float raised = y < low ? low : y;
    out[i] = raised > high ? high : raised;
  }
}

static void quantize_f64(const quantizer* q, const block_qparams* p,
                         const double* x, size_t count, double* out) {
  const double *inverse = p->inverse, *zero = p->zero;
  const bool scales_vary = p->scales_vary, zeros_vary = p->zeros_vary;
  const bool adds_before_rounding = q->kind == ETX_AFFINE_PER_TOKEN;
  for (size_t i = 0; i < count; ++i) {
    const double product = x[i] * inverse[scales_vary ? i : 0];
    const double shift = zero[zeros_vary ? i : 0];
    const double y = adds_before_rounding ? etx_round_f64(product + shift)
                                          : etx_round_f64(product) + shift;
    const double raised = y < q->low ? q->low : y;
    out[i] = raised > q->high ? q->high : raised;
  }
}

// Converts integers in floats to bytes. NaN becomes 0.
static void store_bytes(const float* in, etx_dtype dtype, void* out,
                        size_t count) {
  int8_t* signed_bytes = out;
  uint8_t* bytes = out;
  if (dtype == ETX_DTYPE_INT8) {
    for (size_t i = 0; i < count; ++i) {
      const float y = in[i] == in[i] ? in[i] : 0.0f;
      signed_bytes[i] = (int8_t)(int32_t)y;
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const float y = in[i] == in[i] ? in[i] : 0.0f;
    bytes[i] = (uint8_t)(int32_t)y;
  }
}

// The largest int32 has no exact float: clamped floats may be 2^31, which would
// become the smallest int32.
static void limit_to_int32(double* y, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = y[i] > 2147483647.0 ? 2147483647.0 : y[i];
  }
}

static void store_f32(const quantizer* q, etx_block* block, void* out,
                      ptrdiff_t stride, size_t count) {
  if (stride == 1 && etx_dtype_bytes(q->dtype) == 1) {
    store_bytes(block->f32, q->dtype, out, count);
    return;
  }
  etx_block compute;
  for (size_t i = 0; i < count; ++i) compute.f64[i] = (double)block->f32[i];
  limit_to_int32(compute.f64, count);
  etx_block_store(&compute, ETX_COMPUTE_F64, q->dtype, out, stride, count);
}

// The operands of a call that is quantised block by block.
typedef struct block_quantizer {
  const quantizer* q;
  etx_compute_type compute;
  const etx_affine* affine;
  etx_dtype in_dtype;
} block_quantizer;

// At most ETX_BLOCK elements. `data` has the addresses of out, input, scales
// and zero points, whose strides are those of the iterator.
static void quantize_block(const block_quantizer* b, char* const data[],
                           const ptrdiff_t strides[], size_t count) {
  const quantizer* q = b->q;
  const etx_compute_type compute = b->compute;
  etx_block x, scale, zero, y;
  float inverse[ETX_BLOCK];
  const block_qparams p = {
      .inverse = compute == ETX_COMPUTE_F64 ? (void*)&scale : inverse,
      .zero = &zero,
      .scales_vary = strides[2] != 0,
      .zeros_vary = strides[3] != 0};
  const void* values = etx_operand_row(&x, etx_compute_type_dtype(compute),
                                       b->in_dtype, data[1], strides[1], count);
  const size_t scales = p.scales_vary ? count : 1;
  etx_block_load(&zero, compute, b->affine->zero.dtype, data[3], strides[3],
                 p.zeros_vary ? count : 1);
  // In double also for float32: PyTorch inverts a Python number, and for
  // float32 scales the result is the same.
  etx_block_load(&scale, ETX_COMPUTE_F64, b->affine->scale.dtype, data[2],
                 strides[2], scales);
  if (compute == ETX_COMPUTE_F64) {
    for (size_t i = 0; i < scales; ++i) scale.f64[i] = 1.0 / scale.f64[i];
    quantize_f64(q, &p, values, count, y.f64);
    etx_block_store(&y, compute, q->dtype, data[0], strides[0], count);
    return;
  }
  for (size_t i = 0; i < scales; ++i) {
    inverse[i] = (float)(1.0 / scale.f64[i]);
  }
  quantize_f32(q, &p, values, count, y.f32);
  store_f32(q, &y, data[0], strides[0], count);
}

static void quantize_row(const block_quantizer* b,
                         const etx_strided_iterator* iterator) {
  char* data[4];
  for (size_t k = 0; k < 4; ++k) data[k] = iterator->data[k];
  for (size_t done = 0; done < iterator->count; done += ETX_BLOCK) {
    const size_t rest = iterator->count - done;
    const size_t count = rest < ETX_BLOCK ? rest : ETX_BLOCK;
    quantize_block(b, data, iterator->stride, count);
    for (size_t k = 0; k < 4; ++k) {
      data[k] += iterator->stride[k] * iterator->bytes[k] * (ptrdiff_t)count;
    }
  }
}

// ------------------------------------------------ bytes, per tensor

typedef struct byte_job {
  const quantizer* q;
  const etx_u8_loops* loops;
  const float* in;
  uint8_t* out;
  size_t count;
  float inverse;
  int32_t zero;
} byte_job;

enum { CHUNK = 16 * ETX_BLOCK };

static void quantize_byte_block(const byte_job* w, size_t at, size_t count) {
  const quantizer* q = w->q;
  const bool is_signed = q->dtype == ETX_DTYPE_INT8;
  const float* in = w->in + at;
  uint8_t* out = w->out + at;
  if (w->loops->has_nan(in, count)) {
    etx_block y;
    const float zero = (float)w->zero;
    const block_qparams p = {.inverse = &w->inverse, .zero = &zero};
    quantize_f32(q, &p, in, count, y.f32);
    store_bytes(y.f32, q->dtype, out, count);
    return;
  }
  const etx_u8_qparams qparams = {.zero = w->zero + (is_signed ? 128 : 0),
                                  .inverse = w->inverse,
                                  .low = (float)(q->low - (double)w->zero),
                                  .high = (float)(q->high - (double)w->zero)};
  w->loops->to_bytes(in, count, &qparams, out);
  for (size_t i = 0; i < count && is_signed; ++i) out[i] ^= 0x80;
}

static void quantize_byte_chunks(const void* context, size_t first,
                                 size_t end) {
  const byte_job* w = context;
  const size_t last = end * CHUNK < w->count ? end * CHUNK : w->count;
  for (size_t at = first * CHUNK; at < last; at += ETX_BLOCK) {
    const size_t left = last - at;
    quantize_byte_block(w, at, left < ETX_BLOCK ? left : ETX_BLOCK);
  }
}

// Contiguous float32 to bytes, with one scale and a zero point that is among
// the results: vectorised and over threads. Returns false, without effect, in
// other cases.
static bool run_bytes(const etx_call* call, const quantizer* q,
                      const etx_affine* affine) {
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_input);
  const etx_tensor* out =
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_out);
  double scale, zero;
  // A build without byte types has no loops for them.
  if (!ETX_HAS_DTYPE(INT8) && !ETX_HAS_DTYPE(UINT8)) return false;
  if (q->kind != ETX_AFFINE_PER_TENSOR || input->dtype != ETX_DTYPE_FLOAT32 ||
      etx_dtype_bytes(q->dtype) != 1 || !etx_tensor_is_contiguous(input) ||
      !etx_tensor_is_contiguous(out)) {
    return false;
  }
  etx_convert(ETX_DTYPE_FLOAT64, &scale, 1, affine->scale.dtype,
              affine->scale.data, 1, 1);
  etx_convert(ETX_DTYPE_FLOAT64, &zero, 1, affine->zero.dtype,
              affine->zero.data, 1, 1);
  const float inverse = (float)(1.0 / scale);
  const float size = inverse < 0 ? -inverse : inverse;
  // With a finite factor, a product is NaN only if its element is.
  if (!(size > 0 && size <= FLT_MAX)) return false;
  if (!(zero >= q->low && zero <= q->high) || zero != (double)(int32_t)zero) {
    return false;
  }
  const etx_parallel* parallel = call->parallel;
  const byte_job w = {.q = q,
                      .loops = etx_u8_loops_of(etx_instruction_set_within(
                          parallel->instruction_set)),
                      .in = input->data,
                      .out = out->data,
                      .count = etx_tensor_numel(out),
                      .inverse = inverse,
                      .zero = (int32_t)zero};
  etx_parallel_for(parallel, (w.count + CHUNK - 1) / CHUNK, 4 * (double)w.count,
                   quantize_byte_chunks, &w);
  return true;
}

// ------------------------------------------------ calls

// The position of the first bound, after scale, zero point and axis.
static size_t bounds_index(etx_affine_kind kind) {
  return kind == ETX_AFFINE_PER_CHANNEL ? 4 : 3;
}

static etx_status run(etx_call* call, etx_affine_kind kind) {
  const size_t bounds = bounds_index(kind);
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_input);
  const etx_tensor* out = etx_call_tensor(call, bounds + 3);
  const quantizer q = {kind, (double)etx_call_integer(call, bounds),
                       (double)etx_call_integer(call, bounds + 1), out->dtype};
  const bool is_double =
      input->dtype == ETX_DTYPE_FLOAT64 ||
      (kind != ETX_AFFINE_PER_TENSOR && etx_affine_is_double(call));
  etx_affine affine;
  etx_strided_iterator iterator;
  etx_affine_read(call, kind, &affine);
  if (run_bytes(call, &q, &affine)) return ETX_OK;
  const block_quantizer b = {
      .q = &q,
      .compute = is_double ? ETX_COMPUTE_F64 : ETX_COMPUTE_F32,
      .affine = &affine,
      .in_dtype = input->dtype};
  for (bool more = etx_affine_start_iterator(&iterator, out, input, &affine);
       more; more = etx_strided_iterator_next(&iterator)) {
    quantize_row(&b, &iterator);
  }
  return ETX_OK;
}

static etx_status run_per_tensor(etx_call* call) {
  return run(call, ETX_AFFINE_PER_TENSOR);
}
static etx_status run_per_channel(etx_call* call) {
  return run(call, ETX_AFFINE_PER_CHANNEL);
}
static etx_status run_per_token(etx_call* call) {
  return run(call, ETX_AFFINE_PER_TOKEN);
}

static etx_status prepare(etx_call* call, etx_affine_kind kind) {
  static etx_status (*const runs[])(etx_call*) = {
      run_per_tensor, run_per_channel, run_per_token};
  const size_t out = bounds_index(kind) + 3;
  const etx_compute_type compute = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_input)->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_quantize_per_tensor_input,
                                 "floats");
  }
  ETX_TRY(etx_affine_check(call));
  ETX_TRY(etx_call_check_dtype(call, out,
                               (etx_dtype)etx_call_integer(call, out - 1)));
  call->run = runs[kind];
  return ETX_OK;
}

etx_status etx_kernel_quantize_per_tensor_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_TENSOR);
}
etx_status etx_kernel_quantize_per_tensor_tensor_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_TENSOR);
}
etx_status etx_kernel_quantize_per_channel_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_CHANNEL);
}
etx_status etx_kernel_quantize_per_token_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_TOKEN);
}
