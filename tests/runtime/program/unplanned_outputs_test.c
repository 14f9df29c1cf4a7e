// Outputs that a file plans no memory for: which they are, each once, in order.

#include "runtime/program/unplanned_outputs.h"

#include "tests/support/assert_status.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { MOST_FOUND = 8 };

typedef struct found {
  int values[MOST_FOUND];
  size_t count;
} found;

// Ends `p`.
static found find_all(test_program* p) {
  etx_program program;
  etx_pte_plan plan;
  etx_operator_cache operators;
  found all = {.count = 0};
  etx_unplanned_outputs_cursor cursor = {0, 0, 0, 0, 0};
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  etx_operator_cache_init(&operators, &plan, program.kernels);
  for (;;) {
    bool is_found = true;
    uint32_t value = 0;
    assert_ok(etx_unplanned_outputs_next(&program, &operators, &cursor,
                                         &is_found, &value, &diag));
    if (!is_found) break;
    assert_true(all.count < MOST_FOUND);
    all.values[all.count++] = (int)value;
  }
  test_program_end(p);
  return all;
}

static int borrowed(test_program* p) {
  return test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
}

static test_program* start(void) {
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  return p;
}

#define assert_found(p, ...)                                     \
  do {                                                           \
    const int wanted[] = {__VA_ARGS__};                          \
    const found all = find_all(p);                               \
    assert_int_equal(all.count, sizeof wanted / sizeof *wanted); \
    assert_memory_equal(all.values, wanted, sizeof wanted);      \
  } while (0)

static void assert_none(test_program* p) {
  assert_int_equal(find_all(p).count, 0);
}

// A file of etx may have a method that its table of methods leaves out.
static void a_method_without_a_description_has_no_views(void** state) {
  (void)state;
  test_program* p = start();
  const int x = test_input(p, borrowed(p), "x");
  const int y = borrowed(p);
  test_blob(p);
  test_undescribed(p);
  test_call(p, "aten::neg", "out", ARGS(x, y, y));
  assert_found(p, y);
}

// Items of lists of outputs, in two chains; None, numbers and planned tensors
// are no outputs without memory.
static void items_of_lists_are_outputs(void** state) {
  (void)state;
  test_program* p = start();
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  const int planned = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int a = borrowed(p), b = borrowed(p), c = borrowed(p);
  const int two = test_int(p, 2), zero = test_int(p, 0);
  const int first = test_tensors(p, ARGS(a, b));
  const int second = test_tensors(p, ARGS(planned, c));
  test_call(p, "aten::split_copy", "Tensor_out",
            ARGS(x, two, zero, first, first));
  test_next_chain(p);
  test_call(p, "aten::split_copy", "Tensor_out",
            ARGS(x, two, zero, second, second));
  test_call(p, "aten::relu", "out", ARGS(a, b, b));
  assert_found(p, a, b, c);
}

// Values that a move or a view rebinds use the memory of others, and so does
// one that is written in place and shown in another slot.
static void values_that_are_rebound_need_no_memory(void** state) {
  (void)state;
  test_program* p = start();
  const int x = test_input(p, borrowed(p), "x");
  const int a = borrowed(p), b = borrowed(p);
  test_move(p, x, a);
  test_call(p, "aten::relu", "out", ARGS(x, a, a));
  test_call(p, "aten::relu", "out", ARGS(a, b, b));
  assert_found(p, b);

  p = start();
  const int y = test_input(p, borrowed(p), "x");
  const int view = borrowed(p), shown = borrowed(p), own = borrowed(p);
  const int s = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int two = test_int(p, 2), blocking = test_bool(p, false);
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(y, test_ints(p, ARGS(two)), view));
  test_call(p, "aten::copy_", "", ARGS(s, y, blocking, shown));
  test_call(p, "aten::copy_", "", ARGS(own, y, blocking, own));
  test_call(p, "aten::relu", "out", ARGS(y, view, view));
  test_call(p, "aten::relu", "out", ARGS(y, shown, shown));
  assert_found(p, own);
}

// The first of two views in etx's data has memory of its base; a method that is
// not in it has no views.
static void views_of_the_file_need_no_memory(void** state) {
  (void)state;
  test_program* p = start();
  test_blob(p);
  const int s = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int x = test_input(p, borrowed(p), "x");
  const int a = borrowed(p), b = borrowed(p), c = borrowed(p);
  test_view(p, a, s, 0);
  test_view(p, b, s, 8);
  test_call(p, "aten::relu", "out", ARGS(x, a, a));
  test_call(p, "aten::relu", "out", ARGS(x, b, b));
  test_call(p, "aten::relu", "out", ARGS(x, c, c));
  assert_found(p, c);
}

// Calls that loading refuses write nothing: unknown operators, wrong numbers
// and kinds of arguments. A jump and an unknown operator rebind nothing.
static void calls_that_do_not_fit_write_nothing(void** state) {
  (void)state;
  test_program* p = start();
  const int x = test_input(p, borrowed(p), "x");
  const int a = borrowed(p), number = test_int(p, 2);
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "flag");
  test_call(p, "my::unknown", "", ARGS(x, a));
  test_call(p, "aten::relu", "out", ARGS(number, a, a));
  test_call(p, "aten::relu", "out", ARGS(x, a));
  assert_none(p);

  p = start();
  const int y = test_input(p, borrowed(p), "x");
  const int b = borrowed(p);
  test_jump_false(
      p, test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "flag"), 1);
  test_call(p, "my::unknown", "", ARGS(y, b));
  test_call(p, "aten::copy_", "", ARGS(y, y));
  test_call(p, "aten::relu", "out", ARGS(y, b, b));
  assert_found(p, b);
  (void)flag;
}

// An input without memory is the caller's, and is written there.
static void inputs_are_not_placed(void** state) {
  (void)state;
  test_program* p = start();
  const int x = test_input(p, borrowed(p), "x");
  const int y = test_input(p, borrowed(p), "y");
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
  etx_program program;
  etx_pte_plan plan;
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  assert_true(etx_program_plan_writes(&program, &plan, (uint32_t)y));
  assert_false(etx_program_plan_writes(&program, &plan, (uint32_t)x));
  assert_none(p);
}

// The items of an optional list that are None, and those that are no tensors,
// have no memory to place.
static void items_that_are_none_are_not_placed(void** state) {
  (void)state;
  test_program* p = start();
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  const int a = borrowed(p), none = test_none(p);
  const int two = test_int(p, 2), zero = test_int(p, 0);
  const int parts = test_optional_tensors(p, ARGS(a, -1, none));
  test_call(p, "aten::split_copy", "Tensor_out",
            ARGS(x, two, zero, parts, parts));
  const found all = find_all(p);
  assert_true(all.count == 0 || (all.count == 1 && all.values[0] == a));
}

// An argument that may be None fits if it is.
static void calls_with_none_write_their_outputs(void** state) {
  (void)state;
  test_program* const p = start();
  const int x = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 0);
  const int none = test_none(p), out = borrowed(p);
  const int dims = test_ints(p, ARGS(test_int(p, 0)));
  test_call(p, "aten::sum", "IntList_out",
            ARGS(x, dims, test_bool(p, false), none, out, out));
  test_output(p, out, "");
  assert_found(p, out);
}

// Arenas lie one behind the other, each at a multiple of 16 bytes, but for that
// of state.
static void arenas_do_not_overlap(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 17, 1);
  test_arena(p, 16);
  test_arena(p, 31);
  test_arena(p, 2);
  test_output(p, test_int(p, 1), "");
  etx_program program;
  etx_pte_plan plan;
  size_t offsets[8] = {0}, end = 0;
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  assert_true(etx_program_arena_offsets(&program, &plan, offsets, &end));
  static const size_t wanted[] = {SIZE_MAX, 0, SIZE_MAX, 32, 48, 80};
  assert_int_equal(etx_pte_buffer_size_count(&plan), 6);
  assert_memory_equal(offsets, wanted, sizeof wanted);
  assert_int_equal(end, 82);
  end = 0;
  assert_true(etx_program_arena_offsets(&program, &plan, NULL, &end));
  assert_int_equal(end, 82);
  test_program_end(p);
}

// Each of them is small enough for a file, all together are not.
static void arenas_beyond_the_address_space_are_refused(void** state) {
  (void)state;
  for (int64_t more = 0; more < 2; ++more) {
    const int64_t half = (int64_t)(PTRDIFF_MAX / 2 / 16 * 16);
    test_program* const p = test_program_new();
    test_method(p, "forward");
    test_arenas(p, half, 1);
    test_arena(p, (int64_t)PTRDIFF_MAX - half + more);
    test_output(p, test_int(p, 1), "");
    etx_program program;
    etx_pte_plan plan;
    size_t end = 0;
    assert_ok(etx_program_open(&program, test_file(p), &etx_all_kernels, NULL,
                               &diag));
    assert_ok(
        etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
    assert_int_equal(etx_program_arena_offsets(&program, &plan, NULL, &end),
                     more == 0);
    assert_int_equal(end, more == 0 ? PTRDIFF_MAX : 0);
    test_program_end(p);
  }
}

// Also the first argument of the first instruction.
static void written_values_are_found(void** state) {
  (void)state;
  test_program* const p = start();
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int b = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int c = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 32);
  const int blocking = test_bool(p, false);
  test_call(p, "aten::copy_", "", ARGS(a, b, blocking, a));
  test_call(p, "aten::relu", "out", ARGS(a, c, c));
  etx_program program;
  etx_pte_plan plan;
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  assert_true(etx_program_plan_writes(&program, &plan, (uint32_t)a));
  assert_false(etx_program_plan_writes(&program, &plan, (uint32_t)b));
  assert_true(etx_program_plan_writes(&program, &plan, (uint32_t)c));
  assert_false(etx_program_plan_writes(&program, &plan, (uint32_t)blocking));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_with_none_write_their_outputs),
      cmocka_unit_test(arenas_do_not_overlap),
      cmocka_unit_test(arenas_beyond_the_address_space_are_refused),
      cmocka_unit_test(written_values_are_found),
      cmocka_unit_test(a_method_without_a_description_has_no_views),
      cmocka_unit_test(items_of_lists_are_outputs),
      unit_test_with(ETX_VIEWS, values_that_are_rebound_need_no_memory),
      cmocka_unit_test(views_of_the_file_need_no_memory),
      cmocka_unit_test(calls_that_do_not_fit_write_nothing),
      cmocka_unit_test(inputs_are_not_placed),
      cmocka_unit_test(items_that_are_none_are_not_placed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
