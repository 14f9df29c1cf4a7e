// Covered sections are skipped by a disjoint-set forest with path halving.

#include "planner/problem/section_cover.h"

// The first section at or after `section` that is not covered.
static uint32_t next_uncovered(uint32_t* skips, uint32_t section) {
  while (skips[section] != section) {
    skips[section] = skips[skips[section]];
    section = skips[section];
  }
  return section;
}

void etx_section_cover_fill(const etx_plan_partition* part,
                            const uint32_t* items, size_t count,
                            uint32_t* covers, uint32_t* skips) {
  for (uint32_t s = 0; s < part->section_count; ++s) {
    covers[s] = ETX_PLAN_NONE;
    skips[s] = s;
  }
  skips[part->section_count] = part->section_count;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t limit = part->limit[items[i]];
    uint32_t s = next_uncovered(skips, part->first[items[i]]);
    while (s < limit) {
      covers[s] = items[i];
      skips[s] = s + 1;
      s = next_uncovered(skips, s + 1);
    }
  }
}
