// Division by the root of the mean square: out = x / sqrt(mean(x^2) + eps) * w
// over rows of the last dimensions. Halves are computed in float32 and rounded
// once. A row is measured before any of it is written, so the result may lie
// on the input.

#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/parallel_for.h"

enum { INPUT, SHAPE, WEIGHT, EPS, OUT };

typedef struct norm {
  size_t count;  // elements of a row
  double eps;
  etx_dtype dtype;     // of all tensors
  const char* weight;  // [count]; NULL: ones
  const char* in;
  char* out;
} norm;

static void row_f32(const norm* n, const float* in, float* out) {
  const float mean = etx_striped_squares_f32(in, 0, n->count) / (float)n->count;
  const float scale = 1.0f / etx_sqrt_f32(mean + (float)n->eps);
  const float* weight = (const float*)(const void*)n->weight;
  if (weight == NULL) {
    for (size_t i = 0; i < n->count; ++i) out[i] = in[i] * scale;
    return;
  }
  for (size_t i = 0; i < n->count; ++i) out[i] = in[i] * scale * weight[i];
}

enum { PART = 512 };  // of a row, elements

static void read_part(const norm* n, const char* in, size_t at, size_t count,
                      float out[PART]) {
  etx_convert(ETX_DTYPE_FLOAT32, out, 1, n->dtype,
              in + at * etx_dtype_bytes(n->dtype), 1, count);
}

static void multiply(float* restrict x, size_t count, float scale,
                     const float* restrict weight) {
  if (weight == NULL) {
    for (size_t k = 0; k < count; ++k) x[k] *= scale;
    return;
  }
  for (size_t k = 0; k < count; ++k) x[k] = x[k] * scale * weight[k];
}

static void row_of_halves(const norm* n, const char* in, char* out) {
  float x[PART], weight[PART];
  double sum = 0;
  for (size_t i = 0; i < n->count; i += PART) {
    const size_t count = n->count - i < PART ? n->count - i : PART;
    read_part(n, in, i, count, x);
    sum += (double)etx_striped_squares_f32(x, 0, count);
  }
  const double mean = sum / (double)n->count;
  const float scale = (float)(1.0 / etx_sqrt_f64(mean + n->eps));
  for (size_t i = 0; i < n->count; i += PART) {
    const size_t count = n->count - i < PART ? n->count - i : PART;
    read_part(n, in, i, count, x);
    if (n->weight != NULL) read_part(n, n->weight, i, count, weight);
    multiply(x, count, scale, n->weight == NULL ? NULL : weight);
    etx_convert(n->dtype, out + i * etx_dtype_bytes(n->dtype), 1,
                ETX_DTYPE_FLOAT32, x, 1, count);
  }
}

static void row_f64(const norm* n, const double* in, double* out) {
  const double mean =
      etx_striped_squares_f64(in, 0, n->count) / (double)n->count;
  const double scale = 1.0 / etx_sqrt_f64(mean + n->eps);
  const double* weight = (const double*)(const void*)n->weight;
  for (size_t i = 0; i < n->count; ++i) {
    out[i] = in[i] * scale * (weight == NULL ? 1.0 : weight[i]);
  }
}

static void run_rows(const void* context, size_t first, size_t end) {
  const norm* n = context;
  const size_t bytes = n->count * etx_dtype_bytes(n->dtype);
  for (size_t row = first; row < end; ++row) {
    const char* from = n->in + row * bytes;
    char* to = n->out + row * bytes;
    if (n->dtype == ETX_DTYPE_FLOAT32) {
      row_f32(n, (const float*)(const void*)from, (float*)(void*)to);
    } else if (n->dtype == ETX_DTYPE_FLOAT64) {
      row_f64(n, (const double*)(const void*)from, (double*)(void*)to);
    } else {
      row_of_halves(n, from, to);
    }
  }
}

static etx_status run(etx_call* call) {
  enum { WORK = 4 };  // operations for an element
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_tensor* out = etx_call_tensor(call, OUT);
  norm n = {.count = (size_t)call->prepared[0],
            .dtype = input->dtype,
            .in = input->data,
            .out = out->data};
  if (n.count == 0) return ETX_OK;
  // Without eps: what separates 1 from the next number, of float for halves.
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
  const etx_compute_type wide = etx_compute_type_of(input->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
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
