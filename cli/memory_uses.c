// Pieces of memory and what touches them.
//
// Values that show the same bytes are joined: by the blob's rows, by operators
// that make a view, and in stock files, where the exporter leaves an operator
// out that would only make a view, by the bytes: a value that nobody writes
// shows the value that was last written there.
//
// A slot that gets the header of another value at run time (a move) stands for
// all of those that it may get.

#include <stdlib.h>
#include <string.h>

#include "cli/memory_map_internal.h"

// What a step does to a value, before it is known which pieces that means.
typedef struct raw_touch {
  uint32_t step;
  uint32_t value;
  bool is_write;
  bool updates;     // written: some of the old content is kept
  bool is_guessed;  // the call is unknown: written if nobody did before
} raw_touch;

// `to` gets the header of `from`.
typedef struct header_edge {
  uint32_t to;
  uint32_t from;
  bool is_view;  // an operator made it, no move
} header_edge;

typedef struct collecting {
  etx_verify_method* m;
  etx_memory_uses* uses;
  raw_touch* raw;
  size_t raw_count, raw_capacity;
  header_edge* edges;  // sorted by `to` once all are there
  size_t edge_count;
  uint32_t* first_edge;  // by value, and one more
  uint32_t* joined;      // union-find over values
  bool* is_written;      // by value: an instruction, or the caller
  bool* is_rebound;      // by value
  bool* was_written;     // by value: until the step that is looked at
  uint32_t* marks;       // by value: search in which it was met last
  uint32_t search;
  uint32_t* stack;  // values still to be looked at
  size_t touch_capacity;
} collecting;

static bool is_tensor(const etx_verify_method* m, uint32_t value) {
  return m->values[value].home != ETX_VERIFY_NO_TENSOR;
}

// Makes room for one more item; `items` points at the array's pointer.
static etx_status grow(etx_verify_memory* memory, void* items, size_t count,
                       size_t* capacity, size_t item_bytes) {
  void** const array = items;
  if (count < *capacity) return ETX_OK;
  const size_t more = *capacity == 0 ? 64 : 2 * *capacity;
  void* const grown = etx_verify_take(memory, more, item_bytes);
  if (grown == NULL) return ETX_OUT_OF_MEMORY;
  if (count > 0) memcpy(grown, *array, count * item_bytes);
  *array = grown;
  *capacity = more;
  return ETX_OK;
}

// ---- what steps do to values ----

static etx_status add_raw(collecting* c, raw_touch touch) {
  ETX_TRY(grow(c->m->memory, &c->raw, c->raw_count, &c->raw_capacity,
               sizeof *c->raw));
  c->raw[c->raw_count++] = touch;
  return ETX_OK;
}

static etx_status collect_step(collecting* c, uint32_t step,
                               const etx_verify_effects* e) {
  for (size_t i = 0; i < e->read_count; ++i) {
    if (e->is_guessed) c->is_written[e->reads[i].value] = true;
    ETX_TRY(add_raw(c, (raw_touch){.step = step,
                                   .value = e->reads[i].value,
                                   .is_guessed = e->is_guessed}));
  }
  for (size_t i = 0; i < e->write_count && !e->is_guessed; ++i) {
    c->is_written[e->writes[i].value] = true;
    ETX_TRY(add_raw(c, (raw_touch){.step = step,
                                   .value = e->writes[i].value,
                                   .is_write = true,
                                   .updates = e->writes[i].updates}));
  }
  // A stock tensor that only gets its sizes has whatever lies there.
  if (e->sized != ETX_VERIFY_NONE && c->m->blob == NULL) {
    c->is_written[e->sized] = true;
    ETX_TRY(add_raw(
        c, (raw_touch){.step = step, .value = e->sized, .is_write = true}));
  }
  if (e->rebound != ETX_VERIFY_NONE && e->rebound != e->rebound_from) {
    const bool is_view =
        c->m->steps[step].instruction.kind == ETX_PTE_KERNEL_CALL;
    c->edges[c->edge_count++] =
        (header_edge){e->rebound, e->rebound_from, is_view};
    c->is_rebound[e->rebound] = true;
  }
  c->uses->guessed_count += e->is_guessed;
  return ETX_OK;
}

static etx_status collect_steps(collecting* c) {
  etx_verify_effects effects;
  const size_t inputs = etx_pte_input_count(&c->m->plan);
  ETX_TRY(etx_verify_effects_init(&effects, c->m));
  for (size_t i = 0; i < inputs; ++i) {
    c->is_written[etx_pte_input_at(&c->m->plan, i)] = true;
  }
  for (uint32_t s = 0; s < c->m->step_count; ++s) {
    ETX_TRY(etx_verify_effects_of(c->m, s, &effects));
    ETX_TRY(collect_step(c, s, &effects));
  }
  return ETX_OK;
}

// ---- joining values ----

static uint32_t find(const collecting* c, uint32_t value) {
  while (c->joined[value] != value) {
    c->joined[value] = c->joined[c->joined[value]];
    value = c->joined[value];
  }
  return value;
}

static void join(collecting* c, uint32_t a, uint32_t b) {
  const uint32_t x = find(c, a);
  const uint32_t y = find(c, b);
  if (x < y) c->joined[y] = x;
  if (y < x) c->joined[x] = y;
}

static void join_families(collecting* c) {
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
static etx_status sort_edges(collecting* c) {
  const size_t values = c->m->value_count;
  header_edge* const sorted =
      etx_verify_take(c->m->memory, c->edge_count, sizeof *sorted);
  c->first_edge =
      etx_verify_take(c->m->memory, values + 2, sizeof *c->first_edge);
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
  if (m->values[inner].home != ETX_VERIFY_PLANNED) return true;
  return m->values[outer].home == ETX_VERIFY_PLANNED &&
         (etx_verify_contains(m->values[outer].range, m->values[inner].range) ||
          etx_verify_contains(m->values[inner].range, m->values[outer].range));
}

// A slot that only ever shows one other value is a view of it.
static void join_views(collecting* c) {
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
  t->starts = etx_verify_take(m->memory, m->value_count, sizeof *t->starts);
  t->writers = etx_verify_take(m->memory, m->value_count, sizeof *t->writers);
  if (t->starts == NULL || t->writers == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (m->values[v].home != ETX_VERIFY_PLANNED) continue;
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

static bool has_own_content(const collecting* c, uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  return c->is_written[value] || c->is_rebound[value] || tensor.name.size > 0 ||
         tensor.data_buffer_index != 0;
}

static void join_hidden(collecting* c, const start_table* t, uint32_t value) {
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

static etx_status join_hidden_views(collecting* c) {
  start_table t;
  const size_t inputs = etx_pte_input_count(&c->m->plan);
  const size_t outputs = etx_pte_output_count(&c->m->plan);
  ETX_TRY(list_starts(c->m, &t));
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&c->m->plan, i);
    if (c->m->values[v].home == ETX_VERIFY_PLANNED) join_hidden(c, &t, v);
  }
  for (size_t i = 0; i < c->raw_count; ++i) {
    const raw_touch* const touch = &c->raw[i];
    if (c->m->values[touch->value].home != ETX_VERIFY_PLANNED) continue;
    if (c->is_written[touch->value] && !touch->is_write) continue;
    join_hidden(c, &t, touch->value);
  }
  for (size_t i = 0; i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&c->m->plan, i);
    if (c->m->values[v].home == ETX_VERIFY_PLANNED) join_hidden(c, &t, v);
  }
  memset(c->marks, 0, c->m->value_count * sizeof *c->marks);
  return ETX_OK;
}

// ---- pieces ----

// True if `a` tells more about the memory of both than `b`.
static bool is_larger(const collecting* c, uint32_t a, uint32_t b) {
  const etx_verify_value* const x = &c->m->values[a];
  const etx_verify_value* const y = &c->m->values[b];
  const bool shows_a = c->first_edge[a] != c->first_edge[a + 1];
  const bool shows_b = c->first_edge[b] != c->first_edge[b + 1];
  const uint64_t bytes_a = x->range.end - x->range.start;
  const uint64_t bytes_b = y->range.end - y->range.start;
  if (shows_a != shows_b) return shows_b;
  if (bytes_a != bytes_b) return bytes_a > bytes_b;
  if (c->is_written[a] != c->is_written[b]) return c->is_written[a];
  return a < b;
}

static void note_kind(const collecting* c, etx_memory_piece* piece,
                      uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  if (c->m->values[value].home != ETX_VERIFY_PLANNED) return;
  if (tensor.name.size > 0 ||
      (c->m->blob == NULL && tensor.data_buffer_index != 0)) {
    piece->is_state = true;
  }
}

static etx_status take_pieces(collecting* c) {
  etx_memory_uses* const u = c->uses;
  const size_t values = c->m->value_count;
  u->pieces = etx_verify_take(c->m->memory, values, sizeof *u->pieces);
  u->piece_of = etx_verify_take(c->m->memory, values, sizeof *u->piece_of);
  u->views = etx_verify_take(c->m->memory, values, sizeof *u->views);
  return u->pieces == NULL || u->piece_of == NULL || u->views == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

static void list_views(collecting* c) {
  etx_memory_uses* const u = c->uses;
  uint32_t next = 0;
  for (size_t p = 0; p < u->piece_count; ++p) {
    u->pieces[p].first_view = next;
    next += u->pieces[p].view_count;
    u->pieces[p].view_count = 0;
  }
  for (uint32_t v = 0; v < c->m->value_count; ++v) {
    if (u->piece_of[v] == ETX_VERIFY_NONE) continue;
    etx_memory_piece* const piece = &u->pieces[u->piece_of[v]];
    if (piece->value == v) continue;
    u->views[piece->first_view + piece->view_count++] = v;
  }
}

static etx_status find_pieces(collecting* c) {
  etx_memory_uses* const u = c->uses;
  ETX_TRY(take_pieces(c));
  for (uint32_t v = 0; v < c->m->value_count; ++v) {
    const uint32_t top = find(c, v);
    u->piece_of[v] = ETX_VERIFY_NONE;
    if (!is_tensor(c->m, v)) continue;
    if (top == v) {
      u->piece_of[v] = (uint32_t)u->piece_count;
      u->pieces[u->piece_count++] = (etx_memory_piece){.value = v};
    } else {
      u->piece_of[v] = u->piece_of[top];
    }
    etx_memory_piece* const piece = &u->pieces[u->piece_of[v]];
    if (top != v) piece->view_count += 1;
    if (is_larger(c, v, piece->value)) piece->value = v;
    note_kind(c, piece, v);
  }
  for (size_t p = 0; p < u->piece_count; ++p) {
    u->pieces[p].home = c->m->values[u->pieces[p].value].home;
    u->pieces[p].range = c->m->values[u->pieces[p].value].range;
  }
  list_views(c);
  return ETX_OK;
}

// ---- touches of pieces ----

static uint64_t bytes_of(const collecting* c, uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  return etx_pte_tensor_bytes(&tensor);
}

static etx_status touch_piece(collecting* c, const raw_touch* touch,
                              uint32_t value, bool is_certain) {
  etx_memory_uses* const u = c->uses;
  const uint32_t p = u->piece_of[value];
  etx_memory_piece* const piece = &u->pieces[p];
  const bool is_first = !c->was_written[p];
  bool is_write = touch->is_write;
  if (touch->is_guessed && piece->home != ETX_VERIFY_CONSTANT) {
    is_write = is_first && !piece->is_state && !piece->is_input;
  }
  if (!is_write && is_first && piece->home == ETX_VERIFY_PLANNED) {
    piece->is_state = true;
  }
  if (is_write) c->was_written[p] = true;
  ETX_TRY(grow(c->m->memory, &u->touches, u->touch_count, &c->touch_capacity,
               sizeof *u->touches));
  u->touches[u->touch_count++] = (etx_memory_touch){
      touch->step, p, is_write,
      is_write && is_certain && !touch->updates &&
          bytes_of(c, touch->value) >= bytes_of(c, piece->value)};
  piece->use_count += 1;
  return ETX_OK;
}

// Calls for `value` and, if it may show others, for those. A slot with bytes of
// its own, that somebody writes, may be meant as well.
typedef etx_status (*piece_visitor)(collecting* c, const raw_touch* touch,
                                    uint32_t value, bool is_certain);

static etx_status visit(collecting* c, const raw_touch* touch,
                        piece_visitor visitor) {
  size_t waiting = 0;
  if (!c->is_rebound[touch->value]) {
    return visitor(c, touch, touch->value, true);
  }
  c->search += 1;
  c->stack[waiting++] = touch->value;
  c->marks[touch->value] = c->search;
  while (waiting > 0) {
    const uint32_t v = c->stack[--waiting];
    if (!c->is_rebound[v] || c->is_written[v]) {
      ETX_TRY(visitor(c, touch, v, false));
    }
    if (!c->is_rebound[v]) continue;
    for (uint32_t i = c->first_edge[v]; i < c->first_edge[v + 1]; ++i) {
      const uint32_t from = c->edges[i].from;
      if (c->marks[from] == c->search) continue;
      c->marks[from] = c->search;
      c->stack[waiting++] = from;
    }
  }
  return ETX_OK;
}

static etx_status note_input(collecting* c, const raw_touch* touch,
                             uint32_t value, bool is_certain) {
  (void)touch;
  (void)is_certain;
  c->uses->pieces[c->uses->piece_of[value]].is_input = true;
  c->was_written[c->uses->piece_of[value]] = true;
  return ETX_OK;
}

static etx_status note_output(collecting* c, const raw_touch* touch,
                              uint32_t value, bool is_certain) {
  (void)touch;
  (void)is_certain;
  etx_memory_piece* const piece = &c->uses->pieces[c->uses->piece_of[value]];
  piece->is_output = true;
  if (!c->was_written[c->uses->piece_of[value]] &&
      piece->home == ETX_VERIFY_PLANNED) {
    piece->is_state = true;
  }
  return ETX_OK;
}

static etx_status touch_pieces(collecting* c) {
  const size_t inputs = etx_pte_input_count(&c->m->plan);
  const size_t outputs = etx_pte_output_count(&c->m->plan);
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&c->m->plan, i);
    if (is_tensor(c->m, v)) ETX_TRY(note_input(c, NULL, v, true));
  }
  for (size_t i = 0; i < c->raw_count; ++i) {
    ETX_TRY(visit(c, &c->raw[i], touch_piece));
  }
  for (size_t i = 0; i < outputs; ++i) {
    const raw_touch touch = {.value =
                                 (uint32_t)etx_pte_output_at(&c->m->plan, i)};
    if (is_tensor(c->m, touch.value)) ETX_TRY(visit(c, &touch, note_output));
  }
  for (size_t i = 0; i < inputs && c->m->blob_method != SIZE_MAX; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&c->m->plan, i);
    if (!is_tensor(c->m, v)) continue;
    if (etx_blob_input_at(c->m->blob, c->m->blob_method, i).is_mutable) {
      c->uses->pieces[c->uses->piece_of[v]].is_output = true;
    }
  }
  return ETX_OK;
}

static etx_status index_touches(collecting* c) {
  etx_memory_uses* const u = c->uses;
  uint32_t next = 0;
  u->by_piece =
      etx_verify_take(c->m->memory, u->touch_count, sizeof *u->by_piece);
  if (u->by_piece == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t p = 0; p < u->piece_count; ++p) {
    u->pieces[p].first_use = next;
    next += u->pieces[p].use_count;
    u->pieces[p].use_count = 0;
  }
  for (size_t i = 0; i < u->touch_count; ++i) {
    etx_memory_piece* const piece = &u->pieces[u->touches[i].piece];
    u->by_piece[piece->first_use + piece->use_count++] = (uint32_t)i;
  }
  return ETX_OK;
}

// ---- all of it ----

static etx_status take_marks(collecting* c) {
  etx_verify_memory* const memory = c->m->memory;
  const size_t values = c->m->value_count;
  c->edges = etx_verify_take(memory, c->m->step_count, sizeof *c->edges);
  c->joined = etx_verify_take(memory, values, sizeof *c->joined);
  c->is_written = etx_verify_take(memory, values, sizeof *c->is_written);
  c->is_rebound = etx_verify_take(memory, values, sizeof *c->is_rebound);
  c->was_written = etx_verify_take(memory, values, sizeof *c->was_written);
  c->marks = etx_verify_take(memory, values, sizeof *c->marks);
  c->stack = etx_verify_take(memory, values, sizeof *c->stack);
  if (c->edges == NULL || c->joined == NULL || c->is_written == NULL ||
      c->is_rebound == NULL || c->was_written == NULL || c->marks == NULL ||
      c->stack == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (uint32_t v = 0; v < values; ++v) c->joined[v] = v;
  return ETX_OK;
}

etx_status etx_memory_find_uses(etx_verify_method* m,
                                etx_memory_uses* out_uses) {
  collecting c;
  memset(&c, 0, sizeof c);
  memset(out_uses, 0, sizeof *out_uses);
  c.m = m;
  c.uses = out_uses;
  ETX_TRY(take_marks(&c));
  ETX_TRY(collect_steps(&c));
  ETX_TRY(sort_edges(&c));
  join_families(&c);
  join_views(&c);
  if (m->blob == NULL) ETX_TRY(join_hidden_views(&c));
  ETX_TRY(find_pieces(&c));
  ETX_TRY(touch_pieces(&c));
  return index_touches(&c);
}
