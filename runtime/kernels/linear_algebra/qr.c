// QR factors of matrices, by Householder reflections (orthogonal_steps.h). The
// diagonal of R has the signs that LAPACK's geqrf gives it.

#include <math.h>

#include "runtime/kernels/linear_algebra/double_matrix.h"
#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/linear_algebra/orthogonal_steps.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// One matrix, its reflections, and Q.
typedef struct qr_space {
  etx_reflected a, q;
  double* taus;
  ptrdiff_t reflections;
} qr_space;

static qr_space space_of(const etx_call* call, etx_double_space* memory) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_linalg_qr_A);
  const bool complete = etx_call_boolean(call, ETX_ARG_linalg_qr_complete);
  const ptrdiff_t rows = a->sizes[a->rank - 2];
  const ptrdiff_t columns = a->sizes[a->rank - 1];
  const ptrdiff_t least = rows < columns ? rows : columns;
  const bool has_q = etx_call_boolean(call, ETX_ARG_linalg_qr_compute_q);
  qr_space s = {.reflections = least};
  s.a = (etx_reflected){etx_double_space_take(memory, rows, columns), rows,
                        columns, rows};
  s.taus = etx_double_space_take(memory, least, 1);
  s.q = (etx_reflected){NULL, rows, complete ? rows : least, rows};
  if (has_q) s.q.data = etx_double_space_take(memory, rows, s.q.columns);
  return s;
}

// R times `factor`: what is below the diagonal is 0.
static void store_r(const qr_space* s, double factor, const etx_tensor* out,
                    size_t index) {
  for (ptrdiff_t j = 0; j < s->a.columns; ++j) {
    for (ptrdiff_t i = j + 1; i < s->a.rows; ++i) {
      s->a.data[j * s->a.step + i] = 0;
    }
  }
  const etx_double_matrix r = {s->a.data, s->q.columns, s->a.columns, 1,
                               s->a.step};
  etx_double_matrix_store(&r, factor, out, index);
}

// (A, complete, compute_q, Q, R)
static etx_status run_qr(etx_call* call) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_linalg_qr_A);
  const etx_tensor* q = etx_call_tensor(call, ETX_ARG_linalg_qr_Q);
  const etx_tensor* r = etx_call_tensor(call, ETX_ARG_linalg_qr_R);
  etx_double_space memory = {.data = call->temporary};
  const qr_space s = space_of(call, &memory);
  const etx_double_matrix all =
      etx_double_columns(s.a.data, s.a.rows, s.a.columns);
  for (size_t i = 0, count = etx_matrix_count(a); i < count; ++i) {
    etx_double_matrix_load(&all, a, i);
    double factor = etx_doubles_scale(s.a.data, s.a.rows * s.a.columns);
    if (isnan(factor)) factor = 1;  // NaN in some of the results
    etx_reflectors_factor(&s.a, s.taus);
    if (s.q.data != NULL) {
      etx_reflectors_product(&s.a, s.taus, s.reflections, &s.q);
      const etx_double_matrix found =
          etx_double_columns(s.q.data, s.q.rows, s.q.columns);
      etx_double_matrix_store(&found, 1, q, i);
    }
    store_r(&s, factor, r, i);
  }
  return ETX_OK;
}

etx_status etx_temporary_qr(const etx_call* call, size_t* out_bytes) {
  etx_double_space memory = {.data = NULL};
  if (etx_call_tensor(call, ETX_ARG_linalg_qr_A)->rank >= 2) {
    space_of(call, &memory);
  }
  return etx_double_space_bytes(&memory, call, out_bytes);
}

etx_status etx_kernel_linalg_qr_out_prepare(etx_call* call) {
  ETX_TRY(etx_double_prepare(call, ETX_ARG_linalg_qr_A, ETX_ARG_linalg_qr_Q,
                             ETX_ARG_linalg_qr_R, etx_temporary_qr));
  call->run = run_qr;
  return ETX_OK;
}
