#include "runtime/kernels/linear_algebra/orthogonal_steps.h"

#include "runtime/kernels/math/math_bits.h"

// Four sums, in the order that is written here, so that additions need not wait
// for each other.
double etx_dot_doubles(const double* a, const double* b, ptrdiff_t count) {
  double sums[4] = {0, 0, 0, 0};
  ptrdiff_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (ptrdiff_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void etx_rotate_doubles(double* a, double* b, ptrdiff_t count, double c,
                        double s) {
  for (ptrdiff_t i = 0; i < count; ++i) {
    const double x = a[i], y = b[i];
    a[i] = c * x + s * y;
    b[i] = c * y - s * x;
  }
}

void etx_swap_doubles(double* a, double* b, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; ++i) {
    const double held = a[i];
    a[i] = b[i];
    b[i] = held;
  }
}

double etx_reflector_find(double* x, ptrdiff_t count) {
  const double square = etx_dot_doubles(x + 1, x + 1, count - 1);
  if (square < ETX_LEAST_SQUARE) return 0;
  const double first = x[0];
  const double length = etx_sqrt_f64(first * first + square);
  const double beta = first < 0 ? length : -length;
  for (ptrdiff_t i = 1; i < count; ++i) x[i] /= first - beta;
  x[0] = beta;
  return (beta - first) / beta;
}

// Applies a reflection to y; v[0] is 1 and not read.
static void reflect(const double* v, double tau, double* y, ptrdiff_t count) {
  const double s = tau * (y[0] + etx_dot_doubles(v + 1, y + 1, count - 1));
  y[0] -= s;
  for (ptrdiff_t i = 1; i < count; ++i) y[i] -= s * v[i];
}

void etx_reflectors_factor(const etx_reflected* a, double* taus) {
  for (ptrdiff_t k = 0; k < a->rows && k < a->columns; ++k) {
    double* const v = a->data + k * a->step + k;
    taus[k] = etx_reflector_find(v, a->rows - k);
    if (taus[k] == 0) continue;
    for (ptrdiff_t j = k + 1; j < a->columns; ++j) {
      reflect(v, taus[k], a->data + j * a->step + k, a->rows - k);
    }
  }
}

void etx_reflectors_product(const etx_reflected* a, const double* taus,
                            ptrdiff_t count, const etx_reflected* q) {
  for (ptrdiff_t j = 0; j < q->columns; ++j) {
    for (ptrdiff_t i = 0; i < q->rows; ++i) {
      q->data[j * q->step + i] = i == j ? 1 : 0;
    }
  }
  for (ptrdiff_t k = count; k-- > 0;) {
    if (taus[k] == 0) continue;
    for (ptrdiff_t j = k; j < q->columns; ++j) {
      reflect(a->data + k * a->step + k, taus[k], q->data + j * q->step + k,
              a->rows - k);
    }
  }
}
