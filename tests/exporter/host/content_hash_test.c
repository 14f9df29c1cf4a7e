// Every bit and the length of what is hashed matter.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "exporter/host/content_hash.h"

enum { MOST = 100 };

static uint64_t hash_of(const uint8_t* data, size_t size) {
  return etx_content_hash((etx_bytes){data, size});
}

static void every_bit_matters(void** state) {
  uint8_t bytes[MOST];
  (void)state;
  memset(bytes, 0xa5, sizeof bytes);
  for (size_t size = 1; size <= MOST; size += 9) {
    const uint64_t before = hash_of(bytes, size);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
      assert_int_not_equal(hash_of(bytes, size), before);
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(hash_of(bytes, size), before);
  }
}

static void the_length_matters(void** state) {
  static const uint8_t zeros[MOST];
  (void)state;
  for (size_t a = 0; a <= MOST; ++a) {
    for (size_t b = 0; b < a; ++b) {
      assert_int_not_equal(hash_of(zeros, a), hash_of(zeros, b));
    }
  }
  assert_int_equal(hash_of(NULL, 0), hash_of(zeros, 0));
}

static void equal_bytes_have_equal_hashes_at_any_address(void** state) {
  uint8_t bytes[2 * MOST];
  (void)state;
  for (size_t i = 0; i < MOST; ++i) bytes[i] = (uint8_t)(7 * i);
  const uint64_t first = hash_of(bytes, MOST);
  memmove(bytes + 3, bytes, MOST);
  assert_int_equal(hash_of(bytes + 3, MOST), first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_bit_matters),
      cmocka_unit_test(the_length_matters),
      cmocka_unit_test(equal_bytes_have_equal_hashes_at_any_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
