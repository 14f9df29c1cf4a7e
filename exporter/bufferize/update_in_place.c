// Computes the new content of a state (or of a mutable input) in the state's
// own bytes.
//
// Each mutation is tried on its own. Its value gets the storage of its target,
// and so do the values that it is computed from, as far as possible: the chain
// select -> index_copy -> select_scatter then works in the selected part of the
// state, and the scatter needs no instruction. placement_check finds reads of
// the old content that would come too late. If there are any, these are tried
// in turn:
//
//   fewer of the values that the new content is computed from, or none;
//   the node of the value moved to the end, if only the end of the method reads
//   the value;
//   a copy of the old content for the late reads, if it has no more bytes than
//   the copy at the end would have.
//
// If all fail, write_back copies the new content at the end.

#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/placement_check.h"
#include "exporter/placement/placement_copy.h"
#include "exporter/placement/view_rules.h"

enum { MAX_NESTING = ETX_MAX_RANK };

// Which values are computed in the target together with the new content.
typedef enum update_reach {
  VALUE_ONLY,       // none
  SCATTER_SOURCES,  // sources of scatters, in the range that the scatter writes
  ALL_IN_PLACE,     // and operands that an operator changes in place
} update_reach;

typedef struct update_attempt {
  etx_pass_context* context;
  etx_ir_module* module;
  etx_ir_method* method;
  etx_placement* placement;
  uint32_t method_index;
  uint32_t target;             // storage
  uint32_t old_content;        // the value of the target before the method
  update_reach reach;          // of the present attempt
  etx_value_placement* saved;  // placements before the present attempt
  size_t saved_count, saved_capacity;
} update_attempt;

// True if the value can get another storage: a node computes it in a block of
// its own, or the branches of a conditional do.
static bool is_movable(const update_attempt* u, uint32_t root) {
  const etx_value_placement* const place = &u->placement->values[root];
  const etx_storage* const storage = &u->placement->storages[place->storage];
  const bool is_alone =
      place->kind == ETX_PLACEMENT_COMPUTED && !storage->is_branch_result;
  return (is_alone || place->kind == ETX_PLACEMENT_BRANCH_RESULT) &&
         storage->kind == ETX_STORAGE_SCRATCH && storage->index == ETX_IR_NONE;
}

// True if roots `a` and `b` have the same storage.
static bool shares_storage(const update_attempt* u, uint32_t a, uint32_t b) {
  return u->placement->values[a].storage == u->placement->values[b].storage;
}

// The address of the caller's memory is not planned: only the input's own
// tensor and views that are made at run time can refer to it. True if `root`
// can be placed there; then aliases of it become such views.
static bool adapt_to_caller_memory(update_attempt* u, uint32_t root) {
  if (u->placement->storages[u->target].kind != ETX_STORAGE_INPUT) return true;
  if (!etx_value_view_same_shape(u->method, root, u->old_content)) return false;
  for (uint32_t v = 0; v < u->placement->value_count; ++v) {
    etx_value_placement* const place = &u->placement->values[v];
    uint64_t delta = 0;
    if (place->kind == ETX_PLACEMENT_ALIAS &&
        shares_storage(u, etx_placement_root(u->placement, v, &delta), root) &&
        !etx_value_view_same_shape(u->method, v, root)) {
      place->kind = ETX_PLACEMENT_DYNAMIC_VIEW;
    }
  }
  return true;
}

static bool place_at(update_attempt* u, uint32_t value, uint64_t offset,
                     size_t nesting);

// Computes the source of a scatter in the range that the scatter would write.
static bool place_scatter(update_attempt* u, const etx_ir_node* node,
                          uint32_t root, uint64_t offset, size_t nesting) {
  etx_value_view source_view;
  if (!etx_value_view_find_scatter(u->method, node, &source_view)) return false;
  if (u->placement->storages[u->target].kind == ETX_STORAGE_INPUT) return false;
  if (!place_at(u, source_view.base, offset, nesting + 1)) return false;
  const uint32_t source = node->args[1].as.value;
  if (!place_at(u, source, offset + source_view.delta, nesting + 1))
    return false;
  etx_value_placement* const place = &u->placement->values[root];
  place->kind = ETX_PLACEMENT_UPDATED_IN_PLACE;
  place->base = source_view.base;
  place->delta = 0;
  return true;
}

// Places a root that a node computes at `offset` of the target, together with
// the values that the node can compute in place.
static void place_computed(update_attempt* u, uint32_t root, uint64_t offset,
                           size_t nesting) {
  etx_value_placement* const place = &u->placement->values[root];
  const etx_ir_node* const node =
      &u->method->nodes[u->method->values[root].index];
  const bool should_continue = nesting < MAX_NESTING;
  if (u->reach != VALUE_ONLY && should_continue &&
      place_scatter(u, node, root, offset, nesting)) {
    return;
  }
  place->storage = u->target;
  place->offset = offset;
  if (u->reach == ALL_IN_PLACE && should_continue &&
      node->op->in_place == ETX_IN_PLACE_SELF &&
      node->args[0].kind == ETX_IR_ARG_VALUE) {
    (void)place_at(u, node->args[0].as.value, offset, nesting + 1);
  }
}

// Places the result of a join: both branches then compute it there.
static void place_branch_result(update_attempt* u, uint32_t root,
                                uint64_t offset, size_t nesting) {
  const uint32_t block = u->placement->values[root].storage;
  for (uint32_t v = 0; v < u->placement->value_count; ++v) {
    etx_value_placement* const place = &u->placement->values[v];
    if (!etx_placement_kind_is_root(place->kind) || place->storage != block)
      continue;
    if (place->kind == ETX_PLACEMENT_COMPUTED) {
      place_computed(u, v, offset, nesting);
    } else {
      place->storage = u->target;
      place->offset = offset;
    }
  }
}

// Places the root of `value` so that `value` is at `offset` of the target.
// False if that is impossible.
static bool place_at(update_attempt* u, uint32_t value, uint64_t offset,
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
      place->bytes > limit - offset || !adapt_to_caller_memory(u, root)) {
    return false;
  }
  if (place->kind == ETX_PLACEMENT_BRANCH_RESULT) {
    place_branch_result(u, root, offset, nesting);
  } else {
    place_computed(u, root, offset, nesting);
  }
  return true;
}

static etx_status find_conflicts(update_attempt* u, bool everywhere,
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

// Saves the placements of all values for restore_placements.
static etx_status save_placements(update_attempt* u) {
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

// Values that were added since then keep their placements.
static void restore_placements(const update_attempt* u) {
  memcpy(u->placement->values, u->saved, u->saved_count * sizeof *u->saved);
}

static bool can_be_saved(const etx_placement_conflicts* conflicts) {
  for (size_t i = 0; i < conflicts->count; ++i) {
    if (!conflicts->items[i].can_be_saved) return false;
  }
  return true;
}

// True if the value is the new content of a mutation that is in place.
static bool is_new_content(const update_attempt* u, uint32_t value) {
  for (size_t i = 0; i < u->method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &u->method->mutations[i];
    if (mutation->value == value &&
        etx_placement_is_in_place(u->placement, mutation)) {
      return true;
    }
  }
  return false;
}

// True if all nodes read the right values and all mutations in place end with
// the right content. Outputs and other mutations may still read too late if
// write_back can save them.
static etx_status is_correct(update_attempt* u, bool everywhere,
                             bool* out_is_correct,
                             etx_placement_conflicts* conflicts) {
  *out_is_correct = false;
  ETX_TRY(find_conflicts(u, everywhere, ETX_PLACEMENT_CHECK_ALL, conflicts));
  for (size_t i = 0; i < conflicts->count; ++i) {
    const etx_placement_conflict* const conflict = &conflicts->items[i];
    if (conflict->reader != u->method->node_count || !conflict->can_be_saved ||
        is_new_content(u, conflict->value)) {
      return ETX_OK;
    }
  }
  *out_is_correct = true;
  return ETX_OK;
}

// True if only the end of the method reads `value`: a mutation, an output.
static bool is_read_at_end_only(const update_attempt* u, uint32_t value) {
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

static etx_status try_at_end(update_attempt* u, uint32_t value,
                             bool* out_placed,
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
  ETX_TRY(save_placements(u));
  etx_placement_move_node(u->method, position, last);
  if (place_at(u, value, 0, 0))
    ETX_TRY(is_correct(u, true, out_placed, conflicts));
  if (*out_placed) return ETX_OK;
  restore_placements(u);
  etx_placement_move_node(u->method, last, position);
  return ETX_OK;
}

static etx_status try_in_place(update_attempt* u, uint32_t value,
                               update_reach reach, bool* out_placed,
                               etx_placement_conflicts* conflicts) {
  ETX_TRY(save_placements(u));
  u->reach = reach;
  if (place_at(u, value, 0, 0)) {
    ETX_TRY(is_correct(u, false, out_placed, conflicts));
  }
  if (!*out_placed) restore_placements(u);
  return ETX_OK;
}

static uint64_t bytes_to_copy(const update_attempt* u,
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

static etx_status save_value(update_attempt* u,
                             const etx_placement_conflict* conflict) {
  const etx_storage* const target = &u->placement->storages[u->target];
  const etx_text name = target->kind == ETX_STORAGE_STATE
                            ? u->module->buffers[target->index].name
                            : u->method->inputs[target->index].name;
  const etx_placed_method m = {u->module, u->method, u->placement};
  uint32_t copy = 0;
  ETX_TRY(etx_placement_copy_save(&m, conflict, &copy));
  const etx_placement_copy remaining = {
      u->method_index, name, u->placement->values[copy].bytes, "aten::clone",
      "the old content is read after the update"};
  return etx_placement_copy_report(u->module->pool, &u->context->copies,
                                   &remaining);
}

static etx_status try_saving(update_attempt* u, uint32_t value,
                             bool* out_placed,
                             etx_placement_conflicts* conflicts) {
  ETX_TRY(save_placements(u));
  u->reach = ALL_IN_PLACE;
  if (!place_at(u, value, 0, 0)) {
    restore_placements(u);
    return ETX_OK;
  }
  ETX_TRY(find_conflicts(u, false, ETX_PLACEMENT_CHECK_NODES, conflicts));
  const uint64_t limit = u->placement->storages[u->target].bytes;
  // Every round redirects the readers of one value to its copy.
  const size_t rounds = conflicts->count;
  bool should_continue = bytes_to_copy(u, conflicts) <= limit;
  for (size_t i = 0; should_continue && i < rounds && conflicts->count != 0;
       ++i) {
    should_continue = can_be_saved(conflicts);
    if (!should_continue) break;
    ETX_TRY(save_value(u, &conflicts->items[0]));
    ETX_TRY(find_conflicts(u, false, ETX_PLACEMENT_CHECK_NODES, conflicts));
  }
  if (should_continue) ETX_TRY(is_correct(u, false, out_placed, conflicts));
  if (!*out_placed) restore_placements(u);
  return ETX_OK;
}

static uint32_t find_old_content(const etx_placement* placement,
                                 uint32_t storage) {
  for (uint32_t v = 0; v < placement->value_count; ++v) {
    const etx_value_placement* const place = &placement->values[v];
    if (place->kind == ETX_PLACEMENT_EXTERNAL && place->storage == storage)
      return v;
  }
  return ETX_IR_NONE;
}

static etx_status update_mutation(update_attempt* u,
                                  const etx_ir_mutation* mutation) {
  if (etx_placement_is_in_place(u->placement, mutation)) return ETX_OK;
  etx_placement_conflicts conflicts = {0};
  bool placed = false;
  u->target = etx_placement_target(u->placement, mutation);
  u->old_content = find_old_content(u->placement, u->target);
  static const update_reach attempts[] = {ALL_IN_PLACE, SCATTER_SOURCES,
                                          VALUE_ONLY};
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
    update_attempt u = {.context = context,
                        .module = module,
                        .method = &module->methods[m],
                        .placement = &context->placements[m],
                        .method_index = m};
    for (size_t i = 0; i < u.method->mutation_count; ++i) {
      ETX_TRY(update_mutation(&u, &u.method->mutations[i]));
    }
  }
  return ETX_OK;
}
