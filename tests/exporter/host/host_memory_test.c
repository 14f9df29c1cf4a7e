#include "exporter/host/host_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "exporter/host/address_sanitizer.h"

static const size_t sizes[] = {0, 1, 15, 16, 17, 1023, 1024, 70000, 3};
enum { COUNT = sizeof sizes / sizeof *sizes };

static void memory_is_zeroed_aligned_and_of_one_owner(void** state) {
  etx_pool pool;
  uint8_t* taken[COUNT];
  (void)state;
  etx_pool_init(&pool);
  for (size_t i = 0; i < COUNT; ++i) {
    taken[i] = etx_pool_take(&pool, sizes[i]);
    assert_non_null(taken[i]);
    assert_int_equal((uintptr_t)taken[i] % etx_pool_alignment(sizes[i]), 0);
    for (size_t k = 0; k < sizes[i]; ++k) assert_int_equal(taken[i][k], 0);
    memset(taken[i], (int)i + 1, sizes[i]);
  }
  for (size_t i = 0; i < COUNT; ++i) {
    for (size_t k = 0; k < sizes[i]; ++k) assert_int_equal(taken[i][k], i + 1);
  }
  etx_pool_close(&pool);
}

#ifdef ETX_HAS_ADDRESS_SANITIZER
// Arrays of one block are neighbours: without a gap between them, no sanitizer
// sees an index out of range.
static void address_sanitizer_sees_the_end_of_an_array(void** state) {
  (void)state;
  etx_pool pool;
  etx_pool_init(&pool);
  for (size_t i = 0; i < COUNT; ++i) {
    const uint8_t* const bytes = etx_pool_take(&pool, sizes[i]);
    assert_non_null(bytes);
    if (sizes[i] > 0) {
      assert_false(__asan_address_is_poisoned(bytes + sizes[i] - 1));
    }
    assert_true(__asan_address_is_poisoned(bytes + sizes[i]));
  }
  etx_pool_close(&pool);
}
#endif

static void extended_arrays_keep_what_they_hold(void** state) {
  enum { ARRAYS = 3, ITEMS = 40000 };
  (void)state;
  etx_pool pool;
  etx_pool other;
  uint64_t* arrays[ARRAYS] = {NULL};
  size_t capacities[ARRAYS] = {0};
  etx_pool_init(&pool);
  etx_pool_init(&other);
  for (size_t i = 0; i < ITEMS; ++i) {
    for (size_t k = 0; k < ARRAYS; ++k) {
      // An array stays with the pool that made it.
      assert_int_equal(
          etx_pool_extend(i > 100 && k == 1 ? &other : &pool, &arrays[k], i,
                          &capacities[k], sizeof *arrays[k]),
          ETX_OK);
      assert_true(i < capacities[k]);
      arrays[k][i] = i * ARRAYS + k;
    }
  }
  for (size_t k = 0; k < ARRAYS; ++k) {
    for (size_t i = 0; i < ITEMS; ++i) {
      assert_true(arrays[k][i] == i * ARRAYS + k);
    }
  }
  etx_pool_close(&other);
  assert_true(arrays[1][ITEMS - 1] == (ITEMS - 1) * ARRAYS + 1);
  etx_pool_close(&pool);
}

// Old arrays are freed: the pool holds what the arrays can hold.
static void extended_arrays_are_there_once(void** state) {
  (void)state;
  etx_pool pool;
  uint32_t* items = NULL;
  size_t capacity = 0;
  etx_pool_init(&pool);
  for (size_t i = 0; i < 100000; ++i) {
    assert_int_equal(
        etx_pool_extend(&pool, &items, i, &capacity, sizeof *items), ETX_OK);
    items[i] = 1;
  }
  assert_int_equal(pool.total_bytes, capacity * sizeof *items);
  assert_int_equal(
      etx_pool_extend_to(&pool, &items, &capacity, 10, sizeof *items), ETX_OK);
  assert_int_equal(pool.total_bytes, capacity * sizeof *items);
  assert_int_equal(
      etx_pool_extend_to(&pool, &items, &capacity, SIZE_MAX, sizeof *items),
      ETX_OUT_OF_MEMORY);
  assert_int_equal(items[99999], 1);
  etx_pool_close(&pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_aligned_and_of_one_owner),
#ifdef ETX_HAS_ADDRESS_SANITIZER
      cmocka_unit_test(address_sanitizer_sees_the_end_of_an_array),
#endif
      cmocka_unit_test(extended_arrays_keep_what_they_hold),
      cmocka_unit_test(extended_arrays_are_there_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
