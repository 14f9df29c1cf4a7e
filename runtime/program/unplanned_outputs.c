// A stock file may have outputs without planned memory, which ExecuTorch's
// runtime allocates. Here they are placed after the arenas in the scratch
// block. There are few if any, so each is found by reading the instructions
// again, which needs no memory.

#include "runtime/program/unplanned_outputs.h"

#include "format/base/reachability.h"
#include "format/pte/reserved_names.h"
#include "runtime/method.h"

bool etx_program_arena_offsets(const etx_program* program,
                               const etx_pte_plan* plan, size_t* out_offsets,
                               size_t* out_end) {
  uint64_t end = 0;
  const size_t count = etx_pte_buffer_size_count(plan);
  for (size_t i = 0; i < count; ++i) {
    const bool is_shared = i == ETX_MEMORY_STATE && program->shares_state;
    const uint64_t bytes = (uint64_t)etx_pte_buffer_size_at(plan, i);
    if (out_offsets != NULL) out_offsets[i] = SIZE_MAX;
    if (i == 0 || is_shared) continue;
    // No overflow: `end` and `bytes` are at most PTRDIFF_MAX.
    end = (end + ETX_MEMORY_ALIGNMENT - 1) &
          ~(uint64_t)(ETX_MEMORY_ALIGNMENT - 1);
    if (end + bytes > PTRDIFF_MAX) return false;
    if (out_offsets != NULL) out_offsets[i] = (size_t)end;
    end += bytes;
  }
  *out_end = (size_t)end;
  return true;
}

// Limit of writes to values without memory: more than any real file has. The
// search takes quadratic time, so a malicious file must not have more.
enum { MAX_EXAMINED = 512 };

#define NO_VALUE UINT32_MAX

// The operator that an instruction calls with arguments of the right kinds;
// NULL if there is none, or it makes a view.
static const etx_cached_operator* operator_of(
    etx_operator_cache* operators, const etx_pte_instruction* instruction) {
  if (instruction->kind != ETX_PTE_KERNEL_CALL) return NULL;
  const etx_cached_operator* known =
      etx_operator_cache_at(operators, (size_t)instruction->index);
  if (known->op == NULL || etx_op_makes_view(known->op)) return NULL;
  return etx_cached_operator_fits(known, operators->plan, NULL, instruction)
             ? known
             : NULL;
}

// Item `item` of an argument: the value itself, or an item of a list. False
// past the end.
static bool item_at(const etx_pte_plan* plan, int32_t index, size_t item,
                    uint32_t* out_value) {
  if (etx_pte_value_kind(plan, (size_t)index) < ETX_PTE_TENSOR_LIST) {
    *out_value = (uint32_t)index;
    return item == 0;
  }
  const etx_pte_value value = etx_pte_value_at(plan, (size_t)index);
  if (item >= value.as.tensors.count) return false;
  // -1 becomes an index beyond all values.
  *out_value = (uint32_t)value.as.tensors.items[item];
  return true;
}

// Finds the next value that an instruction writes. False at the end.
static bool next_written(etx_operator_cache* operators,
                         etx_unplanned_outputs_cursor* cursor,
                         uint32_t* out_value) {
  const etx_pte_plan* plan = operators->plan;
  for (; cursor->chain < etx_pte_chain_count(plan);
       ++cursor->chain, cursor->instruction = 0) {
    const etx_fb_vector rows = etx_pte_chain_at(plan, cursor->chain);
    for (; cursor->instruction < rows.count;
         ++cursor->instruction, cursor->argument = 0) {
      etx_pte_instruction instruction;
      etx_pte_instruction_read(plan, rows, cursor->instruction, &instruction);
      const etx_cached_operator* known = operator_of(operators, &instruction);
      const size_t arguments = known == NULL ? 0 : known->argument_count;
      const uint64_t written = known == NULL ? 0 : known->written;
      for (; cursor->argument < arguments;
           ++cursor->argument, cursor->item = 0) {
        if ((written >> cursor->argument & 1) == 0) continue;
        const int32_t index = instruction.arguments[cursor->argument];
        if (item_at(plan, index, cursor->item, out_value)) {
          ++cursor->item;
          return true;
        }
      }
    }
  }
  return false;
}

bool etx_program_plan_writes(const etx_program* program,
                             const etx_pte_plan* plan, uint32_t value) {
  etx_operator_cache operators;
  etx_operator_cache_init(&operators, plan, program->kernels);
  etx_unplanned_outputs_cursor cursor = {0, 0, 0, 0, 0};
  uint32_t written = 0;
  while (next_written(&operators, &cursor, &written)) {
    if (written == value) return true;
  }
  return false;
}

static bool is_input(const etx_pte_plan* plan, uint32_t value) {
  for (size_t i = 0; i < etx_pte_input_count(plan); ++i) {
    if ((uint32_t)etx_pte_input_at(plan, i) == value) return true;
  }
  return false;
}

static bool is_blob_view(const etx_program* program, const etx_pte_plan* plan,
                         uint32_t value) {
  size_t blob = 0;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, etx_pte_plan_name(plan), &blob)) {
    return false;
  }
  const size_t count = etx_blob_view_count(&program->blob, blob);
  for (size_t i = 0; i < count; ++i) {
    if (etx_blob_view_at(&program->blob, blob, i).value == value) return true;
  }
  return false;
}

// The value that an instruction rebinds to other memory, or NO_VALUE.
static uint32_t rebound_by(etx_operator_cache* operators,
                           const etx_pte_instruction* instruction) {
  if (instruction->kind == ETX_PTE_MOVE_CALL) {
    return (uint32_t)instruction->target;
  }
  if (instruction->kind != ETX_PTE_KERNEL_CALL) return NO_VALUE;
  const etx_cached_operator* known =
      etx_operator_cache_at(operators, (size_t)instruction->index);
  const etx_op* op = known->op;
  if (op == NULL || instruction->argument_count != known->call_count) {
    return NO_VALUE;
  }
  const size_t last = instruction->argument_count - 1;
  if (!etx_op_makes_view(op) && op->result != ETX_RESULT_SELF) {
    return NO_VALUE;
  }
  if (instruction->arguments[last] == instruction->arguments[0]) {
    return NO_VALUE;
  }
  return (uint32_t)instruction->arguments[last];
}

static bool is_rebound(etx_operator_cache* operators, uint32_t value) {
  const etx_pte_plan* plan = operators->plan;
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction instruction;
  while (etx_pte_instruction_next(plan, &cursor, &instruction)) {
    if (rebound_by(operators, &instruction) == value) return true;
  }
  return false;
}

// True if the write before `cursor` is not the first one of `value`.
static bool was_written(etx_operator_cache* operators,
                        const etx_unplanned_outputs_cursor* cursor,
                        uint32_t value) {
  etx_unplanned_outputs_cursor first = {.examined = cursor->examined};
  uint32_t written = NO_VALUE;
  while (written != value) {
    // At the latest, the write before `cursor` is found.
    const bool is_found = next_written(operators, &first, &written);
    if (ETX_NEVER(!is_found)) break;
  }
  return memcmp(&first, cursor, sizeof first) != 0;
}

// `index` is that of a tensor: the call that writes it fits its operator.
static bool lacks_memory(const etx_pte_plan* plan, uint32_t index) {
  if (ETX_NEVER(index >= etx_pte_value_count(plan))) return false;
  const etx_pte_value value = etx_pte_value_at(plan, index);
  if (ETX_NEVER(value.kind != ETX_PTE_TENSOR)) return false;
  return !etx_pte_tensor_has_bytes(&value.as.tensor);
}

etx_status etx_unplanned_outputs_next(const etx_program* program,
                                      etx_operator_cache* operators,
                                      etx_unplanned_outputs_cursor* cursor,
                                      bool* out_found, uint32_t* out_value,
                                      etx_diag* diag) {
  const etx_pte_plan* const plan = operators->plan;
  *out_found = false;
  uint32_t value = 0;
  while (next_written(operators, cursor, &value)) {
    if (!lacks_memory(plan, value) || is_input(plan, value)) continue;
    if (++cursor->examined > MAX_EXAMINED) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "method '%t' writes more than %z outputs without "
                           "planned memory",
                           etx_pte_plan_name(plan), (size_t)MAX_EXAMINED);
    }
    // Views of the blob and rebound values use the memory of another value.
    if (is_blob_view(program, plan, value) || is_rebound(operators, value) ||
        was_written(operators, cursor, value)) {
      continue;
    }
    *out_found = true;
    *out_value = value;
    return ETX_OK;
  }
  return ETX_OK;
}
