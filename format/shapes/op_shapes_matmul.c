// Shape functions of matrix products.

#include "format/shapes/op_shapes_internal.h"

enum { PANEL_COLUMNS = 16 };

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// Reads two matrices (rank 2) or batches of matrices (rank 3) from argument
// `first` on. The last size of the left one must equal size `inner` of the
// right one.
static etx_status read_matrices(const etx_shape_call* call, size_t first,
                                size_t rank, size_t inner, etx_shape* left,
                                etx_shape* right) {
  ETX_TRY(etx_shape_tensor(call, first, left));
  ETX_TRY(etx_shape_tensor(call, first + 1, right));
  ETX_TRY(etx_shape_check_rank(call, "the left matrix", left, rank));
  ETX_TRY(etx_shape_check_rank(call, "the right matrix", right, rank));
  return etx_shape_check_equal(call, "the inner size of the right matrix",
                               left->dims[rank - 1], right->dims[inner]);
}

etx_status etx_shape_mm(etx_shape_call* call) {
  etx_shape left, right;
  ETX_TRY(read_matrices(call, 0, 2, 0, &left, &right));
  left.dims[1] = right.dims[1];
  return put(call, &left);
}

etx_status etx_shape_addmm(etx_shape_call* call) {
  etx_shape self, left, right;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(read_matrices(call, 1, 2, 0, &left, &right));
  left.dims[1] = right.dims[1];
  if (self.rank > 2) return etx_shape_check_rank(call, "self", &self, 2);
  ETX_TRY(etx_shape_check_broadcasts(call, &self, &left));
  return put(call, &left);
}

etx_status etx_shape_bmm(etx_shape_call* call) {
  etx_shape left, right;
  ETX_TRY(read_matrices(call, 0, 3, 1, &left, &right));
  ETX_TRY(etx_shape_check_equal(call, "the number of right matrices",
                                left.dims[0], right.dims[0]));
  left.dims[2] = right.dims[2];
  return put(call, &left);
}

etx_status etx_shape_bmm_nt(etx_shape_call* call) {
  etx_shape left, right;
  ETX_TRY(read_matrices(call, 0, 3, 2, &left, &right));
  ETX_TRY(etx_shape_check_equal(call, "the number of right matrices",
                                left.dims[0], right.dims[0]));
  left.dims[2] = right.dims[1];
  return put(call, &left);
}

// self [M, K], mat2 [G, K, N], offs [G]
etx_status etx_shape_grouped_mm(etx_shape_call* call) {
  etx_shape self, mat2, offs;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &mat2));
  ETX_TRY(etx_shape_tensor(call, 2, &offs));
  ETX_TRY(etx_shape_check_rank(call, "self", &self, 2));
  ETX_TRY(etx_shape_check_rank(call, "mat2", &mat2, 3));
  ETX_TRY(etx_shape_check_rank(call, "offs", &offs, 1));
  ETX_TRY(etx_shape_check_equal(call, "the inner size of 'mat2'", self.dims[1],
                                mat2.dims[1]));
  ETX_TRY(etx_shape_check_equal(call, "the size of 'offs'", mat2.dims[0],
                                offs.dims[0]));
  self.dims[1] = mat2.dims[2];
  return put(call, &self);
}

// input [.., K], weight [N, K] or [K], bias [N] or []
static etx_status linear(const etx_shape_call* call, etx_shape* out) {
  etx_shape input, weight, bias;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_tensor(call, 1, &weight));
  if (weight.rank != 1) {
    ETX_TRY(etx_shape_check_rank(call, "weight", &weight, 2));
  }
  if (input.rank == 0) return etx_shape_check_rank(call, "input", &input, 1);
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'weight'",
                                input.dims[input.rank - 1],
                                weight.dims[weight.rank - 1]));
  if (weight.rank == 2) {
    input.dims[input.rank - 1] = weight.dims[0];
  } else {
    --input.rank;
  }
  if (!etx_shape_is_none(call, 2)) {
    ETX_TRY(etx_shape_tensor(call, 2, &bias));
    ETX_TRY(etx_shape_check_broadcasts(call, &bias, &input));
  }
  *out = input;
  return ETX_OK;
}

etx_status etx_shape_linear(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(linear(call, &out));
  return put(call, &out);
}

// (input, weight, bias, others, steps)
etx_status etx_shape_linear_chain(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(linear(call, &out));
  ETX_TRY(etx_shape_check_others(call, 3, &out));
  return put(call, &out);
}

// (input [.., K], panels [N / 16, K, 16], bias [N] or [], ..)
static etx_status panels_linear(const etx_shape_call* call, etx_shape* out) {
  etx_shape input, panels, bias;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_tensor(call, 1, &panels));
  ETX_TRY(etx_shape_check_rank(call, "panels", &panels, 3));
  if (input.rank == 0) return etx_shape_check_rank(call, "input", &input, 1);
  etx_dim* last = &input.dims[input.rank - 1];
  ETX_TRY(etx_shape_check_equal(call, "the inner size of 'panels'", *last,
                                panels.dims[1]));
  ETX_TRY(etx_shape_check_equal(call, "the columns of a panel", PANEL_COLUMNS,
                                panels.dims[2]));
  ETX_TRY(etx_dim_multiply(call, panels.dims[0], PANEL_COLUMNS, last));
  if (!etx_shape_is_none(call, 2)) {
    ETX_TRY(etx_shape_tensor(call, 2, &bias));
    ETX_TRY(etx_shape_check_broadcasts(call, &bias, &input));
  }
  *out = input;
  return ETX_OK;
}

// (.., others, steps)
etx_status etx_shape_linear_panels(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(panels_linear(call, &out));
  ETX_TRY(etx_shape_check_others(call, 3, &out));
  return put(call, &out);
}

// (.., heads): out is [.., heads, rows, N / heads]; each head has whole panels.
etx_status etx_shape_linear_heads(etx_shape_call* call) {
  etx_shape out, panels;
  int64_t heads = 0;
  ETX_TRY(panels_linear(call, &out));
  ETX_TRY(etx_shape_tensor(call, 1, &panels));
  ETX_TRY(etx_shape_number(call, 3, 0, &heads));
  if (out.rank < 2) return etx_shape_check_rank(call, "input", &out, 2);
  if (heads < 1 || !etx_shape_is_number(call, panels.dims[0]) ||
      panels.dims[0] % heads != 0) {
    return etx_shape_refuse(call, "%i panels do not divide into %i heads",
                            etx_dim_for_message(call, panels.dims[0]), heads);
  }
  out.dims[out.rank - 1] = panels.dims[0] / heads * PANEL_COLUMNS;
  ETX_TRY(etx_shape_insert(call, &out, out.rank - 2u, heads));
  return put(call, &out);
}

etx_status etx_shape_baddbmm(etx_shape_call* call) {
  etx_shape self, left, right;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(read_matrices(call, 1, 3, 1, &left, &right));
  ETX_TRY(etx_shape_check_equal(call, "the number of right matrices",
                                left.dims[0], right.dims[0]));
  left.dims[2] = right.dims[2];
  if (self.rank > 3) return etx_shape_check_rank(call, "self", &self, 3);
  ETX_TRY(etx_shape_check_broadcasts(call, &self, &left));
  return put(call, &left);
}

etx_status etx_shape_mv(etx_shape_call* call) {
  etx_shape self, vec;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &vec));
  ETX_TRY(etx_shape_check_rank(call, "self", &self, 2));
  ETX_TRY(etx_shape_check_rank(call, "vec", &vec, 1));
  ETX_TRY(etx_shape_check_equal(call, "the size of 'vec'", self.dims[1],
                                vec.dims[0]));
  self.rank = 1;
  return put(call, &self);
}

etx_status etx_shape_dot(etx_shape_call* call) {
  etx_shape self, other;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &other));
  ETX_TRY(etx_shape_check_rank(call, "self", &self, 1));
  ETX_TRY(etx_shape_check_rank(call, "tensor", &other, 1));
  ETX_TRY(etx_shape_check_equal(call, "the size of 'tensor'", self.dims[0],
                                other.dims[0]));
  self.rank = 0;
  return put(call, &self);
}

// A vector on the left is a row, a vector on the right is a column, and the
// result does not have the added dimension. Leading dimensions broadcast.
etx_status etx_shape_matmul(etx_shape_call* call) {
  etx_shape left, right;
  ETX_TRY(etx_shape_tensor(call, 0, &left));
  ETX_TRY(etx_shape_tensor(call, 1, &right));
  if (left.rank == 0) return etx_shape_check_rank(call, "self", &left, 1);
  if (right.rank == 0) return etx_shape_check_rank(call, "other", &right, 1);
  const bool is_row = left.rank == 1, is_column = right.rank == 1;
  if (is_row) ETX_TRY(etx_shape_insert(call, &left, 0, 1));
  if (is_column) ETX_TRY(etx_shape_insert(call, &right, 1, 1));
  ETX_TRY(etx_shape_check_equal(call, "the inner size of 'other'",
                                left.dims[left.rank - 1],
                                right.dims[right.rank - 2]));
  const etx_dim rows = left.dims[left.rank - 2];
  const etx_dim columns = right.dims[right.rank - 1];
  left.rank = (uint8_t)(left.rank - 2);
  right.rank = (uint8_t)(right.rank - 2);
  ETX_TRY(etx_shape_broadcast_into(call, &left, &right));
  if (!is_row) ETX_TRY(etx_shape_insert(call, &left, left.rank, rows));
  if (!is_column) ETX_TRY(etx_shape_insert(call, &left, left.rank, columns));
  return put(call, &left);
}

// The last size is a power of two, or 28 times one.
etx_status etx_shape_hadamard(etx_shape_call* call) {
  etx_shape mat;
  ETX_TRY(etx_shape_tensor(call, 0, &mat));
  if (mat.rank == 0) return put(call, &mat);
  const etx_dim last = mat.dims[mat.rank - 1];
  if (!etx_shape_is_number(call, last)) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "the last size is dynamic, expected a number");
  }
  const etx_dim factor = last % 28 == 0 ? last / 28 : last;
  if ((factor & (factor - 1)) == 0) return put(call, &mat);
  return etx_shape_refuse(call,
                          "the last size is %i, expected a power of two or "
                          "28 times one",
                          last);
}
