#include "shared_memory/shared_plan.h"

#include "format/pte/reserved_names.h"

static bool next_of_blob(const etx_program* program, etx_shared_cursor* cursor,
                         etx_shared_state* out) {
  if (cursor->row >= etx_blob_state_count(&program->blob)) return false;
  memset(out, 0, sizeof *out);
  out->row = etx_blob_state_at(&program->blob, cursor->row++);
  const size_t element = etx_dtype_bytes(out->row.dtype);
  out->bytes = element;
  for (size_t i = 0; i < out->row.rank; ++i) {
    out->bytes *= (size_t)out->row.sizes[i];
  }
  if (out->row.data_buffer_index == 0) return true;
  out->initial = etx_pte_constant(&program->pte, out->row.data_buffer_index);
  out->initial.size = out->row.is_uniform ? element : out->bytes;
  return true;
}

static void fill_from_tensor(const etx_program* program,
                             const etx_pte_tensor* tensor,
                             etx_shared_state* out) {
  memset(out, 0, sizeof *out);
  out->row.name = tensor->name;
  out->row.dtype = tensor->dtype;
  out->row.rank = tensor->rank;
  out->row.sizes = tensor->sizes;
  out->row.offset = tensor->memory_offset;
  out->dim_order = tensor->dim_order;
  out->bytes = etx_pte_tensor_bytes(tensor);
  // If the data file with the value is missing, loading a method that needs it
  // fails.
  if (etx_program_stored(program, tensor, &out->initial)) {
    out->initial.size = out->bytes;
  }
}

static bool next_of_plans(const etx_program* program, etx_shared_cursor* cursor,
                          etx_shared_state* out) {
  if (!program->shares_state) return false;
  const size_t plans = etx_pte_plan_count(&program->pte);
  for (; cursor->plan < plans; ++cursor->plan, cursor->row = 0) {
    etx_pte_plan plan;
    etx_pte_plan_read(&program->pte, cursor->plan, &plan);
    const size_t count = etx_pte_value_count(&plan);
    while (cursor->row < count) {
      const size_t row = cursor->row++;
      if (etx_pte_value_arena(&plan, row) != ETX_MEMORY_STATE) continue;
      etx_pte_value value;
      etx_pte_value_read(&plan, row, &value);
      fill_from_tensor(program, &value.as.tensor, out);
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
    if (etx_text_equal(out_state->row.name, name)) return true;
  }
  return false;
}

// True if an earlier row has this name. The row itself is the one that was read
// last: after it, the cursor is `end`.
static bool has_earlier_name(const etx_program* program,
                             const etx_shared_cursor* end, etx_text name) {
  etx_shared_cursor cursor = {0, 0};
  etx_shared_state state;
  (void)etx_shared_plan_next(program, &cursor, &state);
  while (cursor.plan != end->plan || cursor.row != end->row) {
    if (etx_text_equal(state.row.name, name)) return true;
    (void)etx_shared_plan_next(program, &cursor, &state);
  }
  return false;
}

bool etx_shared_plan_next_name(const etx_program* program,
                               etx_shared_cursor* cursor,
                               etx_shared_state* out_state) {
  while (etx_shared_plan_next(program, cursor, out_state)) {
    if (out_state->row.name.size == 0) continue;
    // Names in a blob are unique.
    if (program->has_blob) return true;
    if (!has_earlier_name(program, cursor, out_state->row.name)) return true;
  }
  return false;
}
