// What the suites of variants share: a method with two variants, loaded in
// blocks of exactly the stated sizes.

#ifndef ETX_TESTS_RUNTIME_LOAD_VARIANTS_FIXTURE_H
#define ETX_TESTS_RUNTIME_LOAD_VARIANTS_FIXTURE_H

#include "runtime/variants.h"
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
static inline void add_method(test_program* p, const char* name, const char* op,
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

static inline test_program* program_with_variants(void) {
  test_program* p = test_program_new();
  test_blob(p);
  add_method(p, "f", "aten::neg", 1, 8, 0);
  add_method(p, "f@1", "aten::abs", 1, 1, 64);
  add_method(p, "f@2", "aten::floor", 1, 4, 0);
  return p;
}

static inline void open_and_load(variants_fixture* f,
                                 const etx_limits* limits) {
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
  // Memory may hold anything before.
  memset(f->structures.bytes.data, 0xff, f->structures.bytes.size);
  if (f->variants.bytes.size > 0) {
    memset(f->variants.bytes.data, 0xff, f->variants.bytes.size);
  }
  const etx_method_memory memory = {f->structures.bytes, f->scratch.bytes,
                                    f->temporary.bytes, NULL};
  assert_ok(
      etx_method_init(&f->method, &f->program, name, &memory, NULL, &diag));
}

static inline void start(variants_fixture* f) {
  f->p = program_with_variants();
  open_and_load(f, NULL);
  assert_int_equal(f->count, 2);
  assert_ok(
      etx_method_use_variants(&f->method, f->variants.bytes, NULL, &diag));
}

static inline void end(variants_fixture* f) {
  assert_true(test_block_end(&f->structures));
  assert_true(test_block_end(&f->variants));
  assert_true(test_block_end(&f->scratch));
  assert_true(test_block_end(&f->temporary));
  test_program_end(f->p);
}

// Runs on `count` elements of -1.5 and expects all results to be `wanted`.
static inline void run(variants_fixture* f, int32_t count, float wanted) {
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

#endif
