// tril and triu: a copy with zeros beyond a diagonal of the last two
// dimensions.

#include <string.h>

#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/views/strided_view.h"

// The columns of a row up to the diagonal, inclusive: row + diagonal + 1,
// clamped to 0..columns. Computed without the sum, which could overflow.
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
  if (keeps_lower) {
    return (zeros){columns_up_to(row, diagonal, columns), columns};
  }
  // The upper triangle keeps the diagonal itself.
  return (zeros){
      0, diagonal == INT64_MIN ? 0 : columns_up_to(row, diagonal - 1, columns)};
}

typedef struct triangle_job {
  bool keeps_lower;
  int64_t diagonal, rows, columns;
  size_t bytes;  // bytes of an element
  size_t count;
} triangle_job;

static triangle_job job_of(const etx_call* call, bool keeps_lower) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_tril_out);
  return (triangle_job){keeps_lower,
                        etx_call_integer(call, ETX_ARG_tril_diagonal),
                        out->sizes[out->rank - 2],
                        out->sizes[out->rank - 1],
                        etx_dtype_bytes(out->dtype),
                        (size_t)call->prepared[0]};
}

// Writes one row: its kept part, unless both tensors are the same memory, and
// the zeros.
static void write_long_row(const triangle_job* m, zeros z, char* to,
                           const char* from) {
  const size_t start = (size_t)z.start * m->bytes;
  const size_t end = (size_t)z.end * m->bytes;
  const size_t kept = m->keeps_lower ? 0 : end;
  const size_t kept_end =
      m->keeps_lower ? start : (size_t)m->columns * m->bytes;
  if (to != from) etx_copy_short(to + kept, from + kept, kept_end - kept);
  memset(to + start, 0, end - start);
}

// Writes a short row element by element.
static void write_short_row(const triangle_job* m, zeros z, char* to,
                            const char* from) {
  static const etx_two_words zero = {0, 0};
  ETX_SWITCH_BYTES(m->bytes, T, {
    for (int64_t i = 0; i < m->columns; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i * (ptrdiff_t)sizeof(T);
      const bool is_zero = i >= z.start && i < z.end;
      T one;
      memcpy(&one, is_zero ? (const char*)&zero : from + at, sizeof one);
      memcpy(to + at, &one, sizeof one);
    }
  })
}

enum { SHORT_ROW = 8 };  // elements

static etx_status run_dense(const etx_call* call, bool keeps_lower) {
  const triangle_job m = job_of(call, keeps_lower);
  const size_t row_bytes = (size_t)m.columns * m.bytes;
  const char* from = etx_call_tensor(call, ETX_ARG_tril_self)->data;
  char* to = etx_call_tensor(call, ETX_ARG_tril_out)->data;
  for (size_t i = 0; i < m.count; ++i) {
    for (int64_t row = 0; row < m.rows; ++row) {
      const zeros z = zeros_of(keeps_lower, row, m.diagonal, m.columns);
      if (m.columns <= SHORT_ROW) {
        write_short_row(&m, z, to, from);
      } else {
        write_long_row(&m, z, to, from);
      }
      from += row_bytes;
      to += row_bytes;
    }
  }
  return ETX_OK;
}

static void clear_rows(const etx_strided_view* matrix, bool keeps_lower,
                       int64_t diagonal) {
  static const uint64_t zero[2] = {0, 0};
  for (int64_t row = 0; row < matrix->sizes[0]; ++row) {
    const zeros z = zeros_of(keeps_lower, row, diagonal, matrix->sizes[1]);
    if (z.start >= z.end) continue;
    etx_strided_view rest = *matrix;
    etx_strided_view_slice(&rest, 1, z.start, z.end - z.start, 1);
    etx_strided_view_select(&rest, 0, row);
    etx_strided_view_fill(&rest, zero);
  }
}

// For any strides: one matrix after the other.
static etx_status run_strided(const etx_call* call, bool keeps_lower) {
  const etx_strided_view out =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_tril_out));
  const etx_strided_view self =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_tril_self));
  const size_t outer = out.rank - 2;
  int32_t position[ETX_MAX_RANK] = {0};
  if (etx_tensor_numel(etx_call_tensor(call, ETX_ARG_tril_out)) == 0)
    return ETX_OK;
  etx_strided_view_copy(&out, &self);
  for (;;) {
    etx_strided_view matrix = out;
    for (size_t i = 0; i < outer; ++i) {
      etx_strided_view_select(&matrix, 0, position[i]);
    }
    clear_rows(&matrix, keeps_lower,
               etx_call_integer(call, ETX_ARG_tril_diagonal));
    size_t i = outer;
    while (i > 0 && ++position[i - 1] == out.sizes[i - 1]) position[--i] = 0;
    if (i == 0) return ETX_OK;
  }
}

static etx_status run_tril(etx_call* call) { return run_dense(call, true); }
static etx_status run_triu(etx_call* call) { return run_dense(call, false); }
static etx_status run_tril_strided(etx_call* call) {
  return run_strided(call, true);
}
static etx_status run_triu_strided(etx_call* call) {
  return run_strided(call, false);
}

static etx_status prepare_triangle(etx_call* call, etx_kernel_function dense,
                                   etx_kernel_function strided) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_tril_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_tril_out);
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_tril_self, ETX_ARG_tril_out));
  if (self->rank < 2) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "rank of 'self' is %i, expected at least 2",
                           (int64_t)self->rank);
  }
  const bool is_dense =
      etx_tensor_is_contiguous(self) && etx_tensor_is_contiguous(out);
  const size_t numel = etx_tensor_numel(out);
  const size_t matrix =
      (size_t)out->sizes[out->rank - 2] * (size_t)out->sizes[out->rank - 1];
  call->prepared[0] = matrix == 0 ? 0 : (int64_t)(numel / matrix);
  call->run = is_dense ? dense : strided;
  return ETX_OK;
}

etx_status etx_kernel_tril_out_prepare(etx_call* call) {
  return prepare_triangle(call, run_tril, run_tril_strided);
}
etx_status etx_kernel_triu_out_prepare(etx_call* call) {
  return prepare_triangle(call, run_triu, run_triu_strided);
}
