// Fuses linear layers that share a one-row input into one layer with
// concatenated weights (horizontal fusion):
//
//   q = linear(x, wq, bq)        p = linear(x, [wq; wk; wv], [bq; bk; bv])
//   k = linear(x, wk, bk)   ->   q, k, v = slices of p, which are views
//   v = linear(x, wv, bv)
//
// So x is read once (and quantised once, for integer weights) and threads are
// started once. Every element is the same sum as before.
//
// With several rows a slice of the result would not be contiguous, so such
// layers stay apart. So do layers whose weight has other uses, as it would be
// stored twice. An exception are variants (variant_name.h), whose weights the
// method and other variants read, too: there the other readers get the rows of
// the concatenated weight, and the file has them once. A weight lies in one
// concatenation at most, and starts at a cache line there.
//
// The pass runs after the passes that fuse something into a single layer.

#include "exporter/rewrite/constant_users.h"
#include "exporter/host/paged_memory.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"
#include "format/pte/variant_name.h"

static const char kind[] = "parallel linear";

static const char other_uses[] = "a weight has other uses";

enum {
  MAX_LAYERS = 64,  // that are fused into one at most
  LINE_BYTES = 64,  // of a cache
};

typedef struct parallel_linear_pass {
  etx_pass_context* context;
  etx_ir_module* module;
  etx_ir_method* method;
  const uint32_t* uses;  // readers of each constant in the whole module
  bool shares_weights;   // weights may have other uses
} parallel_linear_pass;

// ------------------------------------------------ readers of constants

static void count_reader(void* context, size_t constant,
                         const etx_constant_user* reader) {
  (void)reader;
  ++((uint32_t*)context)[constant];
}

// NULL if memory is exhausted.
static uint32_t* count_uses(const etx_ir_module* module) {
  const size_t bytes = (module->constant_count + 1) * sizeof(uint32_t);
  uint32_t* const uses = etx_pool_take(module->pool, bytes);
  if (uses == NULL) return NULL;
  memset(uses, 0, bytes);
  etx_constant_users_visit(module, count_reader, uses);
  return uses;
}

// ------------------------------------------------ conditions

static bool is_linear(const etx_ir_node* node) {
  switch (node->op->id) {
    case ETX_OP_linear_out:
    case ETX_OP_linear_w8_out:
    case ETX_OP_linear_a8w8_out:
    case ETX_OP_linear_w4g_out:
    case ETX_OP_linear_a8w4g_out:
      return node->outputs[0] != ETX_IR_NONE;
    default:
      return false;
  }
}

static const etx_shape* result_of(const parallel_linear_pass* j,
                                  const etx_ir_node* node) {
  return &j->method->values[node->outputs[0]].shape;
}

static etx_dim columns_of(const parallel_linear_pass* j,
                          const etx_ir_node* node) {
  const etx_shape* const shape = result_of(j, node);
  return shape->dims[shape->rank - 1];
}

static const etx_ir_constant* constant_of(const parallel_linear_pass* j,
                                          const etx_ir_arg* arg) {
  return etx_rewrite_constant(j->module, j->method, arg->as.value);
}

static uint32_t index_of(const parallel_linear_pass* j, const etx_ir_arg* arg) {
  return (uint32_t)(constant_of(j, arg) - j->module->constants);
}

// True for a weight that others read too. A bias is short enough to be stored
// twice.
static bool has_other_uses(const parallel_linear_pass* j,
                           const etx_ir_arg* arg) {
  const uint32_t index = index_of(j, arg);
  return j->module->constants[index].rank > 1 && j->uses[index] != 1;
}

// Why the layer cannot be fused with others; NULL if it can.
static const char* obstacle_of(const parallel_linear_pass* j,
                               const etx_ir_node* node) {
  const etx_shape* const shape = result_of(j, node);
  if (shape->rank == 0 || !etx_dim_is_number(columns_of(j, node))) {
    return "the number of output columns is symbolic";
  }
  for (size_t i = 0; i + 1 < shape->rank; ++i) {
    if (shape->dims[i] != 1) {
      return "the input has several rows, so slices of one result would not be "
             "contiguous";
    }
  }
  for (size_t i = 1; i < node->arg_count; ++i) {
    if (node->args[i].kind != ETX_IR_ARG_VALUE) continue;
    const etx_ir_constant* const constant = constant_of(j, &node->args[i]);
    if (constant == NULL) return "a weight is computed at run time";
    if (constant->rank == 0 || constant->sizes[0] != columns_of(j, node)) {
      return "a weight does not have one row for each output column";
    }
    if (!j->shares_weights && has_other_uses(j, &node->args[i])) {
      return other_uses;
    }
  }
  return NULL;
}

static bool same_type(const parallel_linear_pass* j, const etx_ir_arg* a,
                      const etx_ir_arg* b) {
  if (a->kind != b->kind) return false;
  if (a->kind == ETX_IR_ARG_INT) return a->as.integer == b->as.integer;
  if (a->kind != ETX_IR_ARG_VALUE) return a->kind == ETX_IR_ARG_NONE;
  const etx_ir_constant* const x = constant_of(j, a);
  const etx_ir_constant* const y = constant_of(j, b);
  if (x->dtype != y->dtype || x->rank != y->rank) return false;
  for (size_t i = 1; i < x->rank; ++i) {
    if (x->sizes[i] != y->sizes[i]) return false;
  }
  return true;
}

static bool share_input(const etx_ir_node* a, const etx_ir_node* b) {
  return is_linear(b) && a->op->id == b->op->id && a->branch == b->branch &&
         a->args[0].as.value == b->args[0].as.value;
}

static bool have_same_types(const parallel_linear_pass* j, const etx_ir_node* a,
                            const etx_ir_node* b) {
  if (result_of(j, a)->dtype != result_of(j, b)->dtype ||
      result_of(j, a)->rank != result_of(j, b)->rank ||
      a->arg_count != b->arg_count) {
    return false;
  }
  for (size_t i = 1; i < a->arg_count; ++i) {
    if (!same_type(j, &a->args[i], &b->args[i])) return false;
  }
  return true;
}

// ------------------------------------------------ building

// Layers of one input, as indices of nodes.
typedef struct parallel_layers {
  size_t items[MAX_LAYERS];
  size_t count;
} parallel_layers;

// True if layer `at` of the group reads the constant of an earlier one.
static bool is_repeated(const parallel_linear_pass* j, const etx_ir_node* nodes,
                        const parallel_layers* g, size_t at, size_t position) {
  const uint32_t own = index_of(j, &nodes[g->items[at]].args[position]);
  for (size_t i = 0; i < at; ++i) {
    if (index_of(j, &nodes[g->items[i]].args[position]) == own) return true;
  }
  return false;
}

// True if the weights with other uses can be parts of the concatenation of
// argument `position`: each is there once, starts at a cache line, and is no
// part of another concatenation.
static bool can_be_parts(const parallel_linear_pass* j,
                         const etx_ir_node* nodes, const parallel_layers* g,
                         size_t position) {
  const etx_ir_part* known = NULL;
  uint64_t at = 0;
  size_t shared = 0;
  size_t parts = 0;
  for (size_t i = 0; i < g->count; ++i) {
    const etx_ir_arg* const arg = &nodes[g->items[i]].args[position];
    const uint64_t start = at;
    at += constant_of(j, arg)->data.size;
    if (!has_other_uses(j, arg)) continue;
    if (start % LINE_BYTES != 0 || is_repeated(j, nodes, g, i, position)) {
      return false;
    }
    ++shared;
    const etx_ir_part* const part =
        etx_ir_find_part(j->module, index_of(j, arg));
    if (part == NULL) continue;
    ++parts;
    if (part->offset != start ||
        (known != NULL && known->whole != part->whole)) {
      return false;
    }
    known = part;
  }
  return parts == 0 || (parts == shared &&
                        j->module->constants[known->whole].data.size == at);
}

static bool can_share(const parallel_linear_pass* j, const etx_ir_node* nodes,
                      const parallel_layers* g) {
  const etx_ir_node* const first = &nodes[g->items[0]];
  for (size_t i = 1; i < first->arg_count; ++i) {
    if (first->args[i].kind == ETX_IR_ARG_VALUE &&
        !can_be_parts(j, nodes, g, i)) {
      return false;
    }
  }
  return true;
}

// Notes that the weights with other uses lie in their concatenation.
static etx_status note_parts(const parallel_linear_pass* j,
                             const etx_ir_node* nodes, const parallel_layers* g,
                             size_t position, uint32_t whole) {
  uint64_t at = 0;
  for (size_t i = 0; i < g->count; ++i) {
    const etx_ir_arg* const arg = &nodes[g->items[i]].args[position];
    const etx_ir_part part = {index_of(j, arg), whole, at};
    at += constant_of(j, arg)->data.size;
    if (has_other_uses(j, arg) &&
        etx_ir_find_part(j->module, part.constant) == NULL) {
      ETX_TRY(etx_ir_add_part(j->module, &part));
    }
  }
  return ETX_OK;
}

// Concatenates argument `position` of all layers along dimension 0.
static etx_status concat_rows(const parallel_linear_pass* j,
                              const etx_ir_node* nodes,
                              const parallel_layers* g, size_t position,
                              etx_ir_arg* out_arg) {
  etx_ir_constant whole = *constant_of(j, &nodes[g->items[0]].args[position]);
  size_t bytes = 0;
  whole.sizes[0] = 0;
  for (size_t i = 0; i < g->count; ++i) {
    const etx_ir_constant* const part =
        constant_of(j, &nodes[g->items[i]].args[position]);
    whole.sizes[0] += part->sizes[0];
    bytes += part->data.size;
  }
  uint8_t* const data = etx_pages_take(j->module->pool, bytes + 1);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  size_t at = 0;
  for (size_t i = 0; i < g->count; ++i) {
    const etx_bytes part =
        constant_of(j, &nodes[g->items[i]].args[position])->data;
    if (part.size != 0) memcpy(data + at, part.data, part.size);
    etx_pages_rest(j->module->pool, part.data, part.size);
    at += part.size;
  }
  whole.data = (etx_bytes){data, bytes};
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_constant(j->module, &whole, &index));
  ETX_TRY(note_parts(j, nodes, g, position, index));
  out_arg->kind = ETX_IR_ARG_VALUE;
  return etx_ir_constant_value(j->module, j->method, index, &out_arg->as.value);
}

static etx_status add_fused_layer(const parallel_linear_pass* j,
                                  const etx_ir_node* nodes,
                                  const parallel_layers* g,
                                  uint32_t* out_value) {
  const etx_ir_node* const first = &nodes[g->items[0]];
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  memcpy(args, first->args, first->arg_count * sizeof *args);
  for (size_t i = 1; i < first->arg_count; ++i) {
    if (args[i].kind != ETX_IR_ARG_VALUE) continue;
    ETX_TRY(concat_rows(j, nodes, g, i, &args[i]));
  }
  etx_ir_value value = {.has_shape = true, .shape = *result_of(j, first)};
  etx_dim* const columns = &value.shape.dims[value.shape.rank - 1];
  *columns = 0;
  for (size_t i = 0; i < g->count; ++i) {
    *columns += columns_of(j, &nodes[g->items[i]]);
  }
  ETX_TRY(etx_ir_add_value(j->module, j->method, &value, out_value));
  etx_ir_node node = *first;
  node.args = args;
  node.outputs = out_value;
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_node(j->module, j->method, &node, &index));
  return etx_fusion_report_fused_node(&j->context->fusions, j->module,
                                      j->method, first, kind);
}

static etx_status add_slice(const parallel_linear_pass* j,
                            const etx_ir_node* product, uint32_t whole,
                            etx_dim start) {
  const etx_dim last = (etx_dim)result_of(j, product)->rank - 1;
  etx_ir_arg args[] = {
      etx_ir_value_arg(whole), etx_ir_int(last), etx_ir_int(start),
      etx_ir_int(start + columns_of(j, product)), etx_ir_int(1)};
  etx_ir_node node = *product;
  node.op = etx_op_at(ETX_OP_slice_copy_tensor_out);
  node.args = args;
  node.arg_count = sizeof args / sizeof *args;
  uint32_t index = 0;
  return etx_ir_add_node(j->module, j->method, &node, &index);
}

static etx_status add_layers(const parallel_linear_pass* j,
                             const etx_ir_node* nodes,
                             const parallel_layers* g) {
  uint32_t whole = 0;
  etx_dim start = 0;
  ETX_TRY(add_fused_layer(j, nodes, g, &whole));
  for (size_t i = 0; i < g->count; ++i) {
    const etx_ir_node* const product = &nodes[g->items[i]];
    ETX_TRY(add_slice(j, product, whole, start));
    start += columns_of(j, product);
  }
  return ETX_OK;
}

// ------------------------------------------------ methods

// Finds the layers that can be fused with the one at `first`, and reports why
// others cannot.
static etx_status find_layers(const parallel_linear_pass* j,
                              const etx_ir_node* nodes, size_t node_count,
                              size_t first, const bool* is_seen,
                              parallel_layers* out) {
  out->count = 0;
  if (!is_linear(&nodes[first]) || is_seen[first]) return ETX_OK;
  const char* obstacle = obstacle_of(j, &nodes[first]);
  size_t siblings = 0;
  if (obstacle == NULL) out->items[out->count++] = first;
  for (size_t i = first + 1; i < node_count; ++i) {
    if (is_seen[i] || !share_input(&nodes[first], &nodes[i])) continue;
    ++siblings;
    const char* const other = obstacle_of(j, &nodes[i]);
    if (obstacle == NULL) obstacle = other;
    if (other == NULL && out->count > 0 && out->count < MAX_LAYERS &&
        have_same_types(j, &nodes[first], &nodes[i])) {
      out->items[out->count++] = i;
    }
  }
  if (out->count >= 2 && !can_share(j, nodes, out)) {
    out->count = 0;
    obstacle = other_uses;
  }
  if (out->count >= 2 || siblings == 0) return ETX_OK;
  etx_builder builder;
  memset(&builder, 0, sizeof builder);
  builder.module = j->module;
  builder.method = j->method;
  builder.name = j->method->values[nodes[first].outputs[0]].name;
  return etx_fusion_report_missed(&j->context->fusions, &builder, kind,
                                  obstacle == NULL ? "" : obstacle);
}

// Marks the other layers of this input, so that they are not reported again.
static void mark_siblings(const etx_ir_node* nodes, size_t node_count,
                          size_t first, bool* is_seen) {
  for (size_t i = first + 1; i < node_count; ++i) {
    if (share_input(&nodes[first], &nodes[i])) is_seen[i] = true;
  }
}

static etx_status fuse_method(const parallel_linear_pass* j) {
  etx_ir_method* const method = j->method;
  etx_ir_node* const nodes = method->nodes;
  const size_t node_count = method->node_count;
  bool* const is_seen = etx_pool_take(j->module->pool, node_count + 1);
  bool* const is_fused = etx_pool_take(j->module->pool, node_count + 1);
  if (is_seen == NULL || is_fused == NULL) return ETX_OUT_OF_MEMORY;
  memset(is_seen, 0, node_count + 1);
  memset(is_fused, 0, node_count + 1);
  etx_ir_restart_nodes(method);
  for (size_t i = 0; i < node_count; ++i) {
    parallel_layers g;
    uint32_t index = 0;
    ETX_TRY(find_layers(j, nodes, node_count, i, is_seen, &g));
    if (is_linear(&nodes[i]) && g.count < 2) {
      mark_siblings(nodes, node_count, i, is_seen);
    }
    if (g.count >= 2) {
      ETX_TRY(add_layers(j, nodes, &g));
      for (size_t k = 0; k < g.count; ++k) {
        is_seen[g.items[k]] = is_fused[g.items[k]] = true;
      }
    } else if (!is_fused[i]) {
      ETX_TRY(etx_ir_keep_node(j->module, method, &nodes[i], &index));
    }
  }
  return etx_ir_drop_dead_nodes(j->module, method);
}

etx_status etx_pass_fuse_parallel_linear(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  const uint32_t* const uses = count_uses(module);
  if (uses == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_ir_method* const method = &module->methods[i];
    const parallel_linear_pass j = {context, module, method, uses,
                                    etx_is_variant_name(method->name)};
    ETX_TRY(fuse_method(&j));
  }
  return ETX_OK;
}
