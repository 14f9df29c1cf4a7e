// Computes the operands of a concatenation directly in its result.
//
//   a = f(x)      c: | a     | b         |
//   b = g(x)         ^ block of c, live from the first operand on
//   c = cat(a, b)    no instruction
//
// This needs operands that are contiguous and aligned in the result, that have
// blocks of their own, and fixed sizes. The result's block then lives longer
// than before, so a concatenation is left as it is if the peak of live bytes
// would rise; except where a pass split an operator into parts, whose whole
// result needed even more.

#include "exporter/ir/ir_cond.h"
#include "exporter/placement/liveness.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

typedef struct concat_elision {
  etx_ir_module* module;
  const etx_ir_method* method;
  etx_placement* placement;
  etx_pool* pool;  // freed at the end of the pass
} concat_elision;

// The peak of the live bytes.
static etx_status peak_of(const concat_elision* j, uint64_t* out_peak) {
  const size_t times = j->method->node_count + 2;
  etx_live_interval* lifetimes = NULL;
  ETX_TRY(etx_liveness_find(j->pool, j->method, j->placement, &lifetimes));
  int64_t* const change = etx_pool_take(j->pool, times * sizeof *change);
  if (change == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t s = 0; s < j->placement->storage_count; ++s) {
    if (lifetimes[s].end == 0) continue;
    const int64_t bytes = (int64_t)j->placement->storages[s].bytes;
    change[lifetimes[s].start] += bytes;
    change[lifetimes[s].end] -= bytes;
  }
  int64_t live = 0;
  *out_peak = 0;
  for (size_t t = 0; t < times; ++t) {
    live += change[t];
    if (live > 0 && (uint64_t)live > *out_peak) *out_peak = (uint64_t)live;
  }
  return ETX_OK;
}

// True if the value has a block of its own.
static bool has_own_block(const concat_elision* j, uint32_t value) {
  uint64_t delta = 0;
  const uint32_t root = etx_placement_root(j->placement, value, &delta);
  const etx_value_placement* const place = &j->placement->values[root];
  const etx_storage* const storage = &j->placement->storages[place->storage];
  return place->kind != ETX_PLACEMENT_EXTERNAL && delta == 0 &&
         etx_placement_has_fixed_offset(j->placement, value) &&
         place->offset == 0 && storage->kind == ETX_STORAGE_SCRATCH &&
         storage->index == ETX_IR_NONE && !storage->is_branch_result &&
         storage->bytes == j->placement->values[value].bytes &&
         storage->bytes != 0;
}

static void move_block(const concat_elision* j, uint32_t from, uint32_t to,
                       uint64_t offset) {
  for (size_t v = 0; v < j->placement->value_count; ++v) {
    etx_value_placement* const place = &j->placement->values[v];
    if (!etx_placement_kind_is_root(place->kind) || place->storage != from)
      continue;
    place->storage = to;
    place->offset += offset;
  }
}

// True if `operand` is computed in each iteration of the loops around `node`.
static bool is_computed_as_often(const concat_elision* j,
                                 const etx_ir_node* node, uint32_t operand) {
  const etx_ir_value* const value = &j->method->values[operand];
  return !etx_ir_has_loops(j->method) ||
         (value->origin == ETX_IR_FROM_NODE &&
          j->method->nodes[value->index].branch == node->branch);
}

static bool can_be_elided(const concat_elision* j, const etx_ir_node* node) {
  const uint32_t result = node->outputs[0];
  const etx_ir_arg* const operands = &node->args[0];
  const etx_shape* const shape = &j->method->values[result].shape;
  int64_t dimension = node->args[1].as.integer;
  if (j->placement->values[result].kind != ETX_PLACEMENT_COMPUTED ||
      !has_own_block(j, result) || !etx_ir_is_static(shape)) {
    return false;
  }
  if (dimension < 0) dimension += shape->rank;
  for (int64_t i = 0; i < dimension; ++i) {
    if (shape->dims[i] != 1) return false;
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < operands->as.list.count; ++i) {
    const uint32_t operand = operands->as.list.items[i].as.value;
    const etx_shape* const from = &j->method->values[operand].shape;
    if (from->dtype != shape->dtype || !etx_ir_is_static(from) ||
        !has_own_block(j, operand) || bytes % j->module->alignment != 0 ||
        !is_computed_as_often(j, node, operand)) {
      return false;
    }
    bytes += j->placement->values[operand].bytes;
    for (size_t k = 0; k < i; ++k) {
      const uint32_t other = operands->as.list.items[k].as.value;
      if (etx_placement_range(j->placement, other).storage ==
          etx_placement_range(j->placement, operand).storage) {
        return false;
      }
    }
  }
  return bytes == j->placement->values[result].bytes;
}

static etx_status elide(const concat_elision* j, const etx_ir_node* node) {
  if (node->op->id != ETX_OP_cat_out || !can_be_elided(j, node)) return ETX_OK;
  const size_t bytes = j->placement->value_count * sizeof(etx_value_placement);
  etx_value_placement* const before = etx_pool_take(j->pool, bytes);
  if (before == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(before, j->placement->values, bytes);
  uint64_t peak_before = 0;
  uint64_t peak_after = 0;
  ETX_TRY(peak_of(j, &peak_before));

  etx_value_placement* const result = &j->placement->values[node->outputs[0]];
  const etx_ir_arg* const operands = &node->args[0];
  uint64_t offset = 0;
  for (size_t i = 0; i < operands->as.list.count; ++i) {
    const uint32_t operand = operands->as.list.items[i].as.value;
    const uint64_t size = j->placement->values[operand].bytes;
    move_block(j, etx_placement_range(j->placement, operand).storage,
               result->storage, offset);
    offset += size;
  }
  result->kind = ETX_PLACEMENT_CONCAT;

  ETX_TRY(peak_of(j, &peak_after));
  if (peak_after > peak_before && !node->is_parted) {
    memcpy(j->placement->values, before, bytes);
  }
  return ETX_OK;
}

etx_status etx_pass_elide_concat(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    etx_pool pool;
    etx_pool_init(&pool);
    const concat_elision j = {module, &module->methods[m],
                              &context->placements[m], &pool};
    etx_status status = ETX_OK;
    for (size_t n = 0; n < j.method->node_count && status == ETX_OK; ++n) {
      status = elide(&j, &j.method->nodes[n]);
    }
    etx_pool_close(&pool);
    ETX_TRY(status);
  }
  return ETX_OK;
}
