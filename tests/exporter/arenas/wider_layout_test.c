// Plans of random problems, widened: blocks that are in use together keep their
// order and share no byte, no order is new, and so the bytes at any sizes are
// at most those of the plan that was widened.

#include "exporter/arenas/wider_layout.h"

#include "format/base/block_layout.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

enum { MAX_BLOCKS = 30, PROBLEMS = 200, SIZES = 5, ALIGNMENT = 16 };

typedef struct random_layout {
  uint64_t offsets[MAX_BLOCKS];
  size_t bytes[MAX_BLOCKS];
} random_layout;

typedef struct fixture {
  etx_pool pool;
  etx_plan_block blocks[MAX_BLOCKS];
  etx_plan_problem problem;
} fixture;

static void make_problem(fixture* f) {
  etx_pool_init(&f->pool);
  const size_t count = (size_t)test_random_integer(1, MAX_BLOCKS);
  for (size_t i = 0; i < count; ++i) {
    const int64_t start = test_random_integer(0, 20);
    f->blocks[i] =
        (etx_plan_block){.size = (uint64_t)test_random_integer(1, 300),
                         .alignment = ALIGNMENT,
                         .start = (uint32_t)start,
                         .end = (uint32_t)(start + test_random_integer(1, 8)),
                         .fixed = ETX_PLAN_FREE};
  }
  f->problem = (etx_plan_problem){.blocks = f->blocks, .block_count = count};
}

static void solve(fixture* f, random_layout* plan) {
  const size_t bytes = etx_plan_needed(&f->problem);
  void* const work = etx_pool_take(&f->pool, bytes);
  assert_non_null(work);
  etx_arena arena;
  etx_arena_init(&arena, work, bytes);
  etx_plan_solution solution = {.offsets = plan->offsets};
  assert_int_equal(etx_plan_solve(&f->problem, NULL, &arena, &solution, NULL),
                   ETX_OK);
  for (size_t i = 0; i < f->problem.block_count; ++i) {
    plan->bytes[i] = (size_t)f->blocks[i].size;
  }
}

static bool are_together(const etx_plan_block* a, const etx_plan_block* b) {
  return a->start < b->end && b->start < a->end;
}

static bool is_below(const random_layout* l, size_t a, size_t b) {
  return l->offsets[a] + l->bytes[a] <= l->offsets[b];
}

static bool is_old_start(const fixture* f, const random_layout* plan,
                         uint64_t start) {
  for (size_t i = 0; i < f->problem.block_count; ++i) {
    if (plan->offsets[i] == start) return true;
  }
  return start == 0;
}

static void check_orders(const fixture* f, const random_layout* plan,
                         const random_layout* wide) {
  for (size_t a = 0; a < f->problem.block_count; ++a) {
    assert_true(wide->offsets[a] <= plan->offsets[a]);
    assert_true(wide->offsets[a] + wide->bytes[a] >=
                plan->offsets[a] + plan->bytes[a]);
    assert_true(is_old_start(f, plan, wide->offsets[a]));
    for (size_t b = 0; b < f->problem.block_count; ++b) {
      if (are_together(&f->blocks[a], &f->blocks[b])) {
        assert_int_equal(is_below(wide, a, b), is_below(plan, a, b));
      } else if (is_below(wide, a, b)) {
        assert_true(is_below(plan, a, b));
      }
    }
  }
}

static size_t place(const fixture* f, const random_layout* l,
                    const size_t* sizes) {
  etx_layout_block blocks[MAX_BLOCKS] = {{0}};
  const size_t count = f->problem.block_count;
  for (size_t i = 0; i < count; ++i) {
    blocks[i].start = (size_t)l->offsets[i];
    blocks[i].end = (size_t)l->offsets[i] + l->bytes[i];
    blocks[i].bytes = sizes[i];
  }
  etx_blocks_sort(blocks, count);
  const size_t used = etx_blocks_place(blocks, count, ALIGNMENT);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      if (a == b || !are_together(&f->blocks[a], &f->blocks[b])) continue;
      assert_true(blocks[a].placed + blocks[a].bytes <= blocks[b].placed ||
                  blocks[b].placed + blocks[b].bytes <= blocks[a].placed);
    }
  }
  return used;
}

static void check_sizes(const fixture* f, const random_layout* plan,
                        const random_layout* wide) {
  size_t sizes[MAX_BLOCKS];
  for (size_t round = 0; round < SIZES; ++round) {
    for (size_t i = 0; i < f->problem.block_count; ++i) {
      const int64_t most = (int64_t)f->blocks[i].size;
      sizes[i] =
          round == 0 ? (size_t)most : (size_t)test_random_integer(0, most);
    }
    assert_true(place(f, wide, sizes) <= place(f, plan, sizes));
  }
}

static void keeps_orders_of_blocks_in_use_together(void** state) {
  (void)state;
  test_random_start();
  for (size_t i = 0; i < PROBLEMS; ++i) {
    fixture f;
    random_layout plan;
    make_problem(&f);
    solve(&f, &plan);
    random_layout wide = plan;
    assert_int_equal(
        etx_layout_widen(&f.pool, &f.problem, wide.offsets, wide.bytes),
        ETX_OK);
    check_orders(&f, &plan, &wide);
    check_sizes(&f, &plan, &wide);
    etx_pool_close(&f.pool);
  }
}

// The block at the top is alone at its time, and so are the others.
static void blocks_that_are_alone_lie_above_nothing(void** state) {
  (void)state;
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_plan_block blocks[3] = {{.size = 32, .start = 0, .end = 2},
                                    {.size = 32, .start = 1, .end = 2},
                                    {.size = 32, .start = 2, .end = 3}};
  const etx_plan_problem problem = {.blocks = blocks, .block_count = 3};
  uint64_t offsets[3] = {0, 32, 64};
  size_t bytes[3] = {32, 32, 32};
  assert_int_equal(etx_layout_widen(&pool, &problem, offsets, bytes), ETX_OK);
  assert_int_equal(offsets[0], 0);
  assert_int_equal(bytes[0], 32);
  assert_int_equal(offsets[1], 32);
  assert_int_equal(bytes[1], 96);  // to the top, a multiple of 64
  assert_int_equal(offsets[2], 0);
  assert_int_equal(bytes[2], 128);
  etx_pool_close(&pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_orders_of_blocks_in_use_together),
      cmocka_unit_test(blocks_that_are_alone_lie_above_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
