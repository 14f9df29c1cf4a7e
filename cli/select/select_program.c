// Reads operators, the kernel key of each call, and features from the plans of
// a program.

#include "cli/select/select_program.h"

#include "cli/select/selected_loops.h"
#include "format/ops/chain_steps.h"
#include "runtime/program/build_features.h"
#include "runtime/program/cell_check.h"
#include "runtime/program/operator_cache.h"
#include "runtime/trace/kernel_key.h"

static etx_status put_name(etx_pool* pool, etx_pte_operator op, etx_text* out) {
  *out = etx_pool_format(pool, "%t%s%t", op.name,
                         op.overload.size > 0 ? "." : "", op.overload);
  return out->data == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

// True if the trace has a call of the operator with the key.
static bool is_traced(const etx_selection* traced, etx_text name,
                      etx_text key) {
  const etx_selected_operator* const row = etx_selection_find(traced, name);
  return row != NULL && etx_text_set_has(&row->kernels, key);
}

// Adds the steps of the chains that a call computes.
static void add_steps(const etx_pte_plan* plan, const etx_pte_instruction* call,
                      uint64_t* steps) {
  for (size_t i = 0; i < call->argument_count; ++i) {
    const etx_pte_value value =
        etx_pte_value_at(plan, (size_t)call->arguments[i]);
    uint8_t words[ETX_CHAIN_STEPS_MAX];
    size_t count = 0;
    if (value.kind != ETX_PTE_STRING ||
        !etx_chain_steps_read(value.as.string, ETX_CHAIN_MAX_OTHERS, words,
                              &count)) {
      continue;
    }
    for (size_t k = 0; k < count; ++k) *steps |= etx_chain_step_bit(words[k]);
  }
}

// What is known of a value before a call.
enum { VALUE_USED = 1, VALUE_INPUT = 2 };

// True if the call may give its result another size, number or memory than it
// had. Operators that change their first argument keep its size, and an input
// keeps the size that the caller has set.
static bool may_change(const etx_op* op, const etx_pte_instruction* call,
                       uint32_t result, const etx_pte_value* value,
                       const uint8_t* marks) {
  if (op == NULL || etx_op_makes_view(op)) return true;
  if (op->result == ETX_RESULT_NONE) return false;
  if (op->result == ETX_RESULT_SELF && result == (uint32_t)call->arguments[0]) {
    return false;
  }
  return value->kind != ETX_PTE_TENSOR || op->result == ETX_RESULT_SELF ||
         (value->as.tensor.dynamism != ETX_PTE_STATIC &&
          (marks[result] & VALUE_INPUT) == 0);
}

static void note_used(const etx_pte_plan* plan, size_t index, uint8_t* marks) {
  const etx_pte_value value = etx_pte_value_at(plan, index);
  marks[index] |= VALUE_USED;
  if (!etx_pte_lists_values(value.kind)) return;
  for (size_t i = 0; i < value.as.list.count; ++i) {
    const int64_t item = etx_pte_item_at(&value, i);
    if (item >= 0) marks[item] |= VALUE_USED;
  }
}

// True if a value that the call writes was used by an earlier one and may
// change. The runtime then decides during the run what is prepared ahead.
static bool changes_used(const etx_pte_plan* plan,
                         const etx_cached_operator* known,
                         const etx_pte_instruction* call, uint8_t* marks) {
  bool changes = false;
  for (size_t i = 0; i < call->argument_count; ++i) {
    const uint32_t index = (uint32_t)call->arguments[i];
    const bool is_last = i + 1 == call->argument_count;
    const bool is_written = is_last || (known->written >> i & 1) != 0;
    const etx_pte_value value = etx_pte_value_at(plan, index);
    changes = changes || (is_written && (marks[index] & VALUE_USED) != 0 &&
                          may_change(known->op, call, index, &value, marks));
  }
  for (size_t i = 0; i < call->argument_count; ++i) {
    note_used(plan, (size_t)call->arguments[i], marks);
  }
  return changes;
}

// The same for all calls of the method.
static etx_status find_changes(const etx_program* program,
                               const etx_pte_plan* plan,
                               const etx_selecting* to) {
  etx_operator_cache operators;
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction call;
  uint8_t* const marks = etx_pool_take(to->pool, etx_pte_value_count(plan) + 1);
  if (marks == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < etx_pte_input_count(plan); ++i) {
    marks[etx_pte_input_at(plan, i)] |= VALUE_INPUT;
  }
  etx_operator_cache_init(&operators, plan, program->kernels);
  while (etx_pte_instruction_next(plan, &cursor, &call)) {
    if (call.kind != ETX_PTE_KERNEL_CALL) continue;
    const etx_cached_operator* const known =
        etx_operator_cache_at(&operators, (size_t)call.index);
    if (known->op != NULL && etx_op_makes_view(known->op)) {
      to->facts->has_views = true;
    }
    if (changes_used(plan, known, &call, marks)) {
      to->facts->changes_used_values = true;
    }
  }
  return ETX_OK;
}

static etx_status list_row(etx_selected_operator* row,
                           const etx_selecting* to) {
  row->is_listed = true;
  row->is_root = true;
  row->is_training = true;
  return etx_text_set_add(&row->debug_info, to->pool, to->path);
}

static etx_status add_call(const etx_pte_plan* plan,
                           const etx_pte_instruction* call,
                           const etx_selecting* to) {
  etx_text name;
  etx_selected_operator* row = NULL;
  etx_kernel_key key;
  if (!etx_kernel_key_of(plan, call, &key)) return ETX_UNSUPPORTED;
  const etx_text text = etx_kernel_key_text(&key);
  ETX_TRY(put_name(to->pool, etx_pte_operator_at(plan, (size_t)call->index),
                   &name));
  if (to->traced != NULL && !is_traced(to->traced, name, text)) return ETX_OK;
  ETX_TRY(etx_selection_row(to->selection, to->pool, name, &row));
  ETX_TRY(list_row(row, to));
  row->has_kernels = true;
  row->dtypes |= etx_instruction_dtypes(plan, call);
  add_steps(plan, call, &to->facts->chain_steps);
  if (etx_text_set_has(&row->kernels, text)) return ETX_OK;
  const etx_text copy = etx_pool_copy_text(to->pool, text);
  if (copy.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_text_set_add(&row->kernels, to->pool, copy);
}

// Adds the operators that the plan lists, whether it calls them or not.
static etx_status add_operators(const etx_pte_plan* plan,
                                const etx_selecting* to) {
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    etx_text name;
    etx_selected_operator* row = NULL;
    ETX_TRY(put_name(to->pool, etx_pte_operator_at(plan, i), &name));
    ETX_TRY(etx_selection_row(to->selection, to->pool, name, &row));
    ETX_TRY(list_row(row, to));
  }
  return ETX_OK;
}

static void keep_larger(size_t* bytes, size_t other) {
  if (other > *bytes) *bytes = other;
}

etx_status etx_select_bytes(const etx_program* program,
                            const etx_pte_plan* plan, const etx_selecting* to,
                            etx_diag* diag) {
  etx_memory_needed needed;
  etx_memory_needed* const bytes = &to->facts->bytes;
  ETX_TRY(etx_method_needed(program, etx_pte_plan_name(plan), &needed, diag));
  keep_larger(&bytes->structure_bytes, needed.structure_bytes);
  keep_larger(&bytes->scratch_bytes, needed.scratch_bytes);
  keep_larger(&bytes->state_bytes, needed.state_bytes);
  keep_larger(&bytes->temporary_bytes, needed.temporary_bytes);
  return ETX_OK;
}

etx_status etx_select_method(const etx_program* program,
                             const etx_pte_plan* plan, const etx_selecting* to,
                             etx_diag* diag) {
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction instruction;
  uint32_t features = 0;
  if (to->traced == NULL) ETX_TRY(add_operators(plan, to));
  while (etx_pte_instruction_next(plan, &cursor, &instruction)) {
    if (instruction.kind != ETX_PTE_KERNEL_CALL) continue;
    ETX_TRY(add_call(plan, &instruction, to));
  }
  ETX_TRY(etx_build_features_of(program, plan, &features, diag));
  to->facts->features |= features;
  return find_changes(program, plan, to);
}

etx_status etx_select_program(const etx_program* program,
                              const etx_selecting* to, etx_diag* diag) {
  for (size_t i = 0; i < etx_pte_plan_count(&program->pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(&program->pte, i);
    ETX_TRY(etx_select_method(program, &plan, to, diag));
    ETX_TRY(etx_select_bytes(program, &plan, to, diag));
  }
  return ETX_OK;
}
