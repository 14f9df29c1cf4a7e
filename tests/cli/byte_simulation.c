#include "tests/cli/byte_simulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/ops/op_schema.h"
#include "format/pte/etx_blob.h"
#include "format/pte/reserved_names.h"

enum {
  MAX_ARENAS = 4,
  MAX_STEPS = 400,   // of one run of a method
  MAX_CHOICES = 6,   // jumps of a run that are tried both ways
  MAX_TOUCHED = 64,  // tensors of one instruction
};

typedef uint32_t stamp;  // 0: nothing that anybody wrote

// Bytes that a tensor stands for.
typedef struct place {
  stamp* memory;  // of its region; NULL: a constant
  size_t limit;   // bytes of the region
  size_t offset;
} place;

typedef struct slot {
  bool is_tensor;
  place at;
  size_t bytes;
  bool has_parts;      // its content is that of its parts
  uint32_t root;       // value whose content it shows, itself if no other's
  size_t root_offset;  // from that byte on
  stamp* own;          // memory of a tensor that has no other
  stamp* means;        // content of a root, by byte
  size_t means_bytes;
} slot;

typedef struct method {
  etx_pte_plan plan;
  etx_text name;
  size_t blob;  // position in the blob, or SIZE_MAX
  slot* slots;
  size_t slot_count;
} method;

typedef struct simulation {
  etx_pte pte;
  etx_blob blob;
  stamp* arenas[MAX_ARENAS];
  size_t arena_bytes[MAX_ARENAS];
  stamp next;
  method* methods;
  size_t method_count;
  stamp** states;    // what each state of the blob means
  unsigned choices;  // bits: which way the next jumps go
  size_t choice_count;
  byte_verdict verdict;
} simulation;

static void wrong(simulation* s, const method* m, const char* what,
                  size_t value) {
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

static bool find_state(const simulation* s, etx_text name, size_t* out_index) {
  const size_t count = etx_blob_state_count(&s->blob);
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_equal(etx_blob_state_at(&s->blob, i).name, name)) continue;
    *out_index = i;
    return true;
  }
  return false;
}

static void find_arenas(simulation* s) {
  for (size_t i = 0; i < s->method_count; ++i) {
    const etx_pte_plan* const plan = &s->methods[i].plan;
    const size_t count = etx_pte_buffer_size_count(plan);
    for (size_t a = 1; a < count && a < MAX_ARENAS; ++a) {
      const size_t bytes = (size_t)etx_pte_buffer_size_at(plan, a);
      if (bytes > s->arena_bytes[a]) s->arena_bytes[a] = bytes;
    }
  }
  for (size_t a = 1; a < MAX_ARENAS; ++a) {
    s->arenas[a] = calloc(s->arena_bytes[a] + 1, sizeof(stamp));
  }
}

static void make_slot(simulation* s, method* m, size_t value) {
  slot* const made = &m->slots[value];
  if (etx_pte_value_kind(&m->plan, value) != ETX_PTE_TENSOR) return;
  const etx_pte_tensor t = etx_pte_value_at(&m->plan, value).as.tensor;
  made->is_tensor = true;
  made->bytes = etx_pte_tensor_bytes(&t);
  made->root = (uint32_t)value;
  made->means_bytes = made->bytes;
  made->means = calloc(made->bytes + 1, sizeof(stamp));
  if (t.has_allocation) {
    if (t.memory_id >= MAX_ARENAS) {
      wrong(s, m, "lies in an arena that nobody has", value);
      return;
    }
    made->at = (place){s->arenas[t.memory_id],
                       (size_t)etx_pte_buffer_size_at(&m->plan, t.memory_id),
                       (size_t)t.memory_offset};
  } else if (t.data_buffer_index == 0) {
    made->own = calloc(made->bytes + 1, sizeof(stamp));
    made->at = (place){made->own, made->bytes, 0};
  }
}

// ---- what the blob says of views ----

// The smaller one lies in the larger one: a view in its base, a part in what
// is made of parts.
static bool is_part_row(const method* m, const etx_blob_view* row) {
  return m->slots[row->value].bytes > m->slots[row->base].bytes;
}

static bool is_inside(const slot* inner, const slot* outer, size_t offset) {
  if (offset > outer->bytes || inner->bytes > outer->bytes - offset) {
    return false;
  }
  return inner->at.memory == outer->at.memory &&
         inner->at.offset == outer->at.offset + offset;
}

// Follows the rows up to the value that has the content.
static void find_root(simulation* s, method* m, size_t value) {
  const size_t rows = etx_blob_view_count(&s->blob, m->blob);
  slot* const shown = &m->slots[value];
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
  wrong(s, m, "is a view of itself", value);
}

static void find_roots(simulation* s, method* m) {
  if (m->blob == SIZE_MAX) return;
  const size_t rows = etx_blob_view_count(&s->blob, m->blob);
  for (size_t i = 0; i < rows; ++i) {
    const etx_blob_view row = etx_blob_view_at(&s->blob, m->blob, i);
    const bool is_part = is_part_row(m, &row);
    const slot* const inner = &m->slots[is_part ? row.base : row.value];
    const slot* const outer = &m->slots[is_part ? row.value : row.base];
    if (is_part) m->slots[row.value].has_parts = true;
    if (!is_inside(inner, outer, (size_t)row.offset)) {
      wrong(s, m, "is not the view that its row says", row.value);
    }
  }
  for (size_t v = 0; v < m->slot_count; ++v) {
    if (m->slots[v].is_tensor) find_root(s, m, v);
  }
}

// ---- rules that no byte shows ----

static bool is_viewed_by_an_instruction(const method* m, size_t value) {
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

// Among the states lie states and views of them; whatever is no view of
// another value is aligned to 16.
static void check_rules(simulation* s, const method* m, size_t value) {
  const slot* const at = &m->slots[value];
  const etx_pte_tensor t = etx_pte_value_at(&m->plan, value).as.tensor;
  if (!t.has_allocation || at->root != value ||
      is_viewed_by_an_instruction(m, value)) {
    return;
  }
  if (t.memory_id != ETX_MEMORY_SCRATCH && t.memory_id != ETX_MEMORY_STATE) {
    wrong(s, m, "lies in an arena without a meaning", value);
  }
  if (t.memory_offset % 16 != 0) wrong(s, m, "is not aligned", value);
  if ((t.name.size > 0) != (t.memory_id == ETX_MEMORY_STATE)) {
    wrong(s, m, "lies in the other kind of arena", value);
  }
}

static void make_method(simulation* s, size_t index) {
  method* const m = &s->methods[index];
  m->slot_count = etx_pte_value_count(&m->plan);
  m->slots = calloc(m->slot_count + 1, sizeof *m->slots);
  for (size_t v = 0; v < m->slot_count; ++v) make_slot(s, m, v);
  find_roots(s, m);
  for (size_t v = 0; v < m->slot_count; ++v) {
    if (m->slots[v].is_tensor) check_rules(s, m, v);
  }
}

// ---- bytes ----

static stamp* content_of(const method* m, size_t value, size_t* out_bytes) {
  const slot* const at = &m->slots[value];
  const slot* const root = &m->slots[at->root];
  if (at->root_offset > root->means_bytes) {
    *out_bytes = 0;
    return root->means;
  }
  *out_bytes = root->means_bytes - at->root_offset;
  return root->means + at->root_offset;
}

// Puts together what a value made of parts means now; parts may have parts.
static void gather_parts(const simulation* s, const method* m, size_t value,
                         size_t depth) {
  const slot* const whole = &m->slots[value];
  if (!whole->has_parts || depth == 0) return;
  const size_t rows = etx_blob_view_count(&s->blob, m->blob);
  memset(whole->means, 0, whole->means_bytes * sizeof(stamp));
  for (size_t i = 0; i < rows; ++i) {
    const etx_blob_view row = etx_blob_view_at(&s->blob, m->blob, i);
    size_t room = 0;
    if (row.value != value || !is_part_row(m, &row)) continue;
    gather_parts(s, m, m->slots[row.base].root, depth - 1);
    const stamp* const means = content_of(m, row.base, &room);
    const size_t bytes = m->slots[row.base].bytes;
    if (bytes > room || row.offset + bytes > whole->means_bytes) continue;
    memcpy(whole->means + row.offset, means, bytes * sizeof(stamp));
  }
}

static bool reads_right(const simulation* s, const method* m, size_t value) {
  const slot* const at = &m->slots[value];
  gather_parts(s, m, at->root, 8);
  size_t room = 0;
  const stamp* const means = content_of(m, value, &room);
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

static void write_value(simulation* s, const method* m, size_t value) {
  const slot* const at = &m->slots[value];
  size_t room = 0;
  stamp* const means = content_of(m, value, &room);
  if (at->bytes == 0) return;
  if (at->at.memory == NULL) {
    wrong(s, m, "is a constant and is written", value);
    return;
  }
  for (size_t i = 0; i < at->bytes; ++i) {
    const size_t where = at->at.offset + i;
    if (where >= at->at.limit || i >= room) {
      wrong(s, m, "is written past its end", value);
      return;
    }
    at->at.memory[where] = ++s->next;
    means[i] = s->next;
  }
}

static bool share_bytes(const slot* a, const slot* b) {
  return a->at.memory != NULL && a->at.memory == b->at.memory &&
         a->at.offset < b->at.offset + b->bytes &&
         b->at.offset < a->at.offset + a->bytes;
}

// Nobody knows which of the two comes last: the common bytes are lost.
static void lose_common_bytes(const slot* a, const slot* b) {
  const size_t end_a = a->at.offset + a->bytes;
  const size_t end_b = b->at.offset + b->bytes;
  const size_t from = a->at.offset > b->at.offset ? a->at.offset : b->at.offset;
  const size_t to = end_a < end_b ? end_a : end_b;
  if (!share_bytes(a, b)) return;
  for (size_t i = from; i < to; ++i) a->at.memory[i] = 0;
}

static void write_together(simulation* s, const method* m,
                           const uint32_t* values, size_t count) {
  for (size_t i = 0; i < count; ++i) write_value(s, m, values[i]);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (values[i] == values[k]) continue;
      lose_common_bytes(&m->slots[values[i]], &m->slots[values[k]]);
    }
  }
}

// ---- instructions ----

typedef struct touched {
  uint32_t reads[MAX_TOUCHED];
  bool is_first[MAX_TOUCHED];  // by read: the first tensor argument
  size_t read_count;
  uint32_t writes[MAX_TOUCHED];
  size_t write_count;
} touched;

static void touch(touched* t, uint32_t value, bool is_first, bool is_written) {
  if (t->read_count == MAX_TOUCHED || t->write_count == MAX_TOUCHED) {
    fprintf(stderr, "byte simulation: too many tensors\n");
    exit(1);
  }
  if (is_written) {
    t->writes[t->write_count++] = value;
  } else {
    t->is_first[t->read_count] = is_first;
    t->reads[t->read_count++] = value;
  }
}

// These never look at the bytes of their first tensor.
static bool ignores_first(const etx_op* op) {
  static const char* const names[] = {
      "aten::sym_size", "aten::sym_numel", "executorch_prim::et_view",
      "etx::part_view", "aten::full_like", "aten::fill",
      "aten::copy"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (strcmp(op->name, names[i]) == 0) return true;
  }
  return false;
}

static bool replaces_all(const etx_op* op) {
  return strcmp(op->name, "aten::copy_") == 0 ||
         strcmp(op->name, "executorch_prim::et_copy_index") == 0;
}

static void read_arguments(const method* m, const etx_op* op,
                           const etx_pte_instruction* call, touched* t) {
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  bool seen = false;
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    const uint32_t v = (uint32_t)call->arguments[i];
    const etx_pte_value value = etx_pte_value_at(&m->plan, v);
    if (value.kind == ETX_PTE_TENSOR) {
      const bool is_first = !seen;
      seen = true;
      if (is_first && !argument.written && ignores_first(op)) continue;
      touch(t, v, is_first, argument.written);
      // Changed in place: what it does not replace it keeps.
      if (argument.written && !argument.keyword_only && !replaces_all(op)) {
        touch(t, v, is_first, false);
      }
    }
    if (value.kind != ETX_PTE_TENSOR_LIST &&
        value.kind != ETX_PTE_OPTIONAL_TENSOR_LIST) {
      continue;
    }
    seen = true;
    for (size_t k = 0; k < value.as.tensors.count; ++k) {
      const int32_t item = value.as.tensors.items[k];
      if (item < 0 || !m->slots[item].is_tensor) continue;
      touch(t, (uint32_t)item, false, argument.written);
    }
  }
}

// The kernel reads an element before it writes the same place.
static bool is_read_first(const method* m, const etx_op* op, uint32_t read,
                          bool is_first, uint32_t written) {
  const slot* const a = &m->slots[read];
  const slot* const b = &m->slots[written];
  if (a->at.offset != b->at.offset || a->bytes != b->bytes) return false;
  const etx_dtype x = etx_pte_value_at(&m->plan, read).as.tensor.dtype;
  const etx_dtype y = etx_pte_value_at(&m->plan, written).as.tensor.dtype;
  if (op->in_place == ETX_IN_PLACE_SELF) return is_first;
  return op->in_place == ETX_IN_PLACE_ELEMENTWISE &&
         etx_dtype_bytes(x) == etx_dtype_bytes(y);
}

static void check_reads(simulation* s, const method* m, const touched* t) {
  for (size_t i = 0; i < t->read_count; ++i) {
    if (reads_right(s, m, t->reads[i])) continue;
    wrong(s, m, "is read and does not hold", t->reads[i]);
  }
}

// `to` stands for the bytes and the content of `from` from now on.
static void rename_slot(const method* m, uint32_t to, uint32_t from) {
  slot* const target = &m->slots[to];
  const slot* const source = &m->slots[from];
  size_t room = 0;
  const stamp* const means = content_of(m, from, &room);
  const size_t bytes = source->bytes < room ? source->bytes : room;
  if (target->means_bytes < bytes) {
    free(target->means);
    target->means = calloc(bytes + 1, sizeof(stamp));
    target->means_bytes = bytes;
  }
  memmove(target->means, means, bytes * sizeof(stamp));
  target->at = source->at;
  target->bytes = bytes;
}

// Only the bytes from `start` on, as many as the tensor has.
static void cut_slot(const method* m, uint32_t to, size_t start, size_t bytes) {
  slot* const target = &m->slots[to];
  if (start > target->bytes) start = target->bytes;
  target->bytes -= start;
  memmove(target->means, target->means + start, target->bytes * sizeof(stamp));
  target->at.offset += start;
  if (bytes < target->bytes) target->bytes = bytes;
}

// The file puts a planned view where the runtime will put it.
static void view_slot(simulation* s, const method* m, const etx_op* op,
                      const etx_pte_instruction* call) {
  const uint32_t from = (uint32_t)call->arguments[0];
  const uint32_t to = (uint32_t)call->arguments[call->argument_count - 1];
  const etx_pte_tensor t = etx_pte_value_at(&m->plan, to).as.tensor;
  rename_slot(m, to, from);
  if (op->id == ETX_OP_part_view_default) {
    const etx_pte_value start =
        etx_pte_value_at(&m->plan, (size_t)call->arguments[1]);
    cut_slot(m, to, (size_t)start.as.integer * etx_dtype_bytes(t.dtype),
             etx_pte_tensor_bytes(&t));
  }
  if (t.has_allocation && (m->slots[to].at.memory != s->arenas[t.memory_id] ||
                           m->slots[to].at.offset != t.memory_offset)) {
    wrong(s, m, "is a view of something elsewhere", to);
  }
}

// What lies where a value lies, before a call writes.
static stamp* bytes_of(const method* m, uint32_t value) {
  const slot* const at = &m->slots[value];
  stamp* const bytes = calloc(at->bytes + 1, sizeof *bytes);
  for (size_t i = 0; at->at.memory != NULL && i < at->bytes; ++i) {
    if (at->at.offset + i < at->at.limit) {
      bytes[i] = at->at.memory[at->at.offset + i];
    }
  }
  return bytes;
}

// A kernel that has written may still read argument `read`.
static bool is_still_there(const method* m, const etx_op* op, const touched* t,
                           size_t read, const stamp* bytes) {
  const slot* const at = &m->slots[t->reads[read]];
  if (at->at.memory == NULL) return true;
  for (size_t i = 0; i < t->write_count; ++i) {
    if (is_read_first(m, op, t->reads[read], t->is_first[read], t->writes[i])) {
      return true;
    }
  }
  for (size_t i = 0; i < at->bytes; ++i) {
    if (at->at.offset + i < at->at.limit &&
        at->at.memory[at->at.offset + i] != bytes[i]) {
      return false;
    }
  }
  return true;
}

// The result gets its sizes, and no byte changes.
static bool writes_no_byte(const etx_op* op) {
  return strcmp(op->name, "aten::empty") == 0 ||
         strcmp(op->name, "dim_order_ops::_empty_dim_order") == 0;
}

static void run_call(simulation* s, method* m,
                     const etx_pte_instruction* call) {
  const etx_pte_operator name =
      etx_pte_operator_at(&m->plan, (size_t)call->index);
  const etx_op* const op = etx_op_find(name.name, name.overload);
  touched t = {0};
  if (writes_no_byte(op)) return;
  if (etx_op_makes_view(op)) {
    view_slot(s, m, op, call);
    return;
  }
  read_arguments(m, op, call, &t);
  check_reads(s, m, &t);
  stamp** const wanted = calloc(t.read_count + 1, sizeof *wanted);
  for (size_t i = 0; i < t.read_count; ++i) wanted[i] = bytes_of(m, t.reads[i]);
  write_together(s, m, t.writes, t.write_count);
  for (size_t i = 0; i < t.read_count; ++i) {
    if (!is_still_there(m, op, &t, i, wanted[i])) {
      wrong(s, m, "is overwritten by the call that reads it", t.reads[i]);
    }
    free(wanted[i]);
  }
  free(wanted);
}

// ---- runs ----

static void enter(simulation* s, method* m) {
  uint32_t inputs[MAX_TOUCHED];
  const size_t count = etx_pte_input_count(&m->plan);
  size_t used = 0;
  for (size_t v = 0; v < m->slot_count; ++v) {
    size_t state = 0;
    if (!m->slots[v].is_tensor) continue;
    memset(m->slots[v].means, 0, m->slots[v].means_bytes * sizeof(stamp));
    const etx_pte_tensor t = etx_pte_value_at(&m->plan, v).as.tensor;
    if (t.name.size == 0 || !find_state(s, t.name, &state)) continue;
    memcpy(m->slots[v].means, s->states[state],
           m->slots[v].bytes * sizeof(stamp));
  }
  for (size_t i = 0; i < count; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&m->plan, i);
    if (m->slots[v].is_tensor) inputs[used++] = v;
  }
  write_together(s, m, inputs, used);
}

// What the caller and later calls read.
static void leave(simulation* s, method* m) {
  const size_t outputs = etx_pte_output_count(&m->plan);
  const size_t inputs = etx_pte_input_count(&m->plan);
  for (size_t i = 0; i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&m->plan, i);
    if (m->slots[v].is_tensor && !reads_right(s, m, v)) {
      wrong(s, m, "is an output and does not hold", v);
    }
  }
  for (size_t i = 0; m->blob != SIZE_MAX && i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&m->plan, i);
    if (m->slots[v].is_tensor &&
        etx_blob_input_at(&s->blob, m->blob, i).is_mutable &&
        !reads_right(s, m, v)) {
      wrong(s, m, "is copied back and does not hold", v);
    }
  }
  for (size_t v = 0; v < m->slot_count; ++v) {
    size_t state = 0;
    if (!m->slots[v].is_tensor) continue;
    const etx_pte_tensor t = etx_pte_value_at(&m->plan, v).as.tensor;
    if (t.name.size == 0 || !find_state(s, t.name, &state)) continue;
    memcpy(s->states[state], m->slots[v].means,
           m->slots[v].bytes * sizeof(stamp));
  }
}

// Every state must hold at the blob's address, whoever ran.
static void check_states(simulation* s, const method* m) {
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
      wrong(s, m, "a state does not hold after the call", i);
      return;
    }
  }
}

static bool choose(simulation* s) {
  if (s->choice_count == MAX_CHOICES) return true;
  return (s->choices >> s->choice_count++ & 1) != 0;
}

// True if a move, an operator or the caller may give the slot another number.
static bool is_moved_to(const method* m, size_t value) {
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    if ((size_t)etx_pte_input_at(&m->plan, i) == value) return true;
  }
  for (size_t c = 0; c < etx_pte_chain_count(&m->plan); ++c) {
    const size_t count = etx_pte_instruction_count(&m->plan, c);
    for (size_t i = 0; i < count; ++i) {
      const etx_pte_instruction at = etx_pte_instruction_at(&m->plan, c, i);
      if (at.kind == ETX_PTE_MOVE_CALL && (size_t)at.target == value) {
        return true;
      }
      if (at.kind == ETX_PTE_KERNEL_CALL && at.argument_count > 0 &&
          (size_t)at.arguments[at.argument_count - 1] == value) {
        return true;
      }
    }
  }
  return false;
}

// A number that nothing changes decides; what a tensor holds nobody knows.
static bool jumps(simulation* s, const method* m, size_t condition) {
  const etx_pte_value value = etx_pte_value_at(&m->plan, condition);
  if (value.kind != ETX_PTE_BOOL || is_moved_to(m, condition)) {
    return choose(s);
  }
  return !value.as.boolean;
}

static void run_chain(simulation* s, method* m, size_t chain, size_t* steps) {
  const size_t count = etx_pte_instruction_count(&m->plan, chain);
  for (size_t pc = 0; pc < count && *steps < MAX_STEPS; ++*steps) {
    const etx_pte_instruction at = etx_pte_instruction_at(&m->plan, chain, pc);
    ++pc;
    switch (at.kind) {
      case ETX_PTE_KERNEL_CALL:
        run_call(s, m, &at);
        break;
      case ETX_PTE_MOVE_CALL:
        if (m->slots[at.index].is_tensor) {
          rename_slot(m, (uint32_t)at.target, (uint32_t)at.index);
        }
        break;
      case ETX_PTE_JUMP_FALSE_CALL:
        if (m->slots[at.index].is_tensor &&
            !reads_right(s, m, (size_t)at.index)) {
          wrong(s, m, "is a condition and does not hold", (size_t)at.index);
        }
        if (jumps(s, m, (size_t)at.index)) pc = (size_t)at.target;
        break;
      default:
        break;
    }
  }
}

static void run_method(simulation* s, method* m) {
  size_t steps = 0;
  const size_t chains = etx_pte_chain_count(&m->plan);
  memset(s->arenas[ETX_MEMORY_SCRATCH], 0,
         s->arena_bytes[ETX_MEMORY_SCRATCH] * sizeof(stamp));
  enter(s, m);
  for (size_t c = 0; c < chains; ++c) run_chain(s, m, c, &steps);
  // A run that was cut off in a loop says nothing about the end.
  if (steps >= MAX_STEPS) return;
  leave(s, m);
  check_states(s, m);
}

static bool has_jumps(const method* m) {
  const size_t chains = etx_pte_chain_count(&m->plan);
  for (size_t c = 0; c < chains; ++c) {
    const size_t count = etx_pte_instruction_count(&m->plan, c);
    for (size_t i = 0; i < count; ++i) {
      if (etx_pte_instruction_at(&m->plan, c, i).kind ==
          ETX_PTE_JUMP_FALSE_CALL) {
        return true;
      }
    }
  }
  return false;
}

static void run_every_way(simulation* s, method* m) {
  const unsigned ways = has_jumps(m) ? 1u << MAX_CHOICES : 1;
  for (unsigned i = 0; i < ways && !s->verdict.is_wrong; ++i) {
    s->choices = i;
    s->choice_count = 0;
    run_method(s, m);
  }
}

// ---- outputs that other methods' calls must not touch ----

static void check_stable(simulation* s, method* m) {
  const size_t outputs = etx_pte_output_count(&m->plan);
  for (size_t i = 0; m->blob != SIZE_MAX && i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&m->plan, i);
    const etx_blob_output row = etx_blob_output_at(&s->blob, m->blob, i);
    if (!m->slots[v].is_tensor) continue;
    const etx_pte_tensor t = etx_pte_value_at(&m->plan, v).as.tensor;
    if (!t.has_allocation || t.memory_id != ETX_MEMORY_SCRATCH) continue;
    if (row.lifetime == ETX_LIFETIME_STATE) {
      wrong(s, m, "is said to lie in state", v);
    }
    if (row.lifetime != ETX_LIFETIME_STABLE) continue;
    for (size_t k = 0; k < s->method_count; ++k) {
      const method* const other = &s->methods[k];
      for (size_t w = 0; other != m && w < other->slot_count; ++w) {
        if (other->slots[w].is_tensor && other->slots[w].bytes > 0 &&
            share_bytes(&m->slots[v], &other->slots[w])) {
          wrong(s, m, "is kept where another method writes", v);
        }
      }
    }
  }
}

static void init_states(simulation* s) {
  const size_t count = etx_blob_state_count(&s->blob);
  s->states = calloc(count + 1, sizeof *s->states);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_state state = etx_blob_state_at(&s->blob, i);
    const size_t bytes = state_bytes(&state);
    s->states[i] = calloc(bytes + 1, sizeof(stamp));
    for (size_t b = 0; b < bytes; ++b) {
      s->states[i][b] = ++s->next;
      if (state.offset + b >= s->arena_bytes[ETX_MEMORY_STATE]) continue;
      s->arenas[ETX_MEMORY_STATE][state.offset + b] = s->next;
    }
  }
}

static void run_program(simulation* s) {
  for (size_t i = 0; i < s->method_count; ++i) make_method(s, i);
  init_states(s);
  if (s->method_count > 0) check_states(s, &s->methods[0]);
  for (size_t i = 0; i < s->method_count; ++i) check_stable(s, &s->methods[i]);
  for (size_t i = 0; i < s->method_count; ++i) {
    run_every_way(s, &s->methods[i]);
  }
  for (size_t i = s->method_count; i > 0; --i) {
    run_every_way(s, &s->methods[i - 1]);
  }
}

static void end(simulation* s) {
  const size_t states = etx_blob_state_count(&s->blob);
  for (size_t i = 0; i < s->method_count; ++i) {
    method* const m = &s->methods[i];
    for (size_t v = 0; v < m->slot_count; ++v) {
      free(m->slots[v].means);
      free(m->slots[v].own);
    }
    free(m->slots);
  }
  for (size_t i = 0; i < states; ++i) free(s->states[i]);
  for (size_t a = 1; a < MAX_ARENAS; ++a) free(s->arenas[a]);
  free(s->states);
  free(s->methods);
}

byte_verdict byte_simulation_run(etx_bytes file) {
  simulation s;
  memset(&s, 0, sizeof s);
  if (etx_pte_open(&s.pte, file, NULL, NULL) != ETX_OK ||
      etx_blob_open(&s.blob, &s.pte, NULL) != ETX_OK) {
    s.verdict.is_wrong = true;
    snprintf(s.verdict.why, sizeof s.verdict.why, "the door refuses the file");
    return s.verdict;
  }
  s.method_count = etx_pte_plan_count(&s.pte);
  s.methods = calloc(s.method_count + 1, sizeof *s.methods);
  for (size_t i = 0; i < s.method_count; ++i) {
    method* const m = &s.methods[i];
    m->plan = etx_pte_plan_at(&s.pte, i);
    m->name = etx_pte_plan_name(&m->plan);
    if (!etx_blob_method_find(&s.blob, m->name, &m->blob)) m->blob = SIZE_MAX;
  }
  find_arenas(&s);
  run_program(&s);
  end(&s);
  return s.verdict;
}
