// Counts the memory that a method needs, from the file alone.
//
// One function (etx_method_layout_take) takes every array from an arena. With a
// counting arena it computes the number of bytes, with a real one it allocates
// them, so the two cannot differ.

#include "runtime/load/method_layout.h"

#include "format/base/checked_math.h"
#include "format/base/reachability.h"
#include "format/pte/reserved_names.h"
#include "format/shapes/op_shapes.h"
#include "format/shapes/size_table.h"
#include "runtime/load/method_temporary.h"
#include "runtime/program/unplanned_outputs.h"
#include "runtime/shapes/scratch_compaction.h"
#include "runtime/shapes/size_program.h"

etx_status etx_method_layout_find(etx_method* method,
                                  const etx_program* program, etx_text name,
                                  etx_diag* diag) {
  memset(method, 0, sizeof *method);
  method->program = program;
  ETX_TRY(etx_program_find_plan(program, name, &method->plan, diag));
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, name, &method->blob_index)) {
    method->blob_index = SIZE_MAX;
  }
  return ETX_OK;
}

// True if data may decide a number or a size.
static bool may_read_data(const etx_pte_plan* plan,
                          etx_operator_cache* operators) {
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    const etx_op* op = etx_operator_cache_at(operators, i)->op;
    if (op == NULL) continue;
    if (op->id == ETX_OP_local_scalar_dense || op->may_size_by_data) {
      return true;
    }
  }
  return false;
}

// A value may also be late because a slot is used with several sizes in a
// method without jumps. Such records have no versions, so they are prepared in
// each run.
static void count_versions(etx_method* method, etx_operator_cache* operators,
                           const etx_pte_totals* totals) {
  if (totals->not_calls == 0 && !may_read_data(&method->plan, operators)) {
    return;
  }
  method->version_count = method->value_count;
  method->prepared_count = method->record_count;
  method->late_size_count = totals->dynamic_dims;
}

// Sets all counts. `unplanned` is the number of tensors without memory that are
// not inputs.
static void count_all(etx_method* method, etx_operator_cache* operators,
                      size_t* unplanned) {
  const etx_pte_plan* plan = &method->plan;
  etx_pte_totals totals;
  etx_pte_plan_totals(plan, &totals);
  method->value_count = etx_pte_value_count(plan);
  method->tensor_count = totals.tensors;
  method->integer_count = totals.dims;
  method->pointer_count = totals.items;
  method->input_count = etx_pte_input_count(plan);
  method->output_count = etx_pte_output_count(plan);
  *unplanned = ETX_DYNAMIC ? totals.without_bytes : 0;
  for (size_t i = 0; i < method->input_count; ++i) {
    etx_pte_value value;
    etx_pte_value_read(plan, (size_t)etx_pte_input_at(plan, i), &value);
    if (value.kind != ETX_PTE_TENSOR) continue;
    method->integer_count += value.as.tensor.rank;
    // The caller provides its memory. Duplicate inputs are refused later.
    if (*unplanned > 0 && !etx_pte_tensor_has_bytes(&value.as.tensor)) {
      --*unplanned;
    }
  }
  method->chain_count = etx_pte_chain_count(plan);
  for (size_t i = 0; i < method->chain_count; ++i) {
    method->record_count += etx_pte_instruction_count(plan, i);
  }
  if (!ETX_DYNAMIC) return;
  if (ETX_CONTROL_FLOW) count_versions(method, operators, &totals);
  etx_scratch_compaction_count(method, totals.dynamic_dims);
  if (ETX_SIZE_PROGRAMS && method->blob_index != SIZE_MAX) {
    etx_size_program_count(method, totals.dynamic_dims);
  }
}

// Adds memory for outputs that the file has not planned.
static etx_status count_unplanned(const etx_program* program,
                                  const etx_pte_plan* plan,
                                  etx_operator_cache* operators, size_t* end,
                                  etx_diag* diag) {
  etx_unplanned_outputs_cursor cursor = {0, 0, 0, 0, 0};
  for (;;) {
    bool found = false;
    uint32_t index = 0;
    ETX_TRY(etx_unplanned_outputs_next(program, operators, &cursor, &found,
                                       &index, diag));
    if (!found) return ETX_OK;
    const etx_pte_value value = etx_pte_value_at(plan, index);
    const size_t bytes = etx_pte_tensor_bytes(&value.as.tensor);
    // Arenas and outputs have at most `most` bytes, so nothing overflows.
    const size_t most = (size_t)PTRDIFF_MAX + 1;
    const size_t start =
        (*end + ETX_MEMORY_ALIGNMENT - 1) & ~(size_t)(ETX_MEMORY_ALIGNMENT - 1);
    if (bytes > most - start) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "outputs without memory need too many bytes");
    }
    *end = start + bytes;
  }
}

static etx_status count_memory(const etx_method* method,
                               etx_operator_cache* operators, size_t unplanned,
                               etx_memory_needed* out_needed, etx_diag* diag) {
  const etx_program* program = method->program;
  const etx_pte_plan* plan = &method->plan;
  size_t end = 0;
  if (!etx_program_arena_offsets(program, plan, NULL, &end)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "method '%t' asks for more bytes of planned memory "
                         "than this machine can address",
                         etx_pte_plan_name(plan));
  }
  // Most files plan everything.
  if (ETX_DYNAMIC && unplanned > 0) {
    ETX_TRY(count_unplanned(program, plan, operators, &end, diag));
  }
  out_needed->scratch_bytes = end;
  const bool has_state = program->shares_state &&
                         method->arena_count > ETX_MEMORY_STATE &&
                         etx_pte_buffer_size_at(plan, ETX_MEMORY_STATE) > 0;
  out_needed->state_bytes = has_state ? (size_t)program->state_bytes : 0;
  return ETX_OK;
}

etx_status etx_method_layout_count(etx_method* method,
                                   etx_operator_cache* operators,
                                   etx_memory_needed* out_needed,
                                   etx_diag* diag) {
  size_t unplanned = 0;
  count_all(method, operators, &unplanned);
  method->arena_count = etx_pte_buffer_size_count(&method->plan);
  if (ETX_DYNAMIC && method->blob_index != SIZE_MAX) {
    method->symbol_count =
        etx_blob_symbol_count(&method->program->blob, method->blob_index);
    method->input_dim_count =
        etx_blob_input_dim_count(&method->program->blob, method->blob_index);
  }
  return count_memory(method, operators, unplanned, out_needed, diag);
}

// An array of a method: the offsets of its pointer and its count in etx_method
// (0: it has no count), and the number of extra elements.
typedef struct array {
  uint16_t pointer;
  uint16_t count;
  uint16_t element_bytes;
  uint16_t more;
} array;

#define ARRAY(pointer, count)                                   \
  {                                                             \
    offsetof(etx_method, pointer), offsetof(etx_method, count), \
        sizeof *((etx_method*)0)->pointer, 0                    \
  }
#define SINGLE(pointer) \
  { offsetof(etx_method, pointer), 0, sizeof *((etx_method*)0)->pointer, 1 }

static const array arrays[] = {
    ARRAY(records, record_count),
    ARRAY(steps, record_count),
    ARRAY(values, value_count),
    ARRAY(tensors, tensor_count),
    ARRAY(inputs, input_count),
    ARRAY(pointers, pointer_count),
    ARRAY(outputs, output_count),
    ARRAY(symbols, symbol_count),
    ARRAY(arena_offsets, arena_count),
    ARRAY(integers, integer_count),
    ARRAY(marks, value_count),
#if ETX_DYNAMIC
    ARRAY(symbol_bounds, symbol_count),
    ARRAY(input_dims, input_dim_count),
    ARRAY(versions, version_count),
    ARRAY(prepared_at, prepared_count),
    ARRAY(late_sizes, late_size_count),
    ARRAY(scratch_members, scratch_member_count),
    ARRAY(scratch_blocks, scratch_block_room),
    ARRAY(scratch_lists, scratch_list_count),
    ARRAY(scratch_listed, scratch_listed_count),
    ARRAY(sizes.expressions, sizes.expression_room),
    ARRAY(sizes.values, sizes.expression_room),
    ARRAY(sizes.dims, sizes.dim_count),
    ARRAY(sizes.tensors, sizes.tensor_count),
    ARRAY(sizes.records, sizes.record_count),
    ARRAY(sizes.numbers, sizes.number_count),
#endif
    SINGLE(kernel_diag),
    SINGLE(random),
};

bool etx_method_layout_take(etx_method* method, etx_arena* arena) {
  uint8_t* const base = (uint8_t*)method;
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
    const array* const a = &arrays[i];
    size_t count = 0;
    void* taken = NULL;
    if (a->count != 0) memcpy(&count, base + a->count, sizeof count);
    if (!etx_arena_take_items(arena, count + a->more, a->element_bytes,
                              &taken)) {
      return false;
    }
    memcpy(base + a->pointer, &taken, sizeof taken);
  }
  return true;
}

static etx_status count_needed(const etx_program* program, etx_text name,
                               etx_memory_needed* out_needed, etx_diag* diag) {
  etx_method method;
  etx_memory_needed needed;
  ETX_TRY(etx_method_layout_find(&method, program, name, diag));
  etx_operator_cache operators;
  etx_operator_cache_init(&operators, &method.plan, program->kernels);
  ETX_TRY(etx_method_layout_count(&method, &operators, &needed, diag));
  ETX_TRY(etx_method_temporary_of_plan(program, &method.plan, &operators,
                                       &needed.temporary_bytes, diag));
  etx_arena arena;
  etx_arena_init_counting(&arena);
  const bool fits = etx_method_layout_take(&method, &arena);
  if (ETX_NEVER_IF_WIDE(!fits)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "method '%t' has too many values for this machine",
                         name);
  }
  needed.structure_bytes = arena.used_bytes;
  *out_needed = needed;
  return ETX_OK;
}

etx_status etx_method_needed(const etx_program* program, etx_text name,
                             etx_memory_needed* out_needed, etx_diag* diag) {
  return etx_diag_seal(diag, count_needed(program, name, out_needed, diag));
}
