#include "cli/verify/verify_method.h"

etx_status etx_verify_find_varying(const etx_verify_method* m,
                                   bool** out_varies) {
  bool* const varies = etx_verify_arena_take(m->memory, m->value_count, 1);
  const size_t inputs = etx_pte_input_count(&m->plan);
  if (varies == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < inputs; ++i) {
    varies[etx_pte_input_at(&m->plan, i)] = true;
  }
  for (size_t s = 0; s < m->step_count; ++s) {
    const etx_pte_instruction* const at = &m->steps[s].instruction;
    if (at->kind == ETX_PTE_MOVE_CALL) varies[at->target] = true;
    if (m->steps[s].op != NULL && m->steps[s].op->result == ETX_RESULT_SCALAR) {
      varies[at->arguments[at->argument_count - 1]] = true;
    }
  }
  *out_varies = varies;
  return ETX_OK;
}

// ---- blocks ----

static etx_status take_blocks(const etx_verify_method* m,
                              etx_verify_basic_blocks* blocks) {
  const size_t count = m->step_count;
  blocks->count = 0;
  blocks->first =
      etx_verify_arena_take(m->memory, count + 2, sizeof *blocks->first);
  blocks->block_of =
      etx_verify_arena_take(m->memory, count + 1, sizeof *blocks->block_of);
  return blocks->first == NULL || blocks->block_of == NULL ? ETX_OUT_OF_MEMORY
                                                           : ETX_OK;
}

etx_status etx_verify_find_basic_blocks(const etx_verify_method* m,
                                        etx_verify_basic_blocks* out_blocks) {
  etx_verify_basic_blocks* const b = out_blocks;
  const size_t count = m->step_count;
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
    if (starts[s]) b->first[b->count++] = (uint32_t)s;
    b->block_of[s] = (uint32_t)(b->count - 1);
  }
  b->first[b->count] = (uint32_t)count;
  b->block_of[count] = (uint32_t)b->count;
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

size_t etx_verify_successors(const etx_verify_method* m,
                             const etx_verify_basic_blocks* blocks,
                             uint32_t block, uint32_t next[2]) {
  const uint32_t last = blocks->first[block + 1] - 1;
  const etx_verify_step* const step = &m->steps[last];
  bool condition = true;
  next[0] = block + 1;
  if (step->instruction.kind != ETX_PTE_JUMP_FALSE_CALL) return 1;
  next[1] = blocks->block_of[step->target];
  if (is_decided(m, blocks, step, &condition)) {
    if (!condition) next[0] = next[1];
    return 1;
  }
  return next[1] == next[0] ? 1 : 2;
}
