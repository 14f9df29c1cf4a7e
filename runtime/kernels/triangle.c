// tril: a copy with zeros above a diagonal of the last two dimensions.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/strided_view.h"

// (self, diagonal, out): column j of row i stays if j <= i + diagonal.
static etx_status run_tril(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(etx_call_tensor(call, 2));
  const int64_t diagonal = etx_call_integer(call, 1);
  const etx_number zero = {0};
  const size_t row_dimension = out.rank - 2;
  const int64_t rows = out.sizes[row_dimension];
  const int64_t columns = out.sizes[row_dimension + 1];
  etx_view_copy(&out, &self);
  for (int64_t row = 0; row < rows; ++row) {
    // Without row + diagonal + 1, which could overflow.
    const int64_t first = diagonal < -row - 1         ? 0
                          : diagonal >= columns - row ? columns
                                                      : row + diagonal + 1;
    if (first >= columns) continue;
    etx_view rest = out;
    etx_view_slice(&rest, row_dimension + 1, first, columns - first, 1);
    etx_view_select(&rest, row_dimension, row);
    etx_view_fill(&rest, &zero);
  }
  return ETX_OK;
}

etx_status etx_kernel_tril_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  if (etx_call_tensor(call, 0)->rank < 2) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "rank of 'self' is %i, expected at least 2",
                           (int64_t)etx_call_tensor(call, 0)->rank);
  }
  call->run = run_tril;
  return ETX_OK;
}
