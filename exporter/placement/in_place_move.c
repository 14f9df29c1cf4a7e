#include "exporter/placement/in_place_move.h"

#include "exporter/placement/view_rules.h"

// A chain of updates is followed back so far: one update for each layer of a
// stacked cache, for example.
enum { MAX_NESTING = 256 };

// True if the value can get another storage: a node computes it in a block of
// its own, or the branches of a conditional do.
static bool is_movable(const etx_in_place_move* m, uint32_t root) {
  const etx_value_placement* const place = &m->placement->values[root];
  const etx_storage* const storage = &m->placement->storages[place->storage];
  const bool is_alone =
      place->kind == ETX_PLACEMENT_COMPUTED && !storage->is_branch_result;
  return (is_alone || place->kind == ETX_PLACEMENT_BRANCH_RESULT) &&
         storage->kind == ETX_STORAGE_SCRATCH && storage->index == ETX_IR_NONE;
}

// True if roots `a` and `b` have the same storage.
static bool shares_storage(const etx_in_place_move* m, uint32_t a, uint32_t b) {
  return m->placement->values[a].storage == m->placement->values[b].storage;
}

// The address of the caller's memory is not planned: only the input's own
// tensor and views that are made at run time can refer to it. True if `root`
// can be placed there; then aliases of it become such views.
static bool adapt_to_caller_memory(etx_in_place_move* m, uint32_t root) {
  if (m->placement->storages[m->target].kind != ETX_STORAGE_INPUT) return true;
  if (!etx_value_view_same_shape(m->method, root, m->old_content)) return false;
  for (uint32_t v = 0; v < m->placement->value_count; ++v) {
    etx_value_placement* const place = &m->placement->values[v];
    uint64_t delta = 0;
    if (place->kind == ETX_PLACEMENT_ALIAS &&
        shares_storage(m, etx_placement_root(m->placement, v, &delta), root) &&
        !etx_value_view_same_shape(m->method, v, root)) {
      place->kind = ETX_PLACEMENT_DYNAMIC_VIEW;
    }
  }
  return true;
}

static bool place_at(etx_in_place_move* m, uint32_t value, uint64_t offset,
                     size_t nesting);

// Computes the source of a scatter in the range that the scatter would write.
static bool place_scatter(etx_in_place_move* m, const etx_ir_node* node,
                          uint32_t root, uint64_t offset, size_t nesting) {
  etx_value_view source_view;
  if (!etx_value_view_find_scatter(m->method, node, &source_view)) return false;
  if (m->placement->storages[m->target].kind == ETX_STORAGE_INPUT) return false;
  if (!place_at(m, source_view.base, offset, nesting + 1)) return false;
  const uint32_t source = node->args[1].as.value;
  uint64_t delta = 0;
  if (!place_at(m, source, offset + source_view.delta, nesting + 1)) {
    return false;
  }
  const uint32_t source_root = etx_placement_root(m->placement, source, &delta);
  m->placement->values[source_root].base = source_view.base;
  etx_value_placement* const place = &m->placement->values[root];
  place->kind = ETX_PLACEMENT_UPDATED_IN_PLACE;
  place->base = source_view.base;
  place->delta = 0;
  return true;
}

// Places a root that a node computes at `offset` of the target, together with
// the values that the node can compute in place.
static void place_computed(etx_in_place_move* m, uint32_t root, uint64_t offset,
                           size_t nesting) {
  etx_value_placement* const place = &m->placement->values[root];
  const etx_ir_node* const node =
      &m->method->nodes[m->method->values[root].index];
  const bool should_continue = nesting < MAX_NESTING;
  if (m->reach != ETX_MOVE_VALUE_ONLY && should_continue &&
      place_scatter(m, node, root, offset, nesting)) {
    return;
  }
  place->storage = m->target;
  place->offset = offset;
  if (m->reach == ETX_MOVE_ALL_IN_PLACE && should_continue &&
      node->op->in_place == ETX_IN_PLACE_SELF && node->outputs[0] == root &&
      node->args[0].kind == ETX_IR_ARG_VALUE) {
    (void)place_at(m, node->args[0].as.value, offset, nesting + 1);
  }
}

// Places the result of a join: both branches then compute it there.
static void place_branch_result(etx_in_place_move* m, uint32_t root,
                                uint64_t offset, size_t nesting) {
  const uint32_t block = m->placement->values[root].storage;
  for (uint32_t v = 0; v < m->placement->value_count; ++v) {
    etx_value_placement* const place = &m->placement->values[v];
    if (!etx_placement_kind_is_root(place->kind) || place->storage != block)
      continue;
    if (place->kind == ETX_PLACEMENT_COMPUTED) {
      place_computed(m, v, offset + place->offset, nesting);
    } else {
      place->storage = m->target;
      place->offset += offset;
    }
  }
}

// Places the root of `value` so that `value` is at `offset` of the target.
// False if that is impossible.
static bool place_at(etx_in_place_move* m, uint32_t value, uint64_t offset,
                     size_t nesting) {
  uint64_t delta = 0;
  const uint32_t root = etx_placement_root(m->placement, value, &delta);
  etx_value_placement* const place = &m->placement->values[root];
  if (!etx_placement_has_fixed_offset(m->placement, value)) return false;
  if (place->storage == m->target) {
    return place->offset + delta == offset;
  }
  const uint64_t limit = m->placement->storages[m->target].bytes;
  if (!is_movable(m, root) || delta != 0 || place->offset != 0 ||
      place->bytes != m->placement->values[value].bytes || offset > limit ||
      place->bytes > limit - offset || !adapt_to_caller_memory(m, root)) {
    return false;
  }
  if (place->kind == ETX_PLACEMENT_BRANCH_RESULT) {
    place_branch_result(m, root, offset, nesting);
  } else {
    place_computed(m, root, offset, nesting);
  }
  return true;
}

bool etx_in_place_move_value(etx_in_place_move* m, uint32_t value) {
  return place_at(m, value, 0, 0);
}

etx_status etx_in_place_move_save(etx_in_place_move* m) {
  const size_t count = m->placement->value_count;
  if (m->saved_capacity < count) {
    m->saved_capacity = 2 * count;
    m->saved = etx_pool_take(m->pool, m->saved_capacity * sizeof *m->saved);
    if (m->saved == NULL) return ETX_OUT_OF_MEMORY;
  }
  m->saved_count = count;
  memcpy(m->saved, m->placement->values, count * sizeof *m->saved);
  return ETX_OK;
}

void etx_in_place_move_restore(const etx_in_place_move* m) {
  memcpy(m->placement->values, m->saved, m->saved_count * sizeof *m->saved);
}
