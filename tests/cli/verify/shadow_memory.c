#include "tests/cli/verify/shadow_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/ops/op_schema.h"
#include "format/pte/reserved_names.h"

void shadow_memory_wrong(shadow_memory* s, const shadow_method* m,
                         const char* what, size_t value) {
  if (s->verdict.is_wrong) return;
  s->verdict.is_wrong = true;
  snprintf(s->verdict.why, sizeof s->verdict.why, "method %.*s, value %zu: %s",
           (int)m->name.size, m->name.data, value, what);
}

// ---- setting up ----

static size_t state_bytes(const etx_blob_state* state) {
  size_t bytes = etx_dtype_bytes(state->dtype);
  for (size_t i = 0; i < state->rank; ++i) bytes *= (size_t)state->sizes[i];
  return bytes;
}

bool shadow_memory_find_state(const shadow_memory* s, etx_text name,
                              size_t* out_index) {
  const size_t count = etx_blob_state_count(&s->blob);
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_equal(etx_blob_state_at(&s->blob, i).name, name)) continue;
    *out_index = i;
    return true;
  }
  return false;
}

static void find_arenas(shadow_memory* s) {
  for (size_t i = 0; i < s->method_count; ++i) {
    const etx_pte_plan* const plan = &s->methods[i].plan;
    const size_t count = etx_pte_buffer_size_count(plan);
    for (size_t a = 1; a < count && a < BYTE_MAX_ARENAS; ++a) {
      const size_t bytes = (size_t)etx_pte_buffer_size_at(plan, a);
      if (bytes > s->arena_bytes[a]) s->arena_bytes[a] = bytes;
    }
  }
  for (size_t a = 1; a < BYTE_MAX_ARENAS; ++a) {
    s->arenas[a] = calloc(s->arena_bytes[a] + 1, sizeof(byte_stamp));
  }
}

static void make_slot(shadow_memory* s, shadow_method* m, size_t value) {
  byte_slot* const made = &m->slots[value];
  if (etx_pte_value_kind(&m->plan, value) != ETX_PTE_TENSOR) return;
  const etx_pte_tensor t = etx_pte_value_at(&m->plan, value).as.tensor;
  made->is_tensor = true;
  made->bytes = etx_pte_tensor_bytes(&t);
  made->root = (uint32_t)value;
  made->means_bytes = made->bytes;
  made->means = calloc(made->bytes + 1, sizeof(byte_stamp));
  if (t.has_allocation) {
    if (t.memory_id >= BYTE_MAX_ARENAS) {
      shadow_memory_wrong(s, m, "lies in an arena that nobody has", value);
      return;
    }
    made->at =
        (byte_place){s->arenas[t.memory_id],
                     (size_t)etx_pte_buffer_size_at(&m->plan, t.memory_id),
                     (size_t)t.memory_offset};
  } else if (t.data_buffer_index == 0) {
    made->own = calloc(made->bytes + 1, sizeof(byte_stamp));
    made->at = (byte_place){made->own, made->bytes, 0};
  }
}

// ---- what the blob says of views ----

// The smaller one lies in the larger one: a view in its base, a part in what
// is made of parts.
static bool is_part_row(const shadow_method* m, const etx_blob_view* row) {
  return m->slots[row->value].bytes > m->slots[row->base].bytes;
}

static bool is_inside(const byte_slot* inner, const byte_slot* outer,
                      size_t offset) {
  if (offset > outer->bytes || inner->bytes > outer->bytes - offset) {
    return false;
  }
  return inner->at.memory == outer->at.memory &&
         inner->at.offset == outer->at.offset + offset;
}

// Follows the rows up to the value that has the content.
static void find_root(shadow_memory* s, shadow_method* m, size_t value) {
  const size_t rows = etx_blob_view_count(&s->blob, m->blob);
  byte_slot* const shown = &m->slots[value];
  size_t offset = 0;
  uint32_t at = (uint32_t)value;
  for (size_t hops = 0; hops <= rows; ++hops) {
    size_t i = 0;
    etx_blob_view row = {0};
    for (; i < rows; ++i) {
      row = etx_blob_view_at(&s->blob, m->blob, i);
      if (row.value == at && !is_part_row(m, &row)) break;
    }
    if (i == rows) {
      shown->root = at;
      shown->root_offset = offset;
      return;
    }
    at = row.base;
    offset += (size_t)row.offset;
  }
  shadow_memory_wrong(s, m, "is a view of itself", value);
}

static void find_roots(shadow_memory* s, shadow_method* m) {
  if (m->blob == SIZE_MAX) return;
  const size_t rows = etx_blob_view_count(&s->blob, m->blob);
  for (size_t i = 0; i < rows; ++i) {
    const etx_blob_view row = etx_blob_view_at(&s->blob, m->blob, i);
    const bool is_part = is_part_row(m, &row);
    const byte_slot* const inner = &m->slots[is_part ? row.base : row.value];
    const byte_slot* const outer = &m->slots[is_part ? row.value : row.base];
    if (is_part) m->slots[row.value].has_parts = true;
    if (!is_inside(inner, outer, (size_t)row.offset)) {
      shadow_memory_wrong(s, m, "is not the view that its row says", row.value);
    }
  }
  for (size_t v = 0; v < m->slot_count; ++v) {
    if (m->slots[v].is_tensor) find_root(s, m, v);
  }
}

// ---- rules that no byte shows ----

static bool is_viewed_by_an_instruction(const shadow_method* m, size_t value) {
  const size_t count = etx_pte_instruction_count(&m->plan, 0);
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_instruction at = etx_pte_instruction_at(&m->plan, 0, i);
    if (at.kind != ETX_PTE_KERNEL_CALL) continue;
    const etx_pte_operator op = etx_pte_operator_at(&m->plan, (size_t)at.index);
    const etx_op* const row = etx_op_find(op.name, op.overload);
    if (row != NULL && etx_op_makes_view(row) &&
        at.arguments[at.argument_count - 1] == (int32_t)value) {
      return true;
    }
  }
  return false;
}

// Among the states lie states and views of them; whatever is not a view of
// another value is aligned to 16.
static void check_rules(shadow_memory* s, const shadow_method* m,
                        size_t value) {
  const byte_slot* const at = &m->slots[value];
  const etx_pte_tensor t = etx_pte_value_at(&m->plan, value).as.tensor;
  if (!t.has_allocation || at->root != value ||
      is_viewed_by_an_instruction(m, value)) {
    return;
  }
  if (t.memory_id != ETX_MEMORY_SCRATCH && t.memory_id != ETX_MEMORY_STATE) {
    shadow_memory_wrong(s, m, "lies in an arena without a meaning", value);
  }
  if (t.memory_offset % 16 != 0)
    shadow_memory_wrong(s, m, "is not aligned", value);
  if ((t.name.size > 0) != (t.memory_id == ETX_MEMORY_STATE)) {
    shadow_memory_wrong(s, m, "lies in the other kind of arena", value);
  }
}

static void make_method(shadow_memory* s, size_t index) {
  shadow_method* const m = &s->methods[index];
  m->slot_count = etx_pte_value_count(&m->plan);
  m->slots = calloc(m->slot_count + 1, sizeof *m->slots);
  for (size_t v = 0; v < m->slot_count; ++v) make_slot(s, m, v);
  find_roots(s, m);
  for (size_t v = 0; v < m->slot_count; ++v) {
    if (m->slots[v].is_tensor) check_rules(s, m, v);
  }
}

// ---- bytes ----

byte_stamp* shadow_memory_content(const shadow_method* m, size_t value,
                                  size_t* out_bytes) {
  const byte_slot* const at = &m->slots[value];
  const byte_slot* const root = &m->slots[at->root];
  if (at->root_offset > root->means_bytes) {
    *out_bytes = 0;
    return root->means;
  }
  *out_bytes = root->means_bytes - at->root_offset;
  return root->means + at->root_offset;
}

// Puts together what a value made of parts means now; parts may have parts.
static void gather_parts(const shadow_memory* s, const shadow_method* m,
                         size_t value, size_t depth) {
  const byte_slot* const whole = &m->slots[value];
  if (!whole->has_parts || depth == 0) return;
  const size_t rows = etx_blob_view_count(&s->blob, m->blob);
  memset(whole->means, 0, whole->means_bytes * sizeof(byte_stamp));
  for (size_t i = 0; i < rows; ++i) {
    const etx_blob_view row = etx_blob_view_at(&s->blob, m->blob, i);
    size_t room = 0;
    if (row.value != value || !is_part_row(m, &row)) continue;
    gather_parts(s, m, m->slots[row.base].root, depth - 1);
    const byte_stamp* const means = shadow_memory_content(m, row.base, &room);
    const size_t bytes = m->slots[row.base].bytes;
    if (bytes > room || row.offset + bytes > whole->means_bytes) continue;
    memcpy(whole->means + row.offset, means, bytes * sizeof(byte_stamp));
  }
}

bool shadow_memory_holds(const shadow_memory* s, const shadow_method* m,
                         size_t value) {
  const byte_slot* const at = &m->slots[value];
  gather_parts(s, m, at->root, 8);
  size_t room = 0;
  const byte_stamp* const means = shadow_memory_content(m, value, &room);
  if (at->at.memory == NULL) return true;
  if (room < at->bytes) return false;
  for (size_t i = 0; i < at->bytes; ++i) {
    const size_t where = at->at.offset + i;
    if (where >= at->at.limit || at->at.memory[where] != means[i] ||
        means[i] == 0) {
      return false;
    }
  }
  return true;
}

static void write_value(shadow_memory* s, const shadow_method* m,
                        size_t value) {
  const byte_slot* const at = &m->slots[value];
  size_t room = 0;
  byte_stamp* const means = shadow_memory_content(m, value, &room);
  if (at->bytes == 0) return;
  if (at->at.memory == NULL) {
    shadow_memory_wrong(s, m, "is a constant and is written", value);
    return;
  }
  for (size_t i = 0; i < at->bytes; ++i) {
    const size_t where = at->at.offset + i;
    if (where >= at->at.limit || i >= room) {
      shadow_memory_wrong(s, m, "is written past its end", value);
      return;
    }
    at->at.memory[where] = ++s->next;
    means[i] = s->next;
  }
}

bool byte_slots_meet(const byte_slot* a, const byte_slot* b) {
  return a->at.memory != NULL && a->at.memory == b->at.memory &&
         a->at.offset < b->at.offset + b->bytes &&
         b->at.offset < a->at.offset + a->bytes;
}

// Nobody knows which of the two comes last: the common bytes are lost.
static void lose_common_bytes(const byte_slot* a, const byte_slot* b) {
  const size_t end_a = a->at.offset + a->bytes;
  const size_t end_b = b->at.offset + b->bytes;
  const size_t from = a->at.offset > b->at.offset ? a->at.offset : b->at.offset;
  const size_t to = end_a < end_b ? end_a : end_b;
  if (!byte_slots_meet(a, b)) return;
  for (size_t i = from; i < to; ++i) a->at.memory[i] = 0;
}

void shadow_memory_write(shadow_memory* s, const shadow_method* m,
                         const uint32_t* values, size_t count) {
  for (size_t i = 0; i < count; ++i) write_value(s, m, values[i]);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (values[i] == values[k]) continue;
      lose_common_bytes(&m->slots[values[i]], &m->slots[values[k]]);
    }
  }
}

// ---- states ----

static void init_states(shadow_memory* s) {
  const size_t count = etx_blob_state_count(&s->blob);
  s->states = calloc(count + 1, sizeof *s->states);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_state state = etx_blob_state_at(&s->blob, i);
    const size_t bytes = state_bytes(&state);
    s->states[i] = calloc(bytes + 1, sizeof(byte_stamp));
    for (size_t b = 0; b < bytes; ++b) {
      s->states[i][b] = ++s->next;
      if (state.offset + b >= s->arena_bytes[ETX_MEMORY_STATE]) continue;
      s->arenas[ETX_MEMORY_STATE][state.offset + b] = s->next;
    }
  }
}

void shadow_memory_check_states(shadow_memory* s, const shadow_method* m) {
  const size_t count = etx_blob_state_count(&s->blob);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_state state = etx_blob_state_at(&s->blob, i);
    const size_t bytes = state_bytes(&state);
    for (size_t b = 0; b < bytes; ++b) {
      const size_t where = (size_t)state.offset + b;
      if (where < s->arena_bytes[ETX_MEMORY_STATE] &&
          s->arenas[ETX_MEMORY_STATE][where] == s->states[i][b]) {
        continue;
      }
      shadow_memory_wrong(s, m, "a state does not hold after the call", i);
      return;
    }
  }
}

// ---- all of it ----

bool shadow_memory_open(shadow_memory* s, etx_bytes file) {
  memset(s, 0, sizeof *s);
  if (etx_pte_open(&s->pte, file, NULL, NULL) != ETX_OK ||
      etx_blob_open(&s->blob, &s->pte, NULL) != ETX_OK) {
    return false;
  }
  s->method_count = etx_pte_plan_count(&s->pte);
  s->methods = calloc(s->method_count + 1, sizeof *s->methods);
  for (size_t i = 0; i < s->method_count; ++i) {
    shadow_method* const m = &s->methods[i];
    m->plan = etx_pte_plan_at(&s->pte, i);
    m->name = etx_pte_plan_name(&m->plan);
    if (!etx_blob_method_find(&s->blob, m->name, &m->blob)) m->blob = SIZE_MAX;
  }
  find_arenas(s);
  for (size_t i = 0; i < s->method_count; ++i) make_method(s, i);
  init_states(s);
  return true;
}

void shadow_memory_close(shadow_memory* s) {
  const size_t states = etx_blob_state_count(&s->blob);
  for (size_t i = 0; i < s->method_count; ++i) {
    shadow_method* const m = &s->methods[i];
    for (size_t v = 0; v < m->slot_count; ++v) {
      free(m->slots[v].means);
      free(m->slots[v].own);
    }
    free(m->slots);
  }
  for (size_t i = 0; i < states; ++i) free(s->states[i]);
  for (size_t a = 1; a < BYTE_MAX_ARENAS; ++a) free(s->arenas[a]);
  free(s->states);
  free(s->methods);
}
