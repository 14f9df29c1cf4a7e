#include "exporter/schedule/schedule_search.h"

#include <string.h>

// Which item runs next: its candidates are options[first_option, end_option).
typedef struct etx_schedule_decision {
  size_t done;  // items on the trail before the decision
  size_t first_option;
  size_t next_option;  // the first one that was not tried
  size_t end_option;
} decision;

// Size of the hash table of sets. Every set costs a step, so the table is never
// more than half full.
static size_t table_size(uint64_t steps) {
  size_t size = 64;
  while (size / 2 < steps) size *= 2;
  return size;
}

etx_status etx_schedule_search_open(etx_pool* pool, etx_live_bytes* simulator,
                                    uint32_t* items, uint64_t max_steps,
                                    etx_schedule_search* out_search) {
  const size_t count = simulator->problem->item_count;
  etx_schedule_search s = {.simulator = simulator, .items = items};
  const size_t seen_size = table_size(max_steps);
  s.option_capacity = 16 * count + 4096;
  s.waiting_for = etx_pool_take(pool, count * sizeof *s.waiting_for);
  s.in_region = etx_pool_take(pool, count);
  s.position = etx_pool_take(pool, count * sizeof *s.position);
  s.ready = etx_pool_take(pool, count * sizeof *s.ready);
  s.ready_index = etx_pool_take(pool, count * sizeof *s.ready_index);
  s.decisions = etx_pool_take(pool, (count + 1) * sizeof *s.decisions);
  s.trail = etx_pool_take(pool, count * sizeof *s.trail);
  s.seen = etx_pool_take(pool, seen_size * sizeof *s.seen);
  s.options = etx_pool_take(pool, s.option_capacity * sizeof *s.options);
  if (s.waiting_for == NULL || s.in_region == NULL || s.position == NULL ||
      s.ready == NULL || s.ready_index == NULL || s.decisions == NULL ||
      s.trail == NULL || s.seen == NULL || s.options == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  *out_search = s;
  return ETX_OK;
}

// A set's hash is the sum of its items' hashes. If two sets had the same hash,
// an order could be missed, but no wrong order could be found.
static uint64_t item_hash(uint32_t item) {
  uint64_t z = (item + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

// Adds the set of items that have run; true if it was explored before.
static bool was_seen(etx_schedule_search* s) {
  const uint64_t wanted = s->hash == 0 ? 1 : s->hash;  // 0: an empty entry
  size_t at = (size_t)wanted & (s->seen_size - 1);
  while (s->seen[at] != 0) {
    if (s->seen[at] == wanted) return true;
    at = (at + 1) & (s->seen_size - 1);
  }
  s->seen[at] = wanted;
  return false;
}

// ---------------------------------------------------------------- moves

static void add_ready(etx_schedule_search* s, uint32_t item) {
  s->ready_index[item] = (uint32_t)s->ready_count;
  s->ready[s->ready_count++] = item;
}

static void drop_ready(etx_schedule_search* s, uint32_t item) {
  const uint32_t moved = s->ready[--s->ready_count];
  s->ready[s->ready_index[item]] = moved;
  s->ready_index[moved] = s->ready_index[item];
}

static void run(etx_schedule_search* s, uint32_t item) {
  const etx_schedule_lists* const after = &s->simulator->problem->successors;
  etx_live_bytes_run(s->simulator, item);
  s->hash += item_hash(item);
  s->trail[s->done++] = item;
  drop_ready(s, item);
  for (uint32_t k = after->starts[item]; k < after->starts[item + 1]; ++k) {
    const uint32_t next = after->entries[k];
    if (s->in_region[next] && --s->waiting_for[next] == 0) add_ready(s, next);
  }
}

static void undo(etx_schedule_search* s) {
  const etx_schedule_lists* const after = &s->simulator->problem->successors;
  const uint32_t item = s->trail[--s->done];
  for (uint32_t k = after->starts[item]; k < after->starts[item + 1]; ++k) {
    const uint32_t next = after->entries[k];
    if (s->in_region[next] && s->waiting_for[next]++ == 0) drop_ready(s, next);
  }
  add_ready(s, item);
  s->hash -= item_hash(item);
  etx_live_bytes_undo(s->simulator, item);
}

static bool spend(etx_schedule_search* s) {
  if (s->steps == 0) return false;
  --s->steps;
  return true;
}

// Runs ready items that do not increase the live bytes, until there are none.
static bool run_free(etx_schedule_search* s) {
  for (size_t i = 0; i < s->ready_count;) {
    const uint32_t item = s->ready[i];
    if (!spend(s)) return false;
    const etx_live_bytes_cost cost = etx_live_bytes_cost_of(s->simulator, item);
    if (cost.after <= s->simulator->live && cost.step <= s->limit) {
      run(s, item);
      i = 0;
    } else {
      ++i;
    }
  }
  return true;
}

// ---------------------------------------------------------------- decisions

static bool comes_before(const etx_schedule_search* s, uint32_t a, uint32_t b) {
  const etx_live_bytes_cost x = etx_live_bytes_cost_of(s->simulator, a);
  const etx_live_bytes_cost y = etx_live_bytes_cost_of(s->simulator, b);
  if (x.after != y.after) return x.after < y.after;
  if (x.step != y.step) return x.step < y.step;
  return s->position[a] < s->position[b];
}

// Lists the items that could run next, the cheapest first.
static bool list_options(etx_schedule_search* s, decision* c) {
  *c = (decision){s->done, s->option_count, s->option_count, 0};
  for (size_t i = 0; i < s->ready_count; ++i) {
    const uint32_t item = s->ready[i];
    if (!spend(s)) return false;
    if (etx_live_bytes_cost_of(s->simulator, item).step > s->limit) continue;
    if (s->option_count == s->option_capacity) {
      s->is_incomplete = true;
      break;
    }
    size_t at = s->option_count++;
    while (at > c->first_option && comes_before(s, item, s->options[at - 1])) {
      if (!spend(s)) return false;
      s->options[at] = s->options[at - 1];
      --at;
    }
    s->options[at] = item;
  }
  c->end_option = s->option_count;
  return true;
}

static void enter_region(etx_schedule_search* s, size_t first, size_t last) {
  const etx_schedule_lists* const after = &s->simulator->problem->successors;
  for (size_t i = first; i < last; ++i) {
    s->in_region[s->items[i]] = true;
    s->position[s->items[i]] = (uint32_t)i;
  }
  for (size_t i = first; i < last; ++i) {
    const uint32_t item = s->items[i];
    for (uint32_t k = after->starts[item]; k < after->starts[item + 1]; ++k) {
      if (s->in_region[after->entries[k]]) ++s->waiting_for[after->entries[k]];
    }
  }
  s->ready_count = 0;
  for (size_t i = first; i < last; ++i) {
    if (s->waiting_for[s->items[i]] == 0) add_ready(s, s->items[i]);
  }
  s->done = 0;
  s->hash = 0;
  s->option_count = 0;
  s->is_incomplete = false;
}

static void leave_region(etx_schedule_search* s, size_t first, size_t last) {
  while (s->done != 0) undo(s);
  for (size_t i = first; i < last; ++i) {
    s->in_region[s->items[i]] = false;
    s->waiting_for[s->items[i]] = 0;
  }
}

// Goes back to the last decision with untried candidates and takes the next
// one; false if there is none.
static bool backtrack(etx_schedule_search* s, size_t* depth) {
  while (*depth != 0) {
    decision* const c = &s->decisions[*depth - 1];
    while (s->done > c->done) undo(s);
    if (c->next_option < c->end_option) {
      run(s, s->options[c->next_option++]);
      return true;
    }
    s->option_count = c->first_option;
    --*depth;
  }
  return false;
}

static etx_schedule_search_result search(etx_schedule_search* s, size_t count) {
  size_t depth = 0;
  for (;;) {
    if (!run_free(s)) return ETX_SCHEDULE_GAVE_UP;
    if (s->done == count) return ETX_SCHEDULE_FOUND;
    if (!spend(s)) return ETX_SCHEDULE_GAVE_UP;
    if (!was_seen(s)) {
      if (!list_options(s, &s->decisions[depth])) return ETX_SCHEDULE_GAVE_UP;
      ++depth;
    }
    if (!backtrack(s, &depth)) {
      return s->is_incomplete ? ETX_SCHEDULE_GAVE_UP : ETX_SCHEDULE_IMPOSSIBLE;
    }
  }
}

etx_schedule_search_result etx_schedule_search_region(
    etx_schedule_search* search_state, size_t first, size_t last,
    uint64_t limit, uint64_t* steps) {
  etx_schedule_search* const s = search_state;
  s->limit = limit;
  s->steps = *steps;
  s->seen_size = table_size(*steps);
  memset(s->seen, 0, s->seen_size * sizeof *s->seen);
  enter_region(s, first, last);
  const etx_schedule_search_result result = search(s, last - first);
  uint32_t* const region = &s->items[first];
  if (result == ETX_SCHEDULE_FOUND) {
    memcpy(s->position, s->trail, (last - first) * sizeof *s->trail);
  }
  leave_region(s, first, last);
  if (result == ETX_SCHEDULE_FOUND) {
    memcpy(region, s->position, (last - first) * sizeof *region);
  }
  *steps = s->steps;
  return result;
}
