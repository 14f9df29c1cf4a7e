// Shape functions of recurrent layers.

#include "format/shapes/op_shapes_internal.h"

enum { INPUT, HIDDEN, WEIGHT, BIAS, REVERSE, BATCH_FIRST, CELL };
enum { PANEL_COLUMNS = 16 };

// Checks that an optional vector or a matrix has these sizes.
static etx_status check_sizes(const etx_shape_call* call, size_t argument,
                              const char* name, const etx_dim* sizes,
                              size_t rank) {
  etx_shape shape;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_check_rank(call, name, &shape, rank));
  for (size_t i = 0; i < rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, name, sizes[i], shape.dims[i]));
  }
  return ETX_OK;
}

// Checks that the hidden weight has `width` rows, as a matrix or in panels.
static etx_status check_weight(const etx_shape_call* call, etx_dim width,
                               etx_dim units) {
  etx_shape weight;
  ETX_TRY(etx_shape_tensor(call, WEIGHT, &weight));
  if (weight.rank != 3) {
    const etx_dim sizes[] = {width, units};
    return check_sizes(call, WEIGHT, "w_hh", sizes, 2);
  }
  const etx_dim sizes[] = {weight.dims[0], units, PANEL_COLUMNS};
  etx_dim columns = 0;
  ETX_TRY(etx_dim_multiply(call, weight.dims[0], PANEL_COLUMNS, &columns));
  ETX_TRY(etx_shape_check_equal(call, "w_hh", width, columns));
  return check_sizes(call, WEIGHT, "w_hh", sizes, 3);
}

// (input [T, B, gates * H] or [B, T, ..], hx [B, H], w_hh [gates * H, H] or
// [gates * H / 16, H, 16], b_hh [gates * H], reverse, batch_first, cx [B, H])
static etx_status sequence(const etx_shape_call* call, int64_t gates) {
  etx_shape input, hidden;
  ETX_TRY(etx_shape_tensor(call, INPUT, &input));
  ETX_TRY(etx_shape_tensor(call, HIDDEN, &hidden));
  ETX_TRY(etx_shape_check_rank(call, "input", &input, 3));
  ETX_TRY(etx_shape_check_rank(call, "hx", &hidden, 2));
  const size_t batch = etx_shape_boolean(call, BATCH_FIRST) ? 0 : 1;
  etx_dim width = 0;
  ETX_TRY(etx_dim_multiply(call, hidden.dims[1], gates, &width));
  ETX_TRY(etx_shape_check_equal(call, "the batch size of 'hx'",
                                input.dims[batch], hidden.dims[0]));
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'input'", width,
                                input.dims[2]));
  ETX_TRY(check_weight(call, width, hidden.dims[1]));
  if (!etx_shape_is_none(call, BIAS)) {
    ETX_TRY(check_sizes(call, BIAS, "b_hh", &width, 1));
  }
  input.dims[2] = hidden.dims[1];
  ETX_TRY(call->output(call->context, 0, &input));
  hidden.dtype = input.dtype;
  return call->output(call->context, 1, &hidden);
}

etx_status etx_shape_gru_sequence(etx_shape_call* call) {
  return sequence(call, 3);
}

etx_status etx_shape_rnn_sequence(etx_shape_call* call) {
  return sequence(call, 1);
}

etx_status etx_shape_lstm_sequence(etx_shape_call* call) {
  etx_shape hidden;
  ETX_TRY(sequence(call, 4));
  ETX_TRY(etx_shape_tensor(call, HIDDEN, &hidden));
  ETX_TRY(check_sizes(call, CELL, "cx", hidden.dims, 2));
  return call->output(call->context, 2, &hidden);
}
