#include "shared_memory/checksum.h"
#include "tests/support/assert_status.h"

static void crc32_matches_the_standard_check_value(void** state) {
  (void)state;
  // The standard check value of CRC-32.
  const etx_bytes digits = {(const uint8_t*)"123456789", 9};
  assert_int_equal(etx_crc32(0, digits), 0xcbf43926u);
  uint8_t all[256];
  for (size_t i = 0; i < sizeof all; ++i) all[i] = (uint8_t)i;
  assert_int_equal(etx_crc32(0, (etx_bytes){all, sizeof all}), 0x29058c73u);
  const etx_bytes nothing = {NULL, 0};
  assert_int_equal(etx_crc32(0, nothing), 0);
}

static void crc32_can_be_computed_in_parts(void** state) {
  (void)state;
  const uint8_t* text = (const uint8_t*)"123456789";
  for (size_t cut = 0; cut <= 9; ++cut) {
    const uint32_t first = etx_crc32(0, (etx_bytes){text, cut});
    assert_int_equal(etx_crc32(first, (etx_bytes){text + cut, 9 - cut}),
                     0xcbf43926u);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crc32_matches_the_standard_check_value),
      cmocka_unit_test(crc32_can_be_computed_in_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
