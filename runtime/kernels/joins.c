// Joining tensors along a dimension and dividing them: cat, stack, split,
// unbind.
//
//   joined  | a a a | b | c c |   one row for each position of the dimensions
//           | a a a | b | c c |   before the joined one; a column for each part
//
// Parts that lie densely are moved as columns of bytes, a few rows at a time,
// so that what all parts share is touched once.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/strided_view.h"

// What prepare leaves for `run` of dense parts.
enum {
  ROWS,       // of the joined tensor
  ROW,        // bytes of each
  UNIT,       // bytes of one element of the joined dimension in a row
  DIMENSION,  // the joined one; -1: each part is one element of it
};

static const etx_tensor* item(const etx_value* list, size_t i) {
  return &list->as.tensors.items[i]->as.tensor;
}

// Describes `joined`, rows along dimension `at`; false unless all lie densely
// and have one type.
static bool prepare_columns(etx_call* call, const etx_tensor* joined, size_t at,
                            const etx_value* list, bool is_one_each) {
  if (!etx_tensor_is_contiguous(joined)) return false;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_tensor* part = item(list, i);
    if (part->dtype != joined->dtype || !etx_tensor_is_contiguous(part)) {
      return false;
    }
  }
  size_t rows = 1, unit = etx_dtype_bytes(joined->dtype);
  for (size_t i = 0; i < joined->rank; ++i) {
    if (i < at) rows *= (size_t)joined->sizes[i];
    if (i > at) unit *= (size_t)joined->sizes[i];
  }
  call->prepared[ROWS] = (int64_t)rows;
  call->prepared[ROW] = (int64_t)unit * joined->sizes[at];
  call->prepared[UNIT] = (int64_t)unit;
  call->prepared[DIMENSION] = is_one_each ? -1 : (int64_t)at;
  return true;
}

// Moves `rows` rows of a column one way or the other.
static void move_column(char* joined, ptrdiff_t row, char* part,
                        ptrdiff_t width, size_t rows, bool divides) {
  etx_copy copy;
  copy.bytes = (size_t)width;
  copy.rank = rows > 1 ? 1 : 0;
  copy.dims[0] = (etx_copy_dim){(ptrdiff_t)rows, divides ? width : row,
                                divides ? row : width};
  etx_copy_run(&copy, divides ? part : joined, divides ? joined : part);
}

// Rows that are moved before the next: all if there are few bytes.
enum { PIECE = 32768 };

static void move_columns(const etx_call* call, char* joined,
                         const etx_value* list, bool divides) {
  const size_t rows = (size_t)call->prepared[ROWS];
  const ptrdiff_t row = (ptrdiff_t)call->prepared[ROW];
  const ptrdiff_t unit = (ptrdiff_t)call->prepared[UNIT];
  const int64_t at = call->prepared[DIMENSION];
  const size_t fitting = row == 0 ? rows : PIECE / (size_t)row + 1;
  for (size_t start = 0; start < rows; start += fitting) {
    const size_t count = rows - start < fitting ? rows - start : fitting;
    char* column = joined + (ptrdiff_t)start * row;
    for (size_t i = 0; i < list->as.tensors.count; ++i) {
      const etx_tensor* part = item(list, i);
      // PyTorch leaves vectors without elements out of a join of any rank.
      const ptrdiff_t size = at < 0             ? 1
                             : at >= part->rank ? 0
                                                : part->sizes[at];
      if (size * unit == 0) continue;
      move_column(column, row,
                  (char*)part->data + (ptrdiff_t)start * size * unit,
                  size * unit, count, divides);
      column += size * unit;
    }
  }
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
    const etx_dtype found = item(list, i)->dtype;
    if (found == dtype) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "piece %z has type '%s', expected '%s'", i,
                           etx_dtype_name(found), etx_dtype_name(dtype));
  }
  return ETX_OK;
}

static etx_status run_nothing(etx_call* call) {
  (void)call;
  return ETX_OK;
}

static etx_status run_divide_dense(etx_call* call) {
  move_columns(call, etx_call_tensor(call, 0)->data,
               etx_call_value(call, call->argument_count - 1), true);
  return ETX_OK;
}

// `argument` is the dimension.
static etx_status prepare_divide(etx_call* call, size_t argument, size_t wanted,
                                 etx_kernel_function general) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_value* list = etx_call_value(call, call->argument_count - 1);
  const bool is_unbound = call->op->id == ETX_OP_unbind_copy_int_out;
  ETX_TRY(check_pieces(call, wanted));
  call->run = general;
  if (etx_tensor_numel(self) == 0) {
    call->run = run_nothing;
  } else if (prepare_columns(call, self,
                             etx_wrap_dimension(
                                 etx_call_integer(call, argument), self->rank),
                             list, is_unbound)) {
    call->run = run_divide_dense;
  }
  return ETX_OK;
}

// Sizes of the pieces are those of the out tensors.
static etx_status run_split(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 2), self.rank);
  const etx_value* list = etx_call_value(call, call->argument_count - 1);
  int64_t start = 0;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view out = etx_view_of(item(list, i));
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
  const size_t wanted = size == 0 ? 1 : (size_t)((size - 1) / piece + 1);
  return prepare_divide(call, 2, wanted, run_split);
}

etx_status etx_kernel_split_with_sizes_copy_out_prepare(etx_call* call) {
  const size_t wanted = etx_call_value(call, 1)->as.integers.count;
  return prepare_divide(call, 2, wanted, run_split);
}

static etx_status run_unbind(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self.rank);
  const etx_value* list = etx_call_value(call, 2);
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view out = etx_view_of(item(list, i));
    etx_view piece = self;
    etx_view_select(&piece, at, (int64_t)i);
    etx_view_copy(&out, &piece);
  }
  return ETX_OK;
}

etx_status etx_kernel_unbind_copy_int_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self->rank);
  return prepare_divide(call, 1, (size_t)self->sizes[at], run_unbind);
}

// Joins: (tensors, dim, out).

static etx_status run_join_dense(etx_call* call) {
  move_columns(call, etx_call_tensor(call, 2)->data, etx_call_value(call, 0),
               false);
  return ETX_OK;
}

static etx_status prepare_join(etx_call* call, etx_kernel_function general) {
  const etx_value* list = etx_call_value(call, 0);
  const etx_tensor* out = etx_call_tensor(call, 2);
  const etx_dtype to = out->dtype;
  const bool is_stacked = call->op->id == ETX_OP_stack_out;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_dtype from = item(list, i)->dtype;
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
  call->run = general;
  if (etx_tensor_numel(out) == 0) {
    call->run = run_nothing;
  } else if (prepare_columns(
                 call, out,
                 etx_wrap_dimension(etx_call_integer(call, 1), out->rank), list,
                 is_stacked)) {
    call->run = run_join_dense;
  }
  return ETX_OK;
}

static etx_status run_cat(etx_call* call) {
  const etx_value* list = etx_call_value(call, 0);
  const etx_view out = etx_view_of(etx_call_tensor(call, 2));
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), out.rank);
  int64_t start = 0;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view from = etx_view_of(item(list, i));
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
  const etx_view out = etx_view_of(etx_call_tensor(call, 2));
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), out.rank);
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_view from = etx_view_of(item(list, i));
    etx_view part = out;
    etx_view_select(&part, at, (int64_t)i);
    etx_view_copy(&part, &from);
  }
  return ETX_OK;
}

etx_status etx_kernel_stack_out_prepare(etx_call* call) {
  return prepare_join(call, run_stack);
}
