// Concatenates tensors along a dimension, or splits one: cat, stack, split,
// unbind.
//
//   joined  | a a a | b | c c |   one row for each position of the dimensions
//           | a a a | b | c c |   before the joined one; a column for each part
//
// Contiguous parts are copied as columns of bytes, a few rows at a time, so
// that the rows of the joined tensor stay in L1; others are copied one by one.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/strided_view.h"

// What prepare stores in etx_call.prepared.
enum {
  DIMENSION,    // the joined one
  IS_ONE_EACH,  // each part is one element of it, without the dimension
  ROWS,         // rows of the joined tensor, if all tensors are contiguous
  ROW,          // bytes of each
  UNIT,         // bytes of one element of the joined dimension in a row
};

static const etx_tensor* item(const etx_value* list, size_t i) {
  return &list->as.tensors.items[i]->as.tensor;
}

// The size of a part along the joined dimension. PyTorch ignores vectors
// without elements, whatever the rank of the others.
static int32_t width(const etx_call* call, const etx_tensor* part) {
  const int64_t at = call->prepared[DIMENSION];
  if (call->prepared[IS_ONE_EACH] != 0) return 1;
  return at < part->rank ? part->sizes[at] : 0;
}

// Stores the row bytes of `joined`; false unless all tensors are contiguous and
// have one type.
static bool prepare_columns(etx_call* call, const etx_tensor* joined,
                            const etx_value* list) {
  const size_t at = (size_t)call->prepared[DIMENSION];
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
  return true;
}

// Copies `rows` rows of a column from or to a part.
static void move_column(char* joined, ptrdiff_t row, char* part,
                        ptrdiff_t width, size_t rows, bool divides) {
  if (joined == part) return;  // it was computed in its place
  etx_copy copy;
  copy.bytes = (size_t)width;
  copy.rank = rows > 1 ? 1 : 0;
  copy.dims[0] = (etx_copy_dim){(ptrdiff_t)rows, divides ? width : row,
                                divides ? row : width};
  etx_copy_run(&copy, divides ? part : joined, divides ? joined : part);
}

// Bytes of the rows that are copied of all parts before the next rows.
enum { PIECE = 32768 };

static void move_columns(const etx_call* call, char* joined,
                         const etx_value* list, bool divides) {
  const size_t rows = (size_t)call->prepared[ROWS];
  const ptrdiff_t row = (ptrdiff_t)call->prepared[ROW];
  const ptrdiff_t unit = (ptrdiff_t)call->prepared[UNIT];
  const size_t fitting = row == 0 ? rows : PIECE / (size_t)row + 1;
  for (size_t start = 0; start < rows; start += fitting) {
    const size_t count = rows - start < fitting ? rows - start : fitting;
    char* column = joined + (ptrdiff_t)start * row;
    for (size_t i = 0; i < list->as.tensors.count; ++i) {
      const etx_tensor* part = item(list, i);
      const ptrdiff_t size = width(call, part);
      if (size * unit == 0) continue;
      move_column(column, row,
                  (char*)part->data + (ptrdiff_t)start * size * unit,
                  size * unit, count, divides);
      column += size * unit;
    }
  }
}

// The same for tensors with any strides, and of different types.
static void move_parts(const etx_call* call, const etx_tensor* joined,
                       const etx_value* list, bool divides) {
  const etx_strided_view all = etx_strided_view_of(joined);
  const size_t at = (size_t)call->prepared[DIMENSION];
  int64_t start = 0;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_strided_view part = etx_strided_view_of(item(list, i));
    const int32_t size = width(call, item(list, i));
    etx_strided_view place = all;
    if (size == 0) continue;
    if (call->prepared[IS_ONE_EACH] != 0) {
      etx_strided_view_select(&place, at, start);
    } else {
      etx_strided_view_slice(&place, at, start, size, 1);
    }
    etx_strided_view_copy(divides ? &part : &place, divides ? &place : &part);
    start += size;
  }
}

static etx_status run_nothing(etx_call* call) {
  (void)call;
  return ETX_OK;
}

// The run functions of an operator, for contiguous tensors and for all.
typedef struct column_functions {
  etx_kernel_function dense;
  etx_kernel_function general;
} column_functions;

// Chooses a run function; `argument` is the position of the dimension.
static void choose(etx_call* call, const etx_tensor* joined,
                   const etx_value* list, size_t argument, bool is_one_each,
                   const column_functions* functions) {
  call->run = run_nothing;
  if (etx_tensor_numel(joined) == 0) return;
  call->prepared[DIMENSION] = (int64_t)etx_wrap_dimension(
      etx_call_integer(call, argument), joined->rank);
  call->prepared[IS_ONE_EACH] = is_one_each ? 1 : 0;
  call->run = prepare_columns(call, joined, list) ? functions->dense
                                                  : functions->general;
}

// ---- split and unbind ----

static const etx_value* pieces_of(const etx_call* call) {
  return etx_call_value(call, call->argument_count - 1);
}

static etx_status check_pieces(const etx_call* call, size_t wanted) {
  const etx_value* list = pieces_of(call);
  if (list->as.tensors.count != wanted) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "the out list has %z tensors, expected %z",
                           list->as.tensors.count, wanted);
  }
  const etx_dtype dtype =
      etx_call_tensor(call, ETX_ARG_split_copy_tensor_self)->dtype;
  for (size_t i = 0; i < wanted; ++i) {
    const etx_dtype found = item(list, i)->dtype;
    if (found == dtype) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "piece %z has type '%s', expected '%s'", i,
                           etx_dtype_name(found), etx_dtype_name(dtype));
  }
  return ETX_OK;
}

static etx_status run_divide_dense(etx_call* call) {
  move_columns(call,
               etx_call_tensor(call, ETX_ARG_split_copy_tensor_self)->data,
               pieces_of(call), true);
  return ETX_OK;
}
static etx_status run_divide(etx_call* call) {
  move_parts(call, etx_call_tensor(call, ETX_ARG_split_copy_tensor_self),
             pieces_of(call), true);
  return ETX_OK;
}

// `argument` is the position of the dimension.
static etx_status prepare_divide(etx_call* call, size_t argument, size_t wanted,
                                 bool is_unbound) {
  const column_functions functions = {run_divide_dense, run_divide};
  ETX_TRY(check_pieces(call, wanted));
  choose(call, etx_call_tensor(call, ETX_ARG_split_copy_tensor_self),
         pieces_of(call), argument, is_unbound, &functions);
  return ETX_OK;
}

etx_status etx_kernel_split_copy_tensor_out_prepare(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_split_copy_tensor_self);
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_split_copy_tensor_dim), self->rank);
  const int64_t size = self->sizes[at];
  const int64_t piece =
      etx_call_integer(call, ETX_ARG_split_copy_tensor_split_size);
  const size_t wanted = size == 0 ? 1 : (size_t)((size - 1) / piece + 1);
  return prepare_divide(call, ETX_ARG_split_copy_tensor_dim, wanted, false);
}

etx_status etx_kernel_split_with_sizes_copy_out_prepare(etx_call* call) {
  const size_t wanted =
      etx_call_value(call, ETX_ARG_split_with_sizes_copy_split_sizes)
          ->as.integers.count;
  return prepare_divide(call, ETX_ARG_split_with_sizes_copy_dim, wanted, false);
}

etx_status etx_kernel_unbind_copy_int_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_unbind_copy_int_self);
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_unbind_copy_int_dim), self->rank);
  return prepare_divide(call, ETX_ARG_unbind_copy_int_dim,
                        (size_t)self->sizes[at], true);
}

// ---- cat and stack ----

static etx_status run_join_dense(etx_call* call) {
  move_columns(call, etx_call_tensor(call, ETX_ARG_cat_out)->data,
               etx_call_value(call, ETX_ARG_cat_tensors), false);
  return ETX_OK;
}
static etx_status run_join(etx_call* call) {
  move_parts(call, etx_call_tensor(call, ETX_ARG_cat_out),
             etx_call_value(call, ETX_ARG_cat_tensors), false);
  return ETX_OK;
}

static etx_status prepare_join(etx_call* call, bool is_stacked) {
  const column_functions functions = {run_join_dense, run_join};
  const etx_value* list = etx_call_value(call, ETX_ARG_cat_tensors);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_cat_out);
  const etx_dtype to = out->dtype;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_dtype from = item(list, i)->dtype;
    if (from == to) continue;
    const bool known = etx_compute_type_of(from) != ETX_COMPUTE_NONE &&
                       etx_compute_type_of(to) != ETX_COMPUTE_NONE;
    if (known && etx_dtype_category_of(from) <= etx_dtype_category_of(to)) {
      continue;
    }
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "tensor %z has type '%s', the result '%s'", i,
                           etx_dtype_name(from), etx_dtype_name(to));
  }
  choose(call, out, list, ETX_ARG_cat_dim, is_stacked, &functions);
  return ETX_OK;
}

etx_status etx_kernel_cat_out_prepare(etx_call* call) {
  return prepare_join(call, false);
}
etx_status etx_kernel_stack_out_prepare(etx_call* call) {
  return prepare_join(call, true);
}
