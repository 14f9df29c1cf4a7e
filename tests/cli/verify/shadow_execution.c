#include "tests/cli/verify/shadow_execution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/ops/op_schema.h"
#include "format/pte/reserved_names.h"
#include "tests/cli/verify/shadow_memory.h"

enum {
  MAX_STEPS = 400,  // in one run of a method
  MAX_CHOICES = 6,  // jumps of a run that are tried both ways
};

typedef struct jump_choices {
  unsigned ways;  // one bit for each jump: taken or not
  size_t count;
} jump_choices;

// ---- instructions ----

static void touch(shadow_touched* t, uint32_t value, bool is_first,
                  bool is_written) {
  if (t->read_count == SHADOW_MOST_TOUCHED ||
      t->write_count == SHADOW_MOST_TOUCHED) {
    fprintf(stderr, "shadow execution: more than %d tensors in a call\n",
            SHADOW_MOST_TOUCHED);
    exit(1);
  }
  if (is_written) {
    t->writes[t->write_count++] = value;
  } else {
    t->is_first[t->read_count] = is_first;
    t->reads[t->read_count++] = value;
  }
}

// True for operators that do not read the bytes of their first tensor.
static bool ignores_first(const etx_op* op) {
  static const char* const names[] = {
      "aten::sym_size", "aten::sym_numel", "executorch_prim::et_view",
      "etx::part_view", "etx::part_after", "aten::full_like",
      "aten::fill",     "aten::copy"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (strcmp(op->name, names[i]) == 0) return true;
  }
  return false;
}

static bool replaces_all(const etx_op* op) {
  return strcmp(op->name, "aten::copy_") == 0 ||
         strcmp(op->name, "executorch_prim::et_copy_index") == 0;
}

void shadow_execution_touch(const shadow_method* m, const etx_op* op,
                            const etx_pte_instruction* call,
                            shadow_touched* t) {
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
      // An argument that is changed in place is also read.
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

// True if the kernel reads each element before it writes the same address.
static bool is_read_first(const shadow_method* m, const etx_op* op,
                          uint32_t read, bool is_first, uint32_t written) {
  const byte_slot* const a = &m->slots[read];
  const byte_slot* const b = &m->slots[written];
  if (a->at.offset != b->at.offset || a->bytes != b->bytes) return false;
  const etx_dtype x = etx_pte_value_at(&m->plan, read).as.tensor.dtype;
  const etx_dtype y = etx_pte_value_at(&m->plan, written).as.tensor.dtype;
  if (op->in_place == ETX_IN_PLACE_SELF) return is_first;
  return op->in_place == ETX_IN_PLACE_ELEMENTWISE &&
         etx_dtype_bytes(x) == etx_dtype_bytes(y);
}

static void check_reads(shadow_memory* s, const shadow_method* m,
                        const shadow_touched* t) {
  for (size_t i = 0; i < t->read_count; ++i) {
    if (shadow_memory_holds(s, m, t->reads[i])) continue;
    shadow_memory_wrong(s, m, "is read and not valid", t->reads[i]);
  }
}

// `to` takes over the header of `from`: its bytes and its expected stamps.
static void rename_slot(const shadow_method* m, uint32_t to, uint32_t from) {
  byte_slot* const target = &m->slots[to];
  const byte_slot* const source = &m->slots[from];
  size_t room = 0;
  const byte_stamp* const means = shadow_memory_content(m, from, &room);
  const size_t bytes = source->bytes < room ? source->bytes : room;
  if (target->means_bytes < bytes) {
    free(target->means);
    target->means = calloc(bytes + 1, sizeof(byte_stamp));
    target->means_bytes = bytes;
  }
  memmove(target->means, means, bytes * sizeof(byte_stamp));
  target->at = source->at;
  target->bytes = bytes;
}

// Keeps at most `bytes` bytes of a slot, from `start` on.
static void cut_slot(const shadow_method* m, uint32_t to, size_t start,
                     size_t bytes) {
  byte_slot* const target = &m->slots[to];
  if (start > target->bytes) start = target->bytes;
  target->bytes -= start;
  memmove(target->means, target->means + start,
          target->bytes * sizeof(byte_stamp));
  target->at.offset += start;
  if (bytes < target->bytes) target->bytes = bytes;
}

// Runs an operator that makes a view. Its planned offset must be the real one.
static void view_slot(shadow_memory* s, const shadow_method* m,
                      const etx_op* op, const etx_pte_instruction* call) {
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
  if (op->id == ETX_OP_part_after_default) {
    const size_t before = (size_t)call->arguments[1];
    size_t start = 0;
    if (m->slots[before].is_tensor) {
      start = m->slots[before].at.offset + m->slots[before].bytes -
              m->slots[from].at.offset;
    }
    cut_slot(m, to, start, etx_pte_tensor_bytes(&t));
  }
  if (t.has_allocation && (m->slots[to].at.memory != s->arenas[t.memory_id] ||
                           m->slots[to].at.offset != t.memory_offset)) {
    shadow_memory_wrong(s, m, "is a view of bytes at another address", to);
  }
}

// The stamps at the address of a value, before a call writes.
static byte_stamp* bytes_of(const shadow_method* m, uint32_t value) {
  const byte_slot* const at = &m->slots[value];
  byte_stamp* const bytes = calloc(at->bytes + 1, sizeof *bytes);
  for (size_t i = 0; at->at.memory != NULL && i < at->bytes; ++i) {
    if (at->at.offset + i < at->at.limit) {
      bytes[i] = at->at.memory[at->at.offset + i];
    }
  }
  return bytes;
}

// True if a kernel that has already written can still read argument `read`.
static bool is_still_there(const shadow_method* m, const etx_op* op,
                           const shadow_touched* t, size_t read,
                           const byte_stamp* bytes) {
  const byte_slot* const at = &m->slots[t->reads[read]];
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

// True for operators that only set sizes.
static bool writes_no_byte(const etx_op* op) {
  return strcmp(op->name, "aten::empty") == 0 ||
         strcmp(op->name, "dim_order_ops::_empty_dim_order") == 0;
}

// A concatenation of tensors that lie one after the other in its result changes
// no byte: the result then expects what is there.
static bool join(const shadow_method* m, const etx_op* op,
                 const shadow_touched* t) {
  if (op->id != ETX_OP_cat_out) return false;
  const byte_slot* const out = &m->slots[t->writes[0]];
  size_t end = out->at.offset;
  for (size_t i = 0; i < t->read_count; ++i) {
    const byte_slot* const part = &m->slots[t->reads[i]];
    if (part->at.memory != out->at.memory || part->at.offset != end) {
      return false;
    }
    end += part->bytes;
  }
  if (end != out->at.offset + out->bytes) return false;
  size_t room = 0;
  byte_stamp* const means = shadow_memory_content(m, t->writes[0], &room);
  memcpy(means, out->at.memory + out->at.offset,
         out->bytes * sizeof(byte_stamp));
  return true;
}

void shadow_execution_call(shadow_memory* s, shadow_method* m,
                           const etx_pte_instruction* call) {
  const etx_pte_operator name =
      etx_pte_operator_at(&m->plan, (size_t)call->index);
  const etx_op* const op = etx_op_find(name.name, name.overload);
  shadow_touched t = {0};
  if (writes_no_byte(op)) return;
  if (etx_op_makes_view(op)) {
    view_slot(s, m, op, call);
    return;
  }
  shadow_execution_touch(m, op, call, &t);
  check_reads(s, m, &t);
  if (join(m, op, &t)) return;
  byte_stamp** const wanted = calloc(t.read_count + 1, sizeof *wanted);
  for (size_t i = 0; i < t.read_count; ++i) wanted[i] = bytes_of(m, t.reads[i]);
  shadow_memory_write(s, m, t.writes, t.write_count);
  for (size_t i = 0; i < t.read_count; ++i) {
    if (!is_still_there(m, op, &t, i, wanted[i])) {
      shadow_memory_wrong(s, m, "is overwritten by the call that reads it",
                          t.reads[i]);
    }
    free(wanted[i]);
  }
  free(wanted);
}

// ---- runs ----

void shadow_execution_enter(shadow_memory* s, shadow_method* m) {
  uint32_t inputs[SHADOW_MOST_TOUCHED];
  const size_t count = etx_pte_input_count(&m->plan);
  size_t used = 0;
  for (size_t v = 0; v < m->slot_count; ++v) {
    size_t state = 0;
    if (!m->slots[v].is_tensor) continue;
    memset(m->slots[v].means, 0, m->slots[v].means_bytes * sizeof(byte_stamp));
    const etx_pte_tensor t = etx_pte_value_at(&m->plan, v).as.tensor;
    if (t.name.size == 0 || !shadow_memory_find_state(s, t.name, &state))
      continue;
    memcpy(m->slots[v].means, s->states[state],
           m->slots[v].bytes * sizeof(byte_stamp));
  }
  for (size_t i = 0; i < count; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&m->plan, i);
    if (m->slots[v].is_tensor) inputs[used++] = v;
  }
  shadow_memory_write(s, m, inputs, used);
}

// Checks what the caller and later calls read.
void shadow_execution_leave(shadow_memory* s, shadow_method* m) {
  const size_t outputs = etx_pte_output_count(&m->plan);
  const size_t inputs = etx_pte_input_count(&m->plan);
  for (size_t i = 0; i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&m->plan, i);
    if (m->slots[v].is_tensor && !shadow_memory_holds(s, m, v)) {
      shadow_memory_wrong(s, m, "is an output and not valid", v);
    }
  }
  for (size_t i = 0; m->blob != SIZE_MAX && i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&m->plan, i);
    if (m->slots[v].is_tensor &&
        etx_blob_input_at(&s->blob, m->blob, i).is_mutable &&
        !shadow_memory_holds(s, m, v)) {
      shadow_memory_wrong(s, m, "is copied back and not valid", v);
    }
  }
  for (size_t v = 0; v < m->slot_count; ++v) {
    size_t state = 0;
    if (!m->slots[v].is_tensor) continue;
    const etx_pte_tensor t = etx_pte_value_at(&m->plan, v).as.tensor;
    if (t.name.size == 0 || !shadow_memory_find_state(s, t.name, &state))
      continue;
    memcpy(s->states[state], m->slots[v].means,
           m->slots[v].bytes * sizeof(byte_stamp));
  }
}

static bool choose(jump_choices* choices) {
  if (choices->count == MAX_CHOICES) return true;
  return (choices->ways >> choices->count++ & 1) != 0;
}

// True if a move, an operator or the caller may change the number in a slot.
static bool is_moved_to(const shadow_method* m, size_t value) {
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

// True if the jump is taken. A constant condition decides; otherwise both ways
// are possible.
static bool jumps(const shadow_method* m, size_t condition,
                  jump_choices* choices) {
  const etx_pte_value value = etx_pte_value_at(&m->plan, condition);
  if (value.kind != ETX_PTE_BOOL || is_moved_to(m, condition)) {
    return choose(choices);
  }
  return !value.as.boolean;
}

static void run_chain(shadow_memory* s, shadow_method* m, size_t chain,
                      jump_choices* choices, size_t* steps) {
  const size_t count = etx_pte_instruction_count(&m->plan, chain);
  for (size_t pc = 0; pc < count && *steps < MAX_STEPS; ++*steps) {
    const etx_pte_instruction at = etx_pte_instruction_at(&m->plan, chain, pc);
    ++pc;
    switch (at.kind) {
      case ETX_PTE_KERNEL_CALL:
        shadow_execution_call(s, m, &at);
        break;
      case ETX_PTE_MOVE_CALL:
        if (m->slots[at.index].is_tensor) {
          rename_slot(m, (uint32_t)at.target, (uint32_t)at.index);
        }
        break;
      case ETX_PTE_JUMP_FALSE_CALL:
        if (m->slots[at.index].is_tensor &&
            !shadow_memory_holds(s, m, (size_t)at.index)) {
          shadow_memory_wrong(s, m, "is a condition and not valid",
                              (size_t)at.index);
        }
        if (jumps(m, (size_t)at.index, choices)) pc = (size_t)at.target;
        break;
      default:
        break;
    }
  }
}

static void run_method(shadow_memory* s, shadow_method* m, unsigned ways) {
  size_t steps = 0;
  jump_choices choices = {.ways = ways};
  const size_t chains = etx_pte_chain_count(&m->plan);
  memset(s->arenas[ETX_MEMORY_SCRATCH], 0,
         s->arena_bytes[ETX_MEMORY_SCRATCH] * sizeof(byte_stamp));
  const size_t bytes = s->arena_bytes[ETX_MEMORY_STATE] * sizeof(byte_stamp);
  byte_stamp* const before = malloc(bytes + 1);
  memcpy(before, s->arenas[ETX_MEMORY_STATE], bytes);
  shadow_execution_enter(s, m);
  for (size_t c = 0; c < chains; ++c) {
    run_chain(s, m, c, &choices, &steps);
  }
  if (steps < MAX_STEPS) {
    shadow_execution_leave(s, m);
    shadow_memory_check_states(s, m);
  } else {
    // The run was stopped in an endless loop and did not reach the end. What it
    // left in the state is not judged: the runtime refuses torn state.
    memcpy(s->arenas[ETX_MEMORY_STATE], before, bytes);
  }
  free(before);
}

static bool has_jumps(const shadow_method* m) {
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

static void run_every_way(shadow_memory* s, shadow_method* m) {
  const unsigned ways = has_jumps(m) ? 1u << MAX_CHOICES : 1;
  for (unsigned i = 0; i < ways && !s->verdict.is_wrong; ++i) {
    run_method(s, m, i);
  }
}

// ---- stable outputs ----

// Views are where the last run has set them up.

static void check_stable(shadow_memory* s, shadow_method* m) {
  const size_t outputs = etx_pte_output_count(&m->plan);
  for (size_t i = 0; m->blob != SIZE_MAX && i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&m->plan, i);
    const etx_blob_output row = etx_blob_output_at(&s->blob, m->blob, i);
    if (!m->slots[v].is_tensor ||
        m->slots[v].at.memory != s->arenas[ETX_MEMORY_SCRATCH]) {
      continue;
    }
    if (row.lifetime == ETX_LIFETIME_STATE) {
      shadow_memory_wrong(s, m, "is in scratch, expected state", v);
    }
    if (row.lifetime != ETX_LIFETIME_STABLE) continue;
    for (size_t k = 0; k < s->method_count; ++k) {
      const shadow_method* const other = &s->methods[k];
      for (size_t w = 0; other != m && w < other->slot_count; ++w) {
        if (other->slots[w].is_tensor && other->slots[w].bytes > 0 &&
            byte_slots_meet(&m->slots[v], &other->slots[w])) {
          shadow_memory_wrong(s, m, "is stable, but another method writes it",
                              v);
        }
      }
    }
  }
}

static void run_program(shadow_memory* s) {
  if (s->method_count > 0) shadow_memory_check_states(s, &s->methods[0]);
  for (size_t i = 0; i < s->method_count; ++i) {
    run_every_way(s, &s->methods[i]);
  }
  for (size_t i = s->method_count; i > 0; --i) {
    run_every_way(s, &s->methods[i - 1]);
  }
  for (size_t i = 0; i < s->method_count; ++i) check_stable(s, &s->methods[i]);
}

byte_verdict shadow_execution_run(etx_bytes file) {
  shadow_memory s;
  if (!shadow_memory_open(&s, file)) {
    byte_verdict refused = {.is_wrong = true};
    snprintf(refused.why, sizeof refused.why, "the file cannot be opened");
    return refused;
  }
  run_program(&s);
  shadow_memory_close(&s);
  return s.verdict;
}
