// Variants of a method: which one runs, what it shares with the method, and
// files whose variants are not like their method. The variants here compute
// something else than their method, so that results show which of them ran.

#include "runtime/pool/instance_pool.h"
#include "tests/runtime/load/variants_fixture.h"

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
  if (kind == UNLIKE_ORDER) test_described(p);
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
  assert_int_equal(f.needed.structure_bytes, 0);
  assert_ok(etx_method_use_variants(&f.method, (etx_bytes_mut){NULL, 0}, NULL,
                                    &diag));
  run(&f, 3, 1.5f);
  assert_int_equal(etx_method_variant_runs(&f.method, 0), 0);
  assert_int_equal(etx_method_variant_runs(&f.method, 1), 0);
  assert_int_equal(etx_method_variant_last(&f.method), 0);
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
      unit_test_with(ETX_DYNAMIC, sizes_out_of_bounds_are_refused_as_before),
      unit_test_with(ETX_DYNAMIC, every_smaller_block_is_refused),
      unit_test_with(ETX_DYNAMIC, a_variant_unlike_its_method_is_refused),
      unit_test_with(ETX_DYNAMIC, variants_have_no_variants),
      unit_test_with(ETX_CONTROL_FLOW, needs_of_variants_are_counted),
      unit_test_with(ETX_DYNAMIC, no_variants_are_none),
      unit_test_with(ETX_DYNAMIC, a_method_in_use_takes_no_variants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
