// Values that depend on sizes alone: when they are computed, where they are
// kept, and which values are not among them. Scratch is overwritten before each
// run, as other methods would do.

#include "runtime/size_values.h"

#include "format/shapes/op_shapes.h"
#include "runtime/regions.h"
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
static rows_graph begin_in(test_program* p, const char* name, int low, int high,
                           int64_t scratch) {
  float numbers[LONG];
  for (int i = 0; i < LONG; ++i) numbers[i] = (float)(i + 1);
  rows_graph g = {.p = p, .most = high > MOST ? high : MOST};
  test_method(p, name);
  test_arenas(p, scratch, 0);
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

static rows_graph begin(test_program* p, const char* name, int low, int high) {
  const int64_t more = high > MOST ? 4 * LONG * (int64_t)sizeof(float) : 0;
  return begin_in(p, name, low, high, 8 * BLOCK + more);
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

static void start_with(size_values_fixture* f, test_program* p,
                       const etx_kernel_table* kernels,
                       const etx_planned_memory* state) {
  f->p = p;
  f->kept = f->variants = test_block_new(0, ETX_MEMORY_ALIGNMENT);
  etx_diag_init(&diag);
  assert_ok(etx_program_open(&f->program, test_file(p), kernels, NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "f", state, &diag));
}

static void start(size_values_fixture* f, test_program* p) {
  start_with(f, p, &etx_all_kernels, NULL);
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

// The largest sizes are those for which the method was loaded.
static void they_are_computed_at_the_largest_sizes_too(void** state) {
  (void)state;
  size_values_fixture f;
  start(&f, doubled());
  keep(&f, BLOCK);
  run(&f, MOST, 2, 3);
  run(&f, MOST, 2, 1);
  run(&f, 3, 2, 3);
  end(&f);
}

// Nobody need observe it.
static void they_are_computed_without_an_observer(void** state) {
  (void)state;
  static const int32_t sizes[] = {5, 5, 8, 8, 1, 5};
  size_values_fixture f;
  start(&f, doubled());
  keep(&f, BLOCK);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    float x[MOST];
    for (int k = 0; k < MOST; ++k) x[k] = (float)k;
    const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, sizes[i]);
    if (i == 0) memset(f.kept.bytes.data, 0xff, f.kept.bytes.size);
    memset(f.loaded.scratch.bytes.data, 0xff, f.loaded.scratch.bytes.size);
    assert_ok(etx_method_set_input(&f.loaded.method, 0, &input, &diag));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const float* const y = test_output_tensor(&f.loaded.method, 0)->data;
    for (int32_t k = 0; k < sizes[i]; ++k) {
      assert_true(y[k] == x[k] + 2.0f * (float)(k + 1));
    }
  }
  end(&f);
}

// 2 * x + 5 * (1, 2, ..): what is computed once stands behind what each run
// computes, two times.
static void they_are_computed_before_the_others(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int sum = add(&g, g.x, g.x, add_result(&g));
  const int twice = add(&g, g.rows, g.rows, add_result(&g));
  const int first = add(&g, sum, twice, add_result(&g));
  const int thrice = add(&g, g.rows, twice, add_result(&g));
  test_output(p, add(&g, first, thrice, add_result(&g)), "y");
  start(&f, p);
  keep(&f, 2 * BLOCK);
  run(&f, 5, 15, 6);
  run(&f, 5, 15, 3);
  run(&f, 8, 15, 6);
  run(&f, 8, 15, 3);
  run(&f, 5, 15, 6);
  end(&f);
}

// An output that depends on sizes alone is computed by each run: other methods
// may overwrite it in between. Both the first output and the last one are.
static void outputs_are_computed_each_time(void** state) {
  (void)state;
  for (int is_first = 0; is_first < 2; ++is_first) {
    size_values_fixture f;
    test_program* const p = test_program_new();
    test_blob(p);
    rows_graph g = begin(p, "f", 1, MOST);
    const int twice = add(&g, g.rows, g.rows, add_result(&g));
    const int y = add(&g, g.x, twice, add_result(&g));
    const int four = add(&g, twice, twice, add_result(&g));
    test_output(p, is_first ? four : y, "a");
    test_output(p, is_first ? y : four, "b");
    start(&f, p);
    keep(&f, BLOCK);
    for (int i = 0; i < 3; ++i) {
      float x[LONG];
      for (int k = 0; k < LONG; ++k) x[k] = (float)k;
      assert_ok(try(&f, 5, x));
      assert_int_equal(calls, i == 0 ? 4 : 2);
      const float* const sum =
          test_output_tensor(&f.loaded.method, is_first)->data;
      const float* const factor =
          test_output_tensor(&f.loaded.method, !is_first)->data;
      for (int k = 0; k < 5; ++k) {
        assert_true(sum[k] == x[k] + 2.0f * (float)(k + 1));
        assert_true(factor[k] == 4.0f * (float)(k + 1));
      }
    }
    end(&f);
  }
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

// An input has planned memory, which a value takes over: the next call copies
// the input there again.
static void memory_of_inputs_keeps_nothing(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  float numbers[MOST], x[MOST] = {0}, z[MOST];
  test_blob(p);
  for (int i = 0; i < MOST; ++i) numbers[i] = (float)(i + 1);
  for (int i = 0; i < MOST; ++i) z[i] = 100;
  rows_graph g = {.p = p, .most = MOST};
  test_method(p, "f");
  test_arenas(p, 8 * BLOCK, 0);
  const int planned = test_input(p, add_result(&g), "x");
  g.x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(MOST))),
      "z");
  const uint32_t symbol = test_symbol(p, "n", 1, MOST);
  test_dim(p, 0, 0, symbol, 1, 0);
  test_dim(p, 1, 0, symbol, 1, 0);
  g.zero = test_int(p, 0);
  g.one = test_int(p, 1);
  g.none = test_none(p);
  g.n = test_int(p, MOST);
  test_call(p, "aten::sym_size", "int", ARGS(g.x, g.zero, g.n));
  const int table = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(MOST),
                                  test_data(p, numbers, sizeof numbers));
  g.next = 0;
  g.rows = add_result(&g);
  test_view(p, g.rows, planned, 0);
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(table, g.zero, g.none, g.n, g.one, g.rows, g.rows));
  test_output(p, add(&g, g.x, g.rows, add_result(&g)), "y");
  start(&f, p);
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), 0);
  const etx_tensor first = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 4);
  const etx_tensor second = TEST_TENSOR(z, ETX_DTYPE_FLOAT32, 4);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &first, &diag));
  assert_ok(etx_method_set_input(&f.loaded.method, 1, &second, &diag));
  for (int round = 0; round < 2; ++round) {
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const float* const y = test_output_tensor(&f.loaded.method, 0)->data;
    for (int i = 0; i < 4; ++i) assert_true(y[i] == (float)(101 + i));
  }
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

// Methods with regions do not split their steps.
static void a_method_with_regions_keeps_none(void** state) {
  (void)state;
  size_values_fixture f;
  size_t bytes = 0;
  float x[MOST] = {0};
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, MOST);
  start(&f, doubled());
  etx_method* const method = &f.loaded.method;
  assert_true(etx_method_size_values_needed(method) > 0);
  method->busy = 1;
  assert_refused(
      etx_method_keep_size_values(method, f.loaded.scratch.bytes, &diag),
      ETX_BAD_STATE, "in use");
  method->busy = 0;
  assert_ok(etx_method_regions_needed(method, 1, &bytes, &diag));
  test_block regions = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(etx_method_use_regions(method, NULL, 1, regions.bytes, &diag));
  assert_int_equal(etx_method_size_values_needed(method), 0);
  assert_ok(etx_method_set_input(method, 0, &input, &diag));
  assert_ok(etx_method_run(method, &diag));
  assert_true(test_block_end(&regions));
  end(&f);
}

// ---- values that something else than sizes decides ----

static etx_status run_double(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  float* const out = etx_call_tensor(call, 1)->data;
  for (size_t i = 0; i < etx_tensor_numel(self); ++i) {
    out[i] = 2 * ((const float*)self->data)[i];
  }
  return ETX_OK;
}

static etx_status prepare_double(etx_call* call) {
  call->run = run_double;
  return ETX_OK;
}

// An application's operator may depend on anything.
static void operators_of_applications_run_each_time(void** state) {
  (void)state;
  static const etx_op row = {
      .id = ETX_OP_COUNT,
      ETX_OP_NAME("my::double", "out"),
      .arguments = "Tensor self, *, Tensor(a!) out",
      .result = ETX_RESULT_OUT,
      .in_place = ETX_IN_PLACE_NEVER,
      .shape = etx_shape_same,
  };
  const etx_kernel kernels[] = {
      {&row, prepare_double, NULL, NULL},
      *etx_kernel_find(&etx_all_kernels, ETX_OP_sym_size_int),
      *etx_kernel_find(&etx_all_kernels, ETX_OP_slice_copy_tensor_out),
      *etx_kernel_find(&etx_all_kernels, ETX_OP_add_out)};
  const etx_kernel_table table = {kernels, 4, NULL};
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int twice = add_result(&g);
  test_call(p, "my::double", "out", ARGS(g.rows, twice, twice));
  test_output(p, add(&g, g.x, twice, add_result(&g)), "y");
  start_with(&f, p, &table, NULL);
  keep(&f, BLOCK);
  run(&f, 4, 2, 3);
  run(&f, 4, 2, 2);
  end(&f);
}

// A method whose kernels may find sizes keeps nothing, even where the file
// states the only size that is possible.
static void methods_with_sizes_from_data_keep_none(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const uint32_t data = test_data(p, (const float[]){1, 2}, 2 * sizeof(float));
  const int two = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2), data);
  const int places = test_scratch(p, ETX_DTYPE_INT64, SIZES(2, 1), g.next);
  g.next += BLOCK;
  test_call(p, "aten::nonzero", "out", ARGS(two, places, places));
  test_output(p, add(&g, g.x, g.rows, add_result(&g)), "y");
  start(&f, p);
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), 0);
  run(&f, 4, 1, 3);
  run(&f, 4, 1, 3);
  end(&f);
}

// State must be written by each run, even with a constant.
static void state_is_written_each_time(void** state) {
  (void)state;
  size_values_fixture f;
  _Alignas(16) float content[MOST] = {0};
  uint32_t torn = 0;
  const etx_planned_memory memory = {(uint8_t*)content, sizeof content, &torn};
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin_in(p, "f", 1, MOST, 8 * BLOCK);
  test_arena(p, sizeof content);
  test_state_row(p, "s", ETX_DTYPE_FLOAT32, SIZES(2), 0, 0);
  const uint32_t data = test_data(p, (const float[]){1, 2}, 2 * sizeof(float));
  const int two = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2), data);
  const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(2), 0);
  add(&g, two, two, s);
  test_output(p, add(&g, g.x, g.rows, add_result(&g)), "y");
  start_with(&f, p, &etx_all_kernels, &memory);
  keep(&f, BLOCK);
  for (int i = 0; i < 2; ++i) {
    memset(content, 0, sizeof content);
    run(&f, 4, 1, i == 0 ? 3 : 2);
    assert_true(content[0] == 2 && content[1] == 4);
    assert_int_equal(torn, 0);
  }
  end(&f);
}

// A tensor without elements has no memory: what reads it is not kept.
static void what_reads_unknown_memory_runs_each_time(void** state) {
  (void)state;
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin(p, "f", 1, MOST);
  const int empty = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int both = test_tensors(p, ARGS(g.rows, empty));
  const int joined = add_result(&g);
  test_call(p, "aten::cat", "out", ARGS(both, g.zero, joined, joined));
  test_output(p, add(&g, g.x, joined, add_result(&g)), "y");
  start(&f, p);
  keep(&f, BLOCK);
  run(&f, 4, 1, 3);
  run(&f, 4, 1, 2);
  end(&f);
}

// The result depends on the input by a chain of sums that is as long as those
// of models. The rows in front of it are kept all the same.
static void a_long_chain_hides_no_value(void** state) {
  (void)state;
  enum { LINKS = 100 };
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin_in(p, "f", 1, MOST, (LINKS + 1) * BLOCK);
  int sum = g.x;
  for (int i = 0; i < LINKS; ++i) sum = add(&g, sum, g.rows, add_result(&g));
  test_output(p, sum, "y");
  start(&f, p);
  keep(&f, BLOCK);
  run(&f, 4, LINKS, LINKS + 1);
  run(&f, 4, LINKS, LINKS);
  run(&f, 7, LINKS, LINKS + 1);
  end(&f);
}

// Each sum reads what the next one writes, and the last one reads the input, so
// that each round of the search finds one that runs in each call. The search
// gives up, and all run in each call.
static void a_search_without_end_finds_nothing(void** state) {
  (void)state;
  enum { LINKS = 70 };
  size_values_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  rows_graph g = begin_in(p, "f", 1, MOST, (LINKS + 2) * BLOCK);
  int links[LINKS];
  for (int i = 0; i < LINKS; ++i) {
    links[i] = add_result(&g);
  }
  for (int i = 0; i + 1 < LINKS; ++i) add(&g, links[i + 1], g.rows, links[i]);
  add(&g, g.x, g.rows, links[LINKS - 1]);
  test_output(p, add(&g, g.x, g.rows, add_result(&g)), "y");
  start(&f, p);
  assert_int_equal(etx_method_size_values_needed(&f.loaded.method), 0);
  run(&f, MOST, 1, LINKS + 2);
  run(&f, MOST, 1, LINKS + 2);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, they_are_computed_when_sizes_change),
      unit_test_with(ETX_DYNAMIC, they_are_computed_at_the_largest_sizes_too),
      unit_test_with(ETX_DYNAMIC, they_are_computed_without_an_observer),
      unit_test_with(ETX_DYNAMIC, they_are_computed_before_the_others),
      unit_test_with(ETX_DYNAMIC, outputs_are_computed_each_time),
      unit_test_with(ETX_DYNAMIC, without_a_block_each_run_computes_them),
      unit_test_with(ETX_DYNAMIC, a_limit_switches_them_off),
      unit_test_with(ETX_DYNAMIC, other_memory_keeps_them),
      unit_test_with(ETX_DYNAMIC, smaller_values_leave_room_to_compute_them),
      unit_test_with(ETX_DYNAMIC, a_block_that_does_not_fit_is_refused),
      unit_test_with(ETX_DYNAMIC, an_overwritten_value_is_not_kept),
      unit_test_with(ETX_DYNAMIC, values_that_take_turns_are_not_kept),
      unit_test_with(ETX_DYNAMIC, the_last_value_of_a_block_is_kept),
      unit_test_with(ETX_DYNAMIC, memory_of_inputs_keeps_nothing),
      unit_test_with(ETX_DYNAMIC, random_numbers_are_drawn_in_each_run),
      unit_test_with(ETX_DYNAMIC, a_failure_is_reported_by_each_run),
      unit_test_with(ETX_DYNAMIC, variants_keep_their_own),
      unit_test_with(ETX_DYNAMIC, a_method_with_regions_keeps_none),
      unit_test_with(ETX_DYNAMIC, operators_of_applications_run_each_time),
      unit_test_with(ETX_DYNAMIC, methods_with_sizes_from_data_keep_none),
      unit_test_with(ETX_DYNAMIC, state_is_written_each_time),
      unit_test_with(ETX_DYNAMIC, what_reads_unknown_memory_runs_each_time),
      unit_test_with(ETX_DYNAMIC, a_long_chain_hides_no_value),
      unit_test_with(ETX_DYNAMIC, a_search_without_end_finds_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
