// Finds parts of a list of steps that may run side by side.
//
//   step     0 1 2 3 4 5 6 7 8
//   group      |---------|         steps 1 to 5
//   region     0 0 1 1 0           steps of region 0 and region 1 share nothing
//
// Two steps conflict if one writes what the other reads or writes. A group is a
// stretch of the list. Within it, steps that are connected by conflicts are in
// one region, and regions may run at the same time. All steps before the group
// come before it, and all steps behind it after it. Groups are chosen so that
// the costs that regions take off the longest path are largest.
//
// The planner uses this to keep the memory of regions apart, and the runtime to
// find, from addresses, which steps are independent. Nothing about regions is
// stored in a file.

#ifndef ETX_FORMAT_BASE_INDEPENDENT_REGIONS_H
#define ETX_FORMAT_BASE_INDEPENDENT_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  // Steps of a group, at most.
  ETX_REGIONS_WINDOW = 512,
  ETX_REGIONS_WORDS = ETX_REGIONS_WINDOW / 64,
  // Regions of a group, at most.
  ETX_REGIONS_MOST = 64,
  // A group must take at least this cost off the longest path. Costs are bytes
  // that steps read and write.
  ETX_REGIONS_LEAST_GAIN = 131072
};

// The steps. The caller has the arrays; costs and conflicts are given.
typedef struct etx_regions_problem {
  size_t count;         // of steps
  size_t region_limit;  // regions of a group, from 1 to ETX_REGIONS_MOST
  const uint64_t* costs;
  // ETX_REGIONS_WORDS words for each step: bit d of step j says that j and
  // j - 1 - d conflict.
  uint64_t* conflicts;
  uint64_t* best;        // working memory, count + 1 entries
  uint32_t* from;        // the same
  uint32_t* group_ends;  // result: the end of the step's group; 0: it has none
  uint8_t* regions;      // result: the step's region in its group
} etx_regions_problem;

// Notes that step `late` conflicts with `early`, which comes before it.
static inline void etx_regions_conflict(etx_regions_problem* problem,
                                        size_t early, size_t late) {
  const size_t d = late - 1 - early;
  if (d >= ETX_REGIONS_WINDOW) return;
  problem->conflicts[late * ETX_REGIONS_WORDS + d / 64] |= UINT64_C(1)
                                                           << d % 64;
}

// Notes that the step conflicts with all others.
void etx_regions_isolate(etx_regions_problem* problem, size_t step);

// Sets group_ends and regions.
void etx_regions_find(etx_regions_problem* problem);

#endif
