// The pass lower: replaces the imported ATen nodes by nodes of the operators in
// format/ops.
//
// Each node is passed to its lowering function, which appends nodes to a new
// list. The values that replace the node's outputs get the outputs' names, so
// that messages and dumps use the names of the author. A node whose operands
// could not be lowered is skipped without a message, because the failure of the
// operand was reported.

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/ir/own_operators.h"
#include "exporter/lower/lower_bounds.h"
#include "exporter/lower/lowering_table.h"
#include "exporter/lower/own_lowering.h"
#include "exporter/lower/nearest_operator.h"
#include "exporter/passes/pass_context.h"

typedef enum value_state {
  LOWERED,
  FAILED,              // its node could not be lowered, which was reported
  UNSUPPORTED_OUTPUT,  // an output that the lowering function does not compute;
                       // it is an error to read it
} value_state;

typedef struct method_lowering {
  etx_pass_context* context;
  etx_ir_method* method;
  const uint32_t* uses;  // the number of uses of each imported value
  uint32_t* map;         // by imported value: the lowered one
  uint8_t* states;       // value_state of each imported value
  size_t value_count;    // imported values
  uint64_t blamed;       // symbols in the sizes of nodes with problems, as bits
} method_lowering;

// ------------------------------------------------ declared types

enum {
  SAMPLES = 6,
  // torch.export assumes that a size that varies is at least this: what it
  // declares need not hold for smaller ones.
  LEAST_DECLARED = 2,
};

// The smallest value of the symbol for which declared sizes must be right.
static int64_t declared_from(const etx_symbol* symbol) {
  int64_t least = LEAST_DECLARED;
  if (least < symbol->fallback) least = symbol->fallback;
  if (least > symbol->maximum) least = symbol->maximum;
  return least < symbol->minimum || symbol->is_late ? symbol->minimum : least;
}

// Assigns numbers to the symbols: the lower bounds, the upper bounds, then
// pseudo-random ones.
static void assign(const etx_symbols* symbols, size_t sample,
                   int64_t values[ETX_SYMBOLS_MAX_COUNT]) {
  for (size_t i = 0; i < symbols->symbol_count && i < ETX_SYMBOLS_MAX_COUNT;
       ++i) {
    const int64_t low = declared_from(&symbols->symbols[i]);
    const int64_t high = symbols->symbols[i].maximum;
    const uint64_t span = (uint64_t)(high - low) + 1;
    const uint64_t step = (sample * 7 + i * 3 + 1) * UINT64_C(2654435761);
    values[i] = sample == 0   ? low
                : sample == 1 ? high
                              : low + (int64_t)(step % span);
  }
}

// Assigns sizes of which some are smaller than declared sizes are right for:
// all are the lower bounds, or one is, and the others are the upper bounds.
static void assign_small(const etx_symbols* symbols, size_t sample,
                         int64_t values[ETX_SYMBOLS_MAX_COUNT]) {
  for (size_t i = 0; i < symbols->symbol_count && i < ETX_SYMBOLS_MAX_COUNT;
       ++i) {
    const etx_symbol* const symbol = &symbols->symbols[i];
    const int64_t least = symbol->minimum + (int64_t)(sample & 1);
    const bool is_small = sample / 2 == 0 || sample / 2 - 1 == i;
    values[i] = is_small && least < symbol->maximum ? least : symbol->maximum;
  }
}

// Finds a sample for which the sizes differ.
static bool differ_in(const etx_symbols* symbols, etx_dim declared,
                      etx_dim found, bool is_small, int64_t out[2]) {
  const size_t count = is_small ? 2 * (symbols->symbol_count + 1) : SAMPLES;
  int64_t values[ETX_SYMBOLS_MAX_COUNT];
  for (size_t sample = 0; sample < count; ++sample) {
    (is_small ? assign_small : assign)(symbols, sample, values);
    const bool known =
        etx_symbols_evaluate(symbols, declared, values, &out[0]) == ETX_OK &&
        etx_symbols_evaluate(symbols, found, values, &out[1]) == ETX_OK;
    if (known && out[0] != out[1]) return true;
  }
  return false;
}

// True if the sizes may be compared: what PyTorch knows of a number from data
// (a check that the model makes) need not follow from its bounds. Such sizes
// are checked when the number is known.
static bool is_comparable(const etx_symbols* symbols, etx_dim declared,
                          etx_dim found) {
  return symbols->symbol_count <= ETX_SYMBOLS_MAX_COUNT &&
         !etx_symbols_equal(symbols, declared, found) &&
         etx_symbols_late_in(symbols, declared) == 0 &&
         etx_symbols_late_in(symbols, found) == 0;
}

// Reports a problem if the declared type of an output differs from the inferred
// one.
static bool check_declared(const method_lowering* self,
                           const etx_source_location* location,
                           uint32_t declared, const etx_shape* found) {
  const etx_ir_value* const value = &self->method->values[declared];
  etx_problems* const problems = self->context->problems;
  if (!value->has_shape) return true;
  if (value->shape.dtype != found->dtype) {
    etx_problem(problems, location, "'%t' is declared as %s, found %s",
                value->name, etx_dtype_name(value->shape.dtype),
                etx_dtype_name(found->dtype));
    return false;
  }
  if (value->shape.rank != found->rank) {
    etx_problem(problems, location, "'%t' is declared with rank %u, found %u",
                value->name, (uint64_t)value->shape.rank,
                (uint64_t)found->rank);
    return false;
  }
  for (size_t i = 0; i < found->rank; ++i) {
    const etx_symbols* const symbols = &self->method->symbols;
    const etx_dim size = value->shape.dims[i];
    int64_t sizes[2] = {0, 0};
    if (!is_comparable(symbols, size, found->dims[i]) ||
        !differ_in(symbols, size, found->dims[i], false, sizes)) {
      continue;
    }
    etx_problem(problems, location,
                "dimension %z of '%t' is declared as %i, found %i", i,
                value->name, sizes[0], sizes[1]);
    return false;
  }
  return true;
}

// ------------------------------------------------ blamed symbols

static void blame_arg(method_lowering* self, const etx_ir_arg* arg) {
  const etx_symbols* const symbols = &self->method->symbols;
  if (arg->kind == ETX_IR_ARG_INT) {
    self->blamed |= etx_symbols_in(symbols, arg->as.integer);
  } else if (arg->kind == ETX_IR_ARG_VALUE) {
    const etx_shape* const shape = &self->method->values[arg->as.value].shape;
    for (size_t i = 0; i < shape->rank; ++i) {
      self->blamed |= etx_symbols_in(symbols, shape->dims[i]);
    }
  }
}

// Notes the symbols in the sizes and integers that the node reads.
static void blame_node(method_lowering* self, const etx_ir_node* node) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    blame_arg(self, arg);
    if (arg->kind != ETX_IR_ARG_LIST) continue;
    for (size_t k = 0; k < arg->as.list.count; ++k) {
      blame_arg(self, &arg->as.list.items[k]);
    }
  }
}

// ------------------------------------------------ results

// Gives the result the name of the output. A declared size is kept if the
// inferred one is equal but written differently, so that the method uses the
// same expressions everywhere. It is replaced if it does not hold for small
// sizes: x[:2] is declared to have 2 rows, and has one if x has one.
static void rename_result(method_lowering* self, size_t first, uint32_t output,
                          uint32_t result) {
  etx_ir_method* const method = self->method;
  etx_ir_value* const value = &method->values[output];
  if (!etx_ir_adopt(method, first, result, output)) {
    self->map[output] = result;
    return;
  }
  const etx_shape found = method->values[result].shape;
  if (!value->has_shape) value->shape = found;
  value->has_shape = true;
  for (size_t i = 0; i < found.rank; ++i) {
    etx_dim* const size = &value->shape.dims[i];
    int64_t unused[2] = {0, 0};
    if (is_comparable(&method->symbols, *size, found.dims[i]) &&
        differ_in(&method->symbols, *size, found.dims[i], true, unused)) {
      *size = found.dims[i];
    }
  }
}

static void finish_node(method_lowering* self, const etx_ir_node* node,
                        size_t first, uint32_t* results) {
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t output = node->outputs[i];
    if (output == ETX_IR_NONE) continue;
    if (results[i] == ETX_IR_NONE) {
      self->states[output] = UNSUPPORTED_OUTPUT;
      continue;
    }
    const etx_shape found = self->method->values[results[i]].shape;
    if (!check_declared(self, &node->place, output, &found)) {
      self->states[output] = FAILED;
      blame_node(self, node);
      continue;
    }
    const uint32_t result = results[i];
    rename_result(self, first, output, result);
    // If a value replaces two outputs, the second one becomes the first.
    for (size_t j = i + 1; j < node->output_count; ++j) {
      if (results[j] == result && self->map[output] == output) {
        results[j] = output;
      }
    }
  }
}

// ------------------------------------------------ nodes

// Replaces imported values in an argument by lowered ones. Lowered values refer
// to lowered values only, so one step is enough.
static void replace_imported(const method_lowering* self, etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_VALUE && arg->as.value < self->value_count) {
    arg->as.value = self->map[arg->as.value];
  }
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    replace_imported(self, &arg->as.list.items[i]);
  }
}

// The worst state among the values of an argument.
static value_state state_of_arg(const method_lowering* self,
                                const etx_ir_arg* arg) {
  value_state worst = LOWERED;
  if (arg->kind == ETX_IR_ARG_VALUE && arg->as.value < self->value_count) {
    return (value_state)self->states[arg->as.value];
  }
  if (arg->kind != ETX_IR_ARG_LIST) return LOWERED;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    const value_state item = state_of_arg(self, &arg->as.list.items[i]);
    if (item > worst) worst = item;
  }
  return worst;
}

// True if the node cannot be lowered because of an operand. An unsupported
// output is reported here; failed operands were reported before.
static bool has_failed_operand(const method_lowering* self,
                               const etx_ir_node* node) {
  value_state worst = LOWERED;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const value_state arg = state_of_arg(self, &node->args[i]);
    if (arg > worst) worst = arg;
  }
  if (worst == UNSUPPORTED_OUTPUT) {
    etx_problem(self->context->problems, &node->place,
                "'%t' reads an output that etx does not compute, such as the "
                "indices of a 3-D max pooling",
                node->aten);
  }
  return worst != LOWERED;
}

static void mark_failed(method_lowering* self, const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] != ETX_IR_NONE) {
      self->states[node->outputs[i]] = FAILED;
    }
  }
}

static void report_unknown(method_lowering* self, const etx_ir_node* node) {
  char hint[ETX_NEAREST_OPERATOR_BYTES];
  etx_problem(self->context->problems, &node->place,
              "operator '%t' is not supported%s", node->aten,
              etx_nearest_operator_hint(node->aten, hint, sizeof hint));
}

static etx_text name_of_results(const method_lowering* self,
                                const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] != ETX_IR_NONE) {
      return self->method->values[node->outputs[i]].name;
    }
  }
  return node->aten;
}

// Calls the lowering function. If it refuses the node, a problem is reported at
// the node's source location.
static etx_status run_lowering(method_lowering* self, const etx_ir_node* node,
                               const etx_lowering* row, uint32_t* results,
                               bool* out_done) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_builder builder = {.module = self->context->module,
                         .method = self->method,
                         .target = self->context->options->target,
                         .diag = &diag,
                         .row = row,
                         .node = node,
                         .uses = self->uses,
                         .results = results,
                         .name = name_of_results(self, node)};
  etx_status status = etx_lowering_bind(&builder);
  const bool for_etx = row->etx_function != NULL &&
                       self->context->options->target == ETX_TARGET_ETX;
  if (status == ETX_OK)
    status = (for_etx ? row->etx_function : row->function)(&builder);
  *out_done = status == ETX_OK;
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  if (status == ETX_INTERNAL) {
    return etx_diag_fail(self->context->diag, status, "%s, lowering '%t'",
                         diag.text, node->aten);
  }
  if (diag.text_size == 0) {
    etx_problem(self->context->problems, &node->place, "'%t': %s", node->aten,
                etx_status_text(status));
  } else {
    etx_problem(self->context->problems, &node->place, "%s", diag.text);
  }
  return ETX_OK;
}

// A symbol that the node sets from data must be set by one of the lowered
// nodes, which start at `first`. If none has the symbol as a size before the
// result has, as for a slice up to such a number, the one that computes the
// result sets it.
static void check_late(method_lowering* self, const etx_ir_node* node,
                       size_t first) {
  etx_ir_method* const method = self->method;
  if (node->late == 0) return;
  for (size_t i = first; i < method->node_count; ++i) {
    if (method->nodes[i].late == node->late) return;
  }
  const etx_ir_value* const output = &method->values[node->outputs[0]];
  if (output->origin == ETX_IR_FROM_NODE && output->index >= first &&
      output->index < method->node_count) {
    method->nodes[output->index].late = node->late;
    return;
  }
  etx_problem(self->context->problems, &node->place,
              "'%t': its size depends on the data of a tensor, which is not "
              "supported for this operator",
              node->aten);
  blame_node(self, node);
  mark_failed(self, node);
}

static etx_status lower_node(method_lowering* self, etx_ir_node* node) {
  const etx_lowering* const row =
      etx_own_operators_find(self->context->module, node->aten) != NULL
          ? &etx_lowering_own
          : etx_lowering_find(node->aten);
  if (row == NULL) {
    report_unknown(self, node);
    mark_failed(self, node);
    return ETX_OK;
  }
  if (has_failed_operand(self, node)) {
    mark_failed(self, node);
    return ETX_OK;
  }
  for (size_t i = 0; i < node->arg_count; ++i) {
    replace_imported(self, &node->args[i]);
  }
  size_t room = ETX_TYPE_INFERENCE_MAX_OUTPUTS;
  if (node->output_count > room) room = node->output_count;
  uint32_t* const results =
      etx_pool_take(self->context->module->pool, room * sizeof(uint32_t));
  if (results == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < room; ++i) results[i] = ETX_IR_NONE;
  const size_t first = self->method->node_count;
  bool done = false;
  ETX_TRY(run_lowering(self, node, row, results, &done));
  if (done) {
    finish_node(self, node, first, results);
    check_late(self, node, first);
  } else {
    self->method->node_count = first;
    blame_node(self, node);
    mark_failed(self, node);
  }
  return ETX_OK;
}

// Keeps a node that is lowered already.
static etx_status keep_node(method_lowering* self, etx_ir_node* node) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    replace_imported(self, &node->args[i]);
  }
  uint32_t index = 0;
  return etx_ir_keep_node(self->context->module, self->method, node, &index);
}

// ------------------------------------------------ conditionals

static bool is_condition(const method_lowering* self, const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_VALUE) return true;
  const etx_shape* const shape = &self->method->values[arg->as.value].shape;
  bool is_one = shape->dtype == ETX_DTYPE_BOOL;
  for (size_t i = 0; i < shape->rank; ++i) {
    is_one = is_one && shape->dims[i] == 1;
  }
  return is_one;
}

// Both branches must give the same type. It becomes the type of the result if
// none was declared.
static bool check_join(const method_lowering* self, const etx_ir_node* node) {
  etx_ir_method* const method = self->method;
  etx_ir_value* const result = &method->values[node->outputs[0]];
  const etx_shape* const a =
      &method->values[node->args[ETX_JOIN_THEN].as.value].shape;
  const etx_shape* const b =
      &method->values[node->args[ETX_JOIN_ELSE].as.value].shape;
  bool is_equal = a->dtype == b->dtype && a->rank == b->rank;
  for (size_t i = 0; is_equal && i < a->rank; ++i) {
    is_equal = etx_symbols_equal(&method->symbols, a->dims[i], b->dims[i]);
  }
  if (!is_equal) {
    etx_problem(self->context->problems, &node->place,
                "the two branches of torch.cond give '%t' different types",
                result->name);
    return false;
  }
  if (!check_declared(self, &node->place, node->outputs[0], a)) return false;
  if (!result->has_shape) result->shape = *a;
  result->has_shape = true;
  return true;
}

// Keeps a branch head or a join.
static etx_status lower_cond_node(method_lowering* self, etx_ir_node* node) {
  if (has_failed_operand(self, node)) {
    mark_failed(self, node);
    return ETX_OK;
  }
  for (size_t i = 0; i < node->arg_count; ++i) {
    replace_imported(self, &node->args[i]);
  }
  bool is_sound = true;
  if (etx_ir_is_join(node)) {
    is_sound = check_join(self, node);
  } else if (etx_ir_is_carry(node)) {
    etx_ir_value* const result = &self->method->values[node->outputs[0]];
    result->shape = self->method->values[node->args[0].as.value].shape;
    result->has_shape = true;
  } else if (!is_condition(self, &node->args[0])) {
    etx_problem(self->context->problems, &node->place,
                "the condition of torch.cond must be a tensor of one bool");
    is_sound = false;
  }
  if (!is_sound) {
    blame_node(self, node);
    mark_failed(self, node);
    return ETX_OK;
  }
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_node(self->context->module, self->method, node, &index));
  self->method->values[node->outputs[0]].index = index;
  return ETX_OK;
}

// ------------------------------------------------ methods

// Reports what the target does not support at all.
static void check_target(const method_lowering* self) {
  if (self->context->options->target != ETX_TARGET_EXECUTORCH) return;
  for (size_t i = 0; i < self->method->input_count; ++i) {
    const etx_ir_input* const input = &self->method->inputs[i];
    if (input->arg.kind != ETX_IR_ARG_INT ||
        etx_dim_is_number(input->arg.as.integer)) {
      continue;
    }
    etx_problem(self->context->problems, &input->place,
                "input '%t' of method '%t' is a dynamic integer (SymInt), "
                "which target 'executorch' does not support",
                input->name, self->method->name);
  }
}

static void check_results(const method_lowering* self) {
  const etx_source_location nowhere = {.file = self->method->file};
  for (size_t i = 0; i < self->method->output_count; ++i) {
    const etx_ir_output* const output = &self->method->outputs[i];
    if (state_of_arg(self, &output->arg) != UNSUPPORTED_OUTPUT) continue;
    etx_problem(self->context->problems, &nowhere,
                "output '%t' of method '%t' is an operator's output that etx "
                "does not compute",
                output->name, self->method->name);
  }
}

// The type of the input or buffer that a mutation writes.
static etx_shape target_of(const method_lowering* self,
                           const etx_ir_mutation* mutation) {
  const etx_ir_method* const method = self->method;
  if (mutation->is_input) {
    const etx_ir_input* const input = &method->inputs[mutation->target];
    return method->values[input->arg.as.value].shape;
  }
  const etx_ir_buffer* const buffer =
      &self->context->module->buffers[mutation->target];
  etx_shape shape = {.dtype = buffer->dtype, .rank = buffer->rank};
  for (size_t i = 0; i < buffer->rank; ++i) shape.dims[i] = buffer->sizes[i];
  return shape;
}

// Compares the types of mutations with those of their targets. Types that the
// file does not declare are known only after lowering.
static void check_mutations(const method_lowering* self) {
  etx_ir_method* const method = self->method;
  for (size_t i = 0; i < method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &method->mutations[i];
    const bool is_imported = mutation->value < self->value_count;
    if (is_imported && self->states[mutation->value] != LOWERED) continue;
    const etx_ir_value* const value =
        &method->values[is_imported ? self->map[mutation->value]
                                    : mutation->value];
    const etx_shape target = target_of(self, mutation);
    bool is_equal =
        value->shape.dtype == target.dtype && value->shape.rank == target.rank;
    for (size_t d = 0; is_equal && d < target.rank; ++d) {
      is_equal = etx_symbols_equal(&method->symbols, value->shape.dims[d],
                                   target.dims[d]);
    }
    if (is_equal) continue;
    etx_problem(self->context->problems, &mutation->place,
                "'%t' is the new content of a buffer or input of method '%t', "
                "but their types differ",
                method->values[mutation->value].name, method->name);
  }
}

static etx_status lower_method(etx_pass_context* context, etx_ir_method* method,
                               uint64_t* out_blamed) {
  etx_pool* const pool = context->module->pool;
  etx_ir_node* const nodes = method->nodes;
  const size_t node_count = method->node_count;
  method_lowering self = {context,
                          method,
                          etx_ir_count_uses(pool, method),
                          etx_ir_identity_map(pool, method),
                          etx_pool_take(pool, method->value_count),
                          method->value_count,
                          0};
  if (self.uses == NULL || self.map == NULL || self.states == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  // Most nodes become one, whose outputs are new values at first.
  ETX_TRY(etx_ir_reserve(context->module, method,
                         method->value_count + node_count + node_count / 4,
                         method->node_count));
  etx_ir_restart_nodes(method);
  check_target(&self);
  const size_t problems_before = context->problems->count;
  for (size_t i = 0; i < node_count; ++i) {
    ETX_TRY(nodes[i].cond != 0    ? lower_cond_node(&self, &nodes[i])
            : nodes[i].op == NULL ? lower_node(&self, &nodes[i])
                                  : keep_node(&self, &nodes[i]));
  }
  check_results(&self);
  check_mutations(&self);
  *out_blamed = self.blamed;
  if (context->problems->count != problems_before) return ETX_OK;
  // Values that were added by lowering map to themselves.
  uint32_t* const map = etx_ir_identity_map(pool, method);
  if (map == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(map, self.map, self.value_count * sizeof *map);
  etx_ir_replace(method, map);
  return etx_ir_renumber(context->module, method);
}

etx_status etx_pass_lower(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    ETX_TRY(etx_lower_smallest_bounds(context, &context->module->methods[i],
                                      lower_method));
  }
  return ETX_OK;
}
