// Regions are the connected components of a group. For each first step, a
// group grows step by step while a union-find joins components; dynamic
// programming chooses the groups.

#include "format/base/independent_regions.h"

#include <string.h>

typedef struct components {
  const etx_regions_problem* problem;
  size_t first;  // first step of the group
  uint32_t parent[ETX_REGIONS_WINDOW];
  uint64_t cost[ETX_REGIONS_WINDOW];  // of a component, at its root
  uint64_t all_costs;
  uint64_t largest;  // cost of a component
} components;

static uint32_t root_of(components* c, uint32_t at) {
  while (c->parent[at] != at) {
    c->parent[at] = c->parent[c->parent[at]];
    at = c->parent[at];
  }
  return at;
}

static void start(components* c, const etx_regions_problem* problem,
                  size_t first) {
  c->problem = problem;
  c->first = first;
  c->all_costs = 0;
  c->largest = 0;
}

static void join(components* c, uint32_t a, uint32_t b) {
  const uint32_t x = root_of(c, a);
  const uint32_t y = root_of(c, b);
  if (x == y) return;
  // The first step of a component is its root.
  const uint32_t kept = x < y ? x : y;
  const uint32_t gone = x < y ? y : x;
  c->parent[gone] = kept;
  c->cost[kept] += c->cost[gone];
}

// Adds the step behind the group.
static void add(components* c, size_t step) {
  const uint32_t at = (uint32_t)(step - c->first);
  const uint64_t* const words =
      &c->problem->conflicts[step * ETX_REGIONS_WORDS];
  c->parent[at] = at;
  c->cost[at] = c->problem->costs[step];
  for (uint32_t w = 0; w * 64 < at; ++w) {
    for (uint64_t left = words[w]; left != 0; left &= left - 1) {
      const uint32_t d = w * 64 + (uint32_t)__builtin_ctzll(left);
      if (d < at) join(c, at - 1 - d, at);
    }
  }
  const uint64_t cost = c->cost[root_of(c, at)];
  if (cost > c->largest) c->largest = cost;
  c->all_costs += c->problem->costs[step];
}

// What the group takes off the longest path, less what starting it costs.
static uint64_t gain_of(const components* c) {
  const uint64_t share = c->all_costs / c->problem->region_limit;
  const uint64_t path = c->largest > share ? c->largest : share;
  const uint64_t gain = c->all_costs - path;
  return gain > ETX_REGIONS_LEAST_GAIN ? gain - ETX_REGIONS_LEAST_GAIN : 0;
}

static void choose_groups(etx_regions_problem* problem) {
  components c;
  for (size_t s = 0; s <= problem->count; ++s) {
    problem->best[s] = 0;
    problem->from[s] = (uint32_t)s;
  }
  for (size_t s = 0; s < problem->count; ++s) {
    // Step s in no group: from[s + 1] stays s + 1.
    if (problem->best[s] > problem->best[s + 1]) {
      problem->best[s + 1] = problem->best[s];
      problem->from[s + 1] = (uint32_t)(s + 1);
    }
    start(&c, problem, s);
    const size_t end = problem->count - s < ETX_REGIONS_WINDOW
                           ? problem->count
                           : s + ETX_REGIONS_WINDOW;
    for (size_t e = s; e < end; ++e) {
      add(&c, e);
      const uint64_t gain = gain_of(&c);
      if (gain == 0 || problem->best[s] + gain <= problem->best[e + 1]) {
        continue;
      }
      problem->best[e + 1] = problem->best[s] + gain;
      problem->from[e + 1] = (uint32_t)s;
    }
  }
}

// Puts the components of a group into regions: the largest one first, each into
// the region with the least cost.
static void pack(etx_regions_problem* problem, size_t first, size_t end) {
  components c;
  uint64_t loads[ETX_REGIONS_MOST] = {0};
  uint8_t region_of[ETX_REGIONS_WINDOW];
  bool is_packed[ETX_REGIONS_WINDOW] = {false};
  const uint32_t count = (uint32_t)(end - first);
  start(&c, problem, first);
  for (size_t e = first; e < end; ++e) add(&c, e);
  for (;;) {
    uint32_t next = count;
    for (uint32_t i = 0; i < count; ++i) {
      if (root_of(&c, i) != i || is_packed[i]) continue;
      if (next == count || c.cost[i] > c.cost[next]) next = i;
    }
    if (next == count) break;
    size_t least = 0;
    for (size_t r = 1; r < problem->region_limit; ++r) {
      if (loads[r] < loads[least]) least = r;
    }
    loads[least] += c.cost[next];
    region_of[next] = (uint8_t)least;
    is_packed[next] = true;
  }
  for (uint32_t i = 0; i < count; ++i) {
    problem->regions[first + i] = region_of[root_of(&c, i)];
    problem->group_ends[first + i] = (uint32_t)end;
  }
}

void etx_regions_isolate(etx_regions_problem* problem, size_t step) {
  memset(&problem->conflicts[step * ETX_REGIONS_WORDS], 0xff,
         ETX_REGIONS_WORDS * sizeof(uint64_t));
  for (size_t late = step + 1;
       late < problem->count && late - step <= ETX_REGIONS_WINDOW; ++late) {
    etx_regions_conflict(problem, step, late);
  }
}

void etx_regions_find(etx_regions_problem* problem) {
  memset(problem->group_ends, 0, problem->count * sizeof(uint32_t));
  memset(problem->regions, 0, problem->count);
  choose_groups(problem);
  for (size_t end = problem->count; end > 0;) {
    const size_t first = problem->from[end];
    if (first == end) {
      --end;
      continue;
    }
    pack(problem, first, end);
    end = first;
  }
}
