// Tests of the reader of GGUF files: each field that may lie is refused.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "exporter/read_gguf/gguf_file.h"
#include "tests/exporter/read_gguf/gguf_bytes.h"
#include "tests/exporter/pool_and_diag.h"

static etx_gguf_file file;

static etx_status open_bytes(const gguf_bytes* bytes) {
  etx_diag_init(&diag);
  return etx_gguf_open(&file, &pool, etx_text_of("m.gguf"),
                       (etx_bytes){bytes->data, bytes->size}, &diag);
}

static void assert_refused(const gguf_bytes* bytes, etx_status status,
                           const char* part) {
  assert_int_equal(open_bytes(bytes), status);
  if (strstr(diag.text, part) == NULL) {
    fail_msg("expected '%s' in '%s'", part, diag.text);
  }
}

// ---------------------------------------------------------------- reading

static void metadata_and_tensors_are_found(void** state) {
  (void)state;
  gguf_bytes bytes = gguf_header(2, 4);
  gguf_put_text(&bytes, "n");
  gguf_put(&bytes, 4, 4);  // uint32
  gguf_put(&bytes, 70000, 4);
  gguf_put_text(&bytes, "negative");
  gguf_put(&bytes, 1, 4);  // int8
  gguf_put(&bytes, 0xFF, 1);
  gguf_put_text(&bytes, "word");
  gguf_put(&bytes, 8, 4);
  gguf_put_text(&bytes, "text");
  gguf_put_text(&bytes, "nested");
  gguf_put(&bytes, 9, 4);  // an array of
  gguf_put(&bytes, 9, 4);  // arrays: one of two texts, one of three int16
  gguf_put(&bytes, 2, 8);
  gguf_put(&bytes, 8, 4);
  gguf_put(&bytes, 2, 8);
  gguf_put_text(&bytes, "a");
  gguf_put_text(&bytes, "");
  gguf_put(&bytes, 3, 4);
  gguf_put(&bytes, 3, 8);
  gguf_put(&bytes, 0, 6);
  gguf_put_tensor(&bytes, "z", 3, 2, 0, 0);
  gguf_put_tensor(&bytes, "a", 32, 1, 8, 32);
  gguf_put_data(&bytes, 32 + 34);
  if (open_bytes(&bytes) != ETX_OK) fail_msg("%s", diag.text);
  uint64_t number = 0;
  etx_text text;
  assert_true(etx_gguf_number(&file, etx_text_of("n"), &number));
  assert_int_equal(number, 70000);
  assert_false(etx_gguf_number(&file, etx_text_of("negative"), &number));
  assert_false(etx_gguf_number(&file, etx_text_of("word"), &number));
  assert_false(etx_gguf_number(&file, etx_text_of("m"), &number));
  assert_true(etx_gguf_text(&file, etx_text_of("word"), &text));
  assert_true(etx_text_is(text, "text"));
  assert_false(etx_gguf_text(&file, etx_text_of("n"), &text));
  const etx_gguf_tensor* const z = etx_gguf_find(&file, etx_text_of("z"));
  const etx_gguf_tensor* const a = etx_gguf_find(&file, etx_text_of("a"));
  assert_non_null(z);
  assert_non_null(a);
  assert_null(etx_gguf_find(&file, etx_text_of("b")));
  assert_int_equal(z->rank, 2);
  assert_int_equal(z->sizes[0], 2);
  assert_int_equal(z->sizes[1], 3);
  assert_int_equal(z->data.data[0], 1);
  assert_int_equal(a->data.size, 34);
  assert_int_equal(a->data.data[0], 33);
}

static void headers_are_checked(void** state) {
  (void)state;
  gguf_bytes bytes = gguf_header(0, 0);
  assert_int_equal(open_bytes(&bytes), ETX_OK);
  bytes.data[0] = 'g';
  assert_refused(&bytes, ETX_BAD_FILE, "is not a GGUF file");
  bytes = gguf_header(0, 0);
  bytes.data[4] = 1;
  assert_refused(&bytes, ETX_UNSUPPORTED, "version 1, expected 2 or 3");
  bytes.data[4] = 0;
  bytes.data[7] = 3;
  assert_refused(&bytes, ETX_UNSUPPORTED, "big-endian");
  bytes = gguf_header(UINT64_MAX, 0);
  assert_refused(&bytes, ETX_BAD_FILE, "more than its 24 bytes can have");
  bytes = gguf_header(0, UINT64_C(1) << 60);
  assert_refused(&bytes, ETX_BAD_FILE, "more than its 24 bytes can have");
}

static void metadata_is_checked(void** state) {
  (void)state;
  gguf_bytes bytes = gguf_header(0, 1);
  gguf_put_text(&bytes, "k");
  gguf_put(&bytes, 13, 4);  // no such type
  gguf_put(&bytes, 0, 16);
  assert_refused(&bytes, ETX_BAD_FILE, "the value of 'k' at byte 37");
  bytes = gguf_header(0, 1);
  gguf_put_text(&bytes, "k");
  gguf_put(&bytes, 9, 4);  // array of more uint64 than 64 bits count
  gguf_put(&bytes, 10, 4);
  gguf_put(&bytes, UINT64_MAX / 4, 8);
  assert_refused(&bytes, ETX_BAD_FILE, "the value of 'k'");
  bytes = gguf_header(0, 1);
  gguf_put_text(&bytes, "k");
  gguf_put(&bytes, 9, 4);
  for (size_t i = 0; i < 40; ++i) {  // arrays of arrays of arrays
    gguf_put(&bytes, 9, 4);
    gguf_put(&bytes, 1, 8);
  }
  assert_refused(&bytes, ETX_BAD_FILE, "nested too deep");
  bytes = gguf_header(0, 1);
  gguf_put(&bytes, UINT64_MAX, 8);  // a key of that length
  gguf_put(&bytes, 0, 16);
  assert_refused(&bytes, ETX_BAD_FILE, "a key of the metadata does not end");
  bytes = gguf_header(0, 2);
  for (size_t i = 0; i < 2; ++i) {
    gguf_put_text(&bytes, "twice");
    gguf_put(&bytes, 7, 4);
    gguf_put(&bytes, 1, 1);
  }
  assert_refused(&bytes, ETX_BAD_FILE, "has the key 'twice' twice");
}

static void alignments_are_checked(void** state) {
  static const uint32_t wrong[] = {0, 3, 96};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    gguf_bytes bytes = gguf_header(0, 1);
    gguf_put_text(&bytes, "general.alignment");
    gguf_put(&bytes, 4, 4);
    gguf_put(&bytes, wrong[i], 4);
    assert_refused(&bytes, ETX_BAD_FILE, "should be a power of two");
  }
}

static gguf_bytes one_tensor(uint64_t inner, uint64_t rows, uint32_t type,
                             uint64_t offset) {
  gguf_bytes bytes = gguf_header(1, 0);
  gguf_put_tensor(&bytes, "t", inner, rows, type, offset);
  gguf_put_data(&bytes, 64);
  return bytes;
}

static void tensors_are_checked(void** state) {
  (void)state;
  gguf_bytes bytes = one_tensor(4, 4, 0, 0);
  assert_int_equal(open_bytes(&bytes), ETX_OK);
  bytes = one_tensor(4, 0, 0, 64);  // no element
  assert_int_equal(open_bytes(&bytes), ETX_OK);
  bytes = one_tensor(4, 4, 0, 32);
  assert_refused(&bytes, ETX_BAD_FILE, "needs 64 bytes from 32 on");
  bytes = one_tensor(4, 2, 0, 4);
  assert_refused(&bytes, ETX_BAD_FILE, "a multiple of 32");
  bytes = one_tensor(4, 2, 0, UINT64_MAX - 31);
  assert_refused(&bytes, ETX_BAD_FILE, "needs 32 bytes");
  bytes = one_tensor(UINT64_C(1) << 32, UINT64_C(1) << 32, 0, 0);
  assert_refused(&bytes, ETX_BAD_FILE, "overflow");
  bytes = one_tensor(UINT64_MAX, 1, 0, 0);
  assert_refused(&bytes, ETX_BAD_FILE, "overflow");
  bytes = one_tensor(UINT64_C(1) << 31, UINT64_C(1) << 31, 0, 0);
  assert_refused(&bytes, ETX_BAD_FILE, "more than the file has");
  bytes = one_tensor(16, 2, 8, 0);  // q8_0 in rows of 16
  assert_refused(&bytes, ETX_BAD_FILE, "no whole blocks of 32");
  bytes = one_tensor(256, 1, 23, 0);
  assert_refused(&bytes, ETX_UNSUPPORTED, "has type iq4_xs");
  bytes = one_tensor(4, 2, 77, 0);
  assert_refused(&bytes, ETX_UNSUPPORTED, "a type with number 77");
  bytes = gguf_header(1, 0);
  gguf_put_text(&bytes, "t");
  gguf_put(&bytes, 5, 4);
  gguf_put(&bytes, 0, 60);
  assert_refused(&bytes, ETX_BAD_FILE, "has 5 dimensions");
}

static void tensors_are_apart_and_have_names_of_their_own(void** state) {
  (void)state;
  gguf_bytes bytes = gguf_header(2, 0);
  gguf_put_tensor(&bytes, "a", 4, 3, 0, 0);  // 48 bytes
  gguf_put_tensor(&bytes, "b", 4, 2, 0, 32);
  gguf_put_data(&bytes, 64);
  assert_refused(&bytes, ETX_BAD_FILE, "tensors 'a' and 'b' overlap");
  bytes = gguf_header(2, 0);
  gguf_put_tensor(&bytes, "a", 4, 2, 0, 0);
  gguf_put_tensor(&bytes, "a", 4, 2, 0, 32);
  gguf_put_data(&bytes, 64);
  assert_refused(&bytes, ETX_BAD_FILE, "two tensors are named 'a'");
}

// A file that ends anywhere is refused, and nothing behind its end is read.
static void files_that_end_early_are_refused(void** state) {
  (void)state;
  const gguf_bytes whole = one_tensor(4, 4, 0, 0);
  for (size_t size = 0; size < whole.size; ++size) {
    uint8_t* const exact = malloc(size == 0 ? 1 : size);
    assert_non_null(exact);
    memcpy(exact, whole.data, size);
    etx_diag_init(&diag);
    assert_int_equal(etx_gguf_open(&file, &pool, etx_text_of("m.gguf"),
                                   (etx_bytes){exact, size}, &diag),
                     ETX_BAD_FILE);
    assert_true(diag.text_size > 0);
    free(exact);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(metadata_and_tensors_are_found),
      TEST(headers_are_checked),
      TEST(metadata_is_checked),
      TEST(alignments_are_checked),
      TEST(tensors_are_checked),
      TEST(tensors_are_apart_and_have_names_of_their_own),
      TEST(files_that_end_early_are_refused),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
