// Reads nodes as chains: which step of chain_steps.def an operator is, and
// which parameters its arguments give.

#include <math.h>

#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"

// ------------------------------------------------ nodes that are steps

// Steps that compute exactly one operator. gelu and operators with parameters
// are read below, because their step depends on their arguments.
static const struct {
  etx_op_id op;
  uint8_t step;
} rows[] = {
#define ONE(name, operator) {ETX_OP_##operator, ETX_STEP_##name },
#define TWO(name, operator) {ETX_OP_##operator, ETX_STEP_##name },
#define THREE(name, operator) {ETX_OP_##operator, ETX_STEP_##name },
#define WITH(name, operator, count)
#include "format/ops/chain_steps.def"
#undef ONE
#undef TWO
#undef THREE
#undef WITH
};

static bool is_number(const etx_ir_arg* arg, double wanted) {
  if (arg->kind == ETX_IR_ARG_INT) return (double)arg->as.integer == wanted;
  return arg->kind == ETX_IR_ARG_DOUBLE && arg->as.real == wanted;
}

// The step that a node without parameters computes; false if there is none.
static bool step_of(const etx_ir_node* node, uint8_t* out_step) {
  const etx_op_id op = node->op->id;
  if (op == ETX_OP_gelu_out) {
    const etx_text approximate = node->args[1].as.string;
    *out_step =
        etx_text_is(approximate, "tanh") ? ETX_STEP_gelu_tanh : ETX_STEP_gelu;
    return true;
  }
  if ((op == ETX_OP_add_out || op == ETX_OP_sub_out) &&
      !is_number(&node->args[2], 1)) {
    return false;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    *out_step = rows[i].step;
    if (rows[i].op == op) return true;
  }
  return false;
}

// ------------------------------------------------ operands

// True if the value has one element, or one row along the dimension that
// `trailing` dimensions follow.
static bool is_broadcast(const etx_rewrite* rewrite, const etx_shape* result,
                         size_t trailing, uint32_t value) {
  const etx_shape* const own = etx_builder_shape(&rewrite->builder, value);
  for (size_t i = 0; i < own->rank; ++i) {
    const size_t own_trailing = own->rank - 1 - i;
    if (own->dims[i] == 1) continue;
    if (own_trailing != trailing || result->rank <= trailing ||
        !etx_symbols_equal(&rewrite->builder.method->symbols, own->dims[i],
                           result->dims[result->rank - 1 - trailing])) {
      return false;
    }
  }
  return true;
}

static bool is_operand(const etx_rewrite* rewrite, const etx_ir_node* node,
                       size_t trailing, const etx_ir_arg* arg) {
  const etx_shape* const result =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  return arg->kind == ETX_IR_ARG_VALUE &&
         etx_rewrite_shape(rewrite, arg)->dtype == ETX_DTYPE_FLOAT32 &&
         (etx_chain_is_full(rewrite, node, arg->as.value) ||
          is_broadcast(rewrite, result, trailing, arg->as.value));
}

static void put(etx_chain_expression* chain, uint8_t step, uint32_t value) {
  chain->items[chain->count++] = (etx_chain_token){step, value, 0};
}

static void put_number(etx_chain_expression* chain, double number) {
  chain->items[chain->count++] =
      (etx_chain_token){ETX_CHAIN_NUMBER, ETX_IR_NONE, (float)number};
}

// Reads a chain operator. It was made by this pass, so its text is valid.
static void read_chain(const etx_ir_node* node, etx_chain_expression* out) {
  const etx_ir_arg* const others = &node->args[1];
  uint8_t steps[ETX_CHAIN_STEPS_MAX];
  size_t count = 0;
  if (!etx_chain_steps_read(node->args[2].as.string, others->as.list.count,
                            steps, &count)) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (steps[i] < ETX_STEP_X) {
      put(out, ETX_STEP_X, others->as.list.items[steps[i]].as.value);
    } else {
      put(out, steps[i], node->args[0].as.value);
    }
  }
}

// The weight of prelu belongs to dimension 1; rows must belong to the same.
static bool has_prelu_rows(const etx_rewrite* rewrite,
                           const etx_ir_node* node) {
  const etx_shape* const weight = etx_rewrite_shape(rewrite, &node->args[1]);
  return weight->rank == 0 || weight->dims[0] == 1 ||
         etx_builder_shape(&rewrite->builder, node->outputs[0])->rank == 2;
}

// pow(x, 2) and pow(x, 3) as multiplications, in the order of the kernel.
static bool read_power(const etx_rewrite* rewrite, const etx_ir_node* node,
                       size_t trailing, etx_chain_expression* out) {
  const bool is_cube = is_number(&node->args[1], 3);
  if ((!is_cube && !is_number(&node->args[1], 2)) ||
      !is_operand(rewrite, node, trailing, &node->args[0])) {
    return false;
  }
  const uint32_t value = node->args[0].as.value;
  put(out, ETX_STEP_X, value);
  for (size_t i = is_cube ? 2 : 1; i > 0; --i) {
    put(out, ETX_STEP_X, value);
    put(out, ETX_STEP_multiply, ETX_IR_NONE);
  }
  return true;
}

// ------------------------------------------------ parameters

// Reads a number argument; None gives `absent`. False if it is symbolic.
static bool read_number(const etx_ir_arg* arg, double absent,
                        double* out_number) {
  *out_number = arg->kind == ETX_IR_ARG_DOUBLE ? arg->as.real
                : arg->kind == ETX_IR_ARG_INT  ? (double)arg->as.integer
                                               : absent;
  return arg->kind == ETX_IR_ARG_DOUBLE || arg->kind == ETX_IR_ARG_NONE ||
         (arg->kind == ETX_IR_ARG_INT && etx_dim_is_number(arg->as.integer));
}

// Computes the parameters of a step from the operator's arguments `n`, in the
// form that the kernel uses (runtime/kernels/elementwise/unary_parameters.h).
static void put_parameters(uint8_t step, const double n[3],
                           etx_chain_expression* out) {
  put_number(out, step == ETX_STEP_elu ? n[1] : n[0]);
  if (step == ETX_STEP_leaky_relu) {
    const double rest = n[0] - (double)(float)n[0];
    put_number(out, isfinite(rest) ? rest : 0);
  } else {
    put_number(out, step == ETX_STEP_elu ? n[0] * n[1] : n[1]);
  }
  if (step == ETX_STEP_elu) put_number(out, n[2]);
}

// Reads operators with parameters: all arguments after the tensor are numbers.
static bool read_parametric(const etx_rewrite* rewrite, const etx_ir_node* node,
                            size_t trailing, etx_chain_expression* out) {
  static const struct {
    etx_op_id op;
    uint8_t step, count;
  } operators[] = {{ETX_OP_clamp_out, ETX_STEP_clamp, 2},
                   {ETX_OP_hardtanh_out, ETX_STEP_clamp, 2},
                   {ETX_OP_leaky_relu_out, ETX_STEP_leaky_relu, 1},
                   {ETX_OP_softplus_out, ETX_STEP_softplus, 2},
                   {ETX_OP_elu_out, ETX_STEP_elu, 3}};
  size_t row = 0;
  while (operators[row].op != node->op->id) {
    if (++row == sizeof operators / sizeof *operators) return false;
  }
  const uint8_t step = operators[row].step;
  double n[3] = {0};
  for (size_t i = 0; i < operators[row].count; ++i) {
    if (!read_number(&node->args[i + 1], i == 0 ? -INFINITY : INFINITY,
                     &n[i])) {
      return false;
    }
  }
  if (!is_operand(rewrite, node, trailing, &node->args[0])) return false;
  put(out, ETX_STEP_X, node->args[0].as.value);
  if (step == ETX_STEP_clamp && n[0] == 0 && n[1] == 6) {
    put(out, ETX_STEP_relu6, ETX_IR_NONE);
    return true;
  }
  put_parameters(step, n, out);
  put(out, step, ETX_IR_NONE);
  return true;
}

// ------------------------------------------------ where

// Comparisons in terms of the steps less, less_equal and equal: with exchanged
// operands, or with a negated result.
static const struct {
  etx_op_id op;
  uint8_t step;
  bool is_exchanged, is_negated;
} comparisons[] = {{ETX_OP_lt_tensor_out, ETX_STEP_less, false, false},
                   {ETX_OP_lt_scalar_out, ETX_STEP_less, false, false},
                   {ETX_OP_gt_tensor_out, ETX_STEP_less, true, false},
                   {ETX_OP_gt_scalar_out, ETX_STEP_less, true, false},
                   {ETX_OP_le_tensor_out, ETX_STEP_less_equal, false, false},
                   {ETX_OP_le_scalar_out, ETX_STEP_less_equal, false, false},
                   {ETX_OP_ge_tensor_out, ETX_STEP_less_equal, true, false},
                   {ETX_OP_ge_scalar_out, ETX_STEP_less_equal, true, false},
                   {ETX_OP_eq_tensor_out, ETX_STEP_equal, false, false},
                   {ETX_OP_eq_scalar_out, ETX_STEP_equal, false, false},
                   {ETX_OP_ne_tensor_out, ETX_STEP_equal, false, true},
                   {ETX_OP_ne_scalar_out, ETX_STEP_equal, false, true}};

// Reads the comparison `node`, the condition of the where `chosen`, whose sizes
// broadcast to those of `chosen`.
static bool read_comparison(const etx_rewrite* rewrite,
                            const etx_ir_node* where, const etx_ir_node* node,
                            size_t trailing, etx_chain_expression* out,
                            bool* out_is_negated) {
  size_t row = 0;
  while (comparisons[row].op != node->op->id) {
    if (++row == sizeof comparisons / sizeof *comparisons) return false;
  }
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_arg* const arg =
        &node->args[comparisons[row].is_exchanged ? 1 - i : i];
    double number = 0;
    if (is_operand(rewrite, where, trailing, arg)) {
      put(out, ETX_STEP_X, arg->as.value);
    } else if (arg->kind != ETX_IR_ARG_NONE && read_number(arg, 0, &number)) {
      put_number(out, number);
    } else {
      return false;
    }
  }
  put(out, comparisons[row].step, ETX_IR_NONE);
  *out_is_negated = comparisons[row].is_negated;
  return true;
}

// Reads where(comparison, a, b). In a chain, conditions are floats.
static bool read_where(const etx_rewrite* rewrite, const etx_ir_node* node,
                       size_t trailing, etx_chain_expression* out) {
  const etx_ir_node* const test =
      etx_ir_definition(rewrite->builder.method, node->args[0].as.value);
  bool is_negated = false;
  if (test == NULL ||
      !read_comparison(rewrite, node, test, trailing, out, &is_negated)) {
    return false;
  }
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_arg* const arg = &node->args[is_negated ? 2 - i : 1 + i];
    if (!is_operand(rewrite, node, trailing, arg)) return false;
    put(out, ETX_STEP_X, arg->as.value);
  }
  put(out, ETX_STEP_select, ETX_IR_NONE);
  return true;
}

// ------------------------------------------------ reading

bool etx_chain_expression_read(const etx_rewrite* rewrite,
                               const etx_ir_node* node,
                               etx_chain_expression* out_chain) {
  return etx_chain_expression_read_rows(rewrite, node, 0, out_chain);
}

bool etx_chain_expression_read_rows(const etx_rewrite* rewrite,
                                    const etx_ir_node* node, size_t trailing,
                                    etx_chain_expression* out_chain) {
  uint8_t step = 0;
  out_chain->count = 0;
  if (node->op->id == ETX_OP_chain_out) {
    read_chain(node, out_chain);
    return out_chain->count != 0;
  }
  if (etx_builder_shape(&rewrite->builder, node->outputs[0])->dtype !=
      ETX_DTYPE_FLOAT32) {
    return false;
  }
  if (node->op->id == ETX_OP_pow_tensor_scalar_out) {
    return read_power(rewrite, node, trailing, out_chain);
  }
  if (node->op->id == ETX_OP_where_self_out) {
    return read_where(rewrite, node, trailing, out_chain);
  }
  if (read_parametric(rewrite, node, trailing, out_chain)) return true;
  if (!step_of(node, &step)) return false;
  if (step == ETX_STEP_prelu && !has_prelu_rows(rewrite, node)) return false;
  for (size_t i = 0; i < etx_chain_step_operands(step); ++i) {
    if (!is_operand(rewrite, node, trailing, &node->args[i])) return false;
    put(out_chain, ETX_STEP_X, node->args[i].as.value);
  }
  put(out_chain, step, ETX_IR_NONE);
  return true;
}
