// Tiles of threads: aligned, apart from each other, and never shared by two
// calls that run at the same time.

#include "runtime/kernels/core/thread_tiles.h"

#include <pthread.h>
#include <string.h>

#include "tests/format/fixtures/format_test.h"
#include "tests/support/guarded_memory.h"

enum { THREADS = 4, ITEMS = 97, BYTES = 100 };

// ------------------------------------------------ threads

typedef struct task_range {
  void (*task)(void* argument, size_t i);
  void* argument;
  size_t first, count;
} task_range;

static void* run_range(void* argument) {
  const task_range* r = argument;
  for (size_t i = r->first; i < r->count; i += THREADS) r->task(r->argument, i);
  return NULL;
}

// Task i is done by thread i % THREADS.
static void run_in_threads(void* context, void (*task)(void*, size_t),
                           void* argument, size_t count) {
  (void)context;
  pthread_t threads[THREADS];
  task_range ranges[THREADS];
  for (size_t i = 0; i < THREADS; ++i) {
    ranges[i] = (task_range){task, argument, i, count};
    assert_int_equal(pthread_create(&threads[i], NULL, run_range, &ranges[i]),
                     0);
  }
  for (size_t i = 0; i < THREADS; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
}

static void run_one_by_one(void* context, void (*task)(void*, size_t),
                           void* argument, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

// ------------------------------------------------ items

typedef struct tiled_items {
  int done[ITEMS];  // how often each item was done
  bool is_shared;   // a tile had changed before its call ended
  const char* memory;
  size_t bytes;
} tiled_items;

// Fills the tile with a number of the item, and finds it unchanged later.
static void fill_tiles(const void* context, void* tile, size_t first,
                       size_t end) {
  tiled_items* const items = (tiled_items*)(uintptr_t)context;
  unsigned char* const bytes = tile;
  assert_int_equal((uintptr_t)tile % ETX_TILE_ALIGNMENT, 0);
  assert_true((const char*)tile >= items->memory);
  assert_true((const char*)tile + BYTES <= items->memory + items->bytes);
  for (size_t i = first; i < end; ++i) {
    for (int again = 0; again < 200; ++again) {
      memset(bytes, (int)i, BYTES);
      for (size_t k = 0; k < BYTES; ++k) {
        if (*(volatile unsigned char*)&bytes[k] != (unsigned char)i) {
          items->is_shared = true;
        }
      }
    }
    ++items->done[i];
  }
}

static void check(const etx_parallel* parallel, double work) {
  tiled_items items = {0};
  assert_true(etx_thread_tiles_needed(parallel, BYTES, &items.bytes));
  test_block block = test_block_new(items.bytes, 16);
  items.memory = (const char*)block.bytes.data;
  const etx_thread_tiles tiles = {block.bytes.data, BYTES};
  etx_parallel_for_tiled(parallel, ITEMS, work, fill_tiles, &items, &tiles);
  for (size_t i = 0; i < ITEMS; ++i) assert_int_equal(items.done[i], 1);
  assert_false(items.is_shared);
  assert_true(test_block_end(&block));
}

static void calls_at_the_same_time_have_tiles_of_their_own(void** state) {
  (void)state;
  const etx_parallel parallel = {.parallel_for = run_in_threads,
                                 .thread_count = THREADS};
  for (int round = 0; round < 20; ++round) check(&parallel, 1e9);
}

static void a_single_thread_has_one_tile(void** state) {
  (void)state;
  const etx_parallel one = {.parallel_for = run_one_by_one, .thread_count = 1};
  check(&one, 1e9);
  // Work that is too little to be split.
  const etx_parallel more = {.parallel_for = run_in_threads,
                             .thread_count = THREADS};
  check(&more, 1);
}

// More calls at a time than the caller has stated wait for a tile.
static void threads_beyond_the_stated_number_wait(void** state) {
  (void)state;
  const etx_parallel parallel = {.parallel_for = run_in_threads,
                                 .thread_count = 2};
  for (int round = 0; round < 20; ++round) check(&parallel, 1e9);
}

static void sizes_that_overflow_are_refused(void** state) {
  (void)state;
  const etx_parallel one = {.parallel_for = run_one_by_one, .thread_count = 1};
  const etx_parallel many = {.parallel_for = run_one_by_one,
                             .thread_count = SIZE_MAX / 256};
  size_t bytes = 1;
  assert_true(etx_thread_tiles_needed(&one, 0, &bytes));
  assert_int_equal(bytes, 0);
  assert_false(etx_thread_tiles_needed(&one, SIZE_MAX - 8, &bytes));
  assert_true(etx_thread_tiles_needed(&many, 64, &bytes));
  assert_false(etx_thread_tiles_needed(&many, 512, &bytes));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_at_the_same_time_have_tiles_of_their_own),
      cmocka_unit_test(a_single_thread_has_one_tile),
      cmocka_unit_test(threads_beyond_the_stated_number_wait),
      cmocka_unit_test(sizes_that_overflow_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
