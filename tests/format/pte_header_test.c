#include "tests/format/fixtures/format_test.h"

#include "format/pte/pte_header.h"
#include "tests/support/guarded_memory.h"

// A file of `size` bytes with a header of the given numbers. It ends at an
// inaccessible page.
static test_block block;
static uint8_t* file;

static etx_bytes file_with(uint32_t length, uint64_t program, uint64_t base,
                           uint64_t segments, size_t size) {
  const etx_pte_header header = {true, 0, program, base, segments};
  if (file != NULL) assert_true(test_block_end(&block));
  block = test_block_new(size, 1);
  file = block.bytes.data;
  memset(file, 0, size);
  etx_pte_header_write(&header, file + 8);
  memcpy(file + 12, &length, sizeof length);
  return (etx_bytes){file, size};
}

static void a_written_header_is_read_back(void** state) {
  etx_pte_header header;
  (void)state;
  assert_ok(
      etx_pte_header_read(file_with(32, 200, 256, 100, 356), &header, NULL));
  assert_true(header.is_present);
  assert_int_equal(header.length, 32);
  assert_int_equal(header.program_bytes, 200);
  assert_int_equal(header.segment_base, 256);
  assert_int_equal(header.segment_bytes, 100);
}

static void a_header_is_written_as_the_expected_bytes(void** state) {
  static const uint8_t expected[ETX_PTE_HEADER_BYTES] = {
      'e', 'h', '0', '0', 32, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0,
      0,   1,   0,   0,   0,  0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0};
  const etx_pte_header header = {true, 32, 200, 256, 100};
  uint8_t bytes[ETX_PTE_HEADER_BYTES];
  (void)state;
  etx_pte_header_write(&header, bytes);
  assert_memory_equal(bytes, expected, sizeof expected);
}

static void a_file_without_extended_header_is_all_program(void** state) {
  etx_pte_header header;
  (void)state;
  const etx_bytes bytes = file_with(32, 200, 256, 100, 356);
  file[11] = '1';
  assert_ok(etx_pte_header_read(bytes, &header, NULL));
  assert_false(header.is_present);
  assert_int_equal(header.program_bytes, 356);
  assert_int_equal(header.segment_base, 0);
}

static void the_older_short_header_has_segments_up_to_the_end(void** state) {
  etx_pte_header header;
  (void)state;
  assert_ok(
      etx_pte_header_read(file_with(24, 200, 256, 999999, 356), &header, NULL));
  assert_int_equal(header.segment_bytes, 100);
}

static void a_file_may_have_no_segments(void** state) {
  etx_pte_header header;
  (void)state;
  for (uint32_t length = 24; length <= 32; length += 8) {
    assert_ok(
        etx_pte_header_read(file_with(length, 356, 0, 0, 356), &header, NULL));
    assert_int_equal(header.segment_base, 0);
    assert_int_equal(header.segment_bytes, 0);
  }
}

static void a_program_may_end_with_its_header(void** state) {
  etx_pte_header header;
  (void)state;
  assert_ok(etx_pte_header_read(file_with(32, 40, 0, 0, 356), &header, NULL));
  assert_int_equal(header.program_bytes, 40);
}

static void a_longer_header_is_accepted(void** state) {
  etx_pte_header header;
  (void)state;
  assert_ok(
      etx_pte_header_read(file_with(64, 200, 256, 100, 356), &header, NULL));
  assert_int_equal(header.length, 64);
}

typedef struct header_refusal {
  uint32_t length;
  uint64_t program;
  uint64_t base;
  uint64_t segments;
  size_t size;
  size_t offset;  // of the number that is wrong
  const char* message;
} header_refusal;

static void numbers_that_do_not_fit_the_file_are_refused(void** state) {
  static const header_refusal refusals[] = {
      {32, 200, 256, 100, 63, 0,
       "the file has 63 bytes, a program at least 64"},
      {23, 200, 256, 100, 356, 12,
       "the extended header has 23 bytes, at least 24"},
      {32, 357, 0, 0, 356, 16,
       "states a program of 357 bytes, the file has 356"},
      {32, 39, 0, 0, 356, 16,
       "states a program of 39 bytes, the file has 356 bytes and the header "
       "ends at 40"},
      {UINT32_MAX, 200, 0, 0, 356, 16, "states a program of 200 bytes"},
      {32, 200, 0, 100, 356, 24, "states 100 bytes of segments, but no base"},
      {32, 200, 199, 100, 356, 24,
       "segments start at byte 199, inside the program"},
      {32, 200, 256, 101, 356, 24, "segments take 101 bytes from byte 256 on"},
      {32, 200, 256, UINT64_MAX, 356, 24, "segments take 18446744073709551615"},
      {32, 200, UINT64_MAX, 1, 356, 24, "segments take 1 bytes"},
      {24, 200, 357, 0, 356, 24, "segments take 0 bytes from byte 357 on"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(refusals); ++i) {
    const header_refusal* r = &refusals[i];
    etx_pte_header header = {false, 77, 0, 0, 0};
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_bytes bytes =
        file_with(r->length, r->program, r->base, r->segments, r->size);
    assert_int_equal(etx_pte_header_read(bytes, &header, &diag), ETX_BAD_FILE);
    assert_says(&diag, r->message);
    assert_int_equal(diag.offset, r->offset);
    assert_int_equal(header.length, 77);  // outputs are unchanged
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_written_header_is_read_back),
      cmocka_unit_test(a_header_is_written_as_the_expected_bytes),
      cmocka_unit_test(a_file_without_extended_header_is_all_program),
      cmocka_unit_test(the_older_short_header_has_segments_up_to_the_end),
      cmocka_unit_test(a_file_may_have_no_segments),
      cmocka_unit_test(a_program_may_end_with_its_header),
      cmocka_unit_test(a_longer_header_is_accepted),
      cmocka_unit_test(numbers_that_do_not_fit_the_file_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
