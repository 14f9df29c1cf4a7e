// Painted sections are skipped by links that shorten as they are followed
// (path halving).

#include "planner/problem/section_cover.h"

// The first section at or after `section` that has no paint.
static uint32_t next_bare(uint32_t* skips, uint32_t section) {
  while (skips[section] != section) {
    skips[section] = skips[skips[section]];
    section = skips[section];
  }
  return section;
}

void etx_section_cover_fill(const etx_plan_partition* part,
                            const uint32_t* items, size_t count,
                            uint32_t* painters, uint32_t* skips) {
  for (uint32_t s = 0; s < part->section_count; ++s) {
    painters[s] = ETX_PLAN_NONE;
    skips[s] = s;
  }
  skips[part->section_count] = part->section_count;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t limit = part->limit[items[i]];
    uint32_t s = next_bare(skips, part->first[items[i]]);
    while (s < limit) {
      painters[s] = items[i];
      skips[s] = s + 1;
      s = next_bare(skips, s + 1);
    }
  }
}
