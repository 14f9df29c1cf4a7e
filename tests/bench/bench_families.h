// Generated planning problems, defined to the bit, so that two people who
// measure them measure the same.

#ifndef ETX_TESTS_BENCH_BENCH_FAMILIES_H
#define ETX_TESTS_BENCH_BENCH_FAMILIES_H

#include "planner/plan.h"

// Names of the families, ended by NULL.
extern const char* const bench_family_names[];

// Fills `blocks`, which has room for `count`, from seed 1. Returns 0, or 1 if
// there is no family of that name.
int bench_family_fill(const char* name, etx_plan_block* blocks, size_t count);

// Most bytes that live at once in that family at that size, as
// published; 0 if no number was published.
uint64_t bench_family_bound(const char* name, size_t count);

#endif
