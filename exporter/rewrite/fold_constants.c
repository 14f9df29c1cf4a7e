// Computes nodes whose operands are all constant with the evaluator of the
// caller (evaluator.h).
//
// Folding should not make the file much larger: a result may have as many bytes
// as its operands together, or 64 KiB, whichever is more. The first limit
// admits transposed weights. 64 KiB admits masks and position tables of a few
// hundred rows, which would otherwise be computed in every call.
//
// Nodes that only repeat a value (full, expand) are folded for the nodes that
// depend on them. They stay in the graph if something reads them at run time:
// filling memory is cheaper than reading the bytes from the file.
//
// Views of constants need no evaluator; they share the bytes.

#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"
#include "exporter/rewrite/ir_rewrite.h"

enum { SMALL_BYTES = 64 * 1024 };

typedef struct constant_folder {
  etx_pass_context* context;
  etx_ir_method* method;
  const etx_ir_constant** known;  // content of a value by index, or NULL
  uint32_t* map;
  size_t value_count;
  bool changed;
} constant_folder;

static const etx_ir_constant* constant_of(const constant_folder* self,
                                          uint32_t value) {
  if (self->known[value] != NULL) return self->known[value];
  return etx_rewrite_constant(self->context->module, self->method, value);
}

// True if the argument is constant; adds the bytes of its tensors to `bytes`.
static bool arg_is_known(const constant_folder* self, const etx_ir_arg* arg,
                         uint64_t* bytes) {
  if (arg->kind == ETX_IR_ARG_INT) return etx_dim_is_number(arg->as.integer);
  if (arg->kind == ETX_IR_ARG_VALUE) {
    const etx_ir_constant* const constant = constant_of(self, arg->as.value);
    if (constant == NULL) return false;
    *bytes += constant->data.size;
    return true;
  }
  if (arg->kind != ETX_IR_ARG_LIST) return true;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (!arg_is_known(self, &arg->as.list.items[i], bytes)) return false;
  }
  return true;
}

// True if all arguments are constant and the results are small enough.
static bool can_fold(const constant_folder* self, const etx_ir_node* node) {
  uint64_t in = 0;
  uint64_t out = 0;
  if (node->op->shape == NULL || etx_ir_late_must_stay(node)) return false;
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!arg_is_known(self, &node->args[i], &in)) return false;
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) return false;
    const etx_shape* const shape =
        &self->method->values[node->outputs[i]].shape;
    uint64_t bytes = 0;
    if (!etx_ir_is_static(shape) ||
        !etx_ir_upper_bytes(self->method, shape, &bytes)) {
      return false;
    }
    out += bytes;
  }
  return out <= SMALL_BYTES || out <= in;
}

// ------------------------------------------------ calling the evaluator

static bool to_tensor(etx_pool* pool, const etx_ir_constant* constant,
                      etx_eval_tensor* out) {
  int32_t* const sizes = etx_pool_take(pool, ETX_MAX_RANK * sizeof(int32_t));
  if (sizes == NULL) return false;
  for (size_t i = 0; i < constant->rank; ++i) {
    sizes[i] = (int32_t)constant->sizes[i];
  }
  *out = (etx_eval_tensor){constant->dtype, constant->rank, sizes,
                           (void*)(uintptr_t)constant->data.data};
  return true;
}

static etx_status tensor_list(const constant_folder* self,
                              const etx_ir_arg* arg, etx_eval_argument* out) {
  etx_pool* const pool = self->context->module->pool;
  const size_t count = arg->as.list.count;
  etx_eval_tensor* const tensors =
      etx_pool_take(pool, count * sizeof(etx_eval_tensor));
  uint8_t* const is_none = etx_pool_take(pool, count);
  if (tensors == NULL || is_none == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    is_none[i] = item->kind != ETX_IR_ARG_VALUE;
    if (is_none[i]) continue;
    const etx_ir_constant* const constant = constant_of(self, item->as.value);
    if (!to_tensor(pool, constant, &tensors[i])) return ETX_OUT_OF_MEMORY;
  }
  out->kind = ETX_EVAL_TENSORS;
  out->tensors = tensors;
  out->is_none = is_none;
  out->count = count;
  return ETX_OK;
}

static etx_status number_list(const constant_folder* self,
                              const etx_ir_arg* arg, etx_argument_type type,
                              etx_eval_argument* out) {
  const size_t count = arg->as.list.count;
  etx_pool* const pool = self->context->module->pool;
  int64_t* const integers = etx_pool_take(pool, count * sizeof(int64_t));
  double* const reals = etx_pool_take(pool, count * sizeof(double));
  uint8_t* const booleans = etx_pool_take(pool, count);
  if (integers == NULL || reals == NULL || booleans == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind == ETX_IR_ARG_INT) integers[i] = item->as.integer;
    if (item->kind == ETX_IR_ARG_INT) reals[i] = (double)item->as.integer;
    if (item->kind == ETX_IR_ARG_DOUBLE) reals[i] = item->as.real;
    if (item->kind == ETX_IR_ARG_BOOL) booleans[i] = item->as.boolean;
  }
  out->kind = type == ETX_ARGUMENT_FLOATS  ? ETX_EVAL_DOUBLES
              : type == ETX_ARGUMENT_BOOLS ? ETX_EVAL_BOOLS
                                           : ETX_EVAL_INTS;
  out->integers = integers;
  out->reals = reals;
  out->booleans = booleans;
  out->count = count;
  return ETX_OK;
}

static etx_status to_argument(const constant_folder* self,
                              const etx_ir_arg* arg, etx_argument_type type,
                              etx_eval_argument* out) {
  *out = (etx_eval_argument){.kind = ETX_EVAL_NONE};
  switch (arg->kind) {
    case ETX_IR_ARG_NONE:
      return ETX_OK;
    case ETX_IR_ARG_VALUE:
      out->kind = ETX_EVAL_TENSOR;
      return to_tensor(self->context->module->pool,
                       constant_of(self, arg->as.value), &out->tensor)
                 ? ETX_OK
                 : ETX_OUT_OF_MEMORY;
    case ETX_IR_ARG_INT:
      out->kind = ETX_EVAL_INT;
      out->integer = arg->as.integer;
      return ETX_OK;
    case ETX_IR_ARG_DTYPE:
      out->kind = ETX_EVAL_INT;
      out->integer = (int64_t)arg->as.dtype;
      return ETX_OK;
    case ETX_IR_ARG_DOUBLE:
      out->kind = ETX_EVAL_DOUBLE;
      out->real = arg->as.real;
      return ETX_OK;
    case ETX_IR_ARG_BOOL:
      out->kind = ETX_EVAL_BOOL;
      out->boolean = arg->as.boolean;
      return ETX_OK;
    case ETX_IR_ARG_STRING:
      out->kind = ETX_EVAL_STRING;
      out->string = arg->as.string;
      return ETX_OK;
    case ETX_IR_ARG_LIST:
      break;
  }
  const bool tensors =
      type == ETX_ARGUMENT_TENSORS || type == ETX_ARGUMENT_OPTIONAL_TENSORS;
  return tensors ? tensor_list(self, arg, out)
                 : number_list(self, arg, type, out);
}

// An empty constant of an output's type, its bytes taken from the pool.
static etx_status make_output(const constant_folder* self, uint32_t value,
                              etx_ir_constant* out, uint8_t** out_data) {
  const etx_shape* const shape = &self->method->values[value].shape;
  uint64_t bytes = 0;
  if (!etx_ir_upper_bytes(self->method, shape, &bytes)) return ETX_OUT_OF_RANGE;
  *out_data = etx_pool_take(self->context->module->pool, (size_t)bytes);
  if (*out_data == NULL) return ETX_OUT_OF_MEMORY;
  *out = (etx_ir_constant){
      shape->dtype, shape->rank, {0}, {*out_data, (size_t)bytes}};
  for (size_t i = 0; i < shape->rank; ++i) out->sizes[i] = shape->dims[i];
  return ETX_OK;
}

// Computes `node`; `outputs` has room for all of its outputs. `*out_done` is
// false if the evaluator has no kernel or the kernel returns an error. The node
// then stays, so that the error occurs at run time.
static etx_status evaluate(const constant_folder* self, const etx_ir_node* node,
                           etx_ir_constant* outputs, bool* out_done) {
  etx_eval_argument arguments[ETX_MAX_ARGUMENTS];
  etx_argument_cursor cursor = etx_argument_first(node->op->arguments);
  etx_argument argument;
  size_t count = 0;
  size_t output = 0;
  *out_done = false;
  while (count < ETX_MAX_ARGUMENTS && etx_argument_next(&cursor, &argument)) {
    etx_eval_argument* const to = &arguments[count];
    if (count < node->arg_count) {
      ETX_TRY(to_argument(self, &node->args[count], argument.type, to));
    } else if (output < node->output_count) {
      uint8_t* data = NULL;
      ETX_TRY(
          make_output(self, node->outputs[output], &outputs[output], &data));
      *to = (etx_eval_argument){.kind = ETX_EVAL_TENSOR};
      if (!to_tensor(self->context->module->pool, &outputs[output++],
                     &to->tensor)) {
        return ETX_OUT_OF_MEMORY;
      }
    }
    ++count;
  }
  const etx_evaluator* const evaluator = &self->context->options->evaluator;
  if (evaluator->evaluate == NULL || output != node->output_count) {
    return ETX_OK;
  }
  const etx_status status =
      evaluator->evaluate(evaluator->context, node->op, arguments, count, NULL);
  *out_done = status == ETX_OK;
  return status == ETX_OUT_OF_MEMORY ? status : ETX_OK;
}

// The same bytes with other sizes.
static etx_status fold_view(const constant_folder* self,
                            const etx_ir_node* node, etx_ir_constant* out) {
  const etx_ir_constant* const base = constant_of(self, node->args[0].as.value);
  const etx_shape* const shape = &self->method->values[node->outputs[0]].shape;
  *out = (etx_ir_constant){shape->dtype, shape->rank, {0}, base->data};
  for (size_t i = 0; i < shape->rank; ++i) out->sizes[i] = shape->dims[i];
  return ETX_OK;
}

// ------------------------------------------------ methods

static bool only_repeats(const etx_ir_node* node) {
  const etx_op_id id = node->op->id;
  return id == ETX_OP_full_out || id == ETX_OP_full_like_out ||
         id == ETX_OP_expand_copy_out || id == ETX_OP_zeros_out ||
         id == ETX_OP_ones_out;
}

// Records that output `value` equals `constant`, and replaces its uses by the
// constant, unless the node only repeats a value.
static etx_status record_result(constant_folder* self, const etx_ir_node* node,
                                uint32_t value,
                                const etx_ir_constant* constant) {
  etx_ir_constant* const copy =
      etx_pool_take(self->context->module->pool, sizeof *copy);
  if (copy == NULL) return ETX_OUT_OF_MEMORY;
  *copy = *constant;
  self->known[value] = copy;
  if (only_repeats(node)) return ETX_OK;
  uint32_t index = 0;
  uint32_t replacement = 0;
  ETX_TRY(etx_ir_add_constant(self->context->module, constant, &index));
  ETX_TRY(etx_ir_constant_value(self->context->module, self->method, index,
                                &replacement));
  self->map[value] = replacement;
  self->changed = true;
  return ETX_OK;
}

// The buffer that all named operands of the node come from; ETX_IR_NONE if
// there are several, or none.
static uint32_t source_of(const constant_folder* self,
                          const etx_ir_node* node) {
  uint32_t source = ETX_IR_NONE;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (arg->kind == ETX_IR_ARG_LIST && arg->as.list.count != 0 &&
        arg->as.list.items[0].kind == ETX_IR_ARG_VALUE) {
      return ETX_IR_NONE;  // a concatenation
    }
    if (arg->kind != ETX_IR_ARG_VALUE) continue;
    // A folded operand is now the value of a constant.
    const uint32_t value = self->map[arg->as.value];
    const uint32_t buffer = etx_constant_name_of(&self->context->constant_names,
                                                 &self->method->values[value]);
    if (buffer == ETX_IR_NONE || buffer == source) continue;
    if (source != ETX_IR_NONE) return ETX_IR_NONE;
    source = buffer;
  }
  return source;
}

// Gives the constants that replace the outputs the name of their source.
static etx_status name_results(const constant_folder* self,
                               const etx_ir_node* node) {
  const uint32_t source = source_of(self, node);
  if (source == ETX_IR_NONE) return ETX_OK;
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = self->map[node->outputs[i]];
    const etx_ir_value* const replacement = &self->method->values[value];
    if (replacement->origin != ETX_IR_FROM_CONSTANT) continue;
    ETX_TRY(etx_constant_name_add(&self->context->constant_names,
                                  self->context->module->pool,
                                  replacement->index, source));
  }
  return ETX_OK;
}

static etx_status fold_node(constant_folder* self, const etx_ir_node* node) {
  etx_ir_constant outputs[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  bool done = true;
  if (!can_fold(self, node)) return ETX_OK;
  if (node->op->id == ETX_OP_view_copy_out) {
    ETX_TRY(fold_view(self, node, &outputs[0]));
  } else {
    ETX_TRY(evaluate(self, node, outputs, &done));
  }
  if (!done) return ETX_OK;
  for (size_t i = 0; i < node->output_count; ++i) {
    ETX_TRY(record_result(self, node, node->outputs[i], &outputs[i]));
  }
  return name_results(self, node);
}

static etx_status fold_method(etx_pass_context* context,
                              etx_ir_method* method) {
  etx_pool* const pool = context->module->pool;
  const size_t count = method->value_count;
  constant_folder self = {context,
                          method,
                          etx_pool_take(pool, count * sizeof(const void*)),
                          etx_ir_identity_map(pool, method),
                          count,
                          false};
  if (self.known == NULL || self.map == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < method->node_count; ++i) {
    ETX_TRY(fold_node(&self, &method->nodes[i]));
  }
  if (!self.changed) return ETX_OK;
  uint32_t* const map = etx_ir_identity_map(pool, method);
  if (map == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(map, self.map, count * sizeof *map);
  etx_ir_replace(method, map);
  return etx_ir_drop_dead_nodes(context->module, method);
}

etx_status etx_pass_fold_constants(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    ETX_TRY(fold_method(context, &context->module->methods[i]));
  }
  return ETX_OK;
}
