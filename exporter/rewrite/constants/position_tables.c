#include "exporter/rewrite/constants/position_tables.h"

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"
#include "exporter/ir/type_inference.h"
#include "exporter/rewrite/constants/position_rules.h"
#include "exporter/rewrite/simplify_rules.h"

enum {
  // Largest table that is computed when planned, in bytes: a mask of 4096 rows
  // and keys as floats.
  MOST_BYTES = 64 * 1024 * 1024,
  // Bytes of all tables of one method together.
  MOST_BYTES_IN_ALL = 4 * MOST_BYTES
};

typedef struct table_search {
  etx_ir_method* method;  // with the symbolic sizes
  etx_position_tables* tables;
  uint64_t bytes;  // of all tables so far
} table_search;

// ------------------------------------------------ upper bounds

static bool raise_dim(const etx_symbols* symbols, etx_dim* dim) {
  int64_t low = 0;
  int64_t high = 0;
  etx_symbols_bounds(symbols, *dim, &low, &high);
  *dim = high;
  return high >= 0 && high < INT32_MAX;
}

static void raise_arg(const etx_symbols* symbols, etx_ir_arg* arg) {
  int64_t low = 0;
  if (arg->kind == ETX_IR_ARG_INT && !etx_dim_is_number(arg->as.integer)) {
    etx_symbols_bounds(symbols, arg->as.integer, &low, &arg->as.integer);
  }
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    raise_arg(symbols, &arg->as.list.items[i]);
  }
}

// Replaces all sizes of the copy by their upper bounds. A value that has none
// loses its shape.
static void raise_method(etx_ir_method* upper) {
  for (size_t i = 0; i < upper->value_count; ++i) {
    etx_ir_value* const value = &upper->values[i];
    for (size_t j = 0; value->has_shape && j < value->shape.rank; ++j) {
      value->has_shape = raise_dim(&upper->symbols, &value->shape.dims[j]);
    }
  }
  for (size_t i = 0; i < upper->node_count; ++i) {
    for (size_t j = 0; j < upper->nodes[i].arg_count; ++j) {
      raise_arg(&upper->symbols, &upper->nodes[i].args[j]);
    }
  }
}

// True if the node has the sizes at the upper bounds that its result has.
// Bounds of expressions may be too wide; then it has not.
static bool has_upper_sizes(etx_ir_method* upper, const etx_ir_node* node) {
  const etx_shape* const wanted = &upper->values[node->outputs[0]].shape;
  etx_shape shapes[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_operator_call call = {.op = node->op,
                                  .args = node->args,
                                  .arg_count = node->arg_count,
                                  .out_dtype = &wanted->dtype};
  if (etx_type_inference_outputs(upper, &call, shapes, NULL) != ETX_OK ||
      shapes[0].rank != wanted->rank) {
    return false;
  }
  for (size_t i = 0; i < wanted->rank; ++i) {
    if (shapes[0].dims[i] != wanted->dims[i]) return false;
  }
  return true;
}

// ------------------------------------------------ tables

// True for a node that always computes its single result, and whose sizes do
// not depend on data.
static bool is_plain(const etx_ir_method* method, const etx_ir_node* node) {
  return node->output_count == 1 && node->outputs[0] != ETX_IR_NONE &&
         node->cond == 0 && node->late == 0 && !etx_ir_late_must_stay(node) &&
         etx_ir_late_needed(method, node) == 0;
}

static bool reads_table(const etx_known_values* known, const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_VALUE) {
    return known->contents[arg->as.value] != NULL;
  }
  if (arg->kind != ETX_IR_ARG_LIST) return false;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (reads_table(known, &arg->as.list.items[i])) return true;
  }
  return false;
}

static bool reads_any_table(const etx_known_values* known,
                            const etx_ir_node* node) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (reads_table(known, &node->args[i])) return true;
  }
  return false;
}

// True for tables, and for constants that are no weights of another type than
// the result of `bytes` bytes: masks, indices, and those of much fewer bytes.
static bool is_spread(const etx_known_values* known, const etx_ir_arg* arg,
                      uint64_t bytes) {
  enum { MOST_ELEMENT_BYTES = 16 };
  if (arg->kind == ETX_IR_ARG_VALUE && !reads_table(known, arg)) {
    const etx_ir_constant* const content =
        etx_known_content(known, arg->as.value);
    return content != NULL && (content->dtype == ETX_DTYPE_BOOL ||
                               content->dtype == ETX_DTYPE_INT64 ||
                               content->data.size < bytes / MOST_ELEMENT_BYTES);
  }
  for (size_t i = 0; arg->kind == ETX_IR_ARG_LIST && i < arg->as.list.count;
       ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind == ETX_IR_ARG_VALUE && !is_spread(known, item, bytes)) {
      return false;
    }
  }
  return true;
}

// True for a result of fixed sizes that has too many bytes for constant folding
// and is computed from few. (A weight of another type stays in the file as it
// is.)
static bool is_large(const etx_ir_method* method, const etx_known_values* known,
                     const etx_ir_node* node) {
  uint64_t bytes = 0;
  if (!etx_ir_upper_bytes(method, &method->values[node->outputs[0]].shape,
                          &bytes) ||
      bytes <= ETX_KNOWN_SMALL_BYTES) {
    return false;
  }
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!is_spread(known, &node->args[i], bytes)) return false;
  }
  return true;
}

// True if a size of the result varies, or an operand is a table, or the result
// is large. All other nodes are for constant folding.
static bool may_be_table(const etx_ir_method* method,
                         const etx_known_values* known,
                         const etx_ir_node* node) {
  return !etx_ir_is_static(&method->values[node->outputs[0]].shape) ||
         reads_any_table(known, node) || is_large(method, known, node);
}

static bool selects_from_constant(const etx_position_tables* tables,
                                  uint32_t value) {
  const etx_ir_origin origin = tables->upper.values[value].origin;
  return origin == ETX_IR_FROM_CONSTANT || origin == ETX_IR_FROM_BUFFER ||
         tables->is_selected[value];
}

// True if the node takes elements of constants in their order. Consecutive rows
// of a weight are among them: index_to_slice makes a slice of it.
static bool selects(const etx_position_tables* tables,
                    const etx_ir_node* node) {
  const etx_ir_arg* index = NULL;
  if (etx_position_rule_only_selects(node)) {
    return node->args[0].kind != ETX_IR_ARG_VALUE ||
           selects_from_constant(tables, node->args[0].as.value);
  }
  if (node->op->id == ETX_OP_embedding_out) index = &node->args[1];
  if (node->op->id == ETX_OP_index_select_out) index = &node->args[2];
  if (node->op->id == ETX_OP_index_tensor_out &&
      node->args[1].as.list.count == 1) {
    index = &node->args[1].as.list.items[0];
  }
  return index != NULL && index->kind == ETX_IR_ARG_VALUE &&
         selects_from_constant(tables, node->args[0].as.value) &&
         etx_position_rule_is_consecutive(
             etx_known_content(&tables->known, index->as.value));
}

static etx_status find_table(table_search* self, size_t index) {
  etx_position_tables* const tables = self->tables;
  const etx_ir_node* const node = &self->method->nodes[index];
  const etx_ir_node* const raised = &tables->upper.nodes[index];
  uint64_t in = 0;
  uint64_t bytes = 0;
  if (!is_plain(self->method, node) ||
      !may_be_table(self->method, &tables->known, node) ||
      !etx_known_values_cover(&tables->known, node, &in)) {
    return ETX_OK;
  }
  const uint32_t value = node->outputs[0];
  if (!tables->upper.values[value].has_shape ||
      !etx_ir_upper_bytes(&tables->upper, &tables->upper.values[value].shape,
                          &bytes) ||
      bytes == 0 || bytes > MOST_BYTES ||
      self->bytes + bytes > MOST_BYTES_IN_ALL ||
      !etx_position_rule_holds(self->method, &tables->known, node) ||
      !has_upper_sizes(&tables->upper, raised)) {
    return ETX_OK;
  }
  etx_ir_constant content;
  bool done = false;
  ETX_TRY(etx_known_values_evaluate(&tables->known, raised, &content, &done));
  if (!done) return ETX_OK;
  self->bytes += bytes;
  tables->is_selected[value] = selects(tables, raised);
  return etx_known_values_record(&tables->known, value, &content);
}

// ------------------------------------------------ readers

static void note_reader(bool* broadcasts, const etx_ir_arg* arg, bool repeats) {
  if (arg->kind == ETX_IR_ARG_VALUE && !repeats) {
    broadcasts[arg->as.value] = false;
  }
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    note_reader(broadcasts, &arg->as.list.items[i], repeats);
  }
}

static void find_readers(const etx_ir_method* method, bool* broadcasts) {
  memset(broadcasts, true, method->value_count * sizeof *broadcasts);
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    for (size_t j = 0; j < node->arg_count; ++j) {
      note_reader(broadcasts, &node->args[j],
                  etx_simplify_op_broadcasts(node->op));
    }
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    note_reader(broadcasts, &method->outputs[i].arg, false);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    broadcasts[method->mutations[i].value] = false;
  }
}

etx_status etx_position_tables_find(etx_pass_context* context,
                                    etx_ir_method* method, etx_pool* pool,
                                    etx_position_tables* out_tables) {
  table_search self = {.method = method, .tables = out_tables};
  *out_tables = (etx_position_tables){
      .is_selected = etx_pool_take(pool, method->value_count),
      .broadcasts = etx_pool_take(pool, method->value_count)};
  if (out_tables->is_selected == NULL || out_tables->broadcasts == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  find_readers(method, out_tables->broadcasts);
  ETX_TRY(etx_ir_copy_method(pool, method, &out_tables->upper));
  raise_method(&out_tables->upper);
  ETX_TRY(
      etx_known_values_init(&out_tables->known, context, &out_tables->upper));
  for (size_t i = 0; i < method->node_count; ++i) {
    ETX_TRY(find_table(&self, i));
  }
  return ETX_OK;
}

const etx_ir_constant* etx_position_tables_at(const etx_position_tables* tables,
                                              uint32_t value) {
  return value >= tables->known.count || tables->is_selected[value]
             ? NULL
             : tables->known.contents[value];
}
