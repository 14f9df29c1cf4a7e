// RMS normalisation: out = x / sqrt(mean(x^2) + eps) * weight, over rows of the
// last dimensions. float16 and bfloat16 are computed in float32 and rounded
// once. The sum of a row is complete before any of it is written, so the result
// may be in place.

#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/parallel_for.h"

enum { INPUT, SHAPE, WEIGHT, EPS, OUT };

typedef struct rms_norm {
  size_t count;  // elements of a row
  double eps;
  etx_dtype dtype;     // type of all tensors
  const char* weight;  // [count]; NULL: ones
  const char* in;
  char* out;
} rms_norm;

static void row_f32(const rms_norm* n, const float* in, float* out) {
  const float mean = etx_striped_squares_f32(in, 0, n->count) / (float)n->count;
  const float scale = 1.0f / etx_sqrt_f32(mean + (float)n->eps);
  const float* weight = (const float*)(const void*)n->weight;
  if (weight == NULL) {
    for (size_t i = 0; i < n->count; ++i) out[i] = in[i] * scale;
    return;
  }
  for (size_t i = 0; i < n->count; ++i) out[i] = in[i] * scale * weight[i];
}

enum { CHUNK = 512 };  // elements of a row that are converted at a time

static void load_chunk(const rms_norm* n, const char* in, size_t at,
                       size_t count, float out[CHUNK]) {
  etx_convert(ETX_DTYPE_FLOAT32, out, 1, n->dtype,
              in + at * etx_dtype_bytes(n->dtype), 1, count);
}

static void scale_chunk(float* restrict x, size_t count, float scale,
                        const float* restrict weight) {
  if (weight == NULL) {
    for (size_t k = 0; k < count; ++k) x[k] *= scale;
    return;
  }
  for (size_t k = 0; k < count; ++k) x[k] = x[k] * scale * weight[k];
}

static void row_16bit(const rms_norm* n, const char* in, char* out) {
  float x[CHUNK], weight[CHUNK];
  double sum = 0;
  for (size_t i = 0; i < n->count; i += CHUNK) {
    const size_t count = n->count - i < CHUNK ? n->count - i : CHUNK;
    load_chunk(n, in, i, count, x);
    sum += (double)etx_striped_squares_f32(x, 0, count);
  }
  const double mean = sum / (double)n->count;
  const float scale = (float)(1.0 / etx_sqrt_f64(mean + n->eps));
  for (size_t i = 0; i < n->count; i += CHUNK) {
    const size_t count = n->count - i < CHUNK ? n->count - i : CHUNK;
    load_chunk(n, in, i, count, x);
    if (n->weight != NULL) load_chunk(n, n->weight, i, count, weight);
    scale_chunk(x, count, scale, n->weight == NULL ? NULL : weight);
    etx_convert(n->dtype, out + i * etx_dtype_bytes(n->dtype), 1,
                ETX_DTYPE_FLOAT32, x, 1, count);
  }
}

static void row_f64(const rms_norm* n, const double* in, double* out) {
  const double mean =
      etx_striped_squares_f64(in, 0, n->count) / (double)n->count;
  const double scale = 1.0 / etx_sqrt_f64(mean + n->eps);
  const double* weight = (const double*)(const void*)n->weight;
  for (size_t i = 0; i < n->count; ++i) {
    out[i] = in[i] * scale * (weight == NULL ? 1.0 : weight[i]);
  }
}

static void run_rows(const void* context, size_t first, size_t end) {
  const rms_norm* n = context;
  const size_t bytes = n->count * etx_dtype_bytes(n->dtype);
  for (size_t row = first; row < end; ++row) {
    const char* from = n->in + row * bytes;
    char* to = n->out + row * bytes;
    if (n->dtype == ETX_DTYPE_FLOAT32) {
      row_f32(n, (const float*)(const void*)from, (float*)(void*)to);
    } else if (n->dtype == ETX_DTYPE_FLOAT64) {
      row_f64(n, (const double*)(const void*)from, (double*)(void*)to);
    } else {
      row_16bit(n, from, to);
    }
  }
}

static etx_status run(etx_call* call) {
  enum { WORK = 4 };  // operations for an element
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_tensor* out = etx_call_tensor(call, OUT);
  rms_norm n = {.count = (size_t)call->prepared[0],
                .dtype = input->dtype,
                .in = input->data,
                .out = out->data};
  if (n.count == 0) return ETX_OK;
  // The default eps is the machine epsilon of the compute type.
  n.eps = input->dtype == ETX_DTYPE_FLOAT64 ? 2.220446049250313e-16
                                            : 1.1920928955078125e-07;
  if (!etx_call_is_none(call, EPS)) n.eps = etx_call_real(call, EPS);
  if (!etx_call_is_none(call, WEIGHT)) {
    n.weight = etx_call_tensor(call, WEIGHT)->data;
  }
  const size_t numel = etx_tensor_numel(input);
  etx_parallel_for(call->parallel, numel / n.count, WORK * (double)numel,
                   run_rows, &n);
  return ETX_OK;
}

etx_status etx_kernel_rms_norm_out_prepare(etx_call* call) {
  static const size_t tensors[] = {INPUT, WEIGHT, OUT};
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_compute_type compute = etx_compute_type_of(input->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'input' has type '%s', expected floats",
                           etx_dtype_name(input->dtype));
  }
  for (size_t i = 0; i < 3; ++i) {
    if (etx_call_is_none(call, tensors[i])) continue;
    ETX_TRY(etx_call_check_same_dtype(call, INPUT, tensors[i]));
    ETX_TRY(etx_call_check_contiguous(call, tensors[i]));
  }
  int64_t count = 1;
  const size_t normalized = etx_call_value(call, SHAPE)->as.integers.count;
  for (size_t i = 0; i < normalized; ++i) {
    count *= input->sizes[input->rank - 1 - i];
  }
  call->prepared[0] = count;
  call->run = run;
  return ETX_OK;
}
