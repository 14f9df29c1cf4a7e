// For target executorch: replaces operators whose kernels in ExecuTorch's
// portable library give other results than PyTorch by operators that agree.
//
//   operator                  the portable kernel      replacement
//   remainder of integers     has the sign of C's %    a - floor(a / b) * b
//   remainder of float64      computes in float32      fmod, sign corrected
//   fmod, div trunc of int64  computes in double       floor division,
//   corrected a ** 5 of integers        computes in double and multiplications
//                             does not wrap
//   add(a, b, alpha)          multiplies the wrong     a + b * alpha
//                             operand if one has one
//                             element
//   sum over one dimension    accumulates in float32   sum over two dimensions,
//   (not float32 or halves)                            one of them of size 1
//
// Integer floor division is exact there and integer multiplication wraps.
// Operators that ExecuTorch rejects are not handled here, nor differences in
// the rounding of halves and in the sign of zero.

#include "exporter/rewrite/ir_rewrite.h"

// ------------------------------------------------ quotients

// Integers with a = floor * b + rest, where rest has the sign of b.
typedef struct division {
  uint32_t a;
  uint32_t b;
  uint32_t floor;
  uint32_t rest;
} division;

static etx_dtype type_of_self(const etx_rewrite* rewrite) {
  return etx_builder_shape(&rewrite->builder,
                           rewrite->builder.node->args[0].as.value)
      ->dtype;
}

static bool is_integer(etx_dtype dtype) {
  return etx_dtype_category_of(dtype) == ETX_CATEGORY_INTEGER;
}

static bool is_node(const etx_rewrite* rewrite, etx_op_id a, etx_op_id b) {
  const etx_op_id id = rewrite->builder.node->op->id;
  return id == a || id == b;
}

// The operands as tensors of one type; the second argument may be a number.
static etx_status read_operands(etx_rewrite* rewrite, uint32_t* out_a,
                                uint32_t* out_b) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_ir_arg second = node->args[1];
  *out_a = node->args[0].as.value;
  return etx_build_operand(&rewrite->builder, &second, type_of_self(rewrite),
                           out_b);
}

static etx_status emit_floor_division(etx_rewrite* rewrite, division* d) {
  etx_builder* const builder = &rewrite->builder;
  ETX_TRY(read_operands(rewrite, &d->a, &d->b));
  etx_ir_arg args[] = {
      etx_ir_value_arg(d->a), etx_ir_value_arg(d->b), {ETX_IR_ARG_STRING, {0}}};
  args[2].as.string = etx_text_of("floor");
  uint32_t product = 0;
  ETX_TRY(etx_build_op(builder, ETX_OP_div_mode_out, args, 3, &d->floor));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, d->floor, d->b, &product));
  return etx_build_binary(builder, ETX_OP_sub_out, d->a, product, &d->rest);
}

// Emits a bool tensor, true where the quotient is negative and not an integer:
// there floor and truncation differ by one.
static etx_status emit_floor_differs(etx_rewrite* rewrite, const division* d,
                                     uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  uint32_t is_part = 0;
  uint32_t is_negative = 0;
  const etx_ir_arg rest[] = {etx_ir_value_arg(d->rest), etx_ir_int(0)};
  ETX_TRY(etx_build_op(builder, ETX_OP_ne_scalar_out, rest, 2, &is_part));
  ETX_TRY(etx_build_binary(builder, ETX_OP_bitwise_xor_tensor_out, d->a, d->b,
                           &is_negative));
  const etx_ir_arg signs[] = {etx_ir_value_arg(is_negative), etx_ir_int(0)};
  ETX_TRY(etx_build_op(builder, ETX_OP_lt_scalar_out, signs, 2, &is_negative));
  return etx_build_binary(builder, ETX_OP_logical_and_out, is_part, is_negative,
                          out_value);
}

static etx_status legalize_int_remainder(etx_rewrite* rewrite, bool* out_done) {
  division d;
  if (!is_node(rewrite, ETX_OP_remainder_tensor_out,
               ETX_OP_remainder_scalar_out) ||
      !is_integer(type_of_self(rewrite))) {
    return ETX_OK;
  }
  ETX_TRY(emit_floor_division(rewrite, &d));
  rewrite->builder.results[0] = d.rest;
  *out_done = true;
  return ETX_OK;
}

// fmod has the sign of a; where b has the other sign, b is added.
static etx_status legalize_double_remainder(etx_rewrite* rewrite,
                                            bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  if (!is_node(rewrite, ETX_OP_remainder_tensor_out,
               ETX_OP_remainder_scalar_out) ||
      type_of_self(rewrite) != ETX_DTYPE_FLOAT64) {
    return ETX_OK;
  }
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t rest = 0;
  uint32_t other = 0;
  uint32_t test = 0;
  uint32_t sign = 0;
  ETX_TRY(read_operands(rewrite, &a, &b));
  ETX_TRY(etx_build_binary(builder, ETX_OP_fmod_tensor_out, a, b, &rest));
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, rest, b, &other));
  ETX_TRY(
      etx_build_binary_number(builder, ETX_OP_lt_scalar_out, rest, 0, &test));
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_lt_scalar_out, b, 0, &sign));
  ETX_TRY(etx_build_binary(builder, ETX_OP_logical_xor_out, test, sign, &test));
  ETX_TRY(
      etx_build_binary_number(builder, ETX_OP_ne_scalar_out, rest, 0, &sign));
  ETX_TRY(etx_build_binary(builder, ETX_OP_logical_and_out, test, sign, &test));
  *out_done = true;
  return etx_build_where(builder, test, other, rest, &builder->results[0]);
}

static etx_status legalize_fmod(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  division d;
  uint32_t differs = 0;
  uint32_t other = 0;
  if (!is_node(rewrite, ETX_OP_fmod_tensor_out, ETX_OP_fmod_scalar_out) ||
      type_of_self(rewrite) != ETX_DTYPE_INT64) {
    return ETX_OK;
  }
  ETX_TRY(emit_floor_division(rewrite, &d));
  ETX_TRY(emit_floor_differs(rewrite, &d, &differs));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, d.rest, d.b, &other));
  *out_done = true;
  return etx_build_where(builder, differs, other, d.rest, &builder->results[0]);
}

static etx_status legalize_trunc_division(etx_rewrite* rewrite,
                                          bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  division d;
  uint32_t differs = 0;
  if (node->op->id != ETX_OP_div_mode_out ||
      type_of_self(rewrite) != ETX_DTYPE_INT64 ||
      node->args[2].kind != ETX_IR_ARG_STRING ||
      !etx_text_is(node->args[2].as.string, "trunc")) {
    return ETX_OK;
  }
  ETX_TRY(emit_floor_division(rewrite, &d));
  ETX_TRY(emit_floor_differs(rewrite, &d, &differs));
  ETX_TRY(etx_build_cast(builder, differs, ETX_DTYPE_INT64, &differs));
  *out_done = true;
  return etx_build_binary(builder, ETX_OP_add_out, d.floor, differs,
                          &builder->results[0]);
}

// ------------------------------------------------ powers

// Exponentiation by squaring.
static etx_status legalize_power(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_pow_tensor_scalar_out ||
      !is_integer(type_of_self(rewrite)) ||
      node->args[1].kind != ETX_IR_ARG_INT ||
      !etx_dim_is_number(node->args[1].as.integer) ||
      node->args[1].as.integer < 1) {
    return ETX_OK;
  }
  int64_t left = node->args[1].as.integer;
  uint32_t square = node->args[0].as.value;
  uint32_t product = ETX_IR_NONE;
  while (left > 0) {
    if ((left & 1) != 0 && product == ETX_IR_NONE) {
      product = square;
    } else if ((left & 1) != 0) {
      ETX_TRY(
          etx_build_binary(builder, ETX_OP_mul_out, product, square, &product));
    }
    left >>= 1;
    if (left == 0) break;
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, square, square, &square));
  }
  builder->results[0] = product;
  *out_done = true;
  return ETX_OK;
}

// ------------------------------------------------ sums

// add(a, b, alpha) with any sizes: simplify may shrink an operand to one
// element later.
static etx_status legalize_add_alpha(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  uint32_t factor = 0;
  uint32_t product = 0;
  if (node->op->id != ETX_OP_add_out || etx_rewrite_is_int(&node->args[2], 1) ||
      (node->args[2].kind == ETX_IR_ARG_DOUBLE &&
       node->args[2].as.real == 1.0)) {
    return ETX_OK;
  }
  const uint32_t a = node->args[0].as.value;
  const uint32_t b = node->args[1].as.value;
  ETX_TRY(etx_build_scalar(builder, &node->args[2],
                           etx_builder_shape(builder, b)->dtype, &factor));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, b, factor, &product));
  *out_done = true;
  return etx_build_binary(builder, ETX_OP_add_out, a, product,
                          &builder->results[0]);
}

static bool accumulates_exactly(etx_dtype dtype) {
  return dtype == ETX_DTYPE_FLOAT32 || dtype == ETX_DTYPE_FLOAT16 ||
         dtype == ETX_DTYPE_BFLOAT16;
}

// sum(self, dims, keepdim, dtype)
static etx_status legalize_sum(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_sum_intlist_out) return ETX_OK;
  const etx_shape shape = *etx_builder_shape(builder, node->args[0].as.value);
  const etx_shape sum = *etx_builder_shape(builder, node->outputs[0]);
  if (accumulates_exactly(shape.dtype) || shape.dtype != sum.dtype ||
      shape.rank == 0 || shape.rank == ETX_MAX_RANK ||
      node->args[1].kind != ETX_IR_ARG_LIST ||
      node->args[1].as.list.count != 1) {
    return ETX_OK;
  }
  size_t axis = 0;
  uint32_t value = node->args[0].as.value;
  ETX_TRY(etx_builder_axis(builder, node->args[1].as.list.items[0].as.integer,
                           shape.rank, &axis));
  ETX_TRY(etx_build_unsqueeze(builder, value, shape.rank, &value));
  const etx_dim both[] = {(etx_dim)axis, shape.rank};
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                           (etx_reduced_dims){both, 2, false}, &value));
  *out_done = true;
  return etx_build_view(builder, value, sum.dims, sum.rank,
                        &builder->results[0]);
}

etx_status etx_pass_legalize_for_executorch(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {legalize_int_remainder,
                                           legalize_double_remainder,
                                           legalize_fmod,
                                           legalize_trunc_division,
                                           legalize_power,
                                           legalize_add_alpha,
                                           legalize_sum};
  if (context->options->target == ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, sizeof rules / sizeof *rules);
}
