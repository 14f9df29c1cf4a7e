#include "tests/cli/verify/shadow_regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REGIONS = 64 };

static shadow_method* find_method(shadow_memory* s, etx_text name) {
  for (size_t i = 0; i < s->method_count; ++i) {
    if (etx_text_equal(s->methods[i].name, name)) return &s->methods[i];
  }
  fprintf(stderr, "shadow regions: there is no method %.*s\n", (int)name.size,
          name.data);
  exit(1);
}

static byte_verdict open_refused(void) {
  byte_verdict refused = {.is_wrong = true};
  snprintf(refused.why, sizeof refused.why, "the file cannot be opened");
  return refused;
}

// ---- runs ----

static uint64_t next_random(uint64_t* state) {
  *state =
      *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

// The region that runs its next step: its number, among those with steps left.
static size_t choose(uint64_t order, uint64_t* state, const size_t* left,
                     size_t turn) {
  size_t region = MOST_REGIONS - 1;
  if (order == 1) {
    while (left[region] == 0) --region;
    return region;
  }
  region = order == 2 ? turn % MOST_REGIONS : next_random(state) % MOST_REGIONS;
  while (left[region] == 0) region = (region + 1) % MOST_REGIONS;
  return region;
}

// Writes the steps [first, end) of a group to `out` in one possible order.
static void order_group(const etx_verify_schedule* schedule, size_t first,
                        size_t end, uint64_t order, size_t* out) {
  size_t left[MOST_REGIONS] = {0}, next[MOST_REGIONS];
  uint64_t state = order;
  size_t turn = 0;
  for (size_t r = 0; r < MOST_REGIONS; ++r) next[r] = first;
  for (size_t i = first; i < end; ++i) ++left[schedule->steps[i].region];
  for (size_t at = first; at < end; ++at) {
    const size_t region = choose(order, &state, left, turn);
    while (schedule->steps[next[region]].region != region) ++next[region];
    out[at] = next[region]++;
    --left[region];
    turn = region + 1;
  }
}

static size_t* order_steps(const etx_verify_schedule* schedule,
                           uint64_t order) {
  size_t* const out = calloc(schedule->step_count + 1, sizeof *out);
  for (size_t i = 0; i < schedule->step_count;) {
    const size_t end = schedule->steps[i].group_end;
    out[i] = i;
    if (end == 0 || order == 0) {
      ++i;
      continue;
    }
    order_group(schedule, i, end, order, out);
    i = end;
  }
  return out;
}

byte_verdict shadow_regions_run(etx_bytes file,
                                const etx_verify_schedule* schedule,
                                uint64_t order) {
  shadow_memory s;
  if (!shadow_memory_open(&s, file)) return open_refused();
  shadow_method* const m = find_method(&s, schedule->method);
  size_t* const steps = order_steps(schedule, order);
  shadow_execution_enter(&s, m);
  for (size_t i = 0; i < schedule->step_count; ++i) {
    const etx_pte_instruction at = etx_pte_instruction_at(
        &m->plan, 0, schedule->steps[steps[i]].instruction);
    shadow_execution_call(&s, m, &at);
  }
  shadow_execution_leave(&s, m);
  const byte_verdict verdict = s.verdict;
  free(steps);
  shadow_memory_close(&s);
  return verdict;
}

// ---- shared bytes ----

// For one byte of a group: the regions that read it and those that write it.
typedef struct byte_users {
  uint64_t readers, writers;
} byte_users;

typedef struct arena_users {
  byte_users* bytes[BYTE_MAX_ARENAS];
} arena_users;

static byte_users* users_of(const shadow_memory* s, const arena_users* users,
                            const byte_slot* slot) {
  for (size_t a = 1; a < BYTE_MAX_ARENAS; ++a) {
    if (slot->at.memory == s->arenas[a]) return users->bytes[a];
  }
  return NULL;
}

// Several bits are set in `all`, and one of them is in `writers`.
static bool is_contested(byte_users at) {
  const uint64_t all = at.readers | at.writers;
  return at.writers != 0 && (all & (all - 1)) != 0;
}

static bool note(const shadow_memory* s, const shadow_method* m,
                 arena_users* users, uint32_t value, size_t region,
                 bool is_written) {
  const byte_slot* const slot = &m->slots[value];
  byte_users* const bytes = users_of(s, users, slot);
  bool is_shared = false;
  if (bytes == NULL) return false;
  for (size_t i = 0; i < slot->bytes; ++i) {
    if (slot->at.offset + i >= slot->at.limit) break;
    byte_users* const at = &bytes[slot->at.offset + i];
    if (is_written) {
      at->writers |= UINT64_C(1) << region;
    } else {
      at->readers |= UINT64_C(1) << region;
    }
    is_shared |= is_contested(*at);
  }
  return is_shared;
}

static bool note_call(const shadow_memory* s, const shadow_method* m,
                      arena_users* users, const etx_verify_region_step* step) {
  const etx_pte_instruction call =
      etx_pte_instruction_at(&m->plan, 0, step->instruction);
  const etx_pte_operator name =
      etx_pte_operator_at(&m->plan, (size_t)call.index);
  shadow_touched t = {0};
  bool is_shared = false;
  shadow_execution_touch(m, etx_op_find(name.name, name.overload), &call, &t);
  for (size_t i = 0; i < t.read_count; ++i) {
    is_shared |= note(s, m, users, t.reads[i], step->region, false);
  }
  for (size_t i = 0; i < t.write_count; ++i) {
    is_shared |= note(s, m, users, t.writes[i], step->region, true);
  }
  return is_shared;
}

static bool find_shared(const shadow_memory* s, const shadow_method* m,
                        const etx_verify_schedule* schedule) {
  arena_users users;
  bool is_shared = false;
  size_t group = 0;
  for (size_t a = 0; a < BYTE_MAX_ARENAS; ++a) {
    users.bytes[a] = calloc(s->arena_bytes[a] + 1, sizeof *users.bytes[a]);
  }
  for (size_t i = 0; i < schedule->step_count; ++i) {
    const etx_verify_region_step* const step = &schedule->steps[i];
    if (step->group_end == 0) continue;
    for (size_t a = 0; step->group_end != group && a < BYTE_MAX_ARENAS; ++a) {
      memset(users.bytes[a], 0, s->arena_bytes[a] * sizeof *users.bytes[a]);
    }
    group = step->group_end;
    is_shared |= note_call(s, m, &users, step);
  }
  for (size_t a = 0; a < BYTE_MAX_ARENAS; ++a) free(users.bytes[a]);
  return is_shared;
}

byte_verdict shadow_regions_compare(etx_bytes file,
                                    const etx_verify_schedule* schedule,
                                    bool* out_is_shared) {
  shadow_memory s;
  *out_is_shared = false;
  if (!shadow_memory_open(&s, file)) return open_refused();
  const shadow_method* const m = find_method(&s, schedule->method);
  *out_is_shared = find_shared(&s, m, schedule);
  byte_verdict verdict = s.verdict;
  if (*out_is_shared) {
    verdict.is_wrong = true;
    snprintf(verdict.why, sizeof verdict.why,
             "two regions share a byte that one of them writes");
  }
  shadow_memory_close(&s);
  return verdict;
}
