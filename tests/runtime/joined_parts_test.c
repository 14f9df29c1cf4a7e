// Parts of a result that lie one after the other, and calls that have nothing
// to do.

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"
#include "runtime/kernel.h"
#include "runtime/trace/call_trace.h"

static etx_diag diag;

typedef struct parts_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
} parts_fixture;

static etx_status load(parts_fixture* f) {
  assert_ok(etx_program_open(&f->program, test_file(f->p), &etx_all_kernels,
                             NULL, &diag));
  return test_load(&f->loaded, &f->program, "forward", NULL, &diag);
}

static void end(parts_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static void set_floats(parts_fixture* f, size_t index, float* data,
                       int32_t count) {
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, count);
  assert_ok(etx_method_set_input(&f->loaded.method, index, &tensor, &diag));
}

// z = cat(relu(x), relu(y)), computed in place. `before` is what the second
// part stands behind, by number of the part; -1: nothing.
static void start_joined_at(parts_fixture* f, int before, int dim) {
  test_program* p = f->p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4))), "x");
  const int y = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4))), "y");
  const int z =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8), 0));
  const int first =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0));
  const int second =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 16));
  const int zero = test_int(p, 0), none = test_none(p);
  const int n = test_int(p, 4), m = test_int(p, 4), both = test_int(p, 8);
  const int parts = test_tensors(p, ARGS(first, second));
  test_call(p, "aten::sym_size", "int", ARGS(x, zero, n));
  test_call(p, "aten::sym_size", "int", ARGS(y, zero, m));
  test_call(p, "executorch_prim::add", "Scalar", ARGS(n, m, both));
  const int sizes = test_ints(p, ARGS(both));
  const int first_sizes = test_ints(p, ARGS(n));
  const int second_sizes = test_ints(p, ARGS(m));
  test_call(p, "aten::empty", "out", ARGS(sizes, none, z, z));
  test_call(p, "etx::part_after", "default", ARGS(z, none, first_sizes, first));
  const int behind = before == 0 ? first : before == 1 ? second : none;
  test_call(p, "etx::part_after", "default",
            ARGS(z, behind, second_sizes, second));
  test_call(p, "aten::relu", "out", ARGS(y, second, second));
  test_call(p, "aten::relu", "out", ARGS(x, first, first));
  test_call(p, "aten::cat", "out", ARGS(parts, test_int(p, dim), z, z));
  test_output(p, z, "z");
  test_dim(p, 0, 0, test_symbol(p, "n", 0, 4), 1, 0);
  test_dim(p, 1, 0, test_symbol(p, "m", 0, 4), 1, 0);
}

static void start_joined(parts_fixture* f, int before) {
  start_joined_at(f, before, 0);
}

static void compute_parts(int dim) {
  parts_fixture f;
  start_joined_at(&f, 0, dim);
  assert_ok(load(&f));
  float x[4] = {1, 2, 3, 4};
  float y[4] = {5, 6, 7, 8};
  for (int32_t n = 0; n <= 4; ++n) {
    for (int32_t m = 4; m >= 0; --m) {
      set_floats(&f, 0, x, n);
      set_floats(&f, 1, y, m);
      assert_ok(etx_method_run(&f.loaded.method, &diag));
      // No step concatenates, and none computes a part without elements.
      assert_int_equal(f.loaded.method.step_count, (n != 0) + (m != 0));
      const etx_tensor* shown = test_output_tensor(&f.loaded.method, 0);
      assert_int_equal(shown->sizes[0], n + m);
      float wanted[8];
      memcpy(wanted, x, (size_t)n * sizeof *x);
      memcpy(wanted + n, y, (size_t)m * sizeof *y);
      assert_memory_equal(shown->data, wanted,
                          (size_t)(n + m) * sizeof *wanted);
    }
  }
  end(&f);
}

static void parts_of_a_result_are_computed_in_it(void** state) {
  (void)state;
  compute_parts(0);
  compute_parts(-1);  // the same dimension, counted from the last
}

static etx_status append(void* context, etx_bytes bytes) {
  char* const text = context;
  const size_t size = strlen(text);
  assert_true(size + bytes.size < 8192);
  memcpy(text + size, bytes.data, bytes.size);
  text[size + bytes.size] = '\0';
  return ETX_OK;
}

// A trace has the call that joins in place, although no kernel runs. Without
// elements it has what only sets sizes.
static void a_trace_has_what_need_not_run(void** state) {
  (void)state;
  for (int32_t n = 0; n < 2; ++n) {
    parts_fixture f;
    float x[1] = {1};
    uint8_t marks[8];
    char text[8192] = "";
    etx_call_trace trace;
    start_joined(&f, 0);
    assert_ok(load(&f));
    assert_ok(etx_call_trace_start(
        &trace, &f.loaded.method, (etx_bytes_mut){marks, sizeof marks}, &diag));
    set_floats(&f, 0, x, n);
    set_floats(&f, 1, x, n);
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const etx_call_trace* const all[] = {&trace};
    const etx_sink sink = {append, text};
    assert_ok(etx_call_trace_write(all, 1, etx_text_of("a.pte"), &sink));
    assert_non_null(strstr(text, "aten::empty.out"));
    assert_int_equal(strstr(text, "aten::cat.out") != NULL, n == 1);
    assert_int_equal(strstr(text, "aten::relu.out") != NULL, n == 1);
    etx_call_trace_stop(&trace);
    end(&f);
  }
}

static void parts_at_one_place_are_refused(void** state) {
  (void)state;
  parts_fixture f;
  start_joined(&f, -1);
  assert_refused(load(&f), ETX_BAD_FILE, "overlaps an output");
  test_program_end(f.p);
}

static void a_part_behind_itself_is_refused(void** state) {
  (void)state;
  parts_fixture f;
  start_joined(&f, 1);
  assert_ok(load(&f));
  float x[4] = {1, 2, 3, 4};
  set_floats(&f, 0, x, 4);
  set_floats(&f, 1, x, 4);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_FILE,
                 "is not a part of value");
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, parts_of_a_result_are_computed_in_it),
      unit_test_with(ETX_DYNAMIC, a_trace_has_what_need_not_run),
      unit_test_with(ETX_DYNAMIC && ETX_VERIFIER,
                     parts_at_one_place_are_refused),
      unit_test_with(ETX_CONTROL_FLOW, a_part_behind_itself_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
