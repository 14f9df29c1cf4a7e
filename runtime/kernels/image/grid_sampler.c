// Reads images at places that a grid names: the nearest element, or two or
// four rows and columns around the place, weighed linearly or by cubics.
//
// Places are reckoned in doubles. For a block of results the elements to read
// and their weights are found once, row and column apart, and serve all
// channels.

#include "runtime/kernels/math/half_float.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/core/parallel_for.h"

// The numbers that PyTorch gives the modes.
enum { LINEAR, NEAREST, CUBIC, MODES };
enum { ZEROS, BORDER, REFLECTION, PADDINGS };
enum { MOST_TAPS = 4 };
// Results of a row whose elements are found at once.
enum { LANES = 32 };

typedef struct sampler {
  etx_planes in, out;
  const char* grid;
  etx_dtype grid_dtype;
  ptrdiff_t grid_image, grid_row, grid_column, grid_part;  // in elements
  etx_compute_type wide;
  int mode, padding;
  bool aligns_corners;
} sampler;

// Positions along one dimension that results of a block read: bytes from the
// plane's start, or -1 for what lies outside and counts as 0.
typedef struct taps {
  size_t count;
  ptrdiff_t at[MOST_TAPS][LANES];
  double f64[MOST_TAPS][LANES];  // weights
  float f32[MOST_TAPS][LANES];   // the same, rounded
} taps;

// What results of a block read of each channel: along each dimension, and
// together.
typedef struct spots {
  taps y, x;
  ptrdiff_t at[MOST_TAPS * MOST_TAPS][LANES];  // bytes, or -1
} spots;

// From -1..1 to positions of a dimension.
static double position_of(const sampler* s, double place, int64_t size) {
  return s->aligns_corners ? (place + 1) / 2 * (double)(size - 1)
                           : ((place + 1) * (double)size - 1) / 2;
}

// Folds a position back at both ends.
static double reflect(const sampler* s, double at, int64_t size) {
  const double low = s->aligns_corners ? 0 : -0.5;
  const double span = s->aligns_corners ? (double)(size - 1) : (double)size;
  if (span == 0) return 0;
  const double away = etx_abs_f64(at - low);
  const double turns = etx_floor_f64(away / span);
  const double rest = away - turns * span;
  const bool is_even = turns == 2 * etx_floor_f64(turns / 2);
  return is_even ? low + rest : low + span - rest;
}

// Brings a position into the dimension; NaN becomes 0.
static double pad(const sampler* s, double at, int64_t size) {
  if (s->padding == ZEROS) return at;
  if (s->padding == REFLECTION) at = reflect(s, at, size);
  if (!(at > 0)) return 0;
  return at < (double)(size - 1) ? at : (double)(size - 1);
}

// Without branches: which places lie outside is anybody's guess.
static void find_elements(const double* at, size_t count, int64_t size,
                          ptrdiff_t stride, ptrdiff_t* out) {
  const double last = (double)(size - 1);
  for (size_t i = 0; i < count; ++i) {
    const double from_0 = at[i] > 0 ? at[i] : 0;
    const double bounded = from_0 < last ? from_0 : last;
    const ptrdiff_t outside = (ptrdiff_t)((at[i] >= 0) & (at[i] <= last)) - 1;
    out[i] = ((ptrdiff_t)(int64_t)bounded * stride) | outside;
  }
}

// Weights of the elements 1 before, at, 1 and 2 behind a position that lies
// `t` behind an element.
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
    double weights[MOST_TAPS];
    bases[i] = etx_floor_f64(at[i]);
    cubic_weights(at[i] - bases[i], weights);
    for (size_t k = 0; k < MOST_TAPS; ++k) t->f64[k][i] = weights[k];
  }
  for (size_t k = 0; k < MOST_TAPS; ++k) {
    for (size_t i = 0; i < count; ++i) {
      each[i] = pad(s, bases[i] + (double)k - 1, size);
    }
    find_elements(each, count, size, stride, t->at[k]);
  }
}

// A whole number from -2 up to a size of a dimension, without the conversion
// that processors do for one number at a time.
static inline int64_t integer_of(double whole) {
  const double shift = 6755399441055744.0;  // 3 * 2^51: the last bit is worth 1
  return (int64_t)(etx_bits_of_f64(whole + shift) - etx_bits_of_f64(shift));
}

static inline ptrdiff_t element_at(int64_t index, int64_t size,
                                   ptrdiff_t stride) {
  const ptrdiff_t outside = -(ptrdiff_t)((index < 0) | (index >= size));
  return (ptrdiff_t)((size_t)index * (size_t)stride) | outside;
}

// The second element follows the first; -2 stands for all that is so far before
// the dimension that both lie outside, and for NaN.
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
    t->at[0][i] = element_at(first[i], size, stride);
    t->at[1][i] = element_at(first[i] + 1, size, stride);
  }
}

static void find_nearest(const double* at, size_t count, int64_t size,
                         ptrdiff_t stride, taps* t) {
  double nearest[LANES];
  for (size_t i = 0; i < count; ++i) {
    nearest[i] = etx_round_f64(at[i]);
    t->f64[0][i] = 1;
  }
  find_elements(nearest, count, size, stride, t->at[0]);
}

// For `count` places of a block, `stride` bytes from position to position.
static void find_taps(const sampler* s, double* places, size_t count,
                      int64_t size, ptrdiff_t stride, taps* t) {
  static const size_t tap_counts[MODES] = {2, 1, 4};
  const bool pads = s->mode != CUBIC && s->padding != ZEROS;
  t->count = tap_counts[s->mode];
  for (size_t i = 0; i < count; ++i) {
    places[i] = position_of(s, places[i], size);
  }
  for (size_t i = 0; i < count && pads; ++i) {
    places[i] = pad(s, places[i], size);
  }
  if (s->mode == CUBIC) {
    find_cubic(s, places, count, size, stride, t);
  } else if (s->mode == NEAREST) {
    find_nearest(places, count, size, stride, t);
  } else {
    find_linear(places, count, size, stride, t);
  }
  for (size_t k = 0; k < t->count && s->wide == ETX_COMPUTE_F32; ++k) {
    for (size_t i = 0; i < count; ++i) t->f32[k][i] = (float)t->f64[k][i];
  }
}

static void join_taps(spots* s, size_t count) {
  const size_t across = s->y.count;
  for (size_t a = 0; a < across; ++a) {
    for (size_t b = 0; b < across; ++b) {
      ptrdiff_t* at = s->at[a * across + b];
      for (size_t i = 0; i < count; ++i) {
        const ptrdiff_t row = s->y.at[a][i], column = s->x.at[b][i];
        const ptrdiff_t outside = -(ptrdiff_t)((row | column) < 0);
        at[i] = (row + column) | outside;
      }
    }
  }
}

// Elements that lie outside count as 0: the first one is read instead, and its
// bits U are thrown away, which needs no branch.
#define SAMPLE(name, U, W, member, of_bits)                                 \
  static inline void name##_taps(const char* plane, const spots* s,         \
                                 size_t across, size_t count, W* out) {     \
    for (size_t i = 0; i < count; ++i) {                                    \
      W sum = 0;                                                            \
      for (size_t a = 0; a < across; ++a) {                                 \
        W row = 0;                                                          \
        for (size_t b = 0; b < across; ++b) {                               \
          const ptrdiff_t at = s->at[a * across + b][i];                    \
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
  static void name(const char* plane, const spots* s, size_t count,         \
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

static void sample(etx_dtype dtype, const char* plane, const spots* s,
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

// What a block of places reads; `at` is the first of them.
static void find_block(const sampler* s, const char* at, size_t count,
                       spots* out) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(s->grid_dtype);
  double x[LANES], y[LANES];
  etx_convert(ETX_DTYPE_FLOAT64, x, 1, s->grid_dtype, at, s->grid_column,
              count);
  etx_convert(ETX_DTYPE_FLOAT64, y, 1, s->grid_dtype, at + s->grid_part * bytes,
              s->grid_column, count);
  find_taps(s, x, count, s->in.columns, s->in.column * s->in.bytes, &out->x);
  find_taps(s, y, count, s->in.rows, s->in.row * s->in.bytes, &out->y);
  join_taps(out, count);
}

// Columns `first` on of one row of results, in all channels.
static void sample_block(const sampler* s, int64_t image, int64_t y,
                         int64_t first, size_t count) {
  const ptrdiff_t place = (ptrdiff_t)image * s->grid_image +
                          (ptrdiff_t)y * s->grid_row +
                          (ptrdiff_t)first * s->grid_column;
  const ptrdiff_t to =
      (ptrdiff_t)y * s->out.row + (ptrdiff_t)first * s->out.column;
  const bool is_direct =
      s->out.column == 1 && s->out.dtype == etx_compute_type_dtype(s->wide);
  spots found;
  find_block(s, s->grid + place * (ptrdiff_t)etx_dtype_bytes(s->grid_dtype),
             count, &found);
  for (int64_t c = 0; c < s->in.channels; ++c) {
    const char* plane = etx_planes_at(&s->in, image, c);
    char* out = etx_planes_at(&s->out, image, c) + to * s->out.bytes;
    etx_block values;
    sample(s->in.dtype, plane, &found, count, is_direct ? (void*)out : &values);
    if (is_direct) continue;
    etx_block_store(&values, s->wide, s->out.dtype, out, s->out.column, count);
  }
}

// Items are rows of results of an image.
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
      .grid_part = grid->strides[3],
      .wide = etx_compute_type_of(grid->dtype),
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
                         "there is no mode %i, expected 0 to %i", mode,
                         (int64_t)modes - 1);
}

etx_status etx_kernel_grid_sampler_2d_out_prepare(etx_call* call) {
  const etx_compute_type wide = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_grid_sampler_2d_input)->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
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
