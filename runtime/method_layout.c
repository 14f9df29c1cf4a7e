// What a method needs, counted from the file alone.
//
// One function (etx_method_lay_out) takes every array from an arena. Over a
// counting arena it says how many bytes there must be, over a real one it hands
// them out, so the two cannot differ.

#include "format/base/checked_math.h"
#include "format/pte/reserved_names.h"
#include "runtime/method_internal.h"
#include "runtime/method_temporary.h"

static void count_tensor(const etx_pte_outline* tensor,
                         etx_method_totals* totals) {
  ++totals->tensors;
  totals->integers += tensor->is_static ? tensor->rank : 2 * tensor->rank;
  if (!tensor->has_bytes) ++totals->unplanned;
}

static void count_other(const etx_pte_value* value, etx_method_totals* totals) {
  switch (value->kind) {
    case ETX_PTE_INT_LIST:
      totals->pointers += value->as.integers.count;
      break;
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      totals->pointers += value->as.tensors.count;
      break;
    default:
      break;
  }
}

static void count_values(const etx_pte_plan* plan, etx_method_totals* totals) {
  totals->values = etx_pte_value_count(plan);
  for (size_t i = 0; i < totals->values; ++i) {
    etx_pte_outline tensor;
    if (etx_pte_outline_find(plan, i, &tensor)) {
      count_tensor(&tensor, totals);
    } else {
      const etx_pte_value value = etx_pte_value_at(plan, i);
      count_other(&value, totals);
    }
  }
  totals->inputs = etx_pte_input_count(plan);
  totals->outputs = etx_pte_output_count(plan);
  for (size_t i = 0; i < totals->inputs; ++i) {
    etx_pte_outline tensor;
    if (!etx_pte_outline_find(plan, (size_t)etx_pte_input_at(plan, i),
                              &tensor)) {
      continue;
    }
    totals->integers += tensor.rank;
    // The caller brings some. A value that is an input twice is refused later.
    if (!tensor.has_bytes && totals->unplanned > 0) --totals->unplanned;
  }
}

static void count_records(const etx_pte_plan* plan, etx_method_totals* totals) {
  totals->chains = etx_pte_chain_count(plan);
  for (size_t chain = 0; chain < totals->chains; ++chain) {
    const etx_fb_vector rows = etx_pte_chain_at(plan, chain);
    totals->records += rows.count;
    for (size_t i = 0; i < rows.count; ++i) {
      const etx_pte_instruction instruction =
          etx_pte_instruction_in(plan, rows, i);
      if (instruction.kind != ETX_PTE_KERNEL_CALL) continue;
      totals->pointers += instruction.argument_count;
    }
  }
}

bool etx_method_arena_offsets(const etx_program* program,
                              const etx_pte_plan* plan, size_t* out_offsets,
                              size_t* out_end) {
  size_t end = 0;
  const size_t count = etx_pte_buffer_size_count(plan);
  for (size_t i = 0; i < count; ++i) {
    const bool is_shared = i == ETX_MEMORY_STATE && program->shares_state;
    if (out_offsets != NULL) out_offsets[i] = SIZE_MAX;
    if (i == 0 || is_shared) continue;
    const int64_t bytes = etx_pte_buffer_size_at(plan, i);
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX) return false;
    if (!etx_align_up(end, ETX_MEMORY_ALIGNMENT, &end)) return false;
    if (out_offsets != NULL) out_offsets[i] = end;
    if (!etx_add_size(end, (size_t)bytes, &end)) return false;
  }
  *out_end = end;
  return true;
}

// Adds memory for outputs that the file gives none.
static etx_status count_unplanned(const etx_program* program,
                                  const etx_pte_plan* plan,
                                  etx_operator_cache* operators, size_t* end,
                                  etx_diag* diag) {
  etx_unplanned_cursor cursor = {0, 0, 0, 0, 0};
  for (;;) {
    bool found = false;
    uint32_t index = 0;
    ETX_TRY(etx_method_next_unplanned(program, plan, operators, &cursor, &found,
                                      &index, diag));
    if (!found) return ETX_OK;
    const etx_pte_value value = etx_pte_value_at(plan, index);
    const size_t bytes = etx_pte_tensor_bytes(&value.as.tensor);
    if (!etx_align_up(*end, ETX_MEMORY_ALIGNMENT, end) ||
        !etx_add_size(*end, bytes, end)) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "outputs without memory need too many bytes");
    }
  }
}

static etx_status count_memory(const etx_program* program,
                               const etx_pte_plan* plan,
                               etx_operator_cache* operators,
                               etx_method_totals* totals, etx_diag* diag) {
  etx_memory_needed* const memory = &totals->memory;
  size_t end = 0;
  if (!etx_method_arena_offsets(program, plan, NULL, &end)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "method '%t' asks for more bytes of planned memory "
                         "than this machine can address",
                         etx_pte_plan_name(plan));
  }
  // Most files plan everything.
  if (ETX_DYNAMIC && totals->unplanned > 0) {
    ETX_TRY(count_unplanned(program, plan, operators, &end, diag));
  }
  memory->scratch_bytes = end;
  const bool has_state = program->shares_state &&
                         etx_pte_buffer_size_count(plan) > ETX_MEMORY_STATE &&
                         etx_pte_buffer_size_at(plan, ETX_MEMORY_STATE) > 0;
  memory->state_bytes = has_state ? (size_t)program->state_bytes : 0;
  return ETX_OK;
}

etx_status etx_method_count(const etx_program* program,
                            const etx_pte_plan* plan,
                            etx_operator_cache* operators,
                            etx_method_totals* out_totals, etx_diag* diag) {
  etx_method_totals totals;
  memset(&totals, 0, sizeof totals);
  count_values(plan, &totals);
  count_records(plan, &totals);
  totals.arenas = etx_pte_buffer_size_count(plan);
  size_t blob = 0;
  if (program->has_blob &&
      etx_blob_method_find(&program->blob, etx_pte_plan_name(plan), &blob)) {
    totals.symbols = etx_blob_symbol_count(&program->blob, blob);
  }
  ETX_TRY(count_memory(program, plan, operators, &totals, diag));
  *out_totals = totals;
  return ETX_OK;
}

// One array; false if there is too little memory or the count overflows.
static bool take(etx_arena* arena, size_t count, size_t bytes, void** out) {
  size_t all = 0;
  return etx_multiply_size(count, bytes, &all) &&
         etx_arena_take_ok(arena, all, ETX_ARENA_ALIGNMENT, out);
}

bool etx_method_lay_out(etx_method* method, const etx_method_totals* totals,
                        etx_arena* arena, etx_method_pieces* out_pieces) {
  enum { ARRAYS = 14 };
  void* at[ARRAYS];
  const struct {
    size_t count;
    size_t bytes;
  } arrays[ARRAYS] = {
      {totals->records, sizeof(etx_method_record)},
      {totals->records, sizeof(etx_method_step)},
      {totals->values, sizeof(etx_value)},
      {totals->tensors, sizeof(etx_method_tensor)},
      {totals->inputs, sizeof(etx_method_input)},
      {totals->pointers, sizeof(const etx_value*)},
      {totals->outputs, sizeof(const etx_value*)},
      {totals->symbols, sizeof(int64_t)},
      {totals->chains + 1, sizeof(size_t)},
      {totals->arenas, sizeof(size_t)},
      {totals->integers, sizeof(int32_t)},
      {totals->values, sizeof(uint8_t)},
      {1, sizeof(etx_diag)},
      {1, sizeof(etx_random_stream)},
  };
  for (size_t i = 0; i < ARRAYS; ++i) {
    if (!take(arena, arrays[i].count, arrays[i].bytes, &at[i])) return false;
  }
  method->records = (etx_method_record*)at[0];
  method->steps = (etx_method_step*)at[1];
  method->values = (etx_value*)at[2];
  method->tensors = (etx_method_tensor*)at[3];
  method->inputs = (etx_method_input*)at[4];
  out_pieces->pointers = (const etx_value**)at[5];
  method->outputs = (const etx_value**)at[6];
  method->symbols = (int64_t*)at[7];
  method->chain_starts = (size_t*)at[8];
  out_pieces->arena_offsets = (size_t*)at[9];
  out_pieces->integers = (int32_t*)at[10];
  method->marks = (uint8_t*)at[11];
  method->kernel_diag = (etx_diag*)at[12];
  method->random = (etx_random_stream*)at[13];
  method->value_count = totals->values;
  method->tensor_count = totals->tensors;
  method->record_count = totals->records;
  method->chain_count = totals->chains;
  method->input_count = totals->inputs;
  method->output_count = totals->outputs;
  method->symbol_count = totals->symbols;
  return true;
}

etx_status etx_method_needed(const etx_program* program, etx_text name,
                             etx_memory_needed* out_needed, etx_diag* diag) {
  etx_pte_plan plan;
  etx_method_totals totals;
  ETX_TRY(etx_program_find_plan(program, name, &plan, diag));
  etx_operator_cache operators;
  etx_operator_cache_init(&operators, &plan, program->kernels);
  ETX_TRY(etx_method_count(program, &plan, &operators, &totals, diag));
  ETX_TRY(etx_method_count_temporary(program, &plan, &operators,
                                     &totals.memory.temporary_bytes, diag));
  etx_method method;
  etx_method_pieces pieces;
  etx_arena arena;
  etx_arena_init_counting(&arena);
  if (!etx_method_lay_out(&method, &totals, &arena, &pieces)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "method '%t' has too many values for this machine",
                         name);
  }
  *out_needed = totals.memory;
  out_needed->structure_bytes = arena.used_bytes;
  return ETX_OK;
}
