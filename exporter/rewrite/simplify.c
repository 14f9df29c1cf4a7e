// Applies the rules of simplify_*.c and common subexpression elimination (CSE)
// until nothing changes.

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"
#include "exporter/passes/pass_context.h"
#include "exporter/rewrite/simplify_rules.h"

// Every rule shrinks the graph or moves a node towards the operands, so the
// rounds end. The limit reports a wrong rule instead of looping forever.
enum { MAX_ROUNDS = 50 };

// ------------------------------------------------ equal nodes

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

static uint64_t hash_arg(uint64_t hash, const etx_ir_arg* arg) {
  hash = mix(hash, (uint64_t)arg->kind);
  uint64_t bits = 0;
  switch (arg->kind) {
    case ETX_IR_ARG_NONE:
      return hash;
    case ETX_IR_ARG_VALUE:
      return mix(hash, arg->as.value);
    case ETX_IR_ARG_INT:
      return mix(hash, (uint64_t)arg->as.integer);
    case ETX_IR_ARG_DOUBLE:
      memcpy(&bits, &arg->as.real, sizeof bits);
      return mix(hash, bits);
    case ETX_IR_ARG_BOOL:
      return mix(hash, arg->as.boolean);
    case ETX_IR_ARG_DTYPE:
      return mix(hash, (uint64_t)arg->as.dtype);
    case ETX_IR_ARG_STRING:
      for (size_t i = 0; i < arg->as.string.size; ++i) {
        hash = mix(hash, (uint8_t)arg->as.string.data[i]);
      }
      return hash;
    case ETX_IR_ARG_LIST:
      for (size_t i = 0; i < arg->as.list.count; ++i) {
        hash = hash_arg(hash, &arg->as.list.items[i]);
      }
      return mix(hash, arg->as.list.count);
  }
  return hash;
}

static bool args_equal(const etx_ir_arg* a, const etx_ir_arg* b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ETX_IR_ARG_NONE:
      return true;
    case ETX_IR_ARG_VALUE:
      return a->as.value == b->as.value;
    case ETX_IR_ARG_INT:
      return a->as.integer == b->as.integer;
    case ETX_IR_ARG_DOUBLE:
      return memcmp(&a->as.real, &b->as.real, sizeof a->as.real) == 0;
    case ETX_IR_ARG_BOOL:
      return a->as.boolean == b->as.boolean;
    case ETX_IR_ARG_DTYPE:
      return a->as.dtype == b->as.dtype;
    case ETX_IR_ARG_STRING:
      return etx_text_equal(a->as.string, b->as.string);
    case ETX_IR_ARG_LIST:
      break;
  }
  if (a->as.list.count != b->as.list.count) return false;
  for (size_t i = 0; i < a->as.list.count; ++i) {
    if (!args_equal(&a->as.list.items[i], &b->as.list.items[i])) return false;
  }
  return true;
}

// Casts and factory operators have the dtype of their out tensor, so the dtype
// of the output is part of what a node computes.
static etx_dtype first_dtype(const etx_ir_method* method,
                             const etx_ir_node* node) {
  return method->values[node->outputs[0]].shape.dtype;
}

static uint64_t hash_node(const etx_ir_method* method,
                          const etx_ir_node* node) {
  uint64_t hash = mix((uint64_t)node->op->id, node->arg_count);
  hash = mix(hash, (uint64_t)first_dtype(method, node));
  for (size_t i = 0; i < node->arg_count; ++i) {
    hash = hash_arg(hash, &node->args[i]);
  }
  return hash;
}

static bool nodes_equal(const etx_ir_method* method, const etx_ir_node* a,
                        const etx_ir_node* b) {
  if (a->op != b->op || a->arg_count != b->arg_count ||
      first_dtype(method, a) != first_dtype(method, b)) {
    return false;
  }
  for (size_t i = 0; i < a->arg_count; ++i) {
    if (!args_equal(&a->args[i], &b->args[i])) return false;
  }
  return true;
}

// True if `earlier` computes the same as `later` and runs whenever `later`
// does.
static bool can_replace(const etx_ir_method* method, const etx_ir_node* earlier,
                        const etx_ir_node* later) {
  return nodes_equal(method, later, earlier) && later->cond == 0 &&
         etx_ir_branch_is_within(method, later->branch, earlier->branch);
}

// Hash table of the nodes so far, with open addressing.
typedef struct node_table {
  uint32_t* slots;  // index of the node + 1; 0 for empty
  size_t size;      // a power of two, more than twice the number of nodes
} node_table;

// The earlier node that computes the same; NULL, after inserting this one, if
// there is none.
static const etx_ir_node* find_or_insert(node_table* table,
                                         const etx_ir_method* method,
                                         size_t index) {
  const etx_ir_node* const node = &method->nodes[index];
  if (etx_ir_late_must_stay(node)) return NULL;
  size_t at = (size_t)hash_node(method, node) & (table->size - 1);
  for (; table->slots[at] != 0; at = (at + 1) & (table->size - 1)) {
    const etx_ir_node* const other = &method->nodes[table->slots[at] - 1];
    if (can_replace(method, other, node)) return other;
  }
  table->slots[at] = (uint32_t)index + 1;
  return NULL;
}

static etx_status eliminate_common_subexpressions(etx_ir_module* module,
                                                  etx_ir_method* method,
                                                  bool* out_changed) {
  node_table table = {NULL, 16};
  while (table.size <= 2 * method->node_count) table.size *= 2;
  table.slots = etx_pool_take(module->pool, table.size * sizeof(uint32_t));
  uint32_t* const map = etx_ir_identity_map(module->pool, method);
  if (table.slots == NULL || map == NULL) return ETX_OUT_OF_MEMORY;
  bool changed = false;
  for (size_t i = 0; i < method->node_count; ++i) {
    etx_ir_node* const node = &method->nodes[i];
    for (size_t j = 0; j < node->arg_count; ++j) {
      etx_ir_replace_in_arg(&node->args[j], map);
    }
    const etx_ir_node* const earlier = find_or_insert(&table, method, i);
    if (earlier == NULL) continue;
    changed = true;
    for (size_t j = 0; j < node->output_count; ++j) {
      map[node->outputs[j]] = earlier->outputs[j];
    }
  }
  if (!changed) return ETX_OK;
  *out_changed = true;
  etx_ir_replace(method, map);
  return etx_ir_drop_dead_nodes(module, method);
}

// ------------------------------------------------ rounds

static etx_status simplify_method(etx_pass_context* context,
                                  etx_ir_method* method) {
  static const etx_rewrite_rule rules[] = {
      etx_simplify_view,      etx_simplify_permute, etx_simplify_expand,
      etx_simplify_slice,     etx_simplify_select,  etx_simplify_scatter,
      etx_simplify_cast,      etx_simplify_neutral, etx_simplify_where,
      etx_simplify_broadcast, etx_simplify_clamp,   etx_simplify_bias};
  ETX_TRY(etx_ir_drop_dead_nodes(context->module, method));
  for (int round = 0; round < MAX_ROUNDS; ++round) {
    bool changed = false;
    ETX_TRY(etx_rewrite_method(context, method, rules,
                               sizeof rules / sizeof rules[0], &changed));
    ETX_TRY(eliminate_common_subexpressions(context->module, method, &changed));
    if (!changed) return ETX_OK;
  }
  return etx_diag_fail(context->diag, ETX_INTERNAL,
                       "simplify: method '%t' still changes after %z rounds",
                       method->name, (size_t)MAX_ROUNDS);
}

etx_status etx_pass_simplify(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    ETX_TRY(simplify_method(context, &context->module->methods[i]));
  }
  return ETX_OK;
}
