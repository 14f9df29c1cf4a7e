// Appends values and kernel calls to a plan. Equal immutable scalars share one
// slot.

#include "exporter/emit/emit_internal.h"

etx_status etx_emit_call(etx_emit_method* m, const etx_op* op,
                         const uint32_t* arguments, size_t count) {
  etx_pool* const pool = m->emit->pool;
  size_t row = 0;
  while (row < m->operator_count && m->operator_rows[row] != op) ++row;
  if (row == m->operator_count) {
    ETX_TRY(etx_pool_grow(pool, &m->operators, row, &m->operator_capacity,
                          sizeof *m->operators));
    ETX_TRY(etx_pool_grow(pool, &m->operator_rows, row,
                          &m->operator_row_capacity, sizeof *m->operator_rows));
    m->operators[row] =
        (etx_pte_operator){etx_text_of(op->name), etx_text_of(op->overload)};
    m->operator_rows[row] = op;
    ++m->operator_count;
  }
  int32_t* const items = etx_pool_take(pool, count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = (int32_t)arguments[i];
  ETX_TRY(etx_pool_grow(pool, &m->instructions, m->instruction_count,
                        &m->instruction_capacity, sizeof *m->instructions));
  m->instructions[m->instruction_count++] =
      (etx_pte_instruction){.kind = ETX_PTE_KERNEL_CALL,
                            .index = (int32_t)row,
                            .arguments = items,
                            .argument_count = count};
  return ETX_OK;
}

etx_status etx_emit_value(etx_emit_method* m, const etx_pte_value* value,
                          uint32_t* out_index) {
  ETX_TRY(etx_pool_grow(m->emit->pool, &m->values, m->value_count,
                        &m->value_capacity, sizeof *value));
  *out_index = (uint32_t)m->value_count;
  m->values[m->value_count++] = *value;
  return ETX_OK;
}

static bool same_scalar(const etx_pte_value* a, const etx_pte_value* b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ETX_PTE_NULL:
      return true;
    case ETX_PTE_INT:
      return a->as.integer == b->as.integer;
    case ETX_PTE_BOOL:
      return a->as.boolean == b->as.boolean;
    case ETX_PTE_DOUBLE:
      return memcmp(&a->as.real, &b->as.real, sizeof a->as.real) == 0;
    case ETX_PTE_STRING:
      return etx_text_equal(a->as.string, b->as.string);
    case ETX_PTE_INT_LIST:
      return a->as.integers.count == b->as.integers.count &&
             memcmp(a->as.integers.items, b->as.integers.items,
                    a->as.integers.count * sizeof(int64_t)) == 0;
    default:
      return false;
  }
}

etx_status etx_emit_shared(etx_emit_method* m, const etx_pte_value* value,
                           uint32_t* out_index) {
  for (size_t i = 0; i < m->shared_count; ++i) {
    if (!same_scalar(&m->values[m->shared[i]], value)) continue;
    *out_index = m->shared[i];
    return ETX_OK;
  }
  ETX_TRY(etx_emit_value(m, value, out_index));
  ETX_TRY(etx_pool_grow(m->emit->pool, &m->shared, m->shared_count,
                        &m->shared_capacity, sizeof *out_index));
  m->shared[m->shared_count++] = *out_index;
  return ETX_OK;
}

etx_status etx_emit_null(etx_emit_method* m, uint32_t* out_index) {
  const etx_pte_value value = {.kind = ETX_PTE_NULL};
  return etx_emit_shared(m, &value, out_index);
}

etx_status etx_emit_int(etx_emit_method* m, int64_t integer,
                        uint32_t* out_index) {
  const etx_pte_value value = {.kind = ETX_PTE_INT, .as.integer = integer};
  return etx_emit_shared(m, &value, out_index);
}
