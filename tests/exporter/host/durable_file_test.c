// Output files: complete or not there, several together, and what killed runs
// left.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "exporter/host/durable_file.h"
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

static const char* path_of(const char* name) {
  return etx_path_join(&pool, etx_text_of(directory.path), etx_text_of(name))
      .data;
}

static size_t entry_count(void) {
  etx_text* names = NULL;
  size_t count = 0;
  assert_int_equal(
      etx_directory_list(&pool, directory.path, &names, &count, &diag), ETX_OK);
  return count;
}

static void assert_content(const char* name, const char* wanted) {
  etx_bytes bytes;
  assert_int_equal(etx_file_read(&pool, path_of(name), &bytes, &diag), ETX_OK);
  assert_int_equal(bytes.size, strlen(wanted));
  assert_memory_equal(bytes.data, wanted, bytes.size);
}

static void write_finished(etx_durable_file* file, const char* name,
                           const char* text) {
  assert_int_equal(etx_durable_file_open(file, path_of(name), &diag), ETX_OK);
  const etx_sink sink = etx_durable_file_sink(file);
  assert_int_equal(etx_sink_write(&sink, text, strlen(text)), ETX_OK);
  assert_int_equal(etx_durable_file_finish(file), ETX_OK);
}

static void files_appear_only_when_complete(void** state) {
  etx_durable_file file;
  (void)state;
  scratch_write_text(&directory, "out", "old");
  write_finished(&file, "out", "new text");
  assert_content("out", "old");
  assert_int_equal(entry_count(), 2);
  assert_int_equal(etx_durable_files_keep(&file, 1), ETX_OK);
  assert_int_equal(entry_count(), 1);
  assert_content("out", "new text");
  assert_int_equal(etx_durable_file_open(&file, path_of("out"), &diag), ETX_OK);
  etx_durable_file_discard(&file);
  assert_int_equal(entry_count(), 1);
  assert_content("out", "new text");
}

static void full_disks_leave_nothing(void** state) {
  etx_durable_file file;
  static uint8_t block[65536];
  (void)state;
  assert_int_equal(etx_durable_file_open(&file, path_of("out"), &diag), ETX_OK);
  // Writes to /dev/full instead of the temporary file.
  assert_non_null(freopen("/dev/full", "wb", file.file));
  const etx_sink sink = etx_durable_file_sink(&file);
  etx_status status = etx_sink_write(&sink, block, sizeof block);
  if (status == ETX_OK) status = etx_durable_file_finish(&file);
  assert_int_equal(status, ETX_HOST_FAILED);
  assert_non_null(strstr(diag.text, "No space left"));
  etx_durable_file_discard(&file);
  assert_int_equal(entry_count(), 0);
}

// The second target becomes a directory with a file, which nothing replaces.
static void files_that_belong_together_appear_together(void** state) {
  etx_durable_file files[2];
  (void)state;
  scratch_write_text(&directory, "a", "old");
  write_finished(&files[0], "a", "new");
  write_finished(&files[1], "b", "new");
  assert_int_equal(mkdir(path_of("b"), 0777), 0);
  scratch_write_text(&directory, "b/c", "");
  assert_int_equal(etx_durable_files_keep(files, 2), ETX_NOT_FOUND);
  assert_content("a", "old");
  assert_int_equal(entry_count(), 2);
  assert_int_equal(unlink(path_of("b/c")), 0);
  assert_int_equal(rmdir(path_of("b")), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(files_appear_only_when_complete),
      TEST(full_disks_leave_nothing),
      TEST(files_that_belong_together_appear_together),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
