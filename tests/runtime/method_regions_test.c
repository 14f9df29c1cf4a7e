// Regions come from addresses: instructions that share bytes never run side by
// side, whatever a file holds.

#include "runtime/regions.h"

#include <stdlib.h>

#include "format/base/independent_regions.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
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

// ---- what methods hold ----

// Loads "forward" of `p` with all kernels and finds its regions.
typedef struct regions_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  test_block block;
  size_t submitted;
  etx_launcher launcher;
  _Alignas(16) uint8_t state[64];
  uint32_t torn;
} regions_fixture;

static void start_regions(regions_fixture* f, test_program* p) {
  size_t bytes = 0;
  memset(f->state, 0, sizeof f->state);
  f->p = p;
  f->torn = 0;
  f->submitted = 0;
  f->launcher = (etx_launcher){.submit = submit, .context = &f->submitted};
  const etx_planned_memory session = {f->state, sizeof f->state, &f->torn};
  assert_ok(etx_program_open(&f->program, test_file(p), &etx_all_kernels, NULL,
                             &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", &session, &diag));
  assert_ok(etx_method_regions_needed(&f->loaded.method, 4, &bytes, &diag));
  f->block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
}

static etx_status use(regions_fixture* f) {
  return etx_method_use_regions(&f->loaded.method, &f->launcher, 4,
                                f->block.bytes, &diag);
}

static void end_regions(regions_fixture* f) {
  assert_true(test_unload(&f->loaded));
  assert_true(test_block_end(&f->block));
  test_program_end(f->p);
}

// Two long sums side by side, and around them: views, constants, state that is
// read and written, None in a list, and a step that fails.
static test_program* make_mixed(int64_t index) {
  static const float ones[4] = {1, 1, 1, 1};
  test_program* const p = test_program_new();
  const uint32_t data = test_data(p, ones, sizeof ones);
  const uint32_t at = test_data(p, &index, sizeof index);
  test_method(p, "forward");
  test_arenas(p, 8 * BYTES, 64);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT)), "x");
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT));
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), data);
  const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(2, 2), 0);
  const int u = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), 0);
  const int v = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), BYTES);
  const int m = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 2 * BYTES);
  const int row =
      test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 1), 2 * BYTES + 64);
  const int where = test_constant(p, ETX_DTYPE_INT64, SIZES(1), at);
  const int alpha = test_int(p, 1), count = test_int(p, COUNT);
  const int blocking = test_bool(p, false);
  const int list = test_optional_tensors(p, ARGS(-1, where));
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(x, test_ints(p, ARGS(count)), view));
  test_call(p, "aten::add", "out", ARGS(c, s, alpha, m, m));
  test_call(p, "aten::index", "Tensor_out", ARGS(m, list, row, row));
  test_call(p, "aten::copy_", "", ARGS(s, m, blocking, s));
  test_call(p, "aten::add", "out", ARGS(view, view, alpha, u, u));
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, v, v));
  test_output(p, row, "row");
  return p;
}

static void regions_of_other_values_are_found(void** state) {
  (void)state;
  regions_fixture f;
  etx_region_step step;
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  start_regions(&f, make_mixed(0));
  assert_false(etx_method_region_step_at(&f.loaded.method, 0, &step));
  assert_null(etx_method_region_temporary(&f.loaded.method, 0).data);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
  assert_ok(use(&f));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(f.submitted > 0);
  assert_true(
      ((const float*)test_output_tensor(&f.loaded.method, 0)->data)[0] == 1);
  assert_true(*(const float*)f.state == 1);
  assert_true(etx_method_region_step_at(&f.loaded.method, 0, &step));
  assert_int_equal(step.instruction, 1);
  assert_int_equal(step.group_end, 0);
  assert_false(etx_method_region_step_at(&f.loaded.method, 99, &step));
  assert_null(etx_method_region_temporary(&f.loaded.method, 0).data);
  assert_null(etx_method_region_temporary(&f.loaded.method, 4).data);
  end_regions(&f);
}

static void a_step_alone_may_fail(void** state) {
  (void)state;
  regions_fixture f;
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  start_regions(&f, make_mixed(99));
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
  assert_ok(use(&f));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
  etx_diag_init(&diag);
  assert_int_not_equal(etx_method_run(&f.loaded.method, &diag), ETX_OK);
  assert_true(test_message_has(&diag, "instruction 2"));
  end_regions(&f);
}

// u = relu(x), v = neg(x), y = u + v for n elements.
static test_program* make_dynamic(bool has_blob) {
  test_program* const p = test_program_new();
  if (has_blob) test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 8 * BYTES, 0);
  const test_sizes sizes = SIZES(COUNT);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, sizes)), "x");
  int values[3];
  for (int i = 0; i < 3; ++i) {
    values[i] = test_dynamic(
        p, test_scratch(p, ETX_DTYPE_FLOAT32, sizes, (uint64_t)i * BYTES));
  }
  const int alpha = test_int(p, 1);
  test_call(p, "aten::relu", "out", ARGS(x, values[0], values[0]));
  test_call(p, "aten::neg", "out", ARGS(x, values[1], values[1]));
  test_call(p, "aten::add", "out",
            ARGS(values[0], values[1], alpha, values[2], values[2]));
  test_output(p, values[2], "y");
  if (has_blob) test_dim(p, 0, 0, test_symbol(p, "n", 1, COUNT), 1, 0);
  return p;
}

static void regions_hold_for_all_sizes(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    regions_fixture f;
    start_regions(&f, make_dynamic(has_blob == 1));
    if (has_blob == 0) {  // its sizes are not known yet
      assert_refused(use(&f), ETX_BAD_STATE, "must be prepared before");
    }
    for (int32_t count = COUNT; count > 0; count /= 16) {
      for (int32_t i = 0; i < count; ++i) input[i] = (float)(i % 7 - 3);
      const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, count);
      assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
      assert_ok(etx_method_prepare(&f.loaded.method, &diag));
      if (count == COUNT) {
        assert_ok(use(&f));
        assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
      }
      assert_ok(etx_method_run(&f.loaded.method, &diag));
      const float* const y = test_output_tensor(&f.loaded.method, 0)->data;
      for (int32_t i = 0; i < count; ++i) {
        assert_true(y[i] == (input[i] > 0 ? 0 : -input[i]));
      }
    }
    end_regions(&f);
  }
  memset(input, 0, sizeof input);
}

// More steps than are compared with each other: later ones need not wait for
// far earlier ones.
static void steps_are_compared_within_a_window(void** state) {
  (void)state;
  regions_fixture f;
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 4096, 0);
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  for (int i = 0; i < 300; ++i) {
    test_call(p, "aten::relu", "out", ARGS(a, a, a));
  }
  start_regions(&f, p);
  assert_ok(use(&f));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  end_regions(&f);
}

static void methods_with_other_callers_have_no_regions(void** state) {
  (void)state;
  regions_fixture f;
  start_regions(&f, make_mixed(0));
  etx_run_observer observer = {NULL, NULL, NULL};
  const etx_bytes_mut whole = f.block.bytes;
  assert_refused(
      etx_method_use_regions(&f.loaded.method, &f.launcher, 0, whole, &diag),
      ETX_BAD_ARGUMENT, "0 regions at a time");
  assert_refused(etx_method_use_regions(&f.loaded.method, &f.launcher,
                                        ETX_REGIONS_MOST + 1, whole, &diag),
                 ETX_BAD_ARGUMENT, "regions at a time");
  --f.block.bytes.size;
  assert_refused(use(&f), ETX_OUT_OF_MEMORY, "the regions of method 'forward'");
  f.block.bytes = (etx_bytes_mut){whole.data + 4, whole.size};
  assert_refused(use(&f), ETX_BAD_ARGUMENT, "not aligned");
  f.block.bytes = whole;
  etx_method_observe(&f.loaded.method, &observer);
  assert_ok(use(&f));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  etx_method_observe(&f.loaded.method, NULL);
  end_regions(&f);

  test_program* const p = test_program_new();  // a branch
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_jump_false(p, test_bool(p, true), 2);
  test_call(p, "aten::relu", "out", ARGS(a, a, a));
  start_regions(&f, p);
  assert_ok(use(&f));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  end_regions(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses_decide),
      unit_test_with(ETX_VIEWS, regions_of_other_values_are_found),
      unit_test_with(ETX_VIEWS, a_step_alone_may_fail),
      unit_test_with(ETX_DYNAMIC, regions_hold_for_all_sizes),
      cmocka_unit_test(steps_are_compared_within_a_window),
      unit_test_with(ETX_CONTROL_FLOW && ETX_VIEWS,
                     methods_with_other_callers_have_no_regions),
  };
  return cmocka_run_group_tests_name("method_regions", tests, NULL, NULL);
}
