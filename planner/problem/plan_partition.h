// The form in which algorithms see a problem: sorted blocks, with sizes in
// units and lifetimes in sections, cut into independent parts.
//
//   section  A maximal set of blocks that are live together. A new section
//   starts
//            with the first start after an end. Two lifetimes overlap in
//            sections exactly if they overlap in instructions.
//   part     A stretch of time at whose ends nothing is live
//   (etx_plan_partition).
//            Each part is planned alone, and the arena is as large as the
//            largest.
//   unit     A number of bytes that divides all sizes and alignments, so that
//   offsets
//            fit into 32 bits. If there would be more than 2^29 units, larger
//            units are used and sizes are rounded up.
//
// Blocks are sorted by start, end, descending size and descending alignment, so
// a plan does not depend on their order in the problem. Empty blocks are left
// out.

#ifndef ETX_PLANNER_PROBLEM_PLAN_PARTITION_H
#define ETX_PLANNER_PROBLEM_PLAN_PARTITION_H

#include "planner/problem/plan_problem.h"

// No block, or no section.
#define ETX_PLAN_NONE UINT32_MAX

// The largest number of units that are live at one time in any part.
#define ETX_PLAN_MAX_UNITS (UINT32_C(1) << 29)

// Algorithms discard plans that reach this offset, so sums of 32 bits cannot
// overflow.
#define ETX_PLAN_CEILING (UINT32_C(1) << 31)

// One part. Blocks are numbered from 0 by first section.
typedef struct etx_plan_partition {
  const etx_plan_problem* problem;
  const uint32_t* blocks;  // for each block its index in the problem
  const uint32_t* first;   // for each block its first section
  const uint32_t* limit;   // for each block one past its last section
  const uint32_t* size;    // for each block its size in units, at least 1
  uint32_t block_count;
  uint32_t section_count;
  uint64_t unit;         // bytes
  uint64_t bound_bytes;  // lower bound of the arena of this part
  bool has_fixed;        // some block of the problem has a fixed offset
  bool has_alignments;   // some block is aligned to more than a unit
  bool is_coarse;        // units do not divide all sizes, which are rounded up
} etx_plan_partition;

typedef struct etx_plan_partitions {
  etx_plan_partition
      all;  // all parts together; sections count from 0 in each part
  uint32_t count;
  uint32_t* first_block;    // of each part and one more
  uint32_t* first_section;  // of each part and one more
  uint64_t* bound_bytes;    // of each part
} etx_plan_partitions;

// Partitions a checked problem, with memory from `work`; false if that is too
// small. With a counting arena it only counts. Bounds are set by plan_bound.h.
bool etx_plan_partitions_take(etx_plan_partitions* parts,
                              const etx_plan_problem* problem, etx_arena* work);

// The part of that index. Its arrays are those of `parts`.
etx_plan_partition etx_plan_partitions_at(const etx_plan_partitions* parts,
                                          uint32_t index);

// Bytes in units, rounded up.
uint64_t etx_plan_units_ceil(uint64_t bytes, uint64_t unit);

// The block with this number.
static inline const etx_plan_block* etx_plan_partition_block(
    const etx_plan_partition* part, uint32_t number) {
  return &part->problem->blocks[part->blocks[number]];
}

// Length of the block's lifetime, in instructions.
static inline uint32_t etx_plan_partition_life(const etx_plan_partition* part,
                                               uint32_t number) {
  const etx_plan_block* const block = etx_plan_partition_block(part, number);
  return block->end - block->start;
}

// Length of the lifetime times size in units.
static inline uint64_t etx_plan_partition_area(const etx_plan_partition* part,
                                               uint32_t number) {
  return (uint64_t)etx_plan_partition_life(part, number) * part->size[number];
}

// The fixed offset of the block in units, rounded down, or ETX_PLAN_NONE.
uint32_t etx_plan_partition_fixed(const etx_plan_partition* part,
                                  uint32_t number);

// Aligns an offset in units for the block; at most ETX_PLAN_CEILING.
uint32_t etx_plan_partition_align(const etx_plan_partition* part,
                                  uint32_t number, uint32_t offset);

// False if the caller's callback stops the planner; then sets `*steps` to 0.
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
