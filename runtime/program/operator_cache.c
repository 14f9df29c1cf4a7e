#include "runtime/program/operator_cache.h"

#include <string.h>

#include "runtime/program/argument_check.h"
#include "runtime/built_types.h"

void etx_operator_cache_init(etx_operator_cache* cache,
                             const etx_pte_plan* plan,
                             const etx_kernel_table* kernels) {
  cache->plan = plan;
  cache->kernels = kernels;
  memset(cache->tags, 0, sizeof cache->tags);
}

// Fills the part of a row that describes the arguments.
static __attribute__((noinline)) void describe(etx_cached_operator* row,
                                               const etx_op* op) {
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  size_t count = 0;
  for (; etx_argument_next(&cursor, &argument); ++count) {
    if (argument.written) row->written |= (uint64_t)1 << count;
    if (argument.type == ETX_ARGUMENT_OPTIONAL_TENSORS) {
      row->may_lack |= (uint64_t)1 << count;
    }
    row->kinds[count] = (uint16_t)(etx_argument_kinds(argument.type) |
                                   (argument.optional ? 1 << ETX_PTE_NULL : 0));
  }
  row->op = op;
  row->argument_count = count;
  row->kinds[count] = etx_result_kinds(op->result);
  row->call_count = count + (op->result == ETX_RESULT_NONE ? 0 : 1);
}

// Fills the row of an operator. Not inlined: most operators are found, and then
// etx_operator_cache_at needs no registers to be saved.
static __attribute__((noinline)) etx_cached_operator* look_up(
    etx_operator_cache* cache, size_t index) {
  const size_t at = index % ETX_OPERATOR_CACHE_ROWS;
  etx_cached_operator* row = &cache->rows[at];
  const etx_pte_operator name = etx_pte_operator_at(cache->plan, index);
  cache->tags[at] = (uint64_t)index + 1;
  memset(row, 0, sizeof *row);
  row->last_record = UINT32_MAX;
  const etx_op_name wanted = etx_op_name_of(name.name, name.overload);
  row->kernel = etx_kernel_find_named(cache->kernels, &wanted);
  const etx_op* const op =
      row->kernel != NULL ? row->kernel->op : etx_op_find_view(&wanted);
  if (op != NULL) describe(row, op);
  return row;
}

etx_cached_operator* etx_operator_cache_at(etx_operator_cache* cache,
                                           size_t index) {
  const size_t at = index % ETX_OPERATOR_CACHE_ROWS;
  return cache->tags[at] == (uint64_t)index + 1 ? &cache->rows[at]
                                                : look_up(cache, index);
}

static etx_pte_kind kind_at(const etx_pte_plan* plan, const etx_value* values,
                            size_t index) {
  return values == NULL ? etx_pte_value_kind(plan, index)
                        : (etx_pte_kind)(values[index].kind + 1);
}

// True if all items of a list of tensors are tensors.
static bool items_fit(const etx_pte_plan* plan, const etx_value* values,
                      const etx_pte_value* list) {
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const int64_t index = etx_pte_item_at(list, i);
    if (index < 0 || kind_at(plan, values, (size_t)index) != ETX_PTE_TENSOR) {
      return false;
    }
  }
  return true;
}

bool etx_cached_operator_fits(const etx_cached_operator* known,
                              const etx_pte_plan* plan, const etx_value* values,
                              const etx_pte_instruction* instruction) {
  if (!ETX_KNOWS_ALL_TYPES) {
    return etx_arguments_check(plan, instruction, known->op, NULL) == ETX_OK;
  }
  if (instruction->argument_count != known->call_count) return false;
  const int32_t* const arguments = instruction->arguments;
  for (size_t i = 0; i < instruction->argument_count; ++i) {
    const size_t index = (size_t)arguments[i];
    const etx_pte_kind kind = kind_at(plan, values, index);
    if ((known->kinds[i] >> kind & 1) == 0) return false;
    // Opening the file has verified the items of lists of ints.
    if (!etx_pte_lists_values(kind) || kind == ETX_PTE_INT_LIST) continue;
    // A list in the return slot has the items of an argument.
    if (i >= known->argument_count || (known->may_lack >> i & 1) != 0) continue;
    etx_pte_value list;
    etx_pte_value_read(plan, index, &list);
    if (!items_fit(plan, values, &list)) return false;
  }
  return true;
}
