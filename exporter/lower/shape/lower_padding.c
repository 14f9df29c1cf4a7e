// constant_pad_nd, also of complex tensors, and with negative padding, which
// crops.

#include "exporter/lower/builder/lowering_functions.h"

static uint32_t self_of(const etx_builder* builder) {
  return builder->args[0].as.value;
}

static bool is_complex(const etx_builder* builder, uint32_t value) {
  return etx_dtype_category_of(etx_builder_shape(builder, value)->dtype) ==
         ETX_CATEGORY_COMPLEX;
}

static etx_status pad_real(etx_builder* builder, uint32_t self, etx_ir_arg pads,
                           uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self), pads, etx_ir_double(0.0)};
  return etx_build_op(builder, ETX_OP_constant_pad_nd_out, args, 3, out_value);
}

// Complex tensors are padded as real ones with a last dimension of two, which
// gets no padding.
etx_status etx_build_pad_zeros(etx_builder* builder, uint32_t self,
                               const etx_ir_arg* pads, uint32_t* out_value) {
  etx_ir_arg wide[2 * ETX_MAX_RANK + 2] = {etx_ir_int(0), etx_ir_int(0)};
  const size_t count = pads->as.list.count;
  if (!is_complex(builder, self))
    return pad_real(builder, self, *pads, out_value);
  if (builder->target != ETX_TARGET_ETX)
    return etx_builder_refuse_target(builder);
  if (count > 2 * ETX_MAX_RANK) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'pad' has %z entries, expected at most %z", count,
                         (size_t)(2 * ETX_MAX_RANK));
  }
  for (size_t i = 0; i < count; ++i) wide[2 + i] = pads->as.list.items[i];
  ETX_TRY(etx_build_unary(builder, ETX_OP_view_as_real_copy_out, self, &self));
  ETX_TRY(pad_real(builder, self, etx_ir_list(wide, count + 2), &self));
  return etx_build_unary(builder, ETX_OP_view_as_complex_copy_out, self,
                         out_value);
}

static bool is_below_zero(const etx_ir_arg* pad) {
  return etx_dim_is_number(pad->as.integer) && pad->as.integer < 0;
}

// Slices off what negative padding removes, because the portable kernel refuses
// it, and sets those entries of `pads` to 0.
static etx_status crop(etx_builder* builder, etx_ir_arg* pads,
                       uint32_t* value) {
  const size_t pairs = builder->args[1].as.list.count / 2;
  for (size_t i = 0; i < pairs; ++i) {
    const etx_shape shape = *etx_builder_shape(builder, *value);
    const etx_ir_arg none = etx_ir_none();
    etx_ir_arg start = none;
    etx_ir_arg end = none;
    etx_dim first = 0;
    etx_dim last = 0;
    if (is_below_zero(&pads[2 * i])) {
      start = etx_ir_int(-pads[2 * i].as.integer);
      pads[2 * i] = etx_ir_int(0);
    }
    if (is_below_zero(&pads[2 * i + 1])) {
      end = pads[2 * i + 1];
      pads[2 * i + 1] = etx_ir_int(0);
    }
    if (i >= shape.rank) return ETX_OK;  // shape inference refuses it
    const size_t axis = shape.rank - 1 - i;
    ETX_TRY(etx_builder_slice_range(builder, shape.dims[axis], &start, &end,
                                    &first, &last));
    ETX_TRY(etx_build_slice(builder, *value,
                            (etx_dim_slice){axis, first, last, 1}, value));
  }
  return ETX_OK;
}

static bool pads_nothing(const etx_ir_arg* pads) {
  for (size_t i = 0; i < pads->as.list.count; ++i) {
    if (pads->as.list.items[i].as.integer != 0) return false;
  }
  return pads->as.list.count % 2 == 0;
}

// The kernels pad only real tensors.
static etx_status pad_complex(etx_builder* builder, const etx_ir_arg* value) {
  const bool is_zero =
      value->kind == ETX_IR_ARG_INT
          ? value->as.integer == 0
          : value->kind == ETX_IR_ARG_DOUBLE && value->as.real == 0.0;
  if (!is_zero) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' of complex tensors is supported only with the value 0",
        builder->node->aten);
  }
  return etx_build_pad_zeros(builder, self_of(builder), &builder->args[1],
                             &builder->results[0]);
}

static etx_status emit_pad(etx_builder* builder, const etx_ir_arg* value) {
  const etx_ir_arg zero = etx_ir_double(0.0);
  etx_ir_arg pads[2 * ETX_MAX_RANK];
  const size_t count = builder->args[1].as.list.count;
  etx_ir_arg args[] = {builder->args[0], builder->args[1],
                       value->kind == ETX_IR_ARG_NONE ? zero : *value};
  if (builder->target == ETX_TARGET_EXECUTORCH && count % 2 == 0 &&
      count <= 2 * ETX_MAX_RANK) {
    uint32_t self = self_of(builder);
    for (size_t i = 0; i < count; ++i) pads[i] = args[1].as.list.items[i];
    ETX_TRY(crop(builder, pads, &self));
    args[0] = etx_ir_value_arg(self);
    args[1] = etx_ir_list(pads, count);
  }
  if (pads_nothing(&args[1])) {
    builder->results[0] = args[0].as.value;
    return ETX_OK;
  }
  if (is_complex(builder, self_of(builder))) {
    return pad_complex(builder, &args[2]);
  }
  return etx_build_op(builder, ETX_OP_constant_pad_nd_out, args, 3,
                      &builder->results[0]);
}

etx_status etx_lowering_constant_pad(etx_builder* builder) {
  return emit_pad(builder, &builder->args[2]);
}
