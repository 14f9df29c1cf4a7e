// Convolutions in 1-D, 2-D and 3-D, plain and transposed, are one operator.
// ExecuTorch's portable kernel has only 1-D and 2-D: for that target, a 3-D
// convolution is a sum of 2-D convolutions, one for each tap along the depth.

#include "exporter/lower/builder/lowering_functions.h"

typedef struct convolution_args {
  uint32_t input;
  etx_ir_arg weight, bias, stride, padding, dilation, output_padding, groups;
  bool transposed;
} convolution_args;

// A list of `count` numbers; a list with a single entry is repeated.
static etx_status expand_list(etx_builder* builder, const etx_ir_arg* list,
                              size_t count, etx_ir_arg* out) {
  etx_dim dims[ETX_MAX_RANK];
  const size_t given = list->as.list.count;
  if (given != count && given != 1) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "a list argument of '%t' has %z entries, expected %z",
                         builder->node->aten, given, count);
  }
  for (size_t i = 0; i < count; ++i) {
    dims[i] = list->as.list.items[given == 1 ? 0 : i].as.integer;
  }
  return etx_build_int_list(builder, dims, count, out);
}

static etx_status emit_convolution(etx_builder* builder,
                                   const convolution_args* c, size_t spatial,
                                   uint32_t* out_value) {
  etx_ir_arg args[] = {etx_ir_value_arg(c->input),
                       c->weight,
                       c->bias,
                       c->stride,
                       c->padding,
                       c->dilation,
                       etx_ir_bool(c->transposed),
                       c->output_padding,
                       c->groups};
  ETX_TRY(expand_list(builder, &c->stride, spatial, &args[3]));
  ETX_TRY(expand_list(builder, &c->padding, spatial, &args[4]));
  ETX_TRY(expand_list(builder, &c->dilation, spatial, &args[5]));
  ETX_TRY(expand_list(builder, &c->output_padding, spatial, &args[7]));
  return etx_build_op(builder, ETX_OP_convolution_out, args, 9, out_value);
}

// ------------------------------------------------ three dimensions

// [images, channels, depth, ..] as [images * depth, channels, ..].
static etx_status fold_depth(etx_builder* builder, uint32_t self,
                             uint32_t* out) {
  const etx_shape s = *etx_builder_shape(builder, self);
  const size_t order[] = {0, 2, 1, 3, 4};
  etx_dim dims[] = {0, s.dims[1], s.dims[3], s.dims[4]};
  const etx_dim images[] = {s.dims[0], s.dims[2]};
  uint32_t value = 0;
  ETX_TRY(etx_builder_product(builder, images, 0, 2, &dims[0]));
  ETX_TRY(etx_build_permute(builder, self, order, &value));
  return etx_build_view(builder, value, dims, 4, out);
}

static etx_status unfold_depth(etx_builder* builder, uint32_t self,
                               etx_dim images, etx_dim depth, uint32_t* out) {
  const etx_shape s = *etx_builder_shape(builder, self);
  const size_t order[] = {0, 2, 1, 3, 4};
  const etx_dim dims[] = {images, depth, s.dims[1], s.dims[2], s.dims[3]};
  uint32_t value = 0;
  ETX_TRY(etx_build_view(builder, self, dims, 5, &value));
  return etx_build_permute(builder, value, order, out);
}

static etx_status pad_depth(etx_builder* builder, etx_dim padding,
                            uint32_t* self) {
  if (padding == 0) return ETX_OK;
  const etx_dim pads[] = {0, 0, 0, 0, padding, padding};
  etx_ir_arg args[] = {etx_ir_value_arg(*self), etx_ir_none(),
                       etx_ir_double(0.0)};
  ETX_TRY(etx_build_int_list(builder, pads, 6, &args[1]));
  return etx_build_op(builder, ETX_OP_constant_pad_nd_out, args, 3, self);
}

// The kernel along the depth.
typedef struct depth_window {
  etx_dim taps, stride, padding, dilation;
  etx_dim count;  // output depth
} depth_window;

static etx_status read_depth(etx_builder* builder, const convolution_args* c,
                             depth_window* out) {
  const etx_shape in = *etx_builder_shape(builder, c->input);
  etx_ir_arg list;
  out->taps = etx_builder_shape(builder, c->weight.as.value)->dims[2];
  ETX_TRY(expand_list(builder, &c->stride, 3, &list));
  out->stride = list.as.list.items[0].as.integer;
  ETX_TRY(expand_list(builder, &c->padding, 3, &list));
  out->padding = list.as.list.items[0].as.integer;
  ETX_TRY(expand_list(builder, &c->dilation, 3, &list));
  out->dilation = list.as.list.items[0].as.integer;
  const etx_dim most = 1 << 16;
  const bool are_known = in.dims[2] > 0 && in.dims[2] <= most * most &&
                         out->taps > 0 && out->taps <= most &&
                         out->stride > 0 && out->stride <= most &&
                         out->padding >= 0 && out->padding <= most &&
                         out->dilation > 0 && out->dilation <= most;
  const etx_dim span = !are_known ? -1
                                  : in.dims[2] + 2 * out->padding - 1 -
                                        out->dilation * (out->taps - 1);
  if (span < 0) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' in 3-D for target 'executorch' needs a fixed "
                         "depth that the kernel fits into",
                         builder->node->aten);
  }
  out->count = span / out->stride + 1;
  return ETX_OK;
}

// Rows and columns of a list over three dimensions.
static etx_status plane_list(etx_builder* builder, etx_ir_arg* list) {
  ETX_TRY(expand_list(builder, list, 3, list));
  const etx_dim both[] = {list->as.list.items[1].as.integer,
                          list->as.list.items[2].as.integer};
  return etx_build_int_list(builder, both, 2, list);
}

// The 2-D convolution of one tap along the depth, over the planes of all
// images.
static etx_status depth_tap(etx_builder* builder, const convolution_args* c,
                            const depth_window* w, etx_dim tap,
                            uint32_t* out_value) {
  convolution_args plane = *c;
  const etx_dim start = tap * w->dilation;
  const etx_dim end = start + (w->count - 1) * w->stride + 1;
  ETX_TRY(etx_build_slice(builder, c->input,
                          (etx_dim_slice){2, start, end, w->stride},
                          &plane.input));
  ETX_TRY(fold_depth(builder, plane.input, &plane.input));
  const etx_shape full = *etx_builder_shape(builder, c->weight.as.value);
  const etx_dim dims[] = {full.dims[0], full.dims[1], full.dims[3],
                          full.dims[4]};
  uint32_t weight = 0;
  ETX_TRY(etx_build_slice(builder, c->weight.as.value,
                          (etx_dim_slice){2, tap, tap + 1, 1}, &weight));
  ETX_TRY(etx_build_view(builder, weight, dims, 4, &weight));
  plane.weight = etx_ir_value_arg(weight);
  if (tap > 0) plane.bias = etx_ir_none();
  ETX_TRY(plane_list(builder, &plane.stride));
  ETX_TRY(plane_list(builder, &plane.padding));
  ETX_TRY(plane_list(builder, &plane.dilation));
  ETX_TRY(plane_list(builder, &plane.output_padding));
  return emit_convolution(builder, &plane, 2, out_value);
}

static etx_status convolve_depth(etx_builder* builder, convolution_args* c,
                                 uint32_t* out_value) {
  if (c->transposed) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' in 3-D and transposed is not supported for target 'executorch'",
        builder->node->aten);
  }
  depth_window w;
  ETX_TRY(read_depth(builder, c, &w));
  const etx_dim images = etx_builder_shape(builder, c->input)->dims[0];
  ETX_TRY(pad_depth(builder, w.padding, &c->input));
  uint32_t sum = 0;
  ETX_TRY(depth_tap(builder, c, &w, 0, &sum));
  for (etx_dim tap = 1; tap < w.taps; ++tap) {
    uint32_t part = 0;
    ETX_TRY(depth_tap(builder, c, &w, tap, &part));
    ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, sum, part, &sum));
  }
  return unfold_depth(builder, sum, images, w.count, out_value);
}

// ------------------------------------------------ all

static etx_status check_weight_rank(etx_builder* builder, uint32_t weight) {
  const size_t rank = etx_builder_shape(builder, weight)->rank;
  if (rank >= 3) return ETX_OK;
  return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                       "'%t' expects a weight of rank 3 or more, found rank %z",
                       builder->node->aten, rank);
}

// PyTorch refuses a transposed convolution of no elements, whose result would
// have some.
static etx_status check_sizes(etx_builder* builder, const convolution_args* c) {
  const etx_shape shape = *etx_builder_shape(builder, c->input);
  for (size_t i = 2; c->transposed && i < shape.rank; ++i) {
    ETX_TRY(etx_build_at_least(
        builder, shape.dims[i], 1,
        "the sizes of a transposed convolution are above 0"));
  }
  return ETX_OK;
}

// Appends a convolution. An unbatched input gets a batch dimension of size 1.
static etx_status convolve(etx_builder* builder, convolution_args* c) {
  const size_t rank = etx_builder_shape(builder, c->weight.as.value)->rank;
  const bool batched = etx_builder_shape(builder, c->input)->rank == rank;
  ETX_TRY(check_weight_rank(builder, c->weight.as.value));
  if (!batched) ETX_TRY(etx_build_unsqueeze(builder, c->input, 0, &c->input));
  ETX_TRY(check_sizes(builder, c));
  uint32_t value = 0;
  if (rank == 5 && builder->target == ETX_TARGET_EXECUTORCH) {
    ETX_TRY(convolve_depth(builder, c, &value));
  } else {
    ETX_TRY(emit_convolution(builder, c, rank - 2, &value));
  }
  if (!batched) {
    const etx_shape shape = *etx_builder_shape(builder, value);
    ETX_TRY(etx_build_view(builder, value, shape.dims + 1, shape.rank - 1u,
                           &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

static etx_status zero_list(etx_builder* builder, etx_ir_arg* out) {
  const etx_dim zero[] = {0};
  return etx_build_int_list(builder, zero, 1, out);
}

// conv1d, conv2d, conv3d: (input, weight, bias, stride, padding, dilation,
// groups)
etx_status etx_lowering_convolution(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  convolution_args c = {args[0].as.value, args[1], args[2], args[3], args[4],
                        args[5],          args[6], args[6], false};
  ETX_TRY(zero_list(builder, &c.output_padding));
  return convolve(builder, &c);
}

// conv_transpose1d, 2d and 3d: (input, weight, bias, stride, padding,
// output_padding, groups, dilation)
etx_status etx_lowering_convolution_transposed(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  convolution_args c = {args[0].as.value, args[1], args[2], args[3], args[4],
                        args[7],          args[5], args[6], true};
  return convolve(builder, &c);
}

// convolution: (input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups)
etx_status etx_lowering_core_convolution(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  convolution_args c = {args[0].as.value, args[1], args[2],
                        args[3],          args[4], args[5],
                        args[7],          args[8], args[6].as.boolean};
  return convolve(builder, &c);
}

// padding='same': keeps the sizes; an odd padding has one more at the end.
static etx_status same_padding(etx_builder* builder, convolution_args* c) {
  const etx_shape weight = *etx_builder_shape(builder, c->weight.as.value);
  ETX_TRY(check_weight_rank(builder, c->weight.as.value));
  const size_t spatial = weight.rank - 2u;
  etx_dim pads[2 * ETX_MAX_RANK];
  etx_ir_arg dilation;
  ETX_TRY(expand_list(builder, &c->dilation, spatial, &dilation));
  for (size_t i = 0; i < spatial; ++i) {
    const etx_dim step = dilation.as.list.items[i].as.integer;
    const etx_dim kernel = weight.dims[2 + i];
    if (!etx_dim_is_number(kernel) || step < 1 || step > INT16_MAX ||
        kernel < 1 || kernel > INT32_MAX) {
      return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                           "'%t' with padding 'same' needs a fixed kernel size "
                           "and a dilation of 1 or more",
                           builder->node->aten);
    }
    const etx_dim total = step * (kernel - 1);
    const size_t at = 2 * (spatial - 1 - i);  // innermost dimension first
    pads[at] = total / 2;
    pads[at + 1] = total - total / 2;
  }
  etx_ir_arg args[] = {etx_ir_value_arg(c->input), etx_ir_none(),
                       etx_ir_double(0.0)};
  ETX_TRY(etx_build_int_list(builder, pads, 2 * spatial, &args[1]));
  return etx_build_op(builder, ETX_OP_constant_pad_nd_out, args, 3, &c->input);
}

// conv1d.padding, conv2d.padding, conv3d.padding: padding is 'valid' or 'same'.
etx_status etx_lowering_convolution_padding(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  convolution_args c = {args[0].as.value, args[1], args[2], args[3], args[4],
                        args[5],          args[6], args[6], false};
  ETX_TRY(zero_list(builder, &c.output_padding));
  ETX_TRY(zero_list(builder, &c.padding));
  if (etx_text_is(args[4].as.string, "same"))
    ETX_TRY(same_padding(builder, &c));
  return convolve(builder, &c);
}
