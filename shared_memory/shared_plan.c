#include "shared_memory/shared_plan.h"

#include "format/pte/reserved_names.h"

static bool next_of_blob(const etx_program* program, etx_shared_cursor* cursor,
                         etx_shared_state* out) {
  if (cursor->row >= etx_blob_state_count(&program->blob)) return false;
  const etx_blob_state state = etx_blob_state_at(&program->blob, cursor->row++);
  memset(out, 0, sizeof *out);
  out->name = state.name;
  out->dtype = state.dtype;
  out->rank = (uint8_t)state.rank;
  out->sizes = state.sizes;
  out->offset = (size_t)state.offset;
  out->bytes = etx_dtype_bytes(state.dtype);
  for (size_t i = 0; i < state.rank; ++i) {
    out->bytes *= (size_t)state.sizes[i];
  }
  if (state.data_buffer_index == 0) return true;
  out->is_uniform = state.is_uniform;
  out->initial = etx_pte_constant(&program->pte, state.data_buffer_index);
  out->initial.size =
      state.is_uniform ? etx_dtype_bytes(state.dtype) : out->bytes;
  return true;
}

static void fill_from_tensor(const etx_program* program,
                             const etx_pte_tensor* tensor,
                             etx_shared_state* out) {
  memset(out, 0, sizeof *out);
  out->name = tensor->name;
  out->dtype = tensor->dtype;
  out->rank = tensor->rank;
  out->sizes = tensor->sizes;
  out->dim_order = tensor->dim_order;
  out->offset = (size_t)tensor->memory_offset;
  out->bytes = etx_pte_tensor_bytes(tensor);
  // Without the data file that has it, a method that needs it is refused when
  // it is loaded.
  if (etx_program_stored(program, tensor, &out->initial)) {
    out->initial.size = out->bytes;
  }
}

static bool next_of_plans(const etx_program* program, etx_shared_cursor* cursor,
                          etx_shared_state* out) {
  if (!program->shares_state) return false;
  const size_t plans = etx_pte_plan_count(&program->pte);
  for (; cursor->plan < plans; ++cursor->plan, cursor->row = 0) {
    const etx_pte_plan plan = etx_pte_plan_at(&program->pte, cursor->plan);
    const size_t count = etx_pte_value_count(&plan);
    while (cursor->row < count) {
      const size_t row = cursor->row++;
      if (etx_pte_value_kind(&plan, row) != ETX_PTE_TENSOR) continue;
      const etx_pte_value value = etx_pte_value_at(&plan, row);
      const etx_pte_tensor* tensor = &value.as.tensor;
      if (!tensor->has_allocation || tensor->memory_id != ETX_MEMORY_STATE) {
        continue;
      }
      fill_from_tensor(program, tensor, out);
      return true;
    }
  }
  return false;
}

bool etx_shared_plan_next(const etx_program* program, etx_shared_cursor* cursor,
                          etx_shared_state* out_state) {
  return program->has_blob ? next_of_blob(program, cursor, out_state)
                           : next_of_plans(program, cursor, out_state);
}

bool etx_shared_plan_find(const etx_program* program, etx_text name,
                          etx_shared_state* out_state) {
  etx_shared_cursor cursor = {0, 0};
  if (name.size == 0) return false;
  while (etx_shared_plan_next(program, &cursor, out_state)) {
    if (etx_text_equal(out_state->name, name)) return true;
  }
  return false;
}

// True if `name` stands in a row before `end`.
static bool was_named(const etx_program* program, const etx_shared_cursor* end,
                      etx_text name) {
  etx_shared_cursor cursor = {0, 0};
  etx_shared_state state;
  while (etx_shared_plan_next(program, &cursor, &state)) {
    if (cursor.plan == end->plan && cursor.row == end->row) return false;
    if (etx_text_equal(state.name, name)) return true;
  }
  return false;
}

bool etx_shared_plan_next_name(const etx_program* program,
                               etx_shared_cursor* cursor,
                               etx_shared_state* out_state) {
  while (etx_shared_plan_next(program, cursor, out_state)) {
    if (out_state->name.size == 0) continue;
    // The blob's names differ anyway.
    if (program->has_blob) return true;
    if (!was_named(program, cursor, out_state->name)) return true;
  }
  return false;
}
