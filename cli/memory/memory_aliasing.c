// Which values show the same bytes. This follows from the rows of etx's blob
// and from operators that make a view. In stock files, from which the exporter
// leaves out operators that would only make a view, it follows from the bytes:
// a value that no instruction writes shows the value that was last written
// there.

#include "cli/memory/memory_aliasing.h"

#include <stdlib.h>
#include <string.h>

uint32_t etx_memory_aliasing_root(const etx_memory_aliasing* c,
                                  uint32_t value) {
  while (c->joined[value] != value) {
    c->joined[value] = c->joined[c->joined[value]];
    value = c->joined[value];
  }
  return value;
}

static void join(etx_memory_aliasing* c, uint32_t a, uint32_t b) {
  const uint32_t x = etx_memory_aliasing_root(c, a);
  const uint32_t y = etx_memory_aliasing_root(c, b);
  if (x < y) c->joined[y] = x;
  if (y < x) c->joined[x] = y;
}

static void join_families(etx_memory_aliasing* c) {
  const etx_verify_method* const m = c->m;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    const etx_verify_value* const value = &m->values[v];
    if (value->parent != ETX_VERIFY_NONE) join(c, v, value->parent);
    for (uint32_t i = 0; i < value->part_count; ++i) {
      join(c, v, m->parts[value->first_part + i]);
    }
  }
}

// Counts edges into first_edge and brings them into the order of `to`.
static etx_status sort_edges(etx_memory_aliasing* c) {
  const size_t values = c->m->value_count;
  etx_memory_alias* const sorted =
      etx_verify_arena_take(c->m->memory, c->edge_count, sizeof *sorted);
  c->first_edge =
      etx_verify_arena_take(c->m->memory, values + 2, sizeof *c->first_edge);
  if (sorted == NULL || c->first_edge == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < c->edge_count; ++i) {
    c->first_edge[c->edges[i].to + 2] += 1;
  }
  for (size_t v = 2; v < values + 2; ++v) {
    c->first_edge[v] += c->first_edge[v - 1];
  }
  for (size_t i = 0; i < c->edge_count; ++i) {
    sorted[c->first_edge[c->edges[i].to + 1]++] = c->edges[i];
  }
  c->edges = sorted;
  return ETX_OK;
}

static bool lies_within(const etx_verify_method* m, uint32_t inner,
                        uint32_t outer) {
  if (m->values[inner].home != ETX_VERIFY_STORAGE_PLANNED) return true;
  return m->values[outer].home == ETX_VERIFY_STORAGE_PLANNED &&
         (etx_verify_contains(m->values[outer].range, m->values[inner].range) ||
          etx_verify_contains(m->values[inner].range, m->values[outer].range));
}

// A slot that only ever shows one other value is a view of it.
static void join_views(etx_memory_aliasing* c) {
  for (uint32_t v = 0; v < c->m->value_count; ++v) {
    const uint32_t first = c->first_edge[v];
    const uint32_t end = c->first_edge[v + 1];
    bool is_single = first < end;
    for (uint32_t i = first; i < end; ++i) {
      is_single = is_single && c->edges[i].is_view &&
                  c->edges[i].from == c->edges[first].from;
    }
    if (is_single && lies_within(c->m, v, c->edges[first].from)) {
      join(c, v, c->edges[first].from);
      c->is_rebound[v] = false;
    }
  }
}

// ---- views that a stock exporter left out ----

typedef struct start_table {
  uint64_t* starts;   // of planned values, ascending, each once
  uint32_t* writers;  // who wrote there last; ETX_VERIFY_NONE
  size_t count;
} start_table;

static int compare_numbers(const void* left, const void* right) {
  const uint64_t a = *(const uint64_t*)left;
  const uint64_t b = *(const uint64_t*)right;
  return a < b ? -1 : a > b;
}

static etx_status list_starts(const etx_verify_method* m, start_table* t) {
  size_t kept = 0;
  t->count = 0;
  t->starts =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *t->starts);
  t->writers =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *t->writers);
  if (t->starts == NULL || t->writers == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (m->values[v].home != ETX_VERIFY_STORAGE_PLANNED) continue;
    t->starts[t->count++] = m->values[v].range.start;
  }
  if (t->count > 0) {
    qsort(t->starts, t->count, sizeof *t->starts, compare_numbers);
  }
  for (size_t i = 0; i < t->count; ++i) {
    if (kept == 0 || t->starts[i] != t->starts[kept - 1]) {
      t->starts[kept++] = t->starts[i];
    }
  }
  t->count = kept;
  for (size_t i = 0; i < kept; ++i) t->writers[i] = ETX_VERIFY_NONE;
  return ETX_OK;
}

static uint32_t* writer_at(const start_table* t, uint64_t start) {
  size_t low = 0;
  size_t high = t->count;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (t->starts[middle] <= start) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return &t->writers[low];
}

static bool has_own_content(const etx_memory_aliasing* c, uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  return c->is_written[value] || c->is_rebound[value] || tensor.name.size > 0 ||
         tensor.data_buffer_index != 0;
}

static void join_hidden(etx_memory_aliasing* c, const start_table* t,
                        uint32_t value) {
  const etx_verify_value* const values = c->m->values;
  uint32_t* const writer = writer_at(t, values[value].range.start);
  if (c->is_written[value]) {
    *writer = value;
  } else if (!has_own_content(c, value) && c->marks[value] == 0 &&
             *writer != ETX_VERIFY_NONE &&
             etx_verify_contains(values[*writer].range, values[value].range)) {
    c->marks[value] = 1;
    join(c, value, *writer);
  }
}

static etx_status join_hidden_views(etx_memory_aliasing* c) {
  start_table t;
  const size_t inputs = etx_pte_input_count(&c->m->plan);
  const size_t outputs = etx_pte_output_count(&c->m->plan);
  ETX_TRY(list_starts(c->m, &t));
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&c->m->plan, i);
    if (c->m->values[v].home == ETX_VERIFY_STORAGE_PLANNED)
      join_hidden(c, &t, v);
  }
  for (size_t i = 0; i < c->raw_count; ++i) {
    const etx_memory_value_access* const touch = &c->raw[i];
    if (c->m->values[touch->value].home != ETX_VERIFY_STORAGE_PLANNED) continue;
    if (c->is_written[touch->value] && !touch->is_write) continue;
    join_hidden(c, &t, touch->value);
  }
  for (size_t i = 0; i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&c->m->plan, i);
    if (c->m->values[v].home == ETX_VERIFY_STORAGE_PLANNED)
      join_hidden(c, &t, v);
  }
  memset(c->marks, 0, c->m->value_count * sizeof *c->marks);
  return ETX_OK;
}

etx_status etx_memory_aliasing_merge(etx_memory_aliasing* c) {
  ETX_TRY(sort_edges(c));
  join_families(c);
  join_views(c);
  return c->m->blob == NULL ? join_hidden_views(c) : ETX_OK;
}
