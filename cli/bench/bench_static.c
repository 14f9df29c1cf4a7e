// Dynamic sizes are at their upper bounds, and each instruction is counted
// once, even in loops and branches.

#include "cli/bench/bench_static.h"

#include <stdlib.h>

#include "format/pte/reserved_names.h"
#include "runtime/program/operator_cache.h"

// Identifies the memory of a tensor: equal for tensors at the same place.
static uint64_t place_of(const etx_pte_tensor* tensor,
                         const etx_bytes* stored) {
  if (stored->data != NULL) return (uint64_t)(uintptr_t)stored->data;
  if (!tensor->has_allocation) return 0;
  return ((uint64_t)tensor->memory_id << 48) + tensor->memory_offset + 1;
}

static void add_tensor(const etx_program* program, const etx_pte_plan* plan,
                       etx_operator_cost_call* cost, size_t argument,
                       int64_t index, bool is_written) {
  if (index < 0 || etx_pte_value_kind(plan, (size_t)index) != ETX_PTE_TENSOR) {
    return;
  }
  const etx_pte_value value = etx_pte_value_at(plan, (size_t)index);
  const etx_pte_tensor* tensor = &value.as.tensor;
  etx_bytes stored = {NULL, 0};
  const bool is_constant =
      !tensor->has_allocation && etx_program_stored(program, tensor, &stored);
  const etx_operator_cost_tensor added = {argument,
                                          tensor->sizes,
                                          tensor->rank,
                                          tensor->dtype,
                                          is_written,
                                          is_constant,
                                          place_of(tensor, &stored)};
  etx_operator_cost_call_add(cost, &added);
}

static etx_operator_cost cost_of(const etx_program* program,
                                 const etx_pte_plan* plan,
                                 const etx_pte_instruction* instruction,
                                 const etx_cached_operator* known) {
  etx_operator_cost_call cost = {.op = known->op};
  for (size_t i = 0; i < known->argument_count; ++i) {
    const bool is_written = (known->written >> i & 1) != 0;
    const size_t index = (size_t)instruction->arguments[i];
    const etx_pte_value value = etx_pte_value_at(plan, index);
    const bool is_list = value.kind == ETX_PTE_TENSOR_LIST ||
                         value.kind == ETX_PTE_OPTIONAL_TENSOR_LIST;
    if (value.kind == ETX_PTE_INT_LIST && value.as.integers.count == 4) {
      const size_t third = (size_t)value.as.integers.items[2];
      etx_operator_cost_call_add_order(
          &cost, i, etx_pte_value_at(plan, third).as.integer);
    }
    if (!is_list) {
      add_tensor(program, plan, &cost, i, (int64_t)index, is_written);
      continue;
    }
    for (size_t item = 0; item < value.as.tensors.count; ++item) {
      add_tensor(program, plan, &cost, i, value.as.tensors.items[item],
                 is_written);
    }
  }
  return etx_operator_cost_of(&cost);
}

static void add_instruction(const etx_program* program,
                            const etx_pte_plan* plan,
                            const etx_pte_instruction* instruction,
                            etx_operator_cache* operators,
                            etx_bench_operator* by_id) {
  if (instruction->kind != ETX_PTE_KERNEL_CALL) return;
  const etx_cached_operator* known =
      etx_operator_cache_at(operators, (size_t)instruction->index);
  if (known->op == NULL || instruction->argument_count != known->call_count) {
    return;
  }
  const etx_operator_cost cost = cost_of(program, plan, instruction, known);
  etx_bench_operator* row = &by_id[etx_bench_row_of(by_id, known->op)];
  row->op = known->op;
  ++row->calls;
  etx_operator_cost_add(&row->cost, &cost);
}

static int compare_operators(const void* a, const void* b) {
  const etx_bench_operator* x = a;
  const etx_bench_operator* y = b;
  if (x->cost.bytes != y->cost.bytes) {
    return x->cost.bytes < y->cost.bytes ? 1 : -1;
  }
  return (x->op->id > y->op->id) - (x->op->id < y->op->id);
}

static void collect(etx_bench_operator* by_id, etx_bench_result* result) {
  result->operators = by_id;
  for (size_t id = 0; id < ETX_BENCH_ROWS; ++id) {
    const etx_bench_operator row = by_id[id];
    if (row.calls == 0) continue;
    result->calls += row.calls;
    etx_operator_cost_add(&result->cost, &row.cost);
    result->operators[result->operator_count++] = row;
  }
  qsort(result->operators, result->operator_count, sizeof *result->operators,
        compare_operators);
}

size_t etx_bench_static_instruction_count(const etx_pte_plan* plan) {
  size_t count = 0;
  for (size_t chain = 0; chain < etx_pte_chain_count(plan); ++chain) {
    count += etx_pte_instruction_count(plan, chain);
  }
  return count;
}

etx_status etx_bench_static(const etx_program* program, const char* name,
                            etx_pool* pool, etx_bench_result* out_result,
                            etx_diag* diag) {
  etx_bench_result result = {.name = name};
  etx_pte_plan plan;
  etx_operator_cache operators;
  const etx_text text = etx_text_of(name);
  ETX_TRY(etx_program_find_plan(program, text, &plan, diag));
  ETX_TRY(etx_method_needed(program, text, &result.memory, diag));
  etx_bench_operator* by_id =
      etx_pool_take(pool, ETX_BENCH_ROWS * sizeof *by_id);
  if (by_id == NULL) return ETX_OUT_OF_MEMORY;
  etx_operator_cache_init(&operators, &plan, program->kernels);
  for (size_t chain = 0; chain < etx_pte_chain_count(&plan); ++chain) {
    const size_t count = etx_pte_instruction_count(&plan, chain);
    for (size_t i = 0; i < count; ++i) {
      const etx_pte_instruction instruction =
          etx_pte_instruction_at(&plan, chain, i);
      add_instruction(program, &plan, &instruction, &operators, by_id);
    }
  }
  collect(by_id, &result);
  result.instructions = etx_bench_static_instruction_count(&plan);
  *out_result = result;
  return ETX_OK;
}
