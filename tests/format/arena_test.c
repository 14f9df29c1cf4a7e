#include "tests/format/fixtures/format_test.h"

#include "format/base/arena.h"

static void pieces_are_consecutive_and_aligned(void** state) {
  _Alignas(16) uint8_t block[64];
  etx_arena arena;
  (void)state;
  etx_arena_init(&arena, block, sizeof block);
  assert_ptr_equal(etx_arena_take(&arena, 3, 1), block);
  assert_ptr_equal(etx_arena_take(&arena, 8, 8), block + 8);
  assert_ptr_equal(etx_arena_take(&arena, 1, 16), block + 16);
  assert_int_equal(arena.used_bytes, 17);
}

static void a_piece_that_does_not_fit_changes_nothing(void** state) {
  _Alignas(16) uint8_t block[16];
  etx_arena arena;
  (void)state;
  etx_arena_init(&arena, block, sizeof block);
  assert_non_null(etx_arena_take(&arena, 10, 1));
  assert_null(etx_arena_take(&arena, 7, 1));
  assert_null(etx_arena_take(&arena, SIZE_MAX, 1));
  assert_null(etx_arena_take(&arena, 1, 16));
  assert_int_equal(arena.used_bytes, 10);
  assert_ptr_equal(etx_arena_take(&arena, 6, 1), block + 10);
}

static void an_empty_block_gives_only_empty_pieces(void** state) {
  etx_arena arena;
  void* piece = &arena;
  (void)state;
  etx_arena_init(&arena, NULL, 0);
  assert_true(etx_arena_take_ok(&arena, 0, 16, &piece));
  assert_false(etx_arena_take_ok(&arena, 1, 1, &piece));
  assert_null(piece);
}

static void rewinding_frees_what_came_after_the_mark(void** state) {
  _Alignas(16) uint8_t block[32];
  etx_arena arena;
  (void)state;
  etx_arena_init(&arena, block, sizeof block);
  assert_non_null(etx_arena_take(&arena, 4, 4));
  const size_t mark = etx_arena_mark(&arena);
  assert_non_null(etx_arena_take(&arena, 24, 4));
  etx_arena_rewind(&arena, mark);
  assert_int_equal(arena.used_bytes, 4);
  assert_int_equal(arena.peak_bytes, 28);
}

static void a_counting_arena_states_the_needed_bytes(void** state) {
  _Alignas(16) uint8_t block[64];
  static const size_t pieces[][2] = {{3, 1}, {8, 8}, {0, 16}, {5, 4}, {1, 16}};
  etx_arena counting;
  etx_arena real;
  void* piece = NULL;
  (void)state;
  etx_arena_init_counting(&counting);
  for (size_t i = 0; i < COUNT(pieces); ++i) {
    assert_true(
        etx_arena_take_ok(&counting, pieces[i][0], pieces[i][1], &piece));
    assert_null(piece);
  }
  etx_arena_init(&real, block, counting.used_bytes);
  for (size_t i = 0; i < COUNT(pieces); ++i) {
    assert_true(etx_arena_take_ok(&real, pieces[i][0], pieces[i][1], &piece));
  }
  assert_int_equal(real.used_bytes, counting.used_bytes);
  etx_arena_init(&real, block, counting.used_bytes - 1);
  for (size_t i = 0; i + 1 < COUNT(pieces); ++i) {
    assert_true(etx_arena_take_ok(&real, pieces[i][0], pieces[i][1], &piece));
  }
  assert_false(etx_arena_take_ok(&real, 1, 16, &piece));
}

static void counting_reports_an_overflow(void** state) {
  etx_arena arena;
  void* piece = NULL;
  (void)state;
  etx_arena_init_counting(&arena);
  assert_true(etx_arena_take_ok(&arena, SIZE_MAX - 8, 1, &piece));
  assert_false(etx_arena_take_ok(&arena, 16, 1, &piece));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_are_consecutive_and_aligned),
      cmocka_unit_test(a_piece_that_does_not_fit_changes_nothing),
      cmocka_unit_test(an_empty_block_gives_only_empty_pieces),
      cmocka_unit_test(rewinding_frees_what_came_after_the_mark),
      cmocka_unit_test(a_counting_arena_states_the_needed_bytes),
      cmocka_unit_test(counting_reports_an_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
