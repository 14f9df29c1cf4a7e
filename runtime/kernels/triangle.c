// tril and triu: a copy with zeros beyond a diagonal of the last two
// dimensions.

#include <string.h>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/strided_view.h"

// Columns of a row up to and with the diagonal: row + diagonal + 1, cut to
// 0..columns. Without the sum, which could overflow.
static int64_t columns_up_to(int64_t row, int64_t diagonal, int64_t columns) {
  if (diagonal < -row - 1) return 0;
  return diagonal >= columns - row ? columns : row + diagonal + 1;
}

// The columns of a row that become zero.
typedef struct zeros {
  int64_t start, end;
} zeros;

static zeros zeros_of(bool keeps_lower, int64_t row, int64_t diagonal,
                      int64_t columns) {
  // The upper triangle keeps the diagonal itself.
  if (keeps_lower) {
    return (zeros){columns_up_to(row, diagonal, columns), columns};
  }
  return (zeros){
      0, diagonal == INT64_MIN ? 0 : columns_up_to(row, diagonal - 1, columns)};
}

static void clear_rows(const etx_view* matrix, bool keeps_lower,
                       int64_t diagonal) {
  static const uint64_t zero[2] = {0, 0};
  const size_t at = matrix->rank - 2;
  const int64_t columns = matrix->sizes[at + 1];
  const size_t bytes = etx_dtype_bytes(matrix->dtype);
  for (int64_t row = 0; row < matrix->sizes[at]; ++row) {
    const zeros z = zeros_of(keeps_lower, row, diagonal, columns);
    if (z.start >= z.end) continue;
    if (at == 0 && matrix->strides[1] == 1) {
      memset(matrix->data +
                 ((ptrdiff_t)row * matrix->strides[0] + (ptrdiff_t)z.start) *
                     (ptrdiff_t)bytes,
             0, (size_t)(z.end - z.start) * bytes);
      continue;
    }
    etx_view rest = *matrix;
    etx_view_slice(&rest, at + 1, z.start, z.end - z.start, 1);
    etx_view_select(&rest, at, row);
    etx_view_fill(&rest, zero);
  }
}

// Dense matrices one after the other, so that each is still in the cache when
// its zeros are written.
static void clear_matrices(const etx_view* out, const etx_view* self,
                           bool keeps_lower, int64_t diagonal) {
  const size_t outer = out->rank - 2;
  int32_t position[ETX_MAX_RANK] = {0};
  for (size_t i = 0; i < outer; ++i) {
    if (out->sizes[i] == 0) return;
  }
  for (;;) {
    etx_view to = *out, from = *self;
    for (size_t i = 0; i < outer; ++i) {
      etx_view_select(&to, 0, position[i]);
      etx_view_select(&from, 0, position[i]);
    }
    etx_view_copy(&to, &from);
    clear_rows(&to, keeps_lower, diagonal);
    size_t i = outer;
    while (i > 0 && ++position[i - 1] == out->sizes[i - 1]) position[--i] = 0;
    if (i == 0) return;
  }
}

// (self, diagonal, out)
static etx_status run(const etx_call* call, bool keeps_lower) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(etx_call_tensor(call, 2));
  clear_matrices(&out, &self, keeps_lower, etx_call_integer(call, 1));
  return ETX_OK;
}

static etx_status run_tril(etx_call* call) { return run(call, true); }
static etx_status run_triu(etx_call* call) { return run(call, false); }

static etx_status prepare_triangle(etx_call* call, etx_kernel_function chosen) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  if (etx_call_tensor(call, 0)->rank < 2) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "rank of 'self' is %i, expected at least 2",
                           (int64_t)etx_call_tensor(call, 0)->rank);
  }
  call->run = chosen;
  return ETX_OK;
}

etx_status etx_kernel_tril_out_prepare(etx_call* call) {
  return prepare_triangle(call, run_tril);
}
etx_status etx_kernel_triu_out_prepare(etx_call* call) {
  return prepare_triangle(call, run_triu);
}
