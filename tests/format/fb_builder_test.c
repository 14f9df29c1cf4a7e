#include "tests/format/fixtures/format_test.h"

#include "format/flatbuffers/fb_builder.h"
#include "format/flatbuffers/fb_reader.h"
#include "tests/support/guarded_memory.h"

static uint64_t space[1024];

static etx_bytes_mut block_of(size_t size) {
  const etx_bytes_mut block = {(uint8_t*)space, size};
  return block;
}

// A table with one field of each type, and a vector of two such tables.
enum { U8, I8, U32, I32, U64, I64, F64, STRING, WIDES, BYTES };

static etx_fb_ref build_row(etx_fb_builder* b, int sign) {
  static const int64_t wides[] = {INT64_MIN, 3};
  static const uint8_t raw[] = {9, 8, 7};
  const etx_fb_ref text = etx_fb_builder_string(b, etx_text_of("name"));
  const etx_fb_ref wide = etx_fb_builder_vector(b, wides, 2, 8, 8);
  const etx_fb_ref bytes = etx_fb_builder_vector(b, raw, 3, 1, 16);
  etx_fb_builder_start(b);
  etx_fb_builder_add_u8(b, U8, 200, 0);
  etx_fb_builder_add_i8(b, I8, (int8_t)(sign * 100), 0);
  etx_fb_builder_add_u32(b, U32, 4000000000u, 0);
  etx_fb_builder_add_i32(b, I32, sign * 70000, 0);
  etx_fb_builder_add_u64(b, U64, UINT64_MAX, 0);
  etx_fb_builder_add_i64(b, I64, sign * INT64_C(5000000000), 0);
  etx_fb_builder_add_f64(b, F64, sign * 0.25);
  etx_fb_builder_add_ref(b, STRING, text);
  etx_fb_builder_add_ref(b, WIDES, wide);
  etx_fb_builder_add_ref(b, BYTES, bytes);
  return etx_fb_builder_end(b);
}

static etx_status build_all(etx_fb_builder* b, etx_bytes_mut* out) {
  const size_t refs = etx_fb_builder_reserve_refs(b, 2);
  etx_fb_builder_set_ref(b, refs, 1, build_row(b, -1));
  etx_fb_builder_set_ref(b, refs, 0, build_row(b, 1));
  const etx_fb_ref rows = etx_fb_builder_table_vector(b, refs, 2);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, 0, rows);
  return etx_fb_builder_finish(b, etx_fb_builder_end(b), "TEST", out);
}

static void what_is_built_is_read_back(void** state) {
  etx_fb_builder b;
  etx_bytes_mut out;
  (void)state;
  etx_fb_builder_init(&b, block_of(sizeof space));
  assert_ok(build_all(&b, &out));
  const etx_fb_buffer fb = {out.data, (uint32_t)out.size};
  const etx_fb_vector rows = etx_fb_vector_in(&fb, etx_fb_root(&fb), 0);
  assert_int_equal(rows.count, 2);
  for (int i = 0; i < 2; ++i) {
    const int sign = i == 0 ? 1 : -1;
    const uint32_t row = etx_fb_table_at(&fb, rows, (uint32_t)i);
    assert_int_equal(etx_fb_u8(&fb, row, U8, 0), 200);
    assert_int_equal(etx_fb_i8(&fb, row, I8, 0), sign * 100);
    assert_true(etx_fb_u32(&fb, row, U32, 0) == 4000000000u);
    assert_int_equal(etx_fb_i32(&fb, row, I32, 0), sign * 70000);
    assert_true(etx_fb_u64(&fb, row, U64, 0) == UINT64_MAX);
    assert_true(etx_fb_i64(&fb, row, I64, 0) == sign * INT64_C(5000000000));
    assert_true(etx_fb_f64(&fb, row, F64, 0) == sign * 0.25);
    assert_text(etx_fb_string(&fb, row, STRING), "name");
    const etx_fb_vector wides = etx_fb_vector_in(&fb, row, WIDES);
    assert_int_equal(wides.count, 2);
    assert_int_equal(wides.position % 8, 0);
    int64_t first = 0;
    memcpy(&first, etx_fb_elements(&fb, wides), sizeof first);
    assert_true(first == INT64_MIN);
    const etx_fb_vector bytes = etx_fb_vector_in(&fb, row, BYTES);
    assert_int_equal(bytes.position % 16, 0);
    assert_int_equal(etx_fb_bytes(&fb, bytes).size, 3);
    assert_int_equal(etx_fb_bytes(&fb, bytes).data[2], 7);
  }
}

static void equal_vtables_are_shared(void** state) {
  etx_fb_builder b;
  etx_bytes_mut out;
  (void)state;
  etx_fb_builder_init(&b, block_of(sizeof space));
  assert_ok(build_all(&b, &out));
  assert_int_equal(b.vtable_count, 2);
  const etx_fb_buffer fb = {out.data, (uint32_t)out.size};
  const etx_fb_vector rows = etx_fb_vector_in(&fb, etx_fb_root(&fb), 0);
  uint32_t vtables[2];
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t row = etx_fb_table_at(&fb, rows, i);
    uint32_t back = 0;
    memcpy(&back, out.data + row, sizeof back);
    vtables[i] = row - back;
  }
  assert_int_equal(vtables[0], vtables[1]);
}

// Of tables of two forms, the third one is of the second form.
static void every_earlier_vtable_is_shared(void** state) {
  static const uint32_t fields[] = {0, 1, 1, 0};
  etx_fb_builder b;
  (void)state;
  etx_fb_builder_init(&b, block_of(sizeof space));
  for (size_t i = 0; i < COUNT(fields); ++i) {
    etx_fb_builder_start(&b);
    etx_fb_builder_add_u32(&b, fields[i], 7, 0);
    assert_int_not_equal(etx_fb_builder_end(&b), 0);
    assert_int_equal(b.vtable_count, i == 0 ? 1 : 2);
  }
}

// A vector of tables takes over the room of its references, in a counting
// builder, too.
static void references_take_room_until_they_are_used(void** state) {
  etx_fb_builder b;
  (void)state;
  for (int counts = 0; counts < 2; ++counts) {
    etx_fb_builder_init(&b, block_of(sizeof space));
    if (counts) etx_fb_builder_init_counting(&b);
    const size_t outer = etx_fb_builder_reserve_refs(&b, 3);
    const size_t inner = etx_fb_builder_reserve_refs(&b, 2);
    etx_fb_builder_start(&b);
    const etx_fb_ref table = etx_fb_builder_end(&b);
    for (size_t i = 0; i < 2; ++i) {
      etx_fb_builder_set_ref(&b, inner, i, table);
    }
    (void)etx_fb_builder_table_vector(&b, inner, 2);
    assert_int_equal(b.refs, 3 * sizeof(etx_fb_ref));
    for (size_t i = 0; i < 3; ++i) {
      etx_fb_builder_set_ref(&b, outer, i, table);
    }
    (void)etx_fb_builder_table_vector(&b, outer, 3);
    assert_int_equal(b.refs, 0);
  }
}

static void absent_values_take_no_bytes(void** state) {
  etx_fb_builder b;
  etx_bytes_mut out;
  (void)state;
  etx_fb_builder_init(&b, block_of(sizeof space));
  etx_fb_builder_start(&b);
  etx_fb_builder_add_i32(&b, 0, 7, 7);
  etx_fb_builder_add_f64(&b, 1, 0.0);
  etx_fb_builder_add_f64(&b, 2, -0.0);
  etx_fb_builder_add_ref(&b, 3, 0);
  assert_ok(etx_fb_builder_finish(&b, etx_fb_builder_end(&b), "TEST", &out));
  const etx_fb_buffer fb = {out.data, (uint32_t)out.size};
  assert_int_equal(etx_fb_field(&fb, etx_fb_root(&fb), 0), 0);
  assert_int_equal(etx_fb_field(&fb, etx_fb_root(&fb), 1), 0);
  assert_int_not_equal(etx_fb_field(&fb, etx_fb_root(&fb), 2), 0);
  assert_int_equal(etx_fb_field(&fb, etx_fb_root(&fb), 3), 0);
}

static void the_counted_size_is_enough_and_every_smaller_one_fails(
    void** state) {
  etx_fb_builder b;
  etx_bytes_mut out;
  (void)state;
  etx_fb_builder_init_counting(&b);
  assert_ok(build_all(&b, &out));
  assert_null(out.data);
  assert_int_equal(out.size, 0);
  const size_t counted = etx_fb_builder_peak(&b);
  test_block block = test_block_new(counted, 8);
  etx_fb_builder_init(&b, block.bytes);
  assert_ok(build_all(&b, &out));
  assert_true(test_block_end(&block));
  const size_t used = etx_fb_builder_peak(&b);
  assert_true(used <= counted);
  for (size_t size = 0; size < used; ++size) {
    block = test_block_new(size, 8);
    etx_fb_builder_init(&b, block.bytes);
    assert_int_equal(build_all(&b, &out), ETX_OUT_OF_MEMORY);
    assert_true(test_block_end(&block));
  }
}

// What a string of `text` bytes, or a vector or references of `count` items,
// gives in a builder that only counts.
static etx_status count_of(size_t text, size_t count, size_t element,
                           size_t refs) {
  etx_fb_builder b;
  etx_bytes_mut out = {NULL, 77};
  etx_fb_builder_init_counting(&b);
  (void)etx_fb_builder_string(&b, etx_text_of("short"));
  if (text > 0) (void)etx_fb_builder_string(&b, (etx_text){"", text});
  if (count > 0) {
    uint8_t* elements = NULL;
    (void)etx_fb_builder_empty_vector(&b, count, element, element, &elements);
  }
  if (refs > 0) (void)etx_fb_builder_reserve_refs(&b, refs);
  etx_fb_builder_start(&b);
  return etx_fb_builder_finish(&b, etx_fb_builder_end(&b), "TEST", &out);
}

static void sizes_that_no_file_holds_are_refused(void** state) {
  static const struct {
    size_t text, count, element, refs;
    etx_status status;
  } rows[] = {
      {INT32_MAX - 100, 0, 0, 0, ETX_OK},
      {INT32_MAX - 11, 0, 0, 0, ETX_OUT_OF_MEMORY},
      {INT32_MAX, 0, 0, 0, ETX_OUT_OF_MEMORY},
      {SIZE_MAX - 12, 0, 0, 0, ETX_OUT_OF_MEMORY},
      {0, INT32_MAX / 8 - 10, 8, 0, ETX_OK},
      {0, INT32_MAX / 8, 8, 0, ETX_OUT_OF_MEMORY},
      {0, (size_t)INT32_MAX + 1, 1, 0, ETX_OUT_OF_MEMORY},
      {0, SIZE_MAX / 8 + 1, 8, 0, ETX_OUT_OF_MEMORY},
      {0, 0, 0, 1000, ETX_OK},
      {0, 0, 0, SIZE_MAX / 4 + 1, ETX_OUT_OF_MEMORY},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); ++i) {
    const etx_status status =
        count_of(rows[i].text, rows[i].count, rows[i].element, rows[i].refs);
    if (status != rows[i].status) fail_msg("row %zu: %d", i, (int)status);
  }
}

// What failed calls return, and what is not written then.
static void a_full_builder_returns_no_references(void** state) {
  etx_fb_builder b;
  uint8_t* elements = (uint8_t*)space;
  (void)state;
  etx_fb_builder_init(&b, block_of(8));
  assert_int_equal(etx_fb_builder_string(&b, etx_text_of("too long")), 0);
  etx_fb_builder_start(&b);
  assert_int_equal(etx_fb_builder_end(&b), 0);
  assert_int_equal(etx_fb_builder_empty_vector(&b, SIZE_MAX, 8, 8, &elements),
                   0);
  assert_null(elements);
  elements = (uint8_t*)space;
  assert_int_equal(etx_fb_builder_empty_vector(&b, 1, 8, 8, &elements), 0);
  assert_null(elements);
  // The table fits, its vtable does not.
  etx_fb_builder_init(&b, block_of(8));
  etx_fb_builder_start(&b);
  etx_fb_builder_add_u32(&b, 0, 7, 0);
  assert_int_equal(etx_fb_builder_end(&b), 0);
}

// Other readers may use it. The second table has no fields.
static void a_vtable_states_the_size_of_its_table(void** state) {
  static const uint16_t expected[2][2] = {{8, 12}, {4, 4}};
  etx_fb_builder b;
  (void)state;
  for (int is_empty = 0; is_empty < 2; ++is_empty) {
    etx_bytes_mut out;
    etx_fb_builder_init(&b, block_of(sizeof space));
    etx_fb_builder_start(&b);
    if (!is_empty) {
      etx_fb_builder_add_u32(&b, 1, 7, 0);
      etx_fb_builder_add_u8(&b, 0, 7, 0);
    }
    assert_ok(etx_fb_builder_finish(&b, etx_fb_builder_end(&b), "TEST", &out));
    uint32_t root = 0, back = 0;
    uint16_t sizes[2];
    memcpy(&root, out.data, sizeof root);
    memcpy(&back, out.data + root, sizeof back);
    memcpy(sizes, out.data + root - back, sizeof sizes);
    assert_memory_equal(sizes, expected[is_empty], sizeof sizes);
  }
}

static void a_builder_without_memory_is_full(void** state) {
  etx_fb_builder b;
  etx_bytes_mut out = {NULL, 77};
  (void)state;
  etx_fb_builder_init(&b, (etx_bytes_mut){NULL, 1000});
  assert_int_equal(build_all(&b, &out), ETX_OUT_OF_MEMORY);
  assert_int_equal(out.size, 77);
}

static void the_same_calls_give_the_same_bytes(void** state) {
  uint8_t first[1024];
  etx_fb_builder b;
  etx_bytes_mut out;
  (void)state;
  etx_fb_builder_init(&b, block_of(sizeof space));
  assert_ok(build_all(&b, &out));
  const size_t size = out.size;
  memcpy(first, out.data, size);
  memset(space, 0xa5, sizeof space);
  etx_fb_builder_init(&b, block_of(sizeof space - 40));
  assert_ok(build_all(&b, &out));
  assert_int_equal(out.size, size);
  assert_memory_equal(out.data, first, size);
}

static void more_different_vtables_than_are_remembered_are_still_right(
    void** state) {
  enum { TABLES = ETX_FB_SHARED_VTABLES + 20 };
  // The vtables are at the end of the builder.
  test_block memory = test_block_new(sizeof(etx_fb_builder), 8);
  etx_fb_builder* const b = (etx_fb_builder*)(void*)memory.bytes.data;
  etx_bytes_mut out;
  (void)state;
  etx_fb_builder_init(b, block_of(sizeof space));
  const size_t refs = etx_fb_builder_reserve_refs(b, TABLES);
  for (uint32_t i = 0; i < TABLES; ++i) {
    etx_fb_builder_start(b);  // each table has other fields
    for (uint32_t bit = 0; bit < 7; ++bit) {
      if ((i >> bit & 1) != 0) {
        etx_fb_builder_add_u8(b, bit, (uint8_t)(bit + 1), 0);
      }
    }
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  const etx_fb_ref rows = etx_fb_builder_table_vector(b, refs, TABLES);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, 0, rows);
  assert_ok(etx_fb_builder_finish(b, etx_fb_builder_end(b), "TEST", &out));
  assert_true(test_block_end(&memory));
  const etx_fb_buffer fb = {out.data, (uint32_t)out.size};
  const etx_fb_vector read = etx_fb_vector_in(&fb, etx_fb_root(&fb), 0);
  for (uint32_t i = 0; i < TABLES; ++i) {
    for (uint32_t bit = 0; bit < 7; ++bit) {
      const uint8_t expected = (i >> bit & 1) != 0 ? (uint8_t)(bit + 1) : 0;
      assert_int_equal(etx_fb_u8(&fb, etx_fb_table_at(&fb, read, i), bit, 0),
                       expected);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_built_is_read_back),
      cmocka_unit_test(equal_vtables_are_shared),
      cmocka_unit_test(every_earlier_vtable_is_shared),
      cmocka_unit_test(references_take_room_until_they_are_used),
      cmocka_unit_test(absent_values_take_no_bytes),
      cmocka_unit_test(the_counted_size_is_enough_and_every_smaller_one_fails),
      cmocka_unit_test(sizes_that_no_file_holds_are_refused),
      cmocka_unit_test(a_full_builder_returns_no_references),
      cmocka_unit_test(a_vtable_states_the_size_of_its_table),
      cmocka_unit_test(a_builder_without_memory_is_full),
      cmocka_unit_test(the_same_calls_give_the_same_bytes),
      cmocka_unit_test(
          more_different_vtables_than_are_remembered_are_still_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
