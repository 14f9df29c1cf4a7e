// Recorded models planned for two memories, from little fast memory to enough
// of it. Every plan is proved by etx plan, and calls in two blocks have the
// bytes of calls of the ordinary plan, whose results are compared with eager
// PyTorch elsewhere.

#include "tests/support/assert_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/program/pte_file.h"
#include "format/memory_table/memory_table.h"
#include "tests/cli/command.h"
#include "tests/support/sized_instance.h"

#define ETX ETX_BINARY "/etx"

static etx_diag diag;

static const char* const sets[] = {
    "whisper", "llama",     "cnn",     "gru",      "recurrent", "in_place",
    "mixed",   "quantized", "loops",   "cond",     "lines",     "parts",
    "halves",  "kv",        "tiny",    "rings",    "branches",  "late",
    "scans",   "varying",   "choices", "positions"};
// In percent of the scratch of one memory. Under a sanitizer, which is slow, the
// first one.
static const unsigned shares[] = {10, 70, 40, 100};
#ifdef ETX_TEST_SANITIZED
enum { SHARES = 1 };
#else
enum { SHARES = sizeof shares / sizeof *shares };
#endif

enum { CALLS = 4, MOST_BYTES = 1 << 26 };

static void plan_set(const char* set, const char* fast, etx_pte_file* out) {
  char program[512], methods[512];
  snprintf(methods, sizeof methods, ETX_TEST_DATA "/pt2/%s", set);
  snprintf(program, sizeof program, "%s/%s.pte", command_directory, set);
  if (fast == NULL) {
    command_expect(0, WORDS(ETX, "plan", methods, "-o", program));
  } else {
    command_expect(0, WORDS(ETX, "plan", methods, "-o", program, "--memory",
                            fast, "--memory", "slow"));
  }
  assert_ok(etx_pte_file_open(out, program, &diag));
}

static void open_program(const etx_pte_file* file, etx_program* out) {
  etx_limits limits;
  memset(&limits, 0, sizeof limits);
  assert_ok(
      etx_program_open(out, file->program, &etx_all_kernels, &limits, &diag));
}

static size_t compare_method(sized_instance* a, sized_instance* b,
                             size_t method, hostile_random* random) {
  size_t compared = 0;
  for (int i = 0; i < CALLS; ++i) {
    sized_inputs inputs;
    if (!sized_inputs_draw(&inputs, a->program, a->methods[method].name,
                           MOST_BYTES, INT64_MAX, random)) {
      return compared;
    }
    const etx_status wanted = sized_instance_call(a, method, &inputs, &diag);
    const etx_status found = sized_instance_call(b, method, &inputs, &diag);
    if (found != wanted) {
      fail_msg("method '%s': %s instead of %s", a->methods[method].name.data,
               etx_status_name(found), etx_status_name(wanted));
    }
    if (wanted == ETX_OK) {
      const char* const difference =
          sized_instance_difference(a, b, method, &inputs);
      if (difference != NULL) {
        fail_msg("method '%s': %s differs", a->methods[method].name.data,
                 difference);
      }
      assert_true(sized_instance_same_state(a, b));
      ++compared;
    }
    sized_inputs_end(&inputs);
    if (wanted != ETX_OK) return compared;
  }
  return compared;
}

static size_t compare_plans(const etx_program* plain, const etx_program* board,
                            size_t* spilled) {
  static sized_instance a, b;
  size_t compared = 0;
  hostile_random random = {7};
  assert_ok(sized_instance_open(&a, plain, MOST_BYTES, &diag));
  assert_ok(sized_instance_open(&b, board, MOST_BYTES, &diag));
  assert_int_equal(b.memory_count, 2);
  *spilled += b.memories[1].size > 0;
  assert_int_equal(a.method_count, b.method_count);
  for (size_t m = 0; m < a.method_count; ++m) {
    assert_true(etx_text_equal(a.methods[m].name, b.methods[m].name));
    if (!a.methods[m].is_loaded) continue;
    compared += compare_method(&a, &b, m, &random);
  }
  sized_instance_close(&a);
  sized_instance_close(&b);
  return compared;
}

static size_t largest_scratch(const etx_program* program) {
  size_t most = 0;
  for (size_t i = 0; i < etx_program_method_count(program); ++i) {
    etx_method_info info;
    etx_memory_needed needed;
    assert_ok(etx_program_method_at(program, i, &info));
    if (info.is_constant) continue;
    assert_ok(etx_method_needed(program, info.name, &needed, &diag));
    if (needed.scratch_bytes > most) most = needed.scratch_bytes;
  }
  return most;
}

static void calls_in_two_memories_have_the_same_bytes(void** state) {
  (void)state;
  size_t compared = 0, spilled = 0;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    etx_pte_file plain_file, board_file;
    etx_program plain, board;
    plan_set(sets[i], NULL, &plain_file);
    open_program(&plain_file, &plain);
    const size_t most = largest_scratch(&plain);
    for (size_t k = 0; k < SHARES; ++k) {
      char fast[64];
      const size_t bytes = most * shares[k] / 100;
      snprintf(fast, sizeof fast, "fast=%zu", bytes == 0 ? 1 : bytes);
      plan_set(sets[i], fast, &board_file);
      open_program(&board_file, &board);
      compared += compare_plans(&plain, &board, &spilled);
      etx_pte_file_close(&board_file);
    }
    etx_pte_file_close(&plain_file);
  }
  print_message("%zu calls, %zu plans in two memories\n", compared, spilled);
  assert_true(compared > 125 * SHARES);
  assert_true(spilled > 10 * SHARES);
}

static void blocks_that_are_too_small_are_refused(void** state) {
  (void)state;
  etx_pte_file file;
  etx_program program;
  etx_memory_table table;
  etx_pte pte;
  size_t bytes[2], count = 0;
  plan_set("gru", "fast=300", &file);
  open_program(&file, &program);
  assert_ok(etx_pte_open(&pte, file.program, NULL, &diag));
  assert_ok(etx_memory_table_open(&table, &pte, &diag));
  assert_int_equal(etx_memory_table_count(&table), 2);
  assert_int_equal(etx_memory_table_at(&table, 0).capacity, 300);
  for (size_t i = 0; i < etx_program_method_count(&program); ++i) {
    etx_method_info info;
    etx_method method;
    assert_ok(etx_program_method_at(&program, i, &info));
    if (info.is_constant) continue;
    assert_ok(etx_method_memories_needed(&program, info.name, bytes, 2, &count,
                                         &diag));
    assert_int_equal(count, 2);
    assert_true(bytes[0] <= 300);
    assert_int_equal(etx_method_memories_needed(&program, info.name, bytes, 1,
                                                &count, &diag),
                     ETX_OUT_OF_RANGE);
    if (bytes[1] == 0) continue;
    static uint8_t space[1 << 16] __attribute__((aligned(64)));
    const etx_bytes_mut blocks[] = {{space, bytes[0]}, {space, bytes[1] - 1}};
    const etx_board_memory small = {
        {{NULL, 0}, {NULL, 0}, {NULL, 0}, NULL}, blocks, 2};
    const etx_board_memory few = {small.memory, blocks, 1};
    assert_int_equal(etx_method_init_in_memories(&method, &program, info.name,
                                                 &small, NULL, &diag),
                     ETX_OUT_OF_MEMORY);
    assert_int_equal(etx_method_init_in_memories(&method, &program, info.name,
                                                 &few, NULL, &diag),
                     ETX_BAD_ARGUMENT);
  }
  etx_pte_file_close(&file);
}

// A plan that fails leaves the file of an earlier one as it was.
static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  static const char methods[] = ETX_TEST_DATA "/pt2/gru";
  char program[512];
  etx_pte_file file;
  plan_set("gru", NULL, &file);
  const size_t before = file.program.size;
  etx_pte_file_close(&file);
  snprintf(program, sizeof program, "%s/gru.pte", command_directory);
  command_expect_err(3,
                     WORDS(ETX, "plan", methods, "-o", program, "--memory",
                           "a=64", "--memory", "b=64"),
                     "memory 'b' has 64 bytes");
  command_expect_err(3,
                     WORDS(ETX, "plan", methods, "-o", program, "--memory",
                           "a=64", "--memory", "b=160,state"),
                     "are live at one time");
  command_expect_err(2,
                     WORDS(ETX, "plan", methods, "-o", program, "--memory",
                           "a=64", "--memory", "b", "--parallel-regions"),
                     "parallel regions");
  assert_ok(etx_pte_file_open(&file, program, &diag));
  assert_int_equal(file.program.size, before);
  etx_pte_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_in_two_memories_have_the_same_bytes),
      cmocka_unit_test(blocks_that_are_too_small_are_refused),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
