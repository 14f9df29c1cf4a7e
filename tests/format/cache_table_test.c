// Tables of caches are written into a program with states and read back. They
// are refused for each way in which they can be damaged or disagree with the
// states.

#include "tests/format/fixtures/format_test.h"

#include "format/cache_table/cache_table.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/assert_message.h"
#include "tests/support/optional_parts.h"

static union {
  uint8_t bytes[4096];
  uint64_t alignment;
} work, blob_work;

enum { ANOTHER, KEYS, PAIR, NARROW, POSITION, VALUES, STATES };

static const int32_t cache_sizes[] = {1, 2, 3};
static const int32_t one[] = {1};

// The program's states and some that no method uses, sorted by name.
static etx_bytes write_blob(void) {
  const etx_blob_content* const sample = sample_blob_content();
  etx_blob_state states[STATES];
  etx_blob_content content = *sample;
  memset(states, 0, sizeof states);
  states[ANOTHER] = sample->states[0];
  states[KEYS] = (etx_blob_state){.name = etx_text_of("keys"),
                                  .dtype = ETX_DTYPE_FLOAT32,
                                  .sizes = cache_sizes,
                                  .rank = 3};
  states[PAIR] = sample->states[1];  // layer.cache, int64 [2]
  states[NARROW] =
      (etx_blob_state){.name = etx_text_of("narrow"), .dtype = ETX_DTYPE_INT32};
  states[POSITION] = (etx_blob_state){.name = etx_text_of("position"),
                                      .dtype = ETX_DTYPE_INT64,
                                      .sizes = one,
                                      .rank = 1};
  states[VALUES] = states[KEYS];
  states[VALUES].name = etx_text_of("values");
  content.states = states;
  content.state_count = STATES;
  etx_bytes_mut block = {blob_work.bytes, 0};
  etx_bytes blob = {NULL, 0};
  assert_ok(etx_blob_write_needed(&content, &block.size));
  assert_true(block.size <= sizeof blob_work.bytes);
  assert_ok(etx_blob_write(&content, block, &blob, NULL));
  return blob;
}

// The sample with these states and with `data` as its table of caches.
static etx_bytes_mut write_with(etx_bytes data) {
  etx_pte_content content = *sample_content();
  etx_pte_named_data named[3];
  memcpy(named, content.named_data, 2 * sizeof *named);
  named[1].data = write_blob();
  named[2] = (etx_pte_named_data){etx_text_of(ETX_CACHE_TABLE_KEY), data, 16};
  content.named_data = named;
  content.named_data_count = 3;
  return sample_write(&content);
}

static etx_bytes table_of(const etx_cache* caches, size_t count) {
  etx_bytes_mut block = {work.bytes, 0};
  etx_bytes data = {NULL, 0};
  assert_ok(etx_cache_table_write_needed(caches, count, &block.size));
  assert_true(block.size <= sizeof work.bytes);
  assert_ok(etx_cache_table_write(caches, count, block, &data, NULL));
  return data;
}

static etx_status open_table(etx_bytes_mut file, etx_cache_table* table,
                             etx_diag* diag) {
  etx_pte pte;
  etx_blob blob;
  etx_diag_init(diag);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_ok(etx_blob_open(&blob, &pte, NULL));
  return etx_cache_table_open(table, &pte, &blob, diag);
}

static void everything_is_read_back(void** state) {
  const etx_cache caches[] = {
      {KEYS, 1, POSITION, ETX_CACHE_RING},
      {PAIR, 0, ETX_CACHE_NO_COUNTER, ETX_CACHE_ERROR},
      {VALUES, 2, NARROW, ETX_CACHE_SLIDE},
  };
  etx_cache_table table;
  etx_diag diag;
  (void)state;
  const etx_bytes_mut file = write_with(table_of(caches, 3));
  assert_ok(open_table(file, &table, &diag));
  assert_int_equal(table.count, 3);
  for (size_t i = 0; i < table.count; ++i) {
    const etx_cache found = etx_cache_table_at(&table, i);
    assert_memory_equal(&found, &caches[i], sizeof found);
  }
  sample_release(file);
}

static void a_program_may_have_no_caches(void** state) {
  etx_pte pte;
  etx_blob blob;
  etx_cache_table table;
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  const etx_bytes_mut file = sample_write(sample_content());
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_ok(etx_blob_open(&blob, &pte, NULL));
  assert_int_equal(etx_cache_table_open(&table, &pte, &blob, &diag),
                   ETX_NOT_FOUND);
  assert_int_equal(diag.status, ETX_OK);
  sample_release(file);
}

static void expect_refused(const etx_cache* caches, size_t count,
                           const char* reason) {
  etx_cache_table table;
  etx_diag diag;
  const etx_bytes_mut file = write_with(table_of(caches, count));
  assert_int_equal(open_table(file, &table, &diag), ETX_BAD_FILE);
  if (!test_message_has(&diag, reason)) {
    fail_msg("'%s' does not say '%s'", diag.text, reason);
  }
  sample_release(file);
}

static void every_disagreement_with_the_states_is_refused(void** state) {
  (void)state;
  static const struct {
    etx_cache cache;
    const char* reason;
  } rows[] = {
      {{STATES, 0, ETX_CACHE_NO_COUNTER, 0}, "ascending order"},
      {{-1, 0, ETX_CACHE_NO_COUNTER, 0}, "ascending order"},
      {{KEYS, 3, ETX_CACHE_NO_COUNTER, 0}, "dimension 3 of 3"},
      {{KEYS, -1, ETX_CACHE_NO_COUNTER, 0}, "dimension -1 of 3"},
      {{NARROW, 0, ETX_CACHE_NO_COUNTER, 0}, "dimension 0 of 0"},
      {{KEYS, 0, ETX_CACHE_NO_COUNTER, 3}, "policy 3"},
      {{KEYS, 0, ETX_CACHE_NO_COUNTER, -1}, "policy -1"},
      {{KEYS, 0, STATES, 0}, "counted by state 6"},
      {{KEYS, 0, -2, 0}, "counted by state -2"},
      {{KEYS, 0, KEYS, 0}, "counted by state 1"},
      {{KEYS, 0, VALUES, 0}, "counted by state 5"},
      {{KEYS, 0, PAIR, 0}, "counted by state 2"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    expect_refused(&rows[i].cache, 1, rows[i].reason);
  }
}

static void rows_out_of_order_and_counters_that_are_caches_are_refused(
    void** state) {
  (void)state;
  const etx_cache twice[] = {{KEYS, 0, ETX_CACHE_NO_COUNTER, 0},
                             {KEYS, 1, ETX_CACHE_NO_COUNTER, 0}};
  const etx_cache descending[] = {{VALUES, 0, ETX_CACHE_NO_COUNTER, 0},
                                  {KEYS, 1, ETX_CACHE_NO_COUNTER, 0}};
  const etx_cache counts_itself[] = {{KEYS, 0, POSITION, 0},
                                     {POSITION, 0, ETX_CACHE_NO_COUNTER, 0}};
  expect_refused(twice, 2, "ascending order");
  expect_refused(descending, 2, "ascending order");
  expect_refused(counts_itself, 2, "counted by state 4");
}

// Whatever a damaged table has, it is refused, or its rows stay within the
// states.
static void a_damaged_table_is_refused_or_safe(void** state) {
  (void)state;
  const etx_cache cache = {KEYS, 1, POSITION, ETX_CACHE_RING};
  uint8_t bytes[256];
  const etx_bytes whole = table_of(&cache, 1);
  assert_true(whole.size <= sizeof bytes);
  for (size_t bit = 0; bit < 8 * whole.size; ++bit) {
    etx_cache_table table;
    etx_diag diag;
    memcpy(bytes, whole.data, whole.size);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    const etx_bytes_mut file = write_with((etx_bytes){bytes, whole.size});
    if (open_table(file, &table, &diag) == ETX_OK) {
      for (size_t i = 0; i < table.count; ++i) {
        const etx_cache found = etx_cache_table_at(&table, i);
        assert_in_range(found.state, 0, STATES - 1);
        assert_in_range(found.dim, 0, 2);
        assert_in_range(found.counter + 1, 0, STATES);
        assert_in_range(found.overflow, 0, ETX_CACHE_SLIDE);
      }
    }
    sample_release(file);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_read_back),
      cmocka_unit_test(a_program_may_have_no_caches),
      cmocka_unit_test(every_disagreement_with_the_states_is_refused),
      cmocka_unit_test(
          rows_out_of_order_and_counters_that_are_caches_are_refused),
      unit_test_with(ETX_VERIFIER, a_damaged_table_is_refused_or_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
