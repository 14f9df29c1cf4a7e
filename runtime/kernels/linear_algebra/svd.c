// Singular values and vectors of matrices, by one-sided Jacobi rotations (Golub
// and Van Loan, Matrix Computations, 8.6.3): columns of the matrix, or of its
// transpose if that has fewer, are rotated until they are orthogonal. Their
// lengths are the singular values; the rotations are one side's vectors, and
// the columns' QR factors give the other side's, also those that belong to the
// value 0 or to none.

#include <math.h>

#include "runtime/kernels/linear_algebra/double_matrix.h"
#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/linear_algebra/orthogonal_steps.h"
#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// Sweeps over all pairs of columns. Ten suffice for matrices of some hundred
// columns; the results of more are as good as those of the last one.
enum { SWEEPS = 40 };

typedef struct svd_space {
  etx_reflected w;  // the columns that are rotated; no more than rows
  etx_reflected v;  // the product of the rotations; without data if not asked
  etx_reflected q;  // the other side's vectors
  double* values;   // squares of lengths, then the singular values
  double* taus;
  bool is_wide;  // w has the columns of the transposed matrix
} svd_space;

static svd_space space_of(const etx_call* call, etx_double_space* memory) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_linalg_svd_A);
  const ptrdiff_t rows = a->sizes[a->rank - 2];
  const ptrdiff_t columns = a->sizes[a->rank - 1];
  svd_space s = {.is_wide = rows < columns};
  const ptrdiff_t most = s.is_wide ? columns : rows;
  const ptrdiff_t least = s.is_wide ? rows : columns;
  const ptrdiff_t vectors =
      etx_call_boolean(call, ETX_ARG_linalg_svd_full_matrices) ? most : least;
  s.w = (etx_reflected){etx_double_space_take(memory, most, least), most, least,
                        most};
  s.values = etx_double_space_take(memory, least, 1);
  if (!etx_call_boolean(call, ETX_ARG_linalg_svd_compute_uv)) return s;
  s.taus = etx_double_space_take(memory, least, 1);
  s.v = (etx_reflected){etx_double_space_take(memory, least, least), least,
                        least, least};
  s.q = (etx_reflected){etx_double_space_take(memory, most, vectors), most,
                        vectors, most};
  return s;
}

// Makes columns i and j of w orthogonal. False if they are, up to rounding.
static bool rotate_pair(const svd_space* s, ptrdiff_t i, ptrdiff_t j) {
  double* const a = s->w.data + i * s->w.step;
  double* const b = s->w.data + j * s->w.step;
  const double least = 0x1p-52 * etx_sqrt_f64((double)s->w.rows);
  const double x = s->values[i], y = s->values[j];
  if (x < ETX_LEAST_SQUARE || y < ETX_LEAST_SQUARE) return false;
  const double product = etx_dot_doubles(a, b, s->w.rows);
  if (!(etx_abs_f64(product) > least * etx_sqrt_f64(x) * etx_sqrt_f64(y))) {
    return false;
  }
  // The smaller tangent of both that make the product 0.
  const double ratio = (y - x) / (2 * product);
  const double t = etx_with_sign_f64(
      1 / (etx_abs_f64(ratio) + etx_sqrt_f64(1 + ratio * ratio)), ratio);
  const double cosine = 1 / etx_sqrt_f64(1 + t * t);
  const double sine = -t * cosine;
  etx_rotate_doubles(a, b, s->w.rows, cosine, sine);
  if (s->v.data != NULL) {
    etx_rotate_doubles(s->v.data + i * s->v.step, s->v.data + j * s->v.step,
                       s->v.rows, cosine, sine);
  }
  s->values[i] = x - t * product;
  s->values[j] = y + t * product;
  return t != 0;
}

// The squares are those of the columns at the start of each sweep, so the last
// one, which rotates nothing, compares with exact ones.
static void make_orthogonal(const svd_space* s) {
  bool is_done = false;
  for (int sweep = 0; sweep < SWEEPS && !is_done; ++sweep) {
    is_done = true;
    for (ptrdiff_t i = 0; i < s->w.columns; ++i) {
      const double* column = s->w.data + i * s->w.step;
      s->values[i] = etx_dot_doubles(column, column, s->w.rows);
    }
    for (ptrdiff_t i = 0; i < s->w.columns; ++i) {
      for (ptrdiff_t j = i + 1; j < s->w.columns; ++j) {
        if (rotate_pair(s, i, j)) is_done = false;
      }
    }
  }
}

// The lengths of the columns, and the columns in descending order of them.
static void sort_columns(const svd_space* s) {
  double* const values = s->values;
  for (ptrdiff_t i = 0; i < s->w.columns; ++i) {
    const double* column = s->w.data + i * s->w.step;
    values[i] = etx_sqrt_f64(etx_dot_doubles(column, column, s->w.rows));
  }
  for (ptrdiff_t i = 0; i < s->w.columns; ++i) {
    ptrdiff_t most = i;
    for (ptrdiff_t j = i + 1; j < s->w.columns; ++j) {
      if (values[j] > values[most]) most = j;
    }
    if (most == i) continue;
    etx_swap_doubles(values + i, values + most, 1);
    if (s->v.data == NULL) continue;
    etx_swap_doubles(s->w.data + i * s->w.step, s->w.data + most * s->w.step,
                     s->w.rows);
    etx_swap_doubles(s->v.data + i * s->v.step, s->v.data + most * s->v.step,
                     s->v.rows);
  }
}

// The columns of w are Q times the diagonal of R, whose signs go to v.
static void find_vectors(const svd_space* s) {
  etx_reflectors_factor(&s->w, s->taus);
  etx_reflectors_product(&s->w, s->taus, s->w.columns, &s->q);
  for (ptrdiff_t j = 0; j < s->v.columns; ++j) {
    if (!(s->w.data[j * s->w.step + j] < 0)) continue;
    for (ptrdiff_t i = 0; i < s->v.rows; ++i) {
      s->v.data[j * s->v.step + i] = -s->v.data[j * s->v.step + i];
    }
  }
}

static void store_vectors(const svd_space* s, const etx_call* call,
                          size_t index) {
  const etx_double_matrix q =
      etx_double_columns(s->q.data, s->q.rows, s->q.columns);
  const etx_double_matrix v =
      etx_double_columns(s->v.data, s->v.rows, s->v.columns);
  const etx_double_matrix right = etx_double_transposed(s->is_wide ? q : v);
  etx_double_matrix_store(s->is_wide ? &v : &q, 1,
                          etx_call_tensor(call, ETX_ARG_linalg_svd_U), index);
  etx_double_matrix_store(&right, 1,
                          etx_call_tensor(call, ETX_ARG_linalg_svd_Vh), index);
}

// PyTorch raises an error for elements that are not finite.
static void store_nan(const svd_space* s, const etx_call* call, size_t index) {
  const etx_reflected* const left = s->is_wide ? &s->v : &s->q;
  const etx_reflected* const right = s->is_wide ? &s->q : &s->v;
  etx_double_matrix_store_nan(
      1, s->w.columns, etx_call_tensor(call, ETX_ARG_linalg_svd_S), index);
  etx_double_matrix_store_nan(left->rows, left->columns,
                              etx_call_tensor(call, ETX_ARG_linalg_svd_U),
                              index);
  etx_double_matrix_store_nan(right->columns, right->rows,
                              etx_call_tensor(call, ETX_ARG_linalg_svd_Vh),
                              index);
}

// Starts with the rotations' product I.
static void decompose(const svd_space* s) {
  const bool has_vectors = s->v.data != NULL;
  if (has_vectors) etx_reflectors_product(&s->w, s->taus, 0, &s->v);
  make_orthogonal(s);
  sort_columns(s);
  if (has_vectors) find_vectors(s);
}

// (A, full_matrices, compute_uv, U, S, Vh)
static etx_status run_svd(etx_call* call) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_linalg_svd_A);
  etx_double_space memory = {.data = call->temporary};
  const svd_space s = space_of(call, &memory);
  etx_double_matrix all = etx_double_columns(s.w.data, s.w.rows, s.w.columns);
  if (s.is_wide) all = etx_double_transposed(all);
  const etx_double_matrix values = {s.values, 1, s.w.columns, 0, 1};
  for (size_t i = 0, count = etx_matrix_count(a); i < count; ++i) {
    etx_double_matrix_load(&all, a, i);
    const double factor = etx_doubles_scale(s.w.data, s.w.rows * s.w.columns);
    if (isnan(factor)) {
      store_nan(&s, call, i);
      continue;
    }
    decompose(&s);
    etx_double_matrix_store(&values, factor,
                            etx_call_tensor(call, ETX_ARG_linalg_svd_S), i);
    if (s.v.data != NULL) store_vectors(&s, call, i);
  }
  return ETX_OK;
}

etx_status etx_temporary_svd(const etx_call* call, size_t* out_bytes) {
  etx_double_space memory = {.data = NULL};
  if (etx_call_tensor(call, ETX_ARG_linalg_svd_A)->rank >= 2) {
    space_of(call, &memory);
  }
  return etx_double_space_bytes(&memory, call, out_bytes);
}

etx_status etx_kernel_linalg_svd_out_prepare(etx_call* call) {
  ETX_TRY(etx_double_prepare(call, ETX_ARG_linalg_svd_A, ETX_ARG_linalg_svd_U,
                             ETX_ARG_linalg_svd_Vh, etx_temporary_svd));
  call->run = run_svd;
  return ETX_OK;
}
