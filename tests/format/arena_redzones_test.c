// An arena with ARENA_REDZONES, as builds with AddressSanitizer have it: an
// access to the bytes behind each piece is reported.

#include "tests/format/fixtures/format_test.h"

#include <sanitizer/asan_interface.h>

#include "format/base/arena.h"

static void bytes_behind_each_piece_are_forbidden(void** state) {
  static const size_t sizes[] = {0, 1, 5, 8, 16, 33};
  _Alignas(16) uint8_t block[4096];
  etx_arena arena;
  (void)state;
  etx_arena_init(&arena, block, sizeof block);
  for (size_t i = 0; i < COUNT(sizes); ++i) {
    uint8_t* const piece = etx_arena_take(&arena, sizes[i], 16);
    assert_non_null(piece);
    assert_null(__asan_region_is_poisoned(piece, sizes[i]));
    for (size_t k = 0; k < 8; ++k) {
      assert_true(__asan_address_is_poisoned(piece + sizes[i] + k));
    }
  }
  etx_arena_init(&arena, block, sizeof block);  // another user of the block
  assert_null(__asan_region_is_poisoned(block, sizeof block));
}

static void what_is_counted_is_enough_and_one_byte_less_is_not(void** state) {
  _Alignas(16) uint8_t block[4096];
  (void)state;
  etx_arena counting, arena;
  etx_arena_init_counting(&counting);
  for (size_t i = 0; i < 4; ++i) {
    assert_null(etx_arena_take(&counting, 3 * i, 8));
  }
  for (size_t missing = 0; missing < 2; ++missing) {
    etx_arena_init(&arena, block, counting.used_bytes - missing);
    for (size_t i = 0; i < 3; ++i) {
      assert_non_null(etx_arena_take(&arena, 3 * i, 8));
    }
    assert_int_equal(etx_arena_take(&arena, 9, 8) == NULL, missing);
  }
  etx_arena_init(&arena, block, sizeof block);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_behind_each_piece_are_forbidden),
      cmocka_unit_test(what_is_counted_is_enough_and_one_byte_less_is_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
