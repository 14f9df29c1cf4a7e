// native_layer_norm and native_group_norm.
//
// For each row or group: mean and variance (moments.h), then a pass that writes
// the result, then the saved mean and 1 / sqrt(variance + eps). Because of this
// order, an output may overwrite an operand of the same size.

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/reduction/moments.h"
#include "runtime/kernels/normalization/norm_affine.h"
#include "runtime/kernels/core/parallel_for.h"

typedef struct norm_params {
  etx_dtype dtype;
  etx_compute_type compute;
  size_t count;  // elements of a row or group, contiguous
  etx_norm_parameter weight;
  etx_norm_parameter bias;
  double eps;
} norm_params;

// The outputs beside the result, in the type of the parameters.
typedef struct statistics {
  char* means;
  char* scales;
  etx_dtype dtype;
} statistics;

static statistics statistics_of(const etx_call* call, size_t index) {
  const statistics s = {etx_call_tensor(call, index)->data,
                        etx_call_tensor(call, index + 1)->data,
                        etx_call_tensor(call, index)->dtype};
  return s;
}

static void write_statistics(const statistics* s, size_t at, double mean,
                             double scale) {
  if (s->dtype == ETX_DTYPE_FLOAT32) {
    ((float*)(void*)s->means)[at] = (float)mean;
    ((float*)(void*)s->scales)[at] = (float)scale;
    return;
  }
  const size_t offset = at * etx_dtype_bytes(s->dtype);
  etx_convert_real(s->dtype, mean, s->means + offset);
  etx_convert_real(s->dtype, scale, s->scales + offset);
}

// The mean and 1 / sqrt(variance + eps) of a group. As in PyTorch, the mean of
// a group with an infinity is NaN, and that of no elements is 0.
static void finish_moments(const norm_params* n, const etx_moments* m,
                           double* out_mean, double* out_scale) {
  if (n->count == 0) {
    *out_mean = 0;
    *out_scale = __builtin_nan("");
    return;
  }
  const double variance = m->squares / (double)n->count;
  *out_mean = variance != variance ? variance : m->mean;
  *out_scale = etx_inverse_deviation(variance, n->eps);
}

static void compute_moments(const norm_params* n, const void* in,
                            double* out_mean, double* out_scale) {
  etx_moments m = {0};
  etx_moments_add_strided(&m, n->dtype, in, 1, n->count);
  finish_moments(n, &m, out_mean, out_scale);
}

// A part of a row in the compute type. weight and bias may be NULL.
typedef struct row_part {
  const void* in;
  void* out;
  const void* weight;
  const void* bias;
  size_t count;
} row_part;

static void write_f32(const row_part* p, float mean, float scale) {
  const float *in = p->in, *weight = p->weight, *bias = p->bias;
  float* out = p->out;
  const size_t count = p->count;
  if (weight != NULL && bias != NULL) {
    for (size_t i = 0; i < count; ++i) {
      out[i] = (in[i] - mean) * scale * weight[i] + bias[i];
    }
  } else if (weight != NULL) {
    for (size_t i = 0; i < count; ++i) {
      out[i] = (in[i] - mean) * scale * weight[i];
    }
  } else {
    for (size_t i = 0; i < count; ++i) {
      out[i] = (in[i] - mean) * scale + (bias == NULL ? 0.0f : bias[i]);
    }
  }
}

// Without a bias, 0 is added, so a result of -0 becomes 0; in the short rows of
// float32 it stays -0.
static void write_f64(const row_part* p, double mean, double scale) {
  const double *in = p->in, *weight = p->weight, *bias = p->bias;
  double* out = p->out;
  for (size_t i = 0; i < p->count; ++i) {
    const double factor = weight == NULL ? scale : scale * weight[i];
    out[i] = (in[i] - mean) * factor + (bias == NULL ? 0.0 : bias[i]);
  }
}

// Writes one row: all at once if no conversion is needed, otherwise in blocks.
static void write_row(const norm_params* n, const char* in, char* out,
                      double mean, double scale) {
  const size_t bytes = etx_dtype_bytes(n->dtype);
  const bool is_native = n->dtype == etx_compute_type_dtype(n->compute);
  const size_t chunk = is_native ? n->count : ETX_BLOCK;
  for (size_t done = 0; done < n->count; done += chunk) {
    const size_t left = n->count - done;
    etx_block x, y, weights, biases;
    const void* from = in + done * bytes;
    void* to = out + done * bytes;
    row_part part = {.in = is_native ? from : &x,
                     .out = is_native ? to : &y,
                     .count = left < chunk ? left : chunk};
    if (n->weight.data != NULL) {
      part.weight = etx_norm_parameter_load(&n->weight, done, part.count,
                                            n->compute, &weights);
    }
    if (n->bias.data != NULL) {
      part.bias = etx_norm_parameter_load(&n->bias, done, part.count,
                                          n->compute, &biases);
    }
    if (!is_native) {
      etx_block_load(&x, n->compute, n->dtype, from, 1, part.count);
    }
    if (!etx_is_f64(n->compute)) {
      write_f32(&part, (float)mean, (float)scale);
    } else {
      write_f64(&part, mean, scale);
    }
    if (!is_native) {
      etx_block_store(&y, n->compute, n->dtype, to, 1, part.count);
    }
  }
}

// The rows of one layer_norm call.
typedef struct layer_norm {
  norm_params n;
  statistics s;
  const etx_row_loops* loops;
  const char* in;
  char* out;
} layer_norm;

// Rows up to this length are summed in float.
enum { SHORT_ROW = 1024 };

// True if the microkernel (etx_layer_norm_rows) applies: float32, and halves,
// which are expanded.
static bool has_microkernel(const norm_params* n) {
  return n->compute == ETX_COMPUTE_F32 && n->count > 0 && n->count <= SHORT_ROW;
}

// The parameter in float32: where it lies, or in a buffer, which `none` fills
// without a parameter.
static const float* parameter_f32(const norm_params* n,
                                  const etx_norm_parameter* parameter,
                                  float none, float buffer[SHORT_ROW]) {
  if (parameter->data == NULL) {
    for (size_t i = 0; i < n->count; ++i) buffer[i] = none;
    return buffer;
  }
  if (parameter->dtype == ETX_DTYPE_FLOAT32 && parameter->stride == 1) {
    return (const float*)parameter->data;
  }
  etx_convert(ETX_DTYPE_FLOAT32, buffer, 1, parameter->dtype, parameter->data,
              parameter->stride, n->count);
  return buffer;
}

// Rows, or their statistics, that are expanded in a buffer, a few at a time.
static __attribute__((noinline)) void normalize_expanded_rows(
    const layer_norm* l, etx_layer_norm_rows rows, size_t first, size_t end) {
  enum { MOST_ROWS = 64 };
  float expanded[SHORT_ROW], means[MOST_ROWS], scales[MOST_ROWS];
  const norm_params* n = &l->n;
  const statistics* s = &l->s;
  const size_t bytes = n->count * etx_dtype_bytes(n->dtype);
  const size_t step = etx_dtype_bytes(s->dtype);
  const size_t fitting = SHORT_ROW / n->count;
  const size_t most = fitting < MOST_ROWS ? fitting : MOST_ROWS;
  rows.in = rows.out = expanded;
  rows.means = means;
  rows.scales = scales;
  for (size_t row = first; row < end; row += rows.rows) {
    rows.rows = end - row < most ? end - row : most;
    const size_t count = rows.rows * n->count;
    etx_convert(ETX_DTYPE_FLOAT32, expanded, 1, n->dtype, l->in + row * bytes,
                1, count);
    l->loops->normalize(&rows);
    etx_convert(n->dtype, l->out + row * bytes, 1, ETX_DTYPE_FLOAT32, expanded,
                1, count);
    etx_convert(s->dtype, s->means + row * step, 1, ETX_DTYPE_FLOAT32, means, 1,
                rows.rows);
    etx_convert(s->dtype, s->scales + row * step, 1, ETX_DTYPE_FLOAT32, scales,
                1, rows.rows);
  }
}

static __attribute__((noinline)) void normalize_weighted_rows(
    const layer_norm* l, const float* weights, size_t first, size_t end) {
  const norm_params* n = &l->n;
  float biases[SHORT_ROW];
  // Without a bias, -0 is added: x + -0 is x for every x, also for -0.
  etx_layer_norm_rows rows = {.weight = weights,
                              .bias = parameter_f32(n, &n->bias, -0.0f, biases),
                              .rows = end - first,
                              .count = n->count,
                              .eps = (float)n->eps};
  if (n->dtype != ETX_DTYPE_FLOAT32 || l->s.dtype != ETX_DTYPE_FLOAT32) {
    normalize_expanded_rows(l, rows, first, end);
    return;
  }
  rows.in = (const float*)(const void*)l->in + first * n->count;
  rows.out = (float*)(void*)l->out + first * n->count;
  rows.means = (float*)(void*)l->s.means + first;
  rows.scales = (float*)(void*)l->s.scales + first;
  l->loops->normalize(&rows);
}

static void normalize_short_rows(const layer_norm* l, size_t first,
                                 size_t end) {
  float weights[SHORT_ROW];
  normalize_weighted_rows(l, parameter_f32(&l->n, &l->n.weight, 1.0f, weights),
                          first, end);
}

static norm_params norm_params_of(const etx_call* call, size_t weight,
                                  size_t eps) {
  const etx_dtype dtype =
      etx_call_tensor(call, ETX_ARG_native_layer_norm_input)->dtype;
  const norm_params n = {.dtype = dtype,
                         .compute = etx_compute_type_of(dtype),
                         .count = (size_t)call->prepared[1],
                         .weight = etx_norm_parameter_of(call, weight),
                         .bias = etx_norm_parameter_of(call, weight + 1),
                         .eps = etx_call_real(call, eps)};
  return n;
}

static void normalize_rows(const void* context, size_t first, size_t end) {
  const layer_norm* l = context;
  if (has_microkernel(&l->n)) {
    normalize_short_rows(l, first, end);
    return;
  }
  const size_t bytes = l->n.count * etx_dtype_bytes(l->n.dtype);
  for (size_t row = first; row < end; ++row) {
    double mean, scale;
    compute_moments(&l->n, l->in + row * bytes, &mean, &scale);
    write_row(&l->n, l->in + row * bytes, l->out + row * bytes, mean, scale);
    write_statistics(&l->s, row, mean, scale);
  }
}

// True if the statistics overwrite weight or bias, which all rows read. In
// files of etx, only a call with one row does that. In files of others, a row
// may change what later rows read. One thread then computes all rows, so that
// results are the same in every run.
static bool overwrites_parameters(const layer_norm* l) {
  const char* const read[] = {l->n.weight.data, l->n.bias.data};
  for (size_t i = 0; i < 2; ++i) {
    if (read[i] == l->s.means || read[i] == l->s.scales) return true;
  }
  return false;
}

// (input, normalized_shape, weight, bias, eps, out0, out1, out2)
static etx_status run_layer_norm(etx_call* call) {
  enum { WORK = 4 };  // operations for an element
  const etx_instruction_set set =
      etx_instruction_set_within(call->parallel->instruction_set);
  const layer_norm l = {
      norm_params_of(call, 2, 4), statistics_of(call, 6),
      &etx_float_loops_of(set)->rows,
      etx_call_tensor(call, ETX_ARG_native_layer_norm_input)->data,
      etx_call_tensor(call, ETX_ARG_native_layer_norm_out0)->data};
  const size_t rows = (size_t)call->prepared[0];
  const double work =
      overwrites_parameters(&l) ? 0 : WORK * (double)rows * (double)l.n.count;
  etx_parallel_for(call->parallel, rows, work, normalize_rows, &l);
  return ETX_OK;
}

// The channels of one group.
typedef struct norm_group {
  size_t first, channels;
  size_t size;  // elements of a channel
  const char* in;
  char* out;
} norm_group;

static void write_group(const norm_params* n, const norm_group* g, double mean,
                        double scale) {
  const size_t bytes = g->size * etx_dtype_bytes(n->dtype);
  for (size_t i = 0; i < g->channels; ++i) {
    const double weight = etx_norm_parameter_at(&n->weight, g->first + i, 1);
    const etx_norm_row row = {.in = g->in + i * bytes,
                              .out = g->out + i * bytes,
                              .in_stride = 1,
                              .out_stride = 1,
                              .count = g->size};
    const etx_norm_factors factors = {
        .mean = mean,
        .scale = scale * weight,
        .bias = etx_norm_parameter_at(&n->bias, g->first + i, 0)};
    etx_norm_affine_row(n->dtype, &row, &factors);
  }
}

// (input, weight, bias, N, C, HxW, group, eps, out0, out1, out2)
static etx_status run_group_norm(etx_call* call) {
  const norm_params n = norm_params_of(call, 1, 7);
  const statistics s = statistics_of(call, 9);
  const size_t groups =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_group);
  const size_t bytes = n.count * etx_dtype_bytes(n.dtype);
  norm_group g = {
      .channels =
          (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_C) / groups,
      .size = (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_HxW),
      .in = etx_call_tensor(call, ETX_ARG_native_group_norm_input)->data,
      .out = etx_call_tensor(call, ETX_ARG_native_group_norm_out0)->data};
  for (size_t at = 0; at < (size_t)call->prepared[0]; ++at) {
    double mean, scale;
    g.first = at % groups * g.channels;
    compute_moments(&n, g.in, &mean, &scale);
    write_group(&n, &g, mean, scale);
    write_statistics(&s, at, mean, scale);
    g.in += bytes;
    g.out += bytes;
  }
  return ETX_OK;
}

// Checks the arguments. prepared[0] is the number of rows or groups,
// prepared[1] the elements of each.
static etx_status prepare(etx_call* call, size_t weight, size_t out,
                          size_t count, etx_kernel_function run) {
  const size_t parameters[] = {weight, weight + 1};
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_call_check_norm_types(call, out, parameters, 2));
  }
  for (size_t i = 0; i < call->argument_count; ++i) {
    if (etx_call_value(call, i)->kind != ETX_VALUE_TENSOR) continue;
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  call->prepared[0] = (int64_t)etx_tensor_numel(etx_call_tensor(call, out + 1));
  call->prepared[1] = (int64_t)count;
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_native_layer_norm_out_prepare(etx_call* call) {
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_native_layer_norm_input);
  const size_t normalized =
      etx_call_value(call, ETX_ARG_native_layer_norm_normalized_shape)
          ->as.integers.count;
  size_t count = 1;
  for (size_t i = 0; i < normalized; ++i) {
    count *= (size_t)input->sizes[input->rank - 1 - i];
  }
  return prepare(call, 2, 5, count, run_layer_norm);
}

// The shape rule has checked N, C, HxW and group against the input.
etx_status etx_kernel_native_group_norm_out_prepare(etx_call* call) {
  const size_t channels =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_C);
  const size_t groups =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_group);
  const size_t size =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_HxW);
  return prepare(call, 1, 8, channels / groups * size, run_group_norm);
}
