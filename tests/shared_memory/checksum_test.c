#include "shared_memory/checksum.h"
#include "tests/support/assert_status.h"

static void the_checksum_is_that_of_zlib(void** state) {
  (void)state;
  // The check value that every description of this CRC gives.
  const etx_bytes digits = {(const uint8_t*)"123456789", 9};
  assert_int_equal(etx_crc32(0, digits), 0xcbf43926u);
  const etx_bytes nothing = {NULL, 0};
  assert_int_equal(etx_crc32(0, nothing), 0);
}

static void pieces_give_the_checksum_of_the_whole(void** state) {
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
      cmocka_unit_test(the_checksum_is_that_of_zlib),
      cmocka_unit_test(pieces_give_the_checksum_of_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
