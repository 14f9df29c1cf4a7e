// Copies new content to the states and inputs that update_in_place could not
// update, so that all mutations seem to happen at once at the end.
//
// 1. New content that is overwritten before the end (such as the old content of
//    another state) is copied before that: to its target, if nothing needs the
//    target's old content later, else to scratch.
// 2. At the end, each target is written when no pending copy reads it. If
//    pending copies wait for each other in a cycle (a, b = b, a), the content
//    of the smallest target is saved first (compare parallel copies in SSA
//    destruction).
// 3. An output that returns overwritten content is copied before that.

#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/placement_check.h"
#include "exporter/placement/placement_copy.h"

typedef struct write_back {
  etx_pass_context* context;
  etx_ir_module* module;
  etx_ir_method* method;
  etx_placement* placement;
  uint32_t method_index;
} write_back;

static etx_placed_method placed(const write_back* w) {
  return (etx_placed_method){w->module, w->method, w->placement};
}

static etx_status note(write_back* w, etx_op_id op, etx_text target,
                       uint64_t bytes, const char* reason) {
  const etx_placement_copy copy = {w->method_index, target, bytes,
                                   etx_op_at(op)->name, reason};
  if (w->method->is_synthetic) return ETX_OK;
  return etx_placement_copy_report(w->module->pool, &w->context->copies, &copy);
}

static etx_text name_of(const write_back* w, const etx_ir_mutation* mutation) {
  return etx_placement_target_name(w->module, w->method, mutation);
}

static uint64_t bytes_of(const write_back* w, uint32_t value) {
  return w->placement->values[value].bytes;
}

static uint32_t target_value(const write_back* w,
                             const etx_ir_mutation* mutation) {
  const uint32_t storage = etx_placement_target(w->placement, mutation);
  for (uint32_t v = 0; v < w->placement->value_count; ++v) {
    const etx_value_placement* const place = &w->placement->values[v];
    if (place->kind == ETX_PLACEMENT_EXTERNAL && place->storage == storage)
      return v;
  }
  return ETX_IR_NONE;
}

static const char* reason_of(const write_back* w, uint32_t value) {
  const etx_storage_range range = etx_placement_range(w->placement, value);
  switch (w->placement->storages[range.storage].kind) {
    case ETX_STORAGE_INPUT:
      return "the new content is an input";
    case ETX_STORAGE_CONSTANT:
      return "the new content is a constant";
    case ETX_STORAGE_STATE:
      return "the new content is the old content of another state";
    case ETX_STORAGE_SCRATCH:
      break;
  }
  return "the old content is read while the new content is computed, or an "
         "index is computed from the new content";
}

static etx_status conflicts_of(write_back* w, uint32_t storage,
                               etx_placement_check_scope end,
                               etx_placement_conflicts* conflicts) {
  conflicts->count = 0;
  return etx_placement_check(w->module->pool, w->method, w->placement, storage,
                             end, conflicts);
}

// The conflict that the end of the method has with `value`, if any.
static etx_status find_end_conflict(write_back* w, uint32_t value,
                                    etx_placement_check_scope end,
                                    bool* out_found,
                                    etx_placement_conflict* out_conflict) {
  etx_placement_conflicts conflicts = {0};
  const etx_storage_range range = etx_placement_range(w->placement, value);
  *out_found = false;
  if (!etx_storage_is_tracked(&w->placement->storages[range.storage])) {
    return ETX_OK;
  }
  ETX_TRY(conflicts_of(w, range.storage, end, &conflicts));
  for (size_t i = 0; i < conflicts.count; ++i) {
    if (conflicts.items[i].reader != w->method->node_count ||
        conflicts.items[i].value != value) {
      continue;
    }
    *out_found = true;
    *out_conflict = conflicts.items[i];
  }
  return ETX_OK;
}

// ------------------------------------------------ 1. before the end

static etx_status save_early(write_back* w, etx_ir_mutation* mutation) {
  if (etx_placement_is_in_place(w->placement, mutation)) return ETX_OK;
  etx_placement_conflict conflict;
  bool found = false;
  ETX_TRY(find_end_conflict(w, mutation->value, ETX_PLACEMENT_CHECK_MUTATIONS,
                            &found, &conflict));
  if (!found) return ETX_OK;
  size_t position = conflict.last;
  ETX_TRY(etx_placement_copy_hoist(w->module->pool, w->method, w->placement,
                                   mutation->value, &position));
  const etx_placed_method m = placed(w);
  const uint32_t source = mutation->value;
  uint32_t written = 0;
  ETX_TRY(etx_placement_copy_insert_write(&m, target_value(w, mutation), source,
                                          position, &written));
  mutation->value = written;
  ETX_TRY(note(w, ETX_OP_copy_out, name_of(w, mutation), bytes_of(w, written),
               reason_of(w, source)));

  etx_placement_conflicts conflicts = {0};
  const uint32_t target = etx_placement_target(w->placement, mutation);
  ETX_TRY(conflicts_of(w, target, ETX_PLACEMENT_CHECK_MUTATIONS, &conflicts));
  if (conflicts.count == 0) return ETX_OK;
  // The target's content is still needed, so the copy goes to scratch.
  const etx_storage storage = {.kind = ETX_STORAGE_SCRATCH,
                               .index = ETX_IR_NONE,
                               .bytes = bytes_of(w, written)};
  return etx_placement_add_storage(w->module->pool, w->placement, &storage,
                                   &w->placement->values[written].storage);
}

// ------------------------------------------------ 2. at the end

// True if a pending copy other than `self` reads bytes of `storage`.
static bool is_read_by_pending(const write_back* w, const bool* pending,
                               size_t self, uint32_t storage) {
  for (size_t i = 0; i < w->method->mutation_count; ++i) {
    if (i == self || !pending[i]) continue;
    const uint32_t value = w->method->mutations[i].value;
    if (etx_placement_range(w->placement, value).storage == storage)
      return true;
  }
  return false;
}

static etx_status write_target(write_back* w, etx_ir_mutation* mutation) {
  const etx_placed_method m = placed(w);
  const uint32_t source = mutation->value;
  uint32_t written = 0;
  ETX_TRY(etx_placement_copy_insert_write(&m, target_value(w, mutation), source,
                                          w->method->node_count, &written));
  mutation->value = written;
  return note(w, ETX_OP_copy_out, name_of(w, mutation), bytes_of(w, written),
              reason_of(w, source));
}

// Saves what pending copies read of the smallest pending target.
static etx_status break_cycle(write_back* w, const bool* pending) {
  const etx_placed_method m = placed(w);
  size_t smallest = 0;
  bool found = false;
  for (size_t i = 0; i < w->method->mutation_count; ++i) {
    const etx_ir_mutation* const all = w->method->mutations;
    if (!pending[i]) continue;
    if (found &&
        bytes_of(w, all[i].value) >= bytes_of(w, all[smallest].value)) {
      continue;
    }
    smallest = i;
    found = true;
  }
  const uint32_t storage =
      etx_placement_target(w->placement, &w->method->mutations[smallest]);
  for (size_t i = 0; i < w->method->mutation_count; ++i) {
    etx_ir_mutation* const mutation = &w->method->mutations[i];
    const uint32_t source = mutation->value;
    if (!pending[i] || i == smallest ||
        etx_placement_range(w->placement, source).storage != storage) {
      continue;
    }
    ETX_TRY(etx_placement_copy_insert(&m, source, w->method->node_count,
                                      &mutation->value));
    ETX_TRY(note(w, ETX_OP_clone_out, name_of(w, mutation), bytes_of(w, source),
                 "states swap their contents"));
  }
  return ETX_OK;
}

static etx_status write_targets(write_back* w) {
  const size_t count = w->method->mutation_count;
  bool* const pending = etx_pool_take(w->module->pool, count);
  if (pending == NULL) return ETX_OUT_OF_MEMORY;
  size_t left = 0;
  for (size_t i = 0; i < count; ++i) {
    pending[i] =
        !etx_placement_is_in_place(w->placement, &w->method->mutations[i]);
    left += pending[i];
  }
  while (left != 0) {
    const size_t before = left;
    for (size_t i = 0; i < count; ++i) {
      etx_ir_mutation* const mutation = &w->method->mutations[i];
      if (!pending[i]) continue;
      if (is_read_by_pending(w, pending, i,
                             etx_placement_target(w->placement, mutation))) {
        continue;
      }
      ETX_TRY(write_target(w, mutation));
      pending[i] = false;
      --left;
    }
    if (left == before) ETX_TRY(break_cycle(w, pending));
  }
  return ETX_OK;
}

// ------------------------------------------------ 3. outputs

static etx_status save_output(write_back* w, const etx_ir_output* output) {
  if (output->arg.kind != ETX_IR_ARG_VALUE) return ETX_OK;
  const uint32_t shown = output->arg.as.value;
  etx_placement_conflict conflict;
  bool found = false;
  ETX_TRY(
      find_end_conflict(w, shown, ETX_PLACEMENT_CHECK_ALL, &found, &conflict));
  if (!found) return ETX_OK;
  const etx_placed_method m = placed(w);
  uint32_t copy = 0;
  ETX_TRY(etx_placement_copy_save(&m, &conflict, &copy));
  return note(w, ETX_OP_clone_out, output->name, bytes_of(w, copy),
              "an output returns the old content");
}

static etx_status check_all(write_back* w) {
  etx_placement_conflicts conflicts = {0};
  for (uint32_t s = 0; s < w->placement->storage_count; ++s) {
    if (!etx_storage_is_tracked(&w->placement->storages[s])) continue;
    ETX_TRY(conflicts_of(w, s, ETX_PLACEMENT_CHECK_ALL, &conflicts));
    if (conflicts.count == 0) continue;
    return etx_diag_fail(
        w->context->diag, ETX_INTERNAL,
        "method '%t': '%t' is overwritten before node %z reads it",
        w->method->name, w->method->values[conflicts.items[0].value].name,
        conflicts.items[0].reader);
  }
  return ETX_OK;
}

static etx_status write_back_method(write_back* w) {
  for (size_t i = 0; i < w->method->mutation_count; ++i) {
    ETX_TRY(save_early(w, &w->method->mutations[i]));
  }
  ETX_TRY(write_targets(w));
  for (size_t i = 0; i < w->method->output_count; ++i) {
    ETX_TRY(save_output(w, &w->method->outputs[i]));
  }
  return check_all(w);
}

etx_status etx_pass_write_back(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (uint32_t m = 0; m < module->method_count; ++m) {
    write_back w = {context, module, &module->methods[m],
                    &context->placements[m], m};
    ETX_TRY(write_back_method(&w));
  }
  return ETX_OK;
}
