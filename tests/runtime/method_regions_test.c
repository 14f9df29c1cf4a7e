// Regions come from addresses: instructions that share bytes never run side by
// side, whatever a file holds.

#include "runtime/regions.h"

#include <stdlib.h>

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/test_program.h"

enum { COUNT = 65536, BYTES = COUNT * 4 };

static etx_diag diag;
static float input[COUNT];

// The values of: u = a + b, v = c + d, y = u + v
typedef struct two_sums {
  int a, b, c, d, u, v;
} two_sums;

static test_program* program_of(void (*place)(test_program*, two_sums*)) {
  two_sums s;
  test_program* const p = test_program_new();
  test_method(p, "sums");
  test_arenas(p, 8 * BYTES, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT)), "x");
  const int alpha = test_int(p, 1);
  s.a = s.b = s.c = s.d = x;
  s.u = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), 0);
  place(p, &s);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), 6 * BYTES);
  test_call(p, "aten::add", "out", ARGS(s.a, s.b, alpha, s.u, s.u));
  test_call(p, "aten::add", "out", ARGS(s.c, s.d, alpha, s.v, s.v));
  test_call(p, "aten::add", "out", ARGS(s.u, s.v, alpha, y, y));
  test_output(p, y, "y");
  return p;
}

static bool submit(void* context, etx_work* work) {
  ++*(size_t*)context;
  work->run(work);
  return true;
}

static size_t region_steps(void (*place)(test_program*, two_sums*)) {
  test_program* const p = program_of(place);
  etx_program program;
  test_loaded loaded;
  size_t bytes = 0, submitted = 0;
  const etx_launcher launcher = {.submit = submit, .context = &submitted};
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "sums", NULL, &diag));
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  assert_ok(etx_method_set_input(&loaded.method, 0, &x, &diag));
  assert_ok(etx_method_regions_needed(&loaded.method, 2, &bytes, &diag));
  test_block block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(
      etx_method_use_regions(&loaded.method, &launcher, 2, block.bytes, &diag));
  const size_t steps = etx_method_region_steps(&loaded.method);
  assert_ok(etx_method_run(&loaded.method, &diag));
  assert_int_equal(submitted, steps == 0 ? 0 : 1);
  // A method in use has no regions to find.
  loaded.method.busy = 1;
  assert_refused(
      etx_method_use_regions(&loaded.method, &launcher, 2, block.bytes, &diag),
      ETX_BAD_STATE, "is in use");
  loaded.method.busy = 0;
  assert_ok(etx_method_forget(&loaded.method, &diag));
  assert_int_equal(etx_method_region_steps(&loaded.method), 0);
  assert_true(test_unload(&loaded));
  assert_true(test_block_end(&block));
  test_program_end(p);
  return steps;
}

static void apart(test_program* p, two_sums* s) {
  s->v = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), BYTES);
}

static void both_write_some_bytes(test_program* p, two_sums* s) {
  s->v = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), BYTES - 16);
}

// The second sum reads bytes that the first one writes, as another value.
static void one_reads_what_the_other_writes(test_program* p, two_sums* s) {
  apart(p, s);
  s->c = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), BYTES - 16);
}

static void one_overwrites_what_the_other_reads(test_program* p, two_sums* s) {
  s->a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 2 * BYTES - 16);
  apart(p, s);
}

static void both_read_the_same(test_program* p, two_sums* s) {
  s->a = s->c = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 5 * BYTES);
  apart(p, s);
}

static void addresses_decide(void** state) {
  (void)state;
  assert_int_equal(region_steps(apart), 2);
  assert_int_equal(region_steps(both_read_the_same), 2);
  assert_int_equal(region_steps(both_write_some_bytes), 0);
  assert_int_equal(region_steps(one_reads_what_the_other_writes), 0);
  assert_int_equal(region_steps(one_overwrites_what_the_other_reads), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_decide)};
  return cmocka_run_group_tests_name("method_regions", tests, NULL, NULL);
}
