// Save, restore and fork, and snapshots that are refused.

#include "shared_memory/checksum.h"
#include "shared_memory/shared_memory.h"
#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/assert_message.h"

static etx_diag diag;

enum { BLOCK = 64 + COUNTER_STATE_BYTES, SNAPSHOT = 64 + COUNTER_STATE_BYTES };

typedef struct snapshot_fixture {
  test_program* p;
  etx_program program;
  test_block block;
  etx_shared_memory shared;
} snapshot_fixture;

static void start_program(snapshot_fixture* f, test_program* p) {
  f->p = p;
  f->block = test_block_new(BLOCK, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(
      etx_shared_memory_init(&f->shared, &f->program, f->block.bytes, &diag));
}

static void start(snapshot_fixture* f) {
  start_program(f, counter_program(true, false));
}

static void end(snapshot_fixture* f) {
  assert_true(test_block_end(&f->block));
  test_program_end(f->p);
}

static float* values_of(snapshot_fixture* f) {
  return (float*)(void*)f->shared.planned.data;
}

static void save(snapshot_fixture* f, uint8_t snapshot[SNAPSHOT]) {
  size_t size = 0;
  assert_int_equal(etx_shared_memory_save_needed(&f->shared), SNAPSHOT);
  assert_ok(etx_shared_memory_save(
      &f->shared, (etx_bytes_mut){snapshot, SNAPSHOT}, &size, &diag));
  assert_int_equal(size, SNAPSHOT);
}

static etx_status restore(snapshot_fixture* f, const uint8_t* snapshot,
                          size_t size) {
  etx_diag_init(&diag);
  return etx_shared_memory_restore(&f->shared, (etx_bytes){snapshot, size},
                                   &diag);
}

static void restore_brings_back_the_saved_state(void** state) {
  (void)state;
  snapshot_fixture f;
  uint8_t snapshot[SNAPSHOT];
  start(&f);
  values_of(&f)[0] = 5;
  values_of(&f)[4] = 6;
  save(&f, snapshot);
  values_of(&f)[0] = 50;
  values_of(&f)[8] = 60;
  assert_int_equal(restore(&f, snapshot, SNAPSHOT), ETX_OK);
  assert_true(values_of(&f)[0] == 5 && values_of(&f)[4] == 6 &&
              values_of(&f)[8] == 0);
  end(&f);
}

static void a_restore_clears_the_torn_mark(void** state) {
  (void)state;
  snapshot_fixture f;
  uint8_t snapshot[SNAPSHOT];
  start(&f);
  save(&f, snapshot);
  *f.shared.planned.torn = 1;
  assert_int_equal(restore(&f, snapshot, SNAPSHOT), ETX_OK);
  assert_false(etx_shared_memory_is_torn(&f.shared));
  end(&f);
}

static void torn_state_is_not_saved(void** state) {
  (void)state;
  snapshot_fixture f;
  uint8_t snapshot[SNAPSHOT];
  size_t size = 77;
  start(&f);
  *f.shared.planned.torn = 1;
  assert_refused(
      etx_shared_memory_save(&f.shared, (etx_bytes_mut){snapshot, SNAPSHOT},
                             &size, &diag),
      ETX_TORN_STATE, "torn");
  assert_int_equal(size, 77);
  end(&f);
}

static void one_byte_fewer_is_not_enough_to_save(void** state) {
  (void)state;
  snapshot_fixture f;
  size_t size = 0;
  start(&f);
  test_block small = test_block_new(SNAPSHOT - 1, 1);
  assert_status(etx_shared_memory_save(&f.shared, small.bytes, &size, &diag),
                ETX_OUT_OF_MEMORY);
  test_block whole = test_block_new(SNAPSHOT, 1);
  assert_ok(etx_shared_memory_save(&f.shared, whole.bytes, &size, &diag));
  assert_true(test_block_end(&small) && test_block_end(&whole));
  end(&f);
}

static void assert_not_restored(snapshot_fixture* f, const uint8_t* snapshot,
                                size_t size, const char* part) {
  uint8_t before[BLOCK];
  *f->shared.planned.torn = 1;
  values_of(f)[1] = 44;
  memcpy(before, f->shared.block, BLOCK);
  assert_int_equal(restore(f, snapshot, size), ETX_BAD_ARGUMENT);
  if (part != NULL) assert_true(test_message_has(&diag, part));
  // A refused snapshot changes nothing, not even the mark.
  assert_memory_equal(before, f->shared.block, BLOCK);
}

static void every_flipped_bit_is_refused(void** state) {
  (void)state;
  snapshot_fixture f;
  uint8_t snapshot[SNAPSHOT];
  start(&f);
  save(&f, snapshot);
  for (size_t bit = 0; bit < SNAPSHOT * 8; ++bit) {
    snapshot[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_not_restored(&f, snapshot, SNAPSHOT, NULL);
    snapshot[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_int_equal(restore(&f, snapshot, SNAPSHOT), ETX_OK);
  end(&f);
}

static void every_other_length_is_refused(void** state) {
  (void)state;
  snapshot_fixture f;
  uint8_t snapshot[SNAPSHOT + 1] = {0};
  start(&f);
  save(&f, snapshot);
  for (size_t size = 0; size <= SNAPSHOT + 1; ++size) {
    if (size == SNAPSHOT) continue;
    test_block copy = test_block_of((etx_bytes){snapshot, size}, 1);
    assert_not_restored(&f, copy.bytes.data, size, NULL);
    assert_true(test_block_end(&copy));
  }
  end(&f);
}

// Writes the checksum of a snapshot whose bytes were changed.
static void renew_checksum(uint8_t* snapshot, size_t size) {
  uint32_t crc = etx_crc32(0, (etx_bytes){snapshot, 60});
  crc = etx_crc32(crc, (etx_bytes){snapshot + 64, size - 64});
  for (size_t i = 0; i < 4; ++i) snapshot[60 + i] = (uint8_t)(crc >> 8 * i);
}

static void a_snapshot_of_another_program_is_refused(void** state) {
  (void)state;
  snapshot_fixture f;
  snapshot_fixture other;
  uint8_t snapshot[SNAPSHOT];
  start(&f);
  save(&f, snapshot);
  test_program* p = counter_program(true, false);
  test_fingerprint(p, 1);
  start_program(&other, p);
  assert_not_restored(&other, snapshot, SNAPSHOT, "another program");
  // The message has the first eight bytes of both fingerprints.
  for (uint8_t i = 0; i < 10; ++i) snapshot[16 + i] = (uint8_t)(0x10 + i);
  renew_checksum(snapshot, SNAPSHOT);
  assert_not_restored(&other, snapshot, SNAPSHOT,
                      "fingerprint 1716151413121110, expected 1");
  end(&other);
  end(&f);
}

static void a_snapshot_of_another_layout_is_refused(void** state) {
  (void)state;
  snapshot_fixture f;
  uint8_t snapshot[SNAPSHOT];
  start(&f);
  save(&f, snapshot);
  // The same program with another layout checksum, and a valid total checksum.
  snapshot[12] ^= 1;
  renew_checksum(snapshot, SNAPSHOT);
  assert_not_restored(&f, snapshot, SNAPSHOT, "another layout");
  end(&f);
}

static void a_snapshot_has_as_many_bytes_as_it_states(void** state) {
  (void)state;
  snapshot_fixture f;
  uint8_t snapshot[SNAPSHOT + 1] = {0};
  start(&f);
  save(&f, snapshot);
  renew_checksum(snapshot, SNAPSHOT + 1);
  assert_not_restored(&f, snapshot, SNAPSHOT + 1, "bytes of state in its");
  snapshot[48] ^= 1;
  renew_checksum(snapshot, SNAPSHOT);
  assert_not_restored(&f, snapshot, SNAPSHOT, "bytes of state in its header");
  end(&f);
}

// Of a program without state, whose snapshots have nothing but a header.
static void a_header_without_its_first_letters_is_refused(void** state) {
  (void)state;
  etx_program program;
  etx_shared_memory shared;
  uint8_t snapshot[64];
  size_t size = 0;
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 16, 0);
  test_blob(p);
  test_block block = test_block_new(64, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(etx_shared_memory_init(&shared, &program, block.bytes, &diag));
  assert_ok(etx_shared_memory_save(
      &shared, (etx_bytes_mut){snapshot, sizeof snapshot}, &size, &diag));
  const etx_bytes all = {snapshot, size};
  assert_ok(etx_shared_memory_restore(&shared, all, &diag));
  snapshot[0] = 'F';
  renew_checksum(snapshot, size);
  etx_diag_init(&diag);
  assert_refused(etx_shared_memory_restore(&shared, all, &diag),
                 ETX_BAD_ARGUMENT, "not a snapshot");
  assert_true(test_block_end(&block));
  test_program_end(p);
}

static uint32_t crc_of_number(uint32_t crc, uint64_t number) {
  uint8_t bytes[8];
  for (size_t i = 0; i < 8; ++i) bytes[i] = (uint8_t)(number >> 8 * i);
  return etx_crc32(crc, (etx_bytes){bytes, sizeof bytes});
}

// The states of the counter program, of as many methods.
static uint32_t crc_of_layout(int methods) {
  static const struct {
    const char* name;
    uint64_t size, offset;
  } states[] = {
      {"model.count", 2, 0}, {"model.table", 3, 16}, {"modest", 1, 32}};
  uint32_t crc = 0;
  for (int m = 0; m < methods; ++m) {
    for (size_t i = 0; i < 3; ++i) {
      const size_t length = strlen(states[i].name);
      crc = crc_of_number(crc, length);
      crc = etx_crc32(crc, (etx_bytes){(const uint8_t*)states[i].name, length});
      crc = crc_of_number(crc, ETX_DTYPE_FLOAT32);
      crc = crc_of_number(crc, 1);
      crc = crc_of_number(crc, states[i].size);
      crc = crc_of_number(crc, states[i].offset);
    }
  }
  return crc;
}

// The numbers of snapshot_header.h.
static void a_header_is_written_as_it_is_drawn(void** state) {
  (void)state;
  static const uint8_t zeros[20] = {0};
  uint8_t snapshot[SNAPSHOT];
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    snapshot_fixture f;
    test_program* p = counter_program(has_blob != 0, false);
    test_fingerprint(p, 0x5a);
    start_program(&f, p);
    save(&f, snapshot);
    assert_memory_equal(snapshot, "ETXSNAP1\1\0\0\0", 12);
    // A stock file has its states in each of its methods.
    const uint32_t layout = crc_of_layout(has_blob ? 1 : 3);
    assert_memory_equal(snapshot + 12, &layout, sizeof layout);
    if (has_blob) {
      assert_int_equal(snapshot[16], 0x5a);
    } else {
      const uint64_t size = f.program.pte.file.size;
      assert_memory_equal(snapshot + 16, &size, sizeof size);
      const uint32_t crc = etx_crc32(0, f.program.pte.file);
      assert_memory_equal(snapshot + 24, &crc, sizeof crc);
      assert_memory_equal(snapshot + 28, zeros, sizeof zeros);
    }
    const uint64_t bytes = COUNTER_STATE_BYTES;
    assert_memory_equal(snapshot + 48, &bytes, sizeof bytes);
    assert_memory_equal(snapshot + 56, zeros, 4);
    end(&f);
  }
}

// Two programs of one fingerprint that differ in one number of their states.
static void a_layout_is_all_of_its_states(void** state) {
  (void)state;
  static const struct {
    const char* name;
    etx_dtype dtype;
    int32_t sizes[2];
    uint64_t offset;
  } rows[] = {{"a", ETX_DTYPE_FLOAT32, {2, 2}, 0},
              {"b", ETX_DTYPE_FLOAT32, {2, 2}, 0},
              {"a", ETX_DTYPE_INT32, {2, 2}, 0},
              {"a", ETX_DTYPE_FLOAT32, {1, 2}, 0},
              {"a", ETX_DTYPE_FLOAT32, {2, 1}, 0},
              {"a", ETX_DTYPE_FLOAT32, {2, 2}, 16}};
  uint8_t snapshot[SNAPSHOT];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    snapshot_fixture f;
    test_program* p = test_program_new();
    test_method(p, "m");
    test_arenas(p, 16, COUNTER_STATE_BYTES);
    test_blob(p);
    test_state_row(p, rows[i].name, rows[i].dtype,
                   SIZES(rows[i].sizes[0], rows[i].sizes[1]), rows[i].offset,
                   0);
    start_program(&f, p);
    if (i == 0) {
      save(&f, snapshot);
      assert_int_equal(restore(&f, snapshot, SNAPSHOT), ETX_OK);
    } else {
      assert_not_restored(&f, snapshot, SNAPSHOT, "another layout");
    }
    end(&f);
  }
}

static void snapshots_of_stock_files_are_bound_to_their_bytes(void** state) {
  (void)state;
  snapshot_fixture f;
  snapshot_fixture other;
  uint8_t snapshot[SNAPSHOT];
  start_program(&f, counter_program(false, false));
  save(&f, snapshot);
  test_program* p = counter_program(false, false);
  test_method(p, "more");
  start_program(&other, p);
  assert_not_restored(&other, snapshot, SNAPSHOT, "another program");
  end(&other);
  values_of(&f)[0] = 9;
  assert_int_equal(restore(&f, snapshot, SNAPSHOT), ETX_OK);
  assert_true(values_of(&f)[0] == 1);
  end(&f);
}

static void a_fork_is_an_independent_copy(void** state) {
  (void)state;
  snapshot_fixture f;
  etx_shared_memory fork;
  start(&f);
  values_of(&f)[0] = 5;
  test_block block = test_block_new(BLOCK, ETX_SHARED_MEMORY_ALIGNMENT);
  etx_bytes_mut small = block.bytes;
  --small.size;
  assert_status(etx_shared_memory_fork(&f.shared, &fork, small, &diag),
                ETX_OUT_OF_MEMORY);
  assert_ok(etx_shared_memory_fork(&f.shared, &fork, block.bytes, &diag));
  float* forked = (float*)(void*)fork.planned.data;
  assert_true(forked[0] == 5 && forked[4] == 10);
  forked[0] = 6;
  assert_true(values_of(&f)[0] == 5);
  *f.shared.planned.torn = 1;
  assert_false(etx_shared_memory_is_torn(&fork));
  // A copy of torn state is torn.
  assert_ok(etx_shared_memory_fork(&f.shared, &fork, block.bytes, &diag));
  assert_true(etx_shared_memory_is_torn(&fork));
  assert_true(test_block_end(&block));
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(restore_brings_back_the_saved_state),
      cmocka_unit_test(a_restore_clears_the_torn_mark),
      cmocka_unit_test(torn_state_is_not_saved),
      cmocka_unit_test(one_byte_fewer_is_not_enough_to_save),
      cmocka_unit_test(every_flipped_bit_is_refused),
      cmocka_unit_test(every_other_length_is_refused),
      cmocka_unit_test(a_snapshot_of_another_program_is_refused),
      cmocka_unit_test(a_snapshot_of_another_layout_is_refused),
      cmocka_unit_test(a_snapshot_has_as_many_bytes_as_it_states),
      cmocka_unit_test(a_header_without_its_first_letters_is_refused),
      cmocka_unit_test(a_header_is_written_as_it_is_drawn),
      cmocka_unit_test(a_layout_is_all_of_its_states),
      cmocka_unit_test(snapshots_of_stock_files_are_bound_to_their_bytes),
      cmocka_unit_test(a_fork_is_an_independent_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
