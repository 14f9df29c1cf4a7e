// Tests of safetensors files: written files read back, malformed ones fail.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "exporter/import/safetensors.h"
#include "tests/exporter/pool_and_diag.h"

typedef struct file_buffer {
  uint8_t bytes[4096];
  size_t size;
} file_buffer;

static etx_status take(void* context, etx_bytes bytes) {
  file_buffer* const file = context;
  memcpy(file->bytes + file->size, bytes.data, bytes.size);
  file->size += bytes.size;
  return ETX_OK;
}

static void tensors_read_back(void** state) {
  (void)state;
  static const float floats[6] = {1, 2, 3, 4, 5, 6};
  static const int64_t number = -7;
  static const uint8_t flags[3] = {1, 0, 1};
  const etx_ir_constant a = {
      ETX_DTYPE_FLOAT32, 2, {2, 3}, {(const uint8_t*)floats, sizeof floats}};
  const etx_ir_constant b = {
      ETX_DTYPE_INT64, 0, {0}, {(const uint8_t*)&number, 8}};
  const etx_ir_constant c = {ETX_DTYPE_BOOL, 1, {3}, {flags, 3}};
  const etx_ir_constant d = {ETX_DTYPE_FLOAT32, 1, {0}, {NULL, 0}};
  etx_named_tensor tensors[4] = {{etx_text_of("w\"\n"), &a},
                                 {etx_text_of("n"), &b},
                                 {etx_text_of("flags"), &c},
                                 {etx_text_of("none"), &d}};
  static file_buffer out;
  out.size = 0;
  const etx_sink sink = {take, &out};
  assert_int_equal(etx_safetensors_write(&pool, tensors, 4, &sink), ETX_OK);
  const etx_bytes bytes = {out.bytes, out.size};
  etx_safetensors file;
  assert_int_equal(
      etx_safetensors_open(&file, &pool, etx_text_of("x"), bytes, &diag),
      ETX_OK);
  etx_ir_constant found;
  assert_true(etx_safetensors_find(&file, etx_text_of("w\"\n"), &found));
  assert_int_equal(found.rank, 2);
  assert_int_equal(found.sizes[1], 3);
  assert_memory_equal(found.data.data, floats, sizeof floats);
  assert_int_equal((uintptr_t)found.data.data % 4, 0);
  assert_true(etx_safetensors_find(&file, etx_text_of("n"), &found));
  assert_memory_equal(found.data.data, &number, 8);
  assert_true(etx_safetensors_find(&file, etx_text_of("none"), &found));
  assert_int_equal(found.data.size, 0);
  assert_false(etx_safetensors_find(&file, etx_text_of("m"), &found));
  char hint[64];
  assert_string_equal(
      etx_safetensors_hint(&file, etx_text_of("flag"), hint, sizeof hint),
      ", did you mean 'flags'");
}

// A file of a header and eight bytes.
static etx_status open_text(const char* header, uint64_t stated) {
  static uint8_t bytes[1024];
  const size_t size = strlen(header);
  for (size_t i = 0; i < 8; ++i) bytes[i] = (uint8_t)(stated >> 8 * i);
  memcpy(bytes + 8, header, size);
  memset(bytes + 8 + size, 0, 8);
  const etx_bytes all = {bytes, size + 16};
  etx_safetensors file;
  etx_diag_init(&diag);
  return etx_safetensors_open(&file, &pool, etx_text_of("x"), all, &diag);
}

static void malformed_files_are_refused(void** state) {
  (void)state;
  static const char* const headers[] = {
      "[]",
      "{\"a\": 1}",
      "{\"a\": {\"dtype\": \"F32\", \"shape\": [3], \"data_offsets\": [0, 8]}}",
      "{\"a\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [0, "
      "16]}}",
      "{\"a\": {\"dtype\": \"F32\", \"shape\": [-2], \"data_offsets\": [0, "
      "8]}}",
      "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [8, 0]}}",
      "{\"a\": {\"dtype\": \"F32\", \"shape\": [4611686018427387904, 4], "
      "\"data_offsets\": [0, 0]}}",
      "{\"a\": {\"dtype\": \"F32\", \"shape\": [2]}}",
      "{\"a\": 1",
  };
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; ++i) {
    assert_int_equal(open_text(headers[i], strlen(headers[i])), ETX_BAD_FILE);
    assert_true(diag.text_size > 0);
  }
  assert_int_equal(open_text("{}", 2), ETX_OK);
  assert_int_equal(open_text("{}", 11), ETX_BAD_FILE);
  assert_int_equal(open_text("{}", UINT64_MAX), ETX_BAD_FILE);
  assert_int_equal(open_text("{\"__metadata__\": {\"a\": \"b\"}}", 28), ETX_OK);
}

static void dtypes_are_found_by_name(void** state) {
  (void)state;
  static const char known[] =
      "{\"a\": {\"dtype\": \"C64\", \"shape\": [1], \"data_offsets\": [0, 8]}}";
  static const char other[] =
      "{\"a\": {\"dtype\": \"F31\", \"shape\": [2], \"data_offsets\": [0, 8]}}";
  assert_int_equal(open_text(known, strlen(known)), ETX_OK);
  assert_int_equal(open_text(other, strlen(other)), ETX_UNSUPPORTED);
  assert_string_equal(
      diag.text, "'x': tensor 'a' has dtype 'F31', which is not supported");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(tensors_read_back),
      TEST(malformed_files_are_refused),
      TEST(dtypes_are_found_by_name),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
