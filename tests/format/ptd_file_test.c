// Data files: the content of a valid one, and the reason for each refusal.

#include "tests/format/fixtures/format_test.h"

#include "format/ptd/ptd_file.h"
#include "tests/support/data_file.h"
#include "tests/support/assert_message.h"

static test_data_block block;
static etx_diag diag;

static const float weights[6] = {1, 2, 3, 4, 5, 6};
static const int64_t numbers[2] = {-7, 70000000000};

static etx_bytes right_file(void) {
  static const uint8_t turned[2] = {1, 0};
  const test_datum data[] = {
      {.key = "layer.weight",
       .dtype = ETX_DTYPE_FLOAT32,
       .sizes = SIZES(2, 3),
       .data = weights,
       .bytes = sizeof weights,
       .dim_order = turned},
      {.key = "number",
       .dtype = ETX_DTYPE_INT64,
       .sizes = SIZES(2),
       .data = numbers,
       .bytes = sizeof numbers},
      {.key = "blob", .has_no_layout = true, .data = "abc", .bytes = 3},
      {.key = "none", .dtype = ETX_DTYPE_FLOAT32, .sizes = SIZES(0, 4)},
  };
  const etx_bytes_mut file = test_data_file(&block, data, COUNT(data));
  return (etx_bytes){file.data, file.size};
}

static void entries_are_read_back(void** state) {
  (void)state;
  etx_ptd ptd;
  etx_ptd_entry entry;
  const etx_bytes file = right_file();
  etx_diag_init(&diag);
  if (etx_ptd_open(&ptd, file, &diag) != ETX_OK) fail_msg("%s", diag.text);
  assert_int_equal(etx_ptd_count(&ptd), 4);
  assert_true(etx_ptd_find(&ptd, etx_text_of("layer.weight"), &entry));
  assert_true(entry.has_layout);
  assert_int_equal(entry.dtype, ETX_DTYPE_FLOAT32);
  assert_int_equal(entry.rank, 2);
  assert_int_equal(entry.sizes[1], 3);
  assert_int_equal(entry.dim_order[0], 1);
  assert_int_equal(entry.data.size, sizeof weights);
  assert_memory_equal(entry.data.data, weights, sizeof weights);
  assert_true(etx_ptd_find(&ptd, etx_text_of("blob"), &entry));
  assert_false(entry.has_layout);
  assert_memory_equal(entry.data.data, "abc", 3);
  assert_true(etx_ptd_find(&ptd, etx_text_of("none"), &entry));
  assert_int_equal(entry.data.size, 0);
  assert_text(etx_ptd_at(&ptd, 1).key, "number");
  assert_false(etx_ptd_find(&ptd, etx_text_of("numbe"), &entry));
}

static void programs_and_data_files_are_distinguished(void** state) {
  (void)state;
  const etx_bytes file = right_file();
  assert_true(etx_ptd_looks_like(file));
  block.bytes[4] = 'E';
  assert_false(etx_ptd_looks_like(file));
  const etx_bytes short_file = {file.data, 7};
  assert_false(etx_ptd_looks_like(short_file));
}

static void refuses(etx_bytes file, etx_status status, const char* why) {
  etx_ptd ptd;
  etx_diag_init(&diag);
  const etx_status found = etx_ptd_open(&ptd, file, &diag);
  if (found != status) fail_msg("%s: %s", etx_status_name(found), diag.text);
  assert_says(&diag, why);
}

// Each row damages the head: the index of a byte, the number added to it, and
// the expected reason.
static void a_wrong_head_is_refused(void** state) {
  (void)state;
  static const struct {
    size_t byte;
    uint8_t value;
    const char* why;
  } rows[] = {
      {5, 'X', "not a data file"},
      {8, 'E', "not a data file"},
      {12, 39, "at least 40"},
      {16 + 6, 1, "before the segments"},
      {24 + 3, 1, "before the segments"},
      {24 + 7, 255, "before the segments"},
      {32 + 4, 1, "segments take"},
      {32 + 7, 255, "segments take"},
      {40 + 5, 1, "segments take"},
      {40 + 7, 255, "segments take"},
      {0, 1, ""},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    const etx_bytes file = right_file();
    block.bytes[rows[i].byte] = rows[i].value;
    refuses(file, ETX_BAD_FILE, rows[i].why);
  }
  etx_bytes file = right_file();
  file.size = 47;
  refuses(file, ETX_BAD_FILE, "at least 48");
  file.data += 8;
  refuses(file, ETX_BAD_ARGUMENT, "not aligned");
}

static void a_segment_past_the_end_is_refused(void** state) {
  (void)state;
  etx_bytes file = right_file();
  uint64_t bytes = 0;
  memcpy(&bytes, block.bytes + 40, sizeof bytes);
  // Changes the end of the last segment with bytes, that of 'blob'.
  bytes -= 1 + 128;
  memcpy(block.bytes + 40, &bytes, sizeof bytes);
  refuses(file, ETX_BAD_FILE, "segment '");
}

static void refuses_entry(const test_datum* datum, const char* why) {
  const etx_bytes_mut made = test_data_file(&block, datum, 1);
  const etx_bytes file = {made.data, made.size};
  refuses(file, ETX_BAD_FILE, why);
}

static void an_entry_that_does_not_fit_is_refused(void** state) {
  (void)state;
  static const uint8_t twice[2] = {1, 1};
  test_datum datum = {.key = "w",
                      .dtype = ETX_DTYPE_FLOAT32,
                      .sizes = SIZES(2, 3),
                      .data = weights,
                      .bytes = sizeof weights};
  datum.bytes = 23;
  refuses_entry(&datum, "'w' needs 24 bytes, its segment has 23");
  datum.bytes = sizeof weights;
  datum.dim_order = twice;
  refuses_entry(&datum, "not a permutation");
  datum.dim_order = NULL;
  datum.sizes = SIZES(-2, 3);
  refuses_entry(&datum, "negative size");
  datum.sizes = SIZES(2147483647, 2147483647, 2147483647);
  refuses_entry(&datum, "more elements");
  datum.sizes = SIZES(2, 3);
  datum.dtype = (etx_dtype)99;
  refuses_entry(&datum, "unknown scalar type 99");
}

static void a_segment_index_out_of_range_is_refused(void** state) {
  (void)state;
  // The one byte in the FlatBuffer that holds segment index 2.
  const etx_bytes file = right_file();
  etx_ptd ptd;
  size_t refused = 0;
  assert_ok(etx_ptd_open(&ptd, file, NULL));
  for (size_t i = 56; i < ptd.flat_bytes; ++i) {
    if (block.bytes[i] != 2) continue;
    block.bytes[i] = 9;
    etx_diag_init(&diag);
    if (etx_ptd_open(&ptd, file, &diag) != ETX_OK &&
        test_message_has(&diag, "is in segment '9' of 4")) {
      ++refused;
    }
    block.bytes[i] = 2;
  }
  assert_true(ETX_MESSAGES ? refused == 1 : refused > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_are_read_back),
      cmocka_unit_test(programs_and_data_files_are_distinguished),
      cmocka_unit_test(a_wrong_head_is_refused),
      cmocka_unit_test(a_segment_past_the_end_is_refused),
      cmocka_unit_test(an_entry_that_does_not_fit_is_refused),
      cmocka_unit_test(a_segment_index_out_of_range_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
