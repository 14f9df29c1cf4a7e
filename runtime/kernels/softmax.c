// Softmax and its logarithm along one dimension, over float32.
//
// Per line: the largest element m, then e^(x - m) and its sum, then the
// division by the sum. m makes the largest power 1, so nothing overflows. A
// line of minus infinities gives NaN, as in PyTorch. Each pass reads element i
// before it writes element i, so the result may overwrite the operand.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/lines.h"
#include "runtime/kernels/math_functions.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/parts.h"

// NaN does not matter here: it comes back through the sum.
static float largest_dense(const float* x, size_t count) {
  float lanes[16];
  for (size_t j = 0; j < 16; ++j) lanes[j] = x[j < count ? j : 0];
  size_t i = 16;
  for (; i + 16 <= count; i += 16) {
    for (size_t j = 0; j < 16; ++j) {
      lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
    }
  }
  for (size_t j = 0; i < count; ++i, ++j) {
    lanes[j] = x[i] > lanes[j] ? x[i] : lanes[j];
  }
  float largest = lanes[0];
  for (size_t j = 1; j < 16; ++j) {
    largest = lanes[j] > largest ? lanes[j] : largest;
  }
  return largest;
}

static void softmax_dense(const etx_line* line) {
  const float* in = (const float*)(const void*)line->in;
  float* out = (float*)(void*)line->out;
  const float m = largest_dense(in, line->count);
  for (size_t i = 0; i < line->count; ++i) out[i] = etx_exp_f32(in[i] - m);
  const float scale = 1.0f / etx_sum_f32(out, line->count);
  for (size_t i = 0; i < line->count; ++i) out[i] *= scale;
}

// m, the largest element of a line with gaps, and the sum of e^(x - m).
static void measure(const etx_line* line, float* out_largest, float* out_sum) {
  const float* in = (const float*)(const void*)line->in;
  float m = in[0], sum = 0;
  for (size_t i = 1; i < line->count; ++i) {
    const float x = in[(ptrdiff_t)i * line->in_stride];
    m = x > m ? x : m;
  }
  for (size_t i = 0; i < line->count; ++i) {
    sum += etx_exp_f32(in[(ptrdiff_t)i * line->in_stride] - m);
  }
  *out_largest = m;
  *out_sum = sum;
}

static void softmax_line(const etx_line* line) {
  if (line->in_stride == 1 && line->out_stride == 1) {
    softmax_dense(line);
    return;
  }
  const float* in = (const float*)(const void*)line->in;
  float* out = (float*)(void*)line->out;
  float m, sum;
  measure(line, &m, &sum);
  const float scale = 1.0f / sum;
  for (size_t i = 0; i < line->count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i;
    out[at * line->out_stride] =
        etx_exp_f32(in[at * line->in_stride] - m) * scale;
  }
}

static void log_softmax_line(const etx_line* line) {
  const float* in = (const float*)(const void*)line->in;
  float* out = (float*)(void*)line->out;
  float m, sum;
  measure(line, &m, &sum);
  const float shift = etx_log_f32(sum);
  for (size_t i = 0; i < line->count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i;
    out[at * line->out_stride] = in[at * line->in_stride] - m - shift;
  }
}

static size_t dimension_of(const etx_call* call) {
  return etx_wrap_dimension(etx_call_integer(call, 1),
                            etx_call_tensor(call, 0)->rank);
}

static etx_status run_softmax(etx_call* call) {
  etx_lines_visit(etx_call_tensor(call, 3), etx_call_tensor(call, 0),
                  dimension_of(call), softmax_line);
  return ETX_OK;
}

static etx_status run_log_softmax(etx_call* call) {
  etx_lines_visit(etx_call_tensor(call, 3), etx_call_tensor(call, 0),
                  dimension_of(call), log_softmax_line);
  return ETX_OK;
}

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  if (etx_wide_of(etx_call_tensor(call, 0)->dtype) == ETX_WIDE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'self' has type '%s', expected floats",
                           etx_dtype_name(etx_call_tensor(call, 0)->dtype));
  }
  if (etx_call_boolean(call, 2)) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "'half_to_float' is true, expected false");
  }
  ETX_TRY(etx_call_check_same_dtype(call, 0, 3));
  if (etx_call_tensor(call, 0)->dtype != ETX_DTYPE_FLOAT32) {
    return etx_call_refuse_dtype(call, 0, "'float32'");
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_softmax);
}
etx_status etx_kernel_log_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_log_softmax);
}
