// Updates in place: the new content of a state (or of a mutable input) is
// computed in the state's own bytes.
//
// Each mutation is tried alone. Its value gets the target's bytes, and with it
// whatever can follow: a chain select -> index_copy -> select_scatter then
// computes in the part of the state that it selected, and the scatter has
// nothing left to do. place_check says whether somebody would miss the old
// content. If so, in this order:
//
//   the value with less of what could follow, or alone;
//   the node that computes it moved to the end, if only the end reads it;
//   the old content that is missed saved in a copy, if that is no more than
//   the copy at the end would be.
//
// What fails stays where it was; write_back copies it.

#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/placement_check.h"
#include "exporter/placement/placement_copy.h"
#include "exporter/placement/view_rules.h"

enum { MAX_NESTING = ETX_MAX_RANK };

// What moves with a value that is computed in its target.
typedef enum following {
  NOTHING,  // it stands alone
  PATCHES,  // sources of scatters, where the scatter puts them
  ALL,      // and what an operator changes in place
} following;

typedef struct updating {
  etx_pass_context* context;
  etx_ir_module* module;
  etx_ir_method* method;
  etx_placement* placement;
  uint32_t method_index;
  uint32_t target;             // storage
  uint32_t given;              // value that holds the target's old content
  following follows;           // what moves with the value
  etx_value_placement* saved;  // places before the present attempt
  size_t saved_count, saved_capacity;
} updating;

// A value whose bytes may still move: a node writes them to a block of their
// own, or the branches of a choice do.
static bool is_movable(const updating* u, uint32_t root) {
  const etx_value_placement* const place = &u->placement->values[root];
  const etx_storage* const storage = &u->placement->storages[place->storage];
  const bool is_alone =
      place->kind == ETX_PLACEMENT_COMPUTED && !storage->is_branch_result;
  return (is_alone || place->kind == ETX_PLACEMENT_BRANCH_RESULT) &&
         storage->kind == ETX_STORAGE_SCRATCH && storage->index == ETX_IR_NONE;
}

// True if root `a` shares its block with root `b`: both belong to one choice.
static bool lies_in(const updating* u, uint32_t a, uint32_t b) {
  return u->placement->values[a].storage == u->placement->values[b].storage;
}

// The caller's memory has no address yet: only the input's own tensor can name
// it, and headers that instructions derive from it.
static bool suits_unplanned(updating* u, uint32_t root) {
  if (u->placement->storages[u->target].kind != ETX_STORAGE_INPUT) return true;
  if (!etx_value_view_same_shape(u->method, root, u->given)) return false;
  for (uint32_t v = 0; v < u->placement->value_count; ++v) {
    etx_value_placement* const place = &u->placement->values[v];
    uint64_t delta = 0;
    if (place->kind == ETX_PLACEMENT_ALIAS &&
        lies_in(u, etx_placement_root(u->placement, v, &delta), root) &&
        !etx_value_view_same_shape(u->method, v, root)) {
      place->kind = ETX_PLACEMENT_DYNAMIC_VIEW;
    }
  }
  return true;
}

static bool settle(updating* u, uint32_t value, uint64_t offset,
                   size_t nesting);

// A scatter whose source can be computed where the scatter would put it.
static bool settle_patch(updating* u, const etx_ir_node* node, uint32_t root,
                         uint64_t offset, size_t nesting) {
  etx_value_view patch;
  if (!etx_value_view_find_scatter(u->method, node, &patch)) return false;
  if (u->placement->storages[u->target].kind == ETX_STORAGE_INPUT) return false;
  if (!settle(u, patch.base, offset, nesting + 1)) return false;
  const uint32_t source = node->args[1].as.value;
  if (!settle(u, source, offset + patch.delta, nesting + 1)) return false;
  etx_value_placement* const place = &u->placement->values[root];
  place->kind = ETX_PLACEMENT_UPDATED_IN_PLACE;
  place->base = patch.base;
  place->delta = 0;
  return true;
}

// Puts the root of `value` so that it lies at `offset` of the target. False if
// it cannot lie there.
// Puts a root there that a node writes, and what follows it.
static void settle_written(updating* u, uint32_t root, uint64_t offset,
                           size_t nesting) {
  etx_value_placement* const place = &u->placement->values[root];
  const etx_ir_node* const node =
      &u->method->nodes[u->method->values[root].index];
  const bool should_continue = nesting < MAX_NESTING;
  if (u->follows != NOTHING && should_continue &&
      settle_patch(u, node, root, offset, nesting)) {
    return;
  }
  place->storage = u->target;
  place->offset = offset;
  if (u->follows == ALL && should_continue &&
      node->op->in_place == ETX_IN_PLACE_SELF &&
      node->args[0].kind == ETX_IR_ARG_VALUE) {
    (void)settle(u, node->args[0].as.value, offset, nesting + 1);
  }
}

// The same for the result of a join: both branches then compute there.
static void settle_chosen(updating* u, uint32_t root, uint64_t offset,
                          size_t nesting) {
  const uint32_t block = u->placement->values[root].storage;
  for (uint32_t v = 0; v < u->placement->value_count; ++v) {
    etx_value_placement* const place = &u->placement->values[v];
    if (!etx_placement_kind_is_root(place->kind) || place->storage != block)
      continue;
    if (place->kind == ETX_PLACEMENT_COMPUTED) {
      settle_written(u, v, offset, nesting);
    } else {
      place->storage = u->target;
      place->offset = offset;
    }
  }
}

static bool settle(updating* u, uint32_t value, uint64_t offset,
                   size_t nesting) {
  uint64_t delta = 0;
  const uint32_t root = etx_placement_root(u->placement, value, &delta);
  etx_value_placement* const place = &u->placement->values[root];
  if (place->storage == u->target) {
    return place->offset + delta == offset;
  }
  const uint64_t limit = u->placement->storages[u->target].bytes;
  if (!is_movable(u, root) || delta != 0 || place->offset != 0 ||
      place->bytes != u->placement->values[value].bytes || offset > limit ||
      place->bytes > limit - offset || !suits_unplanned(u, root)) {
    return false;
  }
  if (place->kind == ETX_PLACEMENT_BRANCH_RESULT) {
    settle_chosen(u, root, offset, nesting);
  } else {
    settle_written(u, root, offset, nesting);
  }
  return true;
}

static etx_status find_conflicts(updating* u, bool everywhere,
                                 etx_placement_check_scope end,
                                 etx_placement_conflicts* conflicts) {
  conflicts->count = 0;
  for (uint32_t s = 0; s < u->placement->storage_count; ++s) {
    const etx_storage* const storage = &u->placement->storages[s];
    if (s != u->target && !(everywhere && etx_storage_is_tracked(storage))) {
      continue;
    }
    ETX_TRY(etx_placement_check(u->module->pool, u->method, u->placement, s,
                                end, conflicts));
  }
  return ETX_OK;
}

// Keeps the places of all values until the next call, for `restore`.
static etx_status remember(updating* u) {
  const size_t count = u->placement->value_count;
  if (u->saved_capacity < count) {
    u->saved_capacity = 2 * count;
    u->saved =
        etx_pool_take(u->module->pool, u->saved_capacity * sizeof *u->saved);
    if (u->saved == NULL) return ETX_OUT_OF_MEMORY;
  }
  u->saved_count = count;
  memcpy(u->saved, u->placement->values, count * sizeof *u->saved);
  return ETX_OK;
}

// Values that were added since keep their places.
static void restore(const updating* u) {
  memcpy(u->placement->values, u->saved, u->saved_count * sizeof *u->saved);
}

static bool can_be_saved(const etx_placement_conflicts* conflicts) {
  for (size_t i = 0; i < conflicts->count; ++i) {
    if (!conflicts->items[i].can_be_saved) return false;
  }
  return true;
}

// True if a mutation that is placed has this value.
static bool is_new_content(const updating* u, uint32_t value) {
  for (size_t i = 0; i < u->method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &u->method->mutations[i];
    if (mutation->value == value &&
        etx_placement_is_in_place(u->placement, mutation)) {
      return true;
    }
  }
  return false;
}

// Nodes find what they read, states end as they should, and what else the end
// of the method misses can still be saved by write_back.
static etx_status is_good(updating* u, bool everywhere, bool* out_good,
                          etx_placement_conflicts* conflicts) {
  *out_good = false;
  ETX_TRY(find_conflicts(u, everywhere, ETX_PLACEMENT_CHECK_ALL, conflicts));
  for (size_t i = 0; i < conflicts->count; ++i) {
    const etx_placement_conflict* const conflict = &conflicts->items[i];
    if (conflict->reader != u->method->node_count || !conflict->can_be_saved ||
        is_new_content(u, conflict->value)) {
      return ETX_OK;
    }
  }
  *out_good = true;
  return ETX_OK;
}

// True if only the end of the method reads `value`: a mutation, an output.
static bool is_read_at_end_only(const updating* u, uint32_t value) {
  for (size_t n = 0; n < u->method->node_count; ++n) {
    const etx_ir_node* const node = &u->method->nodes[n];
    for (size_t i = 0; i < node->arg_count; ++i) {
      const etx_ir_arg* const arg = &node->args[i];
      if (arg->kind == ETX_IR_ARG_VALUE && arg->as.value == value) return false;
      if (arg->kind != ETX_IR_ARG_LIST) continue;
      for (size_t k = 0; k < arg->as.list.count; ++k) {
        if (arg->as.list.items[k].kind == ETX_IR_ARG_VALUE &&
            arg->as.list.items[k].as.value == value) {
          return false;
        }
      }
    }
  }
  return true;
}

static etx_status try_at_end(updating* u, uint32_t value, bool* out_placed,
                             etx_placement_conflicts* conflicts) {
  const etx_ir_value* const v = &u->method->values[value];
  const size_t position = v->index;
  const size_t last = u->method->node_count - 1;
  if (v->origin != ETX_IR_FROM_NODE || position == last ||
      u->placement->values[value].kind != ETX_PLACEMENT_COMPUTED ||
      u->method->nodes[position].output_count != 1 ||
      u->method->nodes[position].branch != 0 ||
      !is_read_at_end_only(u, value)) {
    return ETX_OK;
  }
  ETX_TRY(remember(u));
  etx_placement_move_node(u->method, position, last);
  if (settle(u, value, 0, 0)) ETX_TRY(is_good(u, true, out_placed, conflicts));
  if (*out_placed) return ETX_OK;
  restore(u);
  etx_placement_move_node(u->method, last, position);
  return ETX_OK;
}

static etx_status try_in_place(updating* u, uint32_t value, following follows,
                               bool* out_placed,
                               etx_placement_conflicts* conflicts) {
  ETX_TRY(remember(u));
  u->follows = follows;
  if (settle(u, value, 0, 0)) {
    ETX_TRY(is_good(u, false, out_placed, conflicts));
  }
  if (!*out_placed) restore(u);
  return ETX_OK;
}

static uint64_t bytes_to_save(const updating* u,
                              const etx_placement_conflicts* conflicts) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < conflicts->count; ++i) {
    bool is_first = true;
    for (size_t k = 0; k < i; ++k) {
      if (conflicts->items[k].value == conflicts->items[i].value) {
        is_first = false;
      }
    }
    if (!is_first) continue;
    bytes += u->placement->values[conflicts->items[i].value].bytes;
  }
  return bytes;
}

static etx_status save(updating* u, const etx_placement_conflict* conflict) {
  const etx_storage* const target = &u->placement->storages[u->target];
  const etx_text name = target->kind == ETX_STORAGE_STATE
                            ? u->module->buffers[target->index].name
                            : u->method->inputs[target->index].name;
  uint32_t copy = 0;
  ETX_TRY(etx_placement_copy_save(u->module, u->method, u->placement, conflict,
                                  &copy));
  const etx_placement_copy remaining = {
      u->method_index, name, u->placement->values[copy].bytes, "aten::clone",
      "the old content is read after the update"};
  return etx_placement_copy_report(u->module->pool, &u->context->copies,
                                   &remaining);
}

static etx_status try_saving(updating* u, uint32_t value, bool* out_placed,
                             etx_placement_conflicts* conflicts) {
  ETX_TRY(remember(u));
  u->follows = ALL;
  if (!settle(u, value, 0, 0)) {
    restore(u);
    return ETX_OK;
  }
  ETX_TRY(find_conflicts(u, false, ETX_PLACEMENT_CHECK_NODES, conflicts));
  const uint64_t limit = u->placement->storages[u->target].bytes;
  // Every round takes one value's readers to its copy.
  const size_t rounds = conflicts->count;
  bool should_continue = bytes_to_save(u, conflicts) <= limit;
  for (size_t i = 0; should_continue && i < rounds && conflicts->count != 0;
       ++i) {
    should_continue = can_be_saved(conflicts);
    if (!should_continue) break;
    ETX_TRY(save(u, &conflicts->items[0]));
    ETX_TRY(find_conflicts(u, false, ETX_PLACEMENT_CHECK_NODES, conflicts));
  }
  if (should_continue) ETX_TRY(is_good(u, false, out_placed, conflicts));
  if (!*out_placed) restore(u);
  return ETX_OK;
}

static uint32_t find_given(const etx_placement* placement, uint32_t storage) {
  for (uint32_t v = 0; v < placement->value_count; ++v) {
    const etx_value_placement* const place = &placement->values[v];
    if (place->kind == ETX_PLACEMENT_EXTERNAL && place->storage == storage)
      return v;
  }
  return ETX_IR_NONE;
}

static etx_status place_update(updating* u, const etx_ir_mutation* mutation) {
  if (etx_placement_is_in_place(u->placement, mutation)) return ETX_OK;
  etx_placement_conflicts conflicts = {0};
  bool placed = false;
  u->target = etx_placement_target(u->placement, mutation);
  u->given = find_given(u->placement, u->target);
  static const following attempts[] = {ALL, PATCHES, NOTHING};
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; ++i) {
    ETX_TRY(try_in_place(u, mutation->value, attempts[i], &placed, &conflicts));
    if (placed) return ETX_OK;
  }
  ETX_TRY(try_at_end(u, mutation->value, &placed, &conflicts));
  if (placed) return ETX_OK;
  return try_saving(u, mutation->value, &placed, &conflicts);
}

etx_status etx_pass_update_in_place(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (uint32_t m = 0; m < module->method_count; ++m) {
    updating u = {.context = context,
                  .module = module,
                  .method = &module->methods[m],
                  .placement = &context->placements[m],
                  .method_index = m};
    for (size_t i = 0; i < u.method->mutation_count; ++i) {
      ETX_TRY(place_update(&u, &u.method->mutations[i]));
    }
  }
  return ETX_OK;
}
