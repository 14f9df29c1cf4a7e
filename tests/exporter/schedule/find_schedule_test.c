// The scheduler on graphs whose orders can all be tried, on graphs with a known
// minimal peak, and on large ones.
//
// The live bytes are computed here independently, from the definition: each
// block is live between its first and its last item.

#include "exporter/schedule/find_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 9, MAX_BLOCKS = 12, STEPS = 400000 };

// A problem that is built item by item.
typedef struct problem_builder {
  etx_schedule_block* blocks;
  size_t block_count;
  uint32_t *touch_starts, *touches, *after_starts, *after, *take_starts, *takes;
  uint32_t* results;
  uint64_t* transients;
  uint32_t (*edges)[2];
  size_t edge_count, touch_count, take_count, item_count;
} problem_builder;

static void* zeroed(size_t count, size_t size) {
  void* const memory = calloc(count + 1, size);
  assert_non_null(memory);
  return memory;
}

static problem_builder* builder_new(size_t items, size_t blocks,
                                    size_t entries) {
  problem_builder* const s = zeroed(1, sizeof *s);
  s->blocks = zeroed(blocks, sizeof *s->blocks);
  s->touch_starts = zeroed(items + 1, sizeof(uint32_t));
  s->after_starts = zeroed(items + 1, sizeof(uint32_t));
  s->take_starts = zeroed(items + 1, sizeof(uint32_t));
  s->touches = zeroed(entries, sizeof(uint32_t));
  s->takes = zeroed(entries, sizeof(uint32_t));
  s->after = zeroed(entries, sizeof(uint32_t));
  s->edges = zeroed(entries, sizeof *s->edges);
  s->results = zeroed(items, sizeof(uint32_t));
  s->transients = zeroed(items, sizeof(uint64_t));
  return s;
}

static void builder_free(problem_builder* s) {
  free(s->blocks);
  free(s->touch_starts);
  free(s->after_starts);
  free(s->take_starts);
  free(s->touches);
  free(s->takes);
  free(s->after);
  free(s->edges);
  free(s->results);
  free(s->transients);
  free(s);
}

static uint32_t block(problem_builder* s, uint64_t bytes, bool before,
                      bool after) {
  s->blocks[s->block_count] = (etx_schedule_block){bytes, before, after};
  return (uint32_t)s->block_count++;
}

static void touch(problem_builder* s, uint32_t b) {
  s->touches[s->touch_count++] = b;
}

// Ends the item that the last touches belong to.
static uint32_t item(problem_builder* s) {
  const size_t i = s->item_count++;
  s->results[i] = ETX_SCHEDULE_NONE;
  s->touch_starts[i + 1] = (uint32_t)s->touch_count;
  s->take_starts[i + 1] = (uint32_t)s->take_count;
  return (uint32_t)i;
}

static void edge(problem_builder* s, uint32_t from, uint32_t to) {
  s->edges[s->edge_count][0] = from;
  s->edges[s->edge_count++][1] = to;
}

static etx_schedule_problem problem_of(problem_builder* s) {
  uint32_t* const next = zeroed(s->item_count, sizeof *next);
  memset(s->after_starts, 0, (s->item_count + 1) * sizeof(uint32_t));
  for (size_t e = 0; e < s->edge_count; ++e) {
    ++s->after_starts[s->edges[e][0] + 1];
  }
  for (size_t i = 0; i < s->item_count; ++i) {
    s->after_starts[i + 1] += s->after_starts[i];
    next[i] = s->after_starts[i];
  }
  for (size_t e = 0; e < s->edge_count; ++e) {
    s->after[next[s->edges[e][0]]++] = s->edges[e][1];
  }
  free(next);
  return (etx_schedule_problem){.blocks = s->blocks,
                                .block_count = s->block_count,
                                .item_count = s->item_count,
                                .touches = {s->touch_starts, s->touches},
                                .successors = {s->after_starts, s->after},
                                .reusable = {s->take_starts, s->takes},
                                .results = s->results,
                                .transients = s->transients};
}

// ---- the definition ----

// Most bytes live at once, from the positions of all touches.
static uint64_t peak_by_definition(const problem_builder* s,
                                   const uint32_t* order) {
  size_t first[MAX_BLOCKS], last[MAX_BLOCKS];
  size_t taken[MAX_BLOCKS];  // position where the block moves into another
  uint64_t peak = 0;
  for (size_t b = 0; b < s->block_count; ++b) {
    first[b] = s->blocks[b].is_live_before ? 0 : SIZE_MAX;
    last[b] = s->blocks[b].is_live_after ? s->item_count : 0;
    taken[b] = SIZE_MAX;
    for (size_t at = 0; at < s->item_count; ++at) {
      for (uint32_t k = s->touch_starts[order[at]];
           k < s->touch_starts[order[at] + 1]; ++k) {
        if (s->touches[k] != b) continue;
        if (first[b] == SIZE_MAX) first[b] = at;
        if (last[b] < at) last[b] = at;
      }
    }
  }
  for (size_t at = 0; at < s->item_count; ++at) {
    const uint32_t i = order[at];
    for (uint32_t k = s->take_starts[i]; k < s->take_starts[i + 1]; ++k) {
      const uint32_t from = s->takes[k];
      if (last[from] == at && first[s->results[i]] == at) {
        taken[s->results[i]] = at;
      }
    }
  }
  for (size_t at = 0; at <= s->item_count; ++at) {
    uint64_t live = at < s->item_count ? s->transients[order[at]] : 0;
    for (size_t b = 0; b < s->block_count; ++b) {
      if (first[b] <= at && at <= last[b] && taken[b] != at) {
        live += s->blocks[b].bytes;
      }
    }
    if (live > peak) peak = live;
  }
  return peak;
}

static bool is_valid(const problem_builder* s, const uint32_t* order) {
  size_t* const position = zeroed(s->item_count, sizeof *position);
  bool valid = true;
  for (size_t at = 0; at < s->item_count; ++at) position[order[at]] = at + 1;
  for (size_t i = 0; i < s->item_count; ++i) valid &= position[i] != 0;
  for (size_t e = 0; e < s->edge_count; ++e) {
    valid &= position[s->edges[e][0]] < position[s->edges[e][1]];
  }
  free(position);
  return valid;
}

// The least peak of all orders, by trying them.
static uint64_t least_peak(const problem_builder* s) {
  uint32_t order[MAX_ITEMS];
  bool used[MAX_ITEMS] = {false};
  size_t depth = 0;
  uint64_t least = UINT64_MAX;
  uint32_t next[MAX_ITEMS + 1] = {0};
  for (;;) {
    if (depth == s->item_count) {
      const uint64_t peak = peak_by_definition(s, order);
      if (peak < least) least = peak;
    }
    uint32_t i = depth == s->item_count ? MAX_ITEMS : next[depth];
    for (; i < s->item_count; ++i) {
      bool ready = !used[i];
      for (size_t e = 0; e < s->edge_count; ++e) {
        if (s->edges[e][1] == i && !used[s->edges[e][0]]) ready = false;
      }
      if (ready) break;
    }
    if (i < s->item_count) {
      next[depth] = i + 1;
      order[depth++] = i;
      used[i] = true;
      next[depth] = 0;
      continue;
    }
    if (depth == 0) return least;
    used[order[--depth]] = false;
  }
}

// Finds an order and compares its peak with the definition.
static etx_schedule_result solved(problem_builder* s) {
  etx_pool pool;
  etx_schedule_result result;
  uint32_t given[MAX_ITEMS];
  const etx_schedule_problem problem = problem_of(s);
  etx_pool_init(&pool);
  assert_int_equal(etx_schedule_find(&pool, &problem, STEPS, &result), ETX_OK);
  assert_true(is_valid(s, result.items));
  assert_true(result.bound <= result.peak);
  assert_true(result.peak <= result.given_peak);
  if (s->item_count <= MAX_ITEMS) {
    for (uint32_t i = 0; i < s->item_count; ++i) given[i] = i;
    assert_int_equal(result.given_peak, peak_by_definition(s, given));
    assert_int_equal(result.peak, peak_by_definition(s, result.items));
  }
  etx_pool_close(&pool);
  result.items = NULL;
  return result;
}

// splitmix64
static uint64_t numbers;

static uint32_t below(uint32_t count) {
  uint64_t z = numbers += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((z ^ (z >> 31)) % count);
}

// ---- graphs by hand ----

static void branches_are_finished_one_after_the_other(void** state) {
  (void)state;
  // Four branches of a large and a small block, all large ones first.
  problem_builder* const s = builder_new(9, 8, 40);
  uint32_t large[4], small[4], maker[4], user[4];
  for (size_t i = 0; i < 4; ++i) {
    large[i] = block(s, 100, false, false);
    touch(s, large[i]);
    maker[i] = item(s);
  }
  for (size_t i = 0; i < 4; ++i) {
    small[i] = block(s, 1, false, false);
    touch(s, large[i]);
    touch(s, small[i]);
    user[i] = item(s);
    edge(s, maker[i], user[i]);
  }
  for (size_t i = 0; i < 4; ++i) touch(s, small[i]);
  const uint32_t end = item(s);
  for (size_t i = 0; i < 4; ++i) edge(s, user[i], end);

  const etx_schedule_result result = solved(s);
  assert_int_equal(result.given_peak, 401);
  assert_int_equal(result.peak, 104);
  builder_free(s);
}

static void the_branch_that_frees_most_runs_first(void** state) {
  (void)state;
  // 1 + 50 -> 5 in one branch, 40 -> 30 in the other: the first one first,
  // 56 and then 5 + 70; the other way round 30 + 55.
  problem_builder* const s = builder_new(5, 4, 20);
  const uint32_t a = block(s, 40, false, false);
  const uint32_t b = block(s, 30, false, false);
  const uint32_t c = block(s, 50, false, false);
  const uint32_t d = block(s, 5, false, false);
  touch(s, a);
  const uint32_t make_a = item(s);
  touch(s, a), touch(s, b);
  const uint32_t use_a = item(s);
  touch(s, c);
  const uint32_t make_c = item(s);
  touch(s, c), touch(s, d);
  const uint32_t use_c = item(s);
  touch(s, b), touch(s, d);
  const uint32_t end = item(s);
  edge(s, make_a, use_a), edge(s, make_c, use_c);
  edge(s, use_a, end), edge(s, use_c, end);

  const etx_schedule_result result = solved(s);
  assert_int_equal(result.given_peak, 85);
  assert_int_equal(result.peak, 75);
  builder_free(s);
}

static void an_item_runs_just_before_its_user(void** state) {
  (void)state;
  // A mask, made first and read last.
  problem_builder* const s = builder_new(4, 4, 20);
  const uint32_t mask = block(s, 10, false, false);
  const uint32_t wide = block(s, 80, false, false);
  const uint32_t thin = block(s, 8, false, false);
  const uint32_t out = block(s, 8, false, true);
  touch(s, mask);
  const uint32_t first = item(s);
  touch(s, wide);
  const uint32_t widen = item(s);
  touch(s, wide), touch(s, thin);
  const uint32_t shrink = item(s);
  touch(s, thin), touch(s, mask), touch(s, out);
  const uint32_t last = item(s);
  edge(s, widen, shrink), edge(s, shrink, last), edge(s, first, last);

  const etx_schedule_result result = solved(s);
  assert_int_equal(result.given_peak, 98);
  assert_int_equal(result.peak, 88);
  assert_int_equal(result.bound, 88);
  builder_free(s);
}

static void a_result_takes_over_a_dying_operand(void** state) {
  (void)state;
  // x is read by an item that may take it over, and by one that may not.
  problem_builder* const s = builder_new(3, 4, 20);
  const uint32_t x = block(s, 60, true, false);
  const uint32_t y = block(s, 60, false, false);
  const uint32_t z = block(s, 20, false, false);
  const uint32_t out = block(s, 4, false, true);
  touch(s, x), touch(s, y);
  s->takes[s->take_count++] = x;
  const uint32_t changes = item(s);
  s->results[changes] = y;
  touch(s, x), touch(s, z);
  const uint32_t reads = item(s);
  touch(s, y), touch(s, z), touch(s, out);
  const uint32_t end = item(s);
  edge(s, changes, end), edge(s, reads, end);

  const etx_schedule_result result = solved(s);
  assert_int_equal(result.given_peak, 140);  // x and y, then z beside them
  assert_int_equal(result.peak, 84);
  builder_free(s);
}

static void an_optimal_order_is_kept(void** state) {
  (void)state;
  problem_builder* const s = builder_new(MAX_ITEMS, MAX_ITEMS, 40);
  for (uint32_t i = 0; i < MAX_ITEMS; ++i) {
    block(s, 16, false, i + 1 == MAX_ITEMS);
    if (i != 0) touch(s, i - 1), edge(s, i - 1, i);
    touch(s, i);
    item(s);
  }
  etx_pool pool;
  etx_schedule_result result;
  const etx_schedule_problem problem = problem_of(s);
  etx_pool_init(&pool);
  assert_int_equal(etx_schedule_find(&pool, &problem, STEPS, &result), ETX_OK);
  for (uint32_t i = 0; i < MAX_ITEMS; ++i) assert_int_equal(result.items[i], i);
  assert_int_equal(result.peak, 32);
  assert_int_equal(result.steps, 0);
  etx_pool_close(&pool);
  builder_free(s);
}

static void an_empty_problem_has_an_order(void** state) {
  (void)state;
  problem_builder* const s = builder_new(0, 0, 0);
  const etx_schedule_result result = solved(s);
  assert_int_equal(result.peak, 0);
  builder_free(s);
}

static void sizes_that_overflow_keep_the_order(void** state) {
  (void)state;
  problem_builder* const s = builder_new(3, 3, 10);
  for (uint32_t i = 0; i < 3; ++i) {
    touch(s, block(s, UINT64_MAX / 2, false, true));
    item(s);
  }
  etx_pool pool;
  etx_schedule_result result;
  const etx_schedule_problem problem = problem_of(s);
  etx_pool_init(&pool);
  assert_int_equal(etx_schedule_find(&pool, &problem, STEPS, &result), ETX_OK);
  for (uint32_t i = 0; i < 3; ++i) assert_int_equal(result.items[i], i);
  etx_pool_close(&pool);
  builder_free(s);
}

// ---- all orders ----

// Up to eight items; each reads some earlier results, may have a second
// result, may change its argument, or a block that is there all the time.
static problem_builder* random_sketch(void) {
  const size_t items = 3 + below(MAX_ITEMS - 3);
  problem_builder* const s = builder_new(items, MAX_BLOCKS, 200);
  uint32_t maker[MAX_BLOCKS];
  if (below(3) == 0) {
    maker[block(s, 1 + below(20), true, below(2) == 0)] = ETX_SCHEDULE_NONE;
  }
  for (size_t n = 0; n < items; ++n) {
    const size_t had = s->block_count;
    const size_t touched = s->touch_count;
    for (uint32_t b = 0; b < had; ++b) {
      const bool is_first_read = n == 0;  // of what was there before
      if (!is_first_read && below((uint32_t)(1 + had / 2)) != 0) continue;
      touch(s, b);
      if (maker[b] != ETX_SCHEDULE_NONE) edge(s, maker[b], (uint32_t)n);
    }
    const size_t reads = s->touch_count - touched;
    if (had < MAX_BLOCKS && below(8) != 0) {
      uint64_t bytes = 1 + below(30);
      const bool takes = reads != 0 && below(2) == 0;
      const uint32_t from = takes ? s->touches[touched] : 0;
      if (takes) {
        bytes = s->blocks[from].bytes;
        s->takes[s->take_count++] = from;
      }
      const uint32_t made = block(s, bytes, false, below(6) == 0);
      maker[made] = (uint32_t)n;
      touch(s, made);
      item(s);
      if (takes) s->results[n] = made;
    } else {
      item(s);
    }
    if (below(8) == 0) {
      s->transients[n] = below(20);
    }
    if (n != 0 && below(6) == 0) {
      edge(s, (uint32_t)(n - 1), (uint32_t)n);  // as of a state
    }
  }
  return s;
}

static void small_graphs_get_the_least_peak_of_all_orders(void** state) {
  (void)state;
  size_t lowered = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    numbers = seed;
    problem_builder* const s = random_sketch();
    const etx_schedule_result result = solved(s);
    const uint64_t least = least_peak(s);
    if (result.peak != least || result.bound > least) {
      fail_msg("graph %d: peak %d, bound %d, least %d", (int)seed,
               (int)result.peak, (int)result.bound, (int)least);
    }
    lowered += result.peak < result.given_peak;
    builder_free(s);
  }
  assert_true(lowered > 300);
}

// ---- large graphs ----

// Layers of branches of different lengths, written level by level, so that
// all branches of a layer are open at once. `wide` blocks in the middle.
static problem_builder* layers(size_t count) {
  enum { BRANCHES = 4, LENGTH = 5 };
  const size_t per_layer = 1 + BRANCHES * LENGTH;
  const size_t total = count * per_layer + 1;
  problem_builder* const s = builder_new(total, total, 8 * total);
  uint32_t from = block(s, 64, false, false);
  touch(s, from);
  uint32_t before = item(s);
  for (size_t layer = 0; layer < count; ++layer) {
    uint32_t value[BRANCHES], maker[BRANCHES];
    for (size_t b = 0; b < BRANCHES; ++b) value[b] = from, maker[b] = before;
    for (size_t level = 0; level < LENGTH; ++level) {
      for (size_t b = 0; b < BRANCHES; ++b) {
        const uint64_t bytes = level + 1 == LENGTH ? 16 : 256 + 64 * b;
        const uint32_t made = block(s, bytes, false, false);
        touch(s, value[b]);
        touch(s, made);
        const uint32_t now = item(s);
        edge(s, maker[b], now);
        value[b] = made;
        maker[b] = now;
      }
    }
    from = block(s, 64, false, layer + 1 == count);
    for (size_t b = 0; b < BRANCHES; ++b) touch(s, value[b]);
    touch(s, from);
    before = item(s);
    for (size_t b = 0; b < BRANCHES; ++b) edge(s, maker[b], before);
  }
  return s;
}

static void many_layers_of_branches_are_scheduled(void** state) {
  (void)state;
  static const size_t counts[] = {1, 3, 100, 5000};  // 105 001 items at most
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    problem_builder* const s = layers(counts[i]);
    const etx_schedule_result result = solved(s);
    // One block of each branch, and the next one of the widest.
    assert_int_equal(result.given_peak, 256 + 320 + 384 + 2 * 448);
    // The widest branch first, while nothing else is there: two of its blocks
    // and the layer's input.
    // The widest branch last: two of its blocks beside the other results.
    assert_int_equal(result.peak, 3 * 16 + 2 * 448);
    builder_free(s);
  }
}

// Everything at once, and everything in one row.
static void wide_and_deep_graphs_stay_within_the_budget(void** state) {
  (void)state;
  enum { COUNT = 100000 };
  problem_builder* const star = builder_new(COUNT + 1, COUNT + 1, 4 * COUNT);
  for (uint32_t i = 0; i < COUNT; ++i) {
    touch(star, block(star, 16 + i % 7, false, false));
    edge(star, item(star), COUNT);
  }
  for (uint32_t i = 0; i < COUNT; ++i) touch(star, i);
  item(star);
  solved(star);
  builder_free(star);

  problem_builder* const readers = builder_new(COUNT + 1, COUNT + 1, 4 * COUNT);
  touch(readers, block(readers, 1000, false, false));
  item(readers);
  for (uint32_t i = 1; i <= COUNT; ++i) {
    touch(readers, 0);
    touch(readers, block(readers, 16 + i % 7, false, i % 5 == 0));
    edge(readers, 0, item(readers));
  }
  solved(readers);
  builder_free(readers);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(branches_are_finished_one_after_the_other),
      cmocka_unit_test(the_branch_that_frees_most_runs_first),
      cmocka_unit_test(an_item_runs_just_before_its_user),
      cmocka_unit_test(a_result_takes_over_a_dying_operand),
      cmocka_unit_test(an_optimal_order_is_kept),
      cmocka_unit_test(an_empty_problem_has_an_order),
      cmocka_unit_test(sizes_that_overflow_keep_the_order),
      cmocka_unit_test(small_graphs_get_the_least_peak_of_all_orders),
      cmocka_unit_test(many_layers_of_branches_are_scheduled),
      cmocka_unit_test(wide_and_deep_graphs_stay_within_the_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
