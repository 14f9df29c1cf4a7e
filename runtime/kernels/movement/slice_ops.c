// Reads and writes parts of tensors: select, slice, narrow and their scatters.

#include "runtime/kernels/core/slice_args.h"

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/views/prepared_copy.h"
#include "runtime/kernels/core/short_copy.h"

static etx_strided_view out_of(const etx_call* call) {
  return etx_strided_view_of(etx_call_tensor(call, call->argument_count - 1));
}

static void select_part(const etx_call* call, size_t first,
                        etx_strided_view* view) {
  const size_t at =
      etx_wrap_dimension(etx_call_integer(call, first), view->rank);
  const int64_t index = etx_call_integer(call, first + 1);
  etx_strided_view_select(view, at,
                          index < 0 ? index + view->sizes[at] : index);
}

static void slice_part(const etx_call* call, size_t first,
                       etx_strided_view* view) {
  const size_t at =
      etx_wrap_dimension(etx_call_integer(call, first), view->rank);
  const etx_slice_args range =
      etx_slice_args_read(call, first + 1, view->sizes[at]);
  etx_strided_view_slice(view, at, range.start, range.count, range.step);
}

static void describe_select(const etx_call* call, etx_strided_view* to,
                            etx_strided_view* from) {
  (void)to;
  select_part(call, ETX_ARG_select_copy_int_dim, from);
}

static etx_status run_select(etx_call* call) {
  return etx_run_described(call, describe_select);
}

etx_status etx_kernel_select_copy_int_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_select, run_select);
}

static void describe_slice(const etx_call* call, etx_strided_view* to,
                           etx_strided_view* from) {
  (void)to;
  slice_part(call, ETX_ARG_slice_copy_tensor_dim, from);
}

static etx_status run_slice(etx_call* call) {
  return etx_run_described(call, describe_slice);
}

etx_status etx_kernel_slice_copy_tensor_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_slice, run_slice);
}

static void describe_narrow(const etx_call* call, etx_strided_view* to,
                            etx_strided_view* from) {
  (void)to;
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_narrow_copy_dim), from->rank);
  const int64_t start = etx_call_integer(call, ETX_ARG_narrow_copy_start);
  etx_strided_view_slice(from, at, start < 0 ? start + from->sizes[at] : start,
                         etx_call_integer(call, ETX_ARG_narrow_copy_length), 1);
}

static etx_status run_narrow(etx_call* call) {
  return etx_run_described(call, describe_narrow);
}

etx_status etx_kernel_narrow_copy_out_prepare(etx_call* call) {
  return etx_prepare_described(call, describe_narrow, run_narrow);
}

// Copies self to out, unless both are the same memory; src is then copied to a
// part of out.
static etx_strided_view write_self(const etx_call* call) {
  const etx_strided_view self =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_select_scatter_self));
  const etx_strided_view out = out_of(call);
  etx_strided_view_copy(&out, &self);
  return out;
}

// The same if self and out are contiguous and the copy of src is planned.
static etx_status run_scatter_dense(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_select_scatter_self);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  if (out->data != self->data) {
    etx_copy_short(out->data, self->data, etx_tensor_bytes(out));
  }
  return etx_copy_planned(call);
}

static etx_status prepare_scatter(etx_call* call, const etx_strided_view* part,
                                  etx_kernel_function general) {
  const size_t last = call->argument_count - 1;
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_select_scatter_self);
  const etx_tensor* source = etx_call_tensor(call, ETX_ARG_select_scatter_src);
  if (source->dtype != self->dtype) {
    ETX_TRY(etx_call_check_real(call, ETX_ARG_select_scatter_src));
    ETX_TRY(etx_call_check_real(call, last));
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_select_scatter_self, last));
  const etx_strided_view from = etx_strided_view_of(source);
  call->run = general;
  if (etx_tensor_is_contiguous(self) &&
      etx_tensor_is_contiguous(etx_call_tensor(call, last)) &&
      etx_tensor_numel(self) > 0 && etx_copy_plan(call, last, part, 1, &from)) {
    call->run = run_scatter_dense;
  }
  return ETX_OK;
}

static etx_status run_select_scatter(etx_call* call) {
  const etx_strided_view source =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_select_scatter_src));
  etx_strided_view part = write_self(call);
  select_part(call, ETX_ARG_select_scatter_dim, &part);
  etx_strided_view_copy(&part, &source);
  return ETX_OK;
}

etx_status etx_kernel_select_scatter_out_prepare(etx_call* call) {
  etx_strided_view part = out_of(call);
  select_part(call, ETX_ARG_select_scatter_dim, &part);
  return prepare_scatter(call, &part, run_select_scatter);
}

static etx_status run_slice_scatter(etx_call* call) {
  const etx_strided_view source =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_slice_scatter_src));
  etx_strided_view part = write_self(call);
  slice_part(call, ETX_ARG_slice_scatter_dim, &part);
  etx_strided_view_copy(&part, &source);
  return ETX_OK;
}

etx_status etx_kernel_slice_scatter_out_prepare(etx_call* call) {
  etx_strided_view part = out_of(call);
  slice_part(call, ETX_ARG_slice_scatter_dim, &part);
  return prepare_scatter(call, &part, run_slice_scatter);
}
