// Proofs for which there is too little memory: each allocation fails in turn,
// alone and with all later ones.
// The programs are those that the hostile tests plan, and stock files.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cli/verify/verify_program.h"
#include "cli/verify/verify_regions.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/assert_status.h"

#include "format/own_ops/own_operator_list.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// ---- allocations ----

static size_t allowed = SIZE_MAX;  // allocations until one fails
static size_t open_blocks;
static bool has_failed;
static bool fails_once;

void* __real_calloc(size_t count, size_t bytes);
void* __wrap_calloc(size_t count, size_t bytes);
void __real_free(void* block);
void __wrap_free(void* block);

void* __wrap_calloc(size_t count, size_t bytes) {
  if (allowed == 0 && !(fails_once && has_failed)) {
    has_failed = true;
    return NULL;
  }
  if (allowed != SIZE_MAX) {
    if (allowed > 0) --allowed;
    ++open_blocks;
  }
  return __real_calloc(count, bytes);
}

void __wrap_free(void* block) {
  if (allowed != SIZE_MAX) --open_blocks;
  __real_free(block);
}

typedef etx_status (*proof)(etx_bytes file, etx_diag* diag);

// Repeats a proof until no allocation fails any more. What the failed ones took
// is freed.
static void fail_each_allocation(etx_bytes file, proof prove,
                                 const char* name) {
  etx_diag_init(&diag);
  const etx_status expected = prove(file, &diag);
  for (size_t turn = 0;; ++turn) {
    const size_t limit = turn / 2;
    fails_once = turn % 2 == 0;
    etx_diag_init(&diag);
    allowed = limit;
    open_blocks = 0;
    has_failed = false;
    const etx_status status = prove(file, &diag);
    allowed = SIZE_MAX;
    if (open_blocks != 0) fail_msg("%s: %zu blocks", name, open_blocks);
    if (!has_failed) {
      assert_int_equal(status, expected);
      return;
    }
    if (status != ETX_OUT_OF_MEMORY) {
      fail_msg("%s, allocation %zu: %s", name, limit, diag.text);
    }
    assert_true(test_message_has(&diag, "not enough memory for the proof"));
  }
}

static etx_status prove_program(etx_bytes file, etx_diag* d) {
  return etx_verify_program(file, NULL, d);
}

static void prove_each_of(const char* directory) {
  size_t count = 0;
  DIR* const opened = opendir(directory);
  assert_non_null(opened);
  for (struct dirent* e = readdir(opened); e != NULL; e = readdir(opened)) {
    char path[512];
    if (strstr(e->d_name, ".pte") == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
    const etx_bytes_mut file = sample_read_file(path);
    fail_each_allocation(sample_view(file), prove_program, e->d_name);
    sample_release(file);
    ++count;
  }
  closedir(opened);
  assert_true(count > 0);
}

static void planned_programs_need_their_memory(void** state) {
  (void)state;
  prove_each_of(ETX_BINARY "/tests/planned");
}

static void programs_of_varying_sizes_need_their_memory(void** state) {
  (void)state;
  prove_each_of(ETX_BINARY "/tests/planned_varying");
}

static void stock_programs_need_their_memory(void** state) {
  (void)state;
  prove_each_of(ETX_TEST_DATA "/exported");
}

// ---- programs with what the others do not have ----

static const etx_dtype F32 = ETX_DTYPE_FLOAT32;

static void add_method(test_program* p, const char* name, uint64_t offset) {
  test_method(p, name);
  test_arenas(p, 64, 0);
  const int x = test_input(p, test_borrowed(p, F32, SIZES(4)), "x");
  const int y = test_scratch(p, F32, SIZES(4), offset);
  test_call(p, "my::twice", "out", ARGS(x, y, y));
  test_output(p, y, "y");
  test_lifetime(p, ETX_LIFETIME_STABLE);
}

// Operators of an application, methods that may run at the same time, stable
// outputs.
static void applications_need_their_memory(void** state) {
  static const char own[] = "my::twice(Tensor x) -> Tensor\n  sizes: x\n";
  (void)state;
  test_program* const p = test_program_new();
  test_blob(p);
  test_named(p, ETX_OWN_OPERATORS_KEY, own, sizeof own - 1);
  add_method(p, "m", 0);
  add_method(p, "n", 32);
  test_concurrent(p, 0, 1);
  fail_each_allocation(test_file(p), prove_program, "application");
  test_program_end(p);
}

static etx_status prove_schedule(etx_bytes file, etx_diag* d) {
  static const etx_verify_region_step steps[] = {
      {0, 2, 0}, {1, 2, 1}, {2, 0, 0}};
  const etx_verify_schedule schedule = {{"forward", 7}, steps, 3, NULL, 0};
  return etx_verify_regions(file, &schedule, NULL, d);
}

static void schedules_need_their_memory(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_input(p, test_borrowed(p, F32, SIZES(4)), "x");
  const int v = test_borrowed(p, F32, SIZES(4));
  for (int i = 0; i < 2; ++i) {
    const int y = test_scratch(p, F32, SIZES(4), (uint64_t)(16 * i));
    test_call(p, "aten::relu", "out", ARGS(x, y, y));
    test_output(p, y, "y");
  }
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(x, test_ints(p, ARGS(test_int(p, 4))), v));
  fail_each_allocation(test_file(p), prove_schedule, "schedule");
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planned_programs_need_their_memory),
      cmocka_unit_test(programs_of_varying_sizes_need_their_memory),
      cmocka_unit_test(stock_programs_need_their_memory),
      cmocka_unit_test(applications_need_their_memory),
      cmocka_unit_test(schedules_need_their_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
