// Computes indices in front of the first node that writes a state, where they
// depend on inputs, constants and state that is not written yet: positions + 1,
// a counter, a cast, a view.
//
// A run asks all kernels about the indices that are known before its first
// write of state (runtime/run/state_checks.h), and an index that is out of
// range then costs nothing. An index that is computed behind that write is
// found too late: the state is half-written by then.
//
// Nodes move if they contribute to an argument `index` or `indices`, are small,
// and read nothing that is written in between. Nodes of branches and loops
// stay, and so do those that read what a loop carries. Results live longer, so
// the pass runs after the search for a good order, and before storages are
// shared.

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/index_sources.h"
#include "exporter/placement/placement.h"

enum { MOST_BYTES = 65536 };  // of a result that lives longer

typedef struct index_search {
  const etx_ir_method* method;
  const etx_placement* placement;
  uint32_t* writers;  // by storage: values that are computed in it
  bool* is_needed;    // by value: an index, or an index is computed from it
  bool* moves;        // by node
  size_t first;       // node that writes a state first
} index_search;

// True if the storage has the same content in the whole run, from the time on
// at which it was written.
static bool is_written_once(const index_search* s, uint32_t storage) {
  const etx_storage* const at = &s->placement->storages[storage];
  if (at->kind == ETX_STORAGE_STATE || at->is_branch_result) return false;
  return s->writers[storage] <= (etx_storage_is_tracked(at) ? 0u : 1u);
}

// ETX_NOT_FOUND stops the visit of a node that reads something else. What lies
// in a state and is not computed there is the state's old content, which is
// there until the first write.
static etx_status check_read(void* context, size_t argument, uint32_t value) {
  const index_search* const s = context;
  const etx_ir_value* const v = &s->method->values[value];
  (void)argument;
  if (v->origin == ETX_IR_FROM_NODE) {
    const bool is_behind = v->index >= s->first && !s->moves[v->index];
    if (is_behind || etx_ir_is_carry(&s->method->nodes[v->index])) {
      return ETX_NOT_FOUND;
    }
  }
  const uint32_t storage = etx_placement_range(s->placement, value).storage;
  const bool is_state =
      s->placement->storages[storage].kind == ETX_STORAGE_STATE;
  return is_state || is_written_once(s, storage) ? ETX_OK : ETX_NOT_FOUND;
}

static bool can_write_early(const index_search* s, uint32_t value) {
  const etx_value_placement* const place = &s->placement->values[value];
  switch (place->kind) {
    case ETX_PLACEMENT_ALIAS:
    case ETX_PLACEMENT_DYNAMIC_VIEW:
    case ETX_PLACEMENT_DYNAMIC_SIZE:
      return true;
    case ETX_PLACEMENT_COMPUTED:
      return place->bytes <= MOST_BYTES && place->base == ETX_IR_NONE &&
             place->part_of == 0 &&
             s->placement->storages[place->storage].kind ==
                 ETX_STORAGE_SCRATCH &&
             is_written_once(s, place->storage);
    default:
      return false;
  }
}

static bool can_move(index_search* s, const etx_ir_node* node) {
  if (node->branch != 0 || node->cond != 0 || node->late != 0 ||
      etx_ir_is_carry(node) || etx_op_draws_random_numbers(node->op) ||
      etx_ir_late_needed(s->method, node) != 0) {
    return false;
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE || !can_write_early(s, value)) return false;
  }
  return etx_placement_each_read(node, check_read, s) == ETX_OK;
}

static bool writes_state(const etx_placement* placement,
                         const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE) continue;
    const etx_value_placement* const place = &placement->values[value];
    if (place->kind != ETX_PLACEMENT_COMPUTED) continue;
    if (placement->storages[place->storage].kind == ETX_STORAGE_STATE) {
      return true;
    }
  }
  return false;
}

static void count_writers(index_search* s) {
  for (size_t v = 0; v < s->placement->value_count; ++v) {
    const etx_value_placement* const place = &s->placement->values[v];
    if (place->kind == ETX_PLACEMENT_COMPUTED) ++s->writers[place->storage];
  }
}

// Puts the nodes that move in front of the others of [first, end).
static etx_status reorder(etx_pool* pool, const index_search* s,
                          etx_ir_method* method, size_t end) {
  size_t at = 0;
  etx_ir_node* const ordered =
      etx_pool_take(pool, (end - s->first) * sizeof *ordered);
  if (ordered == NULL) return ETX_OUT_OF_MEMORY;
  for (int moved = 1; moved >= 0; --moved) {
    for (size_t n = s->first; n < end; ++n) {
      if (s->moves[n] == (moved == 1)) ordered[at++] = method->nodes[n];
    }
  }
  memcpy(&method->nodes[s->first], ordered, at * sizeof *ordered);
  etx_ir_renumber_outputs(method, s->first, end);
  return ETX_OK;
}

static etx_status move_indices(etx_pool* pool, etx_ir_method* method,
                               const etx_placement* placement) {
  index_search s = {.method = method, .placement = placement};
  const size_t end = method->node_count;
  size_t moving = 0;
  while (s.first < end && !writes_state(placement, &method->nodes[s.first])) {
    ++s.first;
  }
  if (s.first == end || method->nodes[s.first].branch != 0 ||
      method->nodes[s.first].cond != 0) {
    return ETX_OK;
  }
  s.writers = etx_pool_take(pool, placement->storage_count * sizeof *s.writers);
  s.is_needed =
      etx_pool_take(pool, placement->value_count * sizeof *s.is_needed);
  s.moves = etx_pool_take(pool, method->node_count * sizeof *s.moves);
  if (s.writers == NULL || s.is_needed == NULL || s.moves == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  count_writers(&s);
  ETX_TRY(etx_index_sources_find(method, s.first, end, s.is_needed));
  for (size_t n = s.first; n < end; ++n) {
    const etx_ir_node* const node = &method->nodes[n];
    s.moves[n] = etx_index_sources_has(s.is_needed, node) && can_move(&s, node);
    if (s.moves[n]) ++moving;
  }
  return moving == 0 ? ETX_OK : reorder(pool, &s, method, end);
}

etx_status etx_pass_compute_indices_first(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    etx_pool pool;
    if (module->methods[m].is_synthetic) continue;
    etx_pool_init(&pool);
    const etx_status status =
        move_indices(&pool, &module->methods[m], &context->placements[m]);
    etx_pool_close(&pool);
    ETX_TRY(status);
  }
  return ETX_OK;
}
