// Reading and writing parts of tensors: select, slice, split, join, pad.

#include "runtime/kernels/parts.h"

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/strided_view.h"

static etx_view self_of(const etx_call* call) {
  return etx_view_of(etx_call_tensor(call, 0));
}
static etx_view out_of(const etx_call* call) {
  return etx_view_of(etx_call_tensor(call, call->argument_count - 1));
}

static etx_status prepare_move(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, call->argument_count - 1));
  call->run = run;
  return ETX_OK;
}

static void select_part(const etx_call* call, size_t first, etx_view* view) {
  const size_t at =
      etx_wrap_dimension(etx_call_integer(call, first), view->rank);
  const int64_t index = etx_call_integer(call, first + 1);
  etx_view_select(view, at, index < 0 ? index + view->sizes[at] : index);
}

static void slice_part(const etx_call* call, size_t first, etx_view* view) {
  const size_t at =
      etx_wrap_dimension(etx_call_integer(call, first), view->rank);
  const etx_range range = etx_range_read(call, first + 1, view->sizes[at]);
  etx_view_slice(view, at, range.start, range.count, range.step);
}

// (self, dim, index, out)
static etx_status run_select(etx_call* call) {
  etx_view self = self_of(call);
  const etx_view out = out_of(call);
  select_part(call, 1, &self);
  etx_view_copy(&out, &self);
  return ETX_OK;
}

etx_status etx_kernel_select_copy_int_out_prepare(etx_call* call) {
  return prepare_move(call, run_select);
}

// (self, dim, start, end, step, out)
static etx_status run_slice(etx_call* call) {
  etx_view self = self_of(call);
  const etx_view out = out_of(call);
  slice_part(call, 1, &self);
  etx_view_copy(&out, &self);
  return ETX_OK;
}

etx_status etx_kernel_slice_copy_tensor_out_prepare(etx_call* call) {
  return prepare_move(call, run_slice);
}

// (self, dim, start, length, out)
static etx_status run_narrow(etx_call* call) {
  etx_view self = self_of(call);
  const etx_view out = out_of(call);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self.rank);
  const int64_t start = etx_call_integer(call, 2);
  etx_view_slice(&self, at, start < 0 ? start + self.sizes[at] : start,
                 etx_call_integer(call, 3), 1);
  etx_view_copy(&out, &self);
  return ETX_OK;
}

etx_status etx_kernel_narrow_copy_out_prepare(etx_call* call) {
  return prepare_move(call, run_narrow);
}

// Self to out (nothing if out is self's own memory), then src to a part.
static etx_view write_self(const etx_call* call) {
  const etx_view self = self_of(call);
  const etx_view out = out_of(call);
  etx_view_copy(&out, &self);
  return out;
}

static etx_status prepare_scatter(etx_call* call, etx_kernel_function run) {
  const size_t out = call->argument_count - 1;
  if (etx_call_tensor(call, 1)->dtype != etx_call_tensor(call, 0)->dtype) {
    ETX_TRY(etx_call_check_real(call, 1));
    ETX_TRY(etx_call_check_real(call, out));
  }
  return prepare_move(call, run);
}

// (self, src, dim, index, out)
static etx_status run_select_scatter(etx_call* call) {
  const etx_view source = etx_view_of(etx_call_tensor(call, 1));
  etx_view part = write_self(call);
  select_part(call, 2, &part);
  etx_view_copy(&part, &source);
  return ETX_OK;
}

etx_status etx_kernel_select_scatter_out_prepare(etx_call* call) {
  return prepare_scatter(call, run_select_scatter);
}

// (self, src, dim, start, end, step, out)
static etx_status run_slice_scatter(etx_call* call) {
  const etx_view source = etx_view_of(etx_call_tensor(call, 1));
  etx_view part = write_self(call);
  slice_part(call, 2, &part);
  etx_view_copy(&part, &source);
  return ETX_OK;
}

etx_status etx_kernel_slice_scatter_out_prepare(etx_call* call) {
  return prepare_scatter(call, run_slice_scatter);
}

// Pieces of self along a dimension, as many as the out list has.

static etx_status check_pieces(const etx_call* call, size_t wanted) {
  const etx_value* list = etx_call_value(call, call->argument_count - 1);
  if (list->as.tensors.count != wanted) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "the out list has %z tensors, expected %z",
                           list->as.tensors.count, wanted);
  }
  const etx_dtype dtype = etx_call_tensor(call, 0)->dtype;
  for (size_t i = 0; i < wanted; ++i) {
    const etx_dtype found = list->as.tensors.items[i]->as.tensor.dtype;
    if (found == dtype) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "piece %z has type '%s', expected '%s'", i,
                           etx_dtype_name(found), etx_dtype_name(dtype));
  }
  return ETX_OK;
}

// Sizes of the pieces are those of the out tensors.
static etx_status run_split(etx_call* call) {
  const etx_view self = self_of(call);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 2), self.rank);
  const etx_value* list = etx_call_value(call, call->argument_count - 1);
  int64_t start = 0;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view out = etx_view_of(&list->as.tensors.items[i]->as.tensor);
    etx_view piece = self;
    etx_view_slice(&piece, at, start, out.sizes[at], 1);
    etx_view_copy(&out, &piece);
    start += out.sizes[at];
  }
  return ETX_OK;
}

etx_status etx_kernel_split_copy_tensor_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 2), self->rank);
  const int64_t size = self->sizes[at], piece = etx_call_integer(call, 1);
  call->run = run_split;
  return check_pieces(call, size == 0 ? 1 : (size_t)((size - 1) / piece + 1));
}

etx_status etx_kernel_split_with_sizes_copy_out_prepare(etx_call* call) {
  call->run = run_split;
  return check_pieces(call, etx_call_value(call, 1)->as.integers.count);
}

static etx_status run_unbind(etx_call* call) {
  const etx_view self = self_of(call);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self.rank);
  const etx_value* list = etx_call_value(call, 2);
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view out = etx_view_of(&list->as.tensors.items[i]->as.tensor);
    etx_view piece = self;
    etx_view_select(&piece, at, (int64_t)i);
    etx_view_copy(&out, &piece);
  }
  return ETX_OK;
}

etx_status etx_kernel_unbind_copy_int_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self->rank);
  call->run = run_unbind;
  return check_pieces(call, (size_t)self->sizes[at]);
}

// Joins: (tensors, dim, out).

static etx_status prepare_join(etx_call* call, etx_kernel_function run) {
  const etx_value* list = etx_call_value(call, 0);
  const etx_dtype to = etx_call_tensor(call, 2)->dtype;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_dtype from = list->as.tensors.items[i]->as.tensor.dtype;
    if (from == to) continue;
    const bool known =
        etx_wide_of(from) != ETX_WIDE_NONE && etx_wide_of(to) != ETX_WIDE_NONE;
    if (known && etx_dtype_category_of(from) <= etx_dtype_category_of(to)) {
      continue;
    }
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "tensor %z has type '%s', the result '%s'", i,
                           etx_dtype_name(from), etx_dtype_name(to));
  }
  call->run = run;
  return ETX_OK;
}

static etx_status run_cat(etx_call* call) {
  const etx_value* list = etx_call_value(call, 0);
  const etx_view out = out_of(call);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), out.rank);
  int64_t start = 0;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view from = etx_view_of(&list->as.tensors.items[i]->as.tensor);
    if (from.rank == 1 && from.sizes[0] == 0) continue;
    etx_view part = out;
    etx_view_slice(&part, at, start, from.sizes[at], 1);
    etx_view_copy(&part, &from);
    start += from.sizes[at];
  }
  return ETX_OK;
}

etx_status etx_kernel_cat_out_prepare(etx_call* call) {
  return prepare_join(call, run_cat);
}

static etx_status run_stack(etx_call* call) {
  const etx_value* list = etx_call_value(call, 0);
  const etx_view out = out_of(call);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), out.rank);
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view from = etx_view_of(&list->as.tensors.items[i]->as.tensor);
    etx_view part = out;
    etx_view_select(&part, at, (int64_t)i);
    etx_view_copy(&part, &from);
  }
  return ETX_OK;
}

etx_status etx_kernel_stack_out_prepare(etx_call* call) {
  return prepare_join(call, run_stack);
}

// (self, pad, value, out): a negative pad crops.
static etx_status run_pad(etx_call* call) {
  etx_view self = self_of(call);
  etx_view inner = out_of(call);
  etx_number value = {0};
  etx_number_store(etx_call_value(call, 2), inner.dtype, &value);
  etx_view_fill(&inner, &value);
  const size_t pairs = etx_call_value(call, 1)->as.integers.count / 2;
  for (size_t i = 0; i < pairs; ++i) {
    const size_t at = self.rank - 1 - i;
    const int64_t before = etx_call_item(call, 1, 2 * i);
    const int64_t after = etx_call_item(call, 1, 2 * i + 1);
    const int64_t cut = before < 0 ? -before : 0;
    const int64_t count = self.sizes[at] - cut - (after < 0 ? -after : 0);
    if (count <= 0) return ETX_OK;
    etx_view_slice(&self, at, cut, count, 1);
    etx_view_slice(&inner, at, before > 0 ? before : 0, count, 1);
  }
  etx_view_copy(&inner, &self);
  return ETX_OK;
}

etx_status etx_kernel_constant_pad_nd_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, 0));
  return prepare_move(call, run_pad);
}
