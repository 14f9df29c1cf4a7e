// Computes the new content of a state (or of a mutable input) in the state's
// own bytes.
//
// Each mutation is tried on its own. Its value gets the storage of its target,
// and so do the values that it is computed from, as far as possible
// (in_place_move.h). placement_check finds reads of
// the old content that would come too late. If there are any, these are tried
// in turn:
//
//   fewer of the values that the new content is computed from, or none;
//   the node of the value moved to the end, if only the end of the method reads
//   the value;
//   a copy of the old content for the late reads, if it has no more bytes than
//   the copy at the end would have.
//
// If all fail, write_back copies the new content at the end. It also does so
// for a small state from whose new content indices are computed, such as a
// counter of positions: then the index is known, and can be refused, before any
// state is written.

#include "exporter/passes/pass_context.h"
#include "exporter/placement/in_place_move.h"
#include "exporter/placement/index_sources.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/placement_check.h"
#include "exporter/placement/placement_copy.h"

enum { COUNTER_BYTES = 256 };  // of a state that is copied for its indices

typedef struct update_attempt {
  etx_pass_context* context;
  etx_ir_module* module;
  etx_ir_method* method;
  etx_placement* placement;
  uint32_t method_index;
  etx_in_place_move move;  // to the storage of the mutation's target
} update_attempt;

static etx_status find_conflicts(update_attempt* u, bool everywhere,
                                 etx_placement_check_scope end,
                                 etx_placement_conflicts* conflicts) {
  conflicts->count = 0;
  for (uint32_t s = 0; s < u->placement->storage_count; ++s) {
    const etx_storage* const storage = &u->placement->storages[s];
    if (s != u->move.target &&
        !(everywhere && etx_storage_is_tracked(storage))) {
      continue;
    }
    ETX_TRY(etx_placement_check(u->module->pool, u->method, u->placement, s,
                                end, conflicts));
  }
  return ETX_OK;
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
  ETX_TRY(etx_in_place_move_save(&u->move));
  etx_placement_move_node(u->method, position, last);
  if (etx_in_place_move_value(&u->move, value))
    ETX_TRY(is_correct(u, true, out_placed, conflicts));
  if (*out_placed) return ETX_OK;
  etx_in_place_move_restore(&u->move);
  etx_placement_move_node(u->method, last, position);
  return ETX_OK;
}

static etx_status try_in_place(update_attempt* u, uint32_t value,
                               etx_move_reach reach, bool* out_placed,
                               etx_placement_conflicts* conflicts) {
  ETX_TRY(etx_in_place_move_save(&u->move));
  u->move.reach = reach;
  if (etx_in_place_move_value(&u->move, value)) {
    ETX_TRY(is_correct(u, false, out_placed, conflicts));
  }
  if (!*out_placed) etx_in_place_move_restore(&u->move);
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
  const etx_storage* const target = &u->placement->storages[u->move.target];
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
  ETX_TRY(etx_in_place_move_save(&u->move));
  u->move.reach = ETX_MOVE_ALL_IN_PLACE;
  if (!etx_in_place_move_value(&u->move, value)) {
    etx_in_place_move_restore(&u->move);
    return ETX_OK;
  }
  ETX_TRY(find_conflicts(u, false, ETX_PLACEMENT_CHECK_NODES, conflicts));
  const uint64_t limit = u->placement->storages[u->move.target].bytes;
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
  if (!*out_placed) etx_in_place_move_restore(&u->move);
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
  u->move.target = etx_placement_target(u->placement, mutation);
  u->move.old_content = find_old_content(u->placement, u->move.target);
  for (size_t reach = ETX_MOVE_REACH_COUNT; reach-- > 0;) {
    ETX_TRY(try_in_place(u, mutation->value, (etx_move_reach)reach, &placed,
                         &conflicts));
    if (placed) return ETX_OK;
  }
  ETX_TRY(try_at_end(u, mutation->value, &placed, &conflicts));
  if (placed) return ETX_OK;
  return try_saving(u, mutation->value, &placed, &conflicts);
}

// True if the target is a small state, and indices are computed from its new
// content.
static bool is_counter(const update_attempt* u, const etx_ir_mutation* mutation,
                       const bool* is_index_source) {
  const uint32_t target = etx_placement_target(u->placement, mutation);
  if (target == ETX_IR_NONE || !is_index_source[mutation->value]) return false;
  const etx_storage* const storage = &u->placement->storages[target];
  return storage->kind == ETX_STORAGE_STATE && storage->bytes <= COUNTER_BYTES;
}

static etx_status update_mutations(update_attempt* u) {
  const size_t count = u->method->mutation_count;
  bool* const is_index_source =
      etx_pool_take(u->module->pool, u->method->value_count);
  bool* const stays = etx_pool_take(u->module->pool, count);
  if (is_index_source == NULL || stays == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_index_sources_find(u->method, 0, u->method->node_count,
                                 is_index_source));
  // Updates in place may add values, so this is asked ahead.
  for (size_t i = 0; i < count; ++i) {
    stays[i] = is_counter(u, &u->method->mutations[i], is_index_source);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!stays[i]) ETX_TRY(update_mutation(u, &u->method->mutations[i]));
  }
  return ETX_OK;
}

etx_status etx_pass_update_in_place(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (uint32_t m = 0; m < module->method_count; ++m) {
    update_attempt u = {.context = context,
                        .module = module,
                        .method = &module->methods[m],
                        .placement = &context->placements[m],
                        .method_index = m};
    u.move = (etx_in_place_move){
        .pool = module->pool, .method = u.method, .placement = u.placement};
    ETX_TRY(update_mutations(&u));
  }
  return ETX_OK;
}
