#include "cli/verify/verify_internal.h"

etx_status etx_verify_find_varying(const etx_verify_method* m,
                                   bool** out_varies) {
  bool* const varies =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *varies);
  const size_t inputs = etx_pte_input_count(&m->plan);
  if (varies == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < inputs; ++i) {
    varies[etx_pte_input_at(&m->plan, i)] = true;
  }
  for (size_t s = 0; s < m->step_count; ++s) {
    const etx_pte_instruction* const at = &m->steps[s].instruction;
    if (at->kind == ETX_PTE_MOVE_CALL) varies[at->target] = true;
    // The number of arguments may not be checked yet.
    if (m->steps[s].op != NULL && m->steps[s].op->result == ETX_RESULT_SCALAR &&
        at->argument_count > 0) {
      varies[at->arguments[at->argument_count - 1]] = true;
    }
  }
  *out_varies = varies;
  return ETX_OK;
}

// ---- blocks ----

etx_status etx_verify_take_states(const etx_verify_method* m,
                                  const etx_verify_basic_blocks* blocks,
                                  size_t words, uint64_t** out_states) {
  const size_t rows = blocks->count;
  if (words != 0 && rows > m->max_state_bytes / sizeof(uint64_t) / words) {
    return etx_diag_fail(m->diag, ETX_UNSUPPORTED,
                         "method '%t' has %z basic blocks and %z values, too "
                         "many for a proof",
                         m->name, blocks->count, m->value_count);
  }
  *out_states =
      etx_verify_arena_take(m->memory, rows * words, sizeof **out_states);
  return *out_states == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static etx_status take_blocks(const etx_verify_method* m,
                              etx_verify_basic_blocks* blocks) {
  const size_t count = m->step_count;
  blocks->first =
      etx_verify_arena_take(m->memory, count + 1, sizeof *blocks->first);
  blocks->block_of =
      etx_verify_arena_take(m->memory, count + 1, sizeof *blocks->block_of);
  return blocks->first == NULL || blocks->block_of == NULL ? ETX_OUT_OF_MEMORY
                                                           : ETX_OK;
}

etx_status etx_verify_find_basic_blocks(const etx_verify_method* m,
                                        etx_verify_basic_blocks* out_blocks) {
  etx_verify_basic_blocks* const b = out_blocks;
  const size_t count = m->step_count;
  size_t used = 0;
  bool* const starts =
      etx_verify_arena_take(m->memory, count + 1, sizeof *starts);
  if (starts == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(take_blocks(m, b));
  ETX_TRY(etx_verify_find_varying(m, &b->varies));
  starts[0] = true;
  for (size_t s = 0; s < count; ++s) {
    if (m->steps[s].instruction.kind != ETX_PTE_JUMP_FALSE_CALL) continue;
    starts[m->steps[s].target] = true;
    starts[s + 1] = true;
  }
  for (size_t s = 0; s < count; ++s) {
    if (starts[s]) b->first[used++] = (uint32_t)s;
    b->block_of[s] = (uint32_t)(used - 1);
  }
  b->first[used] = (uint32_t)count;
  b->block_of[count] = (uint32_t)used;
  b->count = used;
  return ETX_OK;
}

// True if the condition of a jump is a constant of the file. Unconditional
// jumps are written in this way.
static bool is_decided(const etx_verify_method* m,
                       const etx_verify_basic_blocks* blocks,
                       const etx_verify_step* step, bool* out_condition) {
  const size_t value = (size_t)step->instruction.index;
  const etx_pte_value condition = etx_pte_value_at(&m->plan, value);
  if (condition.kind != ETX_PTE_BOOL || blocks->varies[value]) return false;
  *out_condition = condition.as.boolean;
  return true;
}

void etx_verify_successors(const etx_verify_method* m,
                           const etx_verify_basic_blocks* blocks,
                           uint32_t block, etx_verify_ways* out_ways) {
  const uint32_t last = blocks->first[block + 1] - 1;
  const etx_verify_step* const step = &m->steps[last];
  bool condition;
  *out_ways = (etx_verify_ways){.next = {block + 1}, .count = 1};
  if (step->instruction.kind != ETX_PTE_JUMP_FALSE_CALL) return;
  const uint32_t target = blocks->block_of[step->target];
  if (!is_decided(m, blocks, step, &condition)) {
    *out_ways = (etx_verify_ways){.next = {block + 1, target}, .count = 2};
  } else if (!condition) {
    *out_ways = (etx_verify_ways){.next = {target}, .count = 1};
  }
}

// ---- endless loops ----

// The blocks that go on with each block, or with the end of the method, as
// lists through `next`: entry 2 * b + w is way w of block b.
typedef struct way_lists {
  uint32_t* first;  // by block, and the end; ETX_VERIFY_NONE: empty
  uint32_t* next;
} way_lists;

static etx_status list_ways(const etx_verify_method* m,
                            const etx_verify_basic_blocks* b,
                            way_lists* lists) {
  lists->first =
      etx_verify_arena_take(m->memory, b->count + 1, sizeof *lists->first);
  lists->next =
      etx_verify_arena_take(m->memory, 2 * b->count, sizeof *lists->next);
  if (lists->first == NULL || lists->next == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i <= b->count; ++i) lists->first[i] = ETX_VERIFY_NONE;
  for (uint32_t block = 0; block < b->count; ++block) {
    etx_verify_ways ways;
    etx_verify_successors(m, b, block, &ways);
    for (uint32_t way = 0; way < ways.count; ++way) {
      const uint32_t to = ways.next[way];
      lists->next[2 * block + way] = lists->first[to];
      lists->first[to] = 2 * block + way;
    }
  }
  return ETX_OK;
}

// Marks the blocks from which a path leads to the end.
static etx_status mark_ending(const etx_verify_method* m,
                              const etx_verify_basic_blocks* b, bool* ends) {
  way_lists lists;
  uint32_t* const open =
      etx_verify_arena_take(m->memory, b->count, sizeof *open);
  size_t open_count = 0;
  if (open == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(list_ways(m, b, &lists));
  open[open_count++] = (uint32_t)b->count;
  while (open_count > 0) {
    uint32_t at = lists.first[open[--open_count]];
    for (; at != ETX_VERIFY_NONE; at = lists.next[at]) {
      if (ends[at / 2]) continue;
      ends[at / 2] = true;
      open[open_count++] = at / 2;
    }
  }
  return ETX_OK;
}

// Names the first jump backwards behind a block from which no path leads to the
// end.
static etx_status refuse_endless(const etx_verify_method* m,
                                 const etx_verify_basic_blocks* b,
                                 uint32_t block) {
  etx_verify_ways ways;
  etx_verify_successors(m, b, block, &ways);
  while (ways.next[ways.count - 1] > block) {
    block = ways.next[0];
    etx_verify_successors(m, b, block, &ways);
  }
  const uint32_t jump = b->first[block + 1] - 1;
  return etx_verify_at(
      m, jump,
      etx_diag_fail(m->diag, ETX_BAD_FILE,
                    "a jump leads back to instruction '%u', and nothing leaves "
                    "that loop (method '%t')",
                    (uint64_t)m->steps[m->steps[jump].target].index, m->name));
}

etx_status etx_verify_every_loop_ends(const etx_verify_method* m,
                                      const etx_verify_basic_blocks* blocks) {
  bool* const ends =
      etx_verify_arena_take(m->memory, blocks->count, sizeof *ends);
  if (ends == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(mark_ending(m, blocks, ends));
  for (uint32_t block = 0; block < blocks->count; ++block) {
    if (!ends[block]) return refuse_endless(m, blocks, block);
  }
  return ETX_OK;
}
