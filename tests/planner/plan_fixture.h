// What the planner's suites share: problems, numbers from a seed, solving in a
// block of exactly the needed size, and a validator that compares every two
// blocks.

#ifndef ETX_TESTS_PLANNER_PLAN_FIXTURE_H
#define ETX_TESTS_PLANNER_PLAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "planner/plan.h"
#include "planner/validation/plan_validate.h"

// splitmix64: the same numbers everywhere.
static inline uint64_t random_next(uint64_t* state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t* state, uint64_t limit) {
  return random_next(state) % limit;
}

static inline etx_plan_block block_of(uint32_t start, uint32_t end,
                                      uint64_t size) {
  const etx_plan_block block = {size, 1, start, end, ETX_PLAN_FREE};
  return block;
}

static inline etx_plan_problem problem_of(const etx_plan_block* blocks,
                                          size_t count) {
  const etx_plan_problem problem = {.blocks = blocks, .block_count = count};
  return problem;
}

// Solves in exactly the needed bytes. The offsets come from malloc and are the
// caller's, also after a failure.
static inline etx_status solve(const etx_plan_problem* problem,
                               const char* algorithm,
                               etx_plan_solution* solution, etx_diag* diag) {
  const size_t needed = etx_plan_needed(problem);
  etx_arena work;
  void* const memory = malloc(needed + 1);
  memset(solution, 0, sizeof *solution);
  solution->offsets = calloc(problem->block_count + 1, sizeof(uint64_t));
  assert_non_null(memory);
  assert_non_null(solution->offsets);
  etx_arena_init(&work, memory, needed);
  etx_diag_init(diag);
  const etx_status status =
      etx_plan_solve(problem, algorithm, &work, solution, diag);
  assert_int_equal(etx_arena_mark(&work), 0);
  free(memory);
  return status;
}

// Validates with memory of its own.
static inline etx_plan_validation validation_of(
    const etx_plan_problem* problem, const etx_plan_solution* solution) {
  etx_plan_validation judgement = {ETX_PLAN_VALID, 0, 0};
  etx_arena work;
  const size_t bytes = problem->block_count * 64 + 4096;
  void* const memory = malloc(bytes);
  assert_non_null(memory);
  etx_arena_init(&work, memory, bytes);
  assert_int_equal(etx_plan_validate(problem, solution, &work, &judgement),
                   ETX_OK);
  free(memory);
  return judgement;
}

static inline bool blocks_clash(const etx_plan_problem* problem,
                                const uint64_t* offsets, size_t i, size_t j) {
  const etx_plan_block* const a = &problem->blocks[i];
  const etx_plan_block* const b = &problem->blocks[j];
  if (a->size == 0 || b->size == 0) return false;
  return a->start < b->end && b->start < a->end &&
         offsets[i] < offsets[j] + b->size && offsets[j] < offsets[i] + a->size;
}

// A second validator: compares every two blocks. Sizes and offsets must be
// small enough to be added.
static inline bool is_valid(const etx_plan_problem* problem,
                            const etx_plan_solution* solution) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    const uint64_t end = solution->offsets[i] + block->size;
    if (end < block->size || end > solution->arena_bytes) return false;
    if (solution->offsets[i] % block->alignment != 0) return false;
    if (block->fixed != ETX_PLAN_FREE && block->fixed != solution->offsets[i]) {
      return false;
    }
    if (end > highest) highest = end;
    for (size_t j = 0; j < i; ++j) {
      if (blocks_clash(problem, solution->offsets, i, j)) return false;
    }
  }
  if (highest != solution->arena_bytes) return false;
  if (problem->capacity != 0 && highest > problem->capacity) return false;
  return solution->lower_bound <= highest;
}

// A problem of up to `count` blocks that live within `times` instructions.
static inline void random_blocks(uint64_t* seed, etx_plan_block* blocks,
                                 size_t count, uint32_t times,
                                 uint64_t largest) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t start = (uint32_t)random_below(seed, times);
    const uint32_t life = 1 + (uint32_t)random_below(seed, times - start);
    blocks[i] = block_of(start, start + life, random_below(seed, largest + 1));
  }
}

// Reads a problem of `id,lower,upper,size` lines with alignment 16. The blocks
// come from malloc.
static inline etx_plan_problem problem_from_csv(const char* path) {
  FILE* const file = fopen(path, "r");
  char line[256];
  size_t count = 0;
  etx_plan_block* blocks = malloc(sizeof *blocks);
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  while (fgets(line, sizeof line, file) != NULL) {
    unsigned long id = 0, start = 0, end = 0;
    unsigned long long size = 0;
    assert_int_equal(sscanf(line, "%lu,%lu,%lu,%llu", &id, &start, &end, &size),
                     4);
    blocks = realloc(blocks, (count + 1) * sizeof *blocks);
    assert_non_null(blocks);
    blocks[count] = block_of((uint32_t)start, (uint32_t)end, size);
    blocks[count++].alignment = 16;
  }
  fclose(file);
  return problem_of(blocks, count);
}

#endif
