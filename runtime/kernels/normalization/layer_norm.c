// Layer and group normalisation.
//
// Per group of elements: mean and variance (moments.h), then one pass that
// writes, then mean and 1/deviation, so that these and the result may overwrite
// an operand of their size.

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/reduction/moments.h"
#include "runtime/kernels/normalization/norm_affine.h"
#include "runtime/kernels/core/parallel_for.h"

typedef struct norm {
  etx_dtype dtype;
  etx_compute_type wide;
  size_t count;  // elements of a group, which lie densely
  etx_norm_parameter weight;
  etx_norm_parameter bias;
  double eps;
} norm;

// What comes out beside the result, in the type of the parameters.
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

// Mean and 1/deviation of a group. In PyTorch the mean of a group with an
// infinity is NaN, and that of no elements 0.
static void settle(const norm* n, const etx_moments* m, double* out_mean,
                   double* out_scale) {
  if (n->count == 0) {
    *out_mean = 0;
    *out_scale = __builtin_nan("");
    return;
  }
  const double variance = m->squares / (double)n->count;
  *out_mean = variance != variance ? variance : m->mean;
  *out_scale = etx_inverse_deviation(variance, n->eps);
}

static void measure(const norm* n, const void* in, double* out_mean,
                    double* out_scale) {
  etx_moments m = {0};
  etx_moments_add_strided(&m, n->dtype, in, 1, n->count);
  settle(n, &m, out_mean, out_scale);
}

static void write_floats(const float* weight, const float* bias,
                         const float* in, float* out, size_t count, float mean,
                         float scale) {
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

static void write_doubles(const double* weight, const double* bias,
                          const double* in, double* out, size_t count,
                          double mean, double scale) {
  for (size_t i = 0; i < count; ++i) {
    const double factor = weight == NULL ? scale : scale * weight[i];
    out[i] = (in[i] - mean) * factor + (bias == NULL ? 0.0 : bias[i]);
  }
}

// One row in parts of `most` elements: a block, or all if nothing has to be
// converted.
static void write_row(const norm* n, const char* in, char* out, double mean,
                      double scale) {
  const size_t bytes = etx_dtype_bytes(n->dtype);
  const bool native = n->dtype == etx_compute_type_dtype(n->wide);
  const size_t most = native ? n->count : ETX_BLOCK;
  for (size_t done = 0; done < n->count; done += most) {
    const size_t left = n->count - done;
    const size_t part = left < most ? left : most;
    etx_block x, y, weights, biases;
    const void* weight = NULL;
    const void* bias = NULL;
    if (n->weight.data != NULL) {
      weight =
          etx_norm_parameter_load(&n->weight, done, part, n->wide, &weights);
    }
    if (n->bias.data != NULL) {
      bias = etx_norm_parameter_load(&n->bias, done, part, n->wide, &biases);
    }
    const void* from = in + done * bytes;
    void* to = out + done * bytes;
    if (!native) {
      etx_block_load(&x, n->wide, n->dtype, from, 1, part);
    }
    if (!etx_is_f64(n->wide)) {
      write_floats(weight, bias, native ? from : &x, native ? to : &y, part,
                   (float)mean, (float)scale);
    } else {
      write_doubles(weight, bias, native ? from : &x, native ? to : &y, part,
                    mean, scale);
    }
    if (!native) etx_block_store(&y, n->wide, n->dtype, to, 1, part);
  }
}

// Whether rows of floats can be done without leaving float: short enough for
// sums in it.
enum { SHORT_ROW = 1024 };

static bool is_plain(const norm* n, const statistics* s) {
  const bool weight =
      n->weight.data == NULL ||
      (n->weight.dtype == ETX_DTYPE_FLOAT32 && n->weight.stride == 1);
  const bool bias = n->bias.data == NULL ||
                    (n->bias.dtype == ETX_DTYPE_FLOAT32 && n->bias.stride == 1);
  return n->dtype == ETX_DTYPE_FLOAT32 && s->dtype == ETX_DTYPE_FLOAT32 &&
         weight && bias && n->count > 0 && n->count <= SHORT_ROW;
}

// A parameter that is not there is one that changes nothing, in `room`.
static const float* parameter_or(const norm* n,
                                 const etx_norm_parameter* parameter,
                                 float none, float room[SHORT_ROW]) {
  if (parameter->data != NULL) return (const float*)parameter->data;
  for (size_t i = 0; i < n->count; ++i) room[i] = none;
  return room;
}

static void normalize_floats(const norm* n, const statistics* s,
                             const etx_softmax_loops* line, size_t first,
                             size_t end, const float* in, float* out) {
  float weights[SHORT_ROW], biases[SHORT_ROW];
  const etx_layer_norm_rows rows = {
      .in = in + first * n->count,
      .out = out + first * n->count,
      .weight = parameter_or(n, &n->weight, 1.0f, weights),
      .bias = parameter_or(n, &n->bias, -0.0f, biases),
      .means = (float*)(void*)s->means + first,
      .scales = (float*)(void*)s->scales + first,
      .rows = end - first,
      .count = n->count,
      .eps = (float)n->eps};
  line->normalize(&rows);
}

// Rows of halves that fit a block: each is converted once, and so are the
// parameters.
static bool is_short(const norm* n) {
  return n->wide == ETX_COMPUTE_F32 && n->dtype != ETX_DTYPE_FLOAT32 &&
         n->count > 0 && n->count <= ETX_BLOCK;
}

static void normalize_halves(const norm* n, const statistics* s, size_t first,
                             size_t end, const char* in, char* out) {
  const size_t bytes = n->count * etx_dtype_bytes(n->dtype);
  const size_t step = etx_dtype_bytes(s->dtype);
  etx_block x, y, weights, biases, means, scales;
  const void* weight = NULL;
  const void* bias = NULL;
  if (n->weight.data != NULL) {
    weight =
        etx_norm_parameter_load(&n->weight, 0, n->count, n->wide, &weights);
  }
  if (n->bias.data != NULL) {
    bias = etx_norm_parameter_load(&n->bias, 0, n->count, n->wide, &biases);
  }
  for (size_t row = first, held = 0; row < end; ++row) {
    etx_moments m = {0};
    double* mean = &means.f64[held];
    double* scale = &scales.f64[held];
    etx_block_load(&x, n->wide, n->dtype, in + row * bytes, 1, n->count);
    etx_moments_add(&m, n->wide, &x, n->count);
    settle(n, &m, mean, scale);
    write_floats(weight, bias, x.f32, y.f32, n->count, (float)*mean,
                 (float)*scale);
    etx_block_store(&y, n->wide, n->dtype, out + row * bytes, 1, n->count);
    if (++held < ETX_BLOCK && row + 1 < end) continue;
    const size_t at = (row + 1 - held) * step;
    etx_block_store(&means, ETX_COMPUTE_F64, s->dtype, s->means + at, 1, held);
    etx_block_store(&scales, ETX_COMPUTE_F64, s->dtype, s->scales + at, 1,
                    held);
    held = 0;
  }
}

static norm norm_of(const etx_call* call, size_t weight, size_t eps) {
  const etx_dtype dtype =
      etx_call_tensor(call, ETX_ARG_native_layer_norm_input)->dtype;
  const norm n = {.dtype = dtype,
                  .wide = etx_compute_type_of(dtype),
                  .count = (size_t)call->prepared[1],
                  .weight = etx_norm_parameter_of(call, weight),
                  .bias = etx_norm_parameter_of(call, weight + 1),
                  .eps = etx_call_real(call, eps)};
  return n;
}

// Rows of a layer.
typedef struct layer {
  norm n;
  statistics s;
  const etx_softmax_loops* line;
  const char* in;
  char* out;
} layer;

static void normalize_rows(const void* context, size_t first, size_t end) {
  const layer* l = context;
  if (is_plain(&l->n, &l->s)) {
    normalize_floats(&l->n, &l->s, l->line, first, end,
                     (const float*)(const void*)l->in, (float*)(void*)l->out);
    return;
  }
  if (is_short(&l->n)) {
    normalize_halves(&l->n, &l->s, first, end, l->in, l->out);
    return;
  }
  const size_t bytes = l->n.count * etx_dtype_bytes(l->n.dtype);
  for (size_t row = first; row < end; ++row) {
    double mean, scale;
    measure(&l->n, l->in + row * bytes, &mean, &scale);
    write_row(&l->n, l->in + row * bytes, l->out + row * bytes, mean, scale);
    write_statistics(&l->s, row, mean, scale);
  }
}

// True if means or scales lie where all rows read: as many rows as elements.
static bool overwrites_parameters(const layer* l) {
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
  const layer l = {norm_of(call, 2, 4), statistics_of(call, 6),
                   &etx_float_loops_of(set)->line,
                   etx_call_tensor(call, ETX_ARG_native_layer_norm_input)->data,
                   etx_call_tensor(call, ETX_ARG_native_layer_norm_out0)->data};
  const size_t rows = (size_t)call->prepared[0];
  const double work =
      overwrites_parameters(&l) ? 0 : WORK * (double)rows * (double)l.n.count;
  etx_parallel_for(call->parallel, rows, work, normalize_rows, &l);
  return ETX_OK;
}

// One group: `channels` of them from `first` on, each of `size` elements.
static void write_group(const norm* n, size_t first, size_t channels,
                        size_t size, const char* in, char* out, double mean,
                        double scale) {
  const size_t bytes = size * etx_dtype_bytes(n->dtype);
  for (size_t i = 0; i < channels; ++i) {
    const double weight = etx_norm_parameter_at(&n->weight, first + i, 1);
    const double bias = etx_norm_parameter_at(&n->bias, first + i, 0);
    etx_norm_affine_row(n->dtype, out + i * bytes, 1, in + i * bytes, 1, size,
                        mean, scale * weight, bias);
  }
}

// (input, weight, bias, N, C, HxW, group, eps, out0, out1, out2)
static etx_status run_group_norm(etx_call* call) {
  const norm n = norm_of(call, 1, 7);
  const statistics s = statistics_of(call, 9);
  const size_t groups =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_group);
  const size_t channels =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_C) / groups;
  const size_t size =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_HxW);
  const size_t bytes = n.count * etx_dtype_bytes(n.dtype);
  const char* in = etx_call_tensor(call, ETX_ARG_native_group_norm_input)->data;
  char* out = etx_call_tensor(call, ETX_ARG_native_group_norm_out0)->data;
  for (size_t at = 0; at < (size_t)call->prepared[0]; ++at) {
    double mean, scale;
    measure(&n, in, &mean, &scale);
    write_group(&n, at % groups * channels, channels, size, in, out, mean,
                scale);
    write_statistics(&s, at, mean, scale);
    in += bytes;
    out += bytes;
  }
  return ETX_OK;
}

// Groups, and elements of a group, that run needs; all tensors lie densely.
static etx_status prepare(etx_call* call, size_t weight, size_t out,
                          size_t count, etx_kernel_function run) {
  const size_t parameters[] = {weight, weight + 1};
  ETX_TRY(etx_call_check_norm_types(call, out, parameters, 2));
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

// The shape rule has seen that the numbers make up the input.
etx_status etx_kernel_native_group_norm_out_prepare(etx_call* call) {
  const size_t channels =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_C);
  const size_t groups =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_group);
  const size_t size =
      (size_t)etx_call_integer(call, ETX_ARG_native_group_norm_HxW);
  return prepare(call, 1, 8, channels / groups * size, run_group_norm);
}
