// A problem as the algorithms see it: sorted, in units, in sections, in parts.
//
//   section  a largest set of blocks that live together; it closes when a death
//            follows a birth. Two lifespans in sections intersect exactly if
//            those in instructions do.
//   part     a stretch of time at whose ends nothing is live. Parts share no
//            bytes and no time, so each is planned alone and the arena is the
//            largest of theirs.
//   unit     bytes that divide all sizes and alignments, so that offsets fit
//            32 bits. A problem of more than 2^29 units is counted in coarser
//            ones, into which sizes are rounded up.
//
// Blocks are sorted by start, end, falling size and falling alignment, so that
// a plan does not depend on the order in which they came. Blocks without bytes
// take no part.

#ifndef ETX_PLANNER_PROBLEM_PLAN_PARTITION_H
#define ETX_PLANNER_PROBLEM_PLAN_PARTITION_H

#include "planner/problem/plan_problem.h"

// "None", of blocks and of sections.
#define ETX_PLAN_NONE UINT32_MAX

// No part has more units live at once.
#define ETX_PLAN_MAX_UNITS (UINT32_C(1) << 29)

// Plans that reach so high are not looked at, so that sums need no care.
#define ETX_PLAN_CEILING (UINT32_C(1) << 31)

// One stretch of time. Blocks are numbered from 0, by first section.
typedef struct etx_plan_partition {
  const etx_plan_problem* problem;
  const uint32_t* blocks;  // of each block, its index in the problem
  const uint32_t* first;   // of each block, the first section it lives in
  const uint32_t* limit;   // of each block, one past the last
  const uint32_t* size;    // of each block, in units, at least 1
  uint32_t block_count;
  uint32_t section_count;
  uint64_t unit;         // bytes
  uint64_t bound_bytes;  // no plan of this part has less
  bool has_fixed;        // some block of the problem has to have an offset
  bool has_alignments;   // some block is aligned to more than a unit
  bool is_coarse;        // units do not divide all sizes, which are rounded up
} etx_plan_partition;

typedef struct etx_plan_partitions {
  etx_plan_partition all;  // of all parts, with sections counted in each
  uint32_t count;
  uint32_t* first_block;    // of each part and one more
  uint32_t* first_section;  // of each part and one more
  uint64_t* bound_bytes;    // of each part
} etx_plan_partitions;

// Cuts a checked problem into memory from `work`; false if too little is free.
// With a counting arena it only counts. The bounds are left to plan_bound.h.
bool etx_plan_partitions_take(etx_plan_partitions* parts,
                              const etx_plan_problem* problem, etx_arena* work);

// The part of that index, a view.
etx_plan_partition etx_plan_partitions_at(const etx_plan_partitions* parts,
                                          uint32_t index);

// The units that hold so many bytes.
uint64_t etx_plan_units_ceil(uint64_t bytes, uint64_t unit);

// The block behind a number.
static inline const etx_plan_block* etx_plan_partition_block(
    const etx_plan_partition* part, uint32_t number) {
  return &part->problem->blocks[part->blocks[number]];
}

// Length of the block's lifespan, in instructions.
static inline uint32_t etx_plan_partition_life(const etx_plan_partition* part,
                                               uint32_t number) {
  const etx_plan_block* const block = etx_plan_partition_block(part, number);
  return block->end - block->start;
}

// That times its size, in units.
static inline uint64_t etx_plan_partition_area(const etx_plan_partition* part,
                                               uint32_t number) {
  return (uint64_t)etx_plan_partition_life(part, number) * part->size[number];
}

// The offset that the block has to have, in units rounded down, or
// ETX_PLAN_NONE.
uint32_t etx_plan_partition_fixed(const etx_plan_partition* part,
                                  uint32_t number);

// The lowest offset at or above `offset` that the block may have, in units, at
// most ETX_PLAN_CEILING.
uint32_t etx_plan_partition_align(const etx_plan_partition* part,
                                  uint32_t number, uint32_t offset);

// False if the caller wants no more: then no steps are left, either.
static inline bool etx_plan_may_continue(const etx_plan_partition* part,
                                         uint64_t* steps) {
  const etx_plan_problem* const problem = part->problem;
  if (problem->should_continue == NULL ||
      problem->should_continue(problem->context)) {
    return true;
  }
  *steps = 0;
  return false;
}

#endif
