// Variants of a method: which one runs, what it shares with the method, and
// files whose variants are not like their method. The variants here compute
// something else than their method, so that results show which of them ran.

#include "runtime/variants.h"

#include "runtime/pool/instance_pool.h"
#include "runtime/regions.h"
#include "runtime/trace/call_trace.h"
#include "tests/support/assert_message.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

typedef struct variants_fixture {
  test_program* p;
  etx_program program;
  etx_method method;
  etx_memory_needed needed;
  etx_memory_needed own;
  size_t count;
  test_block structures, variants, scratch, temporary;
} variants_fixture;

// A method that applies `op` to x. A `low` of `high` is a fixed size.
static void add_method(test_program* p, const char* name, const char* op,
                       int32_t low, int32_t high, uint64_t scratch) {
  test_method(p, name);
  test_arenas(p, (int64_t)scratch + 32, 0);
  int x = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(high));
  int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(high), scratch);
  if (low != high) {
    x = test_dynamic(p, x);
    y = test_dynamic(p, y);
    test_dim(p, 0, 0, test_symbol(p, "n", low, high), 1, 0);
  }
  test_input(p, x, "x");
  test_call(p, op, "out", ARGS(x, y, y));
  test_output(p, y, "y");
}

static test_program* program_with_variants(void) {
  test_program* p = test_program_new();
  test_blob(p);
  add_method(p, "f", "aten::neg", 1, 8, 0);
  add_method(p, "f@1", "aten::abs", 1, 1, 64);
  add_method(p, "f@2", "aten::floor", 1, 4, 0);
  return p;
}

static void open_and_load(variants_fixture* f, const etx_limits* limits) {
  const etx_text name = etx_text_of("f");
  etx_diag_init(&diag);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &etx_all_kernels,
                             limits, &diag));
  assert_ok(etx_method_variants_needed(&f->program, name, &f->count, &f->needed,
                                       &diag));
  assert_ok(etx_method_needed(&f->program, name, &f->own, &diag));
  f->structures = test_block_new(f->own.structure_bytes, ETX_MEMORY_ALIGNMENT);
  f->variants = test_block_new(f->needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  f->scratch = test_block_new(f->needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
  f->temporary =
      test_block_new(f->needed.temporary_bytes, ETX_MEMORY_ALIGNMENT);
  const etx_method_memory memory = {f->structures.bytes, f->scratch.bytes,
                                    f->temporary.bytes, NULL};
  assert_ok(
      etx_method_init(&f->method, &f->program, name, &memory, NULL, &diag));
}

static void start(variants_fixture* f) {
  f->p = program_with_variants();
  open_and_load(f, NULL);
  assert_int_equal(f->count, 2);
  assert_ok(
      etx_method_use_variants(&f->method, f->variants.bytes, NULL, &diag));
}

static void end(variants_fixture* f) {
  assert_true(test_block_end(&f->structures));
  assert_true(test_block_end(&f->variants));
  assert_true(test_block_end(&f->scratch));
  assert_true(test_block_end(&f->temporary));
  test_program_end(f->p);
}

// Runs on `count` elements of -1.5 and expects all results to be `wanted`.
static void run(variants_fixture* f, int32_t count, float wanted) {
  static float x[8];  // later runs without inputs read it, too
  for (size_t i = 0; i < 8; ++i) x[i] = -1.5f;
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, count);
  assert_ok(etx_method_set_input(&f->method, 0, &input, &diag));
  assert_ok(etx_method_run(&f->method, &diag));
  const etx_tensor* const y = test_output_tensor(&f->method, 0);
  assert_int_equal(y->sizes[0], count);
  for (int32_t i = 0; i < count; ++i) {
    assert_true(((const float*)y->data)[i] == wanted);
  }
}

static void the_first_variant_for_the_sizes_runs(void** state) {
  static const struct {
    int32_t size;
    float wanted;
    size_t variant;
  } calls[] = {{1, 1.5f, 0}, {2, -2.0f, 1}, {4, -2.0f, 1}, {8, 1.5f, 2},
               {5, 1.5f, 2}, {1, 1.5f, 0},  {1, 1.5f, 0},  {3, -2.0f, 1}};
  variants_fixture f;
  (void)state;
  start(&f);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    run(&f, calls[i].size, calls[i].wanted);
    assert_int_equal(etx_method_variant_last(&f.method), calls[i].variant);
  }
  static const uint64_t runs[] = {3, 3, 2};
  static const char* const names[] = {"f@1", "f@2", "f"};
  assert_int_equal(etx_method_variant_count(&f.method), 2);
  for (size_t i = 0; i < 3; ++i) {
    assert_int_equal(etx_method_variant_runs(&f.method, i), runs[i]);
    assert_true(etx_text_is(etx_method_variant_name(&f.method, i), names[i]));
  }
  end(&f);
}

// Sizes 5 to 8 have no variant. Two copies stay prepared for the last two.
static void copies_stay_prepared_for_recent_sizes(void** state) {
  static const struct {
    int32_t size;
    uint64_t computed;  // sizes were computed so often, loading excepted
    uint64_t hits;      // a copy was prepared for other sizes so often
  } calls[] = {{8, 0, 1}, {5, 1, 1}, {8, 1, 2}, {5, 1, 3}, {6, 2, 3}, {5, 2, 4},
               {8, 3, 4}, {5, 3, 5}, {8, 3, 6}, {6, 4, 6}, {6, 4, 6}};
  variants_fixture f;
  etx_limits limits;
  (void)state;
  memset(&limits, 0, sizeof limits);
  limits.kept_sizes = 2;
  f.p = program_with_variants();
  open_and_load(&f, &limits);
  assert_int_equal(f.count, 4);
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  const uint64_t loaded = etx_method_variant_phases(&f.method);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    run(&f, calls[i].size, 1.5f);
    assert_int_equal(etx_method_variant_last(&f.method), 2);
    assert_int_equal(etx_method_variant_phases(&f.method) - loaded,
                     calls[i].computed);
    assert_int_equal(etx_method_variant_hits(&f.method), calls[i].hits);
  }
  // Another call with the same inputs computes no address.
  const uint64_t addresses = etx_method_variant_addresses(&f.method);
  assert_true(addresses >= calls[10].computed);
  assert_ok(etx_method_run(&f.method, &diag));
  assert_int_equal(etx_method_variant_addresses(&f.method), addresses);
  run(&f, 1, 1.5f);
  assert_int_equal(etx_method_variant_last(&f.method), 0);
  assert_int_equal(etx_method_variant_runs(&f.method, 2),
                   sizeof calls / sizeof *calls + 1);
  end(&f);
}

static void a_method_without_its_variants_runs_itself(void** state) {
  variants_fixture f;
  (void)state;
  f.p = program_with_variants();
  open_and_load(&f, NULL);
  run(&f, 1, 1.5f);
  run(&f, 2, 1.5f);
  assert_int_equal(etx_method_variant_count(&f.method), 0);
  end(&f);
}

// The first variant needs more scratch than the others.
static void a_variant_that_does_not_fit_is_passed_over(void** state) {
  variants_fixture f;
  (void)state;
  start(&f);
  assert_true(f.needed.scratch_bytes > f.own.scratch_bytes);
  run(&f, 1, 1.5f);
  assert_int_equal(etx_method_variant_last(&f.method), 0);
  test_block smaller = test_block_new(f.own.scratch_bytes, 16);
  assert_ok(etx_method_set_memory(&f.method, smaller.bytes, f.temporary.bytes,
                                  &diag));
  run(&f, 1, -2.0f);
  assert_int_equal(etx_method_variant_last(&f.method), 1);
  const uint8_t* const data = test_output_tensor(&f.method, 0)->data;
  assert_true(data >= smaller.bytes.data &&
              data < smaller.bytes.data + smaller.bytes.size);
  assert_ok(etx_method_set_memory(&f.method, f.scratch.bytes, f.temporary.bytes,
                                  &diag));
  run(&f, 1, 1.5f);
  assert_int_equal(etx_method_variant_last(&f.method), 0);
  assert_true(test_block_end(&smaller));
  end(&f);
}

static void count_call(void* context, size_t instruction,
                       const etx_call* call) {
  (void)instruction;
  (void)call;
  ++*(size_t*)context;
}

static void observers_see_variants(void** state) {
  variants_fixture f;
  size_t calls = 0;
  const etx_run_observer observer = {count_call, count_call, &calls};
  (void)state;
  start(&f);
  run(&f, 1, 1.5f);
  etx_method_observe(&f.method, &observer);
  run(&f, 1, 1.5f);
  assert_int_equal(calls, 2);
  etx_method_observe(&f.method, NULL);
  run(&f, 1, 1.5f);
  assert_int_equal(calls, 2);
  end(&f);
}

typedef struct written {
  char text[4096];
  size_t size;
} written;

static etx_status append(void* context, etx_bytes bytes) {
  written* const w = context;
  assert_true(w->size + bytes.size < sizeof w->text);
  memcpy(w->text + w->size, bytes.data, bytes.size);
  w->size += bytes.size;
  w->text[w->size] = '\0';
  return ETX_OK;
}

// True if the trace has the operators named: n for neg, a for abs, f for floor.
static bool trace_has(const etx_call_trace* trace, const char* letters) {
  written w = {.size = 0};
  const etx_sink sink = {append, &w};
  assert_ok(etx_call_trace_write(&trace, 1, etx_text_of("a.pte"), &sink));
  return (strstr(w.text, "aten::neg.out") != NULL) ==
             (strchr(letters, 'n') != NULL) &&
         (strstr(w.text, "aten::abs.out") != NULL) ==
             (strchr(letters, 'a') != NULL) &&
         (strstr(w.text, "aten::floor.out") != NULL) ==
             (strchr(letters, 'f') != NULL);
}

// A trace has the calls of the variants that ran.
static void a_trace_marks_the_variant_that_ran(void** state) {
  variants_fixture f;
  uint8_t marks[8];
  etx_call_trace trace;
  (void)state;
  start(&f);
  assert_ok(etx_call_trace_start(&trace, &f.method,
                                 (etx_bytes_mut){marks, sizeof marks}, &diag));
  assert_true(trace_has(&trace, ""));
  run(&f, 2, -2.0f);
  assert_true(trace_has(&trace, "f"));
  run(&f, 1, 1.5f);
  assert_true(trace_has(&trace, "fa"));
  run(&f, 8, 1.5f);
  assert_true(trace_has(&trace, "fan"));
  etx_call_trace_stop(&trace);
  end(&f);
}

// Variants that are loaded after the trace was started have no marks in it.
static void a_trace_leaves_out_variants_that_came_later(void** state) {
  variants_fixture f;
  uint8_t marks[8];
  etx_call_trace trace;
  (void)state;
  f.p = program_with_variants();
  open_and_load(&f, NULL);
  assert_int_equal(etx_call_trace_needed(&f.method), 1);
  assert_ok(etx_call_trace_start(&trace, &f.method, (etx_bytes_mut){marks, 1},
                                 &diag));
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  marks[1] = 0xa5;
  run(&f, 1, 1.5f);
  assert_true(trace_has(&trace, ""));
  run(&f, 8, 1.5f);
  assert_true(trace_has(&trace, "n"));
  assert_int_equal(marks[1], 0xa5);
  etx_call_trace_stop(&trace);
  end(&f);
}

// Nor have those that run no kernel.
static void a_trace_leaves_out_numbers_that_came_later(void** state) {
  variants_fixture f;
  uint8_t marks[1];
  etx_call_trace trace;
  (void)state;
  f.p = test_program_new();
  test_blob(f.p);
  add_method(f.p, "f", "aten::neg", 1, 8, 0);
  test_method(f.p, "f@1");
  test_arenas(f.p, 32, 0);
  const int x =
      test_input(f.p, test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(1)), "x");
  test_output(f.p, test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(1), 0), "y");
  const int n = test_int(f.p, 0);
  for (int i = 0; i < 16; ++i) {
    test_call(f.p, "aten::sym_size", "int", ARGS(x, test_int(f.p, 0), n));
  }
  open_and_load(&f, NULL);
  assert_ok(etx_call_trace_start(&trace, &f.method, (etx_bytes_mut){marks, 1},
                                 &diag));
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  run(&f, 8, 1.5f);
  assert_true(trace_has(&trace, "n"));
  etx_call_trace_stop(&trace);
  end(&f);
}

static void sizes_out_of_bounds_are_refused_as_before(void** state) {
  variants_fixture f;
  float x[9] = {0};
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 9);
  (void)state;
  start(&f);
  run(&f, 1, 1.5f);
  assert_int_equal(etx_method_set_input(&f.method, 0, &input, &diag),
                   ETX_OUT_OF_RANGE);
  assert_ok(etx_method_run(&f.method, NULL));
  assert_int_equal(etx_method_variant_last(&f.method), 0);
  end(&f);
}

static void every_smaller_block_is_refused(void** state) {
  variants_fixture f;
  (void)state;
  f.p = program_with_variants();
  open_and_load(&f, NULL);
  for (size_t size = 0; size < f.needed.structure_bytes; size += 8) {
    const etx_bytes_mut block = {f.variants.bytes.data, size};
    etx_diag_init(&diag);
    assert_int_equal(etx_method_use_variants(&f.method, block, NULL, &diag),
                     ETX_OUT_OF_MEMORY);
    assert_true(test_has_message(&diag));
  }
  const etx_bytes_mut odd = {f.variants.bytes.data + 8,
                             f.needed.structure_bytes - 8};
  assert_int_equal(etx_method_use_variants(&f.method, odd, NULL, &diag),
                   ETX_BAD_ARGUMENT);
  run(&f, 1, 1.5f);  // the method itself
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  run(&f, 2, -2.0f);
  assert_int_equal(
      etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag),
      ETX_BAD_STATE);
  run(&f, 2, -2.0f);
  end(&f);
}

// ---------------------------------------------------------------- bad files

typedef enum unlike {
  UNLIKE_TYPE,
  UNLIKE_RANK,
  UNLIKE_NAME,
  UNLIKE_OUTPUT_TYPE,
  UNLIKE_INPUTS,
  UNLIKE_OUTPUTS,
  UNLIKE_STATE,
  UNLIKE_KIND,
  UNLIKE_ORDER,
  UNLIKE_WRITTEN,
  UNLIKE_OPERATOR,
  UNLIKE_COUNT,
} unlike;

static void add_unlike(test_program* p, unlike kind) {
  const etx_dtype type =
      kind == UNLIKE_TYPE ? ETX_DTYPE_INT32 : ETX_DTYPE_FLOAT32;
  const etx_dtype out =
      kind == UNLIKE_OUTPUT_TYPE ? ETX_DTYPE_INT32 : ETX_DTYPE_FLOAT32;
  test_method(p, "f@1");
  test_arenas(p, 64, kind == UNLIKE_STATE ? 64 : 0);
  static const uint8_t swapped[2] = {1, 0};
  const bool is_matrix = kind == UNLIKE_RANK || kind == UNLIKE_ORDER;
  const int x =
      kind == UNLIKE_KIND
          ? test_int(p, 1)
          : test_borrowed(p, type, is_matrix ? SIZES(1, 1) : SIZES(1));
  if (kind == UNLIKE_ORDER) test_tensor_of(p, x)->dim_order = swapped;
  test_input(p, x, kind == UNLIKE_NAME ? "z" : "x");
  if (kind == UNLIKE_INPUTS) {
    test_input(p, test_borrowed(p, type, SIZES(1)), "more");
  }
  const int y = test_scratch(p, out, SIZES(1), 0);
  const int source = out == type || kind == UNLIKE_TYPE
                         ? x
                         : test_scratch(p, out, SIZES(1), 16);
  if (kind != UNLIKE_TYPE && !is_matrix && kind != UNLIKE_KIND) {
    test_call(p, kind == UNLIKE_OPERATOR ? "my::own" : "aten::abs", "out",
              ARGS(source, y, y));
  }
  if (kind == UNLIKE_STATE) {
    const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(1), 0);
    test_call(p, "aten::abs", "out", ARGS(x, s, s));
    test_state_row(p, "s", ETX_DTYPE_FLOAT32, SIZES(1), 0, 0);
  }
  test_shown(p, y, "y", kind == UNLIKE_WRITTEN ? 0 : -1);
  if (kind == UNLIKE_OUTPUTS) test_output(p, y, "more");
}

// f for matrices in order.
static test_program* program_of_matrices(void) {
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "f");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1, 1)), "x");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1, 1), 0);
  const int shown = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 16);
  test_call(p, "aten::neg", "out", ARGS(x, y, y));
  test_output(p, shown, "y");
  return p;
}

static void a_variant_unlike_its_method_is_refused(void** state) {
  (void)state;
  for (unlike kind = 0; kind < UNLIKE_COUNT; ++kind) {
    variants_fixture f;
    f.p = test_program_new();
    test_blob(f.p);
    add_method(f.p, "f", "aten::neg", 1, 8, 0);
    if (kind == UNLIKE_ORDER) {
      test_program_end(f.p);
      f.p = program_of_matrices();
    }
    add_unlike(f.p, kind);
    open_and_load(&f, NULL);
    assert_int_equal(f.count, 1);
    etx_diag_init(&diag);
    assert_int_equal(
        etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag),
        kind == UNLIKE_OPERATOR ? ETX_MISSING_OPERATOR : ETX_BAD_FILE);
    assert_true(test_message_has(&diag, "f@1"));
    if (kind == UNLIKE_ORDER) {
      end(&f);
      continue;
    }
    run(&f, 1, 1.5f);  // the method is as it was
    end(&f);
  }
}

// What a variant needs may be more than may be counted.
static void needs_of_variants_are_counted(void** state) {
  (void)state;
  static const char* const names[] = {"f", "f@1"};
  for (size_t bad = 0; bad < 2; ++bad) {
    test_program* const p = test_program_new();
    etx_program program;
    etx_method method;
    etx_memory_needed needed;
    size_t count = 0;
    test_blob(p);
    for (size_t i = 0; i < 2; ++i) {
      add_method(p, names[i], "aten::neg", 1, i == 0 ? 8 : 4, 0);
      const int z = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1));
      const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 0);
      for (int k = 0; i == bad && k < 513; ++k) {
        test_call(p, "aten::neg", "out", ARGS(a, z, z));
        test_move(p, a, z);
      }
    }
    assert_ok(etx_program_open(&program, test_file(p), &etx_all_kernels, NULL,
                               &diag));
    assert_refused(etx_method_variants_needed(&program, etx_text_of("f"),
                                              &count, &needed, &diag),
                   ETX_OUT_OF_RANGE, "more than 512 outputs");
    assert_refused(etx_method_variants_needed(&program, etx_text_of("g"),
                                              &count, &needed, &diag),
                   ETX_NOT_FOUND, "no method 'g'");
    if (bad == 1) {
      assert_ok(etx_method_needed(&program, etx_text_of("f"), &needed, &diag));
      test_block structures = test_block_new(needed.structure_bytes, 16);
      test_block scratch = test_block_new(needed.scratch_bytes, 16);
      test_block block = test_block_new(1 << 16, 16);
      const etx_method_memory memory = {
          structures.bytes, scratch.bytes, {NULL, 0}, NULL};
      assert_ok(etx_method_init(&method, &program, etx_text_of("f"), &memory,
                                NULL, &diag));
      assert_refused(etx_method_use_variants(&method, block.bytes, NULL, &diag),
                     ETX_OUT_OF_RANGE, "more than 512 outputs");
      assert_true(test_block_end(&block));
      assert_true(test_block_end(&structures));
      assert_true(test_block_end(&scratch));
    }
    test_program_end(p);
  }
}

// A method without variants may be asked to use them.
static void no_variants_are_none(void** state) {
  (void)state;
  variants_fixture f;
  f.p = test_program_new();
  test_blob(f.p);
  add_method(f.p, "f", "aten::neg", 1, 8, 0);
  open_and_load(&f, NULL);
  assert_int_equal(f.count, 0);
  assert_ok(etx_method_use_variants(&f.method, (etx_bytes_mut){NULL, 0}, NULL,
                                    &diag));
  run(&f, 3, 1.5f);
  assert_int_equal(etx_method_variant_runs(&f.method, 0), 0);
  assert_int_equal(etx_method_variant_runs(&f.method, 1), 0);
  end(&f);
}

static void use_while_busy(void* context, size_t instruction,
                           const etx_call* call) {
  variants_fixture* const f = context;
  (void)instruction, (void)call;
  assert_status(
      etx_method_use_variants(&f->method, f->variants.bytes, NULL, &diag),
      ETX_BAD_STATE);
}

static void a_method_in_use_takes_no_variants(void** state) {
  (void)state;
  variants_fixture f;
  f.p = program_with_variants();
  open_and_load(&f, NULL);
  const etx_run_observer observer = {use_while_busy, use_while_busy, &f};
  etx_method_observe(&f.method, &observer);
  run(&f, 1, 1.5f);
  etx_method_observe(&f.method, NULL);
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  run(&f, 2, -2.0f);
  // Preparing chooses a variant and counts no run.
  const uint64_t runs = etx_method_variant_runs(&f.method, 1);
  assert_ok(etx_method_prepare(&f.method, &diag));
  assert_int_equal(etx_method_variant_runs(&f.method, 1), runs);
  assert_int_equal(etx_method_variant_runs(&f.method, 3), 0);
  end(&f);
}

// ---- numbers, and inputs without dimensions ----

// A method of x[n], k and a number without dimensions, and a fixed integer.
// Sizes and k are bounds; equal ones are fixed.
static void add_numbered(test_program* p, const char* name, const char* op,
                         const int32_t sizes[2], const int64_t numbers[2],
                         const char* kind) {
  test_method(p, name);
  test_arenas(p, 64, 0);
  int x = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(sizes[1]));
  int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(sizes[1]), 0);
  const bool varies = sizes[0] != sizes[1];
  if (varies) {
    x = test_dynamic(p, x);
    y = test_dynamic(p, y);
    test_dim(p, 0, 0, test_symbol(p, "n", sizes[0], sizes[1]), 1, 0);
  }
  test_input(p, x, "x");
  test_input(p, test_int(p, numbers[1]), kind);
  test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SCALAR_SIZES), "scale");
  test_input(p, test_int(p, 5), "five");
  if (numbers[0] != numbers[1]) {
    test_dim(p, 1, -1, test_symbol(p, "k", numbers[0], numbers[1]), 1, 0);
  }
  test_call(p, op, "out", ARGS(x, y, y));
  test_output(p, y, "y");
}

static void run_numbered(variants_fixture* f, int32_t size, int64_t number,
                         size_t variant) {
  static float x[8], scale[1];
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, size);
  const etx_tensor second = test_tensor(scale, ETX_DTYPE_FLOAT32, 0, NULL);
  const etx_value k = {.kind = ETX_VALUE_INT, .as.integer = number};
  assert_ok(etx_method_set_input(&f->method, 0, &input, &diag));
  assert_ok(etx_method_set_value(&f->method, 1, &k, &diag));
  assert_ok(etx_method_set_input(&f->method, 2, &second, &diag));
  assert_ok(etx_method_run(&f->method, &diag));
  assert_int_equal(etx_method_variant_last(&f->method), variant);
  assert_int_equal(test_output_tensor(&f->method, 0)->sizes[0], size);
}

static void numbers_choose_among_variants(void** state) {
  (void)state;
  static const int32_t one[] = {1, 1}, some[] = {1, 4}, all[] = {1, 8};
  static const int64_t low[] = {1, 2}, three[] = {3, 3}, any[] = {1, 4};
  for (uint32_t kept = 0; kept < 3; kept += 2) {
    variants_fixture f;
    etx_limits limits;
    memset(&limits, 0, sizeof limits);
    limits.kept_sizes = kept;
    f.p = test_program_new();
    test_blob(f.p);
    add_numbered(f.p, "f", "aten::neg", all, any, "k");
    add_numbered(f.p, "f@1", "aten::abs", one, low, "k");
    add_numbered(f.p, "f@2", "aten::floor", some, three, "k");
    open_and_load(&f, &limits);
    assert_ok(
        etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
    static const struct {
      int32_t size;
      int64_t number;
      size_t variant;
    } calls[] = {{1, 1, 0}, {1, 2, 0}, {1, 3, 1}, {4, 3, 1}, {4, 3, 1},
                 {4, 2, 2}, {4, 4, 2}, {4, 2, 2}, {8, 3, 2}, {8, 3, 2},
                 {8, 4, 2}, {1, 4, 2}, {1, 2, 0}, {1, 2, 0}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
      run_numbered(&f, calls[i].size, calls[i].number, calls[i].variant);
    }
    end(&f);
  }
}

// A variant whose number varies is not for a method whose number is fixed.
static void a_fixed_number_has_no_variant_for_others(void** state) {
  (void)state;
  static const int32_t one[] = {1, 1}, all[] = {1, 8};
  static const int64_t three[] = {3, 3}, any[] = {1, 4};
  variants_fixture f;
  f.p = test_program_new();
  test_blob(f.p);
  add_numbered(f.p, "f", "aten::neg", all, three, "k");
  add_numbered(f.p, "f@1", "aten::abs", one, any, "k");
  open_and_load(&f, NULL);
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  run_numbered(&f, 1, 3, 1);
  run_numbered(&f, 8, 3, 1);
  end(&f);
}

// Blocks of which only the size, or only one of two, has changed.
static void other_blocks_are_handed_over(void** state) {
  (void)state;
  variants_fixture f;
  _Alignas(16) uint8_t own[2][32];
  start(&f);
  const etx_bytes_mut whole = f.scratch.bytes;
  const etx_bytes_mut part = {whole.data, f.own.scratch_bytes};
  const etx_bytes_mut none = f.temporary.bytes;
  const etx_bytes_mut temporary = {own[0], 32}, fewer = {own[0], 16};
  const struct {
    etx_bytes_mut scratch, temporary;
    float wanted;
  } rows[] = {{whole, none, 1.5f},      {part, none, -2.0f},
              {whole, none, 1.5f},      {whole, temporary, 1.5f},
              {whole, fewer, 1.5f},     {part, fewer, -2.0f},
              {part, temporary, -2.0f}, {part, {own[1], 32}, -2.0f}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_ok(etx_method_set_memory(&f.method, rows[i].scratch,
                                    rows[i].temporary, &diag));
    run(&f, 1, rows[i].wanted);
  }
  end(&f);
}

// A method and its variant add a state, each time that of the session.
static void variants_use_the_session_of_their_method(void** state) {
  (void)state;
  static const char* const names[] = {"f", "f@1"};
  variants_fixture f;
  _Alignas(16) float blocks[2][16] = {{1}, {10}};
  uint32_t torn[2] = {0, 0};
  f.p = test_program_new();
  test_blob(f.p);
  for (int i = 0; i < 2; ++i) {
    const test_sizes sizes = i == 0 ? SIZES(8) : SIZES(1);
    test_method(f.p, names[i]);
    test_arenas(f.p, 64, 64);
    int x = test_borrowed(f.p, ETX_DTYPE_FLOAT32, sizes);
    int y = test_scratch(f.p, ETX_DTYPE_FLOAT32, sizes, 0);
    const int s = test_state(f.p, "s", ETX_DTYPE_FLOAT32, SIZES(1), 0);
    if (i == 0) {
      x = test_dynamic(f.p, x);
      y = test_dynamic(f.p, y);
      test_dim(f.p, 0, 0, test_symbol(f.p, "n", 1, 8), 1, 0);
    }
    test_input(f.p, x, "x");
    test_call(f.p, "aten::add", "out", ARGS(x, s, test_int(f.p, 1), y, y));
    test_output(f.p, y, "y");
  }
  test_state_row(f.p, "s", ETX_DTYPE_FLOAT32, SIZES(1), 0, 0);
  const etx_text name = etx_text_of("f");
  const etx_planned_memory sessions[] = {{(uint8_t*)blocks[0], 64, &torn[0]},
                                         {(uint8_t*)blocks[1], 64, &torn[1]},
                                         {(uint8_t*)blocks[1], 64, &torn[0]}};
  assert_ok(etx_program_open(&f.program, test_file(f.p), &etx_all_kernels, NULL,
                             &diag));
  assert_ok(
      etx_method_variants_needed(&f.program, name, &f.count, &f.needed, &diag));
  assert_ok(etx_method_needed(&f.program, name, &f.own, &diag));
  f.structures = test_block_new(f.own.structure_bytes, ETX_MEMORY_ALIGNMENT);
  f.variants = test_block_new(f.needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  f.scratch = test_block_new(f.needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
  f.temporary = test_block_new(0, ETX_MEMORY_ALIGNMENT);
  const etx_method_memory memory = {f.structures.bytes, f.scratch.bytes,
                                    f.temporary.bytes, &sessions[0]};
  assert_ok(etx_method_init(&f.method, &f.program, name, &memory, NULL, &diag));
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  static const size_t order[] = {0, 1, 2, 2, 0};
  for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
    assert_ok(etx_method_bind(&f.method, &sessions[order[i]], &diag));
    run(&f, 1, order[i] == 0 ? -0.5f : 8.5f);
    assert_int_equal(etx_method_variant_last(&f.method), 0);
  }
  end(&f);
}

// Where a copy for recent sizes does not fit, the method says so.
static void copies_may_not_fit(void** state) {
  (void)state;
  variants_fixture f;
  etx_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.kept_sizes = 2;
  f.p = test_program_new();
  test_blob(f.p);
  add_method(f.p, "f", "aten::neg", 1, 8, 0);
  open_and_load(&f, &limits);
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  const etx_bytes_mut half = {f.scratch.bytes.data, 16};
  assert_ok(etx_method_set_memory(&f.method, half, f.temporary.bytes, &diag));
  run(&f, 4, 1.5f);
  float x[8] = {0};
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 8);
  assert_ok(etx_method_set_input(&f.method, 0, &input, &diag));
  assert_status(etx_method_run(&f.method, &diag), ETX_OUT_OF_MEMORY);
  run(&f, 3, 1.5f);
  end(&f);
}

static bool submit(void* context, etx_work* work) {
  (void)context;
  work->run(work);
  return true;
}

// A method that has regions runs its own instructions.
static void a_method_with_regions_uses_no_variants(void** state) {
  (void)state;
  variants_fixture f;
  size_t bytes = 0;
  const etx_launcher launcher = {.submit = submit};
  f.p = program_with_variants();
  open_and_load(&f, NULL);
  run(&f, 8, 1.5f);
  assert_ok(etx_method_regions_needed(&f.method, 2, &bytes, &diag));
  test_block block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(
      etx_method_use_regions(&f.method, &launcher, 2, block.bytes, &diag));
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  run(&f, 2, 1.5f);
  assert_int_equal(etx_method_variant_last(&f.method), 2);
  assert_true(test_block_end(&block));
  end(&f);
}

// `f@1@1` is a variant of nothing, and `f@3` alone comes after no `f@2`.
static void variants_have_no_variants(void** state) {
  variants_fixture f;
  etx_memory_needed needed;
  size_t count = 0;
  (void)state;
  f.p = test_program_new();
  test_blob(f.p);
  add_method(f.p, "f", "aten::neg", 1, 8, 0);
  add_method(f.p, "f@1", "aten::abs", 1, 4, 0);
  add_method(f.p, "f@1@1", "aten::floor", 1, 4, 0);
  add_method(f.p, "f@3", "aten::floor", 1, 8, 0);
  open_and_load(&f, NULL);
  assert_int_equal(f.count, 1);
  assert_ok(etx_method_variants_needed(&f.program, etx_text_of("f@1"), &count,
                                       &needed, &diag));
  assert_int_equal(count, 0);
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  run(&f, 3, 1.5f);
  assert_int_equal(etx_method_variant_last(&f.method), 0);
  run(&f, 8, 1.5f);
  assert_int_equal(etx_method_variant_last(&f.method), 1);
  end(&f);
}

// Lists of methods have no variants; these are found by their method.
static void lists_of_methods_have_no_variants(void** state) {
  etx_program program;
  etx_method_info info;
  (void)state;
  etx_diag_init(&diag);
  test_program* const p = program_with_variants();
  add_method(p, "g@1", "aten::abs", 1, 8, 0);  // there is no `g`
  add_method(p, "f@4", "aten::abs", 1, 8, 0);  // there is no `f@3`
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  static const char* const names[] = {"f", "g@1", "f@4"};
  assert_int_equal(etx_program_method_count(&program), 3);
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(etx_program_method_at(&program, i, &info));
    assert_true(etx_text_is(info.name, names[i]));
  }
  assert_int_equal(etx_program_method_at(&program, 3, &info), ETX_OUT_OF_RANGE);
  const etx_text f = etx_text_of("f");
  assert_int_equal(etx_program_variant_count(&program, f), 2);
  assert_ok(etx_program_variant_at(&program, f, 1, &info));
  assert_true(etx_text_is(info.name, "f@2"));
  assert_int_equal(info.input_count, 1);
  assert_int_equal(etx_program_variant_at(&program, f, 2, &info),
                   ETX_OUT_OF_RANGE);
  assert_int_equal(etx_program_variant_count(&program, etx_text_of("g")), 0);
  assert_int_equal(etx_program_variant_count(&program, etx_text_of("f@1")), 0);
  test_program_end(p);
}

// Each instance of a pool has variants of its own.
static void pools_use_variants(void** state) {
  enum { INSTANCES = 2 };
  const etx_instance_pool_options options = {.instance_count = INSTANCES};
  etx_instance_lease leases[INSTANCES];
  etx_instance_pool pool;
  etx_program program;
  size_t needed = 0;
  (void)state;
  etx_diag_init(&diag);
  test_program* const p = program_with_variants();
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(etx_instance_pool_needed(&program, &options, &needed, &diag));
  test_block block = test_block_new(needed, ETX_INSTANCE_POOL_ALIGNMENT);
  const etx_bytes_mut smaller = {block.bytes.data, needed - 1};
  assert_int_equal(
      etx_instance_pool_init(&pool, &program, &options, smaller, NULL, &diag),
      ETX_OUT_OF_MEMORY);
  assert_ok(etx_instance_pool_init(&pool, &program, &options, block.bytes, NULL,
                                   &diag));
  for (int32_t i = 0; i < INSTANCES; ++i) {
    float x[8] = {-1.5f, -1.5f, -1.5f, -1.5f, -1.5f, -1.5f, -1.5f, -1.5f};
    assert_int_equal(etx_instance_pool_get(&pool, &leases[i]), ETX_OK);
    assert_int_equal(leases[i].method_count, 1);
    etx_method* const method = leases[i].methods;
    assert_int_equal(etx_method_variant_count(method), 2);
    for (int32_t size = 1; size <= 8; ++size) {
      const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, size);
      assert_ok(etx_method_set_input(method, 0, &input, &diag));
      assert_ok(etx_method_run(method, &diag));
      const float* const y = test_output_tensor(method, 0)->data;
      assert_true(y[0] == (size >= 2 && size <= 4 ? -2.0f : 1.5f));
      assert_int_equal(etx_method_variant_last(method), size == 1   ? 0
                                                        : size <= 4 ? 1
                                                                    : 2);
    }
  }
  for (size_t i = 0; i < INSTANCES; ++i) {
    assert_ok(etx_instance_pool_put(&pool, &leases[i], &diag));
  }
  assert_true(test_block_end(&block));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, lists_of_methods_have_no_variants),
      unit_test_with(ETX_DYNAMIC, pools_use_variants),
      unit_test_with(ETX_DYNAMIC, the_first_variant_for_the_sizes_runs),
      unit_test_with(ETX_DYNAMIC, copies_stay_prepared_for_recent_sizes),
      unit_test_with(ETX_DYNAMIC, a_method_without_its_variants_runs_itself),
      unit_test_with(ETX_DYNAMIC, a_variant_that_does_not_fit_is_passed_over),
      unit_test_with(ETX_DYNAMIC, observers_see_variants),
      unit_test_with(ETX_DYNAMIC, a_trace_marks_the_variant_that_ran),
      unit_test_with(ETX_DYNAMIC, a_trace_leaves_out_variants_that_came_later),
      unit_test_with(ETX_DYNAMIC, a_trace_leaves_out_numbers_that_came_later),
      unit_test_with(ETX_DYNAMIC, sizes_out_of_bounds_are_refused_as_before),
      unit_test_with(ETX_DYNAMIC, every_smaller_block_is_refused),
      unit_test_with(ETX_DYNAMIC, a_variant_unlike_its_method_is_refused),
      unit_test_with(ETX_DYNAMIC, variants_have_no_variants),
      unit_test_with(ETX_CONTROL_FLOW, needs_of_variants_are_counted),
      unit_test_with(ETX_DYNAMIC, no_variants_are_none),
      unit_test_with(ETX_DYNAMIC, other_blocks_are_handed_over),
      unit_test_with(ETX_DYNAMIC, variants_use_the_session_of_their_method),
      unit_test_with(ETX_DYNAMIC, copies_may_not_fit),
      unit_test_with(ETX_DYNAMIC, a_method_with_regions_uses_no_variants),
      unit_test_with(ETX_DYNAMIC, a_method_in_use_takes_no_variants),
      unit_test_with(ETX_DYNAMIC, numbers_choose_among_variants),
      unit_test_with(ETX_DYNAMIC, a_fixed_number_has_no_variant_for_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
