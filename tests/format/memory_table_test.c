// Tables of memories are written into a program and read back. They are refused
// for each way in which they can be damaged or disagree with the plans.

#include "tests/format/fixtures/format_test.h"

#include "format/memory_table/memory_table.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/assert_message.h"
#include "tests/support/optional_parts.h"

static union {
  uint8_t bytes[4096];
  uint64_t alignment;
} work;

static etx_memory_row row_of(const char* name, uint64_t capacity, uint32_t cost,
                             bool holds_state) {
  const etx_memory_row row = {etx_text_of(name), capacity, cost, holds_state};
  return row;
}

static etx_bytes table_of(const etx_memory_row* memories, size_t count) {
  etx_bytes_mut block = {work.bytes, 0};
  etx_bytes data = {NULL, 0};
  assert_ok(etx_memory_table_write_needed(memories, count, &block.size));
  assert_true(block.size <= sizeof work.bytes);
  assert_ok(etx_memory_table_write(memories, count, block, &data, NULL));
  return data;
}

// The sample with `data` as its table of memories.
static etx_bytes_mut write_with(etx_bytes data) {
  etx_pte_content content = *sample_content();
  etx_pte_named_data named[3];
  memcpy(named, content.named_data, 2 * sizeof *named);
  named[2] = (etx_pte_named_data){etx_text_of(ETX_MEMORY_TABLE_KEY), data, 16};
  content.named_data = named;
  content.named_data_count = 3;
  return sample_write(&content);
}

static etx_status open_table(etx_bytes_mut file, etx_memory_table* table,
                             etx_diag* diag) {
  etx_pte pte;
  etx_diag_init(diag);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  return etx_memory_table_open(table, &pte, diag);
}

static void everything_is_read_back(void** state) {
  (void)state;
  const etx_memory_row rows[] = {row_of("sram", 65536, 1, false),
                                 row_of("psram_2", 0, 4, true)};
  etx_memory_table table;
  etx_diag diag;
  const etx_bytes_mut file = write_with(table_of(rows, 2));
  assert_ok(open_table(file, &table, &diag));
  assert_int_equal(etx_memory_table_count(&table), 2);
  for (size_t i = 0; i < 2; ++i) {
    const etx_memory_row found = etx_memory_table_at(&table, i);
    assert_true(etx_text_equal(found.name, rows[i].name));
    assert_int_equal(found.capacity, rows[i].capacity);
    assert_int_equal(found.cost, rows[i].cost);
    assert_int_equal(found.holds_state, rows[i].holds_state);
  }
  assert_int_equal(etx_memory_arena_of(0), 1);
  assert_int_equal(etx_memory_arena_of(1), 3);
  sample_release(file);
}

static void a_program_may_have_no_table(void** state) {
  (void)state;
  etx_memory_table table;
  etx_diag diag;
  const etx_bytes_mut file = sample_write(sample_content());
  assert_int_equal(open_table(file, &table, &diag), ETX_NOT_FOUND);
  assert_int_equal(diag.status, ETX_OK);
  sample_release(file);
}

static void expect_refused(const etx_memory_row* rows, size_t count,
                           const char* reason) {
  etx_memory_table table;
  etx_diag diag;
  const etx_bytes_mut file = write_with(table_of(rows, count));
  assert_int_equal(open_table(file, &table, &diag), ETX_BAD_FILE);
  if (!test_message_has(&diag, reason)) {
    fail_msg("'%s' does not say '%s'", diag.text, reason);
  }
  sample_release(file);
}

static void wrong_tables_are_refused(void** state) {
  (void)state;
  etx_memory_row many[ETX_MEMORY_TABLE_MOST + 1];
  const etx_memory_row twice[] = {row_of("sram", 1, 1, true),
                                  row_of("sram", 2, 1, false)};
  const etx_memory_row two_states[] = {row_of("a", 1, 1, true),
                                       row_of("b", 2, 1, true)};
  const etx_memory_row no_state[] = {row_of("a", 1, 1, false)};
  const etx_memory_row free_of_cost[] = {row_of("a", 1, 0, true)};
  const etx_memory_row dear[] = {row_of("a", 1, 65537, true)};
  const etx_memory_row names[] = {
      row_of("", 1, 1, true), row_of("2nd", 1, 1, true),
      row_of("a b", 1, 1, true), row_of("_a", 1, 1, true),
      row_of("abcdefghijklmnopqrstuvwxyzabcdefg", 1, 1, true)};
  for (size_t i = 0; i < ETX_MEMORY_TABLE_MOST + 1; ++i) {
    many[i] = row_of("a", 1, 1, i == 0);
  }
  expect_refused(many, ETX_MEMORY_TABLE_MOST + 1, "has 9 memories");
  expect_refused(many, 0, "has 0 memories");
  expect_refused(twice, 2, "two memories with the name 'sram'");
  expect_refused(two_states, 2, "2 memories of");
  expect_refused(no_state, 1, "0 memories of");
  expect_refused(free_of_cost, 1, "the cost 0");
  expect_refused(dear, 1, "the cost 65537");
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    expect_refused(&names[i], 1, "has the name");
  }
}

// Whatever a damaged table has, it is refused, or reads stay within the file.
static void a_damaged_table_is_refused_or_safe(void** state) {
  (void)state;
  const etx_memory_row rows[] = {row_of("sram", 65536, 1, false),
                                 row_of("psram", 0, 4, true)};
  uint8_t copy[sizeof work.bytes];
  const etx_bytes data = table_of(rows, 2);
  size_t refused = 0;
  memcpy(copy, data.data, data.size);
  for (size_t i = 0; i < data.size; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      etx_memory_table table;
      etx_diag diag;
      copy[i] ^= (uint8_t)(1u << bit);
      const etx_bytes_mut file = write_with((etx_bytes){copy, data.size});
      if (open_table(file, &table, &diag) != ETX_OK) {
        ++refused;
      } else {
        for (size_t k = 0; k < etx_memory_table_count(&table); ++k) {
          assert_true(
              etx_memory_name_is_valid(etx_memory_table_at(&table, k).name));
        }
      }
      sample_release(file);
      copy[i] ^= (uint8_t)(1u << bit);
    }
  }
  assert_true(refused > data.size);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_read_back),
      cmocka_unit_test(a_program_may_have_no_table),
      cmocka_unit_test(wrong_tables_are_refused),
      unit_test_with(ETX_VERIFIER, a_damaged_table_is_refused_or_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
