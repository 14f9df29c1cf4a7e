#define _POSIX_C_SOURCE 200809L

// Memory of a file without a name: its values, its pages, and hosts without it.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "exporter/host/paged_memory.h"

enum { BIG = 8 << 20 };

// Pages of the process that are in memory.
static long resident_pages(void) {
  long size = 0, resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
  (void)fclose(file);
  return resident;
}

static uint8_t value_at(size_t i) { return (uint8_t)(i * 37 + i / 4096); }

static void fill(uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(bytes[i], 0);
    bytes[i] = value_at(i);
  }
}

static void assert_filled(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != value_at(i)) fail_msg("byte %zu has changed", i);
  }
}

static size_t file_count(const char* path) {
  size_t count = 0;
  DIR* const directory = opendir(path);
  assert_non_null(directory);
  while (readdir(directory) != NULL) ++count;
  (void)closedir(directory);
  return count;
}

static etx_pool new_pool(const char* directory) {
  etx_pool pool;
  etx_pool_init(&pool);
  assert_int_equal(etx_pages_use(&pool, etx_text_of(directory)), ETX_OK);
  return pool;
}

static void pages_leave_and_keep_their_values(void** state) {
  const char* const directory = *state;
  etx_pool pool = new_pool(directory);
  uint8_t* const first = etx_pages_take(&pool, BIG + 1);
  uint8_t* const second = etx_pages_take(&pool, BIG);
  assert_non_null(first);
  assert_non_null(second);
  assert_int_equal((uintptr_t)first % 64, 0);
  fill(first, BIG + 1);
  fill(second, BIG);
  assert_true(pool.total_bytes < BIG);
  assert_int_equal(file_count(directory), 2);  // "." and ".."
  const long before = resident_pages();
  etx_pages_rest(&pool, first, BIG + 1);
  assert_true(before - resident_pages() > BIG / sysconf(_SC_PAGESIZE) / 2);
  etx_pages_rest(&pool, second + 5000, 9000);
  assert_filled(first, BIG + 1);
  assert_filled(second, BIG);
  etx_pool_close(&pool);
}

// Bytes of others are left alone.
static void other_memory_stays(void** state) {
  etx_pool pool = new_pool(*state);
  uint8_t* const small = etx_pages_take(&pool, 1000);
  uint8_t* const plain = etx_pool_take(&pool, BIG);
  assert_non_null(small);
  assert_non_null(plain);
  fill(small, 1000);
  fill(plain, BIG);
  etx_pages_rest(&pool, small, 1000);
  etx_pages_rest(&pool, plain, BIG);
  etx_pages_rest(&pool, NULL, 0);
  assert_filled(small, 1000);
  assert_filled(plain, BIG);
  etx_pool_close(&pool);
}

static void assert_is_plain(etx_pool* pool) {
  const size_t before = pool->total_bytes;
  uint8_t* const bytes = etx_pages_take(pool, BIG);
  assert_non_null(bytes);
  assert_true(pool->total_bytes >= before + BIG);
  fill(bytes, BIG);
  etx_pages_rest(pool, bytes, BIG);
  assert_filled(bytes, BIG);
}

static void hosts_without_a_file_have_memory(void** state) {
  struct rlimit old, low;
  etx_pool pool = new_pool("/proc/no such directory");
  assert_is_plain(&pool);
  etx_pool_close(&pool);
  etx_pool_init(&pool);  // without a directory
  assert_is_plain(&pool);
  etx_pool_close(&pool);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  low = old;
  low.rlim_cur = BIG / 2;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
  pool = new_pool(*state);
  assert_is_plain(&pool);
  etx_pool_close(&pool);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

static int make_directory(void** state) {
  static char path[] = "paged_memory_XXXXXX";
  *state = mkdtemp(path);
  return *state == NULL ? -1 : 0;
}

static int remove_directory(void** state) { return rmdir(*state); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pages_leave_and_keep_their_values),
      cmocka_unit_test(other_memory_stays),
      cmocka_unit_test(hosts_without_a_file_have_memory),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
