// The address range of every tensor of a method.
//
// All bytes of a method form one address space: its arenas one after another,
// then a range for each tensor whose memory the caller owns. Two tensors share
// bytes exactly if their ranges in it overlap, so later checks need not know
// about arenas.
//
//   | arena 1        | arena 2   | input 0 | output 3 |
//   0                                                    -> address
//
// The view rows of the blob relate tensors: a view has a larger parent, the
// result of a concatenation has parts. A row is used only after its offset was
// checked against the addresses of both tensors.

#include <stdarg.h>
#include <stdlib.h>

#include "cli/verify/verify_internal.h"
#include "format/base/arena.h"
#include "format/base/checked_math.h"
#include "format/base/reachability.h"
#include "format/pte/reserved_names.h"

void etx_verify_method_init(etx_verify_method* m, const etx_pte* pte,
                            const etx_blob* blob, size_t index,
                            etx_verify_arena* memory, etx_diag* diag) {
  *m = (etx_verify_method){.pte = pte,
                           .blob = blob,
                           .plan = etx_pte_plan_at(pte, index),
                           .memory = memory,
                           .diag = diag,
                           .max_state_bytes = UINT64_C(1) << 31,
                           .max_row_steps = UINT64_C(1) << 28};
  m->name = etx_pte_plan_name(&m->plan);
  if (blob == NULL || !etx_blob_method_find(blob, m->name, &m->blob_method)) {
    m->blob_method = SIZE_MAX;
  }
}

etx_status etx_verify_refuse(const etx_verify_method* m, const char* format,
                             ...) {
  char text[ETX_DIAG_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  etx_format_text_list(text, sizeof text, format, list);
  va_end(list);
  return etx_diag_fail(m->diag, ETX_BAD_PLAN, "%s (method '%t')", text,
                       m->name);
}

static etx_pte_tensor tensor_of(const etx_verify_method* m, size_t value) {
  return etx_pte_value_at(&m->plan, value).as.tensor;
}

// ---- the address space ----

typedef struct address_space {
  uint64_t* arenas;  // by arena: its first address
  uint64_t end;      // first free address
} address_space;

static etx_status assign_arenas(etx_verify_method* m, address_space* space) {
  const size_t count = etx_pte_buffer_size_count(&m->plan);
  space->arenas =
      etx_verify_arena_take(m->memory, count, sizeof *space->arenas);
  space->end = 0;
  if (space->arenas == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 1; i < count; ++i) {
    const int64_t bytes = etx_pte_buffer_size_at(&m->plan, i);
    space->arenas[i] = space->end;
    // etx_pte_open has refused negative sizes.
    if (ETX_NEVER(bytes < 0) ||
        !etx_add_u64(space->end, (uint64_t)bytes, &space->end)) {
      return etx_verify_refuse(m, "arena '%z' has an invalid size of %i bytes",
                               i, bytes);
    }
  }
  return ETX_OK;
}

static etx_status assign_planned(const etx_verify_method* m,
                                 const address_space* space,
                                 const etx_pte_tensor* tensor, size_t index,
                                 etx_verify_range* range) {
  const size_t arena_count = etx_pte_buffer_size_count(&m->plan);
  const uint64_t bytes = etx_pte_tensor_bytes(tensor);
  uint64_t end = 0;
  // etx_pte_open has refused tensors outside of their arenas.
  if (ETX_NEVER(tensor->memory_id == 0 || tensor->memory_id >= arena_count)) {
    return etx_verify_refuse(m,
                             "value '%z' is in arena '%u', which the method "
                             "does not have",
                             index, (uint64_t)tensor->memory_id);
  }
  const int64_t arena_bytes =
      etx_pte_buffer_size_at(&m->plan, tensor->memory_id);
  if (ETX_NEVER(!etx_add_u64(tensor->memory_offset, bytes, &end) ||
                end > (uint64_t)arena_bytes)) {
    return etx_verify_refuse(m,
                             "value '%z' with %u bytes at offset %u exceeds "
                             "arena '%u', which has %i bytes",
                             index, bytes, tensor->memory_offset,
                             (uint64_t)tensor->memory_id, arena_bytes);
  }
  range->start = space->arenas[tensor->memory_id] + tensor->memory_offset;
  range->end = range->start + bytes;
  return ETX_OK;
}

static etx_status assign_tensor(etx_verify_method* m, address_space* space,
                                size_t index) {
  etx_verify_value* const value = &m->values[index];
  const etx_pte_tensor tensor = tensor_of(m, index);
  if (tensor.has_allocation) {
    value->storage = ETX_VERIFY_STORAGE_PLANNED;
    return assign_planned(m, space, &tensor, index, &value->range);
  }
  if (tensor.data_buffer_index != 0 || tensor.location == ETX_PTE_EXTERNAL) {
    value->storage = ETX_VERIFY_STORAGE_CONSTANT;
    return ETX_OK;
  }
  value->storage = ETX_VERIFY_STORAGE_CALLER;
  value->range.start = space->end;
  if (!etx_add_u64(space->end, etx_pte_tensor_bytes(&tensor), &space->end)) {
    return etx_verify_refuse(m,
                             "the tensors have more bytes than 64 bits can "
                             "count");
  }
  value->range.end = space->end;
  return ETX_OK;
}

// ---- views and their parents ----

static size_t row_count(const etx_verify_method* m) {
  return m->blob == NULL || m->blob_method == SIZE_MAX
             ? 0
             : etx_blob_view_count(m->blob, m->blob_method);
}

static etx_status refuse_row(const etx_verify_method* m,
                             const etx_blob_view* row, const char* why) {
  return etx_verify_refuse(
      m, "the view row of values '%u' and '%u' with offset %u %s",
      (uint64_t)row->value, (uint64_t)row->base, row->offset, why);
}

static uint64_t bytes_of(const etx_verify_method* m, uint32_t value) {
  const etx_pte_tensor tensor = tensor_of(m, value);
  return etx_pte_tensor_bytes(&tensor);
}

// The smaller of the two tensors lies in the larger one. True if that is
// `value`, a view of `base`; otherwise `base` is a part of `value`.
static bool is_view_row(const etx_verify_method* m, const etx_blob_view* row) {
  return bytes_of(m, row->value) <= bytes_of(m, row->base);
}

static etx_status count_row(etx_verify_method* m, const etx_blob_view* row) {
  // etx_blob_open has refused rows of other values, and of others' bytes.
  if (ETX_NEVER(row->value >= m->value_count || row->base >= m->value_count ||
                row->value == row->base ||
                m->values[row->value].storage == ETX_VERIFY_STORAGE_NONE ||
                m->values[row->base].storage == ETX_VERIFY_STORAGE_NONE)) {
    return refuse_row(m, row, "must name two different tensors");
  }
  const uint64_t smaller =
      bytes_of(m, is_view_row(m, row) ? row->value : row->base);
  const uint64_t larger =
      bytes_of(m, is_view_row(m, row) ? row->base : row->value);
  if (ETX_NEVER(row->offset > larger || smaller > larger - row->offset)) {
    return refuse_row(m, row, "exceeds the larger of the two tensors");
  }
  etx_verify_value* const value = &m->values[row->value];
  if (!is_view_row(m, row)) {
    value->part_count += 1;
    return ETX_OK;
  }
  if (value->parent != ETX_VERIFY_NONE) {
    return refuse_row(m, row, "gives a view a second parent, expected one");
  }
  value->parent = row->base;
  value->parent_offset = row->offset;
  return ETX_OK;
}

static etx_status read_view_rows(etx_verify_method* m) {
  const size_t count = row_count(m);
  uint32_t next = 0;
  m->parts = etx_verify_arena_take(m->memory, count, sizeof *m->parts);
  if (m->parts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view row = etx_blob_view_at(m->blob, m->blob_method, i);
    ETX_TRY(count_row(m, &row));
  }
  for (size_t v = 0; v < m->value_count; ++v) {
    m->values[v].first_part = next;
    next += m->values[v].part_count;
    m->values[v].part_count = 0;
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view row = etx_blob_view_at(m->blob, m->blob_method, i);
    etx_verify_value* const value = &m->values[row.value];
    if (is_view_row(m, &row)) continue;
    m->parts[value->first_part + value->part_count++] = row.base;
  }
  return ETX_OK;
}

// A view without an arena takes its address from its parent.
static void resolve_parent(etx_verify_method* m, uint32_t v) {
  etx_verify_value* const value = &m->values[v];
  value->top = v;
  if (value->parent == ETX_VERIFY_NONE) return;
  const etx_verify_value* const parent = &m->values[value->parent];
  value->top = parent->top;
  if (value->storage != ETX_VERIFY_STORAGE_CALLER) return;
  const uint64_t bytes = value->range.end - value->range.start;
  value->storage = parent->storage;
  value->range.start = parent->range.start + value->parent_offset;
  value->range.end = value->range.start + bytes;
}

// Resolves parents before their views, and refuses cycles.
static etx_status resolve_parents(etx_verify_method* m) {
  enum { NEW, ON_PATH, DONE };
  uint8_t* const marks =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *marks);
  uint32_t* const path =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *path);
  if (marks == NULL || path == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    size_t length = 0;
    uint32_t at = v;
    while (at != ETX_VERIFY_NONE && marks[at] == NEW) {
      marks[at] = ON_PATH;
      path[length++] = at;
      at = m->values[at].parent;
    }
    if (at != ETX_VERIFY_NONE && marks[at] == ON_PATH) {
      return etx_verify_refuse(m,
                               "value '%u' is a view of itself, directly or "
                               "through other views",
                               (uint64_t)at);
    }
    while (length > 0) {
      const uint32_t next = path[--length];
      resolve_parent(m, next);
      marks[next] = DONE;
    }
  }
  return ETX_OK;
}

static etx_status check_row(const etx_verify_method* m,
                            const etx_blob_view* row) {
  const bool is_view = is_view_row(m, row);
  const etx_verify_value* const inner =
      &m->values[is_view ? row->value : row->base];
  const etx_verify_value* const outer =
      &m->values[is_view ? row->base : row->value];
  if (inner->storage == ETX_VERIFY_STORAGE_CONSTANT &&
      outer->storage == ETX_VERIFY_STORAGE_CONSTANT) {
    return ETX_OK;
  }
  if (inner->storage != outer->storage ||
      inner->range.start != outer->range.start + row->offset) {
    return refuse_row(m, row, "contradicts their addresses in the plan");
  }
  return ETX_OK;
}

static bool is_fixed(const etx_verify_method* m, uint32_t value) {
  return tensor_of(m, value).dynamism == ETX_PTE_STATIC;
}

// No instruction moves parts together at smaller sizes, so a part may vary only
// at the end of a value that varies, too.
static etx_status check_part_sizes(const etx_verify_method* m, uint32_t v) {
  const etx_verify_value* const value = &m->values[v];
  for (uint32_t i = 0; i < value->part_count; ++i) {
    const uint32_t part = m->parts[value->first_part + i];
    if (is_fixed(m, part) ||
        (!is_fixed(m, v) && m->values[part].range.end == value->range.end)) {
      continue;
    }
    return etx_verify_refuse(m,
                             "part '%u' of value '%u' varies in size, expected "
                             "a fixed size before other parts and in a value "
                             "of fixed size",
                             (uint64_t)part, (uint64_t)v);
  }
  return ETX_OK;
}

// The parts of a value must cover all its bytes.
static etx_status check_parts(const etx_verify_method* m, uint32_t v) {
  const etx_verify_value* const value = &m->values[v];
  etx_verify_range* const ranges =
      etx_verify_arena_take(m->memory, value->part_count, sizeof *ranges);
  if (ranges == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < value->part_count; ++i) {
    ranges[i] = m->values[m->parts[value->first_part + i]].range;
  }
  qsort(ranges, value->part_count, sizeof *ranges, etx_verify_compare_ranges);
  uint64_t covered = value->range.start;
  for (uint32_t i = 0; i < value->part_count; ++i) {
    if (ranges[i].start > covered) break;
    if (ranges[i].end > covered) covered = ranges[i].end;
  }
  if (covered == value->range.end) return ETX_OK;
  return etx_verify_refuse(m,
                           "the parts of value '%u' cover only its first %u "
                           "bytes, expected all %u",
                           (uint64_t)v, covered - value->range.start,
                           value->range.end - value->range.start);
}

static etx_status check_view_rows(etx_verify_method* m) {
  const size_t count = row_count(m);
  ETX_TRY(resolve_parents(m));
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view row = etx_blob_view_at(m->blob, m->blob_method, i);
    ETX_TRY(check_row(m, &row));
  }
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (m->values[v].part_count == 0) continue;
    ETX_TRY(check_parts(m, v));
    ETX_TRY(check_part_sizes(m, v));
  }
  return ETX_OK;
}

// ---- possible ranges ----

// At first each value has one possible range. etx_verify_find_rebinding adds
// those of headers that it takes over.
static etx_status init_possible_ranges(etx_verify_method* m) {
  m->ranges =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *m->ranges);
  if (m->ranges == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t v = 0; v < m->value_count; ++v) {
    etx_verify_value* const value = &m->values[v];
    value->first_range = (uint32_t)v;
    value->range_count = value->range.start < value->range.end ? 1 : 0;
    m->ranges[v] = value->range;
  }
  m->range_count = m->value_count;
  return ETX_OK;
}

etx_status etx_verify_assign_addresses(etx_verify_method* m) {
  address_space space;
  m->value_count = etx_pte_value_count(&m->plan);
  m->values =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *m->values);
  if (m->values == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(assign_arenas(m, &space));
  for (size_t v = 0; v < m->value_count; ++v) {
    m->values[v].parent = ETX_VERIFY_NONE;
    if (etx_pte_value_kind(&m->plan, v) != ETX_PTE_TENSOR) continue;
    ETX_TRY(assign_tensor(m, &space, v));
  }
  ETX_TRY(read_view_rows(m));
  ETX_TRY(check_view_rows(m));
  return init_possible_ranges(m);
}
