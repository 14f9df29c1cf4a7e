// What calls need of temporary memory is counted before a method has memory,
// from arguments in a frame of fixed size, and again when it is loaded.

#include "format/shapes/op_shapes.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { BYTES = 64, FRAME_VALUES = ETX_MAX_ARGUMENTS + 24 };

// my::many(parts, numbers): needs BYTES of temporary memory, and refuses to say
// so once `answers` are used up.
static size_t answers;

static etx_status many_bytes(const etx_call* call, size_t* out_bytes) {
  const etx_value* const parts = etx_call_value(call, 0);
  const etx_value* const numbers = etx_call_value(call, 1);
  assert_int_equal(parts->kind, ETX_VALUE_TENSORS);
  assert_int_equal(numbers->kind, ETX_VALUE_INTS);
  for (size_t i = 0; i < numbers->as.integers.count; ++i) {
    assert_int_equal(numbers->as.integers.items[i]->kind, ETX_VALUE_INT);
    assert_int_equal(numbers->as.integers.items[i]->as.integer, 3);
  }
  for (size_t i = 0; i < parts->as.tensors.count; ++i) {
    const etx_value* const part = parts->as.tensors.items[i];
    assert_true(part == NULL || part->kind == ETX_VALUE_TENSOR);
  }
  if (answers-- == 0) return ETX_OUT_OF_RANGE;
  *out_bytes = BYTES;
  return ETX_OK;
}

static etx_status run_many(etx_call* call) {
  *(float*)etx_call_tensor(call, 2)->data = 1;
  return ETX_OK;
}

static etx_status prepare_many(etx_call* call) {
  call->temporary_bytes = BYTES;
  call->run = run_many;
  return ETX_OK;
}

static etx_status shape_many(etx_shape_call* call) {
  const etx_shape one = {.dtype = ETX_DTYPE_FLOAT32, .rank = 1, .dims = {1}};
  return call->output(call->context, 0, &one);
}

static const etx_op many_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::many", "out"),
    .arguments = "Tensor?[] parts, int[] numbers, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_many,
};
static const etx_kernel kernels[] = {
    {&many_row, prepare_many, many_bytes, NULL}};
static const etx_kernel_table table = {kernels, 1, NULL};

// A call with so many tensors of this rank, so many times None, and so many
// numbers.
typedef struct many {
  size_t tensors, rank, none, numbers;
} many;

static void add_call(test_program* p, const many* m) {
  int parts[2 * FRAME_VALUES], numbers[2 * FRAME_VALUES];
  test_sizes sizes = {.rank = (uint8_t)m->rank};
  for (size_t i = 0; i < m->rank; ++i) sizes.at[i] = 1;
  const int x = test_scratch(p, ETX_DTYPE_FLOAT32, sizes, 0);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 16);
  const int number = test_int(p, 3), none = test_none(p);
  size_t count = 0;
  for (size_t i = 0; i < m->none; ++i) parts[count++] = i % 2 == 0 ? -1 : none;
  for (size_t i = 0; i < m->tensors; ++i) parts[count++] = x;
  for (size_t i = 0; i < m->numbers; ++i) numbers[i] = number;
  const int list = test_optional_tensors(p, parts, count);
  test_call(p, "my::many", "out",
            ARGS(list, test_ints(p, numbers, m->numbers), y, y));
  test_output(p, y, "y");
}

static etx_status load(const many* m, etx_memory_needed* needed) {
  etx_program program;
  test_loaded loaded;
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  add_call(p, m);
  etx_diag_init(&diag);
  assert_ok(etx_program_open(&program, test_file(p), &table, NULL, &diag));
  const size_t before = answers;
  etx_status status =
      etx_method_needed(&program, etx_text_of("forward"), needed, &diag);
  answers = before;
  if (status == ETX_OK) {
    status = test_load(&loaded, &program, "forward", NULL, &diag);
    if (status == ETX_OK) {
      assert_ok(etx_method_run(&loaded.method, &diag));
      assert_true(test_unload(&loaded));
    }
  }
  test_program_end(p);
  return status;
}

static void calls_are_counted_if_their_values_fit_the_frame(void** state) {
  (void)state;
  static const struct {
    many call;
    bool fits;
  } rows[] = {
      {{2, 2, 0, 2}, true},
      {{2, 2, 3, 2}, true},
      // items of lists
      {{1, 1, 0, FRAME_VALUES}, false},
      {{FRAME_VALUES + 1, 1, 0, 1}, false},
      {{0, 1, FRAME_VALUES, 0}, true},
      // values: lists and their items
      {{20, 1, 0, FRAME_VALUES - 23}, true},
      {{20, 1, 0, FRAME_VALUES - 22}, false},
      {{FRAME_VALUES - 1, 1, 0, 0}, false},
      {{FRAME_VALUES, 1, 0, 0}, false},
      // dimensions of tensors
      {{8, 15, 0, 0}, true},
      {{8, 16, 0, 0}, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    etx_memory_needed needed;
    answers = SIZE_MAX;
    const etx_status status = load(&rows[i].call, &needed);
    if (rows[i].fits != (status == ETX_OK)) {
      fail_msg("row %u: %s", (unsigned)i, diag.text);
    }
    if (rows[i].fits) {
      assert_int_equal(needed.temporary_bytes, BYTES);
    } else {
      assert_int_equal(status, ETX_UNSUPPORTED);
      assert_true(test_message_has(&diag,
                                   "arguments of 'my::many' name more values "
                                   "than an operator with temporaries may"));
    }
  }
}

// A kernel may refuse to state its bytes: before there is memory, and when the
// method is loaded, where it has the text of its status.
static void a_kernel_that_states_no_bytes_is_refused(void** state) {
  (void)state;
  const many one = {1, 1, 0, 1};
  etx_memory_needed needed;
  answers = 0;
  assert_int_equal(load(&one, &needed), ETX_OUT_OF_RANGE);
  answers = 1;
  assert_int_equal(load(&one, &needed), ETX_OUT_OF_RANGE);
  assert_true(test_message_is(&diag, etx_status_text(ETX_OUT_OF_RANGE)));
  answers = 2;
  assert_int_equal(load(&one, &needed), ETX_OK);
}

// Calls that loading refuses need none: with wrong arguments, or of an operator
// that is missing.
static void refused_calls_need_no_temporary_memory(void** state) {
  (void)state;
  for (int is_missing = 0; is_missing < 2; ++is_missing) {
    test_program* const p = test_program_new();
    const many one = {1, 1, 0, 1};
    etx_program program;
    etx_memory_needed needed;
    test_loaded loaded;
    test_method(p, "forward");
    test_arenas(p, 64, 0);
    const int n = test_int(p, 1);
    if (is_missing) {
      add_call(p, &one);
      test_call(p, "my::own", "", ARGS(n, n, n, n));
    } else {
      test_call(p, "my::many", "out", ARGS(n, n, n, n));
    }
    assert_ok(etx_program_open(&program, test_file(p), &table, NULL, &diag));
    answers = SIZE_MAX;
    assert_ok(
        etx_method_needed(&program, etx_text_of("forward"), &needed, &diag));
    assert_int_equal(needed.temporary_bytes, is_missing ? BYTES : 0);
    assert_status(test_load(&loaded, &program, "forward", NULL, &diag),
                  is_missing ? ETX_MISSING_OPERATOR : ETX_BAD_FILE);
    test_program_end(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_are_counted_if_their_values_fit_the_frame),
      cmocka_unit_test(a_kernel_that_states_no_bytes_is_refused),
      unit_test_with(ETX_VERIFIER, refused_calls_need_no_temporary_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
