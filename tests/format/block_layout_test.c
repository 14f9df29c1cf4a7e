// Random layouts against the three promises of block_layout.h, pair by pair,
// and against the longest path through the constraints.

#include "format/base/block_layout.h"

#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

enum { MAX_BLOCKS = 40, LAYOUTS = 400, SIZES = 10, ALIGNMENT = 16 };

typedef struct layout {
  etx_layout_block blocks[MAX_BLOCKS];
  size_t count;
  size_t planned;  // bytes of the plan
} layout;

// Any plan, also one in which many blocks overlap: which of them are in use
// together does not matter to the layout.
static void make_plan(layout* l) {
  memset(l, 0, sizeof *l);
  l->count = (size_t)test_random_integer(1, MAX_BLOCKS);
  for (size_t i = 0; i < l->count; ++i) {
    etx_layout_block* const block = &l->blocks[i];
    block->start = ALIGNMENT * (size_t)test_random_integer(0, 60);
    block->end = block->start + (size_t)test_random_integer(0, 200);
    if (block->end > l->planned) l->planned = block->end;
  }
  etx_blocks_sort(l->blocks, l->count);
}

static void make_sizes(layout* l) {
  for (size_t i = 0; i < l->count; ++i) {
    etx_layout_block* const block = &l->blocks[i];
    const size_t most = block->end - block->start;
    // Often all or nothing.
    const int64_t kind = test_random_integer(0, 3);
    block->bytes = kind == 0   ? 0
                   : kind == 1 ? most
                               : (size_t)test_random_integer(0, (int64_t)most);
  }
}

static bool is_below(const etx_layout_block* a, const etx_layout_block* b) {
  return a->start < a->end && a->end <= b->start;
}

static void check_pair(const etx_layout_block* a, const etx_layout_block* b) {
  if (is_below(a, b)) assert_true(a->placed + a->bytes <= b->placed);
  if (a->start == b->start) assert_int_equal(a->placed, b->placed);
}

// The smallest start that the blocks below and the plan's first byte allow.
static void check_smallest(const layout* l, const etx_layout_block* block) {
  size_t wanted = SIZE_MAX;
  for (size_t i = 0; i < l->count; ++i) {
    if (l->blocks[i].start < wanted) wanted = l->blocks[i].start;
  }
  for (size_t i = 0; i < l->count; ++i) {
    const etx_layout_block* const other = &l->blocks[i];
    const size_t end = other->placed + other->bytes;
    if (is_below(other, block) && end > wanted) wanted = end;
  }
  wanted = (wanted + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  assert_int_equal(block->placed, wanted);
}

static void check_layout(const layout* l, size_t used) {
  size_t end = 0;
  for (size_t i = 0; i < l->count; ++i) {
    const etx_layout_block* const block = &l->blocks[i];
    assert_int_equal(block->placed % ALIGNMENT, 0);
    assert_true(block->placed <= block->start);
    if (block->placed + block->bytes > end) end = block->placed + block->bytes;
    check_smallest(l, block);
    for (size_t j = 0; j < l->count; ++j) check_pair(block, &l->blocks[j]);
  }
  assert_int_equal(used, end);
  assert_true(used <= l->planned);
}

static void keeps_its_promises_for_any_sizes(void** state) {
  (void)state;
  test_random_start();
  for (size_t i = 0; i < LAYOUTS; ++i) {
    layout l;
    make_plan(&l);
    for (size_t j = 0; j < SIZES; ++j) {
      make_sizes(&l);
      check_layout(&l, etx_blocks_place(l.blocks, l.count, ALIGNMENT));
    }
  }
}

static void a_plan_without_gaps_stays_as_it_is_at_its_sizes(void** state) {
  (void)state;
  etx_layout_block blocks[3] = {{.start = 0, .end = 64, .bytes = 64},
                                {.start = 64, .end = 96, .bytes = 32},
                                {.start = 0, .end = 48, .bytes = 48}};
  etx_blocks_sort(blocks, 3);
  assert_int_equal(etx_blocks_place(blocks, 3, 16), 96);
  for (size_t i = 0; i < 3; ++i) {
    assert_int_equal(blocks[i].placed, blocks[i].start);
  }
  // The second block falls to the end of what is left of the first and third.
  blocks[0].bytes = 20;
  blocks[2].bytes = 1;
  assert_int_equal(etx_blocks_place(blocks, 3, 16), 64);
  assert_int_equal(blocks[1].placed, 32);
}

static void no_blocks_need_no_bytes(void** state) {
  (void)state;
  etx_layout_block none;
  etx_blocks_sort(&none, 0);
  assert_int_equal(etx_blocks_place(&none, 0, 16), 0);
}

static void alignment_is_what_all_starts_have(void** state) {
  (void)state;
  etx_layout_block blocks[2] = {{.start = 128}, {.start = 32}};
  assert_int_equal(etx_blocks_alignment(blocks, 1), 64);
  assert_int_equal(etx_blocks_alignment(blocks, 2), 32);
  blocks[0].start = 8;
  assert_int_equal(etx_blocks_alignment(blocks, 2), 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_its_promises_for_any_sizes),
      cmocka_unit_test(a_plan_without_gaps_stays_as_it_is_at_its_sizes),
      cmocka_unit_test(no_blocks_need_no_bytes),
      cmocka_unit_test(alignment_is_what_all_starts_have),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
