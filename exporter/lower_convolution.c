// Convolutions of one to three dimensions, plain and transposed, are all one
// operator of the stock library; and pooling by means.

#include "exporter/lower_internal.h"

typedef struct convolution {
  uint32_t input;
  etx_ir_arg weight, bias, stride, padding, dilation, output_padding, groups;
  bool transposed;
} convolution;

// A list of `count` numbers from one that may have a single entry.
static etx_status spread(etx_lower* lower, const etx_ir_arg* list, size_t count,
                         etx_ir_arg* out) {
  etx_dim dims[ETX_MAX_RANK];
  const size_t given = list->as.list.count;
  if (given != count && given != 1) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "a list of '%t' has %z entries, expected %z",
                         lower->node->aten, given, count);
  }
  for (size_t i = 0; i < count; ++i) {
    dims[i] = list->as.list.items[given == 1 ? 0 : i].as.integer;
  }
  return etx_lower_ints(lower, dims, count, out);
}

static etx_status emit_convolution(etx_lower* lower, const convolution* c,
                                   size_t spatial, uint32_t* out_value) {
  etx_ir_arg args[] = {etx_ir_value_arg(c->input),
                       c->weight,
                       c->bias,
                       c->stride,
                       c->padding,
                       c->dilation,
                       etx_ir_bool(c->transposed),
                       c->output_padding,
                       c->groups};
  ETX_TRY(spread(lower, &c->stride, spatial, &args[3]));
  ETX_TRY(spread(lower, &c->padding, spatial, &args[4]));
  ETX_TRY(spread(lower, &c->dilation, spatial, &args[5]));
  ETX_TRY(spread(lower, &c->output_padding, spatial, &args[7]));
  return etx_lower_emit(lower, ETX_OP_convolution_out, args, 9, out_value);
}

static etx_status want_spatial(etx_lower* lower, uint32_t weight) {
  const size_t rank = etx_lower_shape(lower, weight)->rank;
  if (rank >= 3) return ETX_OK;
  return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                       "'%t' wants a weight of rank 3 or more, found %z",
                       lower->node->aten, rank);
}

// Runs a convolution, giving an input without batch one of size 1.
static etx_status convolve(etx_lower* lower, convolution* c) {
  const size_t rank = etx_lower_shape(lower, c->weight.as.value)->rank;
  const bool batched = etx_lower_shape(lower, c->input)->rank == rank;
  ETX_TRY(want_spatial(lower, c->weight.as.value));
  if (!batched) ETX_TRY(etx_lower_unsqueeze(lower, c->input, 0, &c->input));
  uint32_t value = 0;
  ETX_TRY(emit_convolution(lower, c, rank - 2, &value));
  if (!batched) {
    const etx_shape shape = *etx_lower_shape(lower, value);
    ETX_TRY(
        etx_lower_view(lower, value, shape.dims + 1, shape.rank - 1u, &value));
  }
  lower->results[0] = value;
  return ETX_OK;
}

static etx_status zero_list(etx_lower* lower, etx_ir_arg* out) {
  const etx_dim zero[] = {0};
  return etx_lower_ints(lower, zero, 1, out);
}

// conv1d, conv2d, conv3d: (input, weight, bias, stride, padding, dilation,
// groups)
etx_status etx_lowering_convolution(etx_lower* lower) {
  const etx_ir_arg* const args = lower->args;
  convolution c = {args[0].as.value, args[1], args[2], args[3], args[4],
                   args[5],          args[6], args[6], false};
  ETX_TRY(zero_list(lower, &c.output_padding));
  return convolve(lower, &c);
}

// conv_transpose1d and 2d: (input, weight, bias, stride, padding,
// output_padding, groups, dilation)
etx_status etx_lowering_convolution_transposed(etx_lower* lower) {
  const etx_ir_arg* const args = lower->args;
  convolution c = {args[0].as.value, args[1], args[2], args[3], args[4],
                   args[7],          args[5], args[6], true};
  return convolve(lower, &c);
}

// convolution: (input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups)
etx_status etx_lowering_core_convolution(etx_lower* lower) {
  const etx_ir_arg* const args = lower->args;
  convolution c = {args[0].as.value, args[1], args[2],
                   args[3],          args[4], args[5],
                   args[7],          args[8], args[6].as.boolean};
  return convolve(lower, &c);
}

// Padding that keeps sizes, larger at the end where it is odd.
static etx_status same_padding(etx_lower* lower, convolution* c) {
  const etx_shape weight = *etx_lower_shape(lower, c->weight.as.value);
  ETX_TRY(want_spatial(lower, c->weight.as.value));
  const size_t spatial = weight.rank - 2u;
  etx_dim pads[2 * ETX_MAX_RANK];
  etx_ir_arg dilation;
  ETX_TRY(spread(lower, &c->dilation, spatial, &dilation));
  for (size_t i = 0; i < spatial; ++i) {
    const etx_dim spread_by = dilation.as.list.items[i].as.integer;
    const etx_dim kernel = weight.dims[2 + i];
    if (!etx_dim_is_number(kernel) || spread_by < 1 || spread_by > INT16_MAX ||
        kernel < 1 || kernel > INT32_MAX) {
      return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                           "'%t' with such a window", lower->node->aten);
    }
    const etx_dim total = spread_by * (kernel - 1);
    const size_t at = 2 * (spatial - 1 - i);  // innermost dimension first
    pads[at] = total / 2;
    pads[at + 1] = total - total / 2;
  }
  etx_ir_arg args[] = {etx_ir_value_arg(c->input), etx_ir_none(),
                       etx_ir_double(0.0)};
  ETX_TRY(etx_lower_ints(lower, pads, 2 * spatial, &args[1]));
  return etx_lower_emit(lower, ETX_OP_constant_pad_nd_out, args, 3, &c->input);
}

// conv1d.padding and conv2d.padding: padding is 'valid' or 'same'.
etx_status etx_lowering_convolution_named(etx_lower* lower) {
  const etx_ir_arg* const args = lower->args;
  convolution c = {args[0].as.value, args[1], args[2], args[3], args[4],
                   args[5],          args[6], args[6], false};
  ETX_TRY(zero_list(lower, &c.output_padding));
  ETX_TRY(zero_list(lower, &c.padding));
  if (etx_text_is(args[4].as.string, "same")) ETX_TRY(same_padding(lower, &c));
  return convolve(lower, &c);
}

// adaptive_avg_pool(self, output_size) to one element a channel is a mean.
etx_status etx_lowering_global_mean(etx_lower* lower) {
  const etx_ir_arg* const sizes = &lower->args[1];
  const size_t count = sizes->as.list.count;
  etx_dim dims[ETX_MAX_RANK];
  if (count > etx_lower_shape(lower, lower->args[0].as.value)->rank) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' over %z dimensions, which the tensor lacks",
                         lower->node->aten, count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (sizes->as.list.items[i].as.integer != 1) {
      return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                           "'%t' to a size other than 1", lower->node->aten);
    }
    dims[i] = -(etx_dim)(i + 1);
  }
  return etx_lower_reduce(lower, ETX_OP_mean_out, lower->args[0].as.value, dims,
                          count, true, &lower->results[0]);
}
