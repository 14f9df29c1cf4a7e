#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/base/exit_code.h"
#include "cli/base/output_file.h"
#include "cli/base/signal_cleanup.h"
#include "exporter/host/host_file.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/etx_output_XXXXXX";
static char path[128];

static int make_directory(void** state) {
  (void)state;
  if (mkdtemp(directory) == NULL) return -1;
  snprintf(path, sizeof path, "%s/out.bin", directory);
  return 0;
}

static int remove_directory(void** state) {
  (void)state;
  unlink(path);
  return rmdir(directory);
}

static int count_files(void) {
  DIR* const list = opendir(directory);
  int count = 0;
  while (readdir(list) != NULL) ++count;
  closedir(list);
  return count - 2;  // "." and ".."
}

static etx_status write_bytes(etx_output_file* output, size_t size) {
  static uint8_t bytes[100000];
  const etx_sink sink = etx_output_file_sink(output);
  return etx_sink_write(&sink, bytes, size);
}

static void a_file_appears_when_it_is_kept(void** state) {
  (void)state;
  etx_output_file output;
  etx_diag diag;
  etx_diag_init(&diag);
  assert_int_equal(etx_output_file_open(&output, path, &diag), ETX_OK);
  assert_int_equal(write_bytes(&output, 10), ETX_OK);
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(etx_output_file_finish(&output), ETX_OK);
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(etx_output_file_keep(&output), ETX_OK);
  assert_int_equal(access(path, F_OK), 0);
  etx_output_file_discard(&output);
  assert_int_equal(count_files(), 1);
  unlink(path);
}

static void a_discarded_file_leaves_nothing(void** state) {
  (void)state;
  etx_output_file output;
  assert_int_equal(etx_output_file_open(&output, path, NULL), ETX_OK);
  assert_int_equal(write_bytes(&output, 10), ETX_OK);
  etx_output_file_discard(&output);
  assert_int_equal(count_files(), 0);
}

static void a_full_disk_is_reported_and_leaves_nothing(void** state) {
  (void)state;
  struct rlimit before;
  struct rlimit small;
  etx_output_file output;
  etx_diag diag;
  etx_diag_init(&diag);
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 1000;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_int_equal(etx_output_file_open(&output, path, &diag), ETX_OK);
  etx_status status = write_bytes(&output, 50000);
  if (status == ETX_OK) status = etx_output_file_finish(&output);
  etx_output_file_discard(&output);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(status, ETX_HOST_FAILED);
  assert_non_null(strstr(diag.text, path));
  assert_int_equal(count_files(), 0);
}

static void a_missing_directory_is_refused(void** state) {
  (void)state;
  etx_output_file output;
  etx_diag diag;
  etx_diag_init(&diag);
  assert_int_equal(etx_output_file_open(&output, "/nowhere/at/all/x", &diag),
                   ETX_NOT_FOUND);
  assert_non_null(strstr(diag.text, "/nowhere/at/all/x"));
  etx_output_file_discard(&output);
}

static void a_device_is_not_replaced(void** state) {
  (void)state;
  etx_output_file output;
  assert_int_equal(etx_output_file_open(&output, "/dev/null", NULL),
                   ETX_NOT_FOUND);
  assert_int_equal(access("/dev/null", W_OK), 0);
}

// Ends a process that is writing two files; how it ended.
static int end_a_writer(int number, bool is_ignored) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    static char other[160];
    etx_output_file first;
    etx_output_file second;
    snprintf(other, sizeof other, "%s.other", path);
    if (is_ignored) signal(number, SIG_IGN);
    if (etx_output_file_open(&first, path, NULL) != ETX_OK ||
        etx_output_file_open(&second, other, NULL) != ETX_OK ||
        write_bytes(&first, 100) != ETX_OK) {
      _exit(1);
    }
    raise(number);
    etx_output_file_discard(&first);
    etx_output_file_discard(&second);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void a_signal_removes_temporary_files(void** state) {
  (void)state;
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < 3; ++i) {
    const int status = end_a_writer(numbers[i], false);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), numbers[i]);
    assert_int_equal(count_files(), 0);
  }
}

// Runs first, because the handlers are installed once per process.
// Maps a file while it writes another one, cuts the mapped one off, and reads
// it.
static void read_a_file_that_was_cut(void) {
  enum { SIZE = 100000 };
  char name[160];
  etx_pool pool;
  etx_bytes bytes = {NULL, 0};
  etx_output_file output;
  snprintf(name, sizeof name, "%s.input", path);
  FILE* const input = fopen(name, "wb");
  if (input == NULL || fseek(input, SIZE - 1, SEEK_SET) != 0 ||
      fputc('x', input) != 'x' || fclose(input) != 0) {
    _exit(100);
  }
  etx_signal_cleanup_watch_mappings();
  etx_pool_init(&pool);
  if (etx_file_map(&pool, name, &bytes, NULL) != ETX_OK ||
      bytes.data[SIZE - 1] != 'x' ||
      etx_output_file_open(&output, path, NULL) != ETX_OK ||
      write_bytes(&output, 100) != ETX_OK || truncate(name, 10) != 0 ||
      unlink(name) != 0) {
    _exit(101);
  }
  _exit(((const volatile uint8_t*)bytes.data)[SIZE - 1] == 'x' ? 102 : 103);
}

static void a_mapped_file_that_becomes_shorter_ends_cleanly(void** state) {
  int status = 0;
  (void)state;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) read_a_file_that_was_cut();
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), ETX_EXIT_MACHINE_FAILED);
  assert_int_equal(count_files(), 0);
}

static void ignored_signals_stay_ignored(void** state) {
  (void)state;
  const int status = end_a_writer(SIGHUP, true);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(count_files(), 0);
}

// Leaves the temporary file of a process that was killed.
static void kill_a_writer(void) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    etx_output_file output;
    if (etx_output_file_open(&output, path, NULL) != ETX_OK) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
}

static void files_of_killed_runs_are_removed_and_live_ones_stay(void** state) {
  (void)state;
  char foreign[160];
  etx_output_file live, finished, next;
  snprintf(foreign, sizeof foreign, "%s/.etx-0123.tmp", directory);
  fclose(fopen(foreign, "w"));
  assert_int_equal(etx_output_file_open(&live, path, NULL), ETX_OK);
  assert_int_equal(etx_output_file_open(&finished, path, NULL), ETX_OK);
  assert_int_equal(etx_output_file_finish(&finished), ETX_OK);
  kill_a_writer();
  assert_int_equal(count_files(), 4);
  assert_int_equal(etx_output_file_open(&next, path, NULL), ETX_OK);
  assert_int_equal(count_files(), 4);  // `next` instead of the killed run's
  assert_int_equal(access(live.temporary, F_OK), 0);
  assert_int_equal(etx_output_file_keep(&finished), ETX_OK);
  etx_output_file_discard(&live);
  etx_output_file_discard(&next);
  assert_int_equal(unlink(foreign), 0);
  assert_int_equal(count_files(), 1);
  unlink(path);
}

static void write_text(const char* name, const char* text) {
  FILE* const file = fopen(name, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void assert_text(const char* name, const char* expected) {
  char text[64] = "";
  FILE* const file = fopen(name, "r");
  assert_non_null(file);
  const size_t size = fread(text, 1, sizeof text - 1, file);
  text[size] = '\0';
  fclose(file);
  assert_string_equal(text, expected);
}

// The third file cannot take the place of a directory.
static void a_set_appears_as_a_whole_or_not_at_all(void** state) {
  char names[3][160];
  etx_output_file files[3];
  (void)state;
  for (int round = 0; round < 2; ++round) {
    etx_diag diag;
    etx_diag_init(&diag);
    for (int i = 0; i < 3; ++i) {
      snprintf(names[i], sizeof names[i], "%s/part%d", directory, i);
      assert_int_equal(etx_output_file_open(&files[i], names[i], &diag),
                       ETX_OK);
      fprintf(files[i].file, "new %d", i);
      assert_int_equal(etx_output_file_finish(&files[i]), ETX_OK);
    }
    write_text(names[0], "old 0");
    if (round == 0) assert_int_equal(mkdir(names[2], 0777), 0);
    const etx_status status = etx_output_files_keep(files, 3);
    if (round == 0) {
      assert_int_equal(status, ETX_NOT_FOUND);
      assert_non_null(strstr(diag.text, names[2]));
      assert_text(names[0], "old 0");
      assert_int_equal(access(names[1], F_OK), -1);
      assert_int_equal(rmdir(names[2]), 0);
      assert_int_equal(count_files(), 1);
    } else {
      assert_int_equal(status, ETX_OK);
      assert_text(names[0], "new 0");
      assert_text(names[2], "new 2");
      assert_int_equal(count_files(), 3);
    }
  }
  for (int i = 0; i < 3; ++i) unlink(names[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mapped_file_that_becomes_shorter_ends_cleanly),
      cmocka_unit_test(ignored_signals_stay_ignored),
      cmocka_unit_test(a_file_appears_when_it_is_kept),
      cmocka_unit_test(a_discarded_file_leaves_nothing),
      cmocka_unit_test(a_full_disk_is_reported_and_leaves_nothing),
      cmocka_unit_test(a_missing_directory_is_refused),
      cmocka_unit_test(a_device_is_not_replaced),
      cmocka_unit_test(a_signal_removes_temporary_files),
      cmocka_unit_test(files_of_killed_runs_are_removed_and_live_ones_stay),
      cmocka_unit_test(a_set_appears_as_a_whole_or_not_at_all),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
