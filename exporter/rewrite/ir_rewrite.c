#include "exporter/rewrite/ir_rewrite.h"

#include "exporter/host/half_bits.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"

typedef struct rewriter {
  etx_rewrite rewrite;
  etx_ir_method* method;
  uint32_t* map;  // replacement of each value that was there before
  bool changed;
} rewriter;

static void replace_arg(const rewriter* self, etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_VALUE &&
      arg->as.value < self->rewrite.value_count) {
    arg->as.value = self->map[arg->as.value];
  }
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    replace_arg(self, &arg->as.list.items[i]);
  }
}

static etx_status keep_node(rewriter* self, const etx_ir_node* node) {
  uint32_t index = 0;
  ETX_TRY(etx_ir_keep_node(self->rewrite.builder.module, self->method, node,
                           &index));
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) continue;
    self->method->values[node->outputs[i]].index = index;
  }
  return ETX_OK;
}

// Makes `results` replace the outputs of `node`. Outputs keep their symbolic
// sizes: those of the replacement are equal, but may be written differently.
static void replace_outputs(rewriter* self, const etx_ir_node* node,
                            size_t first) {
  const uint32_t* const results = self->rewrite.builder.results;
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t output = node->outputs[i];
    if (output == ETX_IR_NONE || results[i] == ETX_IR_NONE) continue;
    if (!etx_ir_adopt(self->method, first, results[i], output)) {
      self->map[output] = results[i];
    }
  }
}

static etx_status match_node(rewriter* self, etx_ir_node* node,
                             const etx_rewrite_rule* rules, size_t rule_count) {
  uint32_t results[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  for (size_t i = 0; i < ETX_TYPE_INFERENCE_MAX_OUTPUTS; ++i)
    results[i] = ETX_IR_NONE;
  for (size_t i = 0; i < node->arg_count; ++i) {
    replace_arg(self, &node->args[i]);
  }
  etx_builder* const builder = &self->rewrite.builder;
  builder->node = node;
  builder->results = results;
  builder->name = self->method->values[node->outputs[0]].name;
  builder->name_count = 0;
  const size_t first = self->method->node_count;
  bool done = false;
  if (etx_ir_late_must_stay(node)) rule_count = 0;
  for (size_t i = 0; i < rule_count && !done; ++i) {
    ETX_TRY(rules[i](&self->rewrite, &done));
  }
  if (!done) return keep_node(self, node);
  self->changed = true;
  replace_outputs(self, node, first);
  return ETX_OK;
}

static etx_status apply_map(rewriter* self, etx_pool* scratch) {
  uint32_t* const map = etx_ir_identity_map(scratch, self->method);
  if (map == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(map, self->map, self->rewrite.value_count * sizeof *map);
  etx_ir_replace(self->method, map);
  return etx_ir_drop_dead_nodes(self->rewrite.builder.module, self->method);
}

static etx_status rewrite_nodes(rewriter* self, etx_pool* scratch,
                                const etx_rewrite_rule* rules,
                                size_t rule_count) {
  etx_ir_method* const method = self->method;
  etx_ir_node* const nodes = method->nodes;
  const size_t node_count = method->node_count;
  self->map = etx_ir_identity_map(scratch, method);
  self->rewrite.uses = etx_ir_count_uses(scratch, method);
  if (self->map == NULL || self->rewrite.uses == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  etx_ir_restart_nodes(method);
  for (size_t i = 0; i < node_count; ++i) {
    ETX_TRY(match_node(self, &nodes[i], rules, rule_count));
  }
  return self->changed ? apply_map(self, scratch) : ETX_OK;
}

etx_status etx_rewrite_method_with(etx_pass_context* context,
                                   etx_ir_method* method,
                                   const etx_rewrite_rule* rules,
                                   size_t rule_count, const void* facts,
                                   bool* out_changed) {
  rewriter self = {.method = method};
  self.rewrite.value_count = method->value_count;
  self.rewrite.fusions = &context->fusions;
  self.rewrite.constant_names = &context->constant_names;
  self.rewrite.facts = facts;
  self.rewrite.builder.module = context->module;
  self.rewrite.builder.method = method;
  self.rewrite.builder.target = context->options->target;
  self.rewrite.builder.diag = context->diag;
  etx_pool scratch;
  etx_pool_init(&scratch);
  const etx_status status = rewrite_nodes(&self, &scratch, rules, rule_count);
  etx_pool_close(&scratch);
  if (self.changed) *out_changed = true;
  return status;
}

etx_status etx_rewrite_method(etx_pass_context* context, etx_ir_method* method,
                              const etx_rewrite_rule* rules, size_t rule_count,
                              bool* out_changed) {
  return etx_rewrite_method_with(context, method, rules, rule_count, NULL,
                                 out_changed);
}

etx_status etx_rewrite_module(etx_pass_context* context,
                              const etx_rewrite_rule* rules,
                              size_t rule_count) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    bool changed = false;
    ETX_TRY(etx_rewrite_method(context, &context->module->methods[i], rules,
                               rule_count, &changed));
  }
  return ETX_OK;
}

const etx_shape* etx_rewrite_shape(const etx_rewrite* rewrite,
                                   const etx_ir_arg* arg) {
  return etx_builder_shape(&rewrite->builder, arg->as.value);
}

bool etx_rewrite_is_int(const etx_ir_arg* arg, int64_t wanted) {
  return arg->kind == ETX_IR_ARG_INT && arg->as.integer == wanted;
}

const etx_ir_node* etx_rewrite_definition(const etx_rewrite* rewrite,
                                          uint32_t value) {
  return etx_ir_definition(rewrite->builder.method, value);
}

const etx_ir_node* etx_rewrite_argument(const etx_rewrite* rewrite,
                                        const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_VALUE
             ? etx_rewrite_definition(rewrite, arg->as.value)
             : NULL;
}

bool etx_rewrite_is_op(const etx_ir_node* node, etx_op_id op) {
  return node != NULL && node->op->id == op;
}

const etx_ir_node* etx_rewrite_operand(const etx_rewrite* rewrite,
                                       const etx_ir_node* node, size_t position,
                                       etx_op_id op) {
  if (position >= node->arg_count) return NULL;
  const etx_ir_arg* const arg = &node->args[position];
  if (arg->kind != ETX_IR_ARG_VALUE) return NULL;
  const etx_ir_node* const definition =
      etx_ir_definition(rewrite->builder.method, arg->as.value);
  return definition != NULL && definition->op->id == op ? definition : NULL;
}

bool etx_rewrite_step_over_batches(const etx_rewrite* rewrite,
                                   const etx_ir_node** at) {
  const etx_builder* const builder = &rewrite->builder;
  while ((*at)->op->id == ETX_OP_view_copy_out) {
    const uint32_t base = (*at)->args[0].as.value;
    const etx_shape* const from = etx_builder_shape(builder, base);
    const etx_shape* const to = etx_builder_shape(builder, (*at)->outputs[0]);
    const etx_ir_node* const definition =
        etx_ir_definition(builder->method, base);
    if (definition == NULL || from->rank < 2 || to->rank < 2 ||
        !etx_builder_same_dims(builder, &from->dims[from->rank - 2],
                               &to->dims[to->rank - 2], 2)) {
      return false;
    }
    *at = definition;
  }
  return true;
}

bool etx_rewrite_step_over_factor(const etx_rewrite* rewrite,
                                  const etx_ir_node** at,
                                  uint32_t* out_factor) {
  const etx_ir_node* const node = *at;
  if (node->op->id != ETX_OP_mul_out) return true;
  const etx_ir_arg* const factor = &node->args[1];
  if (factor->kind != ETX_IR_ARG_VALUE ||
      etx_rewrite_shape(rewrite, factor)->rank != 0) {
    return false;
  }
  *out_factor = factor->as.value;
  *at = etx_ir_definition(rewrite->builder.method, node->args[0].as.value);
  return *at != NULL;
}

bool etx_rewrite_is_only_use(const etx_rewrite* rewrite, uint32_t value) {
  return value >= rewrite->value_count || rewrite->uses[value] == 1;
}

const etx_ir_constant* etx_rewrite_constant(const etx_ir_module* module,
                                            const etx_ir_method* method,
                                            uint32_t value) {
  const etx_ir_value* const v = &method->values[value];
  if (v->origin == ETX_IR_FROM_CONSTANT) return &module->constants[v->index];
  if (v->origin != ETX_IR_FROM_BUFFER) return NULL;
  const etx_ir_buffer* const buffer = &module->buffers[v->index];
  if (buffer->is_state || buffer->initial == ETX_IR_NONE) return NULL;
  return &module->constants[buffer->initial];
}

bool etx_rewrite_is_uniform(const etx_ir_constant* constant) {
  const size_t bytes = etx_dtype_bytes(constant->dtype);
  if (constant->data.size < bytes) return false;
  return memcmp(constant->data.data, constant->data.data + bytes,
                constant->data.size - bytes) == 0;
}

bool etx_rewrite_number(const etx_ir_constant* constant, double* out_number) {
  if (!etx_rewrite_is_uniform(constant)) return false;
  const uint8_t* const data = constant->data.data;
  float real = 0.0f;
  int64_t wide = 0;
  int32_t narrow = 0;
  switch (constant->dtype) {
    case ETX_DTYPE_FLOAT32:
      memcpy(&real, data, sizeof real);
      *out_number = (double)real;
      return true;
    case ETX_DTYPE_FLOAT64:
      memcpy(out_number, data, sizeof *out_number);
      return true;
    case ETX_DTYPE_FLOAT16:
      *out_number = (double)etx_from_float16(data);
      return true;
    case ETX_DTYPE_BFLOAT16:
      *out_number = (double)etx_from_bfloat16(data);
      return true;
    case ETX_DTYPE_INT64:
      memcpy(&wide, data, sizeof wide);
      *out_number = (double)wide;
      return true;
    case ETX_DTYPE_INT32:
      memcpy(&narrow, data, sizeof narrow);
      *out_number = (double)narrow;
      return true;
    case ETX_DTYPE_BOOL:
      *out_number = data[0] != 0 ? 1.0 : 0.0;
      return true;
    default:
      return false;
  }
}
