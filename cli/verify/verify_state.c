#include "cli/verify/verify_state.h"

#include <stdlib.h>
#include <string.h>

#include "cli/verify/verify_program_state.h"
#include "cli/verify/verify_internal.h"
#include "format/base/arena.h"
#include "format/pte/reserved_names.h"

// ---- one method ----

static etx_status append(etx_verify_arena* memory,
                         etx_verify_persistent_tensor** items, size_t* count,
                         size_t* capacity,
                         const etx_verify_persistent_tensor* item) {
  if (*count == *capacity) {
    const size_t more = *capacity == 0 ? 16 : 2 * *capacity;
    etx_verify_persistent_tensor* const grown =
        etx_verify_arena_take(memory, more, sizeof *grown);
    if (grown == NULL) return ETX_OUT_OF_MEMORY;
    if (*count > 0) memcpy(grown, *items, *count * sizeof *grown);
    *items = grown;
    *capacity = more;
  }
  (*items)[(*count)++] = *item;
  return ETX_OK;
}

// A file of etx has an arena of states, which has only states and views of
// states, and an arena of scratch for each of its memories.
static etx_status check_planned(const etx_verify_method* m,
                                const etx_verify_program_state* program,
                                uint32_t v, const etx_pte_tensor* tensor) {
  const etx_verify_value* const value = &m->values[v];
  // etx_memory_table_open has refused arenas of no memory.
  if (tensor->memory_id == 0 ||
      (tensor->memory_id > ETX_MEMORY_STATE && program->memory_count <= 1)) {
    return etx_verify_refuse(m,
                             "value '%u' is in arena '%u', expected %u (state) "
                             "or %u (scratch)",
                             (uint64_t)v, (uint64_t)tensor->memory_id,
                             (uint64_t)ETX_MEMORY_STATE,
                             (uint64_t)ETX_MEMORY_SCRATCH);
  }
  const bool is_named = tensor->name.size > 0;
  const bool is_in_state = tensor->memory_id == ETX_MEMORY_STATE;
  if (is_named && !is_in_state) {
    return etx_verify_refuse(m, "state '%t' is in arena '%u', expected %u",
                             tensor->name, (uint64_t)tensor->memory_id,
                             (uint64_t)ETX_MEMORY_STATE);
  }
  const bool is_own = value->parent == ETX_VERIFY_NONE && !value->is_rebound;
  if (is_in_state && !is_named && is_own) {
    return etx_verify_refuse(m,
                             "value '%u' is in the arena of states, but is "
                             "neither a state nor a view of one",
                             (uint64_t)v);
  }
  // The dataflow analysis would miss that such a write changes a state.
  if (is_in_state && value->is_written && !m->values[value->top].is_state) {
    return etx_verify_refuse(m,
                             "value '%u' is written in the arena of states as "
                             "a part of value '%u', which is not a state",
                             (uint64_t)v, (uint64_t)value->top);
  }
  if (is_own && tensor->memory_offset % ETX_ARENA_ALIGNMENT != 0) {
    return etx_verify_refuse(m,
                             "value '%u' is at offset %u, expected a multiple "
                             "of %u",
                             (uint64_t)v, tensor->memory_offset,
                             (uint64_t)ETX_ARENA_ALIGNMENT);
  }
  return ETX_OK;
}

static etx_verify_persistent_tensor persistent_of(
    const etx_verify_method* m, uint32_t v, const etx_pte_tensor* tensor) {
  const uint64_t bytes = etx_pte_tensor_bytes(tensor);
  return (etx_verify_persistent_tensor){
      m->name,
      tensor->name,
      v,
      tensor->memory_id,
      {tensor->memory_offset, tensor->memory_offset + bytes}};
}

static etx_status collect_states(const etx_verify_method* m,
                                 etx_verify_program_state* program) {
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (m->values[v].storage != ETX_VERIFY_STORAGE_PLANNED) continue;
    const etx_pte_tensor tensor = etx_pte_value_at(&m->plan, v).as.tensor;
    if (m->blob != NULL) ETX_TRY(check_planned(m, program, v, &tensor));
    if (!m->values[v].is_state || tensor.memory_id != ETX_MEMORY_STATE) {
      continue;
    }
    const etx_verify_persistent_tensor kept = persistent_of(m, v, &tensor);
    ETX_TRY(append(program->memory, &program->states, &program->state_count,
                   &program->state_capacity, &kept));
  }
  return ETX_OK;
}

static etx_status check_inputs(const etx_verify_method* m) {
  const size_t inputs = etx_pte_input_count(&m->plan);
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&m->plan, i);
    if (m->values[v].storage != ETX_VERIFY_STORAGE_PLANNED) continue;
    const etx_pte_tensor tensor = etx_pte_value_at(&m->plan, v).as.tensor;
    if (tensor.memory_id != ETX_MEMORY_STATE) continue;
    return etx_verify_refuse(m,
                             "input '%z' is in the arena of states, expected "
                             "scratch or memory of the caller",
                             i);
  }
  return ETX_OK;
}

// Subtracts the start of the arena that an address is in. Returns the arena; 0
// if the memory is the caller's.
static uint32_t find_arena(const etx_verify_method* m,
                           etx_verify_range* range) {
  const size_t count = etx_pte_buffer_size_count(&m->plan);
  uint64_t start = 0;
  for (uint32_t i = 1; i < count; ++i) {
    const uint64_t bytes = (uint64_t)etx_pte_buffer_size_at(&m->plan, i);
    if (range->start - start < bytes) {
      range->start -= start;
      range->end -= start;
      return i;
    }
    start += bytes;
  }
  return 0;
}

// An output that an instruction sets up may be at several addresses.
static etx_status collect_output(const etx_verify_method* m,
                                 etx_verify_program_state* program, uint32_t v,
                                 const etx_blob_output* output) {
  for (uint32_t i = 0; i < m->values[v].range_count; ++i) {
    etx_verify_range range = etx_verify_address_range(m, v, i);
    const uint32_t arena = find_arena(m, &range);
    if (arena == 0 || arena == ETX_MEMORY_STATE) continue;
    if (output->lifetime == ETX_LIFETIME_STATE) {
      return etx_verify_refuse(m,
                               "output '%t' is in scratch, expected a state or "
                               "a constant",
                               output->name);
    }
    const etx_verify_persistent_tensor kept = {
        .method = m->name, .value = v, .arena = arena, .range = range};
    ETX_TRY(append(program->memory, &program->outputs, &program->output_count,
                   &program->output_capacity, &kept));
  }
  return ETX_OK;
}

static etx_status collect_outputs(const etx_verify_method* m,
                                  etx_verify_program_state* program) {
  if (m->blob_method == SIZE_MAX) return ETX_OK;
  const size_t outputs = etx_pte_output_count(&m->plan);
  for (size_t i = 0; i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&m->plan, i);
    const etx_blob_output output =
        etx_blob_output_at(m->blob, m->blob_method, i);
    if (output.lifetime == ETX_LIFETIME_SCRATCH) continue;
    ETX_TRY(collect_output(m, program, v, &output));
  }
  return ETX_OK;
}

etx_status etx_verify_method_state(const etx_verify_method* m,
                                   etx_verify_program_state* program) {
  ETX_TRY(collect_states(m, program));
  if (m->blob == NULL) return ETX_OK;
  ETX_TRY(check_inputs(m));
  return collect_outputs(m, program);
}

// ---- between methods ----

static int compare_by_range(const void* left, const void* right) {
  const etx_verify_persistent_tensor* const a = left;
  const etx_verify_persistent_tensor* const b = right;
  if (a->range.start != b->range.start) {
    return etx_verify_compare(a->range.start, b->range.start);
  }
  if (a->range.end != b->range.end) {
    return etx_verify_compare(b->range.end, a->range.end);
  }
  const int order = etx_text_compare(a->method, b->method);
  return order != 0 ? order : etx_verify_compare(a->value, b->value);
}

static int compare_by_name(const void* left, const void* right) {
  const etx_verify_persistent_tensor* const a = left;
  const etx_verify_persistent_tensor* const b = right;
  const int order = etx_text_compare(a->name, b->name);
  return order != 0 ? order : compare_by_range(left, right);
}

static etx_status refuse_pair(const etx_verify_program_state* p,
                              const etx_verify_persistent_tensor* a,
                              const etx_verify_persistent_tensor* b) {
  return etx_diag_fail(
      p->diag, ETX_BAD_PLAN,
      "value '%u' of method '%t' at bytes %u to %u of the arena of states "
      "overlaps value '%u' of method '%t' at bytes %u to %u",
      (uint64_t)b->value, b->method, b->range.start, b->range.end,
      (uint64_t)a->value, a->method, a->range.start, a->range.end);
}

// Two tensors in the arena of states are disjoint, or one contains the other.
static etx_status check_nesting(const etx_verify_program_state* p) {
  const etx_verify_persistent_tensor** const open =
      etx_verify_arena_take(p->memory, p->state_count, sizeof *open);
  size_t depth = 0;
  if (open == NULL) return ETX_OUT_OF_MEMORY;
  if (p->state_count > 0) {
    qsort(p->states, p->state_count, sizeof *p->states, compare_by_range);
  }
  for (size_t i = 0; i < p->state_count; ++i) {
    const etx_verify_persistent_tensor* const state = &p->states[i];
    while (depth > 0 && open[depth - 1]->range.end <= state->range.start) {
      --depth;
    }
    if (depth > 0 &&
        !etx_verify_contains(open[depth - 1]->range, state->range)) {
      return refuse_pair(p, open[depth - 1], state);
    }
    open[depth++] = state;
  }
  return ETX_OK;
}

static etx_status check_names(const etx_verify_program_state* p) {
  if (p->state_count > 0) {
    qsort(p->states, p->state_count, sizeof *p->states, compare_by_name);
  }
  for (size_t i = 1; i < p->state_count; ++i) {
    const etx_verify_persistent_tensor* const a = &p->states[i - 1];
    const etx_verify_persistent_tensor* const b = &p->states[i];
    if (a->name.size == 0 || !etx_text_equal(a->name, b->name)) continue;
    if (a->range.start == b->range.start && a->range.end == b->range.end) {
      continue;
    }
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "state '%t' is at bytes %u to %u in method '%t', but "
                         "at bytes %u to %u in method '%t'",
                         a->name, a->range.start, a->range.end, a->method,
                         b->range.start, b->range.end, b->method);
  }
  return ETX_OK;
}

// In a stock file the arena of states is shared if all methods that have one
// agree on its size.
static bool is_shared(const etx_pte* pte) {
  const size_t count = etx_pte_plan_count(pte);
  int64_t bytes = -1;
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    if (etx_pte_buffer_size_count(&plan) <= ETX_MEMORY_STATE) continue;
    const int64_t found = etx_pte_buffer_size_at(&plan, ETX_MEMORY_STATE);
    if (bytes >= 0 && bytes != found) return false;
    bytes = found;
  }
  return true;
}

static uint64_t bytes_of_state(const etx_blob_state* state) {
  uint64_t bytes = etx_dtype_bytes(state->dtype);
  for (size_t i = 0; i < state->rank; ++i) bytes *= (uint64_t)state->sizes[i];
  return bytes;
}

typedef struct state_range {
  etx_verify_range range;  // bytes of the arena of states
  etx_text name;
} state_range;

static int compare_state_ranges(const void* left, const void* right) {
  const state_range* const a = left;
  const state_range* const b = right;
  return etx_verify_compare_ranges(&a->range, &b->range);
}

// The states of the blob are disjoint and aligned. etx_blob_open has checked
// that they lie in the arena and agree with the tensors of the same names.
static etx_status check_blob_states(const etx_verify_program_state* p) {
  const size_t count = etx_blob_state_count(p->blob);
  state_range* const ranges =
      etx_verify_arena_take(p->memory, count, sizeof *ranges);
  size_t used = 0;
  if (ranges == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_state state = etx_blob_state_at(p->blob, i);
    const uint64_t bytes = bytes_of_state(&state);
    if (state.offset % ETX_ARENA_ALIGNMENT != 0) {
      return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                           "state '%t' is at offset %u, expected a multiple of "
                           "%u",
                           state.name, state.offset,
                           (uint64_t)ETX_ARENA_ALIGNMENT);
    }
    if (bytes == 0) continue;
    ranges[used].range = (etx_verify_range){state.offset, state.offset + bytes};
    ranges[used++].name = state.name;
  }
  qsort(ranges, used, sizeof *ranges, compare_state_ranges);
  for (size_t i = 1; i < used; ++i) {
    const state_range* const a = &ranges[i - 1];
    const state_range* const b = &ranges[i];
    if (a->range.end <= b->range.start) continue;
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "state '%t' at bytes %u to %u overlaps state '%t' at "
                         "bytes %u to %u",
                         a->name, a->range.start, a->range.end, b->name,
                         b->range.start, b->range.end);
  }
  return ETX_OK;
}

// ---- stable outputs ----

// A byte of scratch.
typedef struct scratch_byte {
  uint32_t arena;
  uint64_t offset;
} scratch_byte;

static bool is_before(scratch_byte a, scratch_byte b) {
  return a.arena != b.arena ? a.arena < b.arena : a.offset < b.offset;
}

// Bytes [start, end), in arenas in a row: so a method has them that was loaded
// with one block of scratch.
typedef struct scratch_span {
  scratch_byte start;
  scratch_byte end;
} scratch_span;

static bool are_common(const etx_verify_persistent_tensor* output,
                       const scratch_span* span) {
  const scratch_byte start = {output->arena, output->range.start};
  const scratch_byte end = {output->arena, output->range.end};
  return is_before(start, span->end) && is_before(span->start, end);
}

static bool find_span(const etx_pte_plan* plan, size_t value,
                      scratch_span* out_span) {
  if (etx_pte_value_kind(plan, value) != ETX_PTE_TENSOR) return false;
  const etx_pte_tensor tensor = etx_pte_value_at(plan, value).as.tensor;
  const uint64_t bytes = etx_pte_tensor_bytes(&tensor);
  // The arena of a tensor without memory is 0.
  if (tensor.memory_id == 0 || tensor.memory_id == ETX_MEMORY_STATE ||
      bytes == 0) {
    return false;
  }
  out_span->start = (scratch_byte){tensor.memory_id, tensor.memory_offset};
  out_span->end =
      (scratch_byte){tensor.memory_id, tensor.memory_offset + bytes};
  return true;
}

static void widen(scratch_span* all, const scratch_span* span) {
  if (is_before(span->start, all->start)) all->start = span->start;
  if (is_before(all->end, span->end)) all->end = span->end;
}

static void append_output(const etx_verify_program_state* p,
                          const etx_verify_persistent_tensor* output) {
  etx_diag_append(p->diag,
                  " overlaps the stable output value '%u' of method '%t' at "
                  "bytes %u to %u of scratch",
                  (uint64_t)output->value, output->method, output->range.start,
                  output->range.end);
}

// The first stable output of another method that has bytes of a span, or NULL.
static const etx_verify_persistent_tensor* find_output(
    const etx_verify_program_state* p, etx_text method,
    const scratch_span* span) {
  for (size_t i = 0; i < p->output_count; ++i) {
    if (etx_text_equal(p->outputs[i].method, method)) continue;
    if (are_common(&p->outputs[i], span)) return &p->outputs[i];
  }
  return NULL;
}

// Blocks that move can come to lie anywhere between the lowest one and the end
// of the highest one.
static etx_status check_moved(const etx_verify_program_state* p,
                              const etx_pte_plan* plan) {
  const etx_text method = etx_pte_plan_name(plan);
  scratch_span all = {{UINT32_MAX, 0}, {0, 0}};
  size_t at = 0;
  if (!etx_verify_moves_blocks(p, plan, &at)) return ETX_OK;
  for (size_t v = 0; v < etx_pte_value_count(plan); ++v) {
    scratch_span span;
    if (find_span(plan, v, &span)) widen(&all, &span);
  }
  for (size_t i = 0; i < etx_blob_place_count(p->blob, at); ++i) {
    const etx_blob_place place = etx_blob_place_at(p->blob, at, i);
    widen(&all,
          &(scratch_span){{ETX_MEMORY_SCRATCH, place.offset},
                          {ETX_MEMORY_SCRATCH, place.offset + place.bytes}});
  }
  const etx_verify_persistent_tensor* const output =
      find_output(p, method, &all);
  if (output == NULL) return ETX_OK;
  const etx_status status = etx_diag_fail(
      p->diag, ETX_BAD_PLAN,
      "a block of method '%t' that moves at smaller sizes", method);
  append_output(p, output);
  return status;
}

static etx_status check_planned_values(const etx_verify_program_state* p,
                                       const etx_pte_plan* plan) {
  const etx_text method = etx_pte_plan_name(plan);
  for (size_t v = 0; v < etx_pte_value_count(plan); ++v) {
    scratch_span span;
    if (!find_span(plan, v, &span)) continue;
    const etx_verify_persistent_tensor* const output =
        find_output(p, method, &span);
    if (output == NULL) continue;
    const etx_status status = etx_diag_fail(
        p->diag, ETX_BAD_PLAN, "value '%z' of method '%t'", v, method);
    append_output(p, output);
    return status;
  }
  return ETX_OK;
}

static etx_status check_outputs(const etx_verify_program_state* p) {
  const size_t plans = etx_pte_plan_count(p->pte);
  if (p->output_count == 0) return ETX_OK;
  for (size_t i = 0; i < plans; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(p->pte, i);
    ETX_TRY(check_planned_values(p, &plan));
    ETX_TRY(check_moved(p, &plan));
  }
  return ETX_OK;
}

etx_status etx_verify_states(etx_verify_program_state* p) {
  if (p->blob != NULL) {
    ETX_TRY(check_blob_states(p));
    ETX_TRY(check_outputs(p));
    return etx_verify_state_layout(p);
  }
  if (!is_shared(p->pte)) return ETX_OK;
  ETX_TRY(check_nesting(p));
  ETX_TRY(check_names(p));
  return etx_verify_state_layout(p);
}
