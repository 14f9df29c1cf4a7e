// Tests of files: reading, listing in byte order.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "exporter/host/host_file.h"
#include "tests/exporter/reading.h"

static etx_pool pool;
static etx_diag diag;
static scratch_directory directory;

static int set_up(void** state) {
  (void)state;
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  scratch_directory_make(&directory);
  return 0;
}

// Fails if a test left a temporary file.
static int tear_down(void** state) {
  (void)state;
  scratch_directory_remove(&directory);
  etx_pool_close(&pool);
  return 0;
}

static etx_text path_of(const char* name) {
  return etx_path_join(&pool, etx_text_of(directory.path), etx_text_of(name));
}

static void files_are_read_whole(void** state) {
  etx_bytes bytes;
  (void)state;
  scratch_write(&directory, "a", "x\0y", 3);
  scratch_write(&directory, "b", "", 0);
  assert_int_equal(etx_file_read(&pool, path_of("a").data, &bytes, &diag),
                   ETX_OK);
  assert_int_equal(bytes.size, 3);
  assert_memory_equal(bytes.data, "x\0y", 3);
  assert_int_equal(etx_file_read(&pool, path_of("b").data, &bytes, &diag),
                   ETX_OK);
  assert_int_equal(bytes.size, 0);
  assert_int_equal(etx_file_read(&pool, path_of("c").data, &bytes, &diag),
                   ETX_NOT_FOUND);
  assert_non_null(strstr(diag.text, "No such file"));
  etx_diag_init(&diag);
  assert_int_equal(etx_file_read(&pool, directory.path, &bytes, &diag),
                   ETX_NOT_FOUND);
  assert_non_null(strstr(diag.text, "is a directory"));
}

// Pages of a mapped file are those of the file: what is written to it later is
// seen.
static void files_are_mapped(void** state) {
  etx_bytes bytes = {NULL, 0};
  (void)state;
  scratch_write(&directory, "a", "first", 5);
  scratch_write(&directory, "b", "", 0);
  assert_int_equal(etx_file_map(&pool, path_of("a").data, &bytes, &diag),
                   ETX_OK);
  assert_int_equal(bytes.size, 5);
  assert_memory_equal(bytes.data, "first", 5);
  FILE* const file = fopen(path_of("a").data, "r+b");
  assert_non_null(file);
  assert_int_equal(fwrite("other", 1, 5, file), 5);
  assert_int_equal(fclose(file), 0);
  assert_memory_equal(bytes.data, "other", 5);
  assert_int_equal(etx_file_map(&pool, path_of("b").data, &bytes, &diag),
                   ETX_OK);
  assert_int_equal(bytes.size, 0);
  assert_int_equal(etx_file_map(&pool, path_of("c").data, &bytes, &diag),
                   ETX_NOT_FOUND);
  assert_non_null(strstr(diag.text, "No such file"));
  etx_diag_init(&diag);
  assert_int_equal(etx_file_map(&pool, directory.path, &bytes, &diag),
                   ETX_NOT_FOUND);
  assert_non_null(strstr(diag.text, "is a directory"));
}

static void files_without_a_size_are_read_instead(void** state) {
  etx_bytes bytes = {NULL, 0};
  (void)state;
  assert_int_equal(etx_file_map(&pool, "/proc/self/status", &bytes, &diag),
                   ETX_OK);
  assert_true(bytes.size > 100);
}

static void directories_are_listed_in_byte_order(void** state) {
  etx_text* names = NULL;
  size_t count = 0;
  (void)state;
  scratch_write_text(&directory, "b", "");
  scratch_write_text(&directory, "a.z", "");
  scratch_write_text(&directory, "B", "");
  scratch_write_text(&directory, "a", "");
  assert_int_equal(
      etx_directory_list(&pool, directory.path, &names, &count, &diag), ETX_OK);
  assert_int_equal(count, 4);
  assert_true(etx_text_is(names[0], "B"));
  assert_true(etx_text_is(names[1], "a"));
  assert_true(etx_text_is(names[2], "a.z"));
  assert_true(etx_text_is(names[3], "b"));
}

static void paths_are_joined_and_split(void** state) {
  (void)state;
  assert_true(etx_text_is(
      etx_path_join(&pool, etx_text_of("a/b"), etx_text_of("c")), "a/b/c"));
  assert_true(etx_text_is(
      etx_path_join(&pool, etx_text_of("a/"), etx_text_of("c")), "a/c"));
  assert_true(etx_text_is(
      etx_path_join(&pool, etx_text_of("a"), etx_text_of("/c")), "/c"));
  assert_true(etx_text_is(
      etx_path_join(&pool, etx_text_of(""), etx_text_of("c")), "c"));
  assert_true(etx_text_is(etx_path_name(etx_text_of("a/b.c")), "b.c"));
  assert_true(etx_text_is(etx_path_directory(etx_text_of("a/b/c")), "a/b"));
  assert_true(etx_text_is(etx_path_directory(etx_text_of("/c")), "/"));
  assert_true(etx_text_is(etx_path_directory(etx_text_of("c")), ""));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(files_are_read_whole),
      TEST(files_are_mapped),
      TEST(files_without_a_size_are_read_instead),
      TEST(directories_are_listed_in_byte_order),
      TEST(paths_are_joined_and_split),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
