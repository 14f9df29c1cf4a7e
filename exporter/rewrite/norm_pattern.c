#include "exporter/rewrite/norm_pattern.h"

#include <math.h>

#include "exporter/ir/ir_edit.h"

// Reads a number argument, or a constant of one element.
static bool read_number(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                        double* out_number) {
  if (arg->kind == ETX_IR_ARG_DOUBLE) *out_number = arg->as.real;
  if (arg->kind == ETX_IR_ARG_INT) *out_number = (double)arg->as.integer;
  if (arg->kind != ETX_IR_ARG_VALUE) {
    return arg->kind == ETX_IR_ARG_DOUBLE ||
           (arg->kind == ETX_IR_ARG_INT && etx_dim_is_number(arg->as.integer));
  }
  const etx_ir_constant* const constant = etx_rewrite_constant(
      rewrite->builder.module, rewrite->builder.method, arg->as.value);
  return constant != NULL &&
         constant->data.size == etx_dtype_bytes(constant->dtype) &&
         etx_rewrite_number(constant, out_number);
}

bool etx_norm_pattern_is_one_dim(const etx_rewrite* rewrite,
                                 const etx_ir_arg* arg, const etx_shape* result,
                                 size_t axis) {
  if (arg->kind != ETX_IR_ARG_VALUE) return false;
  const etx_shape* const shape = etx_rewrite_shape(rewrite, arg);
  const size_t trailing = result->rank - 1 - axis;
  if (shape->dtype != result->dtype || shape->rank <= trailing) return false;
  for (size_t i = 0; i < shape->rank; ++i) {
    const bool is_it = i + 1 + trailing == shape->rank;
    if (shape->dims[i] != (is_it ? result->dims[axis] : 1)) return false;
  }
  return true;
}

// ------------------------------------------------ moments

// Reads the dimension of a reduction over one dimension with keepdim.
static bool read_axis(const etx_rewrite* rewrite, const etx_ir_node* node,
                      const etx_ir_arg* keeps, size_t* out_axis) {
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  const etx_ir_arg* const dims = &node->args[1];
  if (!keeps->as.boolean || dims->kind != ETX_IR_ARG_LIST ||
      dims->as.list.count != 1 || rank == 0) {
    return false;
  }
  const int64_t dim = dims->as.list.items[0].as.integer;
  *out_axis = (size_t)(dim < 0 ? dim + (int64_t)rank : dim);
  return *out_axis < rank;
}

// The sum in sum(value) / n or sum(value) * (1 / n), where n is the size of the
// dimension; NULL if `node` is neither.
static const etx_ir_node* divided_sum(const etx_rewrite* rewrite,
                                      const etx_ir_node* node, size_t* axis) {
  const bool divides = etx_rewrite_is_op(node, ETX_OP_div_out);
  double number = 0;
  if (!divides && !etx_rewrite_is_op(node, ETX_OP_mul_out)) return NULL;
  for (size_t i = 0; i < (divides ? 1u : 2u); ++i) {
    const etx_ir_node* const sum =
        etx_rewrite_argument(rewrite, &node->args[i]);
    if (!etx_rewrite_is_op(sum, ETX_OP_sum_intlist_out) ||
        !read_axis(rewrite, sum, &sum->args[2], axis) ||
        !read_number(rewrite, &node->args[1 - i], &number)) {
      continue;
    }
    const etx_dim all = etx_rewrite_shape(rewrite, &sum->args[0])->dims[*axis];
    const double count = etx_dim_is_number(all) ? (double)all : 0;
    if (fabs((divides ? number / count : number * count) - 1) < 1e-6) {
      return sum;
    }
  }
  return NULL;
}

// True if `node` is var_mean and `arg` is its output `output`.
static bool is_var_mean(const etx_ir_node* node, const etx_ir_arg* arg,
                        size_t output) {
  return etx_rewrite_is_op(node, ETX_OP_var_mean_correction_out) &&
         node->outputs[output] == arg->as.value;
}

// Reads mean(operand) over one dimension.
static bool read_mean(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                      etx_ir_arg* out_operand, size_t* out_axis) {
  const etx_ir_node* const node = etx_rewrite_argument(rewrite, arg);
  if (node == NULL) return false;
  const bool is_mean = (etx_rewrite_is_op(node, ETX_OP_mean_out) &&
                        read_axis(rewrite, node, &node->args[2], out_axis)) ||
                       (is_var_mean(node, arg, 1) &&
                        read_axis(rewrite, node, &node->args[3], out_axis));
  const etx_ir_node* const sum =
      is_mean ? node : divided_sum(rewrite, node, out_axis);
  if (sum == NULL) return false;
  *out_operand = sum->args[0];
  return true;
}

// Reads value^2, written as square, pow or a multiplication.
static bool read_square(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                        uint32_t* out_value) {
  const etx_ir_node* const node = etx_rewrite_argument(rewrite, arg);
  double power = 0;
  if (node == NULL || node->args[0].kind != ETX_IR_ARG_VALUE) return false;
  *out_value = node->args[0].as.value;
  if (etx_rewrite_is_op(node, ETX_OP_square_out)) return true;
  if (etx_rewrite_is_op(node, ETX_OP_pow_tensor_scalar_out)) {
    return read_number(rewrite, &node->args[1], &power) && power == 2;
  }
  return etx_rewrite_is_op(node, ETX_OP_mul_out) &&
         node->args[1].as.value == node->args[0].as.value;
}

// Reads mean(value^2) or var(value) without correction.
static bool read_moment(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                        etx_norm_pattern* out) {
  const etx_ir_node* const node = etx_rewrite_argument(rewrite, arg);
  etx_ir_arg squares;
  double correction = 1;
  out->has_variance = etx_rewrite_is_op(node, ETX_OP_var_correction_out) ||
                      is_var_mean(node, arg, 0);
  if (!out->has_variance) {
    return read_mean(rewrite, arg, &squares, &out->axis) &&
           read_square(rewrite, &squares, &out->value);
  }
  out->value = node->args[0].as.value;
  return read_number(rewrite, &node->args[2], &correction) && correction == 0 &&
         read_axis(rewrite, node, &node->args[3], &out->axis);
}

// Reads moment + eps.
static bool read_moment_and_eps(const etx_rewrite* rewrite, uint32_t value,
                                etx_norm_pattern* out) {
  const etx_ir_node* const sum =
      etx_ir_definition(rewrite->builder.method, value);
  if (!etx_rewrite_is_op(sum, ETX_OP_add_out) ||
      !etx_rewrite_is_int(&sum->args[2], 1)) {
    return false;
  }
  for (size_t i = 0; i < 2; ++i) {
    if (read_number(rewrite, &sum->args[1 - i], &out->eps)) {
      return read_moment(rewrite, &sum->args[i], out);
    }
  }
  return false;
}

// ------------------------------------------------ quotients

// More than any model writes.
enum { MOST_POWERS = 4 };

// Replaces `*value` by the base of nested powers and returns the product of the
// exponents; 0 if they cannot be read.
static double read_powers(const etx_rewrite* rewrite, uint32_t* value) {
  double exponent = 1, number = 0;
  for (size_t step = 0; step < MOST_POWERS; ++step) {
    const etx_ir_node* const node =
        etx_ir_definition(rewrite->builder.method, *value);
    size_t of = 0;
    if (etx_rewrite_is_op(node, ETX_OP_sqrt_out)) {
      exponent *= 0.5;
    } else if (etx_rewrite_is_op(node, ETX_OP_rsqrt_out)) {
      exponent *= -0.5;
    } else if (etx_rewrite_is_op(node, ETX_OP_reciprocal_out)) {
      exponent = -exponent;
    } else if (etx_rewrite_is_op(node, ETX_OP_pow_tensor_scalar_out) &&
               read_number(rewrite, &node->args[1], &number)) {
      exponent *= number;
    } else if (etx_rewrite_is_op(node, ETX_OP_div_out) &&
               read_number(rewrite, &node->args[0], &number) && number == 1) {
      exponent = -exponent;
      of = 1;
    } else {
      return exponent;
    }
    if (node->args[of].kind != ETX_IR_ARG_VALUE) return 0;
    *value = node->args[of].as.value;
  }
  return 0;
}

// Reads x from x - mean(x).
static bool read_centred(const etx_rewrite* rewrite, uint32_t value,
                         size_t axis, uint32_t* out_value) {
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->builder.method, value);
  etx_ir_arg operand;
  size_t own = 0;
  if (!etx_rewrite_is_op(node, ETX_OP_sub_out) ||
      !etx_rewrite_is_int(&node->args[2], 1) ||
      !read_mean(rewrite, &node->args[1], &operand, &own) || own != axis) {
    return false;
  }
  *out_value = node->args[0].as.value;
  return operand.as.value == *out_value;
}

// True if `value` is the dividend that belongs to the moment: the value whose
// squares are averaged, or x - mean(x) if the moment is var(x).
static bool is_dividend(const etx_rewrite* rewrite, uint32_t value,
                        etx_norm_pattern* n) {
  uint32_t centred = 0;
  const bool is_centred =
      read_centred(rewrite, value, n->axis, &centred) &&
      (n->has_variance ? centred == n->value : value == n->value);
  if (n->has_variance ? !is_centred : value != n->value) return false;
  n->is_centred = is_centred;
  if (is_centred) n->value = centred;
  return true;
}

// Reads the dividend, or the dividend times a weight.
static bool read_dividend(const etx_rewrite* rewrite, uint32_t value,
                          etx_norm_pattern* n) {
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->builder.method, value);
  n->weight = ETX_IR_NONE;
  if (is_dividend(rewrite, value, n)) return true;
  if (!etx_rewrite_is_op(node, ETX_OP_mul_out)) return false;
  const etx_shape* const result =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  for (size_t i = 0; i < 2; ++i) {
    if (etx_norm_pattern_is_one_dim(rewrite, &node->args[1 - i], result,
                                    n->axis) &&
        is_dividend(rewrite, node->args[i].as.value, n)) {
      n->weight = node->args[1 - i].as.value;
      return true;
    }
  }
  return false;
}

bool etx_norm_pattern_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                           etx_norm_pattern* out) {
  const bool divides = etx_rewrite_is_op(node, ETX_OP_div_out);
  if (!divides && !etx_rewrite_is_op(node, ETX_OP_mul_out)) return false;
  for (size_t i = divides ? 1 : 0; i < 2; ++i) {
    uint32_t root = node->args[i].as.value;
    if (read_powers(rewrite, &root) != (divides ? 0.5 : -0.5)) continue;
    return read_moment_and_eps(rewrite, root, out) &&
           read_dividend(rewrite, node->args[1 - i].as.value, out);
  }
  return false;
}
