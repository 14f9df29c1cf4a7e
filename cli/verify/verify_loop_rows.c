// Rows that a loop collects: a copy by index writes one row of a list in each
// round. The analysis of verify_dataflow.c takes such a copy for a write of the
// whole list. This file proves that rows which were written are not overwritten
// before the last row is written.
//
// A forward analysis over all paths finds for each list whether no row was
// written yet, all written rows hold, or one was overwritten (is lost). Where
// paths meet, the worse of the states counts, so the analysis ends. A row may
// not be written while another one is lost. When control leaves the innermost
// loop that collects a list, the list starts again without rows, so a loop
// around that one may use its bytes in between.

#include "cli/verify/verify_internal.h"

// Steps that are looked at for all lists together.
static const uint64_t max_steps = UINT64_C(1) << 28;

typedef enum rows_state { UNREACHED, BARE, HELD, LOST } rows_state;

typedef struct rows {
  const etx_verify_method* m;
  etx_verify_effects effects;
  etx_verify_basic_blocks blocks;
  uint8_t* states;       // by block: when it starts
  bool* pending;         // by block
  uint32_t list;         // the value that is looked at
  uint32_t first_block;  // of the loop that collects it
  uint32_t last_block;
  uint32_t loser;       // the value that overwrote a row
  uint32_t lost_at;     // the step at which it did
  uint64_t step_count;  // looked at so far
} rows;

static bool is_row_copy(const etx_verify_step* step) {
  return step->op != NULL && step->op->id == ETX_OP_et_copy_index_tensor;
}

// Writes through a view of the list change it; nothing is lost.
static bool is_own(const rows* r, const etx_verify_access* write) {
  const etx_verify_value* const v = &r->m->values[write->value];
  return write->value == r->list || v->named_by == r->list + 1 ||
         v->top == r->m->values[r->list].top || write->updates;
}

static etx_status refuse_row(const rows* r) {
  return etx_verify_at(
      r->m, r->lost_at,
      etx_verify_refuse(r->m,
                        "value '%u' overwrites rows of value '%u' that an "
                        "earlier round wrote",
                        (uint64_t)r->loser, (uint64_t)r->list));
}

static etx_status run_step(rows* r, uint32_t step, uint8_t* state) {
  const etx_verify_effects* const e = &r->effects;
  ETX_TRY(etx_verify_effects_of(r->m, step, &r->effects));
  for (size_t i = 0; i < e->write_count; ++i) {
    if (e->writes[i].value == r->list) {
      if (*state == LOST && is_row_copy(&r->m->steps[step])) {
        return refuse_row(r);
      }
      *state = HELD;
    } else if (*state == HELD && !is_own(r, &e->writes[i]) &&
               etx_verify_may_overlap(r->m, e->writes[i].value, r->list)) {
      *state = LOST;
      r->loser = e->writes[i].value;
      r->lost_at = step;
    }
  }
  return ETX_OK;
}

static bool is_inside(const rows* r, uint32_t block) {
  return block >= r->first_block && block <= r->last_block;
}

static etx_status run_block(rows* r, uint32_t block, uint32_t* back) {
  uint8_t state = r->states[block];
  uint32_t next[2];
  const uint32_t end = r->blocks.first[block + 1];
  for (uint32_t s = r->blocks.first[block]; s < end; ++s) {
    ETX_TRY(run_step(r, s, &state));
  }
  r->step_count += end - r->blocks.first[block];
  const size_t count = etx_verify_successors(r->m, &r->blocks, block, next);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t after =
        is_inside(r, block) && is_inside(r, next[i]) ? state : BARE;
    if (next[i] == r->blocks.count || after <= r->states[next[i]]) continue;
    r->states[next[i]] = after;
    r->pending[next[i]] = true;
    if (next[i] < *back) *back = next[i];
  }
  return ETX_OK;
}

// The shortest stretch of steps around `step` that a jump at its end repeats;
// all of the method if there is none.
static void find_loop(rows* r, uint32_t step) {
  uint32_t shortest = UINT32_MAX;
  r->first_block = 0;
  r->last_block = (uint32_t)r->blocks.count - 1;
  for (uint32_t s = step; s < r->m->step_count; ++s) {
    const etx_verify_step* const at = &r->m->steps[s];
    if (at->instruction.kind != ETX_PTE_JUMP_FALSE_CALL) continue;
    if (at->target > step || s - at->target >= shortest) continue;
    shortest = s - at->target;
    r->first_block = r->blocks.block_of[at->target];
    r->last_block = r->blocks.block_of[s];
  }
}

static etx_status prove_list(rows* r, uint32_t list, uint32_t step) {
  r->list = list;
  find_loop(r, step);
  for (size_t b = 0; b < r->blocks.count; ++b) {
    r->states[b] = UNREACHED;
    r->pending[b] = false;
  }
  r->states[0] = BARE;
  r->pending[0] = true;
  for (uint32_t b = 0; b < r->blocks.count;) {
    uint32_t back = b + 1;
    if (r->pending[b]) {
      r->pending[b] = false;
      ETX_TRY(run_block(r, b, &back));
    }
    if (r->step_count > max_steps) {
      return etx_diag_fail(r->m->diag, ETX_UNSUPPORTED,
                           "method '%t' collects rows in too many lists to be "
                           "proved",
                           r->m->name);
    }
    b = back;
  }
  return ETX_OK;
}

etx_status etx_verify_loop_rows(const etx_verify_method* m) {
  rows r = {.m = m};
  bool* const is_seen = etx_verify_arena_take(m->memory, m->value_count, 1);
  if (is_seen == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t s = 0; s < m->step_count; ++s) {
    if (!is_row_copy(&m->steps[s])) continue;
    const uint32_t list = (uint32_t)m->steps[s].instruction.arguments[0];
    if (is_seen[list]) continue;
    is_seen[list] = true;
    if (r.states == NULL) {
      ETX_TRY(etx_verify_effects_init(&r.effects, m));
      ETX_TRY(etx_verify_find_basic_blocks(m, &r.blocks));
      r.states = etx_verify_arena_take(m->memory, r.blocks.count, 1);
      r.pending = etx_verify_arena_take(m->memory, r.blocks.count, 1);
    }
    if (r.states == NULL || r.pending == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(prove_list(&r, list, s));
  }
  return ETX_OK;
}
