// cumsum: the sum up to each element of a line, in the result's type.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lines.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/whole_math.h"

// Turns a block into its running sums, from `sum` on.
static void accumulate(etx_wide wide, etx_block* block, size_t count,
                       etx_number* sum) {
  for (size_t i = 0; i < count; ++i) {
    if (wide == ETX_WIDE_I64) {
      block->i64[i] = sum->i64 = etx_wrap_add(sum->i64, block->i64[i]);
    } else if (wide == ETX_WIDE_F32) {
      block->f32[i] = sum->f32 = sum->f32 + block->f32[i];
    } else {
      block->f64[i] = sum->f64 = sum->f64 + block->f64[i];
    }
  }
}

static void sum_line(const etx_line* line) {
  const etx_wide wide = etx_wide_of(line->out_dtype);
  const ptrdiff_t in_step =
      line->in_stride * (ptrdiff_t)etx_dtype_bytes(line->in_dtype);
  const ptrdiff_t out_step =
      line->out_stride * (ptrdiff_t)etx_dtype_bytes(line->out_dtype);
  etx_number sum = {0};
  etx_block block;
  for (size_t done = 0; done < line->count; done += ETX_BLOCK) {
    const size_t left = line->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block_load(&block, wide, line->in_dtype,
                   line->in + in_step * (ptrdiff_t)done, line->in_stride,
                   count);
    accumulate(wide, &block, count, &sum);
    etx_block_store(&block, wide, line->out_dtype,
                    line->out + out_step * (ptrdiff_t)done, line->out_stride,
                    count);
  }
}

// (self, dim, dtype, out)
static etx_status run_cumsum(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  etx_lines_visit(etx_call_tensor(call, 3), self,
                  etx_wrap_dimension(etx_call_integer(call, 1), self->rank),
                  sum_line);
  return ETX_OK;
}

etx_status etx_kernel_cumsum_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_call_check_real(call, 3));
  const etx_dtype to = etx_call_tensor(call, 3)->dtype;
  if (!etx_call_is_none(call, 2) && etx_call_integer(call, 2) != (int64_t)to) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'dtype' is %i, the result has type '%s'",
                           etx_call_integer(call, 2), etx_dtype_name(to));
  }
  call->run = run_cumsum;
  return ETX_OK;
}
