// Problems of many kinds from a seed: the same on every machine. Some of them
// are invalid; is_contradiction tells which, with code of its own.

#ifndef ETX_TESTS_PLANNER_PLAN_RANDOM_H
#define ETX_TESTS_PLANNER_PLAN_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "planner/plan.h"

enum { RANDOM_MOST_BLOCKS = 4096 };

// splitmix64. Use one call per statement: C does not define in which order
// operands are evaluated.
static inline uint64_t draw(uint64_t* seed, uint64_t limit) {
  uint64_t z = (*seed += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (z ^ (z >> 31)) % limit;
}

// Most problems are small, since small ones reach all corners soonest.
static inline size_t random_count(uint64_t* seed, bool only_small) {
  const uint64_t kind = draw(seed, 400);
  uint64_t most = 12;
  if (!only_small && kind >= 300) most = 60;
  if (!only_small && kind >= 380) most = 300;
  if (!only_small && kind == 399) most = RANDOM_MOST_BLOCKS;
  return (size_t)draw(seed, most + 1);
}

// What the sizes of a problem have in common.
typedef struct random_sizes {
  uint64_t kind;
  uint64_t scale;
} random_sizes;

static inline uint64_t random_size(uint64_t* seed, random_sizes sizes) {
  const uint64_t wide = draw(seed, 50);
  switch (sizes.kind) {
    case 0:
      return draw(seed, 13);
    case 1:
      return draw(seed, 13) * sizes.scale;
    case 2:
      return UINT64_C(1) << (wide % 20);
    case 3:
      return sizes.scale;
    case 4:
      return draw(seed, 1 + (UINT64_C(1) << wide));
    // Block sizes that differ so much that some are less than a unit.
    case 5:
      return draw(seed, UINT64_C(1) << 49);
    default:
      return draw(seed, 100000) + (wide == 0 ? 10000000 : 0);
  }
}

// Lifetimes within `times` instructions, in stretches that share none.
static inline void random_life(uint64_t* seed, uint32_t times, uint32_t stretch,
                               bool is_short, etx_plan_block* block) {
  const uint64_t start = draw(seed, times);
  const uint64_t rest = times - start;
  const uint64_t life = draw(seed, is_short && rest > 4 ? 4 : rest);
  const uint32_t from = stretch * times;
  block->start = from + (uint32_t)start;
  block->end = from + (uint32_t)(start + life) + 1;
}

static inline void random_alignment(uint64_t* seed, uint64_t kind,
                                    etx_plan_block* block) {
  const uint64_t shift = draw(seed, 8);
  const uint64_t rare = draw(seed, 30);
  if (kind == 0) block->alignment = 1;
  if (kind == 1) block->alignment = 16;
  if (kind == 2) block->alignment = UINT64_C(1) << shift;
  if (kind == 3) block->alignment = rare == 0 ? UINT64_C(1) << 40 : 64;
}

// Fixes some blocks: one above the other, or anywhere.
static inline void random_fixed(uint64_t* seed, etx_plan_block* blocks,
                                size_t count) {
  const uint64_t anywhere = draw(seed, 4);
  uint64_t end = 0;
  for (size_t i = 0; i < count; ++i) {
    etx_plan_block* const block = &blocks[i];
    const uint64_t chosen = draw(seed, 4);
    const uint64_t gap = draw(seed, block->size + 2);
    if (chosen != 0) continue;
    const uint64_t wanted = anywhere == 0 ? gap : end + gap;
    const uint64_t mask = block->alignment - 1;
    block->fixed = (wanted + mask) & ~mask;
    end = block->fixed + block->size;
  }
}

// One fault that makes a problem invalid.
static inline void random_damage(uint64_t* seed, etx_plan_block* blocks,
                                 size_t count) {
  etx_plan_block* const block = &blocks[draw(seed, count)];
  switch (draw(seed, 6)) {
    case 0:
      block->end = block->start;
      break;
    case 1:
      block->alignment = 0;
      break;
    case 2:
      block->alignment = 48;
      break;
    case 3:
      block->size = UINT64_C(1) << 63;
      break;
    case 4:
      block->alignment = 16;
      block->fixed = 24;
      break;
    default:
      block->end = block->start / 2;
      block->start += 1;
      break;
  }
}

// The largest number of live bytes at the start of a block; sums of damaged
// problems may wrap.
static inline uint64_t random_load(const etx_plan_block* blocks, size_t count) {
  uint64_t most = 0;
  for (size_t i = 0; i < count && i < 400; ++i) {
    uint64_t sum = 0;
    for (size_t j = 0; j < count; ++j) {
      const bool lives =
          blocks[j].start <= blocks[i].start && blocks[i].start < blocks[j].end;
      sum += lives ? blocks[j].size : 0;
    }
    if (sum > most) most = sum;
  }
  return most;
}

// Numbers so large that their sums are near 2^63 or above.
static inline void random_extremes(uint64_t* seed, etx_plan_block* blocks,
                                   size_t count) {
  const uint64_t shift = 50 + draw(seed, 13);
  for (size_t i = 0; i < count; ++i) {
    etx_plan_block* const block = &blocks[i];
    const uint64_t kind = draw(seed, 8);
    const uint64_t bits = draw(seed, shift + 1);
    if (kind < 3) block->size = draw(seed, UINT64_C(1) << shift);
    if (kind == 3) block->size = UINT64_C(1) << bits;
    if (kind == 4) block->alignment = UINT64_C(1) << bits;
    if (kind == 5) block->fixed = UINT64_C(1) << bits;
    if (kind == 5) block->alignment = 1;
  }
}

// No limit, or one near the largest number of live bytes.
static inline uint64_t random_capacity(uint64_t* seed,
                                       const etx_plan_block* blocks,
                                       size_t count) {
  const uint64_t kind = draw(seed, 4);
  const uint64_t load = random_load(blocks, count);
  const uint64_t more = draw(seed, load / 4 + 1);
  const uint64_t less = draw(seed, 8);
  return kind != 0 ? 0 : load + more - (less == 0 ? load / 16 : 0);
}

// Fills `blocks`, of RANDOM_MOST_BLOCKS.
static inline etx_plan_problem random_problem(uint64_t* seed, bool only_small,
                                              uint64_t steps,
                                              etx_plan_block* blocks) {
  const size_t count = random_count(seed, only_small);
  random_sizes sizes = {draw(seed, 7), 0};
  sizes.scale = UINT64_C(1) << draw(seed, 46);
  static const uint32_t most_times[] = {6, 20, 300, 50000000};
  const uint64_t times_kind = draw(seed, 4);
  const uint64_t stretches = draw(seed, 4);
  const uint64_t is_short = draw(seed, 2);
  const uint64_t alignments = draw(seed, 4);
  const uint64_t is_fixed = draw(seed, 5);
  const uint64_t is_extreme = draw(seed, 20);
  const uint64_t is_damaged = draw(seed, 40);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t stretch = draw(seed, stretches == 0 ? 9 : 1);
    blocks[i].fixed = ETX_PLAN_FREE;
    blocks[i].size = random_size(seed, sizes);
    random_alignment(seed, alignments, &blocks[i]);
    random_life(seed, most_times[times_kind], (uint32_t)stretch, is_short != 0,
                &blocks[i]);
  }
  if (is_fixed == 0) random_fixed(seed, blocks, count);
  if (is_extreme == 0) random_extremes(seed, blocks, count);
  if (is_damaged == 0 && count > 0) random_damage(seed, blocks, count);
  const uint64_t capacity = random_capacity(seed, blocks, count);
  const etx_plan_problem problem = {.blocks = blocks,
                                    .block_count = count,
                                    .capacity = capacity,
                                    .steps = steps};
  return problem;
}

static inline bool blocks_are_fixed_together(const etx_plan_block* a,
                                             const etx_plan_block* b) {
  return a->fixed != ETX_PLAN_FREE && b->fixed != ETX_PLAN_FREE &&
         a->size > 0 && b->size > 0 && a->start < b->end && b->start < a->end &&
         a->fixed < b->fixed + b->size && b->fixed < a->fixed + a->size;
}

static inline uint64_t add_or_most(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// Whether all free blocks, in the worst order above the fixed ones, end beyond
// 63 bits.
static inline bool is_too_high(const etx_plan_problem* problem) {
  uint64_t stack = 0;
  uint64_t fixed_end = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    if (block->fixed == ETX_PLAN_FREE) {
      stack = add_or_most(stack, block->size);
      stack = add_or_most(stack, block->alignment - 1);
    } else {
      const uint64_t end = add_or_most(block->fixed, block->size);
      if (end > fixed_end) fixed_end = end;
    }
  }
  return add_or_most(stack, fixed_end) > UINT64_MAX / 2;
}

// True for invalid problems and for sums that overflow.
static inline bool is_contradiction(const etx_plan_problem* problem) {
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const a = &problem->blocks[i];
    const uint64_t mask = a->alignment - 1;
    if (a->start >= a->end || a->alignment == 0) return true;
    if ((a->alignment & mask) != 0) return true;
    if (a->fixed == ETX_PLAN_FREE) continue;
    if ((a->fixed & mask) != 0) return true;
    for (size_t j = 0; j < i; ++j) {
      if (blocks_are_fixed_together(a, &problem->blocks[j])) return true;
    }
  }
  return is_too_high(problem);
}

#endif
