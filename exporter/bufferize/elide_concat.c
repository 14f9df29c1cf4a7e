// Computes the operands of a concatenation directly in its result.
//
//   a = f(x)      c: | a     | b         |
//   b = g(x)         ^ block of c, live from the first operand on
//   c = cat(a, b)    no instruction
//
// This needs operands that are contiguous and aligned in the result, and that
// have blocks of their own. If sizes are dynamic, so are the places of the
// operands: for etx's runtime, instructions give each operand the bytes behind
// those of the operand before it, in front of the first node that computes one,
// and the concatenation finds nothing to copy. The places at the upper bounds
// stand for all others while planning, because operands of all sizes are
// disjoint and within the result.
//
// The result's block then lives longer than before, so a concatenation is left
// as it is if the peak of live bytes would rise; except where a pass split an
// operator into parts, whose whole result needed even more.

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_late.h"
#include "exporter/placement/liveness.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

// What a concatenation does with a block.
typedef struct joined_block {
  uint32_t joined_by;  // 1 + the node that has an operand in this block
  uint64_t offset;     // of that operand in the result
  uint32_t computed;   // values that nodes compute there, as a whole
} joined_block;

typedef struct concat_elision {
  etx_ir_module* module;
  const etx_ir_method* method;
  etx_placement* placement;
  etx_pool* pool;        // freed at the end of the pass
  bool can_move;         // etx's runtime can give operands dynamic places
  joined_block* blocks;  // by storage
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

// Moves the blocks that node `number` joins into the block `to`.
static void move_blocks(const concat_elision* j, size_t number, uint32_t to) {
  for (size_t v = 0; v < j->placement->value_count; ++v) {
    etx_value_placement* const place = &j->placement->values[v];
    if (!etx_placement_kind_is_root(place->kind)) continue;
    const joined_block* const block = &j->blocks[place->storage];
    if (block->joined_by != number + 1) continue;
    place->storage = to;
    place->offset += block->offset;
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

// True if the result is in a block of its own, and each operand is contiguous
// in it.
static bool is_joinable(const concat_elision* j, const etx_ir_node* node) {
  const uint32_t result = node->outputs[0];
  const etx_shape* const shape = &j->method->values[result].shape;
  int64_t dimension = node->args[1].as.integer;
  if (j->placement->values[result].kind != ETX_PLACEMENT_COMPUTED ||
      !has_own_block(j, result)) {
    return false;
  }
  if (dimension < 0) dimension += shape->rank;
  for (int64_t i = 0; i < dimension; ++i) {
    if (shape->dims[i] != 1) return false;
  }
  return true;
}

// Notes the block of an operand at `offset` of the result. False if an operand
// before it has the same block.
static bool join_block(const concat_elision* j, size_t number, uint32_t operand,
                       uint64_t offset) {
  joined_block* const block =
      &j->blocks[etx_placement_range(j->placement, operand).storage];
  if (block->joined_by == number + 1) return false;
  block->joined_by = (uint32_t)number + 1;
  block->offset = offset;
  return true;
}

static bool can_be_elided(const concat_elision* j, size_t number) {
  const etx_ir_node* const node = &j->method->nodes[number];
  const uint32_t result = node->outputs[0];
  const etx_ir_arg* const operands = &node->args[0];
  const etx_shape* const shape = &j->method->values[result].shape;
  if (!is_joinable(j, node) || !etx_ir_is_static(shape)) return false;
  uint64_t bytes = 0;
  for (size_t i = 0; i < operands->as.list.count; ++i) {
    const uint32_t operand = operands->as.list.items[i].as.value;
    const etx_shape* const from = &j->method->values[operand].shape;
    if (from->dtype != shape->dtype || !etx_ir_is_static(from) ||
        !has_own_block(j, operand) || bytes % j->module->alignment != 0 ||
        !is_computed_as_often(j, node, operand) ||
        !join_block(j, number, operand, bytes)) {
      return false;
    }
    bytes += j->placement->values[operand].bytes;
  }
  return bytes == j->placement->values[result].bytes;
}

// ---- dynamic sizes ----

// True if the value shows all elements of the value that it is an alias of.
static bool shows_all_of_base(const concat_elision* j, uint32_t value) {
  const etx_ir_node* const node =
      &j->method->nodes[j->method->values[value].index];
  etx_value_view view;
  size_t output = 0;
  while (node->outputs[output] != value) ++output;
  return etx_value_view_find(j->method, node, output, &view) &&
         view.all_elements && view.base == j->placement->values[value].base;
}

// True if a node computes all elements of the operand, and no others, in a
// block of its own.
static bool is_computed_alone(const concat_elision* j, uint32_t operand) {
  uint32_t root = operand;
  while (!etx_placement_kind_is_root(j->placement->values[root].kind)) {
    if (!shows_all_of_base(j, root)) return false;
    root = j->placement->values[root].base;
  }
  return j->placement->values[root].part_of == 0 &&
         j->blocks[j->placement->values[root].storage].computed == 1;
}

static void count_computed(const concat_elision* j) {
  for (size_t s = 0; s < j->placement->storage_count; ++s) {
    j->blocks[s].computed = 0;
  }
  for (uint32_t v = 0; v < j->placement->value_count; ++v) {
    const etx_value_placement* const place = &j->placement->values[v];
    if (etx_placement_kind_is_root(place->kind) && place->part_of == 0) {
      ++j->blocks[place->storage].computed;
    }
  }
}

static bool can_be_joined(const concat_elision* j, size_t number) {
  const etx_ir_node* const node = &j->method->nodes[number];
  const uint32_t result = node->outputs[0];
  const etx_ir_arg* const operands = &node->args[0];
  if (!j->can_move || j->method->cond_count != 0 || !is_joinable(j, node) ||
      etx_ir_late_in_value(j->method, result) != 0) {
    return false;
  }
  count_computed(j);
  uint64_t bytes = 0;
  for (size_t i = 0; i < operands->as.list.count; ++i) {
    const uint32_t operand = operands->as.list.items[i].as.value;
    const etx_ir_value* const value = &j->method->values[operand];
    if (value->shape.dtype != j->method->values[result].shape.dtype ||
        etx_ir_late_in_value(j->method, operand) != 0 ||
        !has_own_block(j, operand) || !is_computed_alone(j, operand) ||
        !join_block(j, number, operand, bytes)) {
      return false;
    }
    bytes += j->placement->values[operand].bytes;
  }
  return bytes == j->placement->values[result].bytes;
}

// Only instructions can give the aliases of joined blocks addresses that move.
static void make_aliases_dynamic(const concat_elision* j, size_t number) {
  for (uint32_t v = 0; v < j->placement->value_count; ++v) {
    etx_value_placement* const place = &j->placement->values[v];
    if (place->kind == ETX_PLACEMENT_ALIAS &&
        j->blocks[etx_placement_range(j->placement, v).storage].joined_by ==
            number + 1 &&
        !etx_value_view_same_shape(j->method, v, place->base)) {
      place->kind = ETX_PLACEMENT_DYNAMIC_VIEW;
    }
  }
}

static void make_parts(const concat_elision* j, size_t number) {
  const etx_ir_node* const node = &j->method->nodes[number];
  const etx_ir_arg* const operands = &node->args[0];
  make_aliases_dynamic(j, number);
  for (size_t i = 0; i < operands->as.list.count; ++i) {
    uint64_t delta = 0;
    const uint32_t root = etx_placement_root(
        j->placement, operands->as.list.items[i].as.value, &delta);
    j->placement->values[root].part_of = node->outputs[0] + 1;
  }
}

static bool has_fixed_sizes(const concat_elision* j, const etx_ir_node* node) {
  const etx_ir_arg* const operands = &node->args[0];
  bool are_fixed = etx_ir_is_static(&j->method->values[node->outputs[0]].shape);
  for (size_t i = 0; i < operands->as.list.count; ++i) {
    are_fixed =
        are_fixed &&
        etx_ir_is_static(
            &j->method->values[operands->as.list.items[i].as.value].shape);
  }
  return are_fixed;
}

static etx_status elide(const concat_elision* j, size_t number) {
  const etx_ir_node* const node = &j->method->nodes[number];
  if (node->op->id != ETX_OP_cat_out) return ETX_OK;
  const bool moves = !has_fixed_sizes(j, node);
  if (!(moves ? can_be_joined(j, number) : can_be_elided(j, number))) {
    return ETX_OK;
  }
  const size_t bytes = j->placement->value_count * sizeof(etx_value_placement);
  etx_value_placement* const before = etx_pool_take(j->pool, bytes);
  if (before == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(before, j->placement->values, bytes);
  uint64_t peak_before = 0;
  uint64_t peak_after = 0;
  ETX_TRY(peak_of(j, &peak_before));

  etx_value_placement* const result = &j->placement->values[node->outputs[0]];
  if (moves) make_parts(j, number);
  move_blocks(j, number, result->storage);
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
    const concat_elision j = {
        module,
        &module->methods[m],
        &context->placements[m],
        &pool,
        context->options->target == ETX_TARGET_ETX,
        etx_pool_take(&pool, context->placements[m].storage_count *
                                 sizeof(joined_block))};
    etx_status status = j.blocks == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
    for (size_t n = 0; n < j.method->node_count && status == ETX_OK; ++n) {
      status = elide(&j, n);
    }
    etx_pool_close(&pool);
    ETX_TRY(status);
  }
  return ETX_OK;
}
