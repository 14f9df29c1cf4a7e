// The two constant methods that describe the layout of state to applications:
//
//   et_get_shared_buffer_names        uint8 [N, L]: one zero-padded name a row
//   et_get_shared_buffer_memory_plan  int64 [N, 6]: mem_id, mem_obj_id,
//                                     offset, allocated bytes, bytes, elements

#include "cli/verify/verify_program_state.h"

#include <string.h>

#include "format/pte/reserved_names.h"

enum {
  COLUMN_MEMORY = 0,
  COLUMN_OFFSET = 2,
  COLUMN_ALLOCATED = 3,
  COLUMN_BYTES = 4,
  COLUMN_ELEMENTS = 5,
  COLUMN_COUNT = 6,
};

typedef struct layout_table {
  etx_bytes data;
  size_t rows;
  size_t columns;
} layout_table;

static etx_status refuse(const etx_verify_program_state* p, const char* method,
                         const char* why) {
  return etx_diag_fail(p->diag, ETX_BAD_PLAN, "method '%s' %s", method, why);
}

static etx_status refuse_table(const etx_verify_program_state* p,
                               const char* method, etx_dtype dtype) {
  return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                       "method '%s' must return a constant '%s' tensor with 2 "
                       "dimensions",
                       method, etx_dtype_name(dtype));
}

static etx_status read_table(const etx_verify_program_state* p,
                             const char* name, etx_dtype dtype,
                             layout_table* out_table, bool* out_found) {
  etx_pte_plan plan;
  *out_found = etx_pte_plan_find(p->pte, etx_text_of(name), &plan);
  if (!*out_found) return ETX_OK;
  if (etx_pte_output_count(&plan) != 1) {
    return refuse(p, name, "must have one output");
  }
  const etx_pte_value value =
      etx_pte_value_at(&plan, (size_t)etx_pte_output_at(&plan, 0));
  const etx_pte_tensor* const tensor = &value.as.tensor;
  if (value.kind != ETX_PTE_TENSOR || tensor->dtype != dtype ||
      tensor->rank != 2 || tensor->has_allocation ||
      tensor->location == ETX_PTE_EXTERNAL) {
    return refuse_table(p, name, dtype);
  }
  out_table->rows = (size_t)tensor->sizes[0];
  out_table->columns = (size_t)tensor->sizes[1];
  if (tensor->data_buffer_index == 0 && etx_pte_tensor_bytes(tensor) > 0) {
    return refuse_table(p, name, dtype);
  }
  if (tensor->data_buffer_index != 0) {
    out_table->data = etx_pte_constant(p->pte, tensor->data_buffer_index);
  }
  return ETX_OK;
}

static etx_text name_at(const layout_table* names, size_t row) {
  const char* const text = (const char*)names->data.data + row * names->columns;
  size_t size = 0;
  while (size < names->columns && text[size] != '\0') ++size;
  return (etx_text){text, size};
}

static int64_t number_at(const layout_table* numbers, size_t row,
                         size_t column) {
  int64_t number = 0;
  memcpy(&number,
         numbers->data.data + (row * COLUMN_COUNT + column) * sizeof number,
         sizeof number);
  return number;
}

// A state according to the blob or to the methods.
typedef struct state_extent {
  uint64_t offset;
  uint64_t bytes;
  uint64_t elements;
} state_extent;

static bool find_in_blob(const etx_blob* blob, etx_text name,
                         state_extent* out_state) {
  size_t low = 0;
  size_t high = etx_blob_state_count(blob);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const etx_blob_state state = etx_blob_state_at(blob, middle);
    const int order = etx_text_compare(name, state.name);
    if (order == 0) {
      out_state->offset = state.offset;
      out_state->elements = 1;
      for (size_t i = 0; i < state.rank; ++i) {
        out_state->elements *= (uint64_t)state.sizes[i];
      }
      out_state->bytes = out_state->elements * etx_dtype_bytes(state.dtype);
      return true;
    }
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return false;
}

// For a stock file: any tensor with this name, without its elements.
// etx_verify_states has checked that all of them agree.
static bool find_in_methods(const etx_verify_program_state* p, etx_text name,
                            state_extent* out_state) {
  for (size_t i = 0; i < p->state_count; ++i) {
    const etx_verify_persistent_tensor* const state = &p->states[i];
    if (!etx_text_equal(state->name, name)) continue;
    *out_state = (state_extent){.offset = state->range.start,
                                .bytes = state->range.end - state->range.start};
    return true;
  }
  return false;
}

static etx_status check_row(const etx_verify_program_state* p,
                            const layout_table* names,
                            const layout_table* numbers, size_t row) {
  const etx_text name = name_at(names, row);
  const int64_t memory = number_at(numbers, row, COLUMN_MEMORY);
  const int64_t offset = number_at(numbers, row, COLUMN_OFFSET);
  const int64_t allocated = number_at(numbers, row, COLUMN_ALLOCATED);
  const int64_t bytes = number_at(numbers, row, COLUMN_BYTES);
  const int64_t elements = number_at(numbers, row, COLUMN_ELEMENTS);
  state_extent state;
  const bool is_found = p->blob != NULL ? find_in_blob(p->blob, name, &state)
                                        : find_in_methods(p, name, &state);
  if (!is_found && p->blob == NULL) return ETX_OK;
  if (!is_found) {
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "row '%z' of method '%s' names '%t', which is not a "
                         "state",
                         row, ETX_METHOD_BUFFER_NAMES, name);
  }
  if (memory != ETX_MEMORY_STATE || offset < 0 ||
      (uint64_t)offset != state.offset || bytes < 0 ||
      (uint64_t)bytes != state.bytes) {
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "row '%z' of method '%s' gives state '%t' %i bytes at "
                         "offset %i of arena %i, expected %u bytes at offset "
                         "%u of arena %u",
                         row, ETX_METHOD_BUFFER_PLAN, name, bytes, offset,
                         memory, state.bytes, state.offset,
                         (uint64_t)ETX_MEMORY_STATE);
  }
  if (allocated < bytes) {
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "row '%z' of method '%s' gives state '%t' %i "
                         "allocated bytes, expected at least %i",
                         row, ETX_METHOD_BUFFER_PLAN, name, allocated, bytes);
  }
  if (p->blob != NULL && (uint64_t)elements != state.elements) {
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "row '%z' of method '%s' gives state '%t' %i "
                         "elements, expected %u",
                         row, ETX_METHOD_BUFFER_PLAN, name, elements,
                         state.elements);
  }
  return ETX_OK;
}

etx_status etx_verify_state_layout(const etx_verify_program_state* p) {
  layout_table names = {{NULL, 0}, 0, 0};
  layout_table numbers = {{NULL, 0}, 0, 0};
  bool has_names = false;
  bool has_numbers = false;
  ETX_TRY(read_table(p, ETX_METHOD_BUFFER_NAMES, ETX_DTYPE_UINT8, &names,
                     &has_names));
  ETX_TRY(read_table(p, ETX_METHOD_BUFFER_PLAN, ETX_DTYPE_INT64, &numbers,
                     &has_numbers));
  if (!has_names && !has_numbers) return ETX_OK;
  if (!has_names || !has_numbers || names.rows != numbers.rows ||
      numbers.columns != COLUMN_COUNT) {
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "methods '%s' and '%s' must both exist, with a row of "
                         "%u numbers for each name",
                         ETX_METHOD_BUFFER_NAMES, ETX_METHOD_BUFFER_PLAN,
                         (uint64_t)COLUMN_COUNT);
  }
  if (p->blob != NULL && names.rows != etx_blob_state_count(p->blob)) {
    return etx_diag_fail(
        p->diag, ETX_BAD_PLAN, "method '%s' names %z states, expected %z",
        ETX_METHOD_BUFFER_NAMES, names.rows, etx_blob_state_count(p->blob));
  }
  for (size_t i = 0; i < names.rows; ++i) {
    ETX_TRY(check_row(p, &names, &numbers, i));
  }
  return ETX_OK;
}
