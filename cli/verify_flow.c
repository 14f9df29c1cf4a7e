// The proof itself: forward over all paths, which values still hold.
//
// At the start inputs and states hold. A write makes its value hold and takes
// down every other value that has a byte in the same place; so after it the
// bytes are its own and nobody else's. A read is right if its value holds.
// Where paths meet, a value holds if it does on each of them. That is repeated
// until nothing changes; it only ever gets less, so it ends.
//
// This says the same as "nothing that is written overlaps what is still
// needed": a value that is taken down and read later on some path is exactly
// one that was overwritten while it was needed. Seen from this side the reads
// that nothing was ever written for are found as well.
//
// What does not count as taking down: writing a view changes a part of its
// parent, and the parent then holds the new content.

#include <string.h>

#include "cli/verify_intact.h"
#include "cli/verify_internal.h"
#include "format/pte/reserved_names.h"

// Concatenations within concatenations.
enum { MAX_NESTING = 64 };

// States of all blocks together may take this much memory.
static const uint64_t max_state_bytes = UINT64_C(1) << 31;

typedef struct flow {
  etx_verify_method* m;
  etx_verify_effects effects;
  etx_verify_intact intact;
  bool* was_written;     // by value, while states of a stock file are sought
  bool discovers;        // states of a stock file are sought
  uint32_t* killers;     // by value: 1 + who was written over it, in the block
  uint32_t* killed_at;   // by value: the step at which that happened
  uint32_t* written_at;  // by value: 1 + the step that wrote it last
  uint32_t* blocks;      // first step of each block, and step_count at the end
  size_t block_count;
  uint32_t* block_of;  // by step: its block; of step_count: block_count
  uint64_t* states;    // of each block: what holds when it starts
  bool* is_reached;    // by block
} flow;

// ---- what holds ----

// In a stock file a value without a writer shows the bytes of some other one
// that holds and has all of them; the file does not say whose. The content of
// a state is only ever changed through a value that is changed in place.
static bool may_show(const flow* f, uint32_t value, uint32_t other) {
  const etx_verify_value* const shown = &f->m->values[other];
  return !f->m->values[value].is_state || shown->is_state || shown->is_changed;
}

static bool is_inside_another(const flow* f, uint32_t value) {
  const etx_verify_value* const v = &f->m->values[value];
  if (v->home != ETX_VERIFY_PLANNED || v->is_rebound || v->is_written) {
    return false;
  }
  size_t piece = etx_verify_intact_next(&f->intact, v->range, 0);
  while (piece != SIZE_MAX) {
    const etx_verify_piece* const other = &f->intact.pieces[piece];
    if (etx_verify_contains(other->range, v->range) &&
        may_show(f, value, other->owner)) {
      return true;
    }
    piece = etx_verify_intact_next(&f->intact, v->range, piece + 1);
  }
  return false;
}

// What is still to be looked at of a value that is made of parts, which may
// be made of parts. Depth and budget end circles and rows that are told again
// and again.
typedef struct search {
  etx_verify_range range;
  size_t depth;
  size_t budget;
} search;

static bool holds_within(const flow* f, uint32_t value, search* s);

static bool parts_hold(const flow* f, const etx_verify_value* whole,
                       search* s) {
  for (uint32_t i = 0; i < whole->part_count; ++i) {
    const uint32_t part = f->m->parts[whole->first_part + i];
    if (!etx_verify_overlap(f->m->values[part].range, s->range)) continue;
    if (s->budget == 0) return false;
    --s->budget;
    if (!holds_within(f, part, s)) return false;
  }
  return whole->part_count > 0;
}

// True if the bytes of `value` within the searched range hold it.
static bool holds_within(const flow* f, uint32_t value, search* s) {
  const uint32_t top = f->m->values[value].top;
  const etx_verify_value* const v = &f->m->values[top];
  const etx_verify_range all = s->range;
  const etx_verify_range own = f->m->values[value].range;
  if (v->home == ETX_VERIFY_CONSTANT && !v->is_rebound) return true;
  if (own.start > s->range.start) s->range.start = own.start;
  if (own.end < s->range.end) s->range.end = own.end;
  bool is_held = etx_verify_intact_has(&f->intact, top, s->range);
  if (!is_held && f->m->blob == NULL) is_held = is_inside_another(f, top);
  if (!is_held && s->depth > 0) {
    --s->depth;
    is_held = parts_hold(f, v, s);
    ++s->depth;
  }
  s->range = all;
  return is_held;
}

static bool holds(const flow* f, uint32_t value) {
  const etx_verify_value* const v = &f->m->values[value];
  search s = {v->range, MAX_NESTING, f->m->value_count};
  if (!v->is_rebound && v->range.start == v->range.end) return true;
  return holds_within(f, value, &s);
}

// True if `value` is a view of `other`, directly or not: by the blob or by a
// header that it took over.
static bool is_view_of(const flow* f, uint32_t value, uint32_t other) {
  for (size_t i = 0; i <= f->m->value_count; ++i) {
    const etx_verify_value* const v = &f->m->values[value];
    if (v->parent != ETX_VERIFY_NONE) {
      value = v->parent;
    } else if (v->named_by != 0) {
      value = v->named_by - 1;
    } else {
      return false;
    }
    if (value == other) return true;
  }
  return false;
}

// ---- reads ----

static etx_status refuse_read(const flow* f, uint32_t value, const char* who) {
  const uint32_t top = f->m->values[value].top;
  if (f->killers[top] == 0 && f->block_count > 1) {
    return etx_verify_refuse(f->m,
                             "%s value '%u', which not every path wrote or "
                             "kept until here",
                             who, (uint64_t)value);
  }
  if (f->killers[top] == 0) {
    return etx_verify_refuse(f->m, "%s value '%u' before anything wrote it",
                             who, (uint64_t)value);
  }
  const uint32_t at = f->killed_at[top];
  if (at == ETX_VERIFY_NONE) {
    return etx_verify_refuse(f->m,
                             "%s value '%u', whose bytes are also those of "
                             "input value '%u'",
                             who, (uint64_t)value,
                             (uint64_t)f->killers[top] - 1);
  }
  return etx_verify_refuse(
      f->m, "%s value '%u', which value '%u' overwrote at instruction '%u'",
      who, (uint64_t)value, (uint64_t)f->killers[top] - 1,
      (uint64_t)f->m->steps[at].index);
}

static etx_status check_read(flow* f, uint32_t value, const char* who) {
  if (holds(f, value)) return ETX_OK;
  const etx_verify_value* const v = &f->m->values[value];
  if (f->discovers && v->home == ETX_VERIFY_PLANNED && !f->was_written[value]) {
    f->m->values[value].is_state = true;
    etx_verify_intact_add(&f->intact, value, v->range);
    return ETX_OK;
  }
  return f->discovers ? ETX_OK : refuse_read(f, value, who);
}

// ---- calls ----

static etx_status check_call(flow* f, const etx_op* op) {
  const etx_verify_effects* const e = &f->effects;
  for (size_t i = 0; i < e->read_count; ++i) {
    ETX_TRY(check_read(f, e->reads[i].value, "reads"));
  }
  for (size_t i = 0; i < e->write_count; ++i) {
    const uint32_t written = e->writes[i].value;
    const etx_verify_value* const value = &f->m->values[written];
    if (value->home == ETX_VERIFY_CONSTANT || value->may_be_constant) {
      return etx_verify_refuse(f->m, "value '%u' is a constant and is written",
                               (uint64_t)written);
    }
    if (e->writes[i].updates) ETX_TRY(check_read(f, written, "changes"));
    for (size_t k = 0; k < e->read_count; ++k) {
      ETX_TRY(etx_verify_sharing(f->m, op, &e->reads[k], written));
    }
  }
  return ETX_OK;
}

// ---- writes ----

static void note_killer(flow* f, uint32_t value, uint32_t killer, size_t step) {
  f->killers[value] = killer + 1;
  f->killed_at[value] =
      step == f->m->step_count ? ETX_VERIFY_NONE : (uint32_t)step;
}

// In a stock file a value that shows bytes of another one may be changed in
// place, and then the other is changed, not lost.
static bool is_changed_through(const flow* f, uint32_t value, uint32_t other) {
  return f->m->values[value].place_count == 1 &&
         f->m->values[other].place_count == 1 &&
         etx_verify_contains(etx_verify_place(f->m, other, 0),
                             etx_verify_place(f->m, value, 0));
}

// Nobody knows which of two outputs of a step is written last, so neither
// holds where both lie.
static void lose_both(flow* f, uint32_t value, size_t piece, size_t step) {
  const uint32_t top = f->m->values[value].top;
  const size_t count = etx_verify_piece_count(&f->intact, top);
  for (size_t i = 0; i < count; ++i) {
    const size_t own = etx_verify_piece_at(&f->intact, top, i);
    if (!etx_verify_overlap(f->intact.pieces[own].range,
                            f->intact.pieces[piece].range)) {
      continue;
    }
    etx_verify_intact_remove_piece(&f->intact, own);
    note_killer(f, top, f->intact.pieces[piece].owner, step);
  }
}

// Takes down whatever else has a byte in one of the places of `value`.
static void take_down(flow* f, uint32_t value, bool is_changed, size_t step) {
  for (uint32_t i = 0; i < f->m->values[value].place_count; ++i) {
    const etx_verify_range range = etx_verify_place(f->m, value, i);
    size_t piece = etx_verify_intact_next(&f->intact, range, 0);
    for (; piece != SIZE_MAX;
         piece = etx_verify_intact_next(&f->intact, range, piece + 1)) {
      const uint32_t other = f->intact.pieces[piece].owner;
      if (other == value || is_view_of(f, value, other) ||
          (is_changed && is_changed_through(f, value, other))) {
        continue;
      }
      if (f->written_at[other] == step + 1) lose_both(f, value, piece, step);
      etx_verify_intact_remove_piece(&f->intact, piece);
      note_killer(f, other, value, step);
    }
  }
}

// `updates`: what is written keeps some of its content, which may be that of
// another value.
static void write_value(flow* f, uint32_t value, bool updates, size_t step) {
  const etx_verify_value* const v = &f->m->values[value];
  const bool was_intact = etx_verify_intact_has(&f->intact, v->top, v->range);
  etx_verify_intact_add(&f->intact, v->top, v->range);
  take_down(f, value, f->m->blob == NULL && updates && !was_intact, step);
  f->written_at[v->top] = (uint32_t)step + 1;
  if (f->was_written != NULL) f->was_written[value] = true;
}

// A tensor got its sizes and none of its bytes was written: nobody loses any.
// In a file of etx it is a constant or a view of something that has to hold
// when it is read, as its row says; the exporter makes no empty tensors, so one
// without a row holds nothing. A stock file has them, and whatever lies there
// is their content.
static void size_value(flow* f, uint32_t value) {
  const etx_verify_value* const v = &f->m->values[value];
  if (f->m->blob != NULL) return;
  etx_verify_intact_add(&f->intact, v->top, v->range);
  if (f->was_written != NULL) f->was_written[value] = true;
}

static etx_status run_step(flow* f, size_t step) {
  const etx_verify_effects* const e = &f->effects;
  ETX_TRY(etx_verify_effects_of(f->m, step, &f->effects));
  const etx_status status = check_call(f, f->m->steps[step].op);
  if (status != ETX_OK) return etx_verify_at(f->m, step, status);
  for (size_t i = 0; i < e->write_count; ++i) {
    write_value(f, e->writes[i].value, e->writes[i].updates, step);
  }
  if (e->rebound != ETX_VERIFY_NONE) {
    const bool is_good = holds(f, e->rebound_from);
    etx_verify_intact_remove(&f->intact, e->rebound);
    if (is_good) {
      const etx_verify_range anywhere = {0, 0};
      etx_verify_intact_add(&f->intact, e->rebound, anywhere);
    }
  }
  if (e->sized != ETX_VERIFY_NONE) size_value(f, e->sized);
  if (e->released != ETX_VERIFY_NONE) {
    etx_verify_intact_remove(&f->intact, f->m->values[e->released].top);
    note_killer(f, f->m->values[e->released].top, e->released, step);
  }
  return ETX_OK;
}

// ---- start and end of a method ----

// A file of etx names its states. One that is not named is found by reading
// it before anything was written there.
static void find_states(flow* f) {
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    if (f->m->values[v].home != ETX_VERIFY_PLANNED) continue;
    const etx_pte_tensor tensor = etx_pte_value_at(&f->m->plan, v).as.tensor;
    f->m->values[v].is_state =
        tensor.name.size > 0 ||
        (f->m->blob == NULL && tensor.data_buffer_index != 0);
  }
}

static void enter(flow* f) {
  const size_t inputs = etx_pte_input_count(&f->m->plan);
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    const etx_verify_value* const value = &f->m->values[v];
    if (value->is_state) {
      etx_verify_intact_add(&f->intact, value->top, value->range);
    }
  }
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&f->m->plan, i);
    if (f->m->values[v].home == ETX_VERIFY_NO_TENSOR) continue;
    f->m->values[v].is_written = true;
    if (f->written_at[v] == f->m->step_count + 1) continue;
    write_value(f, v, false, f->m->step_count);
  }
}

static bool is_copied_back(const flow* f, size_t input) {
  return f->m->blob != NULL && f->m->blob_method != SIZE_MAX &&
         etx_blob_input_at(f->m->blob, f->m->blob_method, input).is_mutable;
}

static etx_status leave(flow* f) {
  const size_t inputs = etx_pte_input_count(&f->m->plan);
  const size_t outputs = etx_pte_output_count(&f->m->plan);
  for (size_t i = 0; i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&f->m->plan, i);
    if (f->m->values[v].home == ETX_VERIFY_NO_TENSOR) continue;
    ETX_TRY(check_read(f, v, "an output reads"));
  }
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&f->m->plan, i);
    if (f->m->values[v].home == ETX_VERIFY_NO_TENSOR || !is_copied_back(f, i)) {
      continue;
    }
    ETX_TRY(check_read(f, v, "a mutable input reads"));
  }
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    if (f->m->values[v].is_state)
      ETX_TRY(check_read(f, v, "the next call reads state"));
  }
  return ETX_OK;
}

// ---- blocks ----

static etx_status find_blocks(flow* f) {
  const size_t count = f->m->step_count;
  bool* const starts = etx_verify_take(f->m->memory, count + 1, sizeof *starts);
  f->blocks = etx_verify_take(f->m->memory, count + 2, sizeof *f->blocks);
  f->block_of = etx_verify_take(f->m->memory, count + 1, sizeof *f->block_of);
  if (starts == NULL || f->blocks == NULL || f->block_of == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  starts[0] = true;
  for (size_t s = 0; s < count; ++s) {
    if (f->m->steps[s].instruction.kind != ETX_PTE_JUMP_FALSE_CALL) continue;
    starts[f->m->steps[s].target] = true;
    starts[s + 1] = true;
  }
  for (size_t s = 0; s < count; ++s) {
    if (starts[s]) f->blocks[f->block_count++] = (uint32_t)s;
    f->block_of[s] = (uint32_t)(f->block_count - 1);
  }
  f->blocks[f->block_count] = (uint32_t)count;
  f->block_of[count] = (uint32_t)f->block_count;
  return ETX_OK;
}

static etx_status take_states(flow* f) {
  const uint64_t bytes =
      (uint64_t)f->block_count * f->intact.word_count * sizeof *f->states;
  if (bytes > max_state_bytes) {
    return etx_diag_fail(f->m->diag, ETX_UNSUPPORTED,
                         "method '%t' has %z jumps and %z values, too many to "
                         "be proved",
                         f->m->name, f->block_count, f->m->value_count);
  }
  f->states = etx_verify_take(
      f->m->memory, f->block_count * f->intact.word_count, sizeof *f->states);
  f->is_reached =
      etx_verify_take(f->m->memory, f->block_count, sizeof *f->is_reached);
  return f->states == NULL || f->is_reached == NULL ? ETX_OUT_OF_MEMORY
                                                    : ETX_OK;
}

// What holds now holds when `block` is entered from here. True if that is news
// to it.
static bool flow_into(flow* f, uint32_t block) {
  const size_t words = f->intact.word_count;
  uint64_t* const state = &f->states[block * words];
  const bool is_first = !f->is_reached[block];
  bool is_news = is_first;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t before = is_first ? UINT64_MAX : state[i];
    const uint64_t both = before & f->intact.bits[i];
    if (both != before) is_news = true;
    state[i] = both;
  }
  f->is_reached[block] = true;
  return is_news;
}

static etx_status run_block(flow* f, uint32_t block) {
  for (uint32_t s = f->blocks[block]; s < f->blocks[block + 1]; ++s) {
    ETX_TRY(run_step(f, s));
  }
  return ETX_OK;
}

// Where control may go after a block: the next one, and the target of a jump.
static size_t successors(const flow* f, uint32_t block, uint32_t next[2]) {
  const uint32_t last = f->blocks[block + 1] - 1;
  const etx_verify_step* const step = &f->m->steps[last];
  next[0] = block + 1;
  if (step->instruction.kind != ETX_PTE_JUMP_FALSE_CALL) return 1;
  next[1] = f->block_of[step->target];
  return next[1] == next[0] ? 1 : 2;
}

// Runs the blocks that have news, in order, until none has.
static etx_status run_blocks(flow* f) {
  bool* const pending =
      etx_verify_take(f->m->memory, f->block_count, sizeof *pending);
  if (pending == NULL) return ETX_OUT_OF_MEMORY;
  pending[0] = flow_into(f, 0);
  for (uint32_t block = 0; block < f->block_count;) {
    uint32_t next[2];
    uint32_t back = block + 1;
    if (!pending[block]) {
      ++block;
      continue;
    }
    pending[block] = false;
    memset(f->killers, 0, f->m->value_count * sizeof *f->killers);
    etx_verify_intact_load(&f->intact,
                           &f->states[block * f->intact.word_count]);
    ETX_TRY(run_block(f, block));
    const size_t count = successors(f, block, next);
    for (size_t i = 0; i < count; ++i) {
      if (next[i] == f->block_count) {
        ETX_TRY(leave(f));
      } else if (flow_into(f, next[i])) {
        pending[next[i]] = true;
        if (next[i] < back) back = next[i];
      }
    }
    block = back;
  }
  return ETX_OK;
}

// ---- states of a stock file ----

// Runs all instructions in their order, as if nothing jumped. What is read
// before it was written, and lies in no other value, is content of an earlier
// call. The proof then has to show that it is still there at the end.
static etx_status discover_states(flow* f) {
  f->discovers = true;
  f->was_written =
      etx_verify_take(f->m->memory, f->m->value_count, sizeof(bool));
  if (f->was_written == NULL) return ETX_OUT_OF_MEMORY;
  enter(f);
  for (size_t s = 0; s < f->m->step_count; ++s) ETX_TRY(run_step(f, s));
  ETX_TRY(leave(f));
  f->discovers = false;
  f->was_written = NULL;
  memset(f->killers, 0, f->m->value_count * sizeof *f->killers);
  memset(f->written_at, 0, f->m->value_count * sizeof *f->written_at);
  memset(f->intact.bits, 0, f->intact.word_count * sizeof *f->intact.bits);
  etx_verify_intact_load(&f->intact, f->intact.bits);
  return ETX_OK;
}

etx_status etx_verify_flow(etx_verify_method* m) {
  flow f = {0};
  f.m = m;
  ETX_TRY(etx_verify_effects_init(&f.effects, m));
  ETX_TRY(etx_verify_intact_init(&f.intact, m));
  f.killers = etx_verify_take(m->memory, m->value_count, sizeof *f.killers);
  f.killed_at = etx_verify_take(m->memory, m->value_count, sizeof *f.killed_at);
  f.written_at =
      etx_verify_take(m->memory, m->value_count, sizeof *f.written_at);
  if (f.killers == NULL || f.killed_at == NULL || f.written_at == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  find_states(&f);
  if (m->blob == NULL) ETX_TRY(discover_states(&f));
  enter(&f);
  if (m->step_count == 0) return leave(&f);
  ETX_TRY(find_blocks(&f));
  ETX_TRY(take_states(&f));
  return run_blocks(&f);
}
