#include "runtime/kernels/reduction/moments.h"

#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"

// Elements with a pair of their own.
enum { RUN = 1024 };

static void join(etx_moments* m, double mean, double squares, size_t count) {
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

// PyTorch folds element by element: an infinity leaves NaN as the mean, unless
// it is the last element.
static double mean_of(double sum, double last, size_t count) {
  const bool is_infinite = etx_abs_f64(sum) == __builtin_inf();
  if (is_infinite && etx_abs_f64(last) != __builtin_inf()) {
    return __builtin_nan("");
  }
  return sum / (double)count;
}

// The mean is rounded to a float before it is subtracted; what that adds to
// the squares is known and taken off.
static void add_f32(etx_moments* m, const float* x, size_t count) {
  const double sum = (double)etx_striped_sum_f32(x, count);
  const double mean = mean_of(sum, (double)x[count - 1], count);
  const float near = (float)mean;
  const double off = mean - (double)near;
  const double squares = (double)etx_striped_squares_f32(x, near, count) -
                         off * off * (double)count;
  join(m, mean, squares < 0 ? 0 : squares, count);
}

static void add_f64(etx_moments* m, const double* x, size_t count) {
  const double mean =
      mean_of(etx_striped_sum_f64(x, count), x[count - 1], count);
  join(m, mean, etx_striped_squares_f64(x, mean, count), count);
}

void etx_moments_add(etx_moments* m, etx_compute_type wide,
                     const void* elements, size_t count) {
  for (size_t done = 0; done < count; done += RUN) {
    const size_t left = count - done;
    const size_t part = left < RUN ? left : RUN;
    if (wide == ETX_COMPUTE_F32) {
      add_f32(m, (const float*)elements + done, part);
    } else {
      add_f64(m, (const double*)elements + done, part);
    }
  }
}

void etx_moments_add_strided(etx_moments* m, etx_dtype dtype,
                             const void* elements, ptrdiff_t stride,
                             size_t count) {
  const etx_compute_type wide = etx_compute_type_of(dtype);
  const ptrdiff_t step = stride * (ptrdiff_t)etx_dtype_bytes(dtype);
  if (stride == 1 && dtype == etx_compute_type_dtype(wide)) {
    etx_moments_add(m, wide, elements, count);
    return;
  }
  const char* from = elements;
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block block;
    etx_block_load(&block, wide, dtype, from + (ptrdiff_t)done * step, stride,
                   part);
    etx_moments_add(m, wide, &block, part);
  }
}

static void start_nan(etx_accumulators* folded, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    folded->value.f64[i] = folded->other.f64[i] = __builtin_nan("");
  }
}

static void fold_row(etx_compute_type wide, etx_accumulators* folded, size_t at,
                     const void* elements, size_t count, int64_t before) {
  etx_moments m = {folded->value.f64[at], folded->other.f64[at], before};
  etx_moments_add(&m, wide, elements, count);
  folded->value.f64[at] = m.mean;
  folded->other.f64[at] = m.squares;
}
static void row_f32(etx_accumulators* folded, size_t at, const void* elements,
                    size_t count, int64_t before) {
  fold_row(ETX_COMPUTE_F32, folded, at, elements, count, before);
}
static void row_f64(etx_accumulators* folded, size_t at, const void* elements,
                    size_t count, int64_t before) {
  fold_row(ETX_COMPUTE_F64, folded, at, elements, count, before);
}

// One element for each result: the pair of one element is itself and 0.
static void columns_f32(etx_accumulators* folded, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const float* x = elements;
  double* means = folded->value.f64;
  double* squares = folded->other.f64;
  for (size_t i = 0; i < count && before == 0; ++i) means[i] = squares[i] = 0;
  for (size_t row = 0; row < rows; ++row, x += step) {
    const double share = 1.0 / (double)++before;
    for (size_t i = 0; i < count; ++i) {
      const double difference = (double)x[i] - means[i];
      means[i] += difference * share;
      squares[i] += difference * ((double)x[i] - means[i]);
    }
  }
}
static void columns_f64(etx_accumulators* folded, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const double* x = elements;
  double* means = folded->value.f64;
  double* squares = folded->other.f64;
  for (size_t i = 0; i < count && before == 0; ++i) means[i] = squares[i] = 0;
  for (size_t row = 0; row < rows; ++row, x += step) {
    const double share = 1.0 / (double)++before;
    for (size_t i = 0; i < count; ++i) {
      const double difference = x[i] - means[i];
      means[i] += difference * share;
      squares[i] += difference * (x[i] - means[i]);
    }
  }
}

const etx_fold etx_fold_moments[] = {
    [ETX_COMPUTE_F32] = {start_nan, row_f32, columns_f32, NULL, ETX_COMPUTE_F64,
                         ETX_COMPUTE_F64},
    [ETX_COMPUTE_F64] = {start_nan, ETX_IF_DTYPE(FLOAT64, row_f64),
                         ETX_IF_DTYPE(FLOAT64, columns_f64), NULL,
                         ETX_COMPUTE_F64, ETX_COMPUTE_F64},
};
