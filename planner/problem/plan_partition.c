#include "planner/problem/plan_partition.h"

#include "planner/problem/plan_check.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

// The arrays of the partitions while they are filled.
typedef struct partitioner {
  const etx_plan_problem* problem;
  uint32_t* blocks;
  uint32_t* first;
  uint32_t* limit;
  uint32_t* size;
  uint32_t* ends;     // numbers of blocks by end
  uint64_t* scratch;  // for sorting
} partitioner;

static uint32_t low_half(uint64_t value) { return (uint32_t)value; }
static uint32_t high_half(uint64_t value) { return (uint32_t)(value >> 32); }

static uint32_t fixed_low(const void* blocks, uint32_t i) {
  return low_half(((const etx_plan_block*)blocks)[i].fixed);
}
static uint32_t fixed_high(const void* blocks, uint32_t i) {
  return high_half(((const etx_plan_block*)blocks)[i].fixed);
}
static uint32_t alignment_low(const void* blocks, uint32_t i) {
  return ~low_half(((const etx_plan_block*)blocks)[i].alignment);
}
static uint32_t alignment_high(const void* blocks, uint32_t i) {
  return ~high_half(((const etx_plan_block*)blocks)[i].alignment);
}
static uint32_t size_low(const void* blocks, uint32_t i) {
  return ~low_half(((const etx_plan_block*)blocks)[i].size);
}
static uint32_t size_high(const void* blocks, uint32_t i) {
  return ~high_half(((const etx_plan_block*)blocks)[i].size);
}
static uint32_t end_of(const void* blocks, uint32_t i) {
  return ((const etx_plan_block*)blocks)[i].end;
}
static uint32_t start_of(const void* blocks, uint32_t i) {
  return ((const etx_plan_block*)blocks)[i].start;
}

// True if the starts are strictly ascending, so that no sorting is needed.
static bool is_numbered(const partitioner* d, uint32_t count) {
  const etx_plan_block* const blocks = d->problem->blocks;
  for (uint32_t i = 1; i < count; ++i) {
    if (blocks[d->blocks[i - 1]].start >= blocks[d->blocks[i]].start) {
      return false;
    }
  }
  return true;
}

// Numbers the blocks that are not empty: lists them in sorted order.
static uint32_t number_blocks(const partitioner* d) {
  static const etx_plan_key keys[] = {fixed_low,      fixed_high, alignment_low,
                                      alignment_high, size_low,   size_high,
                                      end_of,         start_of};
  const etx_plan_problem* const problem = d->problem;
  uint32_t count = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    if (problem->blocks[i].size > 0) d->blocks[count++] = (uint32_t)i;
  }
  if (is_numbered(d, count)) return count;
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; ++k) {
    etx_plan_sort(d->blocks, count, keys[k], problem->blocks, d->scratch);
  }
  return count;
}

static uint32_t end_of_number(const void* context, uint32_t number) {
  const partitioner* const d = context;
  return d->problem->blocks[d->blocks[number]].end;
}

// The state of the sweep through time.
typedef struct time_sweep {
  uint32_t section;     // present section, counted over all parts
  uint32_t started;     // blocks that have started
  uint32_t ended;       // blocks that have ended
  bool is_open;         // a block has started in the present section
  uint32_t part_start;  // first section of the present part
  uint64_t live_bytes;  // of a stack of the live blocks
  uint64_t most_bytes;  // largest live_bytes so far
} time_sweep;

// The most bytes that a block adds to a stack above all fixed blocks.
static uint64_t stacked_bytes(const etx_plan_block* block, uint64_t step) {
  if (block->fixed != ETX_PLAN_FREE) return 0;
  return etx_plan_align(block->size, step) + (block->alignment - step);
}

static void start_block(const partitioner* d, etx_plan_partitions* parts,
                        time_sweep* sweep, uint64_t step) {
  const uint32_t number = sweep->started++;
  if (sweep->ended == number) {
    parts->first_block[parts->count] = number;
    parts->first_section[parts->count] = sweep->section;
    parts->count += 1;
    sweep->part_start = sweep->section;
  }
  d->first[number] = sweep->section - sweep->part_start;
  sweep->is_open = true;
  sweep->live_bytes +=
      stacked_bytes(&d->problem->blocks[d->blocks[number]], step);
  if (sweep->live_bytes > sweep->most_bytes)
    sweep->most_bytes = sweep->live_bytes;
}

static void end_block(const partitioner* d, time_sweep* sweep, uint64_t step) {
  const uint32_t number = d->ends[sweep->ended++];
  if (sweep->is_open) sweep->section += 1;
  sweep->is_open = false;
  d->limit[number] = sweep->section - sweep->part_start;
  sweep->live_bytes -=
      stacked_bytes(&d->problem->blocks[d->blocks[number]], step);
}

// Numbers sections and parts. At equal times ends come before starts, because
// lifetimes are half-open. Returns the largest number of bytes that blocks
// which are live together take when stacked in the worst order.
static uint64_t number_sections(const partitioner* d,
                                etx_plan_partitions* parts, uint32_t count,
                                uint64_t step) {
  time_sweep sweep = {0};
  const etx_plan_block* const blocks = d->problem->blocks;
  for (uint32_t i = 0; i < count; ++i) d->ends[i] = i;
  etx_plan_sort(d->ends, count, end_of_number, d, d->scratch);
  parts->count = 0;
  while (sweep.ended < count) {
    const uint32_t end = blocks[d->blocks[d->ends[sweep.ended]]].end;
    if (sweep.started < count && blocks[d->blocks[sweep.started]].start < end) {
      start_block(d, parts, &sweep, step);
    } else {
      end_block(d, &sweep, step);
    }
  }
  parts->first_block[parts->count] = count;
  parts->first_section[parts->count] = sweep.section;
  return sweep.most_bytes;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The unit is the largest number that divides all sizes, fixed offsets and,
// where alignments differ, the largest alignment. It is doubled while
// `most_bytes` above the highest fixed block is too many units, so that every
// plan stays below the ceiling.
static void choose_unit(const partitioner* d, etx_plan_partition* all,
                        uint64_t step, uint64_t most_bytes) {
  const etx_plan_problem* const problem = d->problem;
  uint64_t unit = 0;
  uint64_t widest = step;
  uint64_t fixed_end = 0;
  for (uint32_t i = 0; i < all->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[d->blocks[i]];
    const uint64_t size = etx_plan_align(block->size, step);
    const bool is_multiple = etx_is_power_of_two(unit)
                                 ? (size & (unit - 1)) == 0
                                 : unit != 0 && size % unit == 0;
    if (!is_multiple) unit = greatest_common_divisor(size, unit);
    if (block->alignment > widest) widest = block->alignment;
    if (block->fixed == ETX_PLAN_FREE) continue;
    unit = greatest_common_divisor(unit, block->fixed);
    if (block->fixed + size > fixed_end) fixed_end = block->fixed + size;
  }
  most_bytes += fixed_end;
  if (widest != step) unit = greatest_common_divisor(unit, widest);
  if (unit == 0) unit = 1;
  all->is_coarse = most_bytes / unit > ETX_PLAN_MAX_UNITS;
  // Every block may cost a unit for being rounded up.
  while (all->is_coarse &&
         most_bytes / unit + all->block_count > ETX_PLAN_MAX_UNITS) {
    unit *= 2;
  }
  all->unit = unit;
  all->has_alignments = widest > unit;
}

// Sizes in units; a fixed block has all units that it touches.
static void count_units(const partitioner* d, const etx_plan_partition* all) {
  for (uint32_t i = 0; i < all->block_count; ++i) {
    const etx_plan_block* const block = &d->problem->blocks[d->blocks[i]];
    const bool is_fixed = block->fixed != ETX_PLAN_FREE;
    const uint64_t begin = is_fixed ? block->fixed : 0;
    const uint64_t end = etx_plan_units_ceil(begin + block->size, all->unit);
    d->size[i] = (uint32_t)(is_fixed ? end - begin / all->unit : end);
  }
}

static void fill_partitions(partitioner* d, etx_plan_partitions* parts) {
  const uint64_t step = etx_plan_granularity(d->problem);
  etx_plan_partition* const all = &parts->all;
  all->has_fixed = etx_plan_has_fixed(d->problem);
  all->block_count = number_blocks(d);
  const uint64_t most = number_sections(d, parts, all->block_count, step);
  all->section_count = parts->first_section[parts->count];
  all->blocks = d->blocks;
  all->first = d->first;
  all->limit = d->limit;
  all->size = d->size;
  choose_unit(d, all, step, most);
  count_units(d, all);
}

static bool take_arrays(partitioner* d, etx_plan_partitions* parts,
                        etx_arena* work) {
  const size_t count = d->problem->block_count;
  return etx_plan_take_u32(work, count, &d->blocks) &&
         etx_plan_take_u32(work, count, &d->first) &&
         etx_plan_take_u32(work, count, &d->limit) &&
         etx_plan_take_u32(work, count, &d->size) &&
         etx_plan_take_u32(work, count + 1, &parts->first_block) &&
         etx_plan_take_u32(work, count + 1, &parts->first_section) &&
         etx_plan_take_u64(work, count, &parts->bound_bytes);
}

bool etx_plan_partitions_take(etx_plan_partitions* parts,
                              const etx_plan_problem* problem,
                              etx_arena* work) {
  partitioner d = {0};
  d.problem = problem;
  parts->all.problem = problem;
  if (problem->block_count > SIZE_MAX / 32) return false;
  if (!take_arrays(&d, parts, work)) return false;
  const size_t mark = etx_arena_mark(work);
  const bool taken =
      etx_plan_take_u32(work, problem->block_count, &d.ends) &&
      etx_plan_take_u64(work, 2 * problem->block_count, &d.scratch);
  if (taken && !work->counting) fill_partitions(&d, parts);
  etx_arena_rewind(work, mark);
  return taken;
}

etx_plan_partition etx_plan_partitions_at(const etx_plan_partitions* parts,
                                          uint32_t index) {
  const uint32_t block = parts->first_block[index];
  const uint32_t section = parts->first_section[index];
  etx_plan_partition part = parts->all;
  part.blocks += block;
  part.first += block;
  part.limit += block;
  part.size += block;
  part.block_count = parts->first_block[index + 1] - block;
  part.section_count = parts->first_section[index + 1] - section;
  part.bound_bytes = parts->bound_bytes[index];
  return part;
}

uint64_t etx_plan_units_ceil(uint64_t bytes, uint64_t unit) {
  // Divisions are slow for a million sizes, and most units are powers of two.
  if (etx_is_power_of_two(unit)) {
    return (bytes + (unit - 1)) >> __builtin_ctzll(unit);
  }
  return bytes / unit + (bytes % unit != 0);
}

uint32_t etx_plan_partition_fixed(const etx_plan_partition* part,
                                  uint32_t number) {
  if (!part->has_fixed) return ETX_PLAN_NONE;
  const uint64_t fixed = etx_plan_partition_block(part, number)->fixed;
  if (fixed == ETX_PLAN_FREE) return ETX_PLAN_NONE;
  return (uint32_t)(fixed / part->unit);
}

uint32_t etx_plan_partition_align(const etx_plan_partition* part,
                                  uint32_t number, uint32_t offset) {
  if (!part->has_alignments) return offset;
  const uint64_t alignment = etx_plan_partition_block(part, number)->alignment;
  if (alignment <= part->unit) return offset;
  const uint64_t aligned = etx_plan_align(offset, alignment / part->unit);
  return aligned < ETX_PLAN_CEILING ? (uint32_t)aligned : ETX_PLAN_CEILING;
}
