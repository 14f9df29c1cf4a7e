// The main part of the proof: a forward dataflow analysis of valid values.
//
// A value is valid at an instruction if its bytes still have the content that
// was last written as this value. Inputs and states are valid at the start. A
// write makes its value valid and invalidates every other value that shares a
// byte with it. A read is correct if its value is valid. Where paths join, a
// value is valid if it is valid on each of them. The analysis is repeated until
// nothing changes. It ends because values only ever become invalid.
//
// This is equivalent to "no write overlaps a value that is still needed": a
// value that is invalidated and read later on some path was overwritten while
// it was needed. The forward direction also finds reads of values that were
// never written.
//
// Exception: a write to a view does not invalidate its parent, which then has
// the new content.

#include <string.h>

#include "cli/verify/verify_valid_values.h"
#include "cli/verify/verify_internal.h"
#include "format/base/reachability.h"
#include "format/pte/reserved_names.h"

typedef struct dataflow {
  etx_verify_method* m;
  etx_verify_effects effects;
  etx_verify_valid_values valid;
  bool* was_written;  // by value, while discover_states runs
  bool discovers;     // discover_states runs
  etx_verify_basic_blocks blocks;
  uint64_t* states;  // by block: one bit for each piece that is valid at its
                     // start
  bool* is_reached;  // by block
} dataflow;

// ---- reads ----

// `reader` is subject and verb of the message: "an instruction reads".
static etx_status refuse_read(const dataflow* f, uint32_t value,
                              const char* reader) {
  const uint32_t top = f->m->values[value].top;
  if (f->valid.overwriters[top] == 0 && f->blocks.count > 1) {
    return etx_verify_refuse(f->m,
                             "%s value '%u', but on some path it was not "
                             "written, or was overwritten",
                             reader, (uint64_t)value);
  }
  if (f->valid.overwriters[top] == 0) {
    return etx_verify_refuse(f->m, "%s value '%u', but nothing has written it",
                             reader, (uint64_t)value);
  }
  const uint32_t at = f->valid.overwritten_at[top];
  if (at == ETX_VERIFY_NONE) {
    return etx_verify_refuse(f->m,
                             "%s value '%u', but input value '%u' uses the "
                             "same bytes",
                             reader, (uint64_t)value,
                             (uint64_t)f->valid.overwriters[top] - 1);
  }
  return etx_verify_refuse(
      f->m, "%s value '%u', but value '%u' overwrote it at instruction '%u'",
      reader, (uint64_t)value, (uint64_t)f->valid.overwriters[top] - 1,
      (uint64_t)f->m->steps[at].index);
}

// True if the content of a value can outlive a call. One that is never written
// itself and takes over headers has none: before the first one it is at its
// planned range, which is not among its possible ranges.
static bool may_keep_content(const etx_verify_value* v) {
  return v->storage == ETX_VERIFY_STORAGE_PLANNED &&
         (!v->is_rebound || v->is_written);
}

static etx_status check_read(dataflow* f, uint32_t value, const char* reader) {
  if (etx_verify_value_is_valid(&f->valid, value)) return ETX_OK;
  const etx_verify_value* const v = &f->m->values[value];
  if (f->discovers && may_keep_content(v) && !f->was_written[value]) {
    f->m->values[value].is_state = true;
    etx_verify_value_set_valid(&f->valid, value);
    return ETX_OK;
  }
  return f->discovers ? ETX_OK : refuse_read(f, value, reader);
}

// ---- calls ----

static etx_status check_call(dataflow* f, size_t step) {
  const etx_op* const op = f->m->steps[step].op;
  const bool is_joined = etx_verify_is_joined(f->m, step);
  const etx_verify_effects* const e = &f->effects;
  for (size_t i = 0; i < e->read_count; ++i) {
    ETX_TRY(check_read(f, e->reads[i].value, "an instruction reads"));
  }
  for (size_t i = 0; i < e->write_count; ++i) {
    const uint32_t written = e->writes[i].value;
    const etx_verify_value* const value = &f->m->values[written];
    if (value->storage == ETX_VERIFY_STORAGE_CONSTANT ||
        value->may_be_constant) {
      return etx_verify_refuse(f->m,
                               "an instruction writes value '%u', which is a "
                               "constant",
                               (uint64_t)written);
    }
    if (e->writes[i].updates) {
      ETX_TRY(check_read(f, written, "an instruction updates"));
    }
    for (size_t k = 0; k < e->read_count && !is_joined; ++k) {
      ETX_TRY(etx_verify_in_place(f->m, op, &e->reads[k], written));
    }
  }
  return ETX_OK;
}

// ---- steps ----

static void write_value(dataflow* f, uint32_t value, size_t step) {
  etx_verify_value_write(&f->valid, value, step);
  if (f->was_written != NULL) f->was_written[value] = true;
}

// An instruction sets the sizes of a tensor without writing its bytes, so no
// other value becomes invalid. In a file of etx such a tensor is a constant or
// has a view row, and then it is valid when its parent is; without a row it is
// not valid. A stock file may have uninitialised tensors (aten::empty): there
// any content counts as valid.
static void size_value(dataflow* f, uint32_t value) {
  if (f->m->blob != NULL) return;
  etx_verify_value_set_valid(&f->valid, value);
  // discover_states has taken the list for every stock file.
  if (ETX_ALWAYS(f->was_written != NULL)) f->was_written[value] = true;
}

static etx_status run_step(dataflow* f, size_t step) {
  const etx_verify_effects* const e = &f->effects;
  etx_verify_effects_again(f->m, step, &f->effects);
  const etx_status status = check_call(f, step);
  if (status != ETX_OK) return etx_verify_at(f->m, step, status);
  f->valid.joins = etx_verify_is_joined(f->m, step);
  for (size_t i = 0; i < e->write_count; ++i) {
    write_value(f, e->writes[i].value, step);
  }
  for (size_t i = 1; i < e->write_count; ++i) {
    for (size_t k = 0; k < i; ++k) {
      etx_verify_value_spoil(&f->valid, e->writes[i].value, e->writes[k].value,
                             step);
    }
  }
  if (e->rebound != ETX_VERIFY_NONE) {
    etx_verify_value_rebind(&f->valid, e->rebound, e->rebound_from);
  }
  if (e->sized != ETX_VERIFY_NONE) size_value(f, e->sized);
  if (e->released != ETX_VERIFY_NONE) {
    etx_verify_value_invalidate(&f->valid, e->released, step);
  }
  return ETX_OK;
}

// ---- start and end of a method ----

// A file of etx names its states. In a stock file discover_states finds those
// without a name.
static void find_states(dataflow* f) {
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    if (!may_keep_content(&f->m->values[v])) continue;
    const etx_pte_tensor tensor = etx_pte_value_at(&f->m->plan, v).as.tensor;
    f->m->values[v].is_state =
        tensor.name.size > 0 ||
        (f->m->blob == NULL && tensor.data_buffer_index != 0);
  }
}

static void enter(dataflow* f) {
  const size_t inputs = etx_pte_input_count(&f->m->plan);
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    if (f->m->values[v].is_state) etx_verify_value_set_valid(&f->valid, v);
  }
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&f->m->plan, i);
    f->m->values[v].is_written = true;
    if (f->valid.written_at[v] == f->m->step_count + 1) continue;
    write_value(f, v, f->m->step_count);
  }
}

static bool is_copied_back(const dataflow* f, size_t input) {
  return f->m->blob != NULL && f->m->blob_method != SIZE_MAX &&
         etx_blob_input_at(f->m->blob, f->m->blob_method, input).is_mutable;
}

static etx_status leave(dataflow* f) {
  const size_t inputs = etx_pte_input_count(&f->m->plan);
  const size_t outputs = etx_pte_output_count(&f->m->plan);
  for (size_t i = 0; i < outputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_output_at(&f->m->plan, i);
    ETX_TRY(check_read(f, v, "the method returns"));
  }
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&f->m->plan, i);
    if (!is_copied_back(f, i)) continue;
    ETX_TRY(check_read(f, v, "the caller gets back mutable input"));
  }
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    if (f->m->values[v].is_state) {
      ETX_TRY(check_read(f, v, "the next call reads state"));
    }
  }
  return ETX_OK;
}

// ---- blocks ----

static etx_status take_states(dataflow* f) {
  ETX_TRY(etx_verify_take_states(f->m, &f->blocks,
                                 f->valid.intervals.word_count, &f->states));
  f->is_reached = etx_verify_arena_take(f->m->memory, f->blocks.count,
                                        sizeof *f->is_reached);
  return f->is_reached == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

// Intersects the state at the start of `block` with the current one. True if
// that changed it.
static bool flow_into(dataflow* f, uint32_t block) {
  const size_t words = f->valid.intervals.word_count;
  uint64_t* const state = &f->states[block * words];
  const bool is_first = !f->is_reached[block];
  bool is_news = is_first;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t before = is_first ? UINT64_MAX : state[i];
    const uint64_t both = before & f->valid.intervals.bits[i];
    if (both != before) is_news = true;
    state[i] = both;
  }
  f->is_reached[block] = true;
  return is_news;
}

// Messages name an overwriting instruction only within one block, because
// several paths may lead to its start.
static etx_status run_block(dataflow* f, uint32_t block) {
  etx_verify_interval_tree* const intervals = &f->valid.intervals;
  memset(f->valid.overwriters, 0,
         f->m->value_count * sizeof *f->valid.overwriters);
  etx_verify_interval_tree_load(intervals,
                                &f->states[block * intervals->word_count]);
  for (uint32_t s = f->blocks.first[block]; s < f->blocks.first[block + 1];
       ++s) {
    ETX_TRY(run_step(f, s));
  }
  return ETX_OK;
}

// Runs blocks whose start state has changed, in order, until none is left.
static etx_status run_blocks(dataflow* f) {
  bool* const pending =
      etx_verify_arena_take(f->m->memory, f->blocks.count, sizeof *pending);
  if (pending == NULL) return ETX_OUT_OF_MEMORY;
  pending[0] = flow_into(f, 0);
  for (uint32_t block = 0; block < f->blocks.count;) {
    uint32_t back = block + 1;
    if (!pending[block]) {
      ++block;
      continue;
    }
    pending[block] = false;
    ETX_TRY(run_block(f, block));
    etx_verify_ways ways;
    etx_verify_successors(f->m, &f->blocks, block, &ways);
    for (size_t i = 0; i < ways.count; ++i) {
      const uint32_t next = ways.next[i];
      if (next == f->blocks.count) {
        ETX_TRY(leave(f));
      } else if (flow_into(f, next)) {
        pending[next] = true;
        if (next < back) back = next;
      }
    }
    block = back;
  }
  return ETX_OK;
}

// ---- states of a stock file ----

// Runs all instructions in order and ignores jumps. A value that is read before
// it is written, and does not lie in another value, must have its content from
// an earlier call: it is a state. The proof then has to show that it is valid
// at the end of the method.
static etx_status discover_states(dataflow* f) {
  f->discovers = true;
  f->was_written =
      etx_verify_arena_take(f->m->memory, f->m->value_count, sizeof(bool));
  if (f->was_written == NULL) return ETX_OUT_OF_MEMORY;
  enter(f);
  for (size_t s = 0; s < f->m->step_count; ++s) ETX_TRY(run_step(f, s));
  const etx_status status = leave(f);
  f->discovers = false;
  etx_verify_valid_values_clear(&f->valid);
  return status;
}

etx_status etx_verify_dataflow(etx_verify_method* m) {
  dataflow f = {0};
  f.m = m;
  ETX_TRY(etx_verify_effects_init(&f.effects, m));
  ETX_TRY(etx_verify_valid_values_init(&f.valid, m));
  find_states(&f);
  if (m->blob == NULL) ETX_TRY(discover_states(&f));
  enter(&f);
  if (m->step_count == 0) return leave(&f);
  ETX_TRY(etx_verify_find_basic_blocks(m, &f.blocks));
  ETX_TRY(etx_verify_every_loop_ends(m, &f.blocks));
  ETX_TRY(take_states(&f));
  return run_blocks(&f);
}
