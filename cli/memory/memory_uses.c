// The storages of a method and the steps that access them.
//
// Values that share bytes are merged into storages first (memory_aliasing). A
// value that takes over headers at run time (the target of moves) has no
// storage of its own: an access to it counts for every storage that it may
// name.

#include "cli/memory/memory_uses.h"

#include <string.h>

#include "cli/memory/memory_aliasing.h"

static bool is_tensor(const etx_verify_method* m, uint32_t value) {
  return m->values[value].storage != ETX_VERIFY_STORAGE_NONE;
}

// Makes room for one more item. `items` is the address of the array pointer.
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

// ---- accesses to values ----

static etx_status add_value_access(etx_memory_aliasing* c,
                                   etx_memory_value_access access) {
  ETX_TRY(grow(c->m->memory, &c->raw, c->raw_count, &c->raw_capacity,
               sizeof *c->raw));
  c->raw[c->raw_count++] = access;
  return ETX_OK;
}

// True for a copy by index. It writes one row of a tensor in each iteration of
// a loop and keeps the rows of earlier iterations.
static bool writes_part(const etx_verify_step* step) {
  return step->op != NULL && step->op->id == ETX_OP_et_copy_index_tensor;
}

static etx_status collect_step(etx_memory_aliasing* c, uint32_t step,
                               const etx_verify_effects* e) {
  for (size_t i = 0; i < e->read_count; ++i) {
    if (e->is_guessed) c->is_written[e->reads[i].value] = true;
    ETX_TRY(add_value_access(
        c, (etx_memory_value_access){.step = step,
                                     .value = e->reads[i].value,
                                     .is_guessed = e->is_guessed}));
  }
  for (size_t i = 0; i < e->write_count && !e->is_guessed; ++i) {
    c->is_written[e->writes[i].value] = true;
    ETX_TRY(add_value_access(
        c,
        (etx_memory_value_access){.step = step,
                                  .value = e->writes[i].value,
                                  .is_write = true,
                                  .updates = e->writes[i].updates ||
                                             writes_part(&c->m->steps[step])}));
  }
  // In a stock file an uninitialised tensor (aten::empty) counts as written.
  if (e->sized != ETX_VERIFY_NONE && c->m->blob == NULL) {
    c->is_written[e->sized] = true;
    ETX_TRY(add_value_access(
        c, (etx_memory_value_access){
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

// ---- storages ----

// True if `a` describes their common storage better than `b`.
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

static void find_state(const etx_memory_aliasing* c,
                       etx_memory_storage* storage, uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  if (c->m->values[value].storage != ETX_VERIFY_STORAGE_PLANNED) return;
  if (tensor.name.size > 0 ||
      (c->m->blob == NULL && tensor.data_buffer_index != 0)) {
    storage->is_state = true;
  }
}

static etx_status take_storages(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  const size_t values = c->m->value_count;
  u->storages =
      etx_verify_arena_take(c->m->memory, values, sizeof *u->storages);
  u->storage_of =
      etx_verify_arena_take(c->m->memory, values, sizeof *u->storage_of);
  u->views = etx_verify_arena_take(c->m->memory, values, sizeof *u->views);
  return u->storages == NULL || u->storage_of == NULL || u->views == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

static void list_views(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  uint32_t next = 0;
  for (size_t p = 0; p < u->storage_count; ++p) {
    u->storages[p].first_view = next;
    next += u->storages[p].view_count;
    u->storages[p].view_count = 0;
  }
  for (uint32_t v = 0; v < c->m->value_count; ++v) {
    if (u->storage_of[v] == ETX_VERIFY_NONE) continue;
    etx_memory_storage* const storage = &u->storages[u->storage_of[v]];
    if (storage->value == v) continue;
    u->views[storage->first_view + storage->view_count++] = v;
  }
}

static etx_status find_storages(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  ETX_TRY(take_storages(c));
  for (uint32_t v = 0; v < c->m->value_count; ++v) {
    const uint32_t top = etx_memory_aliasing_root(c, v);
    u->storage_of[v] = ETX_VERIFY_NONE;
    if (!is_tensor(c->m, v)) continue;
    if (top == v) {
      u->storage_of[v] = (uint32_t)u->storage_count;
      u->storages[u->storage_count++] = (etx_memory_storage){.value = v};
    } else {
      u->storage_of[v] = u->storage_of[top];
    }
    etx_memory_storage* const storage = &u->storages[u->storage_of[v]];
    if (top != v) storage->view_count += 1;
    if (is_larger(c, v, storage->value)) storage->value = v;
    find_state(c, storage, v);
  }
  for (size_t p = 0; p < u->storage_count; ++p) {
    u->storages[p].kind = c->m->values[u->storages[p].value].storage;
    u->storages[p].range = c->m->values[u->storages[p].value].range;
  }
  list_views(c);
  return ETX_OK;
}

// ---- accesses to storages ----

static uint64_t bytes_of(const etx_memory_aliasing* c, uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&c->m->plan, value).as.tensor;
  return etx_pte_tensor_bytes(&tensor);
}

static etx_status add_access(etx_memory_aliasing* c,
                             const etx_memory_value_access* access,
                             uint32_t value, bool is_certain) {
  etx_memory_uses* const u = c->uses;
  const uint32_t p = u->storage_of[value];
  etx_memory_storage* const storage = &u->storages[p];
  const bool is_first = !c->was_written[p];
  bool is_write = access->is_write;
  if (access->is_guessed && storage->kind != ETX_VERIFY_STORAGE_CONSTANT) {
    is_write = is_first && !storage->is_state && !storage->is_input;
  }
  if (!is_write && is_first && storage->kind == ETX_VERIFY_STORAGE_PLANNED) {
    storage->is_state = true;
  }
  if (is_write) c->was_written[p] = true;
  ETX_TRY(grow(c->m->memory, &u->accesses, u->access_count, &c->access_capacity,
               sizeof *u->accesses));
  u->accesses[u->access_count++] = (etx_memory_access){
      access->step, p, is_write,
      is_write && is_certain && !access->updates &&
          bytes_of(c, access->value) >= bytes_of(c, storage->value)};
  storage->use_count += 1;
  return ETX_OK;
}

// Called by `visit` for each value whose storage an access may mean.
// `is_certain` is true if there is only one.
typedef etx_status (*storage_visitor)(etx_memory_aliasing* c,
                                      const etx_memory_value_access* access,
                                      uint32_t value, bool is_certain);

// Visits the value of an access or, if it takes over headers, all values that
// it may name. That includes itself if an instruction writes its own bytes.
static etx_status visit(etx_memory_aliasing* c,
                        const etx_memory_value_access* access,
                        storage_visitor visitor) {
  size_t waiting = 0;
  if (!c->is_rebound[access->value]) {
    return visitor(c, access, access->value, true);
  }
  c->search += 1;
  c->stack[waiting++] = access->value;
  c->marks[access->value] = c->search;
  while (waiting > 0) {
    const uint32_t v = c->stack[--waiting];
    if (!c->is_rebound[v] || c->is_written[v]) {
      ETX_TRY(visitor(c, access, v, false));
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
                             const etx_memory_value_access* access,
                             uint32_t value, bool is_certain) {
  (void)access;
  (void)is_certain;
  c->uses->storages[c->uses->storage_of[value]].is_input = true;
  c->was_written[c->uses->storage_of[value]] = true;
  return ETX_OK;
}

static etx_status note_output(etx_memory_aliasing* c,
                              const etx_memory_value_access* access,
                              uint32_t value, bool is_certain) {
  (void)access;
  (void)is_certain;
  etx_memory_storage* const storage =
      &c->uses->storages[c->uses->storage_of[value]];
  storage->is_output = true;
  if (!c->was_written[c->uses->storage_of[value]] &&
      storage->kind == ETX_VERIFY_STORAGE_PLANNED) {
    storage->is_state = true;
  }
  return ETX_OK;
}

static etx_status add_accesses(etx_memory_aliasing* c) {
  const size_t inputs = etx_pte_input_count(&c->m->plan);
  const size_t outputs = etx_pte_output_count(&c->m->plan);
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&c->m->plan, i);
    if (is_tensor(c->m, v)) ETX_TRY(note_input(c, NULL, v, true));
  }
  for (size_t i = 0; i < c->raw_count; ++i) {
    ETX_TRY(visit(c, &c->raw[i], add_access));
  }
  for (size_t i = 0; i < outputs; ++i) {
    const etx_memory_value_access access = {
        .value = (uint32_t)etx_pte_output_at(&c->m->plan, i)};
    if (is_tensor(c->m, access.value)) ETX_TRY(visit(c, &access, note_output));
  }
  for (size_t i = 0; i < inputs && c->m->blob_method != SIZE_MAX; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&c->m->plan, i);
    if (!is_tensor(c->m, v)) continue;
    if (etx_blob_input_at(c->m->blob, c->m->blob_method, i).is_mutable) {
      c->uses->storages[c->uses->storage_of[v]].is_output = true;
    }
  }
  return ETX_OK;
}

static etx_status index_accesses(etx_memory_aliasing* c) {
  etx_memory_uses* const u = c->uses;
  uint32_t next = 0;
  u->by_storage = etx_verify_arena_take(c->m->memory, u->access_count,
                                        sizeof *u->by_storage);
  if (u->by_storage == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t p = 0; p < u->storage_count; ++p) {
    u->storages[p].first_use = next;
    next += u->storages[p].use_count;
    u->storages[p].use_count = 0;
  }
  for (size_t i = 0; i < u->access_count; ++i) {
    etx_memory_storage* const storage = &u->storages[u->accesses[i].storage];
    u->by_storage[storage->first_use + storage->use_count++] = (uint32_t)i;
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
  ETX_TRY(find_storages(&c));
  ETX_TRY(add_accesses(&c));
  return index_accesses(&c);
}
