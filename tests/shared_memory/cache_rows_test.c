// Caches of a session: how many rows they have, truncation, and snapshots of a
// prefix, over caches of every kind.

#include "shared_memory/cache_rows.h"

#include "shared_memory/checksum.h"
#include "shared_memory/snapshot_header.h"
#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// Positions of the states, in the order of their names.
enum {
  A_COUNT,   // int64 [1], counts a.keys and a.values
  A_KEYS,    // [2, 4, 3], rows along dimension 1; one element repeated
  A_VALUES,  // [4]; initial values of its own
  B_COUNT,   // int32 scalar
  B_RING,    // [3, 2], zeros
  C_FREE,    // [3, 2], rows along dimension 1, not counted
  C_NONE,    // [0, 5], rows along dimension 1, not counted
  D_COUNT,   // int64 [1]
  D_SLIDE,   // [3]
  E_NONE,    // [0], one element repeated
  E_PLAIN,   // [2], no cache
  E_TICK,    // int64 [1], counts nothing
};

// Their offsets.
enum {
  AT_A_COUNT = 0,
  AT_A_KEYS = 16,
  AT_A_VALUES = 112,
  AT_B_COUNT = 128,
  AT_B_RING = 144,
  AT_C_FREE = 176,
  AT_D_COUNT = 208,
  AT_D_SLIDE = 224,
  AT_E_PLAIN = 240,
  AT_E_TICK = 256,
  STATE_BYTES = 264,
  BLOCK = ETX_SHARED_MEMORY_HEADER + STATE_BYTES,
  // A snapshot of two rows: one row of each part of a.keys has 12 bytes.
  PREFIX_2 = 64 + 8 + 2 * 2 * 12 + 2 * 4 + 4 + 2 * 8 + 24 + 8 + 12 + 16 + 8,
};

static const etx_cache caches[] = {
    {A_KEYS, 1, A_COUNT, ETX_CACHE_ERROR},
    {A_VALUES, 0, A_COUNT, ETX_CACHE_ERROR},
    {B_RING, 0, B_COUNT, ETX_CACHE_RING},
    {C_FREE, 1, ETX_CACHE_NO_COUNTER, ETX_CACHE_ERROR},
    {C_NONE, 1, ETX_CACHE_NO_COUNTER, ETX_CACHE_ERROR},
    {D_SLIDE, 0, D_COUNT, ETX_CACHE_SLIDE},
};
enum { CACHES = sizeof caches / sizeof *caches };

typedef struct cached_session {
  test_program* p;
  etx_program program;
  test_block block;
  etx_shared_memory shared;
} cached_session;

static void add_states(test_program* p) {
  static const float seven = 7;
  static const float values[4] = {1, 2, 3, 4};
  const etx_dtype f32 = ETX_DTYPE_FLOAT32;
  const etx_dtype i64 = ETX_DTYPE_INT64;
  const uint32_t repeated = test_data(p, &seven, sizeof seven);
  test_state_row(p, "a.count", i64, SIZES(1), AT_A_COUNT, 0);
  test_state_row(p, "a.keys", f32, SIZES(2, 4, 3), AT_A_KEYS, repeated)
      ->is_uniform = true;
  test_state_row(p, "a.values", f32, SIZES(4), AT_A_VALUES,
                 test_data(p, values, sizeof values));
  test_state_row(p, "b.count", ETX_DTYPE_INT32, SCALAR_SIZES, AT_B_COUNT, 0);
  test_state_row(p, "b.ring", f32, SIZES(3, 2), AT_B_RING, 0);
  test_state_row(p, "c.free", f32, SIZES(3, 2), AT_C_FREE, 0);
  test_state_row(p, "c.none", f32, SIZES(0, 5), AT_D_COUNT, 0);
  test_state_row(p, "d.count", i64, SIZES(1), AT_D_COUNT, 0);
  test_state_row(p, "d.slide", f32, SIZES(3), AT_D_SLIDE, 0);
  test_state_row(p, "e.none", f32, SIZES(0), AT_E_PLAIN, repeated)->is_uniform =
      true;
  test_state_row(p, "e.plain", f32, SIZES(4), AT_E_PLAIN, 0);
  test_state_row(p, "e.tick", i64, SIZES(1), AT_E_TICK, 0);
}

static void start_with(cached_session* f, const etx_cache* rows, size_t count) {
  f->p = test_program_new();
  test_method(f->p, "step");
  test_arenas(f->p, 16, STATE_BYTES);
  test_call(
      f->p, "aten::copy_", "",
      ARGS(test_state(f->p, "e.plain", ETX_DTYPE_FLOAT32, SIZES(4), AT_E_PLAIN),
           test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(4), 0),
           test_bool(f->p, false), 0));
  test_blob(f->p);
  add_states(f->p);
  if (count > 0) test_caches(f->p, rows, count);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  f->block = test_block_new(BLOCK, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(
      etx_shared_memory_init(&f->shared, &f->program, f->block.bytes, &diag));
}

static void start(cached_session* f) { start_with(f, caches, CACHES); }

static void end(cached_session* f) {
  assert_true(test_block_end(&f->block));
  test_program_end(f->p);
}

static float* floats_at(cached_session* f, size_t offset) {
  return (float*)(void*)(f->shared.planned.data + offset);
}

static void put_i64(cached_session* f, size_t offset, int64_t value) {
  memcpy(f->shared.planned.data + offset, &value, sizeof value);
}

static void put_i32(cached_session* f, size_t offset, int32_t value) {
  memcpy(f->shared.planned.data + offset, &value, sizeof value);
}

static int64_t get_i64(const cached_session* f, size_t offset) {
  int64_t value;
  memcpy(&value, f->shared.planned.data + offset, sizeof value);
  return value;
}

static int32_t get_i32(const cached_session* f, size_t offset) {
  int32_t value;
  memcpy(&value, f->shared.planned.data + offset, sizeof value);
  return value;
}

// Element i of the arena becomes 100 + i; then the counters.
static void fill(cached_session* f, int64_t a, int32_t b, int64_t d) {
  for (size_t i = 0; i < STATE_BYTES / 4; ++i) {
    floats_at(f, 0)[i] = (float)(100 + i);
  }
  put_i64(f, AT_A_COUNT, a);
  put_i32(f, AT_B_COUNT, b);
  put_i64(f, AT_D_COUNT, d);
  put_i64(f, AT_E_TICK, 5);
}

static etx_status truncate(cached_session* f, const char* name,
                           uint64_t length) {
  etx_diag_init(&diag);
  return etx_shared_memory_truncate(&f->shared, etx_text_of(name), length,
                                    &diag);
}

// What truncation refuses leaves the whole block as it is.
static void assert_not_truncated(cached_session* f, const char* name,
                                 uint64_t length, etx_status status,
                                 const char* part) {
  uint8_t before[BLOCK];
  memcpy(before, f->shared.block, BLOCK);
  assert_refused(truncate(f, name, length), status, part);
  assert_memory_equal(before, f->shared.block, BLOCK);
}

// ---- the number of rows ----

static etx_status length_of(cached_session* f, const char* name,
                            uint64_t* out_length) {
  return etx_shared_memory_length(&f->shared, etx_text_of(name), out_length,
                                  &diag);
}

static void a_counter_states_the_number_of_rows(void** state) {
  (void)state;
  cached_session f;
  uint64_t length = 0;
  start(&f);
  fill(&f, 3, 5, 2);
  assert_ok(length_of(&f, "a", &length));
  assert_int_equal(length, 3);
  assert_ok(length_of(&f, "a.values", &length));
  assert_int_equal(length, 3);
  assert_ok(length_of(&f, "b.ring", &length));
  assert_int_equal(length, 5);
  assert_ok(length_of(&f, "d", &length));
  assert_int_equal(length, 2);
  end(&f);
}

static void a_length_that_is_not_one_number_is_refused(void** state) {
  (void)state;
  cached_session f;
  uint64_t length = 77;
  start(&f);
  fill(&f, 3, 5, 2);
  assert_refused(length_of(&f, "", &length), ETX_BAD_ARGUMENT,
                 "cache 'b.ring' has 5 rows, another one has 3");
  assert_refused(length_of(&f, "c.free", &length), ETX_BAD_ARGUMENT,
                 "does not count the rows of cache 'c.free'");
  assert_refused(length_of(&f, "e.plain", &length), ETX_NOT_FOUND,
                 "no cache 'e.plain' and none below it");
  put_i32(&f, AT_B_COUNT, -2);
  assert_refused(length_of(&f, "b", &length), ETX_BAD_STATE,
                 "the counter of cache 'b.ring' is -2");
  assert_int_equal(length, 77);
  end(&f);
}

// ---- truncation ----

static void truncation_clears_counted_rows_behind_the_length(void** state) {
  (void)state;
  cached_session f;
  float expected[STATE_BYTES / 4];
  start(&f);
  fill(&f, 3, 1, 2);
  memcpy(expected, floats_at(&f, 0), sizeof expected);
  // Rows 1 and 2 of both parts; row 3 was never appended.
  for (size_t part = 0; part < 2; ++part) {
    for (size_t i = 3; i < 9; ++i) {
      expected[AT_A_KEYS / 4 + part * 12 + i] = 7;
    }
  }
  expected[AT_A_VALUES / 4 + 1] = 2;
  expected[AT_A_VALUES / 4 + 2] = 3;
  const int64_t one = 1;
  memcpy(expected, &one, sizeof one);
  assert_int_equal(truncate(&f, "a", 1), ETX_OK);
  assert_memory_equal(f.shared.planned.data, expected, STATE_BYTES);
  end(&f);
}

static void a_cache_without_counter_loses_all_rows_behind(void** state) {
  (void)state;
  cached_session f;
  float expected[STATE_BYTES / 4];
  start(&f);
  fill(&f, 3, 1, 2);
  memcpy(expected, floats_at(&f, 0), sizeof expected);
  for (size_t part = 0; part < 3; ++part) {
    expected[AT_C_FREE / 4 + part * 2 + 1] = 0;
  }
  // 'c.none' has no bytes.
  assert_int_equal(truncate(&f, "c", 1), ETX_OK);
  assert_memory_equal(f.shared.planned.data, expected, STATE_BYTES);
  assert_not_truncated(&f, "c.free", 3, ETX_OUT_OF_RANGE,
                       "cache 'c.free' has 2 rows, so 3 of them cannot be");
  end(&f);
}

static void all_caches_are_truncated_at_once(void** state) {
  (void)state;
  cached_session f;
  start(&f);
  fill(&f, 2, 3, 1);
  assert_int_equal(truncate(&f, "", 1), ETX_OK);
  assert_int_equal(get_i64(&f, AT_A_COUNT), 1);
  assert_int_equal(get_i32(&f, AT_B_COUNT), 1);
  assert_int_equal(get_i64(&f, AT_D_COUNT), 1);
  assert_true(floats_at(&f, AT_A_KEYS)[2] == 100 + AT_A_KEYS / 4 + 2);
  assert_true(floats_at(&f, AT_A_KEYS)[3] == 7);
  assert_true(floats_at(&f, AT_B_RING)[1] == 100 + AT_B_RING / 4 + 1);
  for (size_t i = 2; i < 6; ++i) assert_true(floats_at(&f, AT_B_RING)[i] == 0);
  assert_true(floats_at(&f, AT_D_SLIDE)[1] == 100 + AT_D_SLIDE / 4 + 1);
  assert_true(floats_at(&f, AT_E_PLAIN)[0] == 100 + AT_E_PLAIN / 4);
  assert_int_equal(get_i64(&f, AT_E_TICK), 5);
  end(&f);
}

static void a_truncation_that_loses_nothing_changes_nothing(void** state) {
  (void)state;
  cached_session f;
  uint8_t before[BLOCK];
  start(&f);
  fill(&f, 4, 5, 3);
  memcpy(before, f.shared.block, BLOCK);
  assert_int_equal(truncate(&f, "a", 4), ETX_OK);
  assert_int_equal(truncate(&f, "b", 5), ETX_OK);
  assert_int_equal(truncate(&f, "c", 2), ETX_OK);
  assert_int_equal(truncate(&f, "d.slide", 3), ETX_OK);
  assert_memory_equal(before, f.shared.block, BLOCK);
  // Rows that were never appended are not looked at.
  fill(&f, 0, 3, 3);
  memcpy(before, f.shared.block, BLOCK);
  assert_int_equal(truncate(&f, "a", 0), ETX_OK);
  assert_memory_equal(before, f.shared.block, BLOCK);
  end(&f);
}

static void rows_that_cannot_be_kept_are_refused(void** state) {
  (void)state;
  cached_session f;
  start(&f);
  fill(&f, 3, 4, 2);
  assert_not_truncated(&f, "a", 4, ETX_OUT_OF_RANGE,
                       "cache 'a.keys' has 3 rows, so 4 of them cannot be");
  assert_not_truncated(&f, "b", 3, ETX_OUT_OF_RANGE,
                       "the first 3 of 4 rows of cache 'b.ring' cannot be "
                       "kept: it has room for 3");
  assert_not_truncated(&f, "d", 1, ETX_OUT_OF_RANGE,
                       "the first 1 of 2 rows of cache 'd.slide' cannot be "
                       "kept, because its rows move");
  put_i32(&f, AT_B_COUNT, 3);  // full, but no row has been overwritten
  assert_int_equal(truncate(&f, "b", 2), ETX_OK);
  put_i64(&f, AT_D_COUNT, -1);
  assert_not_truncated(&f, "d", 0, ETX_BAD_STATE,
                       "the counter of cache 'd.slide' is -1");
  end(&f);
}

static void caches_of_one_counter_are_truncated_together(void** state) {
  (void)state;
  cached_session f;
  start(&f);
  fill(&f, 3, 1, 1);
  assert_not_truncated(&f, "a.values", 1, ETX_BAD_ARGUMENT,
                       "caches 'a.values' and 'a.keys' have one counter");
  assert_not_truncated(&f, "a.keys", 1, ETX_BAD_ARGUMENT,
                       "caches 'a.keys' and 'a.values' have one counter");
  end(&f);
}

// The same of names of one letter.
static void a_short_name_is_a_name(void** state) {
  (void)state;
  static const etx_cache both[] = {{0, 0, 2, ETX_CACHE_ERROR},
                                   {1, 0, 2, ETX_CACHE_ERROR}};
  cached_session f;
  f.p = test_program_new();
  test_method(f.p, "m");
  test_arenas(f.p, 16, 48);
  test_blob(f.p);
  test_state_row(f.p, "a", ETX_DTYPE_FLOAT32, SIZES(4), 0, 0);
  test_state_row(f.p, "b", ETX_DTYPE_FLOAT32, SIZES(4), 16, 0);
  test_state_row(f.p, "n", ETX_DTYPE_INT64, SIZES(1), 32, 0);
  test_caches(f.p, both, 2);
  f.block = test_block_new(64 + 48, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_program_open(&f.program, test_file(f.p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(
      etx_shared_memory_init(&f.shared, &f.program, f.block.bytes, &diag));
  put_i64(&f, 32, 3);
  assert_refused(truncate(&f, "a", 1), ETX_BAD_ARGUMENT,
                 "caches 'a' and 'b' have one counter");
  assert_int_equal(get_i64(&f, 32), 3);
  end(&f);
}

static void torn_state_and_unknown_names_are_not_truncated(void** state) {
  (void)state;
  cached_session f;
  start(&f);
  fill(&f, 3, 1, 1);
  assert_not_truncated(&f, "e", 0, ETX_NOT_FOUND,
                       "no cache 'e' and none below it");
  *f.shared.planned.torn = 1;
  assert_not_truncated(&f, "a", 1, ETX_TORN_STATE,
                       "torn state cannot be truncated");
  end(&f);
}

// ---- snapshots of a prefix ----

typedef struct prefix {
  uint8_t bytes[64 + STATE_BYTES];
  size_t size;
} prefix;

static void save_prefix(cached_session* f, uint64_t length, prefix* out) {
  size_t needed = 0;
  assert_ok(
      etx_shared_memory_save_prefix_needed(&f->shared, length, &needed, &diag));
  assert_true(needed <= sizeof out->bytes);
  test_block exact = test_block_new(needed, 1);
  assert_ok(etx_shared_memory_save_prefix(&f->shared, length, exact.bytes,
                                          &out->size, &diag));
  assert_int_equal(out->size, needed);
  memcpy(out->bytes, exact.bytes.data, needed);
  assert_true(test_block_end(&exact));
}

static etx_status restore(cached_session* f, const prefix* snapshot) {
  etx_diag_init(&diag);
  return etx_shared_memory_restore(
      &f->shared, (etx_bytes){snapshot->bytes, snapshot->size}, &diag);
}

static void assert_not_restored(cached_session* f, const prefix* snapshot,
                                const char* part) {
  uint8_t before[BLOCK];
  memcpy(before, f->shared.block, BLOCK);
  assert_refused(restore(f, snapshot), ETX_BAD_ARGUMENT, part);
  assert_memory_equal(before, f->shared.block, BLOCK);
}

static void a_prefix_holds_first_rows_and_all_other_states(void** state) {
  (void)state;
  cached_session f;
  prefix p;
  start(&f);
  fill(&f, 3, 3, 2);
  save_prefix(&f, 2, &p);
  assert_int_equal(p.size, PREFIX_2);
  const float* const content = (const float*)(const void*)(p.bytes + 64);
  int64_t count = 0;
  memcpy(&count, content, sizeof count);
  assert_int_equal(count, 2);
  for (size_t i = 0; i < 6; ++i) {
    const float first = 100 + AT_A_KEYS / 4 + (float)i;
    assert_true(content[2 + i] == first);
    assert_true(content[8 + i] == first + 12);
  }
  assert_true(content[14] == 100 + AT_A_VALUES / 4);
  assert_true(content[15] == 100 + AT_A_VALUES / 4 + 1);
  int32_t narrow = 0;
  memcpy(&narrow, content + 16, sizeof narrow);
  assert_int_equal(narrow, 2);
  for (size_t i = 0; i < 4; ++i) {
    assert_true(content[17 + i] == 100 + AT_B_RING / 4 + (float)i);
  }
  // The integer that counts nothing is saved as it is.
  memcpy(&count, p.bytes + p.size - sizeof count, sizeof count);
  assert_int_equal(count, 5);
  end(&f);
}

// The counter of the first cache alone, and of the last one alone.
static void a_prefix_states_its_number_of_rows(void** state) {
  (void)state;
  for (size_t count = 1; count <= 2; ++count) {
    static const etx_cache rows[] = {{A_VALUES, 0, A_COUNT, ETX_CACHE_ERROR},
                                     {B_RING, 0, B_COUNT, ETX_CACHE_RING}};
    cached_session f;
    prefix p;
    int64_t saved = 0;
    start_with(&f, rows, count);
    fill(&f, 3, 3, 2);
    save_prefix(&f, 2, &p);
    memcpy(&saved, p.bytes + 64, sizeof saved);
    assert_int_equal(saved, 2);
    assert_int_equal(restore(&f, &p), ETX_OK);
    assert_int_equal(get_i64(&f, AT_A_COUNT), 2);
    assert_int_equal(get_i32(&f, AT_B_COUNT), count == 2 ? 2 : 3);
    end(&f);
  }
}

static void a_restored_prefix_is_the_truncated_session(void** state) {
  (void)state;
  for (int torn = 0; torn < 2; ++torn) {
    for (int64_t counted = -1; counted <= 4; ++counted) {
      cached_session f, g;
      prefix p;
      start(&f);
      start(&g);
      assert_int_equal(truncate(&f, "", 0), ETX_OK);
      assert_int_equal(truncate(&g, "", 0), ETX_OK);
      floats_at(&f, AT_A_KEYS)[0] = 50;
      floats_at(&f, AT_A_KEYS)[12] = 51;
      floats_at(&f, AT_A_VALUES)[0] = 52;
      floats_at(&f, AT_C_FREE)[0] = floats_at(&f, AT_C_FREE)[1] = 53;
      floats_at(&f, AT_B_RING)[0] = 54;
      floats_at(&f, AT_D_SLIDE)[2] = 55;
      put_i64(&f, AT_A_COUNT, 1);
      put_i32(&f, AT_B_COUNT, 1);
      put_i64(&f, AT_D_COUNT, 1);
      save_prefix(&f, 1, &p);
      // Rows that the counter of the other session states are cleared; in torn
      // state, and where the counter is wrong, all are.
      put_i64(&g, AT_A_COUNT, counted);
      const bool clears_all = torn != 0 || counted < 0;
      const size_t rows = clears_all ? 4 : (size_t)counted;
      for (size_t i = 0; i < rows; ++i) floats_at(&g, AT_A_VALUES)[i] = 66;
      *g.shared.planned.torn = (uint32_t)torn;
      assert_int_equal(restore(&g, &p), ETX_OK);
      assert_false(etx_shared_memory_is_torn(&g.shared));
      assert_int_equal(truncate(&f, "c", 1), ETX_OK);
      assert_memory_equal(g.shared.planned.data, f.shared.planned.data,
                          STATE_BYTES);
      end(&g);
      end(&f);
    }
  }
}

static void an_empty_prefix_is_restored_as_initial_values(void** state) {
  (void)state;
  cached_session f, fresh;
  prefix p;
  start(&f);
  start(&fresh);
  save_prefix(&f, 0, &p);
  fill(&f, 4, 3, 3);
  assert_int_equal(restore(&f, &p), ETX_OK);
  assert_int_equal(get_i64(&f, AT_A_COUNT), 0);
  for (size_t i = 0; i < 24; ++i) assert_true(floats_at(&f, AT_A_KEYS)[i] == 7);
  for (size_t i = 0; i < 4; ++i) {
    assert_true(floats_at(&f, AT_A_VALUES)[i] == (float)(i + 1));
  }
  end(&fresh);
  end(&f);
}

static void a_prefix_that_cannot_be_kept_is_not_saved(void** state) {
  (void)state;
  cached_session f;
  uint8_t room[64 + STATE_BYTES] = {0};
  const uint8_t untouched[64 + STATE_BYTES] = {0};
  const etx_bytes_mut out = {room, sizeof room};
  size_t size = 77;
  start(&f);
  fill(&f, 3, 3, 2);
  assert_refused(etx_shared_memory_save_prefix(&f.shared, 1, out, &size, &diag),
                 ETX_OUT_OF_RANGE, "because its rows move");
  assert_refused(
      etx_shared_memory_save_prefix_needed(&f.shared, 3, &size, &diag),
      ETX_OUT_OF_RANGE, "cache 'c.free' has 2 rows");
  assert_refused(
      etx_shared_memory_save_prefix(
          &f.shared, 2, (etx_bytes_mut){room, PREFIX_2 - 1}, &size, &diag),
      ETX_OUT_OF_MEMORY, "a snapshot of 2 rows needs 216 bytes, 215 were");
  *f.shared.planned.torn = 1;
  assert_refused(etx_shared_memory_save_prefix(&f.shared, 2, out, &size, &diag),
                 ETX_TORN_STATE, "torn state cannot be saved");
  assert_int_equal(size, 77);
  assert_memory_equal(room, untouched, sizeof room);
  end(&f);
}

// The checksum of a changed snapshot.
static void seal(prefix* p) {
  uint32_t crc = etx_crc32(0, (etx_bytes){p->bytes, 60});
  crc = etx_crc32(crc, (etx_bytes){p->bytes + 64, p->size - 64});
  for (size_t i = 0; i < 4; ++i) p->bytes[60 + i] = (uint8_t)(crc >> 8 * i);
}

static void a_damaged_prefix_is_not_restored(void** state) {
  (void)state;
  cached_session f;
  prefix p;
  start(&f);
  fill(&f, 2, 2, 2);
  save_prefix(&f, 2, &p);
  for (size_t bit = 0; bit < p.size * 8; ++bit) {
    p.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_not_restored(&f, &p, "");
    p.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  --p.size;
  seal(&p);
  assert_not_restored(&f, &p, "of 2 rows has 215 bytes, expected 216");
  ++p.size;
  p.bytes[8] = 3;
  seal(&p);
  assert_not_restored(&f, &p, "has version 3, expected 1 or 2");
  p.bytes[8] = 2;
  p.bytes[11] = 1;
  seal(&p);
  assert_not_restored(&f, &p, "has version 16777218, expected 1 or 2");
  p.bytes[11] = 0;
  p.bytes[8] = 2;
  seal(&p);
  assert_int_equal(restore(&f, &p), ETX_OK);
  end(&f);
}

// ---- programs without a usable table ----

static void assert_no_caches(cached_session* f, etx_status status,
                             const char* part) {
  prefix p = {{0}, 0};
  uint64_t length = 0;
  assert_not_truncated(f, "", 0, status, part);
  assert_refused(length_of(f, "", &length), status, part);
  assert_refused(
      etx_shared_memory_save_prefix_needed(&f->shared, 0, &p.size, &diag),
      status, part);
  const etx_bytes_mut out = {p.bytes, sizeof p.bytes};
  assert_refused(
      etx_shared_memory_save_prefix(&f->shared, 0, out, &p.size, &diag), status,
      part);
  // A whole snapshot that says it were one of a prefix.
  assert_ok(etx_shared_memory_save(&f->shared, out, &p.size, &diag));
  p.bytes[8] = 2;
  seal(&p);
  assert_refused(restore(f, &p), status, part);
}

static void a_cache_of_one_byte_is_truncated(void** state) {
  (void)state;
  static const etx_cache cache = {0, 0, ETX_CACHE_NO_COUNTER, ETX_CACHE_ERROR};
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 16, 1);
  test_blob(p);
  test_state_row(p, "a", ETX_DTYPE_UINT8, SIZES(1), 0, 0);
  test_caches(p, &cache, 1);
  etx_program program;
  etx_shared_memory shared;
  test_block block = test_block_new(64 + 1, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(etx_shared_memory_init(&shared, &program, block.bytes, &diag));
  shared.planned.data[0] = 7;
  assert_ok(etx_shared_memory_truncate(&shared, etx_text_of("a"), 1, &diag));
  assert_int_equal(shared.planned.data[0], 7);
  assert_ok(etx_shared_memory_truncate(&shared, etx_text_of("a"), 0, &diag));
  assert_int_equal(shared.planned.data[0], 0);
  assert_true(test_block_end(&block));
  test_program_end(p);
}

static void a_program_may_have_no_caches(void** state) {
  (void)state;
  cached_session f;
  start_with(&f, NULL, 0);
  assert_no_caches(&f, ETX_NOT_FOUND,
                   "does not say which of its states are caches");
  end(&f);
}

static void a_stock_file_has_no_caches(void** state) {
  (void)state;
  cached_session f;
  f.p = counter_program(false, false);
  f.block = test_block_new(64 + COUNTER_STATE_BYTES, 64);
  assert_ok(etx_program_open(&f.program, test_file(f.p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(
      etx_shared_memory_init(&f.shared, &f.program, f.block.bytes, &diag));
  assert_refused(truncate(&f, "", 0), ETX_NOT_FOUND,
                 "does not say which of its states are caches");
  end(&f);
}

static void a_damaged_table_of_caches_is_refused(void** state) {
  (void)state;
  static const etx_cache missing = {E_TICK + 1, 0, ETX_CACHE_NO_COUNTER,
                                    ETX_CACHE_ERROR};
  cached_session f;
  start_with(&f, &missing, 1);
  assert_no_caches(&f, ETX_BAD_FILE, "cache '0' in 'etx.caches.v1' is state");
  end(&f);
}

// States of a forged file may share bytes, so that a snapshot would need more
// than memory has. Of a zeroed block, only the header is written.
static void a_prefix_that_no_memory_holds_is_refused(void** state) {
  (void)state;
  if (SIZE_MAX < UINT64_MAX) skip();  // it opens no such program
  static const etx_cache cache = {0, 2, ETX_CACHE_NO_COUNTER, ETX_CACHE_ERROR};
  const test_sizes most = SIZES(INT32_MAX, INT32_MAX, 1);
  const int64_t bytes = (int64_t)INT32_MAX * INT32_MAX;
  test_program* p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 16, bytes);
  test_blob(p);
  for (int i = 0; i < 5; ++i) {
    static const char* const names[] = {"a", "b", "c", "d", "e"};
    test_state_row(p, names[i], ETX_DTYPE_UINT8, most, 0, 0);
  }
  test_caches(p, &cache, 1);
  etx_program program;
  etx_shared_memory shared;
  prefix snapshot = {{0}, 64};
  test_block block = test_block_new(64, ETX_SHARED_MEMORY_ALIGNMENT);
  memset(block.bytes.data, 0, 64);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(etx_shared_memory_init_zeroed(
      &shared, &program, (etx_bytes_mut){block.bytes.data, 64 + (size_t)bytes},
      &diag));
  assert_status(
      etx_shared_memory_save_prefix_needed(&shared, 1, &snapshot.size, &diag),
      ETX_OUT_OF_RANGE);
  const etx_bytes_mut out = {snapshot.bytes, sizeof snapshot.bytes};
  assert_status(
      etx_shared_memory_save_prefix(&shared, 1, out, &snapshot.size, &diag),
      ETX_OUT_OF_RANGE);
  assert_int_equal(snapshot.size, 64);
  etx_snapshot_finish(&shared, ETX_SNAPSHOT_PREFIX, 1,
                      (etx_bytes_mut){snapshot.bytes, snapshot.size});
  assert_status(etx_shared_memory_restore(
                    &shared, (etx_bytes){snapshot.bytes, snapshot.size}, &diag),
                ETX_OUT_OF_RANGE);
  assert_true(test_block_end(&block));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_counter_states_the_number_of_rows),
      cmocka_unit_test(a_length_that_is_not_one_number_is_refused),
      cmocka_unit_test(truncation_clears_counted_rows_behind_the_length),
      cmocka_unit_test(a_cache_without_counter_loses_all_rows_behind),
      cmocka_unit_test(all_caches_are_truncated_at_once),
      cmocka_unit_test(a_truncation_that_loses_nothing_changes_nothing),
      cmocka_unit_test(rows_that_cannot_be_kept_are_refused),
      cmocka_unit_test(caches_of_one_counter_are_truncated_together),
      cmocka_unit_test(a_short_name_is_a_name),
      cmocka_unit_test(torn_state_and_unknown_names_are_not_truncated),
      cmocka_unit_test(a_prefix_holds_first_rows_and_all_other_states),
      cmocka_unit_test(a_prefix_states_its_number_of_rows),
      cmocka_unit_test(a_restored_prefix_is_the_truncated_session),
      cmocka_unit_test(an_empty_prefix_is_restored_as_initial_values),
      cmocka_unit_test(a_prefix_that_cannot_be_kept_is_not_saved),
      cmocka_unit_test(a_damaged_prefix_is_not_restored),
      cmocka_unit_test(a_prefix_that_no_memory_holds_is_refused),
      cmocka_unit_test(a_cache_of_one_byte_is_truncated),
      cmocka_unit_test(a_program_may_have_no_caches),
      cmocka_unit_test(a_stock_file_has_no_caches),
      cmocka_unit_test(a_damaged_table_of_caches_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
