// Quantising: out = clamp(round(x * (1 / scale)) + zero_point), halves to even,
// in float32 or in double as PyTorch's promotion has it; per token the zero
// point is added before rounding. NaN becomes what its conversion to an integer
// gives on x86: 0, or the smallest int32.

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
  etx_dtype dtype;   // of the result
} quantizer;

// Results as floats, which are whole numbers.
static void quantize_f32(const quantizer* q, const float* x,
                         const float* inverse, bool scales_move,
                         const float* zero, bool zeros_move, size_t count,
                         float* out) {
  const float low = (float)q->low, high = (float)q->high;
  const bool adds_first = q->kind == ETX_AFFINE_PER_TOKEN;
  if (!scales_move && !zeros_move && !adds_first) {
    const float factor = inverse[0], shift = zero[0];
    for (size_t i = 0; i < count; ++i) {
      const float y = etx_round_f32(x[i] * factor) + shift;
      const float above = y < low ? low : y;
      out[i] = above > high ? high : above;
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const float product = x[i] * inverse[scales_move ? i : 0];
    const float shift = zero[zeros_move ? i : 0];
    const float y = adds_first ? etx_round_f32(product + shift)
                               : etx_round_f32(product) + shift;
    const float above = y < low ? low : y;
    out[i] = above > high ? high : above;
  }
}

static void quantize_f64(const quantizer* q, const double* x,
                         const double* inverse, bool scales_move,
                         const double* zero, bool zeros_move, size_t count,
                         double* out) {
  const bool adds_first = q->kind == ETX_AFFINE_PER_TOKEN;
  for (size_t i = 0; i < count; ++i) {
    const double product = x[i] * inverse[scales_move ? i : 0];
    const double shift = zero[zeros_move ? i : 0];
    const double y = adds_first ? etx_round_f64(product + shift)
                                : etx_round_f64(product) + shift;
    const double above = y < q->low ? q->low : y;
    out[i] = above > q->high ? q->high : above;
  }
}

// Whole floats as bytes; NaN is 0.
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

// The largest float below 2^31 + 1 is 2^31: what was clamped to the largest
// int32 must not become the smallest.
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
  etx_block wide;
  for (size_t i = 0; i < count; ++i) wide.f64[i] = (double)block->f32[i];
  limit_to_int32(wide.f64, count);
  etx_block_store(&wide, ETX_COMPUTE_F64, q->dtype, out, stride, count);
}

// At most ETX_BLOCK elements from the row's present ones on.
static void quantize_block(const quantizer* q, etx_compute_type wide,
                           const etx_affine* affine, const etx_tensor* input,
                           char* const data[], const etx_strided_iterator* walk,
                           size_t count) {
  etx_block x, scale, zero, y;
  const bool scales_move = walk->stride[2] != 0;
  const bool zeros_move = walk->stride[3] != 0;
  const void* values =
      etx_operand_row(&x, etx_compute_type_dtype(wide), input->dtype, data[1],
                      walk->stride[1], count);
  const size_t scales = scales_move ? count : 1;
  etx_block_load(&zero, wide, affine->zero.dtype, data[3], walk->stride[3],
                 zeros_move ? count : 1);
  if (wide == ETX_COMPUTE_F64) {
    etx_block_load(&scale, wide, affine->scale.dtype, data[2], walk->stride[2],
                   scales);
    for (size_t i = 0; i < scales; ++i) scale.f64[i] = 1.0 / scale.f64[i];
    quantize_f64(q, values, scale.f64, scales_move, zero.f64, zeros_move, count,
                 y.f64);
    etx_block_store(&y, wide, q->dtype, data[0], walk->stride[0], count);
    return;
  }
  // A number is inverted in double, as Python does; for float32 scales it
  // gives the same.
  etx_block_load(&scale, ETX_COMPUTE_F64, affine->scale.dtype, data[2],
                 walk->stride[2], scales);
  float inverse[ETX_BLOCK];
  for (size_t i = 0; i < scales; ++i) {
    inverse[i] = (float)(1.0 / scale.f64[i]);
  }
  quantize_f32(q, values, inverse, scales_move, zero.f32, zeros_move, count,
               y.f32);
  store_f32(q, &y, data[0], walk->stride[0], count);
}

static void quantize_row(const quantizer* q, etx_compute_type wide,
                         const etx_affine* affine, const etx_tensor* input,
                         const etx_strided_iterator* walk) {
  char* data[4];
  for (size_t k = 0; k < 4; ++k) data[k] = walk->data[k];
  for (size_t done = 0; done < walk->count; done += ETX_BLOCK) {
    const size_t rest = walk->count - done;
    const size_t count = rest < ETX_BLOCK ? rest : ETX_BLOCK;
    quantize_block(q, wide, affine, input, data, walk, count);
    for (size_t k = 0; k < 4; ++k) {
      data[k] += walk->stride[k] * walk->bytes[k] * (ptrdiff_t)count;
    }
  }
}

// ------------------------------------------------ a whole tensor of bytes

typedef struct whole {
  const quantizer* q;
  const etx_u8_loops* loops;
  const float* in;
  uint8_t* out;
  size_t count;
  float inverse;
  int32_t zero;
} whole;

enum { PIECE = 16 * ETX_BLOCK };

static void quantize_piece(const whole* w, size_t at, size_t count) {
  const quantizer* q = w->q;
  const bool is_signed = q->dtype == ETX_DTYPE_INT8;
  const float* in = w->in + at;
  uint8_t* out = w->out + at;
  if (w->loops->has_nan(in, count)) {
    etx_block y;
    const float zero = (float)w->zero;
    quantize_f32(q, in, &w->inverse, false, &zero, false, count, y.f32);
    store_bytes(y.f32, q->dtype, out, count);
    return;
  }
  const int32_t zero = w->zero + (is_signed ? 128 : 0);
  w->loops->to_bytes(in, count, zero, w->inverse,
                     (float)(q->low - (double)w->zero),
                     (float)(q->high - (double)w->zero), out);
  for (size_t i = 0; i < count && is_signed; ++i) out[i] ^= 0x80;
}

static void quantize_pieces(const void* context, size_t first, size_t end) {
  const whole* w = context;
  const size_t last = end * PIECE < w->count ? end * PIECE : w->count;
  for (size_t at = first * PIECE; at < last; at += ETX_BLOCK) {
    const size_t left = last - at;
    quantize_piece(w, at, left < ETX_BLOCK ? left : ETX_BLOCK);
  }
}

// Dense floats with one scale and zero point that is one of the results. False,
// and nothing is done, if it is something else.
static bool run_whole(const etx_call* call, const quantizer* q,
                      const etx_affine* affine) {
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_input);
  const etx_tensor* out =
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_out);
  double scale, zero;
  // A build without bytes has no loops of them.
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
  // Products are no numbers where floats are none, and nowhere else.
  if (!(size > 0 && size <= FLT_MAX)) return false;
  if (!(zero >= q->low && zero <= q->high) || zero != (double)(int32_t)zero) {
    return false;
  }
  const etx_parallel* parallel = call->parallel;
  const whole w = {.q = q,
                   .loops = etx_u8_loops_of(
                       etx_instruction_set_within(parallel->instruction_set)),
                   .in = input->data,
                   .out = out->data,
                   .count = etx_tensor_numel(out),
                   .inverse = inverse,
                   .zero = (int32_t)zero};
  etx_parallel_for(parallel, (w.count + PIECE - 1) / PIECE, 4 * (double)w.count,
                   quantize_pieces, &w);
  return true;
}

// ------------------------------------------------ calls

// The first of the two bounds, which follow scale, zero point and axis.
static size_t bounds_of(etx_affine_kind kind) {
  return kind == ETX_AFFINE_PER_CHANNEL ? 4 : 3;
}

static etx_status run(etx_call* call, etx_affine_kind kind) {
  const size_t bounds = bounds_of(kind);
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_input);
  const etx_tensor* out = etx_call_tensor(call, bounds + 3);
  const quantizer q = {kind, (double)etx_call_integer(call, bounds),
                       (double)etx_call_integer(call, bounds + 1), out->dtype};
  const bool is_double =
      input->dtype == ETX_DTYPE_FLOAT64 ||
      (kind != ETX_AFFINE_PER_TENSOR && etx_affine_is_double(call));
  etx_affine affine;
  etx_strided_iterator walk;
  etx_affine_read(call, kind, &affine);
  if (run_whole(call, &q, &affine)) return ETX_OK;
  for (bool more = etx_affine_walk(&walk, out, input, &affine); more;
       more = etx_strided_iterator_next(&walk)) {
    quantize_row(&q, is_double ? ETX_COMPUTE_F64 : ETX_COMPUTE_F32, &affine,
                 input, &walk);
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
  const size_t out = bounds_of(kind) + 3;
  const etx_compute_type wide = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_quantize_per_tensor_input)->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
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
