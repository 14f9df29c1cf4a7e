#include "tests/format/fixtures/format_test.h"

#include "format/flatbuffers/fb_reader.h"
#include "tests/support/guarded_memory.h"

// A table of three fields, written by hand: a number, a string, and one that
// is absent.
static const uint8_t bytes[] = {
    20,  0,   0,   0,    // 0: the root table is at 20
    'T', 'E', 'S', 'T',  // 4: identifier
    0,   0,              // 8: padding
    10,  0,              // 10: vtable: its size
    12,  0,              // 12: size of the table
    4,   0,              // 14: field 0 at 4 in the table
    8,   0,              // 16: field 1 at 8
    0,   0,              // 18: field 2 is absent
    10,  0,   0,   0,    // 20: the table: 10 bytes back to its vtable
    251, 255, 255, 255,  // 24: -5
    4,   0,   0,   0,    // 28: the string is 4 bytes further
    2,   0,   0,   0,    // 32: its length
    'h', 'i', 0,   0,    // 36: its bytes and a NUL
};
// A copy of them that ends at an inaccessible page.
static etx_fb_buffer buffer;

static void fields_are_found_through_the_vtable(void** state) {
  (void)state;
  assert_int_equal(etx_fb_root(&buffer), 20);
  assert_int_equal(etx_fb_field(&buffer, 20, 0), 24);
  assert_int_equal(etx_fb_field(&buffer, 20, 1), 28);
  assert_int_equal(etx_fb_i32(&buffer, 20, 0, 7), -5);
  assert_int_equal(etx_fb_u8(&buffer, 20, 0, 7), 251);
  assert_text(etx_fb_string(&buffer, 20, 1), "hi");
}

static void fields_of_0_and_past_the_vtable_are_absent(void** state) {
  (void)state;
  for (uint32_t id = 2; id < 100; ++id) {
    assert_int_equal(etx_fb_field(&buffer, 20, id), 0);
    assert_int_equal(etx_fb_i32(&buffer, 20, id, 7), 7);
    assert_int_equal(etx_fb_i8(&buffer, 20, id, -1), -1);
    assert_true(etx_fb_u64(&buffer, 20, id, UINT64_MAX) == UINT64_MAX);
    assert_true(etx_fb_i64(&buffer, 20, id, INT64_MIN) == INT64_MIN);
    assert_true(etx_fb_f64(&buffer, 20, id, 0.5) == 0.5);
    assert_int_equal(etx_fb_table(&buffer, 20, id), 0);
    assert_int_equal(etx_fb_string(&buffer, 20, id).size, 0);
    const etx_fb_vector none = etx_fb_vector_in(&buffer, 20, id);
    assert_int_equal(none.count, 0);
    assert_null(etx_fb_elements(&buffer, none));
  }
}

static void loads_stop_at_the_end(void** state) {
  uint8_t one = 0;
  uint16_t two = 0;
  uint32_t four = 0;
  (void)state;
  assert_true(etx_fb_load_u32(&buffer, 0, &four));
  assert_int_equal(four, 20);
  assert_true(etx_fb_load_u8(&buffer, sizeof bytes - 1, &one));
  assert_false(etx_fb_load_u8(&buffer, sizeof bytes, &one));
  assert_true(etx_fb_load_u16(&buffer, sizeof bytes - 2, &two));
  assert_false(etx_fb_load_u16(&buffer, sizeof bytes - 1, &two));
  assert_false(etx_fb_load_u32(&buffer, sizeof bytes - 3, &four));
  assert_false(etx_fb_load_u32(&buffer, UINT64_MAX, &four));
  assert_false(etx_fb_load_u32(&buffer, (uint64_t)1 << 32, &four));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_are_found_through_the_vtable),
      cmocka_unit_test(fields_of_0_and_past_the_vtable_are_absent),
      cmocka_unit_test(loads_stop_at_the_end),
  };
  test_block copy = test_block_of((etx_bytes){bytes, sizeof bytes}, 8);
  buffer = (etx_fb_buffer){copy.bytes.data, sizeof bytes};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
