// Bundled programs: one that the stock exporter wrote is read, and damaged ones
// are refused with the reason.

#include "tests/format/fixtures/format_test.h"

#include <stdio.h>

#include "format/bundle/bundle_file.h"
#include "format/pte/pte_program.h"

enum { MOST_BYTES = 1 << 14 };

static struct {
  _Alignas(16) uint8_t bytes[MOST_BYTES];
  size_t size;
} file;

static etx_diag diag;

static etx_bytes read_file(const char* name) {
  char path[512];
  etx_format_text(path, sizeof path, "%s/%s", ETX_TEST_DATA, name);
  FILE* const in = fopen(path, "rb");
  assert_non_null(in);
  file.size = fread(file.bytes, 1, MOST_BYTES, in);
  fclose(in);
  return (etx_bytes){file.bytes, file.size};
}

static etx_bundle open_file(const char* name) {
  etx_bundle bundle;
  etx_diag_init(&diag);
  if (etx_bundle_open(&bundle, read_file(name), &diag) != ETX_OK) {
    fail_msg("%s", diag.text);
  }
  return bundle;
}

static void suites_and_cases_are_read(void** state) {
  (void)state;
  const etx_bundle bundle = open_file("exported/bundle.bpte");
  assert_int_equal(etx_bundle_suite_count(&bundle), 1);
  assert_text(etx_bundle_suite_method(&bundle, 0), "forward");
  assert_int_equal(etx_bundle_case_count(&bundle, 0), 4);
  assert_int_equal(etx_bundle_input_count(&bundle, 0, 1), 2);
  assert_int_equal(etx_bundle_output_count(&bundle, 0, 1), 2);
  const etx_bundle_value x = etx_bundle_input_at(&bundle, 0, 1, 0);
  assert_int_equal(x.kind, ETX_BUNDLE_TENSOR);
  assert_int_equal(x.as.tensor.dtype, ETX_DTYPE_FLOAT32);
  assert_int_equal(x.as.tensor.rank, 1);
  assert_int_equal(x.as.tensor.sizes[0], 2);
  const float wanted[2] = {1, 2};
  assert_int_equal(x.as.tensor.data.size, sizeof wanted);
  assert_memory_equal(x.as.tensor.data.data, wanted, sizeof wanted);
  const etx_bundle_value n = etx_bundle_input_at(&bundle, 0, 1, 1);
  assert_int_equal(n.kind, ETX_BUNDLE_INT);
  assert_int_equal(n.as.integer, 3);
  const etx_bundle_value count = etx_bundle_output_at(&bundle, 0, 3, 1);
  assert_int_equal(count.as.tensor.dtype, ETX_DTYPE_INT64);
  assert_int_equal(*(const int64_t*)(const void*)count.as.tensor.data.data, 4);
}

static void the_contained_program_opens(void** state) {
  (void)state;
  etx_pte pte;
  const etx_bundle bundle = open_file("exported/bundle.bpte");
  assert_true(etx_bundle_looks_like(bundle.file));
  assert_false(etx_bundle_looks_like(etx_bundle_program(&bundle)));
  assert_ok(etx_pte_open(&pte, etx_bundle_program(&bundle), NULL, &diag));
  assert_int_equal(etx_pte_plan_count(&pte), 1);
}

static void refuses(etx_bytes bytes, etx_status status, const char* why) {
  etx_bundle bundle;
  etx_diag_init(&diag);
  const etx_status found = etx_bundle_open(&bundle, bytes, &diag);
  if (found != status) fail_msg("%s: %s", etx_status_name(found), diag.text);
  assert_says(&diag, why);
}

// Position in the file of the bytes of the first case's first input.
static size_t first_data(void) {
  const etx_bundle bundle = open_file("exported/bundle.bpte");
  const etx_bundle_value x = etx_bundle_input_at(&bundle, 0, 0, 0);
  return (size_t)(x.as.tensor.data.data - file.bytes);
}

static void data_of_another_length_is_refused(void** state) {
  (void)state;
  const size_t at = first_data();
  const etx_bytes bytes = {file.bytes, file.size};
  const uint32_t count = 7;
  memcpy(file.bytes + at - 4, &count, sizeof count);
  refuses(bytes, ETX_BAD_FILE, "a tensor has 7 bytes of data, its sizes ask");
}

static void a_file_of_another_format_is_refused(void** state) {
  (void)state;
  refuses(read_file("pte/apple_add.pte"), ETX_BAD_FILE, "identifier");
  etx_bytes bytes = read_file("exported/bundle.bpte");
  bytes.data += 1;
  refuses(bytes, ETX_BAD_ARGUMENT, "not aligned");
  bytes.size = 7;
  bytes.data -= 1;
  refuses(bytes, ETX_BAD_FILE, "at least 8");
}

// The file has several 32-bit numbers 2. The version is the only one for which
// a change gives the message of an unknown version.
static void another_version_is_refused(void** state) {
  (void)state;
  const etx_bytes bytes = read_file("exported/bundle.bpte");
  size_t refused = 0;
  for (size_t i = 8; i + 4 <= file.size; i += 4) {
    uint32_t number = 0;
    etx_bundle bundle;
    memcpy(&number, file.bytes + i, sizeof number);
    if (number != 2) continue;
    number = 3;
    memcpy(file.bytes + i, &number, sizeof number);
    etx_diag_init(&diag);
    if (etx_bundle_open(&bundle, bytes, &diag) == ETX_UNSUPPORTED) {
      assert_says(&diag, "version 3");
      ++refused;
    }
    number = 2;
    memcpy(file.bytes + i, &number, sizeof number);
  }
  assert_int_equal(refused, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(suites_and_cases_are_read),
      cmocka_unit_test(the_contained_program_opens),
      cmocka_unit_test(data_of_another_length_is_refused),
      cmocka_unit_test(a_file_of_another_format_is_refused),
      cmocka_unit_test(another_version_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
