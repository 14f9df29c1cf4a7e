#include "exporter/schedule/schedule_search.h"

#include <string.h>

// A decision: its candidates, and how much was done before.
typedef struct etx_schedule_choice {
  size_t done;          // items on the trail
  size_t first_option;  // candidates [next_option, end of options at that time)
  size_t next_option;
  size_t end_option;
} choice;

// Every set costs a step, so this is never more than half full.
static size_t table_size(uint64_t steps) {
  size_t size = 64;
  while (size / 2 < steps) size *= 2;
  return size;
}

etx_status etx_schedule_search_open(etx_pool* pool, etx_live_bytes* walk,
                                    uint32_t* items, uint64_t max_steps,
                                    etx_schedule_search* out_search) {
  const size_t count = walk->problem->item_count;
  etx_schedule_search s = {.walk = walk, .items = items};
  const size_t seen_size = table_size(max_steps);
  s.option_capacity = 16 * count + 4096;
  s.waits = etx_pool_take(pool, count * sizeof *s.waits);
  s.is_inside = etx_pool_take(pool, count);
  s.position = etx_pool_take(pool, count * sizeof *s.position);
  s.ready = etx_pool_take(pool, count * sizeof *s.ready);
  s.place = etx_pool_take(pool, count * sizeof *s.place);
  s.choices = etx_pool_take(pool, (count + 1) * sizeof *s.choices);
  s.trail = etx_pool_take(pool, count * sizeof *s.trail);
  s.seen = etx_pool_take(pool, seen_size * sizeof *s.seen);
  s.options = etx_pool_take(pool, s.option_capacity * sizeof *s.options);
  if (s.waits == NULL || s.is_inside == NULL || s.position == NULL ||
      s.ready == NULL || s.place == NULL || s.choices == NULL ||
      s.trail == NULL || s.seen == NULL || s.options == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  *out_search = s;
  return ETX_OK;
}

// Sets are told apart by the sum of their items' numbers, which are spread over
// 64 bits. Two sets with one sum would only hide an order, never break one.
static uint64_t number_of(uint32_t item) {
  uint64_t z = (item + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

// True if the set was there already.
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
  s->place[item] = (uint32_t)s->ready_count;
  s->ready[s->ready_count++] = item;
}

static void drop_ready(etx_schedule_search* s, uint32_t item) {
  const uint32_t moved = s->ready[--s->ready_count];
  s->ready[s->place[item]] = moved;
  s->place[moved] = s->place[item];
}

static void run(etx_schedule_search* s, uint32_t item) {
  const etx_schedule_lists* const after = &s->walk->problem->after;
  etx_live_bytes_run(s->walk, item);
  s->hash += number_of(item);
  s->trail[s->done++] = item;
  drop_ready(s, item);
  for (uint32_t k = after->starts[item]; k < after->starts[item + 1]; ++k) {
    const uint32_t next = after->entries[k];
    if (s->is_inside[next] && --s->waits[next] == 0) add_ready(s, next);
  }
}

static void undo(etx_schedule_search* s) {
  const etx_schedule_lists* const after = &s->walk->problem->after;
  const uint32_t item = s->trail[--s->done];
  for (uint32_t k = after->starts[item]; k < after->starts[item + 1]; ++k) {
    const uint32_t next = after->entries[k];
    if (s->is_inside[next] && s->waits[next]++ == 0) drop_ready(s, next);
  }
  add_ready(s, item);
  s->hash -= number_of(item);
  etx_live_bytes_undo(s->walk, item);
}

static bool spend(etx_schedule_search* s) {
  if (s->steps == 0) return false;
  --s->steps;
  return true;
}

// Runs what costs nothing, until nothing does.
static bool run_free(etx_schedule_search* s) {
  for (size_t i = 0; i < s->ready_count;) {
    const uint32_t item = s->ready[i];
    if (!spend(s)) return false;
    const etx_live_bytes_cost cost = etx_live_bytes_cost_of(s->walk, item);
    if (cost.after <= s->walk->live && cost.step <= s->limit) {
      run(s, item);
      i = 0;
    } else {
      ++i;
    }
  }
  return true;
}

// ---------------------------------------------------------------- choices

static bool comes_before(const etx_schedule_search* s, uint32_t a, uint32_t b) {
  const etx_live_bytes_cost x = etx_live_bytes_cost_of(s->walk, a);
  const etx_live_bytes_cost y = etx_live_bytes_cost_of(s->walk, b);
  if (x.after != y.after) return x.after < y.after;
  if (x.step != y.step) return x.step < y.step;
  return s->position[a] < s->position[b];
}

// Lists what could run next, the cheapest first.
static bool list_options(etx_schedule_search* s, choice* c) {
  *c = (choice){s->done, s->option_count, s->option_count, 0};
  for (size_t i = 0; i < s->ready_count; ++i) {
    const uint32_t item = s->ready[i];
    if (!spend(s)) return false;
    if (etx_live_bytes_cost_of(s->walk, item).step > s->limit) continue;
    if (s->option_count == s->option_capacity) {
      s->was_cut = true;
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

static void open_stretch(etx_schedule_search* s, size_t first, size_t last) {
  const etx_schedule_lists* const after = &s->walk->problem->after;
  for (size_t i = first; i < last; ++i) {
    s->is_inside[s->items[i]] = true;
    s->position[s->items[i]] = (uint32_t)i;
  }
  for (size_t i = first; i < last; ++i) {
    const uint32_t item = s->items[i];
    for (uint32_t k = after->starts[item]; k < after->starts[item + 1]; ++k) {
      if (s->is_inside[after->entries[k]]) ++s->waits[after->entries[k]];
    }
  }
  s->ready_count = 0;
  for (size_t i = first; i < last; ++i) {
    if (s->waits[s->items[i]] == 0) add_ready(s, s->items[i]);
  }
  s->done = 0;
  s->hash = 0;
  s->option_count = 0;
  s->was_cut = false;
}

static void close_stretch(etx_schedule_search* s, size_t first, size_t last) {
  while (s->done != 0) undo(s);
  for (size_t i = first; i < last; ++i) {
    s->is_inside[s->items[i]] = false;
    s->waits[s->items[i]] = 0;
  }
}

// Goes back to the last choice that has something left; false if none has.
static bool go_back(etx_schedule_search* s, size_t* depth) {
  while (*depth != 0) {
    choice* const c = &s->choices[*depth - 1];
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

static etx_schedule_search_answer search(etx_schedule_search* s, size_t count) {
  size_t depth = 0;
  for (;;) {
    if (!run_free(s)) return ETX_SCHEDULE_GAVE_UP;
    if (s->done == count) return ETX_SCHEDULE_FOUND;
    if (!spend(s)) return ETX_SCHEDULE_GAVE_UP;
    if (!was_seen(s)) {
      if (!list_options(s, &s->choices[depth])) return ETX_SCHEDULE_GAVE_UP;
      ++depth;
    }
    if (!go_back(s, &depth)) {
      return s->was_cut ? ETX_SCHEDULE_GAVE_UP : ETX_SCHEDULE_IMPOSSIBLE;
    }
  }
}

etx_schedule_search_answer etx_schedule_search_region(
    etx_schedule_search* search_state, size_t first, size_t last,
    uint64_t limit, uint64_t* steps) {
  etx_schedule_search* const s = search_state;
  s->limit = limit;
  s->steps = *steps;
  s->seen_size = table_size(*steps);
  memset(s->seen, 0, s->seen_size * sizeof *s->seen);
  open_stretch(s, first, last);
  const etx_schedule_search_answer answer = search(s, last - first);
  uint32_t* const stretch = &s->items[first];
  if (answer == ETX_SCHEDULE_FOUND) {
    memcpy(s->position, s->trail, (last - first) * sizeof *s->trail);
  }
  close_stretch(s, first, last);
  if (answer == ETX_SCHEDULE_FOUND) {
    memcpy(stretch, s->position, (last - first) * sizeof *stretch);
  }
  *steps = s->steps;
  return answer;
}
