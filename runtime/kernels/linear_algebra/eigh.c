// Eigenvalues and eigenvectors of symmetric matrices: reflections make the
// matrix tridiagonal (Golub and Van Loan, Matrix Computations, 8.3.1), and
// steps of the implicit QR algorithm with Wilkinson's shift make it diagonal
// (8.3.4, 8.3.5).

#include <math.h>

#include "runtime/kernels/linear_algebra/double_matrix.h"
#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/linear_algebra/orthogonal_steps.h"
#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// Steps for each eigenvalue, on average; two are usual.
enum { STEPS = 30 };

// Elements beside the diagonal that count as 0: the squares of larger ones are
// in the range of double.
#define LEAST 1e-145

typedef struct eigh_space {
  ptrdiff_t size;
  double* a;       // the matrix, then the vectors of the reflections
  double* values;  // the diagonal
  double* beside;  // elements below the diagonal
  double* taus;
  double* z;  // the eigenvectors, in columns; NULL if they are not asked for
} eigh_space;

static eigh_space space_of(const etx_call* call, etx_double_space* memory) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_linalg_eigh_A);
  eigh_space s = {.size = a->sizes[a->rank - 1]};
  s.a = etx_double_space_take(memory, s.size, s.size);
  s.values = etx_double_space_take(memory, s.size, 1);
  s.beside = etx_double_space_take(memory, s.size, 1);
  s.taus = etx_double_space_take(memory, s.size, 1);
  if (etx_call_boolean(call, ETX_ARG_linalg_eigh_compute_v)) {
    s.z = etx_double_space_take(memory, s.size, s.size);
  }
  return s;
}

// Replaces one triangle by the other.
static void mirror(const eigh_space* s, bool upper) {
  for (ptrdiff_t j = 0; j < s->size; ++j) {
    for (ptrdiff_t i = j + 1; i < s->size; ++i) {
      double* const below = &s->a[j * s->size + i];
      double* const above = &s->a[i * s->size + j];
      *(upper ? below : above) = upper ? *above : *below;
    }
  }
}

// Applies the reflection of v to both sides of the last `count` rows and
// columns; `w` has room for as many numbers.
static void reflect_both(const eigh_space* s, const double* v, double tau,
                         double* w, ptrdiff_t count) {
  double* const block = s->a + (s->size - count) * (s->size + 1);
  for (ptrdiff_t j = 0; j < count; ++j) {
    w[j] = tau * etx_dot_doubles(block + j * s->size, v, count);
  }
  const double half = tau / 2 * etx_dot_doubles(w, v, count);
  for (ptrdiff_t j = 0; j < count; ++j) w[j] -= half * v[j];
  for (ptrdiff_t j = 0; j < count; ++j) {
    double* const column = block + j * s->size;
    for (ptrdiff_t i = 0; i < count; ++i) {
      column[i] -= v[i] * w[j] + w[i] * v[j];
    }
  }
}

// The eigenvalues are not known yet, so their place holds `w`.
static void make_tridiagonal(const eigh_space* s) {
  const ptrdiff_t size = s->size;
  for (ptrdiff_t k = 0; k + 1 < size; ++k) {
    double* const v = s->a + k * size + k + 1;
    s->taus[k] = etx_reflector_find(v, size - k - 1);
    s->beside[k] = v[0];
    if (s->taus[k] == 0) continue;
    v[0] = 1;
    reflect_both(s, v, s->taus[k], s->values, size - k - 1);
  }
  for (ptrdiff_t k = 0; k < size; ++k) s->values[k] = s->a[k * size + k];
  if (s->z == NULL) return;
  // The first row and column of the product are those of I.
  for (ptrdiff_t i = 0; i < size; ++i) {
    s->z[i] = s->z[i * size] = i == 0 ? 1 : 0;
  }
  if (size < 2) return;
  const etx_reflected from = {s->a + 1, size - 1, size - 1, size};
  const etx_reflected to = {s->z + size + 1, size - 1, size - 1, size};
  etx_reflectors_product(&from, s->taus, size - 1, &to);
}

// The eigenvalue of the last two rows and columns that is nearer to the last
// element.
static double shift_of(const eigh_space* s, ptrdiff_t last) {
  const double half = (s->values[last - 1] - s->values[last]) / 2;
  const double beside = s->beside[last - 1];
  const double root = etx_sqrt_f64(half * half + beside * beside);
  return s->values[last] -
         beside * (beside / (half + etx_with_sign_f64(root, half)));
}

// One step on rows and columns first to last.
static void qr_step(const eigh_space* s, ptrdiff_t first, ptrdiff_t last) {
  double* const d = s->values;
  double* const e = s->beside;
  double x = d[first] - shift_of(s, last), bulge = e[first];
  for (ptrdiff_t k = first; k < last; ++k) {
    double c = 1, sine = 0, length = x;
    if (etx_abs_f64(bulge) > LEAST) {
      length = etx_sqrt_f64(x * x + bulge * bulge);
      c = x / length;
      sine = bulge / length;
    }
    if (k > first) e[k - 1] = length;
    const double a = d[k], b = e[k], g = d[k + 1];
    const double twice = 2 * c * sine * b;
    d[k] = c * c * a + twice + sine * sine * g;
    d[k + 1] = sine * sine * a - twice + c * c * g;
    e[k] = c * sine * (g - a) + (c * c - sine * sine) * b;
    x = e[k];
    if (k + 1 < last) {
      bulge = sine * e[k + 1];
      e[k + 1] *= c;
    }
    if (s->z == NULL) continue;
    etx_rotate_doubles(s->z + k * s->size, s->z + (k + 1) * s->size, s->size, c,
                       sine);
  }
}

static bool is_negligible(const eigh_space* s, ptrdiff_t k) {
  const double size = etx_abs_f64(s->beside[k]);
  const double neighbours =
      etx_abs_f64(s->values[k]) + etx_abs_f64(s->values[k + 1]);
  return size <= LEAST || size <= 0x1p-52 * neighbours;
}

// False if it takes too many steps.
static bool make_diagonal(const eigh_space* s) {
  ptrdiff_t left = STEPS * s->size;
  for (ptrdiff_t last = s->size - 1; last > 0;) {
    if (is_negligible(s, last - 1)) {
      --last;
      continue;
    }
    if (left-- == 0) return false;
    ptrdiff_t first = last - 1;
    while (first > 0 && !is_negligible(s, first - 1)) --first;
    qr_step(s, first, last);
  }
  return true;
}

static void sort_ascending(const eigh_space* s) {
  for (ptrdiff_t i = 0; i < s->size; ++i) {
    ptrdiff_t least = i;
    for (ptrdiff_t j = i + 1; j < s->size; ++j) {
      if (s->values[j] < s->values[least]) least = j;
    }
    if (least == i) continue;
    etx_swap_doubles(s->values + i, s->values + least, 1);
    if (s->z == NULL) continue;
    etx_swap_doubles(s->z + i * s->size, s->z + least * s->size, s->size);
  }
}

// False for elements that are not finite, for which PyTorch raises an error.
static bool decompose(const eigh_space* s, bool upper, double* out_factor) {
  mirror(s, upper);
  *out_factor = etx_doubles_scale(s->a, s->size * s->size);
  if (isnan(*out_factor)) return false;
  make_tridiagonal(s);
  if (!make_diagonal(s)) return false;
  sort_ascending(s);
  return true;
}

// (A, upper, compute_v, eigenvalues, eigenvectors)
static etx_status run_eigh(etx_call* call) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_linalg_eigh_A);
  const etx_tensor* values =
      etx_call_tensor(call, ETX_ARG_linalg_eigh_eigenvalues);
  const etx_tensor* vectors =
      etx_call_tensor(call, ETX_ARG_linalg_eigh_eigenvectors);
  const bool upper = etx_call_boolean(call, ETX_ARG_linalg_eigh_upper);
  etx_double_space memory = {.data = call->temporary};
  const eigh_space s = space_of(call, &memory);
  const etx_double_matrix all = etx_double_columns(s.a, s.size, s.size);
  const etx_double_matrix found = {s.values, 1, s.size, 0, 1};
  const etx_double_matrix z = etx_double_columns(s.z, s.size, s.size);
  const ptrdiff_t size = s.z == NULL ? 0 : s.size;
  for (size_t i = 0, count = etx_matrix_count(a); i < count; ++i) {
    double factor;
    etx_double_matrix_load(&all, a, i);
    if (!decompose(&s, upper, &factor)) {
      etx_double_matrix_store_nan(1, s.size, values, i);
      etx_double_matrix_store_nan(size, size, vectors, i);
      continue;
    }
    etx_double_matrix_store(&found, factor, values, i);
    if (s.z != NULL) etx_double_matrix_store(&z, 1, vectors, i);
  }
  return ETX_OK;
}

etx_status etx_temporary_eigh(const etx_call* call, size_t* out_bytes) {
  etx_double_space memory = {.data = NULL};
  if (etx_call_tensor(call, ETX_ARG_linalg_eigh_A)->rank >= 2) {
    space_of(call, &memory);
  }
  return etx_double_space_bytes(&memory, call, out_bytes);
}

etx_status etx_kernel_linalg_eigh_out_prepare(etx_call* call) {
  ETX_TRY(etx_double_prepare(
      call, ETX_ARG_linalg_eigh_A, ETX_ARG_linalg_eigh_eigenvalues,
      ETX_ARG_linalg_eigh_eigenvectors, etx_temporary_eigh));
  call->run = run_eigh;
  return ETX_OK;
}
