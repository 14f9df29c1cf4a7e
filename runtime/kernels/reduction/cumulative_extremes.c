// cummax and cummin: the extreme of each element and all before it along one
// dimension, and its position. Of equal elements the last one counts; NaN is
// more extreme than all numbers, as in PyTorch.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/core/sort_keys.h"
#include "runtime/kernels/reduction/line_visitor.h"

typedef struct running {
  size_t count;  // elements of a line
  bool is_least;
  uint64_t least_key_of_nan;  // for cummin of floats; else UINT64_MAX
} running;

static void scan_line(const etx_index_line* line, void* context) {
  const running* r = context;
  etx_key_source source = {line->at[0], line->dtype,
                           line->steps[0] / (ptrdiff_t)line->bytes,
                           r->is_least};
  uint64_t extreme = 0;
  size_t position = 0;
  for (size_t done = 0; done < r->count; done += ETX_BLOCK) {
    const size_t left = r->count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    uint64_t keys[ETX_BLOCK];
    source.data = line->at[0] + (ptrdiff_t)done * line->steps[0];
    etx_sort_keys_load(&source, part, keys);
    for (size_t i = 0; i < part; ++i) {
      const uint64_t key =
          keys[i] == r->least_key_of_nan ? UINT64_MAX : keys[i];
      if (key >= extreme) {
        extreme = key;
        position = done + i;
      }
      etx_index_line_store(line, done + i, position);
    }
  }
}

static etx_status run_over(const etx_call* call, bool is_least) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_cummax_self);
  const etx_tensor* const tensors[] = {
      self, etx_call_tensor(call, ETX_ARG_cummax_values),
      etx_call_tensor(call, ETX_ARG_cummax_indices)};
  const size_t dimension = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_cummax_dim), self->rank);
  const bool has_nan =
      etx_dtype_category_of(self->dtype) == ETX_CATEGORY_FLOATING;
  running r = {self->rank == 0 ? 1 : (size_t)self->sizes[dimension], is_least,
               // Descending order turns the largest key into 0.
               is_least && has_nan ? 0 : UINT64_MAX};
  etx_index_lines_visit(tensors, dimension, scan_line, &r);
  return ETX_OK;
}

static etx_status run_cummax(etx_call* call) { return run_over(call, false); }
static etx_status run_cummin(etx_call* call) { return run_over(call, true); }

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_cummax_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_cummax_self,
                                    ETX_ARG_cummax_values));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_cummax_indices, ETX_DTYPE_INT64));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_cummax_out_prepare(etx_call* call) {
  return prepare(call, run_cummax);
}
etx_status etx_kernel_cummin_out_prepare(etx_call* call) {
  return prepare(call, run_cummin);
}
