// Appends values and kernel calls to a plan. Equal immutable scalars share one
// slot.

#include "exporter/emit/emit_internal.h"
#include "exporter/host/content_hash.h"

enum { FIRST_TABLE_SIZE = 64 };

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
  ETX_TRY(etx_pool_extend(pool, &m->instructions, m->instruction_count,
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
  const etx_pte_value copy = *value;
  ETX_TRY(etx_pool_extend(m->emit->pool, &m->values, m->value_count,
                          &m->value_capacity, sizeof copy));
  *out_index = (uint32_t)m->value_count;
  m->values[m->value_count++] = copy;
  return ETX_OK;
}

// The bytes that equal scalars and lists have in common. False if the kind is
// never shared.
static bool bytes_of(const etx_pte_value* value, etx_bytes* out_bytes) {
  const void* data = NULL;
  size_t size = 0;
  switch (value->kind) {
    case ETX_PTE_NULL:
      break;
    case ETX_PTE_INT:
      data = &value->as.integer;
      size = sizeof value->as.integer;
      break;
    case ETX_PTE_BOOL:
      data = &value->as.boolean;
      size = sizeof value->as.boolean;
      break;
    case ETX_PTE_DOUBLE:
      data = &value->as.real;
      size = sizeof value->as.real;
      break;
    case ETX_PTE_STRING:
      data = value->as.string.data;
      size = value->as.string.size;
      break;
    case ETX_PTE_INT_LIST:
      data = value->as.integers.items;
      size = value->as.integers.count * sizeof *value->as.integers.items;
      break;
    default:
      return false;
  }
  *out_bytes = (etx_bytes){data, size};
  return true;
}

// The place of a value in the table: that of an equal one, or a free one.
static size_t place_in(const etx_emit_method* m, const etx_pte_value* value,
                       etx_bytes bytes) {
  size_t at = (size_t)(etx_content_hash(bytes) + (uint64_t)value->kind) &
              (m->shared_size - 1);
  for (; m->shared[at] != 0; at = (at + 1) & (m->shared_size - 1)) {
    const etx_pte_value* const other = &m->values[m->shared[at] - 1];
    etx_bytes known = {NULL, 0};
    if (other->kind == value->kind && bytes_of(other, &known) &&
        known.size == bytes.size &&
        (known.size == 0 || memcmp(known.data, bytes.data, known.size) == 0)) {
      break;
    }
  }
  return at;
}

// Makes room for one more value; less than half of the table is in use.
static etx_status grow_shared(etx_emit_method* m) {
  if (2 * (m->shared_count + 1) < m->shared_size) return ETX_OK;
  const uint32_t* const old = m->shared;
  const size_t old_size = m->shared_size;
  m->shared_size = old_size == 0 ? FIRST_TABLE_SIZE : 2 * old_size;
  m->shared = etx_pool_take(m->emit->pool, m->shared_size * sizeof *m->shared);
  if (m->shared == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < old_size; ++i) {
    if (old[i] == 0) continue;
    etx_bytes bytes = {NULL, 0};
    const etx_pte_value* const value = &m->values[old[i] - 1];
    if (bytes_of(value, &bytes)) {
      m->shared[place_in(m, value, bytes)] = old[i];
    }
  }
  return ETX_OK;
}

etx_status etx_emit_shared(etx_emit_method* m, const etx_pte_value* value,
                           uint32_t* out_index) {
  etx_bytes bytes = {NULL, 0};
  if (!bytes_of(value, &bytes)) return etx_emit_value(m, value, out_index);
  ETX_TRY(grow_shared(m));
  const size_t at = place_in(m, value, bytes);
  if (m->shared[at] != 0) {
    *out_index = m->shared[at] - 1;
    return ETX_OK;
  }
  ETX_TRY(etx_emit_value(m, value, out_index));
  m->shared[at] = *out_index + 1;
  ++m->shared_count;
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
