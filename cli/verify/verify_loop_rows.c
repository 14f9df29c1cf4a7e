// Tensors that a loop fills row by row: executorch_prim::et_copy_index writes
// one row in each iteration. verify_dataflow treats that as a write of the
// whole tensor, because the first write finds no valid content. This file
// proves the rest: no row is overwritten before the last one is written.
//
// A forward analysis for each such tensor, called the list here. Its states,
// from best to worse: no row is written yet, all written rows are valid, one is
// lost. Where paths join the worse state counts, so the analysis ends. Writing
// a row while one is lost is an error. The list starts again without rows when
// control leaves the innermost loop around all copies into it, so an outer loop
// may use its bytes in between.

#include "cli/verify/verify_internal.h"

typedef enum rows_state {
  ROWS_UNREACHED,
  ROWS_NONE,  // no row is written yet
  ROWS_VALID,
  ROWS_LOST,  // a row was overwritten
} rows_state;

typedef struct loop_rows {
  const etx_verify_method* m;
  etx_verify_effects effects;
  etx_verify_basic_blocks blocks;
  uint8_t* states;       // by block: the rows_state at its start
  bool* pending;         // by block: its start state has changed; none has
                         // when a proof ends
  uint32_t list;         // the value that is analysed
  uint32_t first_block;  // of the loop that fills it
  uint32_t last_block;
  uint32_t overwriter;  // the value that overwrote a row,
  uint32_t lost_at;     // and the step at which it did
  uint64_t step_count;  // steps analysed so far
  etx_verify_meeting meets;
  const void* context;  // of `meets`
} loop_rows;

static bool is_row_copy(const etx_verify_step* step) {
  return step->op != NULL && step->op->id == ETX_OP_et_copy_index_tensor;
}

static bool is_row_copy_into(const etx_verify_step* step, uint32_t list) {
  return is_row_copy(step) && (uint32_t)step->instruction.arguments[0] == list;
}

// True if a write goes to a view of the list: no row is lost.
static bool is_own(const loop_rows* r, const etx_verify_access* write) {
  const etx_verify_value* const v = &r->m->values[write->value];
  return v->header_of == r->list + 1 || v->top == r->m->values[r->list].top ||
         write->updates;
}

static etx_status refuse_row(const loop_rows* r) {
  return etx_verify_at(
      r->m, r->lost_at,
      etx_verify_refuse(r->m,
                        "value '%u' overwrites rows of value '%u' that an "
                        "earlier iteration wrote",
                        (uint64_t)r->overwriter, (uint64_t)r->list));
}

static etx_status run_step(loop_rows* r, uint32_t step, uint8_t* state) {
  const etx_verify_effects* const e = &r->effects;
  etx_verify_effects_again(r->m, step, &r->effects);
  for (size_t i = 0; i < e->write_count; ++i) {
    if (e->writes[i].value == r->list) {
      if (*state == ROWS_LOST && is_row_copy(&r->m->steps[step])) {
        return refuse_row(r);
      }
      *state = ROWS_VALID;
    } else if (*state == ROWS_VALID && !is_own(r, &e->writes[i]) &&
               r->meets(r->context, e->writes[i].value, r->list)) {
      *state = ROWS_LOST;
      r->overwriter = e->writes[i].value;
      r->lost_at = step;
    }
  }
  return ETX_OK;
}

static bool is_inside(const loop_rows* r, uint32_t block) {
  return block >= r->first_block && block <= r->last_block;
}

static etx_status run_block(loop_rows* r, uint32_t block, uint32_t* back) {
  uint8_t state = r->states[block];
  const uint32_t end = r->blocks.first[block + 1];
  for (uint32_t s = r->blocks.first[block]; s < end; ++s) {
    ETX_TRY(run_step(r, s, &state));
  }
  r->step_count += end - r->blocks.first[block];
  etx_verify_ways ways;
  etx_verify_successors(r->m, &r->blocks, block, &ways);
  for (size_t i = 0; i < ways.count; ++i) {
    const uint32_t next = ways.next[i];
    const uint8_t after =
        is_inside(r, block) && is_inside(r, next) ? state : ROWS_NONE;
    if (next == r->blocks.count || after <= r->states[next]) continue;
    r->states[next] = after;
    r->pending[next] = true;
    if (next < *back) *back = next;
  }
  return ETX_OK;
}

// Finds the innermost loop around all copies into the list, the first of which
// is step `first`: the shortest range of steps with a jump at its end back to
// its start. Without a loop it is the whole method.
static void find_loop(loop_rows* r, uint32_t first) {
  uint32_t shortest = UINT32_MAX;
  uint32_t last = first;
  for (uint32_t s = first; s < r->m->step_count; ++s) {
    if (is_row_copy_into(&r->m->steps[s], r->list)) last = s;
  }
  r->first_block = 0;
  r->last_block = (uint32_t)r->blocks.count - 1;
  for (uint32_t s = last; s < r->m->step_count; ++s) {
    const etx_verify_step* const at = &r->m->steps[s];
    if (at->instruction.kind != ETX_PTE_JUMP_FALSE_CALL) continue;
    if (at->target > first || s - at->target >= shortest) continue;
    shortest = s - at->target;
    r->first_block = r->blocks.block_of[at->target];
    r->last_block = r->blocks.block_of[s];
  }
}

static etx_status prove_list(loop_rows* r, uint32_t list, uint32_t first) {
  r->list = list;
  find_loop(r, first);
  for (size_t b = 0; b < r->blocks.count; ++b) r->states[b] = ROWS_UNREACHED;
  r->states[0] = ROWS_NONE;
  r->pending[0] = true;
  for (uint32_t b = 0; b < r->blocks.count;) {
    uint32_t back = b + 1;
    if (r->pending[b]) {
      r->pending[b] = false;
      ETX_TRY(run_block(r, b, &back));
    }
    if (r->step_count > r->m->max_row_steps) {
      return etx_diag_fail(r->m->diag, ETX_UNSUPPORTED,
                           "method '%t' fills too many tensors row by row for "
                           "a proof",
                           r->m->name);
    }
    b = back;
  }
  return ETX_OK;
}

static bool meet_in_plan(const void* context, uint32_t a, uint32_t b) {
  return etx_verify_may_overlap(context, a, b);
}

etx_status etx_verify_loop_rows(const etx_verify_method* m) {
  return etx_verify_loop_rows_meeting(m, meet_in_plan, m);
}

etx_status etx_verify_loop_rows_meeting(const etx_verify_method* m,
                                        etx_verify_meeting meets,
                                        const void* context) {
  loop_rows r = {.m = m, .meets = meets, .context = context};
  bool* const is_seen =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *is_seen);
  if (is_seen == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t s = 0; s < m->step_count; ++s) {
    if (!is_row_copy(&m->steps[s])) continue;
    const uint32_t list = (uint32_t)m->steps[s].instruction.arguments[0];
    if (is_seen[list]) continue;
    is_seen[list] = true;
    if (r.states == NULL) {
      ETX_TRY(etx_verify_effects_init(&r.effects, m));
      ETX_TRY(etx_verify_find_basic_blocks(m, &r.blocks));
      r.states =
          etx_verify_arena_take(m->memory, r.blocks.count, sizeof *r.states);
      r.pending =
          etx_verify_arena_take(m->memory, r.blocks.count, sizeof *r.pending);
    }
    if (r.states == NULL || r.pending == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(prove_list(&r, list, s));
  }
  return ETX_OK;
}
