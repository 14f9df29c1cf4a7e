// Rules of matrix products.

#include "format/ops/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// Two tensors of one rank, whose sizes along `a` and `b` must agree.
static etx_status product(const etx_shape_call* call, size_t first, size_t rank,
                          size_t a, size_t b, etx_shape* left,
                          etx_shape* right) {
  ETX_TRY(etx_shape_tensor(call, first, left));
  ETX_TRY(etx_shape_tensor(call, first + 1, right));
  ETX_TRY(etx_shape_want_rank(call, "the left matrix", left, rank));
  ETX_TRY(etx_shape_want_rank(call, "the right matrix", right, rank));
  return etx_shape_want_equal(call, "the inner size of the right matrix",
                              left->dims[a], right->dims[b]);
}

etx_status etx_shape_mm(etx_shape_call* call) {
  etx_shape left, right;
  ETX_TRY(product(call, 0, 2, 1, 0, &left, &right));
  left.dims[1] = right.dims[1];
  return put(call, &left);
}

etx_status etx_shape_addmm(etx_shape_call* call) {
  etx_shape self, left, right;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(product(call, 1, 2, 1, 0, &left, &right));
  left.dims[1] = right.dims[1];
  if (self.rank > 2) return etx_shape_want_rank(call, "self", &self, 2);
  ETX_TRY(etx_shape_want_broadcasts(call, &self, &left));
  return put(call, &left);
}

etx_status etx_shape_bmm(etx_shape_call* call) {
  etx_shape left, right;
  ETX_TRY(product(call, 0, 3, 2, 1, &left, &right));
  ETX_TRY(etx_shape_want_equal(call, "the count of right matrices",
                               left.dims[0], right.dims[0]));
  left.dims[2] = right.dims[2];
  return put(call, &left);
}

etx_status etx_shape_bmm_nt(etx_shape_call* call) {
  etx_shape left, right;
  ETX_TRY(product(call, 0, 3, 2, 2, &left, &right));
  ETX_TRY(etx_shape_want_equal(call, "the count of right matrices",
                               left.dims[0], right.dims[0]));
  left.dims[2] = right.dims[1];
  return put(call, &left);
}

// input [.., K], weight [N, K] or [K], bias [N] or []
etx_status etx_shape_linear(etx_shape_call* call) {
  etx_shape input, weight, bias;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_tensor(call, 1, &weight));
  if (weight.rank != 1) {
    ETX_TRY(etx_shape_want_rank(call, "weight", &weight, 2));
  }
  if (input.rank == 0) return etx_shape_want_rank(call, "input", &input, 1);
  ETX_TRY(etx_shape_want_equal(call, "the last size of 'weight'",
                               input.dims[input.rank - 1],
                               weight.dims[weight.rank - 1]));
  if (weight.rank == 2) {
    input.dims[input.rank - 1] = weight.dims[0];
  } else {
    --input.rank;
  }
  if (!etx_shape_is_none(call, 2)) {
    ETX_TRY(etx_shape_tensor(call, 2, &bias));
    ETX_TRY(etx_shape_want_broadcasts(call, &bias, &input));
  }
  return put(call, &input);
}
