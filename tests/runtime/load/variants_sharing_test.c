// Variants and what they share with their method: numbers, blocks of memory,
// sessions, traces and regions.

#include "runtime/regions.h"
#include "runtime/trace/call_trace.h"
#include "tests/runtime/load/variants_fixture.h"

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
  // The method is named if something of it has run.
  assert_int_equal(strstr(w.text, "\ndebug_info:\n- \"a.pte:f\"\n") != NULL,
                   letters[0] != '\0');
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

// A method that uses none has no figures of them.
static void without_variants_there_are_no_figures(void** state) {
  variants_fixture f;
  (void)state;
  f.p = program_with_variants();
  open_and_load(&f, NULL);
  run(&f, 1, 1.5f);
  assert_int_equal(etx_method_variant_count(&f.method), 0);
  assert_int_equal(etx_method_variant_last(&f.method), 0);
  assert_int_equal(etx_method_variant_runs(&f.method, 0), 0);
  assert_int_equal(etx_method_variant_hits(&f.method), 0);
  assert_int_equal(etx_method_variant_phases(&f.method),
                   etx_method_phase_count(&f.method));
  assert_true(etx_text_is(etx_method_variant_name(&f.method, 0), "f"));
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

// A number counts with the variant that computes it: not before that has run.
static void a_trace_leaves_out_numbers_of_variants_that_did_not_run(
    void** state) {
  variants_fixture f;
  uint8_t marks[1];
  written w = {.size = 0};
  etx_call_trace trace;
  (void)state;
  f.p = test_program_new();
  test_blob(f.p);
  add_method(f.p, "f", "aten::neg", 1, 8, 0);
  test_method(f.p, "f@1");
  test_arenas(f.p, 32, 0);
  const int x =
      test_input(f.p, test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(1)), "x");
  const int y = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(1), 0);
  test_call(f.p, "aten::abs", "out", ARGS(x, y, y));
  test_call(f.p, "aten::sym_size", "int",
            ARGS(y, test_int(f.p, 0), test_int(f.p, 0)));
  test_output(f.p, y, "y");
  open_and_load(&f, NULL);
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  assert_ok(etx_call_trace_start(&trace, &f.method, (etx_bytes_mut){marks, 1},
                                 &diag));
  const etx_call_trace* const all[] = {&trace};
  const etx_sink sink = {append, &w};
  run(&f, 8, 1.5f);
  assert_ok(etx_call_trace_write(all, 1, etx_text_of("a.pte"), &sink));
  assert_non_null(strstr(w.text, "aten::neg.out"));
  assert_null(strstr(w.text, "aten::sym_size"));
  run(&f, 1, 1.5f);
  w.size = 0;
  assert_ok(etx_call_trace_write(all, 1, etx_text_of("a.pte"), &sink));
  assert_non_null(strstr(w.text, "aten::neg.out"));
  assert_non_null(strstr(w.text, "aten::sym_size"));
  etx_call_trace_stop(&trace);
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

// x[0:k], of x[n].
static void add_head(test_program* p, const char* name, int32_t low) {
  test_method(p, name);
  test_arenas(p, 64, 0);
  int x = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4));
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0));
  if (low < 4) {
    x = test_dynamic(p, x);
    test_dim(p, 0, 0, test_symbol(p, "n", low, 4), 1, 0);
  }
  test_input(p, x, "x");
  const int k = test_input(p, test_int(p, 4), "k");
  test_dim(p, 1, -1, test_symbol(p, "k", 1, 4), 1, 0);
  const int zero = test_int(p, 0), one = test_int(p, 1);
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(x, zero, zero, k, one, y, y));
  test_output(p, y, "y");
}

// A number decides sizes of a variant that has run before.
static void a_variant_takes_other_numbers(void** state) {
  (void)state;
  static const int64_t numbers[] = {2, 3, 3, 1, 4, 2};
  variants_fixture f;
  f.p = test_program_new();
  test_blob(f.p);
  add_head(f.p, "f", 1);
  add_head(f.p, "f@1", 4);
  open_and_load(&f, NULL);
  assert_ok(etx_method_use_variants(&f.method, f.variants.bytes, NULL, &diag));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    float x[4] = {1, 2, 3, 4};
    const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 4);
    const etx_value k = {.kind = ETX_VALUE_INT, .as.integer = numbers[i]};
    assert_ok(etx_method_set_input(&f.method, 0, &input, &diag));
    assert_ok(etx_method_set_value(&f.method, 1, &k, &diag));
    assert_ok(etx_method_run(&f.method, &diag));
    assert_int_equal(etx_method_variant_last(&f.method), 0);
    const etx_tensor* const y = test_output_tensor(&f.method, 0);
    assert_int_equal(y->sizes[0], numbers[i]);
    assert_memory_equal(y->data, x, (size_t)numbers[i] * sizeof *x);
  }
  end(&f);
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
      const uint64_t phases = etx_method_variant_phases(&f.method);
      run_numbered(&f, calls[i].size, calls[i].number, calls[i].variant);
      // An equal call computes no sizes.
      if (i > 0 && calls[i].size == calls[i - 1].size &&
          calls[i].number == calls[i - 1].number) {
        assert_int_equal(etx_method_variant_phases(&f.method), phases);
      }
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

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, a_trace_marks_the_variant_that_ran),
      unit_test_with(ETX_DYNAMIC, without_variants_there_are_no_figures),
      unit_test_with(ETX_DYNAMIC, a_trace_leaves_out_variants_that_came_later),
      unit_test_with(ETX_DYNAMIC, a_trace_leaves_out_numbers_that_came_later),
      unit_test_with(ETX_DYNAMIC,
                     a_trace_leaves_out_numbers_of_variants_that_did_not_run),
      unit_test_with(ETX_DYNAMIC, other_blocks_are_handed_over),
      unit_test_with(ETX_DYNAMIC, variants_use_the_session_of_their_method),
      unit_test_with(ETX_DYNAMIC, copies_may_not_fit),
      unit_test_with(ETX_DYNAMIC, a_method_with_regions_uses_no_variants),
      unit_test_with(ETX_DYNAMIC, numbers_choose_among_variants),
      unit_test_with(ETX_DYNAMIC, a_variant_takes_other_numbers),
      unit_test_with(ETX_DYNAMIC, a_fixed_number_has_no_variant_for_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
