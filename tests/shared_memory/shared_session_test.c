// Sessions: initial values, finding and resetting states, torn state.

#include "shared_memory/shared_memory.h"

#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"

static etx_diag diag;

typedef struct session_fixture {
  test_program* p;
  etx_program program;
  test_block block;
  etx_shared_memory shared;
} session_fixture;

static void start(session_fixture* f, bool has_blob) {
  size_t needed = 0;
  f->p = counter_program(has_blob, false);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  assert_int_equal(etx_shared_memory_needed(&f->program, &needed), ETX_OK);
  assert_int_equal(needed, 64 + COUNTER_STATE_BYTES);
  f->block = test_block_new(needed, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(
      etx_shared_memory_init(&f->shared, &f->program, f->block.bytes, &diag));
}

static void end(session_fixture* f) {
  assert_true(test_block_end(&f->block));
  test_program_end(f->p);
}

static const float* state_of(const etx_shared_memory* shared,
                             const char* name) {
  static etx_state_hold hold;
  etx_tensor tensor;
  assert_ok(
      etx_shared_memory_find(shared, etx_text_of(name), &tensor, &hold, &diag));
  return tensor.data;
}

static void assert_states(const etx_shared_memory* shared, float count,
                          float table, float modest) {
  assert_true(state_of(shared, "model.count")[0] == count);
  assert_true(state_of(shared, "model.count")[1] == count);
  assert_true(state_of(shared, "model.table")[1] == table);
  assert_true(state_of(shared, "modest")[0] == modest);
}

static void load(session_fixture* f, test_loaded* loaded, const char* name,
                 etx_shared_memory* shared) {
  etx_planned_memory allocator;
  assert_ok(etx_shared_memory_allocator(shared, etx_text_of(name), &allocator,
                                        &diag));
  assert_ok(test_load(loaded, &f->program, name, &allocator, &diag));
}

static void add(test_loaded* loaded, float value) {
  float data[2] = {value, value};
  const etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2);
  assert_ok(etx_method_set_input(&loaded->method, 0, &x, &diag));
  assert_ok(etx_method_run(&loaded->method, &diag));
}

static etx_status put(test_loaded* loaded, int64_t at, float value) {
  const etx_tensor index = TEST_TENSOR(&at, ETX_DTYPE_INT64, 1);
  const etx_tensor v = TEST_TENSOR(&value, ETX_DTYPE_FLOAT32, 1);
  assert_ok(etx_method_set_input(&loaded->method, 0, &index, &diag));
  assert_ok(etx_method_set_input(&loaded->method, 1, &v, &diag));
  etx_diag_init(&diag);
  return etx_method_run(&loaded->method, &diag);
}

static void a_session_starts_with_initial_values(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    session_fixture f;
    start(&f, has_blob != 0);
    assert_states(&f.shared, 1, 20, 0);
    // Gaps between states are zeros.
    assert_int_equal(f.shared.planned.data[8], 0);
    end(&f);
  }
}

// A dump of a block tells what it is, and how much of it is state.
static void a_block_begins_with_its_name_and_size(void** state) {
  session_fixture f;
  uint32_t name = 0, torn = 1;
  uint64_t bytes = 0;
  (void)state;
  start(&f, true);
  const uint8_t* const header = f.block.bytes.data;
  memcpy(&name, header, sizeof name);
  memcpy(&torn, header + 4, sizeof torn);
  memcpy(&bytes, header + 8, sizeof bytes);
  assert_true(name == 0x53585445u);
  assert_int_equal(torn, 0);
  assert_true(bytes == COUNTER_STATE_BYTES);
  for (size_t i = 16; i < 64; ++i) assert_int_equal(header[i], 0);
  end(&f);
}

static void one_byte_fewer_is_refused(void** state) {
  (void)state;
  session_fixture f;
  start(&f, true);
  etx_shared_memory shared;
  etx_bytes_mut block = f.block.bytes;
  --block.size;
  assert_refused(etx_shared_memory_init(&shared, &f.program, block, &diag),
                 ETX_OUT_OF_MEMORY, "needs 112 bytes, 111 were given");
  block = (etx_bytes_mut){f.block.bytes.data - 16, f.block.bytes.size};
  assert_status(etx_shared_memory_init(&shared, &f.program, block, &diag),
                ETX_BAD_ARGUMENT);
  end(&f);
}

// In a zeroed block, states whose initial value is zero and gaps are not
// written. The test stores other values there to see it.
static void zero_states_of_a_zeroed_block_are_not_written(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    session_fixture f;
    start(&f, has_blob != 0);
    const size_t size = f.block.bytes.size;
    test_block block = test_block_new(size, ETX_SHARED_MEMORY_ALIGNMENT);
    memset(block.bytes.data, 0, size);
    etx_shared_memory shared;
    assert_ok(
        etx_shared_memory_init_zeroed(&shared, &f.program, block.bytes, &diag));
    assert_memory_equal(block.bytes.data, f.block.bytes.data, size);

    uint8_t* const modest = block.bytes.data + ETX_SHARED_MEMORY_HEADER + 32;
    uint8_t* const gap = modest - 4;
    memset(block.bytes.data, 0, size);
    *modest = *gap = 7;
    assert_ok(
        etx_shared_memory_init_zeroed(&shared, &f.program, block.bytes, &diag));
    assert_int_equal(*modest, 7);
    assert_int_equal(*gap, 7);
    assert_ok(etx_shared_memory_reset(&shared, etx_text_of(""), &diag));
    assert_memory_equal(block.bytes.data, f.block.bytes.data, size);
    assert_true(test_block_end(&block));
    end(&f);
  }
}

static void states_are_found_by_name(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    session_fixture f;
    start(&f, has_blob != 0);
    etx_tensor tensor;
    etx_state_hold hold;
    assert_ok(etx_shared_memory_find(&f.shared, etx_text_of("model.table"),
                                     &tensor, &hold, &diag));
    assert_int_equal(tensor.dtype, ETX_DTYPE_FLOAT32);
    assert_int_equal(tensor.rank, 1);
    assert_int_equal(tensor.sizes[0], 3);
    assert_int_equal(tensor.strides[0], 1);
    assert_ptr_equal(tensor.data, f.block.bytes.data + 64 + 16);
    assert_refused(etx_shared_memory_find(&f.shared, etx_text_of("model"),
                                          &tensor, &hold, &diag),
                   ETX_NOT_FOUND, "no state 'model'");
    assert_int_equal(etx_shared_memory_count(&f.shared), 3);
    assert_true(etx_text_is(etx_shared_memory_name_at(&f.shared, 2), "modest"));
    assert_int_equal(etx_shared_memory_name_at(&f.shared, 3).size, 0);
    end(&f);
  }
}

static void a_state_has_all_its_sizes_and_strides(void** state) {
  (void)state;
  static const int32_t sizes[3] = {2, 4, 3}, strides[3] = {12, 3, 1};
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 16, 96);
  test_blob(p);
  test_state_row(p, "s", ETX_DTYPE_FLOAT32, SIZES(2, 4, 3), 0, 0);
  etx_program program;
  etx_shared_memory shared;
  etx_tensor tensor;
  etx_state_hold hold;
  test_block block = test_block_new(64 + 96, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(etx_shared_memory_init(&shared, &program, block.bytes, &diag));
  memset(&hold, 0, sizeof hold);
  assert_ok(
      etx_shared_memory_find(&shared, etx_text_of("s"), &tensor, &hold, &diag));
  assert_int_equal(tensor.rank, 3);
  assert_memory_equal(tensor.sizes, sizes, sizeof sizes);
  assert_memory_equal(tensor.strides, strides, sizeof strides);
  assert_true(test_block_end(&block));
  test_program_end(p);
}

static void methods_read_state_that_another_method_wrote(void** state) {
  (void)state;
  session_fixture f;
  test_loaded adder;
  test_loaded reader;
  start(&f, true);
  load(&f, &reader, "read", &f.shared);
  load(&f, &adder, "add", &f.shared);
  add(&adder, 5);
  assert_ok(etx_method_run(&reader.method, &diag));
  assert_true(((float*)test_output_tensor(&reader.method, 0)->data)[0] == 6);
  assert_states(&f.shared, 6, 20, 5);
  assert_true(test_unload(&adder) && test_unload(&reader));
  end(&f);
}

static void loading_a_method_never_changes_state(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    session_fixture f;
    test_loaded adder;
    test_loaded late;
    start(&f, has_blob != 0);
    load(&f, &adder, "add", &f.shared);
    add(&adder, 5);
    const float modest = has_blob ? 5 : 0;
    load(&f, &late, "read", &f.shared);
    assert_states(&f.shared, 6, 20, modest);
    assert_true(test_unload(&late));
    // The method that carries the initial data, loaded once more.
    load(&f, &late, "add", &f.shared);
    assert_states(&f.shared, 6, 20, modest);
    assert_true(test_unload(&late) && test_unload(&adder));
    end(&f);
  }
}

static void a_method_that_only_reads_does_not_change_the_session(void** state) {
  (void)state;
  session_fixture f;
  test_loaded reader;
  uint8_t before[64 + COUNTER_STATE_BYTES];
  start(&f, true);
  load(&f, &reader, "read", &f.shared);
  memcpy(before, f.block.bytes.data, sizeof before);
  assert_ok(etx_method_run(&reader.method, &diag));
  assert_memory_equal(before, f.block.bytes.data, sizeof before);
  assert_true(test_unload(&reader));
  end(&f);
}

static void reset_accepts_a_name_a_prefix_or_everything(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    session_fixture f;
    start(&f, has_blob != 0);
    static const struct {
      const char* name;
      float count, table, modest;
    } resets[] = {{"model.count", 1, 7, 7},
                  {"model", 1, 20, 7},
                  {"modest", 7, 7, 0},
                  {"", 1, 20, 0}};
    for (size_t i = 0; i < 4; ++i) {
      float* values = (float*)(void*)f.shared.planned.data;
      for (size_t k = 0; k < COUNTER_STATE_BYTES / 4; ++k) values[k] = 7;
      assert_ok(etx_shared_memory_reset(&f.shared, etx_text_of(resets[i].name),
                                        &diag));
      assert_states(&f.shared, resets[i].count, resets[i].table,
                    resets[i].modest);
    }
    assert_refused(
        etx_shared_memory_reset(&f.shared, etx_text_of("mod"), &diag),
        ETX_NOT_FOUND, "no state 'mod' and none below it");
    end(&f);
  }
}

static void torn_state_stops_every_method_until_a_full_reset(void** state) {
  (void)state;
  session_fixture f;
  test_loaded putter;
  test_loaded reader;
  start(&f, true);
  load(&f, &putter, "put", &f.shared);
  load(&f, &reader, "read", &f.shared);
  assert_int_equal(put(&putter, 2, 5), ETX_OK);
  assert_false(etx_shared_memory_is_torn(&f.shared));
  assert_int_equal(put(&putter, 3, 5), ETX_BAD_ARGUMENT);
  assert_true(etx_shared_memory_is_torn(&f.shared));
  assert_status(etx_method_run(&reader.method, &diag), ETX_TORN_STATE);
  assert_int_equal(put(&putter, 1, 5), ETX_TORN_STATE);
  // The mark of a torn state is part of the block, so a method that is loaded
  // later finds it, too.
  test_loaded late;
  load(&f, &late, "read", &f.shared);
  assert_status(etx_method_run(&late.method, &diag), ETX_TORN_STATE);
  assert_ok(etx_shared_memory_reset(&f.shared, etx_text_of("model"), &diag));
  assert_status(etx_method_run(&late.method, &diag), ETX_TORN_STATE);
  assert_ok(etx_shared_memory_reset(&f.shared, etx_text_of(""), &diag));
  assert_ok(etx_method_run(&late.method, &diag));
  assert_ok(etx_method_run(&reader.method, &diag));
  assert_true(test_unload(&late) && test_unload(&reader) &&
              test_unload(&putter));
  end(&f);
}

static void two_sessions_are_independent(void** state) {
  (void)state;
  session_fixture f;
  test_loaded adder;
  etx_shared_memory other;
  test_block block;
  start(&f, true);
  block = test_block_new(f.block.bytes.size, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_shared_memory_init(&other, &f.program, block.bytes, &diag));
  load(&f, &adder, "add", &f.shared);
  add(&adder, 2);
  assert_ok(etx_method_bind(&adder.method, &other.planned, &diag));
  add(&adder, 10);
  add(&adder, 10);
  assert_ok(etx_method_bind(&adder.method, &f.shared.planned, &diag));
  add(&adder, 2);
  assert_states(&f.shared, 5, 20, 4);
  assert_states(&other, 21, 20, 20);
  assert_true(test_unload(&adder) && test_block_end(&block));
  end(&f);
}

static void an_unknown_method_gets_no_allocator(void** state) {
  (void)state;
  session_fixture f;
  etx_planned_memory allocator;
  start(&f, true);
  assert_status(etx_shared_memory_allocator(&f.shared, etx_text_of("none"),
                                            &allocator, &diag),
                ETX_NOT_FOUND);
  end(&f);
}

static void conflicting_initial_data_is_refused(void** state) {
  (void)state;
  test_program* p = counter_program(false, true);
  etx_program program;
  etx_shared_memory shared;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  test_block block =
      test_block_new(64 + COUNTER_STATE_BYTES, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_refused(etx_shared_memory_init(&shared, &program, block.bytes, &diag),
                 ETX_BAD_FILE,
                 "methods give different initial data to the shared bytes at "
                 "offset 0 ('model.count')");
  assert_true(test_block_end(&block));
  test_program_end(p);
}

// Methods of a stock file whose arenas of state differ share nothing.
static void methods_that_do_not_agree_share_no_state(void** state) {
  (void)state;
  test_program* p = test_program_new();
  etx_program program;
  etx_shared_memory shared;
  for (int i = 0; i < 2; ++i) {
    test_method(p, i == 0 ? "first" : "second");
    test_arenas(p, 16, 16 + 16 * i);
    test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(4), 0);
  }
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  test_block block = test_block_new(64, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_shared_memory_init(&shared, &program, block.bytes, &diag));
  assert_int_equal(etx_shared_memory_count(&shared), 0);
  etx_tensor tensor;
  etx_state_hold hold;
  assert_status(
      etx_shared_memory_find(&shared, etx_text_of("s"), &tensor, &hold, &diag),
      ETX_NOT_FOUND);
  assert_true(test_block_end(&block));
  test_program_end(p);
}

static void states_without_a_name_are_not_listed(void** state) {
  (void)state;
  test_program* p = test_program_new();
  etx_program program;
  etx_shared_memory shared;
  etx_tensor tensor;
  etx_state_hold hold;
  test_method(p, "forward");
  test_arenas(p, 16, 32);
  test_state(p, "", ETX_DTYPE_FLOAT32, SIZES(4), 0);
  test_state(p, "named", ETX_DTYPE_FLOAT32, SIZES(4), 16);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  test_block block = test_block_new(64 + 32, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_shared_memory_init(&shared, &program, block.bytes, &diag));
  assert_int_equal(etx_shared_memory_count(&shared), 1);
  assert_true(etx_text_is(etx_shared_memory_name_at(&shared, 0), "named"));
  assert_refused(
      etx_shared_memory_find(&shared, etx_text_of(""), &tensor, &hold, &diag),
      ETX_NOT_FOUND, "no state ''");
  assert_true(test_block_end(&block));
  test_program_end(p);
}

// The least state that there can be.
static void a_state_of_one_byte_has_its_initial_value(void** state) {
  (void)state;
  static const uint8_t nine = 9;
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 16, 1);
  test_blob(p);
  test_state_row(p, "a", ETX_DTYPE_UINT8, SIZES(1), 0,
                 test_data(p, &nine, sizeof nine));
  etx_program program;
  etx_shared_memory shared;
  test_block block = test_block_new(64 + 1, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(etx_shared_memory_init(&shared, &program, block.bytes, &diag));
  assert_int_equal(shared.planned.data[0], 9);
  shared.planned.data[0] = 1;
  assert_ok(etx_shared_memory_reset(&shared, etx_text_of("a"), &diag));
  assert_int_equal(shared.planned.data[0], 9);
  shared.planned.data[0] = 1;
  assert_ok(etx_shared_memory_reset(&shared, etx_text_of(""), &diag));
  assert_int_equal(shared.planned.data[0], 9);
  assert_true(test_block_end(&block));
  test_program_end(p);
}

// No method names these states, so nothing but the blob has checked them. Of a
// zeroed block, only the header is written.
static void a_state_of_too_wide_strides_is_not_found(void** state) {
  (void)state;
  if (SIZE_MAX < UINT64_MAX) skip();  // it opens no such program
  const int64_t bytes = (int64_t)2 << 32;
  test_program* p = test_program_new();
  etx_program program;
  etx_shared_memory shared;
  etx_tensor tensor = {0};
  etx_state_hold hold;
  test_method(p, "m");
  test_arenas(p, 16, bytes);
  test_blob(p);
  test_state_row(p, "wide", ETX_DTYPE_UINT8, SIZES(2, 65536, 65536), 0, 0);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  test_block block = test_block_new(64, ETX_SHARED_MEMORY_ALIGNMENT);
  memset(block.bytes.data, 0, 64);
  assert_ok(etx_shared_memory_init_zeroed(
      &shared, &program, (etx_bytes_mut){block.bytes.data, 64 + (size_t)bytes},
      &diag));
  assert_refused(etx_shared_memory_find(&shared, etx_text_of("wide"), &tensor,
                                        &hold, &diag),
                 ETX_OUT_OF_RANGE, "strides of state 'wide'");
  assert_null(tensor.data);
  assert_true(test_block_end(&block));
  test_program_end(p);
}

// A blob may state any number of bytes if no method has an arena of state.
static void more_state_than_can_be_addressed_is_refused(void** state) {
  (void)state;
  const etx_program program = {.state_bytes = SIZE_MAX - 10};
  etx_shared_memory shared;
  size_t needed = 77;
  assert_int_equal(etx_shared_memory_needed(&program, &needed),
                   ETX_OUT_OF_RANGE);
  assert_int_equal(needed, 77);
  test_block block = test_block_new(64, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_refused(etx_shared_memory_init(&shared, &program, block.bytes, &diag),
                 ETX_OUT_OF_RANGE, "more bytes than this machine can address");
  assert_true(test_block_end(&block));
}

static void a_session_without_state_is_only_a_header(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "nothing");
  etx_program program;
  etx_shared_memory shared;
  size_t needed = 0;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_int_equal(etx_shared_memory_needed(&program, &needed), ETX_OK);
  assert_int_equal(needed, 64);
  test_block block = test_block_new(64, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_shared_memory_init(&shared, &program, block.bytes, &diag));
  assert_int_equal(etx_shared_memory_count(&shared), 0);
  assert_ok(etx_shared_memory_reset(&shared, etx_text_of(""), &diag));
  // So are its snapshots and its forks.
  uint8_t snapshot[64];
  size_t size = 0;
  assert_ok(etx_shared_memory_save(
      &shared, (etx_bytes_mut){snapshot, sizeof snapshot}, &size, &diag));
  assert_int_equal(size, 64);
  *shared.planned.torn = 1;
  assert_ok(
      etx_shared_memory_restore(&shared, (etx_bytes){snapshot, size}, &diag));
  assert_false(etx_shared_memory_is_torn(&shared));
  etx_shared_memory fork;
  test_block other = test_block_new(64, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_shared_memory_fork(&shared, &fork, other.bytes, &diag));
  assert_memory_equal(other.bytes.data, block.bytes.data, 64);
  assert_true(test_block_end(&other));
  assert_true(test_block_end(&block));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_session_starts_with_initial_values),
      cmocka_unit_test(a_block_begins_with_its_name_and_size),
      cmocka_unit_test(one_byte_fewer_is_refused),
      cmocka_unit_test(zero_states_of_a_zeroed_block_are_not_written),
      cmocka_unit_test(states_are_found_by_name),
      cmocka_unit_test(a_state_has_all_its_sizes_and_strides),
      cmocka_unit_test(methods_read_state_that_another_method_wrote),
      cmocka_unit_test(loading_a_method_never_changes_state),
      cmocka_unit_test(a_method_that_only_reads_does_not_change_the_session),
      cmocka_unit_test(reset_accepts_a_name_a_prefix_or_everything),
      cmocka_unit_test(torn_state_stops_every_method_until_a_full_reset),
      cmocka_unit_test(two_sessions_are_independent),
      cmocka_unit_test(an_unknown_method_gets_no_allocator),
      cmocka_unit_test(conflicting_initial_data_is_refused),
      cmocka_unit_test(methods_that_do_not_agree_share_no_state),
      cmocka_unit_test(states_without_a_name_are_not_listed),
      cmocka_unit_test(a_state_of_one_byte_has_its_initial_value),
      cmocka_unit_test(a_state_of_too_wide_strides_is_not_found),
      cmocka_unit_test(more_state_than_can_be_addressed_is_refused),
      cmocka_unit_test(a_session_without_state_is_only_a_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
