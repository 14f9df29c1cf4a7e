// Caches of every kind in one program, cut back to their first rows: a counter
// of int64 or int32, of two caches, or none; rows along any dimension; initial
// values that are zero or not; no elements at all. What must be there is
// computed here.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "runtime/module/module.h"
#include "tests/cli/command.h"
#include "tests/support/assert_message.h"
#include "tests/support/assert_status.h"

#define ETX ETX_BINARY "/etx"

static const char method[] =
    "etx: 1\n"
    "method: step\n"
    "inputs:\n"
    "  - {name: x, type: \"float32[1]\"}\n"
    "buffers:\n"
    "  - {name: keys, type: \"float32[2, 8, 3]\", init: 1.5}\n"
    "  - {name: position, type: \"int64[1]\", init: 0}\n"
    "  - {name: net.values, type: \"float32[8, 2]\", init: 0}\n"
    "  - {name: net.more, type: \"float32[6, 2]\", init: 0}\n"
    "  - {name: turn, type: \"int32[1]\", init: 0}\n"
    "  - {name: free, type: \"int8[4, 5]\", init: 3}\n"
    "  - {name: none, type: \"float32[4, 0]\", init: 0}\n"
    "nodes:\n"
    "  - {out: a, op: aten.add.Tensor, args: [keys, x]}\n"
    "  - {out: b, op: aten.add.Scalar, args: [position, 1]}\n"
    "  - {out: c, op: aten.add.Tensor, args: [net.values, x]}\n"
    "  - {out: d, op: aten.add.Tensor, args: [net.more, x]}\n"
    "  - {out: e, op: aten.add.Scalar, args: [turn, 1]}\n"
    "  - {out: f, op: aten.add.Scalar, args: [free, 1]}\n"
    "outputs: [x]\n"
    "mutates: {keys: a, position: b, net.values: c, net.more: d, turn: e, "
    "free: f}\n";

static const char settings[] =
    "etx: 1\n"
    "shared_buffers: [none]\n"
    "caches:\n"
    "  keys: {dim: 1, length: position}\n"
    "  \"net.*\": {dim: 0, length: turn}\n"
    "  free: {dim: 1}\n"
    "  none: {dim: 0}\n";

enum { MOST_BYTES = 512 };

static etx_diag diag;
static char path[256];
static etx_module module;
static etx_module_shared session;

static int plan_program(void** state) {
  char file[256];
  const int made = command_set_up(state);
  snprintf(file, sizeof file, "%s/step.yaml", command_directory);
  command_write_file(file, method);
  snprintf(file, sizeof file, "%s/program.yaml", command_directory);
  command_write_file(file, settings);
  snprintf(path, sizeof path, "%s/kinds.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", command_directory, "-q", "-o", path));
  return made;
}

static int open_session(void** state) {
  (void)state;
  etx_diag_init(&diag);
  assert_ok(etx_module_open(&module, path, NULL, &diag));
  assert_ok(etx_module_shared_open(&session, &module, &diag));
  return 0;
}

static int close_session(void** state) {
  (void)state;
  etx_module_shared_close(&session);
  etx_module_close(&module);
  return 0;
}

static etx_tensor state_named(const char* name) {
  static etx_state_hold hold;
  etx_tensor state;
  assert_ok(etx_shared_memory_find(&session.memory, etx_text_of(name), &state,
                                   &hold, &diag));
  return state;
}

// Sets every byte of a state to one that its initial value has nowhere.
static void fill(const char* name, uint8_t byte) {
  const etx_tensor state = state_named(name);
  memset(state.data, byte, etx_tensor_bytes(&state));
}

static void set_counts(int64_t position, int32_t turn) {
  memcpy(state_named("position").data, &position, sizeof position);
  memcpy(state_named("turn").data, &turn, sizeof turn);
}

static void assert_counts(int64_t position, int32_t turn) {
  assert_memory_equal(state_named("position").data, &position, sizeof position);
  assert_memory_equal(state_named("turn").data, &turn, sizeof turn);
}

static void fill_all(int64_t position, int32_t turn) {
  fill("keys", 0x11);
  fill("net.values", 0x22);
  fill("net.more", 0x33);
  fill("free", 0x44);
  set_counts(position, turn);
}

// A cache whose rows were all filled with `byte`: blocks of `rows` rows of
// `row` bytes each.
typedef struct filled_cache {
  const char* name;
  uint8_t byte;
  const void* initial;  // an element
  size_t rows;
  size_t row;
} filled_cache;

// There are `kept` rows, then initial values up to row `counted`, and behind it
// what was there.
static void assert_rows(const filled_cache* cache, size_t kept,
                        size_t counted) {
  const etx_tensor state = state_named(cache->name);
  const uint8_t* bytes = state.data;
  const size_t size = etx_dtype_bytes(state.dtype);
  for (size_t i = 0; i < etx_tensor_bytes(&state); ++i) {
    const size_t at = i / cache->row % cache->rows;
    const uint8_t wanted = at < kept || at >= counted
                               ? cache->byte
                               : ((const uint8_t*)cache->initial)[i % size];
    assert_int_equal(bytes[i], wanted);
  }
}

static const float zero = 0, one_and_a_half = 1.5f;
static const int8_t three = 3;
static const filled_cache keys = {"keys", 0x11, &one_and_a_half, 8, 12};
static const filled_cache net_values = {"net.values", 0x22, &zero, 8, 8};
static const filled_cache net_more = {"net.more", 0x33, &zero, 6, 8};
static const filled_cache free_cache = {"free", 0x44, &three, 5, 1};

static etx_status truncate(const char* name, uint64_t length) {
  etx_diag_init(&diag);
  return etx_shared_memory_truncate(&session.memory, etx_text_of(name), length,
                                    &diag);
}

static void each_kind_keeps_its_first_rows(void** state) {
  (void)state;
  for (size_t kept = 0; kept <= 6; ++kept) {
    fill_all(7, 6);
    assert_ok(truncate("keys", kept));
    assert_ok(truncate("net", kept));
    assert_ok(truncate("free", kept < 5 ? kept : 5));
    assert_rows(&keys, kept, 7);
    assert_rows(&net_values, kept, 6);
    assert_rows(&net_more, kept, 6);
    assert_rows(&free_cache, kept, 5);
    assert_counts((int64_t)kept, (int32_t)kept);
  }
}

// After the restore, the rows behind the prefix have their initial values.
static void a_prefix_of_each_kind_is_restored(void** state) {
  static uint8_t bytes[MOST_BYTES];
  size_t needed = 0, size = 0;
  (void)state;
  for (uint64_t kept = 0; kept <= 4; ++kept) {
    fill_all(5, 4);
    assert_ok(etx_shared_memory_save_prefix_needed(&session.memory, kept,
                                                   &needed, &diag));
    assert_true(needed <= sizeof bytes);
    const etx_bytes_mut out = {bytes, needed};
    assert_ok(etx_shared_memory_save_prefix(&session.memory, kept, out, &size,
                                            &diag));
    assert_int_equal(size, needed);
    memset(session.memory.planned.data, 0x77, session.memory.planned.size);
    assert_ok(etx_shared_memory_restore(&session.memory,
                                        (etx_bytes){bytes, size}, &diag));
    assert_rows(&keys, kept, 8);
    assert_rows(&net_values, kept, 8);
    assert_rows(&net_more, kept, 6);
    assert_rows(&free_cache, kept, 5);
    assert_counts((int64_t)kept, (int32_t)kept);
  }
}

static void lengths_are_those_of_the_counters(void** state) {
  uint64_t length = 0;
  (void)state;
  set_counts(3, 2);
  assert_ok(etx_shared_memory_length(&session.memory, etx_text_of("keys"),
                                     &length, &diag));
  assert_int_equal(length, 3);
  assert_ok(etx_shared_memory_length(&session.memory, etx_text_of("net"),
                                     &length, &diag));
  assert_int_equal(length, 2);
}

static void expect_no_length(const char* name, etx_status wanted,
                             const char* part) {
  uint64_t length = 99;
  etx_diag_init(&diag);
  assert_refused(etx_shared_memory_length(&session.memory, etx_text_of(name),
                                          &length, &diag),
                 wanted, part);
  assert_int_equal(length, 99);
}

static void what_has_no_length_is_refused(void** state) {
  (void)state;
  set_counts(3, 2);
  expect_no_length("free", ETX_BAD_ARGUMENT, "does not count the rows");
  expect_no_length("", ETX_BAD_ARGUMENT, "rows");
  expect_no_length("turn", ETX_NOT_FOUND, "no cache 'turn'");
  expect_no_length("net.val", ETX_NOT_FOUND, "no cache 'net.val'");
  set_counts(3, -2);
  expect_no_length("net", ETX_BAD_STATE, "is -2");
  assert_refused(truncate("net.more", 1), ETX_BAD_STATE, "is -2");
  set_counts(3, 2);
  assert_refused(truncate("net.more", 1), ETX_BAD_ARGUMENT, "one counter");
  assert_refused(truncate("net", 3), ETX_OUT_OF_RANGE, "has 2 rows");
  assert_refused(truncate("free", 6), ETX_OUT_OF_RANGE, "has 5 rows");
  set_counts(3, 8);  // more than 'net.more' has room for
  assert_refused(truncate("net", 5), ETX_OUT_OF_RANGE, "has room for 6");
}

static void a_prefix_that_cannot_be_saved_is_refused(void** state) {
  static uint8_t bytes[MOST_BYTES];
  const etx_bytes_mut out = {bytes, sizeof bytes};
  size_t size = 99;
  (void)state;
  set_counts(3, 2);
  etx_diag_init(&diag);
  assert_refused(
      etx_shared_memory_save_prefix_needed(&session.memory, 3, &size, &diag),
      ETX_OUT_OF_RANGE, "has 2 rows");
  etx_diag_init(&diag);
  assert_refused(
      etx_shared_memory_save_prefix(&session.memory, 3, out, &size, &diag),
      ETX_OUT_OF_RANGE, "has 2 rows");
  *session.memory.planned.torn = 1;
  etx_diag_init(&diag);
  assert_refused(
      etx_shared_memory_save_prefix(&session.memory, 1, out, &size, &diag),
      ETX_TORN_STATE, "torn");
  *session.memory.planned.torn = 0;
  assert_int_equal(size, 99);
}

static void expect_no_caches(void) {
  uint8_t bytes[8];
  const etx_bytes_mut out = {bytes, sizeof bytes};
  uint64_t length = 0;
  size_t size = 0;
  assert_refused(truncate("", 0), ETX_NOT_FOUND, "program.yaml");
  etx_diag_init(&diag);
  assert_refused(etx_shared_memory_length(&session.memory, etx_text_of(""),
                                          &length, &diag),
                 ETX_NOT_FOUND, "program.yaml");
  etx_diag_init(&diag);
  assert_refused(
      etx_shared_memory_save_prefix_needed(&session.memory, 0, &size, &diag),
      ETX_NOT_FOUND, "program.yaml");
  etx_diag_init(&diag);
  assert_refused(
      etx_shared_memory_save_prefix(&session.memory, 0, out, &size, &diag),
      ETX_NOT_FOUND, "program.yaml");
}

// A program of etx with state alone, and one of ExecuTorch without its blob.
static void programs_without_caches_are_refused(void** state) {
  static char file[256];
  const char* const files[] = {file, ETX_TEST_DATA "/pte/apple_add.pte"};
  snprintf(file, sizeof file, "%s/counter.pte", command_directory);
  command_expect(
      0, WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/counter", "-q", "-o", file));
  for (size_t i = 0; i < 2; ++i) {
    (void)close_session(state);
    etx_diag_init(&diag);
    assert_ok(etx_module_open(&module, files[i], NULL, &diag));
    assert_ok(etx_module_shared_open(&session, &module, &diag));
    expect_no_caches();
  }
}

#define WITH_SESSION(test) \
  cmocka_unit_test_setup_teardown(test, open_session, close_session)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SESSION(each_kind_keeps_its_first_rows),
      WITH_SESSION(a_prefix_of_each_kind_is_restored),
      WITH_SESSION(lengths_are_those_of_the_counters),
      WITH_SESSION(what_has_no_length_is_refused),
      WITH_SESSION(a_prefix_that_cannot_be_saved_is_refused),
      WITH_SESSION(programs_without_caches_are_refused),
  };
  return cmocka_run_group_tests(tests, plan_program, command_tear_down);
}
