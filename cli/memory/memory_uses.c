// Pieces of memory and what touches them.
//
// Values that show the same bytes are joined first (memory_joining).
// A slot that gets the header of another value at run time (a move) stands for
// all of those that it may get.

#include "cli/memory/memory_uses.h"

#include <string.h>

#include "cli/memory/memory_aliasing.h"

static bool is_tensor(const etx_verify_method* m, uint32_t value) {
  return m->values[value].home != ETX_VERIFY_STORAGE_NONE;
}

// Makes room for one more item; `items` points at the array's pointer.
static etx_status grow(etx_verify_arena* memory, void* items, size_t count,
                       size_t* capacity, size_t item_bytes) {
  void** const array = items;
  if (count < *capacity) return ETX_OK;
  const size_t more = *capacity == 0 ? 64 : 2 * *capacity;
  void* const grown = etx_verify_arena_take(memory, more, item_bytes);
  if (grown == NULL) return ETX_OUT_OF_MEMORY;
  if (count > 0) memcpy(grown, *array, count * item_bytes);
  *array = grown;
  *capacity = more;
  return ETX_OK;
}

// ---- what steps do to values ----

static etx_status add_raw(etx_memory_aliasing* c,
                          etx_memory_value_access touch) {
  ETX_TRY(grow(c->m->memory, &c->raw, c->raw_count, &c->raw_capacity,
               sizeof *c->raw));
  c->raw[c->raw_count++] = touch;
  return ETX_OK;
}

// A copy by index writes a part of a list in each round of a loop. What earlier
// rounds wrote is kept, though the first one finds nothing.
static bool writes_part(const etx_verify_step* step) {
  return step->op != NULL && step->op->id == ETX_OP_et_copy_index_tensor;
}

static etx_status collect_step(etx_memory_aliasing* c, uint32_t step,
                               const etx_verify_effects* e) {
  for (size_t i = 0; i < e->read_count; ++i) {
    if (e->is_guessed) c->is_written[e->reads[i].value] = true;
    ETX_TRY(add_raw(c, (etx_memory_value_access){.step = step,
                                                 .value = e->reads[i].value,
                                                 .is_guessed = e->is_guessed}));
  }
  for (size_t i = 0; i < e->write_count && !e->is_guessed; ++i) {
    c->is_written[e->writes[i].value] = true;
    ETX_TRY(add_raw(c, (etx_memory_value_access){
                           .step = step,
                           .value = e->writes[i].value,
                           .is_write = true,
                           .updates = e->writes[i].updates ||
                                      writes_part(&c->m->steps[step])}));
  }
  // A stock tensor that only gets its sizes has whatever lies there.
  if (e->sized != ETX_VERIFY_NONE && c->m->blob == NULL) {
    c->is_written[e->sized] = true;
    ETX_TRY(add_raw(c, (etx_memory_value_access){
                           .step = step, .value = e->sized, .is_write = true}));
  }
  if (e->rebound != ETX_VERIFY_NONE && e->rebound != e->rebound_from) {
    const bool is_view =
        c->m->steps[step].instruction.kind == ETX_PTE_KERNEL_CALL;
    c->edges[c->edge_count++] =
        (etx_memory_alias){e->rebound, e->rebound_from, is_view};
    c->is_rebound[e->rebound] = true;
  }
  c->uses->guessed_count += e->is_guessed;
  return ETX_OK;
}

static etx_status collect_steps(etx_memory_aliasing* c) {
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

// ---- pieces ----

// True if `a` tells more about the memory of both than `b`.
static bool is_larger(const etx_memory_aliasing* c, uint32_t a, uint32_t b) {
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

static void note_kind(const etx_memory_aliasing* c, etx_memory_storage* piece,
                      uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  if (c->m->values[value].home != ETX_VERIFY_STORAGE_PLANNED) return;
  if (tensor.name.size > 0 ||
      (c->m->blob == NULL && tensor.data_buffer_index != 0)) {
    piece->is_state = true;
  }
}

static etx_status take_pieces(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  const size_t values = c->m->value_count;
  u->pieces = etx_verify_arena_take(c->m->memory, values, sizeof *u->pieces);
  u->piece_of =
      etx_verify_arena_take(c->m->memory, values, sizeof *u->piece_of);
  u->views = etx_verify_arena_take(c->m->memory, values, sizeof *u->views);
  return u->pieces == NULL || u->piece_of == NULL || u->views == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

static void list_views(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  uint32_t next = 0;
  for (size_t p = 0; p < u->piece_count; ++p) {
    u->pieces[p].first_view = next;
    next += u->pieces[p].view_count;
    u->pieces[p].view_count = 0;
  }
  for (uint32_t v = 0; v < c->m->value_count; ++v) {
    if (u->piece_of[v] == ETX_VERIFY_NONE) continue;
    etx_memory_storage* const piece = &u->pieces[u->piece_of[v]];
    if (piece->value == v) continue;
    u->views[piece->first_view + piece->view_count++] = v;
  }
}

static etx_status find_pieces(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  ETX_TRY(take_pieces(c));
  for (uint32_t v = 0; v < c->m->value_count; ++v) {
    const uint32_t top = etx_memory_aliasing_root(c, v);
    u->piece_of[v] = ETX_VERIFY_NONE;
    if (!is_tensor(c->m, v)) continue;
    if (top == v) {
      u->piece_of[v] = (uint32_t)u->piece_count;
      u->pieces[u->piece_count++] = (etx_memory_storage){.value = v};
    } else {
      u->piece_of[v] = u->piece_of[top];
    }
    etx_memory_storage* const piece = &u->pieces[u->piece_of[v]];
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

static uint64_t bytes_of(const etx_memory_aliasing* c, uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  return etx_pte_tensor_bytes(&tensor);
}

static etx_status touch_piece(etx_memory_aliasing* c,
                              const etx_memory_value_access* touch,
                              uint32_t value, bool is_certain) {
  etx_memory_uses* const u = c->uses;
  const uint32_t p = u->piece_of[value];
  etx_memory_storage* const piece = &u->pieces[p];
  const bool is_first = !c->was_written[p];
  bool is_write = touch->is_write;
  if (touch->is_guessed && piece->home != ETX_VERIFY_STORAGE_CONSTANT) {
    is_write = is_first && !piece->is_state && !piece->is_input;
  }
  if (!is_write && is_first && piece->home == ETX_VERIFY_STORAGE_PLANNED) {
    piece->is_state = true;
  }
  if (is_write) c->was_written[p] = true;
  ETX_TRY(grow(c->m->memory, &u->touches, u->touch_count, &c->touch_capacity,
               sizeof *u->touches));
  u->touches[u->touch_count++] = (etx_memory_access){
      touch->step, p, is_write,
      is_write && is_certain && !touch->updates &&
          bytes_of(c, touch->value) >= bytes_of(c, piece->value)};
  piece->use_count += 1;
  return ETX_OK;
}

// Calls for `value` and, if it may show others, for those. A slot with bytes of
// its own that an instruction writes is visited, too.
typedef etx_status (*piece_visitor)(etx_memory_aliasing* c,
                                    const etx_memory_value_access* touch,
                                    uint32_t value, bool is_certain);

static etx_status visit(etx_memory_aliasing* c,
                        const etx_memory_value_access* touch,
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

static etx_status note_input(etx_memory_aliasing* c,
                             const etx_memory_value_access* touch,
                             uint32_t value, bool is_certain) {
  (void)touch;
  (void)is_certain;
  c->uses->pieces[c->uses->piece_of[value]].is_input = true;
  c->was_written[c->uses->piece_of[value]] = true;
  return ETX_OK;
}

static etx_status note_output(etx_memory_aliasing* c,
                              const etx_memory_value_access* touch,
                              uint32_t value, bool is_certain) {
  (void)touch;
  (void)is_certain;
  etx_memory_storage* const piece = &c->uses->pieces[c->uses->piece_of[value]];
  piece->is_output = true;
  if (!c->was_written[c->uses->piece_of[value]] &&
      piece->home == ETX_VERIFY_STORAGE_PLANNED) {
    piece->is_state = true;
  }
  return ETX_OK;
}

static etx_status touch_pieces(etx_memory_aliasing* c) {
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
    const etx_memory_value_access touch = {
        .value = (uint32_t)etx_pte_output_at(&c->m->plan, i)};
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

static etx_status index_touches(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  uint32_t next = 0;
  u->by_piece =
      etx_verify_arena_take(c->m->memory, u->touch_count, sizeof *u->by_piece);
  if (u->by_piece == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t p = 0; p < u->piece_count; ++p) {
    u->pieces[p].first_use = next;
    next += u->pieces[p].use_count;
    u->pieces[p].use_count = 0;
  }
  for (size_t i = 0; i < u->touch_count; ++i) {
    etx_memory_storage* const piece = &u->pieces[u->touches[i].piece];
    u->by_piece[piece->first_use + piece->use_count++] = (uint32_t)i;
  }
  return ETX_OK;
}

// ---- all of it ----

static etx_status take_marks(etx_memory_aliasing* c) {
  etx_verify_arena* const memory = c->m->memory;
  const size_t values = c->m->value_count;
  c->edges = etx_verify_arena_take(memory, c->m->step_count, sizeof *c->edges);
  c->joined = etx_verify_arena_take(memory, values, sizeof *c->joined);
  c->is_written = etx_verify_arena_take(memory, values, sizeof *c->is_written);
  c->is_rebound = etx_verify_arena_take(memory, values, sizeof *c->is_rebound);
  c->was_written =
      etx_verify_arena_take(memory, values, sizeof *c->was_written);
  c->marks = etx_verify_arena_take(memory, values, sizeof *c->marks);
  c->stack = etx_verify_arena_take(memory, values, sizeof *c->stack);
  if (c->edges == NULL || c->joined == NULL || c->is_written == NULL ||
      c->is_rebound == NULL || c->was_written == NULL || c->marks == NULL ||
      c->stack == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (uint32_t v = 0; v < values; ++v) c->joined[v] = v;
  return ETX_OK;
}

etx_status etx_memory_uses_find(etx_verify_method* m,
                                etx_memory_uses* out_uses) {
  etx_memory_aliasing c;
  memset(&c, 0, sizeof c);
  memset(out_uses, 0, sizeof *out_uses);
  c.m = m;
  c.uses = out_uses;
  ETX_TRY(take_marks(&c));
  ETX_TRY(collect_steps(&c));
  ETX_TRY(etx_memory_aliasing_merge(&c));
  ETX_TRY(find_pieces(&c));
  ETX_TRY(touch_pieces(&c));
  return index_touches(&c);
}
