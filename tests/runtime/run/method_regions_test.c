// Regions come from addresses: instructions that share bytes never run side by
// side, whatever a file holds.

#include "runtime/regions.h"

#include <stdlib.h>

#include "format/base/independent_regions.h"
#include "tests/runtime/run/regions_fixture.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/test_program.h"

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

static size_t region_steps(void (*place)(test_program*, two_sums*)) {
  test_program* const p = program_of(place);
  etx_program program;
  test_loaded loaded;
  size_t bytes = 0, submitted = 0;
  const etx_launcher launcher = {.submit = regions_count_work,
                                 .context = &submitted};
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
  test_call(p, "aten::add", "out", ARGS(s, c, alpha, s, s));  // once, behind
  test_output(p, row, "row");
  return p;
}

static void regions_of_other_values_are_found(void** state) {
  (void)state;
  regions_fixture f;
  etx_region_step step;
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  regions_start(&f, make_mixed(0));
  assert_false(etx_method_region_step_at(&f.loaded.method, 0, &step));
  assert_null(etx_method_region_temporary(&f.loaded.method, 0).data);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(f.submitted > 0);
  assert_true(
      ((const float*)test_output_tensor(&f.loaded.method, 0)->data)[0] == 1);
  assert_true(*(const float*)f.state == 2);
  assert_true(etx_method_region_step_at(&f.loaded.method, 0, &step));
  assert_int_equal(step.instruction, 1);
  assert_int_equal(step.group_end, 0);
  assert_false(etx_method_region_step_at(&f.loaded.method, 99, &step));
  assert_null(etx_method_region_temporary(&f.loaded.method, 0).data);
  assert_null(etx_method_region_temporary(&f.loaded.method, 4).data);
  regions_end(&f);
}

static void a_step_alone_may_fail(void** state) {
  (void)state;
  regions_fixture f;
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  regions_start(&f, make_mixed(99));
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
  etx_diag_init(&diag);
  assert_int_not_equal(etx_method_run(&f.loaded.method, &diag), ETX_OK);
  assert_true(test_message_has(&diag, "instruction 2"));
  regions_end(&f);
}

static test_program* make_dynamic(bool has_blob) {
  test_program* const p = test_program_new();
  if (has_blob) test_blob(p);
  regions_add_dynamic(p, "forward", has_blob);
  return p;
}

// Without elements there is nothing to concatenate, so one step less is left.
static void run_without_elements(regions_fixture* f) {
  etx_region_step step;
  const size_t submitted = f->submitted;
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, 0);
  assert_ok(etx_method_set_input(&f->loaded.method, 0, &x, &diag));
  assert_ok(etx_method_run(&f->loaded.method, &diag));
  assert_int_equal(test_output_tensor(&f->loaded.method, 0)->sizes[0], 0);
  assert_false(etx_method_region_step_at(&f->loaded.method, 0, &step));
  assert_int_equal(f->submitted, submitted);
}

static void regions_hold_for_all_sizes(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    regions_fixture f;
    regions_start(&f, make_dynamic(has_blob == 1));
    if (has_blob == 0) {  // its sizes are not known yet
      assert_refused(regions_use(&f, &diag), ETX_BAD_STATE,
                     "must be prepared before");
    }
    for (int32_t count = COUNT; count > 0; count /= 16) {
      if (count < COUNT) run_without_elements(&f);
      for (int32_t i = 0; i < count; ++i) input[i] = (float)(i % 7 - 3);
      const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, count);
      assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
      assert_ok(etx_method_prepare(&f.loaded.method, &diag));
      if (count == COUNT) {
        assert_ok(regions_use(&f, &diag));
        assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
      }
      assert_ok(etx_method_run(&f.loaded.method, &diag));
      const float* const y = test_output_tensor(&f.loaded.method, 0)->data;
      for (int32_t i = 0; i < count; ++i) {
        assert_true(y[i] == -input[i]);
      }
    }
    regions_end(&f);
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
  for (int i = 0; i < ETX_REGIONS_WINDOW + 88; ++i) {
    test_call(p, "aten::relu", "out", ARGS(a, a, a));
  }
  regions_start(&f, p);
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  regions_end(&f);
}

static void methods_with_other_callers_have_no_regions(void** state) {
  (void)state;
  regions_fixture f;
  regions_start(&f, make_mixed(0));
  etx_run_observer observer = {NULL, NULL, NULL};
  const etx_bytes_mut whole = f.block.bytes;
  assert_refused(
      etx_method_use_regions(&f.loaded.method, &f.launcher, 0, whole, &diag),
      ETX_BAD_ARGUMENT, "0 regions at a time");
  assert_refused(etx_method_use_regions(&f.loaded.method, &f.launcher,
                                        ETX_REGIONS_MOST + 1, whole, &diag),
                 ETX_BAD_ARGUMENT, "regions at a time");
  size_t most = 0;
  assert_ok(etx_method_regions_needed(&f.loaded.method, ETX_REGIONS_MOST, &most,
                                      &diag));
  assert_true(most > whole.size);
  --f.block.bytes.size;
  assert_refused(regions_use(&f, &diag), ETX_OUT_OF_MEMORY,
                 "the regions of method 'forward'");
  f.block.bytes = (etx_bytes_mut){whole.data + 4, whole.size};
  assert_refused(regions_use(&f, &diag), ETX_BAD_ARGUMENT, "not aligned");
  f.block.bytes = whole;
  etx_method_observe(&f.loaded.method, &observer);
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  etx_method_observe(&f.loaded.method, NULL);
  regions_end(&f);

  test_program* const p = test_program_new();  // a branch
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_jump_false(p, test_bool(p, true), 2);
  test_call(p, "aten::relu", "out", ARGS(a, a, a));
  regions_start(&f, p);
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  regions_end(&f);
}

// A part of `u` from the number `from` on is read, and its first elements are
// written: whether they meet depends on the call.
static void a_view_that_moves_has_the_whole_memory(void** state) {
  (void)state;
  regions_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 8 * BYTES, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT)), "x");
  const int from = test_input(p, test_int(p, 2 * COUNT), "from");
  test_dim(p, 1, -1, test_symbol(p, "from", 0, 2 * COUNT), 1, 0);
  const int u = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3 * COUNT), 0);
  const int first = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT));
  const int part = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT));
  const int w = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), 4 * BYTES);
  const int sizes = test_ints(p, ARGS(test_int(p, COUNT)));
  test_view(p, first, u, 0);
  test_call(p, "etx::part_view", "default", ARGS(u, from, sizes, part));
  test_call(p, "aten::neg", "out", ARGS(part, w, w));
  test_call(p, "aten::neg", "out", ARGS(x, first, first));
  test_output(p, w, "w");
  regions_start(&f, p);
  const etx_tensor tensor = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  const etx_value number = {.kind = ETX_VALUE_INT, .as.integer = 2 * COUNT};
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &tensor, &diag));
  assert_ok(etx_method_set_value(&f.loaded.method, 1, &number, &diag));
  assert_ok(etx_method_prepare(&f.loaded.method, &diag));
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  regions_end(&f);
}

// ---- how regions end ----

// A launcher that runs a work when it is waited for, and counts.
typedef struct late_launcher {
  size_t submitted, waited;
  bool accepts;
} late_launcher;

static bool submit_later(void* context, etx_work* work) {
  (void)work;
  late_launcher* const l = context;
  ++l->submitted;
  return l->accepts;
}

static void run_now(void* context, etx_work* work) {
  ++((late_launcher*)context)->waited;
  work->run(work);
}

// u = x + x, v = x + x, and then one element of each: `first_at` and `then_at`
// are the indices, in the order of the instructions.
static test_program* make_picks(bool u_first, int64_t first_at,
                                int64_t then_at) {
  test_program* const p = test_program_new();
  const uint32_t first_data = test_data(p, &first_at, sizeof first_at);
  const uint32_t then_data = test_data(p, &then_at, sizeof then_at);
  test_method(p, "forward");
  test_arenas(p, 8 * BYTES, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT)), "x");
  const int u = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), 0);
  const int v = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), BYTES);
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 2 * BYTES);
  const int b = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 3 * BYTES);
  const int first = test_constant(p, ETX_DTYPE_INT64, SIZES(1), first_data);
  const int then = test_constant(p, ETX_DTYPE_INT64, SIZES(1), then_data);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, u, u));
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, v, v));
  test_call(p, "aten::index", "Tensor_out",
            ARGS(u_first ? u : v, test_optional_tensors(p, ARGS(first)), a, a));
  test_call(p, "aten::index", "Tensor_out",
            ARGS(u_first ? v : u, test_optional_tensors(p, ARGS(then)), b, b));
  test_output(p, a, "a");
  test_output(p, b, "b");
  return p;
}

// With each launcher, the status and the message are those of a run without
// regions.
static void the_first_failure_in_the_file_is_reported(void** state) {
  (void)state;
  static const struct {
    int64_t first, then;
    const char* place;  // NULL: no failure
  } cases[] = {{7, 9, NULL},
               {COUNT, 9, "instruction 2"},
               {7, COUNT, "instruction 3"},
               {COUNT, COUNT + 1, "instruction 2"}};
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  for (size_t i = 0; i < COUNT; ++i) input[i] = (float)i;
  for (size_t i = 0; i < 4 * sizeof cases / sizeof cases[0]; ++i) {
    const int u_first = i % 2 == 0;
    const size_t k = i / 4;
    late_launcher l = {0, 0, i % 4 < 2};
    const etx_launcher launcher = {submit_later, run_now, &l};
    regions_fixture f;
    regions_start(&f, make_picks(u_first, cases[k].first, cases[k].then));
    assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
    etx_diag_init(&diag);
    const etx_status wanted = etx_method_run(&f.loaded.method, &diag);
    const etx_diag message = diag;
    assert_int_equal(wanted,
                     cases[k].place == NULL ? ETX_OK : ETX_BAD_ARGUMENT);
    if (wanted != ETX_OK) {
      assert_true(test_message_has(&message, cases[k].place));
    }
    f.launcher = launcher;
    assert_ok(regions_use(&f, &diag));
    assert_int_equal(etx_method_region_steps(&f.loaded.method), 4);
    etx_diag_init(&diag);
    assert_int_equal(etx_method_run(&f.loaded.method, &diag), wanted);
    assert_string_equal(diag.text, message.text);
    assert_int_equal(l.submitted, 3);  // four regions at most, one of them here
    assert_int_equal(l.waited, l.accepts ? 3 : 0);
    if (wanted == ETX_OK) {
      const float* const a = test_output_tensor(&f.loaded.method, 0)->data;
      const float* const b = test_output_tensor(&f.loaded.method, 1)->data;
      assert_true(*a == 14 && *b == 18);
    }
    regions_end(&f);
  }
  memset(input, 0, sizeof input);
}

// Two products whose kernel fills temporary memory: each region has its own.
static void regions_have_temporary_memory_of_their_own(void** state) {
  (void)state;
  enum { SIDE = 256, CELLS = SIDE * SIDE };
  regions_fixture f;
  test_program* const p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 2 * CELLS * 4, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(SIDE, 1)), "x");
  const int y =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1, SIDE)), "y");
  int out[2];
  for (int i = 0; i < 2; ++i) {
    out[i] = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(SIDE, SIDE),
                          (uint64_t)i * CELLS * 4);
    test_call(p, "aten::mm", "out", ARGS(x, y, out[i], out[i]));
    test_output(p, out[i], "");
  }
  late_launcher l = {0, 0, true};
  const etx_launcher launcher = {submit_later, run_now, &l};
  size_t bytes = 0;
  assert_ok(etx_program_open(&f.program, test_file(p), &test_few_kernels, NULL,
                             &diag));
  assert_ok(test_load(&f.loaded, &f.program, "forward", NULL, &diag));
  assert_ok(etx_method_regions_needed(&f.loaded.method, 2, &bytes, &diag));
  f.block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(etx_method_use_regions(&f.loaded.method, &launcher, 2,
                                   f.block.bytes, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
  const etx_bytes_mut own = etx_method_region_temporary(&f.loaded.method, 0);
  const etx_bytes_mut other = etx_method_region_temporary(&f.loaded.method, 1);
  assert_ptr_equal(own.data, f.loaded.temporary.bytes.data);
  assert_int_equal(own.size, CELLS * sizeof(float));
  assert_int_equal(other.size, CELLS * sizeof(float));
  assert_true(other.data >= f.block.bytes.data &&
              other.data + other.size <= f.block.bytes.data + bytes);
  assert_null(etx_method_region_temporary(&f.loaded.method, 2).data);
  const etx_tensor a = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, SIDE, 1);
  const etx_tensor b = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, 1, SIDE);
  for (size_t i = 0; i < SIDE; ++i) input[i] = (float)i;
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &a, &diag));
  assert_ok(etx_method_set_input(&f.loaded.method, 1, &b, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(l.waited, 1);
  for (size_t i = 0; i < 2; ++i) {
    const float* const y0 = test_output_tensor(&f.loaded.method, i)->data;
    for (size_t k = 0; k < CELLS; ++k) {
      assert_true(y0[k] == (float)(k / SIDE * (k % SIDE)));
    }
  }
  memset(input, 0, sizeof input);
  regions_end(&f);
}

// ---- limits ----

enum { PARTS = 4 };

static etx_status state_huge(const etx_call* call, size_t* out_bytes) {
  (void)call;
  *out_bytes = SIZE_MAX / PARTS / 16 * 16;
  return ETX_OK;
}

static etx_status prepare_huge(etx_call* call) {
  (void)call;
  return ETX_OK;
}

// The method may be loaded with less temporary memory than it states.
static void regions_beyond_the_address_space_are_refused(void** state) {
  (void)state;
  static const etx_kernel kernels[] = {
      {&etx_op_row_cat_out, prepare_huge, state_huge, NULL},
      {&etx_op_row_neg_out, prepare_huge, NULL, NULL},
      {&etx_op_row_add_out, prepare_huge, NULL, NULL}};
  const etx_kernel_table table = {kernels, 3, NULL};
  etx_program program;
  etx_method method;
  etx_memory_needed needed;
  size_t bytes = 0;
  test_program* const p = make_dynamic(true);
  const etx_text name = etx_text_of("forward");
  assert_ok(etx_program_open(&program, test_file(p), &table, NULL, &diag));
  assert_ok(etx_method_needed(&program, name, &needed, &diag));
  assert_true(needed.temporary_bytes > SIZE_MAX / 2 / PARTS);
  test_block structures =
      test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  test_block scratch =
      test_block_new(needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
  const etx_method_memory memory = {
      structures.bytes, scratch.bytes, {NULL, 0}, NULL};
  assert_ok(etx_method_init(&method, &program, name, &memory, NULL, &diag));
  assert_ok(etx_method_regions_needed(&method, 1, &bytes, &diag));
  assert_true(bytes < SIZE_MAX / PARTS);
  assert_ok(etx_method_regions_needed(&method, PARTS, &bytes, &diag));
  assert_true(bytes > SIZE_MAX / PARTS);
  assert_refused(
      etx_method_regions_needed(&method, PARTS + 2, &bytes, &diag),
      ETX_OUT_OF_RANGE,
      "regions of method 'forward' need more bytes than this machine");
  assert_refused(
      etx_method_use_regions(&method, NULL, PARTS + 2, structures.bytes, &diag),
      ETX_OUT_OF_RANGE, "this machine");
  assert_true(test_block_end(&structures));
  assert_true(test_block_end(&scratch));
  test_program_end(p);
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
      unit_test_with(ETX_DYNAMIC && ETX_VIEWS,
                     a_view_that_moves_has_the_whole_memory),
      cmocka_unit_test(the_first_failure_in_the_file_is_reported),
      cmocka_unit_test(regions_have_temporary_memory_of_their_own),
      unit_test_with(ETX_DYNAMIC, regions_beyond_the_address_space_are_refused),
  };
  return cmocka_run_group_tests_name("method_regions", tests, NULL, NULL);
}
