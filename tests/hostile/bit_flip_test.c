// Every single bit of small programs, flipped.

#include "tests/format/fixtures/format_test.h"

#include "tests/hostile/hostile_program.h"
#include "tests/hostile/hostile_samples.h"

static void flipped_bits_are_refused_or_harmless(void** state) {
  static hostile_samples samples;
  (void)state;
  hostile_samples_open(&samples, 4096);
  assert_true(samples.count >= 5);
  for (size_t i = 0; i < samples.count; ++i) {
    const etx_bytes_mut file = samples.items[i].bytes;
    const etx_bytes view = {file.data, file.size};
    hostile_counts counts = {0};
    for (size_t bit = 0; bit < file.size * 8; ++bit) {
      const uint8_t mask = (uint8_t)(1u << bit % 8);
      file.data[bit / 8] ^= mask;
      hostile_try(view, &counts);
      file.data[bit / 8] ^= mask;
    }
    hostile_print(samples.items[i].name, &counts);
    // Some bits are padding or plain numbers; files with these changed are
    // valid. Most others must be refused.
    assert_true(counts.opened > 0);
    assert_true(counts.opened < counts.files);
  }
  hostile_samples_close(&samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(flipped_bits_are_refused_or_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
