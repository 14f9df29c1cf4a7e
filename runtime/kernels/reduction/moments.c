#include "runtime/kernels/reduction/moments.h"

#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"

enum { CHUNK = 1024 };  // elements whose moments are computed in two passes

// Merges the moments of two sets (moments.h).
static void merge(etx_moments* m, double mean, double squares, size_t count) {
  const double a = (double)m->count, b = (double)count;
  if (m->count == 0) {
    m->mean = mean;
    m->squares = squares;
  } else {
    const double difference = mean - m->mean;
    m->mean += difference * b / (a + b);
    m->squares += squares + difference * difference * a * b / (a + b);
  }
  m->count += (int64_t)count;
}

// As in PyTorch, which updates the mean element by element: an infinity makes
// the mean NaN, unless it is the last element.
static double mean_of(double sum, double last, size_t count) {
  const bool is_infinite = etx_abs_f64(sum) == __builtin_inf();
  if (is_infinite && etx_abs_f64(last) != __builtin_inf()) {
    return __builtin_nan("");
  }
  return sum / (double)count;
}

// The mean is rounded to a float before it is subtracted. The known error that
// this makes in the squares is corrected.
static void add_f32(etx_moments* m, const float* x, size_t count) {
  const double sum = (double)etx_striped_sum_f32(x, count);
  const double mean = mean_of(sum, (double)x[count - 1], count);
  const float rounded = (float)mean;
  const double error = mean - (double)rounded;
  const double squares = (double)etx_striped_squares_f32(x, rounded, count) -
                         error * error * (double)count;
  merge(m, mean, squares < 0 ? 0 : squares, count);
}

static void add_f64(etx_moments* m, const double* x, size_t count) {
  const double mean =
      mean_of(etx_striped_sum_f64(x, count), x[count - 1], count);
  merge(m, mean, etx_striped_squares_f64(x, mean, count), count);
}

void etx_moments_add(etx_moments* m, etx_compute_type compute,
                     const void* elements, size_t count) {
  for (size_t done = 0; done < count; done += CHUNK) {
    const size_t left = count - done;
    const size_t part = left < CHUNK ? left : CHUNK;
    if (compute == ETX_COMPUTE_F32) {
      add_f32(m, (const float*)elements + done, part);
    } else {
      add_f64(m, (const double*)elements + done, part);
    }
  }
}

void etx_moments_add_strided(etx_moments* m, etx_dtype dtype,
                             const void* elements, ptrdiff_t stride,
                             size_t count) {
  const etx_compute_type compute = etx_compute_type_of(dtype);
  const ptrdiff_t step = stride * (ptrdiff_t)etx_dtype_bytes(dtype);
  if (stride == 1 && dtype == etx_compute_type_dtype(compute)) {
    etx_moments_add(m, compute, elements, count);
    return;
  }
  const char* from = elements;
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block block;
    etx_block_load(&block, compute, dtype, from + (ptrdiff_t)done * step,
                   stride, part);
    etx_moments_add(m, compute, &block, part);
  }
}

static void start_nan(etx_accumulators* acc, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    acc->value.f64[i] = acc->other.f64[i] = __builtin_nan("");
  }
}

static void fold_row(etx_compute_type compute, etx_accumulators* acc, size_t at,
                     const void* elements, size_t count, int64_t before) {
  etx_moments m = {acc->value.f64[at], acc->other.f64[at], before};
  etx_moments_add(&m, compute, elements, count);
  acc->value.f64[at] = m.mean;
  acc->other.f64[at] = m.squares;
}
static void row_f32(etx_accumulators* acc, size_t at, const void* elements,
                    size_t count, int64_t before) {
  fold_row(ETX_COMPUTE_F32, acc, at, elements, count, before);
}
static void row_f64(etx_accumulators* acc, size_t at, const void* elements,
                    size_t count, int64_t before) {
  fold_row(ETX_COMPUTE_F64, acc, at, elements, count, before);
}

// Welford's update: one element for each result.
static void columns_f32(etx_accumulators* acc, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const float* x = elements;
  double* means = acc->value.f64;
  double* squares = acc->other.f64;
  for (size_t i = 0; i < count && before == 0; ++i) means[i] = squares[i] = 0;
  for (size_t row = 0; row < rows; ++row, x += step) {
    const double weight = 1.0 / (double)++before;
    for (size_t i = 0; i < count; ++i) {
      const double difference = (double)x[i] - means[i];
      means[i] += difference * weight;
      squares[i] += difference * ((double)x[i] - means[i]);
    }
  }
}
static void columns_f64(etx_accumulators* acc, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const double* x = elements;
  double* means = acc->value.f64;
  double* squares = acc->other.f64;
  for (size_t i = 0; i < count && before == 0; ++i) means[i] = squares[i] = 0;
  for (size_t row = 0; row < rows; ++row, x += step) {
    const double weight = 1.0 / (double)++before;
    for (size_t i = 0; i < count; ++i) {
      const double difference = x[i] - means[i];
      means[i] += difference * weight;
      squares[i] += difference * (x[i] - means[i]);
    }
  }
}

const etx_reducer etx_moments_reducers[] = {
    [ETX_COMPUTE_F32] = {start_nan, row_f32, columns_f32, NULL, ETX_COMPUTE_F64,
                         ETX_COMPUTE_F64},
    [ETX_COMPUTE_F64] = {start_nan, ETX_IF_DTYPE(FLOAT64, row_f64),
                         ETX_IF_DTYPE(FLOAT64, columns_f64), NULL,
                         ETX_COMPUTE_F64, ETX_COMPUTE_F64},
};
