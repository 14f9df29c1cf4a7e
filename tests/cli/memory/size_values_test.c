// Values that depend on sizes alone: when they are computed, where they are
// kept, and which values are not among them. Scratch is overwritten before each
// run, as other methods would do.

#include "runtime/size_values.h"

#include "runtime/variants.h"
#include "tests/support/assert_message.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

enum { MOST = 8, BLOCK = 64, LONG = 64 };

static etx_diag diag;
static size_t calls;  // of kernels

// ---- programs ----

// The values of a method over x, which has n elements.
typedef struct rows_graph {
  test_program* p;
  int most;  // elements of a result
  int x, n, zero, one, none, rows;
  uint64_t next;  // free byte of scratch
} rows_graph;

static int add_result(rows_graph* g) {
  const int value = test_dynamic(
      g->p, test_scratch(g->p, ETX_DTYPE_FLOAT32, SIZES(g->most), g->next));
  g->next += g->most > MOST ? (uint64_t)g->most * sizeof(float) : BLOCK;
  return value;
}

static int add(rows_graph* g, int a, int b, int out) {
  test_call(g->p, "aten::add", "out", ARGS(a, b, g->one, out, out));
  return out;
}

// Begins a method whose value `rows` is the first n of the numbers 1, 2, ..
static rows_graph begin(test_program* p, const char* name, int low, int high) {
  float numbers[LONG];
  for (int i = 0; i < LONG; ++i) numbers[i] = (float)(i + 1);
  rows_graph g = {.p = p, .most = high > MOST ? high : MOST};
  test_method(p, name);
  test_arenas(p, 8 * BLOCK + (high > MOST ? 4 * LONG * sizeof(float) : 0), 0);
  g.x = test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(high)));
  test_dim(p, 0, 0, test_symbol(p, "n", low, high), 1, 0);
  test_input(p, g.x, "x");
  g.zero = test_int(p, 0);
  g.one = test_int(p, 1);
  g.none = test_none(p);
  g.n = test_int(p, high);
  test_call(p, "aten::sym_size", "int", ARGS(g.x, g.zero, g.n));
  const int table =
      test_constant(p, ETX_DTYPE_FLOAT32, SIZES(g.most),
                    test_data(p, numbers, (size_t)g.most * sizeof *numbers));
  g.rows = add_result(&g);
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(table, g.zero, g.none, g.n, g.one, g.rows, g.rows));
  return g;
}

// x + 2 * (1, 2, ..)
static void add_doubled(test_program* p, const char* name, int low, int high) {
  rows_graph g = begin(p, name, low, high);
  const int twice = add(&g, g.rows, g.rows, add_result(&g));
  test_output(p, add(&g, g.x, twice, add_result(&g)), "y");
}

static test_program* doubled(void) {
  test_program* const p = test_program_new();
  test_blob(p);
  add_doubled(p, "f", 1, MOST);
  return p;
}

// ---- calls ----

typedef struct size_values_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  test_block kept, variants;
} size_values_fixture;

static void start(size_values_fixture* f, test_program* p) {
  f->p = p;
  f->kept = f->variants = test_block_new(0, ETX_MEMORY_ALIGNMENT);
  etx_diag_init(&diag);
  assert_ok(etx_program_open(&f->program, test_file(p), &etx_all_kernels, NULL,
                             &diag));
  assert_ok(test_load(&f->loaded, &f->program, "f", NULL, &diag));
}

static void keep(size_values_fixture* f, size_t wanted_bytes) {
  const size_t bytes = etx_method_size_values_needed(&f->loaded.method);
  assert_int_equal(bytes, wanted_bytes);
  f->kept = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(
      etx_method_keep_size_values(&f->loaded.method, f->kept.bytes, &diag));
  assert_int_equal(etx_method_size_values_needed(&f->loaded.method), 0);
}

static void end(size_values_fixture* f) {
  assert_true(test_unload(&f->loaded));
  if (f->kept.bytes.size > 0) assert_true(test_block_end(&f->kept));
  if (f->variants.bytes.size > 0) assert_true(test_block_end(&f->variants));
  test_program_end(f->p);
}

static void count_call(void* context, size_t instruction,
                       const etx_call* call) {
  (void)context;
  (void)instruction;
  (void)call;
  ++calls;
}

static void ignore_call(void* context, size_t instruction,
                        const etx_call* call) {
  (void)context;
  (void)instruction;
  (void)call;
}

static etx_status try(size_values_fixture* f, int32_t n, float* x) {
  static const etx_run_observer observer = {ignore_call, count_call, NULL};
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, n);
  memset(f->loaded.scratch.bytes.data, 0xff, f->loaded.scratch.bytes.size);
  etx_method_observe(&f->loaded.method, &observer);
  assert_ok(etx_method_set_input(&f->loaded.method, 0, &input, &diag));
  calls = 0;
  return etx_method_run(&f->loaded.method, &diag);
}

// Runs on n elements 10, 20, .. and expects y[i] = x[i] + factor * (i + 1).
static void run(size_values_fixture* f, int32_t n, float factor,
                size_t wanted_calls) {
  float x[LONG];
  for (int i = 0; i < LONG; ++i) x[i] = 10.0f * (float)(i + 1);
  assert_ok(try(f, n, x));
  const etx_tensor* const y = test_output_tensor(&f->loaded.method, 0);
  assert_int_equal(y->sizes[0], n);
  for (int i = 0; i < n; ++i) {
    assert_true(((const float*)y->data)[i] == x[i] + factor * (float)(i + 1));
  }
  assert_int_equal(calls, wanted_calls);
}

// ---- tests ----

static void they_are_computed_when_sizes_change(void** state) {
  (void)state;
  size_values_fixture f;
  start(&f, doubled());
  keep(&f, BLOCK);
  static const int32_t sizes[] = {5, 5, 5, 8, 8, 1, 5, 5, 2, 8, 8};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    run(&f, sizes[i], 2, i > 0 && sizes[i] == sizes[i - 1] ? 1 : 3);
  }
  end(&f);
}

static void without_a_block_each_run_computes_them(void** state) {
  (void)state;
  size_values_fixture f;
  start(&f, doubled());
  run(&f, 5, 2, 3);
  run(&f, 5, 2, 3);
  // The method has run.
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), 0);
  end(&f);
}

static void a_limit_switches_them_off(void** state) {
  (void)state;
  size_values_fixture f;
  start(&f, doubled());
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), BLOCK);
  f.program.limits.repeats_size_values = true;
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), 0);
  end(&f);
}

static void other_memory_keeps_them(void** state) {
  (void)state;
  size_values_fixture f;
  start(&f, doubled());
  keep(&f, BLOCK);
  run(&f, 5, 2, 3);
  // The slice that only the sum reads needs scratch when it is computed.
  const etx_named_size size = {etx_text_of("n"), 5};
  etx_memory_needed needed;
  assert_ok(etx_method_needed_at(&f.loaded.method, &size, 1, &needed, &diag));
  assert_true(needed.scratch_bytes < 3 * BLOCK);
  const test_block small =
      test_block_new(needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
  const test_block whole = f.loaded.scratch;
  assert_ok(etx_method_set_memory(&f.loaded.method, small.bytes,
                                  f.loaded.temporary.bytes, &diag));
  f.loaded.scratch = small;
  run(&f, 5, 2, 3);
  run(&f, 5, 2, 1);
  run(&f, 2, 2, 3);
  f.loaded.scratch = whole;
  test_block taken = small;
  assert_true(test_block_end(&taken));
  end(&f);
}

static size_t scratch_at(size_values_fixture* f, int64_t n) {
  const etx_named_size size = {etx_text_of("n"), n};
  etx_memory_needed needed;
  assert_ok(etx_method_needed_at(&f->loaded.method, &size, 1, &needed, &diag));
  return needed.scratch_bytes;
}

// x + 3 * (1, 2, ..): the rows and their double are needed only while what is
// kept is computed. Both lie behind it while its sizes leave so much of its
// memory free, and in scratch at larger sizes.
static void smaller_values_leave_room_to_compute_them(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, LONG);
  const int twice = add(&g, g.rows, g.rows, add_result(&g));
  const int thrice = add(&g, g.rows, twice, add_result(&g));
  test_output(p, add(&g, g.x, thrice, add_result(&g)), "y");
  start(&f, p);
  keep(&f, LONG * sizeof(float));
  assert_int_equal(scratch_at(&f, 5), 5 * sizeof(float));
  assert_int_equal(scratch_at(&f, 16), 16 * sizeof(float));
  assert_int_equal(scratch_at(&f, 17), 4 * BLOCK);
  assert_int_equal(scratch_at(&f, LONG), 2 * LONG * sizeof(float));
  static const int32_t sizes[] = {16, 5, 1, 32, 5, 17, 16};
  const test_block whole = f.loaded.scratch;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    test_block least =
        test_block_new(scratch_at(&f, sizes[i]), ETX_MEMORY_ALIGNMENT);
    f.loaded.scratch = least;
    assert_ok(etx_method_set_memory(&f.loaded.method, least.bytes,
                                    f.loaded.temporary.bytes, &diag));
    run(&f, sizes[i], 3, 4);
    run(&f, sizes[i], 3, 1);
    if (sizes[i] == 32) run(&f, 2, 3, 4);
    assert_true(test_block_end(&least));
  }
  f.loaded.scratch = whole;
  assert_ok(etx_method_set_memory(&f.loaded.method, whole.bytes,
                                  f.loaded.temporary.bytes, &diag));
  run(&f, LONG, 3, 4);
  run(&f, 5, 3, 4);
  end(&f);
}

static void a_block_that_does_not_fit_is_refused(void** state) {
  (void)state;
  size_values_fixture f;
  start(&f, doubled());
  etx_method* const method = &f.loaded.method;
  static uint8_t bytes[2 * BLOCK + ETX_MEMORY_ALIGNMENT];
  uint8_t* const aligned =
      bytes + (ETX_MEMORY_ALIGNMENT - (uintptr_t)bytes % ETX_MEMORY_ALIGNMENT);
  assert_refused(etx_method_keep_size_values(
                     method, (etx_bytes_mut){aligned, BLOCK - 1}, &diag),
                 ETX_OUT_OF_MEMORY, "64 bytes, 63 were given");
  assert_refused(etx_method_keep_size_values(
                     method, (etx_bytes_mut){aligned + 1, BLOCK}, &diag),
                 ETX_BAD_ARGUMENT, "not aligned to 16 bytes");
  run(&f, 3, 2, 3);
  run(&f, 3, 2, 3);
  assert_refused(etx_method_keep_size_values(
                     method, (etx_bytes_mut){aligned, BLOCK}, &diag),
                 ETX_BAD_STATE, "has run");
  end(&f);
}

// The result takes over the memory of a value that depends on sizes alone: that
// value is computed in each run, from one that is kept.
static void an_overwritten_value_is_not_kept(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int twice = add(&g, g.rows, g.rows, add_result(&g));
  g.next -= BLOCK;
  const int y = add_result(&g);
  test_view(p, y, twice, 0);
  test_output(p, add(&g, g.x, twice, y), "y");
  start(&f, p);
  keep(&f, BLOCK);
  run(&f, 6, 2, 3);
  run(&f, 6, 2, 2);
  run(&f, 6, 2, 2);
  run(&f, 3, 2, 3);
  end(&f);
}

// Two values take turns in one block, and the first is read in between.
static void values_that_take_turns_are_not_kept(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int sum = add(&g, g.x, g.rows, add_result(&g));
  const int y = add_result(&g);
  g.next = 0;
  const int twice = add_result(&g);
  test_view(p, twice, g.rows, 0);
  (void)add(&g, g.rows, g.rows, twice);
  test_output(p, add(&g, sum, twice, y), "y");
  start(&f, p);
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), 0);
  assert_refused(etx_method_keep_size_values(&f.loaded.method,
                                             f.loaded.scratch.bytes, &diag),
                 ETX_BAD_STATE, "no values that depend on sizes alone");
  run(&f, 4, 3, 4);
  run(&f, 4, 3, 4);
  end(&f);
}

// Two values take turns in one block, and only the second one is read by a
// record that runs in each call.
static void the_last_value_of_a_block_is_kept(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int y = add_result(&g);
  g.next = 0;
  const int twice = add_result(&g);
  test_view(p, twice, g.rows, 0);
  (void)add(&g, g.rows, g.rows, twice);
  test_output(p, add(&g, g.x, twice, y), "y");
  start(&f, p);
  keep(&f, BLOCK);
  run(&f, 4, 2, 3);
  run(&f, 4, 2, 1);
  run(&f, 7, 2, 3);
  end(&f);
}

static void random_numbers_are_drawn_in_each_run(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int drawn = add_result(&g);
  const int sizes = test_ints(p, (const int[]){g.n}, 1);
  test_call(p, "aten::rand", "out", ARGS(sizes, drawn, drawn));
  test_output(p, add(&g, g.x, drawn, add_result(&g)), "y");
  start(&f, p);
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), 0);
  end(&f);
}

// Rows 1, 2, 3, 9, .. of the table: an error where a run has more than three.
static void a_failure_is_reported_by_each_run(void** state) {
  static const int64_t at[MOST] = {0, 1, 2, 9, 3, 4, 5, 6};
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int all = test_constant(p, ETX_DTYPE_INT64, SIZES(MOST),
                                test_data(p, at, sizeof at));
  const int index =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_INT64, SIZES(MOST), 6 * BLOCK));
  const int table = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(3),
                                  test_data(p, (const float[]){1, 2, 3}, 12));
  const int picked = add_result(&g);
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(all, g.zero, g.none, g.n, g.one, index, index));
  test_call(p, "aten::index_select", "out",
            ARGS(table, g.zero, index, picked, picked));
  test_output(p, add(&g, g.x, picked, add_result(&g)), "y");
  start(&f, p);
  keep(&f, BLOCK);
  float x[MOST] = {0};
  for (int i = 0; i < 2; ++i) {
    run(&f, 2, 1, i == 0 ? 4 : 1);
    assert_true(try(&f, 5, x) != ETX_OK);
    etx_diag_init(&diag);
    assert_true(try(&f, 5, x) != ETX_OK);
    etx_diag_init(&diag);
    run(&f, 3, 1, 4);
    run(&f, 3, 1, 1);
    run(&f, 2, 1, 4);
  }
  end(&f);
}

static void variants_keep_their_own(void** state) {
  (void)state;
  size_values_fixture f;
  size_t count = 0;
  etx_memory_needed needed;
  test_program* const p = test_program_new();
  test_blob(p);
  add_doubled(p, "f", 1, MOST);
  add_doubled(p, "f@1", 1, 3);
  start(&f, p);
  assert_ok(etx_method_variants_needed(&f.program, etx_text_of("f"), &count,
                                       &needed, &diag));
  assert_int_equal(count, 1);
  f.variants = test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(
      etx_method_use_variants(&f.loaded.method, f.variants.bytes, NULL, &diag));
  keep(&f, 2 * BLOCK);
  run(&f, 5, 2, 3);
  run(&f, 2, 2, 3);
  run(&f, 5, 2, 3);
  run(&f, 2, 2, 1);
  run(&f, 3, 2, 3);
  run(&f, 7, 2, 3);
  run(&f, 3, 2, 1);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, they_are_computed_when_sizes_change),
      unit_test_with(ETX_DYNAMIC, without_a_block_each_run_computes_them),
      unit_test_with(ETX_DYNAMIC, a_limit_switches_them_off),
      unit_test_with(ETX_DYNAMIC, other_memory_keeps_them),
      unit_test_with(ETX_DYNAMIC, smaller_values_leave_room_to_compute_them),
      unit_test_with(ETX_DYNAMIC, a_block_that_does_not_fit_is_refused),
      unit_test_with(ETX_DYNAMIC, an_overwritten_value_is_not_kept),
      unit_test_with(ETX_DYNAMIC, values_that_take_turns_are_not_kept),
      unit_test_with(ETX_DYNAMIC, the_last_value_of_a_block_is_kept),
      unit_test_with(ETX_DYNAMIC, random_numbers_are_drawn_in_each_run),
      unit_test_with(ETX_DYNAMIC, a_failure_is_reported_by_each_run),
      unit_test_with(ETX_DYNAMIC, variants_keep_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
