// Interpolation to other sizes.
//
// Nearest and linear interpolation have 2-D operators; 1-D and 3-D use them
// (lower_spatial_dims.c). The other modes need tables. For fixed sizes they are
// computed here: nearest-exact is an index_select, bicubic a matrix product
// with the interpolation weights. For sizes that vary, see
// varying_resampling.h.

#include <math.h>

#include "exporter/lower/builder/lowering_functions.h"
#include "exporter/lower/image/varying_resampling.h"

enum {
  MAX_SPATIAL = 3,
  // Entries of a table that is stored in the file.
  MAX_ENTRIES = 1 << 20,
  MAX_PARTS = 1024,  // scale factors of sizes that vary are multiples of 1/1024
};

// The output sizes or the scale factors.
typedef struct resampling_target {
  size_t spatial;
  bool has_scales;
  etx_dim sizes[MAX_SPATIAL];
  double scales[MAX_SPATIAL];
  bool aligns_corners;
  bool antialias;
  bool from_starts;  // of etx_axis_resampling
} resampling_target;

static double real_of(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_DOUBLE ? arg->as.real
                                        : (double)arg->as.integer;
}

// Argument 1 has sizes or is None, argument `scales` has scales or is None.
static etx_status read_target(etx_builder* builder, size_t spatial,
                              size_t scales, resampling_target* out) {
  const etx_ir_arg* const sizes = &builder->args[1];
  const etx_ir_arg* const factors = &builder->args[scales];
  *out = (resampling_target){.spatial = spatial};
  out->has_scales = sizes->kind == ETX_IR_ARG_NONE;
  const etx_ir_arg* const list = out->has_scales ? factors : sizes;
  const size_t rank =
      etx_builder_shape(builder, builder->args[0].as.value)->rank;
  if (list->kind != ETX_IR_ARG_LIST || list->as.list.count != spatial ||
      rank != spatial + 2) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects %z output sizes or scale factors and a "
                         "tensor of rank %z, found rank %z",
                         builder->node->aten, spatial, spatial + 2, rank);
  }
  for (size_t i = 0; i < spatial; ++i) {
    if (out->has_scales) {
      out->scales[i] = real_of(&list->as.list.items[i]);
    } else {
      out->sizes[i] = list->as.list.items[i].as.integer;
    }
  }
  return ETX_OK;
}

// ------------------------------------------------ operators over planes

// The size and scale arguments of the 2-D operators.
static etx_status plane_target(etx_builder* builder, const resampling_target* t,
                               etx_ir_arg* out_sizes, etx_ir_arg* out_scales) {
  *out_sizes = *out_scales = etx_ir_none();
  if (!t->has_scales)
    return etx_build_int_list(builder, t->sizes, 2, out_sizes);
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, 2 * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < 2; ++i) items[i] = etx_ir_double(t->scales[i]);
  *out_scales = etx_ir_list(items, 2);
  return ETX_OK;
}

static etx_status resample_planes(etx_builder* builder, etx_op_id op,
                                  const resampling_target* t, uint32_t self,
                                  uint32_t* out) {
  etx_ir_arg sizes, scales;
  ETX_TRY(plane_target(builder, t, &sizes, &scales));
  if (op == ETX_OP_upsample_nearest2d_vec_out) {
    const etx_ir_arg args[] = {etx_ir_value_arg(self), sizes, scales};
    return etx_build_op(builder, op, args, 3, out);
  }
  const etx_ir_arg args[] = {etx_ir_value_arg(self), sizes,
                             etx_ir_bool(t->aligns_corners), scales};
  return etx_build_op(builder, op, args, 4, out);
}

// One step of a 3-D interpolation: rows and columns, or depth.
static etx_status resample_step(etx_builder* builder, const void* context,
                                bool is_depth, uint32_t self, uint32_t* out) {
  resampling_target t = *(const resampling_target*)context;
  const etx_shape* const shape = etx_builder_shape(builder, self);
  for (size_t i = 0; !is_depth && i < 2; ++i) {
    t.sizes[i] = t.sizes[i + 1];
    t.scales[i] = t.scales[i + 1];
  }
  if (is_depth) {
    t.sizes[1] = shape->dims[shape->rank - 1];
    t.scales[1] = 1;
  }
  return resample_planes(builder, builder->row->op, &t, self, out);
}

static etx_status resample(etx_builder* builder, resampling_target* t) {
  uint32_t self = builder->args[0].as.value;
  uint32_t* const result = &builder->results[0];
  if (t->spatial == 3) {
    return etx_build_by_spatial_dims(builder, self, resample_step, t, result);
  }
  if (t->spatial == 2) {
    return resample_planes(builder, builder->row->op, t, self, result);
  }
  t->sizes[1] = t->sizes[0];
  t->sizes[0] = 1;
  t->scales[1] = t->scales[0];
  t->scales[0] = 1;
  ETX_TRY(etx_build_add_row_dim(builder, self, &self));
  ETX_TRY(resample_planes(builder, builder->row->op, t, self, result));
  return etx_build_drop_row_dim(builder, result);
}

static size_t spatial_of(const etx_builder* builder) {
  const size_t rank =
      etx_builder_shape(builder, builder->args[0].as.value)->rank;
  return rank >= 3 && rank <= 5 ? rank - 2u : 2;
}

// ------------------------------------------------ sizes that vary

static bool are_fixed(const etx_builder* builder, const resampling_target* t) {
  const etx_shape* const shape =
      etx_builder_shape(builder, builder->args[0].as.value);
  for (size_t i = 0; i < t->spatial; ++i) {
    if (!etx_dim_is_number(shape->dims[2 + i])) return false;
    if (!t->has_scales && !etx_dim_is_number(t->sizes[i])) return false;
  }
  return true;
}

// Reads both sizes and scale factors. If both are given, the scales must give
// the sizes, and only the scales are passed on. Of sizes that vary, both are
// kept: `has_scales` is false, and `scales` has the factors.
static etx_status read_size_and_scales(etx_builder* builder, size_t scales,
                                       resampling_target* out) {
  const etx_ir_arg* const args = builder->args;
  const etx_shape shape = *etx_builder_shape(builder, args[0].as.value);
  ETX_TRY(read_target(builder, 2, scales, out));
  if (args[scales].kind == ETX_IR_ARG_NONE ||
      args[scales + 1].kind == ETX_IR_ARG_NONE) {
    return ETX_OK;
  }
  for (size_t i = 0; i < 2; ++i) out->scales[i] = real_of(&args[scales + i]);
  if (!are_fixed(builder, out)) return ETX_OK;
  for (size_t i = 0; i < 2; ++i) {
    const double scaled = (double)(float)shape.dims[2 + i] * out->scales[i];
    if (scaled < (double)out->sizes[i] || scaled >= (double)out->sizes[i] + 1) {
      return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                           "'%t' with a scale factor that does not give the "
                           "output size is not supported",
                           builder->node->aten);
    }
  }
  out->has_scales = true;
  return ETX_OK;
}

// The size of the result: the stated one, or that by a whole scale factor.
static etx_status varying_size(etx_builder* builder, const resampling_target* t,
                               size_t i, etx_dim* out) {
  const etx_dim in =
      etx_builder_shape(builder, builder->args[0].as.value)->dims[2 + i];
  const etx_ir_value* const stated =
      &builder->method->values[builder->node->outputs[0]];
  const double scale = t->scales[i];
  if (!t->has_scales) {
    *out = t->sizes[i];
    return ETX_OK;
  }
  if (stated->has_shape && stated->shape.rank == t->spatial + 2) {
    *out = stated->shape.dims[2 + i];
    return ETX_OK;
  }
  if (scale < 1 || scale > MAX_ENTRIES || scale != floor(scale)) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of a size that varies by a scale factor that is "
                         "no whole number needs the type of its result",
                         builder->node->aten);
  }
  return etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY, in,
                           (etx_dim)scale, out);
}

typedef etx_status resample_axis(etx_builder* builder,
                                 const etx_axis_resampling* r, uint32_t self,
                                 uint32_t* out);

// Interpolates one dimension after the other.
static etx_status resample_varying(etx_builder* builder,
                                   const resampling_target* t,
                                   resample_axis* step) {
  uint32_t value = builder->args[0].as.value;
  for (size_t i = t->spatial; i-- > 0;) {
    etx_axis_resampling r = {2 + i,
                             0,
                             t->scales[i],
                             t->aligns_corners,
                             step == etx_build_two_taps,
                             t->from_starts};
    ETX_TRY(varying_size(builder, t, i, &r.size));
    ETX_TRY(step(builder, &r, value, &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

// True if the operators over planes take the target: either sizes or, for sizes
// that vary, scale factors that are multiples of 1/1024.
static bool are_of_planes(const etx_builder* builder,
                          const resampling_target* t) {
  if (are_fixed(builder, t)) return true;
  for (size_t i = 0; i < t->spatial; ++i) {
    const double parts = t->scales[i] * MAX_PARTS;
    if (t->has_scales ? parts != floor(parts) : t->scales[i] != 0) return false;
  }
  return true;
}

static etx_status resample_linear(etx_builder* builder, resampling_target* t) {
  if (are_of_planes(builder, t)) return resample(builder, t);
  return resample_varying(builder, t, etx_build_two_taps);
}

static etx_status resample_nearest(etx_builder* builder, resampling_target* t) {
  if (are_of_planes(builder, t)) return resample(builder, t);
  t->from_starts = true;
  return resample_varying(builder, t, etx_build_nearest);
}

// (input, output_size, align_corners, scale_factors)
etx_status etx_lowering_upsample_linear(etx_builder* builder) {
  resampling_target t = {0};
  ETX_TRY(read_target(builder, spatial_of(builder), 3, &t));
  t.aligns_corners = builder->args[2].as.boolean;
  return resample_linear(builder, &t);
}

// (input, output_size, scale_factors)
etx_status etx_lowering_upsample_nearest(etx_builder* builder) {
  resampling_target t = {0};
  ETX_TRY(read_target(builder, spatial_of(builder), 2, &t));
  return resample_nearest(builder, &t);
}

// (self, output_size, scales_h, scales_w)
etx_status etx_lowering_upsample_nearest_default(etx_builder* builder) {
  resampling_target t = {0};
  ETX_TRY(read_size_and_scales(builder, 2, &t));
  return resample_nearest(builder, &t);
}

// (self, output_size, align_corners, scales_h, scales_w)
etx_status etx_lowering_upsample_linear_default(etx_builder* builder) {
  resampling_target t = {0};
  ETX_TRY(read_size_and_scales(builder, 3, &t));
  t.aligns_corners = builder->args[2].as.boolean;
  return resample_linear(builder, &t);
}

// ------------------------------------------------ fixed sizes

// Computes the output sizes, which must be fixed.
static etx_status fix_sizes(etx_builder* builder, resampling_target* t) {
  const etx_shape* const shape =
      etx_builder_shape(builder, builder->args[0].as.value);
  for (size_t i = 0; i < t->spatial; ++i) {
    const etx_dim in = shape->dims[2 + i];
    if (t->has_scales) {
      t->sizes[i] = (etx_dim)((double)(float)in * t->scales[i]);
    } else {
      t->scales[i] = 0;
    }
    if (in < 1 || t->sizes[i] < 1 || t->sizes[i] > MAX_ENTRIES / in) {
      return etx_diag_fail(
          builder->diag, ETX_UNSUPPORTED,
          "'%t' of dynamic, empty or very large sizes is not supported",
          builder->node->aten);
    }
  }
  return ETX_OK;
}

// (self, output_size, align_corners, scales_h, scales_w)
etx_status etx_lowering_upsample_antialias_default(etx_builder* builder) {
  return etx_build_op(builder, ETX_OP_upsample_bilinear2d_aa_out, builder->args,
                      5, &builder->results[0]);
}

// (input, output_size, align_corners, scale_factors)
etx_status etx_lowering_upsample_antialias(etx_builder* builder) {
  resampling_target t = {0};
  ETX_TRY(read_target(builder, 2, 3, &t));
  etx_ir_arg args[] = {builder->args[0], builder->args[1], builder->args[2],
                       etx_ir_none(), etx_ir_none()};
  if (t.has_scales) {
    ETX_TRY(fix_sizes(builder, &t));
    ETX_TRY(etx_build_int_list(builder, t.sizes, 2, &args[1]));
    args[3] = etx_ir_double(t.scales[0]);
    args[4] = etx_ir_double(t.scales[1]);
  }
  return etx_build_op(builder, ETX_OP_upsample_bilinear2d_aa_out, args, 5,
                      &builder->results[0]);
}

// Selects the input positions nearest to the centres of the outputs, computed
// in float32 as in PyTorch.
static etx_status select_nearest_exact(etx_builder* builder, uint32_t self,
                                       size_t axis, int64_t out, double scale,
                                       uint32_t* out_value) {
  const int64_t in = etx_builder_shape(builder, self)->dims[axis];
  const float step = scale > 0 ? (float)(1 / scale) : (float)in / (float)out;
  int64_t* const index =
      etx_pool_take(builder->module->pool, (size_t)out * sizeof(int64_t));
  if (index == NULL) return ETX_OUT_OF_MEMORY;
  for (int64_t i = 0; i < out; ++i) {
    const float at = floorf(((float)i + 0.5f) * step);
    index[i] = at < (float)(in - 1) ? (int64_t)at : in - 1;
  }
  const etx_ir_constant constant = {
      ETX_DTYPE_INT64,
      1,
      {out},
      {(const uint8_t*)index, (size_t)out * sizeof *index}};
  uint32_t table = 0;
  ETX_TRY(etx_build_constant(builder, &constant, &table));
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_int((etx_dim)axis),
                             etx_ir_value_arg(table)};
  return etx_build_op(builder, ETX_OP_index_select_out, args, 3, out_value);
}

// (input, output_size, scale_factors)
etx_status etx_lowering_upsample_nearest_exact(etx_builder* builder) {
  resampling_target t = {0};
  uint32_t value = builder->args[0].as.value;
  ETX_TRY(read_target(builder, spatial_of(builder), 2, &t));
  if (!are_fixed(builder, &t)) {
    return resample_varying(builder, &t, etx_build_nearest);
  }
  ETX_TRY(fix_sizes(builder, &t));
  for (size_t i = 0; i < t.spatial; ++i) {
    ETX_TRY(select_nearest_exact(builder, value, 2 + i, t.sizes[i], t.scales[i],
                                 &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

// ------------------------------------------------ bicubic

// The cubic convolution kernel (Keys) at distance `x`, with parameter `a`.
static double cubic_weight(double a, double x) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Adds the weights of the four inputs around position `at` to a row of the
// matrix. Positions outside the input are clamped.
static void add_cubic(double* row, int64_t in, double at) {
  double base = floor(at);
  if (base > (double)(in - 1)) base = (double)(in - 1);
  const double away = at - base < 1 ? at - base : 1;
  for (int64_t i = -1; i <= 2; ++i) {
    int64_t from = (int64_t)base + i;
    if (from < 0) from = 0;
    if (from > in - 1) from = in - 1;
    row[from] += cubic_weight(-0.75, away - (double)i);
  }
}

// The same with antialiasing: if `step` > 1, the kernel is wider by that
// factor. It is cut at the ends of the input, and the weights are normalised to
// a sum of 1.
static void add_antialiased_cubic(double* row, int64_t in, double middle,
                                  double step) {
  const double wide = step > 1 ? step : 1;
  int64_t from = (int64_t)(middle - 2 * wide + 0.5);
  int64_t end = (int64_t)(middle + 2 * wide + 0.5);
  double sum = 0;
  if (from < 0) from = 0;
  if (end > in) end = in;
  for (int64_t i = from; i < end; ++i) {
    row[i] = cubic_weight(-0.5, ((double)i - middle + 0.5) / wide);
    sum += row[i];
  }
  for (int64_t i = from; i < end && sum != 0; ++i) row[i] /= sum;
}

// The matrix [out, in] that interpolates one dimension.
static etx_status cubic_matrix(etx_builder* builder, const resampling_target* t,
                               size_t i, int64_t in, etx_dtype dtype,
                               uint32_t* out) {
  const int64_t size = t->sizes[i];
  double step = t->scales[i] > 0 ? 1 / t->scales[i] : (double)in / (double)size;
  // Equal sizes are a copy, whatever the scale factor.
  if (t->antialias && in == size) step = 1;
  if (t->aligns_corners) {
    step = size > 1 ? (double)(in - 1) / (double)(size - 1) : 0;
  }
  const size_t bytes = (size_t)(in * size) * sizeof(double);
  double* const data = etx_pool_take(builder->module->pool, bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  memset(data, 0, bytes);
  for (int64_t k = 0; k < size; ++k) {
    if (t->antialias) {
      add_antialiased_cubic(data + k * in, in, step * ((double)k + 0.5), step);
      continue;
    }
    const double at =
        t->aligns_corners ? step * (double)k : step * ((double)k + 0.5) - 0.5;
    add_cubic(data + k * in, in, at);
  }
  const etx_ir_constant constant = {
      ETX_DTYPE_FLOAT64, 2, {size, in}, {(const uint8_t*)data, bytes}};
  ETX_TRY(etx_build_constant(builder, &constant, out));
  return etx_build_cast(builder, *out, dtype, out);
}

// The product with the matrices of weights, which the program computes.
static etx_status varying_antialiased(etx_builder* builder,
                                      const resampling_target* t) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[0].as.value);
  const etx_dtype dtype =
      shape.dtype == ETX_DTYPE_FLOAT64 ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32;
  uint32_t value = builder->args[0].as.value;
  uint32_t weights[2];
  for (size_t i = 0; i < 2; ++i) {
    etx_axis_resampling r = {2 + i, 0,    t->scales[i], t->aligns_corners,
                             true,  false};
    ETX_TRY(varying_size(builder, t, i, &r.size));
    ETX_TRY(etx_build_antialiased_cubic_weights(builder, &r, shape.dims[2 + i],
                                                dtype, &weights[i]));
    ETX_TRY(etx_build_cast(builder, weights[i], shape.dtype, &weights[i]));
  }
  ETX_TRY(etx_build_linear(builder, value, weights[1], ETX_IR_NONE, &value));
  return etx_build_matmul(builder, weights[0], value, &builder->results[0]);
}

static etx_status resample_cubic(etx_builder* builder, resampling_target* t) {
  const uint32_t self = builder->args[0].as.value;
  const etx_shape shape = *etx_builder_shape(builder, self);
  uint32_t rows = 0, columns = 0, value = 0;
  if (!are_fixed(builder, t)) {
    return t->antialias ? varying_antialiased(builder, t)
                        : resample_varying(builder, t, etx_build_cubic);
  }
  ETX_TRY(fix_sizes(builder, t));
  ETX_TRY(cubic_matrix(builder, t, 0, shape.dims[2], shape.dtype, &rows));
  ETX_TRY(cubic_matrix(builder, t, 1, shape.dims[3], shape.dtype, &columns));
  ETX_TRY(etx_build_linear(builder, self, columns, ETX_IR_NONE, &value));
  return etx_build_matmul(builder, rows, value, &builder->results[0]);
}

// (input, output_size, align_corners, scale_factors)
static etx_status bicubic(etx_builder* builder, bool antialias) {
  resampling_target t = {0};
  ETX_TRY(read_target(builder, 2, 3, &t));
  t.antialias = antialias;
  t.aligns_corners = builder->args[2].as.boolean;
  return resample_cubic(builder, &t);
}

// (self, output_size, align_corners, scales_h, scales_w)
static etx_status bicubic_default(etx_builder* builder, bool antialias) {
  resampling_target t = {0};
  ETX_TRY(read_size_and_scales(builder, 3, &t));
  t.antialias = antialias;
  t.aligns_corners = builder->args[2].as.boolean;
  return resample_cubic(builder, &t);
}

etx_status etx_lowering_upsample_bicubic(etx_builder* builder) {
  return bicubic(builder, false);
}

etx_status etx_lowering_upsample_bicubic_antialias(etx_builder* builder) {
  return bicubic(builder, true);
}

etx_status etx_lowering_upsample_bicubic_default(etx_builder* builder) {
  return bicubic_default(builder, false);
}

etx_status etx_lowering_upsample_bicubic_antialias_default(
    etx_builder* builder) {
  return bicubic_default(builder, true);
}
