// The proof itself: a forward data-flow analysis of which values hold, that is,
// still have their content in their bytes.
//
// At the start inputs and states hold. A write makes its value hold and ends
// every other value that has a byte in the same place. A read is right if its
// value holds. Where paths meet, a value holds if it does on each of them. That
// is repeated until nothing changes; values only ever stop holding, so it ends.
//
// This proves that no write overlaps what is still needed: a value that is
// ended and read later on some path is exactly one that was overwritten while
// it was needed. Reads of values that were never written are found as well.
//
// What does not count as ending a value: writing a view changes a part of its
// parent, and the parent then holds the new content.

#include <string.h>

#include "cli/verify/verify_valid_values.h"
#include "cli/verify/verify_internal.h"
#include "format/pte/reserved_names.h"

// States of all blocks together may take this much memory.
static const uint64_t max_state_bytes = UINT64_C(1) << 31;

typedef struct flow {
  etx_verify_method* m;
  etx_verify_effects effects;
  etx_verify_valid_values holding;
  bool* was_written;  // by value, while states of a stock file are sought
  bool discovers;     // states of a stock file are sought
  etx_verify_basic_blocks blocks;
  uint64_t* states;  // of each block: what holds when it starts
  bool* is_reached;  // by block
} flow;

// ---- reads ----

static etx_status refuse_read(const flow* f, uint32_t value, const char* who) {
  const uint32_t top = f->m->values[value].top;
  if (f->holding.killers[top] == 0 && f->blocks.count > 1) {
    return etx_verify_refuse(f->m,
                             "%s value '%u', which not every path wrote or "
                             "kept until here",
                             who, (uint64_t)value);
  }
  if (f->holding.killers[top] == 0) {
    return etx_verify_refuse(f->m, "%s value '%u' before anything wrote it",
                             who, (uint64_t)value);
  }
  const uint32_t at = f->holding.killed_at[top];
  if (at == ETX_VERIFY_NONE) {
    return etx_verify_refuse(f->m,
                             "%s value '%u', whose bytes are also those of "
                             "input value '%u'",
                             who, (uint64_t)value,
                             (uint64_t)f->holding.killers[top] - 1);
  }
  return etx_verify_refuse(
      f->m, "%s value '%u', which value '%u' overwrote at instruction '%u'",
      who, (uint64_t)value, (uint64_t)f->holding.killers[top] - 1,
      (uint64_t)f->m->steps[at].index);
}

static etx_status check_read(flow* f, uint32_t value, const char* who) {
  if (etx_verify_value_is_valid(&f->holding, value)) return ETX_OK;
  const etx_verify_value* const v = &f->m->values[value];
  if (f->discovers && v->home == ETX_VERIFY_STORAGE_PLANNED &&
      !f->was_written[value]) {
    f->m->values[value].is_state = true;
    etx_verify_value_set_valid(&f->holding, value);
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
    if (value->home == ETX_VERIFY_STORAGE_CONSTANT || value->may_be_constant) {
      return etx_verify_refuse(f->m, "value '%u' is a constant and is written",
                               (uint64_t)written);
    }
    if (e->writes[i].updates) ETX_TRY(check_read(f, written, "changes"));
    for (size_t k = 0; k < e->read_count; ++k) {
      ETX_TRY(etx_verify_in_place(f->m, op, &e->reads[k], written));
    }
  }
  return ETX_OK;
}

// ---- steps ----

static void write_value(flow* f, uint32_t value, bool updates, size_t step) {
  etx_verify_value_write(&f->holding, value, step, updates);
  if (f->was_written != NULL) f->was_written[value] = true;
}

// A tensor got its sizes and none of its bytes was written, so no other value
// ends. In a file of etx it is a constant or a view of something that has to
// hold when it is read, as its row says; the exporter makes no empty tensors,
// so one without a row holds nothing. A stock file has them, and whatever lies
// there is their content.
static void size_value(flow* f, uint32_t value) {
  if (f->m->blob != NULL) return;
  etx_verify_value_set_valid(&f->holding, value);
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
    etx_verify_value_rebind(&f->holding, e->rebound, e->rebound_from);
  }
  if (e->sized != ETX_VERIFY_NONE) size_value(f, e->sized);
  if (e->released != ETX_VERIFY_NONE) {
    etx_verify_value_invalidate(&f->holding, e->released, step);
  }
  return ETX_OK;
}

// ---- start and end of a method ----

// A file of etx names its states. One that is not named is found by reading
// it before anything was written there.
static void find_states(flow* f) {
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    if (f->m->values[v].home != ETX_VERIFY_STORAGE_PLANNED) continue;
    const etx_pte_tensor tensor = etx_pte_value_at(&f->m->plan, v).as.tensor;
    f->m->values[v].is_state =
        tensor.name.size > 0 ||
        (f->m->blob == NULL && tensor.data_buffer_index != 0);
  }
}

static void enter(flow* f) {
  const size_t inputs = etx_pte_input_count(&f->m->plan);
  for (uint32_t v = 0; v < f->m->value_count; ++v) {
    if (f->m->values[v].is_state) etx_verify_value_set_valid(&f->holding, v);
  }
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&f->m->plan, i);
    if (f->m->values[v].home == ETX_VERIFY_STORAGE_NONE) continue;
    f->m->values[v].is_written = true;
    if (f->holding.written_at[v] == f->m->step_count + 1) continue;
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
    if (f->m->values[v].home == ETX_VERIFY_STORAGE_NONE) continue;
    ETX_TRY(check_read(f, v, "an output reads"));
  }
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&f->m->plan, i);
    if (f->m->values[v].home == ETX_VERIFY_STORAGE_NONE ||
        !is_copied_back(f, i)) {
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

static etx_status take_states(flow* f) {
  const uint64_t bytes = (uint64_t)f->blocks.count *
                         f->holding.intact.word_count * sizeof *f->states;
  if (bytes > max_state_bytes) {
    return etx_diag_fail(f->m->diag, ETX_UNSUPPORTED,
                         "method '%t' has %z jumps and %z values, too many to "
                         "be proved",
                         f->m->name, f->blocks.count, f->m->value_count);
  }
  f->states = etx_verify_arena_take(
      f->m->memory, f->blocks.count * f->holding.intact.word_count,
      sizeof *f->states);
  f->is_reached = etx_verify_arena_take(f->m->memory, f->blocks.count,
                                        sizeof *f->is_reached);
  return f->states == NULL || f->is_reached == NULL ? ETX_OUT_OF_MEMORY
                                                    : ETX_OK;
}

// What holds now holds when `block` is entered from here. True if that is news
// to it.
static bool flow_into(flow* f, uint32_t block) {
  const size_t words = f->holding.intact.word_count;
  uint64_t* const state = &f->states[block * words];
  const bool is_first = !f->is_reached[block];
  bool is_news = is_first;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t before = is_first ? UINT64_MAX : state[i];
    const uint64_t both = before & f->holding.intact.bits[i];
    if (both != before) is_news = true;
    state[i] = both;
  }
  f->is_reached[block] = true;
  return is_news;
}

// Which instruction overwrote a value is tracked within a block only, because
// several paths may lead to the block.
static etx_status run_block(flow* f, uint32_t block) {
  etx_verify_interval_tree* const intact = &f->holding.intact;
  memset(f->holding.killers, 0, f->m->value_count * sizeof *f->holding.killers);
  etx_verify_interval_tree_load(intact, &f->states[block * intact->word_count]);
  for (uint32_t s = f->blocks.first[block]; s < f->blocks.first[block + 1];
       ++s) {
    ETX_TRY(run_step(f, s));
  }
  return ETX_OK;
}

// Runs the blocks that have news, in order, until none has.
static etx_status run_blocks(flow* f) {
  bool* const pending =
      etx_verify_arena_take(f->m->memory, f->blocks.count, sizeof *pending);
  if (pending == NULL) return ETX_OUT_OF_MEMORY;
  pending[0] = flow_into(f, 0);
  for (uint32_t block = 0; block < f->blocks.count;) {
    uint32_t next[2];
    uint32_t back = block + 1;
    if (!pending[block]) {
      ++block;
      continue;
    }
    pending[block] = false;
    ETX_TRY(run_block(f, block));
    const size_t count = etx_verify_successors(f->m, &f->blocks, block, next);
    for (size_t i = 0; i < count; ++i) {
      if (next[i] == f->blocks.count) {
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
      etx_verify_arena_take(f->m->memory, f->m->value_count, sizeof(bool));
  if (f->was_written == NULL) return ETX_OUT_OF_MEMORY;
  enter(f);
  for (size_t s = 0; s < f->m->step_count; ++s) ETX_TRY(run_step(f, s));
  ETX_TRY(leave(f));
  f->discovers = false;
  f->was_written = NULL;
  etx_verify_valid_values_clear(&f->holding);
  return ETX_OK;
}

etx_status etx_verify_dataflow(etx_verify_method* m) {
  flow f = {0};
  f.m = m;
  ETX_TRY(etx_verify_effects_init(&f.effects, m));
  ETX_TRY(etx_verify_valid_values_init(&f.holding, m));
  find_states(&f);
  if (m->blob == NULL) ETX_TRY(discover_states(&f));
  enter(&f);
  if (m->step_count == 0) return leave(&f);
  ETX_TRY(etx_verify_find_basic_blocks(m, &f.blocks));
  ETX_TRY(take_states(&f));
  return run_blocks(&f);
}
