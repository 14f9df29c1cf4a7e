// Householder reflections and plane rotations, of which the factors of matrices
// with orthogonal parts are made. Vectors are contiguous.
//
// Section numbers are those of Golub and Van Loan, Matrix Computations, fourth
// edition.

#ifndef ETX_RUNTIME_KERNELS_LINEAR_ALGEBRA_ORTHOGONAL_STEPS_H
#define ETX_RUNTIME_KERNELS_LINEAR_ALGEBRA_ORTHOGONAL_STEPS_H

#include <stddef.h>

// Squares of lengths below it count as 0: what is left of their bits would not
// give directions. Matrices are scaled (etx_doubles_scale), so such a vector is
// far below their rounding errors.
#define ETX_LEAST_SQUARE 1e-290

double etx_dot_doubles(const double* a, const double* b, ptrdiff_t count);

// Replaces the vector (a, b) of each position by (c a + s b, c b - s a).
void etx_rotate_doubles(double* a, double* b, ptrdiff_t count, double c,
                        double s);

void etx_swap_doubles(double* a, double* b, ptrdiff_t count);

// Columns that reflections are found in, or applied to.
typedef struct etx_reflected {
  double* data;
  ptrdiff_t rows, columns;
  ptrdiff_t step;  // from one column to the next
} etx_reflected;

// The reflection I - tau v v^T, with v[0] = 1, that makes all elements of x but
// the first 0 (5.1.3). The first becomes beta, the others those of v; returns
// tau. beta has the sign that LAPACK's larfg gives it: the other one than x[0],
// minus for both zeros, or, with tau 0, that of x[0] if the others are 0
// already.
double etx_reflector_find(double* x, ptrdiff_t count);

// QR factors (5.2.2). R replaces the upper triangle, and the vectors of the
// reflections what is below; `taus` has one number for each of the first
// min(rows, columns) columns.
void etx_reflectors_factor(const etx_reflected* a, double* taus);

// The first q->columns columns of the product of the first `count` reflections
// of `a`, by backward accumulation (5.1.6).
void etx_reflectors_product(const etx_reflected* a, const double* taus,
                            ptrdiff_t count, const etx_reflected* q);

#endif
