// Tests of files: reading, listing in byte order, atomic writing.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static size_t entry_count(void) {
  etx_text* names = NULL;
  size_t count = 0;
  assert_int_equal(
      etx_directory_list(&pool, directory.path, &names, &count, &diag), ETX_OK);
  return count;
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

static void files_appear_only_when_complete(void** state) {
  etx_file_writer writer;
  etx_bytes bytes;
  (void)state;
  scratch_write_text(&directory, "out", "old");
  assert_int_equal(etx_file_writer_open(&writer, &pool, path_of("out"), &diag),
                   ETX_OK);
  const etx_sink sink = etx_file_writer_sink(&writer);
  assert_int_equal(etx_sink_write(&sink, "new text", 8), ETX_OK);
  assert_int_equal(etx_file_read(&pool, path_of("out").data, &bytes, &diag),
                   ETX_OK);
  assert_int_equal(bytes.size, 3);
  assert_int_equal(entry_count(), 2);
  assert_int_equal(etx_file_writer_close(&writer), ETX_OK);
  assert_int_equal(entry_count(), 1);
  assert_int_equal(etx_file_read(&pool, path_of("out").data, &bytes, &diag),
                   ETX_OK);
  assert_int_equal(bytes.size, 8);
  assert_int_equal(etx_file_writer_open(&writer, &pool, path_of("out"), &diag),
                   ETX_OK);
  etx_file_writer_drop(&writer);
  assert_int_equal(entry_count(), 1);
}

static void full_disks_leave_nothing(void** state) {
  etx_file_writer writer;
  static uint8_t block[65536];
  (void)state;
  // Writes to /dev/full instead of the temporary file.
  assert_int_equal(etx_file_writer_open(&writer, &pool, path_of("out"), &diag),
                   ETX_OK);
  FILE* const full = fopen("/dev/full", "wb");
  assert_non_null(full);
  fclose(writer.stream);
  writer.stream = full;
  const etx_sink sink = etx_file_writer_sink(&writer);
  const etx_status status = etx_sink_write(&sink, block, sizeof block);
  if (status == ETX_OK) {
    assert_int_equal(etx_file_writer_close(&writer), ETX_HOST_FAILED);
  } else {
    etx_file_writer_drop(&writer);
  }
  assert_non_null(strstr(diag.text, "No space left"));
  assert_int_equal(entry_count(), 0);
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
      TEST(directories_are_listed_in_byte_order),
      TEST(files_appear_only_when_complete),
      TEST(full_disks_leave_nothing),
      TEST(paths_are_joined_and_split),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
