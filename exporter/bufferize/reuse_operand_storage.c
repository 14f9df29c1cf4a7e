// Lets a result take over the block of an operand that dies in the same node,
// if the operator can work in place and the sizes are equal. Fewer blocks are
// then live at once, and operators that change only a part of their operand
// copy nothing.
//
// A value that depends on sizes alone is not overwritten by one that depends on
// more: the runtime keeps it for later calls (exporter/placement/size_only.h).
//
// Sizes must be equal because a small result would keep a large block alive.
// One pass over the nodes; the first operand that fits is taken.
//
// The initial value of a loop that dies in the copy to the carried value is
// computed in the storage of the carried value, and the copy is removed. The
// file then has one tensor for both, which instructions write. So an initial
// value that shows another tensor with other sizes is copied.
//
// With --parallel-regions, another reader of the operand may be in a region
// that runs at the same time. So the operand is taken over only if the node
// depends on all other readers.

#include "exporter/ir/ir_cond.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/operand_reuse.h"
#include "exporter/placement/placement_check.h"
#include "exporter/placement/size_only.h"
#include "exporter/placement/view_rules.h"

typedef struct storage_reuse {
  const etx_ir_method* method;
  etx_placement* placement;
  size_t* last_read;  // by storage: the last node that reads it; node_count for
                      // outputs, 0 if none
  // With --parallel-regions: a row of bits for each node, those of the nodes
  // that it depends on. Otherwise NULL.
  uint64_t* ancestors;
  size_t words;           // of a row
  const bool* size_only;  // by value: it depends on sizes alone
} storage_reuse;

typedef struct read_position {
  storage_reuse* r;
  size_t node;
  uint32_t storage;  // the storage whose readers are looked for
  bool is_read;
} read_position;

static void read_at(storage_reuse* r, uint32_t value, size_t node) {
  const uint32_t storage = etx_placement_range(r->placement, value).storage;
  if (node > r->last_read[storage]) r->last_read[storage] = node;
}

static etx_status note_read(void* context, size_t argument, uint32_t value) {
  const read_position* const at = context;
  (void)argument;
  read_at(at->r, value, at->node);
  return ETX_OK;
}

static etx_status find_last_reads(storage_reuse* r) {
  for (size_t n = 0; n < r->method->node_count; ++n) {
    read_position at = {.r = r, .node = n};
    if (!etx_placement_has_instruction(r->placement, &r->method->nodes[n]))
      continue;
    ETX_TRY(etx_placement_each_read(&r->method->nodes[n], note_read, &at));
  }
  for (size_t i = 0; i < r->method->output_count; ++i) {
    const etx_ir_arg* const arg = &r->method->outputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE) {
      read_at(r, arg->as.value, r->method->node_count);
    }
  }
  return ETX_OK;
}

// ---- regions ----

static etx_status add_ancestors(void* context, size_t argument,
                                uint32_t value) {
  const read_position* const at = context;
  const storage_reuse* const r = at->r;
  const etx_ir_value* const from = &r->method->values[value];
  (void)argument;
  if (from->origin != ETX_IR_FROM_NODE) return ETX_OK;
  uint64_t* const row = &r->ancestors[at->node * r->words];
  const uint64_t* const other = &r->ancestors[from->index * r->words];
  for (size_t w = 0; w < r->words; ++w) row[w] |= other[w];
  row[from->index / 64] |= UINT64_C(1) << from->index % 64;
  return ETX_OK;
}

static etx_status find_ancestors(storage_reuse* r, etx_pool* pool) {
  const size_t count = r->method->node_count;
  r->words = count / 64 + 1;
  r->ancestors = etx_pool_take(pool, count * r->words * sizeof(uint64_t));
  if (r->ancestors == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t n = 0; n < count; ++n) {
    read_position at = {.r = r, .node = n};
    ETX_TRY(etx_placement_each_read(&r->method->nodes[n], add_ancestors, &at));
  }
  return ETX_OK;
}

static etx_status note_reader(void* context, size_t argument, uint32_t value) {
  read_position* const at = context;
  (void)argument;
  if (etx_placement_range(at->r->placement, value).storage == at->storage) {
    at->is_read = true;
  }
  return ETX_OK;
}

// True if the node depends on all other nodes that read the block, which come
// before it.
static bool depends_on_readers(storage_reuse* r, size_t index, uint32_t block) {
  if (r->ancestors == NULL) return true;
  const uint64_t* const row = &r->ancestors[index * r->words];
  for (size_t n = 0; n < index; ++n) {
    read_position at = {.r = r, .node = n, .storage = block};
    if ((row[n / 64] >> n % 64 & 1) != 0) continue;
    if (etx_placement_each_read(&r->method->nodes[n], note_reader, &at) !=
            ETX_OK ||
        at.is_read) {
      return false;
    }
  }
  return true;
}

static void reuse_in_node(storage_reuse* r, size_t index) {
  const etx_ir_node* const node = &r->method->nodes[index];
  const uint32_t result = etx_operand_reuse_result(r->placement, node);
  if (result == ETX_IR_NONE) return;
  etx_value_placement* const place = &r->placement->values[result];
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!etx_operand_reuse_is_allowed(r->method, r->placement, node, i,
                                      result)) {
      continue;
    }
    const uint32_t operand = node->args[i].as.value;
    if (r->size_only[operand] && !r->size_only[result]) continue;
    const uint32_t block = etx_placement_range(r->placement, operand).storage;
    if (r->last_read[block] != index || !depends_on_readers(r, index, block))
      continue;
    r->last_read[block] = r->last_read[place->storage];
    place->storage = block;
    return;
  }
}

// ---- loops ----

// Lets all values in storage `from` use storage `to`.
static void merge_storage(const storage_reuse* r, uint32_t from, uint32_t to) {
  for (size_t v = 0; v < r->placement->value_count; ++v) {
    etx_value_placement* const place = &r->placement->values[v];
    if (etx_placement_kind_is_root(place->kind) && place->storage == from) {
      place->storage = to;
    }
  }
}

// True if the node copies an initial value to a carried value of a loop.
static bool starts_loop(const etx_ir_method* method, const etx_ir_node* node) {
  if (node->op->id != ETX_OP_clone_out || !node->keeps_copy) return false;
  for (size_t n = 0; n < method->node_count; ++n) {
    const etx_ir_node* const join = &method->nodes[n];
    if (etx_ir_is_join(join) &&
        join->args[ETX_JOIN_ELSE].as.value == node->outputs[0]) {
      return true;
    }
  }
  return false;
}

// True if an instruction writes this value, with these sizes. An instruction
// that only moves elements within one block will be removed.
static bool is_written(const storage_reuse* r, uint32_t value) {
  for (;;) {
    etx_value_view view;
    value = etx_placement_written_as(r->method, r->placement, value);
    const etx_ir_value* const v = &r->method->values[value];
    if (!etx_placement_kind_is_root(r->placement->values[value].kind)) {
      return false;
    }
    if (v->origin != ETX_IR_FROM_NODE ||
        !etx_value_view_find(r->method, &r->method->nodes[v->index], 0,
                             &view) ||
        etx_placement_range(r->placement, view.base).storage !=
            etx_placement_range(r->placement, value).storage) {
      return true;
    }
    if (!etx_value_view_same_shape(r->method, value, view.base)) return false;
    value = view.base;
  }
}

// Computes the operand of such a copy in the storage of the result.
static etx_status start_in_place(storage_reuse* r, etx_pool* pool,
                                 size_t index) {
  const etx_ir_node* const node = &r->method->nodes[index];
  if (!starts_loop(r->method, node)) return ETX_OK;
  const uint32_t initial = node->args[0].as.value;
  const uint32_t carried = node->outputs[0];
  const uint32_t from = etx_placement_range(r->placement, initial).storage;
  const uint32_t to = etx_placement_range(r->placement, carried).storage;
  etx_placement_conflicts conflicts = {0};
  const size_t saved_bytes =
      r->placement->value_count * sizeof *r->placement->values;
  if (from == to || r->last_read[from] != index || !is_written(r, initial) ||
      !etx_operand_reuse_is_block(r->placement, initial) ||
      !etx_operand_reuse_is_block(r->placement, carried) ||
      r->placement->storages[from].bytes != r->placement->storages[to].bytes) {
    return ETX_OK;
  }
  etx_value_placement* const saved = etx_pool_take(pool, saved_bytes);
  if (saved == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(saved, r->placement->values, saved_bytes);
  merge_storage(r, from, to);
  ETX_TRY(etx_placement_check(pool, r->method, r->placement, to,
                              ETX_PLACEMENT_CHECK_ALL, &conflicts));
  if (conflicts.count > 0) {
    memcpy(r->placement->values, saved, saved_bytes);
  }
  return ETX_OK;
}

etx_status etx_pass_reuse_operand_storage(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    storage_reuse r = {.method = &module->methods[m],
                       .placement = &context->placements[m]};
    r.last_read = etx_pool_take(
        module->pool, r.placement->storage_count * sizeof *r.last_read);
    if (r.last_read == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(find_last_reads(&r));
    ETX_TRY(etx_size_only_values(r.method, r.placement, module->pool,
                                 &r.size_only));
    if (context->options->parallel_regions) {
      ETX_TRY(find_ancestors(&r, module->pool));
    }
    for (size_t n = 0; n < r.method->node_count; ++n) reuse_in_node(&r, n);
    if (!etx_ir_has_loops(r.method)) continue;
    for (size_t n = 0; n < r.method->node_count; ++n) {
      ETX_TRY(start_in_place(&r, module->pool, n));
    }
  }
  return ETX_OK;
}
