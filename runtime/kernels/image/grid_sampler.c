// grid_sample: reads images at coordinates that a grid holds. The interpolation
// is nearest, bilinear (2 x 2 taps) or bicubic (4 x 4 taps).
//
// Coordinates are computed in doubles. Offsets and weights of the taps are
// computed once for a block of results, for rows and columns separately, and
// are used for all channels.

#include "runtime/kernels/math/half_float.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/core/parallel_for.h"

// PyTorch's numbers of the interpolation and padding modes.
enum { LINEAR, NEAREST, CUBIC, MODES };
enum { ZEROS, BORDER, REFLECTION, PADDINGS };
enum { MAX_TAPS = 4 };
enum { LANES = 24 };  // results of a row that form a block

typedef struct sampler {
  etx_planes in, out;
  const char* grid;
  etx_dtype grid_dtype;
  ptrdiff_t grid_image, grid_row, grid_column, grid_xy;  // in elements
  etx_compute_type compute;
  int mode, padding;
  bool aligns_corners;
} sampler;

// The taps along one dimension for each result of a block: offsets in bytes
// from the start of the plane, or -1 for a tap outside the image, which reads
// as 0.
typedef struct taps {
  size_t count;
  ptrdiff_t at[MAX_TAPS][LANES];
  double f64[MAX_TAPS][LANES];  // weights
  float f32[MAX_TAPS][LANES];   // weights, rounded
} taps;

// The taps of a block: along each dimension, and combined.
typedef struct block_taps {
  taps y, x;
  ptrdiff_t at[MAX_TAPS * MAX_TAPS][LANES];  // bytes, or -1
} block_taps;

// Maps a coordinate in -1..1 to a position along a dimension.
static double position_of(const sampler* s, double coordinate, int64_t size) {
  return s->aligns_corners ? (coordinate + 1) / 2 * (double)(size - 1)
                           : ((coordinate + 1) * (double)size - 1) / 2;
}

// Reflects a position at both ends of the dimension.
static double reflect(const sampler* s, double at, int64_t size) {
  const double low = s->aligns_corners ? 0 : -0.5;
  const double span = s->aligns_corners ? (double)(size - 1) : (double)size;
  if (span == 0) return 0;
  const double away = etx_abs_f64(at - low);
  const double reflections = etx_floor_f64(away / span);
  const double rest = away - reflections * span;
  const bool is_even = reflections == 2 * etx_floor_f64(reflections / 2);
  return is_even ? low + rest : low + span - rest;
}

// Applies the padding mode to a position. NaN becomes 0, except for zero
// padding.
static double pad(const sampler* s, double at, int64_t size) {
  if (s->padding == ZEROS) return at;
  if (s->padding == REFLECTION) at = reflect(s, at, size);
  if (!(at > 0)) return 0;
  return at < (double)(size - 1) ? at : (double)(size - 1);
}

// Offsets of whole positions, -1 outside. Without branches, because they would
// be unpredictable.
static void find_offsets(const double* at, size_t count, int64_t size,
                         ptrdiff_t stride, ptrdiff_t* out) {
  const double last = (double)(size - 1);
  for (size_t i = 0; i < count; ++i) {
    const double from_0 = at[i] > 0 ? at[i] : 0;
    const double bounded = from_0 < last ? from_0 : last;
    const ptrdiff_t outside = (ptrdiff_t)((at[i] >= 0) & (at[i] <= last)) - 1;
    out[i] = ((ptrdiff_t)(int64_t)bounded * stride) | outside;
  }
}

// Cubic convolution weights (a = -0.75) of the elements at -1, 0, 1 and 2 for a
// position at `t` in [0, 1).
static void cubic_weights(double t, double weights[4]) {
  const double a = -0.75;
  for (int i = 0; i < 4; ++i) {
    const double x = i < 2 ? t + (1 - i) : (i - 1) - t;
    weights[i] = i == 1 || i == 2 ? ((a + 2) * x - (a + 3)) * x * x + 1
                                  : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }
}

static void find_cubic(const sampler* s, const double* at, size_t count,
                       int64_t size, ptrdiff_t stride, taps* t) {
  double bases[LANES], each[LANES];
  for (size_t i = 0; i < count; ++i) {
    double weights[MAX_TAPS];
    bases[i] = etx_floor_f64(at[i]);
    cubic_weights(at[i] - bases[i], weights);
    for (size_t k = 0; k < MAX_TAPS; ++k) t->f64[k][i] = weights[k];
  }
  for (size_t k = 0; k < MAX_TAPS; ++k) {
    for (size_t i = 0; i < count; ++i) {
      each[i] = pad(s, bases[i] + (double)k - 1, size);
    }
    find_offsets(each, count, size, stride, t->at[k]);
  }
}

// Converts a whole number, from -2 to the size of a dimension, to an integer.
// The processor's own conversion has no vector form below AVX-512.
static inline int64_t integer_of(double whole) {
  const double shift = 6755399441055744.0;  // 3 * 2^51: the last bit is worth 1
  return (int64_t)(etx_bits_of_f64(whole + shift) - etx_bits_of_f64(shift));
}

static inline ptrdiff_t offset_of(int64_t index, int64_t size,
                                  ptrdiff_t stride) {
  const ptrdiff_t outside = -(ptrdiff_t)((index < 0) | (index >= size));
  return (ptrdiff_t)((size_t)index * (size_t)stride) | outside;
}

// Bilinear: the second tap follows the first. -2 stands for NaN and for every
// position so low that both taps lie outside.
static void find_linear(const double* at, size_t count, int64_t size,
                        ptrdiff_t stride, taps* t) {
  const double behind = (double)size;
  int64_t first[LANES];
  for (size_t i = 0; i < count; ++i) {
    const double base = etx_floor_f64(at[i]);
    const double from_low = base > -2 ? base : -2;
    t->f64[0][i] = 1 - (at[i] - base);
    t->f64[1][i] = at[i] - base;
    first[i] = integer_of(from_low < behind ? from_low : behind);
  }
  for (size_t i = 0; i < count; ++i) {
    t->at[0][i] = offset_of(first[i], size, stride);
    t->at[1][i] = offset_of(first[i] + 1, size, stride);
  }
}

static void find_nearest(const double* at, size_t count, int64_t size,
                         ptrdiff_t stride, taps* t) {
  double nearest[LANES];
  for (size_t i = 0; i < count; ++i) {
    nearest[i] = etx_round_f64(at[i]);
    t->f64[0][i] = 1;
  }
  find_offsets(nearest, count, size, stride, t->at[0]);
}

// Finds the taps of `count` coordinates. `stride` is the distance of positions
// in bytes. Overwrites `coordinates`.
static void find_taps(const sampler* s, double* coordinates, size_t count,
                      int64_t size, ptrdiff_t stride, taps* t) {
  static const size_t tap_counts[MODES] = {2, 1, 4};
  const bool pads = s->mode != CUBIC && s->padding != ZEROS;
  t->count = tap_counts[s->mode];
  for (size_t i = 0; i < count; ++i) {
    coordinates[i] = position_of(s, coordinates[i], size);
  }
  for (size_t i = 0; i < count && pads; ++i) {
    coordinates[i] = pad(s, coordinates[i], size);
  }
  if (s->mode == CUBIC) {
    find_cubic(s, coordinates, count, size, stride, t);
  } else if (s->mode == NEAREST) {
    find_nearest(coordinates, count, size, stride, t);
  } else {
    find_linear(coordinates, count, size, stride, t);
  }
  for (size_t k = 0; k < t->count && s->compute == ETX_COMPUTE_F32; ++k) {
    for (size_t i = 0; i < count; ++i) t->f32[k][i] = (float)t->f64[k][i];
  }
}

static void combine_taps(block_taps* s, size_t count) {
  const size_t width = s->y.count;
  for (size_t a = 0; a < width; ++a) {
    for (size_t b = 0; b < width; ++b) {
      ptrdiff_t* at = s->at[a * width + b];
      for (size_t i = 0; i < count; ++i) {
        const ptrdiff_t row = s->y.at[a][i], column = s->x.at[b][i];
        const ptrdiff_t outside = -(ptrdiff_t)((row | column) < 0);
        at[i] = (row + column) | outside;
      }
    }
  }
}

// Defines the function `name`, which interpolates `count` results of one
// channel. U is the integer type of an element's bits, W the compute type,
// `member` the weights of that type, `of_bits` the conversion. A tap outside
// the image reads the plane's first element and masks its bits to 0, which
// needs no branch.
#define SAMPLE(name, U, W, member, of_bits)                                 \
  static inline void name##_taps(const char* plane, const block_taps* s,    \
                                 size_t width, size_t count, W* out) {      \
    for (size_t i = 0; i < count; ++i) {                                    \
      W sum = 0;                                                            \
      for (size_t a = 0; a < width; ++a) {                                  \
        W row = 0;                                                          \
        for (size_t b = 0; b < width; ++b) {                                \
          const ptrdiff_t at = s->at[a * width + b][i];                     \
          const ptrdiff_t inside = -(ptrdiff_t)(at >= 0);                   \
          U bits;                                                           \
          memcpy(&bits, plane + (at & inside), sizeof(bits));               \
          row += s->x.member[b][i] * of_bits((U)(bits & (uint64_t)inside)); \
        }                                                                   \
        sum += s->y.member[a][i] * row;                                     \
      }                                                                     \
      out[i] = sum;                                                         \
    }                                                                       \
  }                                                                         \
  static void name(const char* plane, const block_taps* s, size_t count,    \
                   void* out) {                                             \
    if (s->y.count == 2) {                                                  \
      name##_taps(plane, s, 2, count, out);                                 \
    } else {                                                                \
      name##_taps(plane, s, s->y.count, count, out);                        \
    }                                                                       \
  }

SAMPLE(sample_f32, uint32_t, float, f32, etx_f32_of_bits)
SAMPLE(sample_f16, uint16_t, float, f32, etx_f32_of_half)
SAMPLE(sample_bf16, uint16_t, float, f32, etx_f32_of_bfloat)
SAMPLE(sample_f64, uint64_t, double, f64, etx_f64_of_bits)

static void sample(etx_dtype dtype, const char* plane, const block_taps* s,
                   size_t count, void* out) {
  switch (dtype) {
    case ETX_DTYPE_FLOAT32:
      sample_f32(plane, s, count, out);
      break;
    case ETX_DTYPE_FLOAT16:
      if (ETX_HAS_DTYPE(FLOAT16)) sample_f16(plane, s, count, out);
      break;
    case ETX_DTYPE_BFLOAT16:
      if (ETX_HAS_DTYPE(BFLOAT16)) sample_bf16(plane, s, count, out);
      break;
    default:
      if (ETX_HAS_DTYPE(FLOAT64)) sample_f64(plane, s, count, out);
      break;
  }
}

// Finds the taps of a block of coordinates. `at` is the first pair of the grid.
static void find_block_taps(const sampler* s, const char* at, size_t count,
                            block_taps* out) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(s->grid_dtype);
  double x[LANES], y[LANES];
  etx_convert(ETX_DTYPE_FLOAT64, x, 1, s->grid_dtype, at, s->grid_column,
              count);
  etx_convert(ETX_DTYPE_FLOAT64, y, 1, s->grid_dtype, at + s->grid_xy * bytes,
              s->grid_column, count);
  find_taps(s, x, count, s->in.columns, s->in.column * s->in.bytes, &out->x);
  find_taps(s, y, count, s->in.rows, s->in.row * s->in.bytes, &out->y);
  combine_taps(out, count);
}

// Computes `count` results of row `y` from column `first` on, in all channels.
static void sample_block(const sampler* s, int64_t image, int64_t y,
                         int64_t first, size_t count) {
  const ptrdiff_t coordinate = (ptrdiff_t)image * s->grid_image +
                               (ptrdiff_t)y * s->grid_row +
                               (ptrdiff_t)first * s->grid_column;
  const ptrdiff_t to =
      (ptrdiff_t)y * s->out.row + (ptrdiff_t)first * s->out.column;
  const bool is_direct =
      s->out.column == 1 && s->out.dtype == etx_compute_type_dtype(s->compute);
  block_taps found;
  find_block_taps(
      s, s->grid + coordinate * (ptrdiff_t)etx_dtype_bytes(s->grid_dtype),
      count, &found);
  for (int64_t c = 0; c < s->in.channels; ++c) {
    const char* plane = etx_planes_at(&s->in, image, c);
    char* out = etx_planes_at(&s->out, image, c) + to * s->out.bytes;
    etx_block values;
    sample(s->in.dtype, plane, &found, count, is_direct ? (void*)out : &values);
    if (is_direct) continue;
    etx_block_store(&values, s->compute, s->out.dtype, out, s->out.column,
                    count);
  }
}

// Computes rows [first, end) of the results, counted over all images.
static void sample_rows(const void* context, size_t first, size_t end) {
  const sampler* s = context;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / s->out.rows;
    const int64_t y = (int64_t)i % s->out.rows;
    for (int64_t x = 0; x < s->out.columns; x += LANES) {
      const int64_t left = s->out.columns - x;
      sample_block(s, image, y, x, left < LANES ? (size_t)left : LANES);
    }
  }
}

// (input, grid, interpolation_mode, padding_mode, align_corners, out)
static etx_status run_sampler(etx_call* call) {
  const etx_tensor* grid = etx_call_tensor(call, ETX_ARG_grid_sampler_2d_grid);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_grid_sampler_2d_out);
  const sampler s = {
      .in = etx_planes_of(etx_call_tensor(call, ETX_ARG_grid_sampler_2d_input)),
      .out = etx_planes_of(out),
      .grid = grid->data,
      .grid_dtype = grid->dtype,
      .grid_image = grid->strides[0],
      .grid_row = grid->strides[1],
      .grid_column = grid->strides[2],
      .grid_xy = grid->strides[3],
      .compute = etx_compute_type_of(grid->dtype),
      .mode = (int)etx_call_integer(call,
                                    ETX_ARG_grid_sampler_2d_interpolation_mode),
      .padding =
          (int)etx_call_integer(call, ETX_ARG_grid_sampler_2d_padding_mode),
      .aligns_corners =
          etx_call_boolean(call, ETX_ARG_grid_sampler_2d_align_corners)};
  etx_parallel_for(call->parallel, (size_t)(s.out.images * s.out.rows),
                   (double)etx_tensor_numel(out) * 16, sample_rows, &s);
  return ETX_OK;
}

static etx_status check_mode(const etx_call* call, size_t index, int modes) {
  const int64_t mode = etx_call_integer(call, index);
  if (mode >= 0 && mode < modes) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "mode %i is unknown, expected 0 to %i", mode,
                         (int64_t)modes - 1);
}

etx_status etx_kernel_grid_sampler_2d_out_prepare(etx_call* call) {
  const etx_compute_type compute = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_grid_sampler_2d_input)->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_grid_sampler_2d_input,
                                 "a float");
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_grid_sampler_2d_input,
                                    ETX_ARG_grid_sampler_2d_grid));
  ETX_TRY(check_mode(call, 2, MODES));
  ETX_TRY(check_mode(call, 3, PADDINGS));
  call->run = run_sampler;
  return etx_call_check_same_dtype(call, ETX_ARG_grid_sampler_2d_input,
                                   ETX_ARG_grid_sampler_2d_out);
}
