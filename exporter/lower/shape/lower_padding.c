// Numbers around tensors, and what negative ones take away.

#include "exporter/lower/builder/lowering_functions.h"

static uint32_t self_of(const etx_builder* lower) {
  return lower->args[0].as.value;
}

static bool is_complex(const etx_builder* lower, uint32_t value) {
  return etx_dtype_category_of(etx_builder_shape(lower, value)->dtype) ==
         ETX_CATEGORY_COMPLEX;
}

static etx_status pad_real(etx_builder* lower, uint32_t self, etx_ir_arg pads,
                           uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self), pads, etx_ir_double(0.0)};
  return etx_build_op(lower, ETX_OP_constant_pad_nd_out, args, 3, out_value);
}

// Of complex numbers no part gets another one: around the last dimension, which
// they are, is nothing.
etx_status etx_build_pad_zeros(etx_builder* lower, uint32_t self,
                               const etx_ir_arg* pads, uint32_t* out_value) {
  etx_ir_arg wide[2 * ETX_MAX_RANK + 2] = {etx_ir_int(0), etx_ir_int(0)};
  const size_t count = pads->as.list.count;
  if (!is_complex(lower, self)) return pad_real(lower, self, *pads, out_value);
  if (lower->target != ETX_TARGET_ETX) return etx_builder_refuse_target(lower);
  if (count > 2 * ETX_MAX_RANK) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "%z numbers of padding, expected at most %z", count,
                         (size_t)(2 * ETX_MAX_RANK));
  }
  for (size_t i = 0; i < count; ++i) wide[2 + i] = pads->as.list.items[i];
  ETX_TRY(etx_build_unary(lower, ETX_OP_view_as_real_copy_out, self, &self));
  ETX_TRY(pad_real(lower, self, etx_ir_list(wide, count + 2), &self));
  return etx_build_unary(lower, ETX_OP_view_as_complex_copy_out, self,
                         out_value);
}

static bool is_below_zero(const etx_ir_arg* pad) {
  return etx_dim_is_number(pad->as.integer) && pad->as.integer < 0;
}

// Cuts off what padding by negative numbers takes away, which the stock kernel
// refuses; those numbers become 0 in `pads`, the list that is left.
static etx_status crop(etx_builder* lower, etx_ir_arg* pads, uint32_t* value) {
  const size_t pairs = lower->args[1].as.list.count / 2;
  for (size_t i = 0; i < pairs; ++i) {
    const etx_shape shape = *etx_builder_shape(lower, *value);
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
    if (i >= shape.rank) return ETX_OK;  // the shape rule refuses it
    const size_t axis = shape.rank - 1 - i;
    ETX_TRY(etx_builder_slice_range(lower, shape.dims[axis], &start, &end,
                                    &first, &last));
    ETX_TRY(etx_build_slice(lower, *value, axis, first, last, 1, value));
  }
  return ETX_OK;
}

static bool pads_nothing(const etx_ir_arg* pads) {
  for (size_t i = 0; i < pads->as.list.count; ++i) {
    if (pads->as.list.items[i].as.integer != 0) return false;
  }
  return pads->as.list.count % 2 == 0;
}

// The kernels pad real numbers.
static etx_status pad_complex(etx_builder* lower, const etx_ir_arg* value) {
  const bool is_zero =
      value->kind == ETX_IR_ARG_INT
          ? value->as.integer == 0
          : value->kind == ETX_IR_ARG_DOUBLE && value->as.real == 0.0;
  if (!is_zero) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' of complex numbers with anything but 0",
                         lower->node->aten);
  }
  return etx_build_pad_zeros(lower, self_of(lower), &lower->args[1],
                             &lower->results[0]);
}

static etx_status emit_pad(etx_builder* lower, const etx_ir_arg* value) {
  const etx_ir_arg zero = etx_ir_double(0.0);
  etx_ir_arg pads[2 * ETX_MAX_RANK];
  const size_t count = lower->args[1].as.list.count;
  etx_ir_arg args[] = {lower->args[0], lower->args[1],
                       value->kind == ETX_IR_ARG_NONE ? zero : *value};
  if (lower->target == ETX_TARGET_EXECUTORCH && count % 2 == 0 &&
      count <= 2 * ETX_MAX_RANK) {
    uint32_t self = self_of(lower);
    for (size_t i = 0; i < count; ++i) pads[i] = args[1].as.list.items[i];
    ETX_TRY(crop(lower, pads, &self));
    args[0] = etx_ir_value_arg(self);
    args[1] = etx_ir_list(pads, count);
  }
  if (pads_nothing(&args[1])) {
    lower->results[0] = args[0].as.value;
    return ETX_OK;
  }
  if (is_complex(lower, self_of(lower))) {
    return pad_complex(lower, &args[2]);
  }
  return etx_build_op(lower, ETX_OP_constant_pad_nd_out, args, 3,
                      &lower->results[0]);
}

etx_status etx_lowering_constant_pad(etx_builder* lower) {
  return emit_pad(lower, &lower->args[2]);
}
