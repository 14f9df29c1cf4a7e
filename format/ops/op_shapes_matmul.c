// Rules of matrix products and convolution.

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

typedef struct window {
  etx_dim kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;
  int64_t output_padding;  // of a transposed convolution
} window;

// A list of one number serves all dimensions.
static etx_status window_number(const etx_shape_call* call, size_t argument,
                                size_t spatial, size_t item, int64_t least,
                                int64_t* out) {
  const size_t count = call->list_count(call->context, argument);
  if (count != 1 && count != spatial) {
    return etx_shape_refuse(call, "a list has %i numbers, expected %i",
                            (int64_t)count, (int64_t)spatial);
  }
  ETX_TRY(etx_shape_number(call, argument, count == 1 ? 0 : item, out));
  if (*out >= least && *out <= INT32_MAX) return ETX_OK;
  return etx_shape_refuse(call,
                          "stride, padding or dilation is %i, expected "
                          "%i to %i",
                          *out, least, (int64_t)INT32_MAX);
}

// (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1
static etx_status forward_size(const etx_shape_call* call, const window* w,
                               etx_dim in, etx_dim* out) {
  etx_dim reach, span;
  ETX_TRY(etx_dim_subtract(call, w->kernel, 1, &reach));
  ETX_TRY(etx_dim_multiply(call, reach, w->dilation, &reach));
  ETX_TRY(etx_dim_add(call, in, 2 * w->padding - 1, &span));
  ETX_TRY(etx_dim_subtract(call, span, reach, &span));
  int64_t low, high;
  etx_dim_bounds(call, span, &low, &high);
  if (high < 0) {
    return etx_shape_refuse(call,
                            "the window is larger than the padded size "
                            "%i",
                            etx_shape_shown(call, in) + 2 * w->padding);
  }
  ETX_TRY(etx_dim_floor_divide(call, span, w->stride, &span));
  return etx_dim_add(call, span, 1, out);
}

// (in - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
static etx_status transposed_size(const etx_shape_call* call, const window* w,
                                  etx_dim in, etx_dim* out) {
  etx_dim size, reach;
  ETX_TRY(etx_dim_subtract(call, in, 1, &size));
  ETX_TRY(etx_dim_multiply(call, size, w->stride, &size));
  ETX_TRY(etx_dim_subtract(call, w->kernel, 1, &reach));
  ETX_TRY(etx_dim_multiply(call, reach, w->dilation, &reach));
  ETX_TRY(etx_dim_add(call, size, reach, &size));
  const int64_t constant = w->output_padding + 1 - 2 * w->padding;
  ETX_TRY(etx_dim_add(call, size, constant, out));
  if (!etx_shape_is_number(call, *out) || *out >= 0) return ETX_OK;
  return etx_shape_refuse(call, "the result's size is %i", *out);
}

// Channels of a convolution: in and out, checked against the groups.
static etx_status channels(const etx_shape_call* call, const etx_shape* input,
                           const etx_shape* weight, bool transposed,
                           etx_dim* out) {
  int64_t groups;
  ETX_TRY(etx_shape_number(call, 8, 0, &groups));
  if (groups <= 0) {
    return etx_shape_refuse(call, "there are %i groups, expected at least 1",
                            groups);
  }
  etx_dim wanted;
  ETX_TRY(etx_dim_multiply(call, weight->dims[transposed ? 0 : 1],
                           transposed ? 1 : groups, &wanted));
  ETX_TRY(etx_shape_want_equal(call, "the count of input channels", wanted,
                               input->dims[1]));
  ETX_TRY(etx_dim_multiply(call, weight->dims[transposed ? 1 : 0],
                           transposed ? groups : 1, out));
  const etx_dim divided = weight->dims[0];
  if (etx_shape_is_number(call, divided) && divided % groups != 0) {
    return etx_shape_refuse(call, "%i channels do not divide into %i groups",
                            divided, groups);
  }
  return ETX_OK;
}

// (input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups)
etx_status etx_shape_convolution(etx_shape_call* call) {
  etx_shape input, weight, bias;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_tensor(call, 1, &weight));
  if (input.rank < 3 || input.rank > 5) {
    return etx_shape_refuse(call, "rank of 'input' is %i, expected 3 to 5",
                            (int64_t)input.rank);
  }
  ETX_TRY(etx_shape_want_rank(call, "weight", &weight, input.rank));
  const bool transposed = etx_shape_boolean(call, 6);
  etx_shape out = input;
  ETX_TRY(channels(call, &input, &weight, transposed, &out.dims[1]));
  if (!etx_shape_is_none(call, 2)) {
    ETX_TRY(etx_shape_tensor(call, 2, &bias));
    ETX_TRY(etx_shape_want_rank(call, "bias", &bias, 1));
    ETX_TRY(etx_shape_want_equal(call, "the size of 'bias'", out.dims[1],
                                 bias.dims[0]));
  }
  const size_t spatial = (size_t)input.rank - 2;
  for (size_t i = 0; i < spatial; ++i) {
    window w = {.kernel = weight.dims[2 + i]};
    ETX_TRY(window_number(call, 3, spatial, i, 1, &w.stride));
    ETX_TRY(window_number(call, 4, spatial, i, 0, &w.padding));
    ETX_TRY(window_number(call, 5, spatial, i, 1, &w.dilation));
    if (!transposed) {
      ETX_TRY(forward_size(call, &w, input.dims[2 + i], &out.dims[2 + i]));
      continue;
    }
    ETX_TRY(window_number(call, 7, spatial, i, 0, &w.output_padding));
    if (w.output_padding >= w.stride && w.output_padding >= w.dilation) {
      return etx_shape_refuse(call,
                              "the output padding is %i, expected less than "
                              "the stride %i or the dilation %i",
                              w.output_padding, w.stride, w.dilation);
    }
    ETX_TRY(transposed_size(call, &w, input.dims[2 + i], &out.dims[2 + i]));
  }
  return put(call, &out);
}
