// Where the tensors of a method lie.
//
// All bytes of a method stand on one line: first its arenas, one after the
// other, then a stretch for each tensor that the caller owns. Two tensors
// share bytes exactly if their ranges on the line overlap, so nothing later
// has to know about arenas.
//
//   | arena 1        | arena 2   | input 0 | output 3 |
//   0                                                    -> line
//
// The blob's rows join tensors into families: a view has a larger parent, a
// concat has parts. They are believed only if the bytes agree.

#include <stdarg.h>
#include <stdlib.h>

#include "cli/verify/verify_internal.h"
#include "format/base/arena.h"
#include "format/base/checked_math.h"
#include "format/pte/reserved_names.h"

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

// ---- the line ----

typedef struct line {
  uint64_t* arenas;  // where each arena starts
  uint64_t end;      // first free byte
} line;

static etx_status lay_arenas(etx_verify_method* m, line* l) {
  const size_t count = etx_pte_buffer_size_count(&m->plan);
  l->arenas = etx_verify_arena_take(m->memory, count, sizeof *l->arenas);
  l->end = 0;
  if (l->arenas == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 1; i < count; ++i) {
    const int64_t bytes = etx_pte_buffer_size_at(&m->plan, i);
    l->arenas[i] = l->end;
    if (bytes < 0 || !etx_add_u64(l->end, (uint64_t)bytes, &l->end)) {
      return etx_verify_refuse(m, "arena '%z' of %i bytes is impossible", i,
                               bytes);
    }
  }
  return ETX_OK;
}

static etx_status lay_planned(const etx_verify_method* m, const line* l,
                              const etx_pte_tensor* tensor, size_t index,
                              etx_verify_range* range) {
  const size_t arena_count = etx_pte_buffer_size_count(&m->plan);
  const uint64_t bytes = etx_pte_tensor_bytes(tensor);
  uint64_t end = 0;
  if (tensor->memory_id == 0 || tensor->memory_id >= arena_count ||
      !etx_add_u64(tensor->memory_offset, bytes, &end) ||
      end > (uint64_t)etx_pte_buffer_size_at(&m->plan, tensor->memory_id)) {
    return etx_verify_refuse(m,
                             "value '%z' of %u bytes at offset %u does not lie "
                             "within arena '%u'",
                             index, bytes, tensor->memory_offset,
                             (uint64_t)tensor->memory_id);
  }
  range->start = l->arenas[tensor->memory_id] + tensor->memory_offset;
  range->end = range->start + bytes;
  return ETX_OK;
}

static etx_status lay_tensor(etx_verify_method* m, line* l, size_t index) {
  etx_verify_value* const value = &m->values[index];
  const etx_pte_tensor tensor = tensor_of(m, index);
  if (tensor.has_allocation) {
    value->home = ETX_VERIFY_STORAGE_PLANNED;
    return lay_planned(m, l, &tensor, index, &value->range);
  }
  if (tensor.data_buffer_index != 0 || tensor.location == ETX_PTE_EXTERNAL) {
    value->home = ETX_VERIFY_STORAGE_CONSTANT;
    return ETX_OK;
  }
  value->home = ETX_VERIFY_STORAGE_CALLER;
  value->range.start = l->end;
  if (!etx_add_u64(l->end, etx_pte_tensor_bytes(&tensor), &l->end)) {
    return etx_verify_refuse(m,
                             "the tensors have more bytes than can be "
                             "counted");
  }
  value->range.end = l->end;
  return ETX_OK;
}

// ---- families ----

static size_t row_count(const etx_verify_method* m) {
  return m->blob == NULL || m->blob_method == SIZE_MAX
             ? 0
             : etx_blob_view_count(m->blob, m->blob_method);
}

static etx_status refuse_row(const etx_verify_method* m,
                             const etx_blob_view* row, const char* why) {
  return etx_verify_refuse(
      m, "the view of value '%u' at offset %u of value '%u' %s",
      (uint64_t)row->value, row->offset, (uint64_t)row->base, why);
}

static uint64_t bytes_of(const etx_verify_method* m, uint32_t value) {
  const etx_pte_tensor tensor = tensor_of(m, value);
  return etx_pte_tensor_bytes(&tensor);
}

// The smaller of the two lies in the larger one. True if the value is the
// smaller one, a view.
static bool is_view_row(const etx_verify_method* m, const etx_blob_view* row) {
  return bytes_of(m, row->value) <= bytes_of(m, row->base);
}

static etx_status count_row(etx_verify_method* m, const etx_blob_view* row) {
  if (row->value >= m->value_count || row->base >= m->value_count ||
      row->value == row->base ||
      m->values[row->value].home == ETX_VERIFY_STORAGE_NONE ||
      m->values[row->base].home == ETX_VERIFY_STORAGE_NONE) {
    return refuse_row(m, row, "does not name two tensors");
  }
  const uint64_t smaller =
      bytes_of(m, is_view_row(m, row) ? row->value : row->base);
  const uint64_t larger =
      bytes_of(m, is_view_row(m, row) ? row->base : row->value);
  if (row->offset > larger || smaller > larger - row->offset) {
    return refuse_row(m, row, "passes its end");
  }
  etx_verify_value* const value = &m->values[row->value];
  if (!is_view_row(m, row)) {
    value->part_count += 1;
    return ETX_OK;
  }
  if (value->parent != ETX_VERIFY_NONE) {
    return refuse_row(m, row, "is not its only one");
  }
  value->parent = row->base;
  value->parent_offset = row->offset;
  return ETX_OK;
}

static etx_status find_families(etx_verify_method* m) {
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

// A view whose bytes are the caller's, or the file's, has the address that
// its parent gives it.
static void follow_parent(etx_verify_method* m, uint32_t v) {
  etx_verify_value* const value = &m->values[v];
  value->top = v;
  if (value->parent == ETX_VERIFY_NONE) return;
  const etx_verify_value* const parent = &m->values[value->parent];
  value->top = parent->top;
  if (value->home != ETX_VERIFY_STORAGE_CALLER) return;
  const uint64_t bytes = value->range.end - value->range.start;
  value->home = parent->home;
  value->range.start = parent->range.start + value->parent_offset;
  value->range.end = value->range.start + bytes;
}

// Parents before their views; refuses a chain that comes back to its start.
static etx_status follow_parents(etx_verify_method* m) {
  enum { NEW, ON_PATH, DONE };
  uint8_t* const marks = etx_verify_arena_take(m->memory, m->value_count, 1);
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
      return etx_verify_refuse(m, "value '%u' is a view of itself",
                               (uint64_t)at);
    }
    while (length > 0) {
      const uint32_t next = path[--length];
      follow_parent(m, next);
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
  if (inner->home == ETX_VERIFY_STORAGE_CONSTANT &&
      outer->home == ETX_VERIFY_STORAGE_CONSTANT) {
    return ETX_OK;
  }
  if (inner->home != outer->home ||
      inner->range.start != outer->range.start + row->offset ||
      !etx_verify_contains(outer->range, inner->range)) {
    return refuse_row(m, row, "is not where the plan puts it");
  }
  return ETX_OK;
}

static int compare_ranges(const void* left, const void* right) {
  const etx_verify_range* const a = left;
  const etx_verify_range* const b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->end < b->end ? -1 : a->end > b->end;
}

// The parts of a value must be all of it.
static etx_status check_parts(const etx_verify_method* m, uint32_t v) {
  const etx_verify_value* const value = &m->values[v];
  etx_verify_range* const ranges =
      etx_verify_arena_take(m->memory, value->part_count, sizeof *ranges);
  if (ranges == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < value->part_count; ++i) {
    ranges[i] = m->values[m->parts[value->first_part + i]].range;
  }
  qsort(ranges, value->part_count, sizeof *ranges, compare_ranges);
  uint64_t covered = value->range.start;
  for (uint32_t i = 0; i < value->part_count; ++i) {
    if (ranges[i].start > covered) break;
    if (ranges[i].end > covered) covered = ranges[i].end;
  }
  if (covered == value->range.end) return ETX_OK;
  return etx_verify_refuse(m, "the parts of value '%u' are not all of it",
                           (uint64_t)v);
}

static etx_status check_families(etx_verify_method* m) {
  const size_t count = row_count(m);
  ETX_TRY(follow_parents(m));
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view row = etx_blob_view_at(m->blob, m->blob_method, i);
    ETX_TRY(check_row(m, &row));
  }
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (m->values[v].part_count > 0) ETX_TRY(check_parts(m, v));
  }
  return ETX_OK;
}

// ---- one place each, to begin with ----

static etx_status place_values(etx_verify_method* m) {
  m->places =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *m->places);
  if (m->places == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t v = 0; v < m->value_count; ++v) {
    etx_verify_value* const value = &m->values[v];
    value->first_place = (uint32_t)v;
    value->place_count = value->range.start < value->range.end ? 1 : 0;
    m->places[v] = value->range;
  }
  m->place_count = m->place_capacity = m->value_count;
  return ETX_OK;
}

etx_status etx_verify_assign_addresses(etx_verify_method* m) {
  line l;
  m->value_count = etx_pte_value_count(&m->plan);
  m->values =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *m->values);
  if (m->values == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(lay_arenas(m, &l));
  for (size_t v = 0; v < m->value_count; ++v) {
    m->values[v].parent = ETX_VERIFY_NONE;
    if (etx_pte_value_kind(&m->plan, v) != ETX_PTE_TENSOR) continue;
    ETX_TRY(lay_tensor(m, &l, v));
  }
  ETX_TRY(find_families(m));
  ETX_TRY(check_families(m));
  return place_values(m);
}
