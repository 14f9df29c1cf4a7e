// Sizes that a size program does not take: the shape functions, which then run
// in its place, refuse them with a message. Later sizes are computed as before.

#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8 };

// Adds a number that is an input, with the value of a symbol.
static int add_number(sized_pair* pair, const char* name, int64_t most) {
  const int number = test_int(pair->p, 0);
  const uint32_t symbol = test_symbol(pair->p, name, 0, most);
  test_input(pair->p, number, "");
  test_dim(pair->p, test_input_count(pair->p) - 1, -1, symbol, 1, 0);
  return number;
}

static void run_ok(sized_pair* pair, int64_t first, int64_t second) {
  const int64_t symbols[2] = {first, second};
  assert_ok(sized_pair_run(pair, symbols, &diag));
}

static void run_refused(sized_pair* pair, int64_t first, int64_t second,
                        etx_status status, const char* part) {
  const int64_t symbols[2] = {first, second};
  assert_true(sized_pair_is_used(pair));
  assert_refused(sized_pair_run(pair, symbols, &diag), status, part);
}

// A result of n times m elements, with room for eight.
static void sizes_beyond_the_memory_are_refused(void** state) {
  (void)state;
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const int n = add_number(&pair, "n", INT64_C(1) << 40);
  const int m = add_number(&pair, "m", INT64_C(1) << 40);
  const int sizes[2] = {n, m};
  const int out =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4, 2), 0));
  test_call(p, "aten::full", "out",
            ARGS(test_ints(p, sizes, 2), test_int(p, 7), out, out));
  test_output(p, out, "");
  sized_pair_load(&pair, &etx_all_kernels);
  run_ok(&pair, 4, 2);
  run_ok(&pair, 2, 3);
  const int64_t large = INT64_C(1) << 32, wide = INT64_C(1) << 30;
  run_refused(&pair, 3, 3, ETX_OUT_OF_RANGE,
              "has room for 8 elements, found 9");
  run_refused(&pair, 0, large, ETX_OUT_OF_RANGE,
              "size 4294967296 of dimension 1 is outside 0 to 2147483647");
  run_refused(&pair, wide, wide, ETX_OUT_OF_RANGE,
              "has room for 8 elements, found ");
  run_ok(&pair, 1, 8);
  run_ok(&pair, 0, wide);
  assert_int_equal(sized_pair_output(&pair, 0)->sizes[1], wide);
  assert_true(sized_pair_is_used(&pair));
  sized_pair_end(&pair);
}

// Three sizes, whose strides leave 32 bits before the last one is seen.
static void strides_beyond_32_bits_are_refused(void** state) {
  (void)state;
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const int n = add_number(&pair, "n", INT64_C(1) << 40);
  const int sizes[3] = {add_number(&pair, "m", 8), n, n};
  const int out =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2, 2), 0));
  test_call(p, "aten::full", "out",
            ARGS(test_ints(p, sizes, 3), test_int(p, 7), out, out));
  test_output(p, out, "");
  sized_pair_load(&pair, &etx_all_kernels);
  run_ok(&pair, 2, 2);
  run_ok(&pair, 1, 8);
  run_refused(&pair, 65536, 1, ETX_OUT_OF_RANGE, "has room for 8 elements");
  run_refused(&pair, 65536, 0, ETX_OUT_OF_RANGE, "do not fit in 32 bits");
  run_ok(&pair, 2, 1);
  sized_pair_end(&pair);
}

// A check of a number fails when it is run, and so does a choice of a number of
// another kind than that of its slot.
static void numbers_are_checked_at_each_size(void** state) {
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    sized_pair pair;
    sized_pair_start(&pair);
    test_program* const p = pair.p;
    const int x = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                                   test_symbol(p, "s", 0, ROOM));
    const int size = test_int(p, 0), number = test_int(p, 0);
    const int four = test_int(p, 4), more = test_bool(p, false);
    const int out =
        test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), 0));
    test_call(p, "aten::sym_size", "int", ARGS(x, test_int(p, 0), size));
    if (i == 0) {
      test_call(
          p, "etx::check_range", "",
          ARGS(size, four, test_int(p, ROOM), test_string(p, "s"), number));
    } else {
      test_call(p, "executorch_prim::ge", "Scalar", ARGS(size, four, more));
      test_call(p, "executorch_prim::sym_ite", "Scalar",
                ARGS(more, four, test_double(p, 0.5), number));
    }
    test_call(p, "aten::neg", "out", ARGS(x, out, out));
    test_output(p, out, "");
    sized_pair_load(&pair, &etx_all_kernels);
    run_ok(&pair, 5, 0);
    run_ok(&pair, 6, 0);
    run_refused(&pair, 3, 0, i == 0 ? ETX_BAD_ARGUMENT : ETX_BAD_FILE,
                i == 0 ? "s is 3, the program is planned for 4 to 8" : "kind");
    run_ok(&pair, 4, 0);
    assert_true(sized_pair_is_used(&pair));
    sized_pair_end(&pair);
  }
}

// x[2:4], a view that the file describes. At smaller sizes of x, it ends behind
// it or starts there.
static void views_end_within_their_input(void** state) {
  (void)state;
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const int x = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                                 test_symbol(p, "s", 0, ROOM));
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int empty = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int none = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(0), 64);
  const int all =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), 128));
  test_view(p, view, x, 8);
  test_view(p, empty, x, 8);
  test_call(p, "aten::neg", "out", ARGS(view, out, out));
  test_call(p, "aten::neg", "out", ARGS(empty, none, none));
  test_call(p, "aten::neg", "out", ARGS(x, all, all));
  test_output(p, out, "");
  test_output(p, all, "");
  sized_pair_load(&pair, &etx_all_kernels);
  static const float wanted[2] = {-3, -4};
  run_ok(&pair, 5, 0);
  run_ok(&pair, 6, 0);
  run_refused(&pair, 3, 0, ETX_BAD_FILE, "needs 8 bytes and has 4");
  run_refused(&pair, 1, 0, ETX_BAD_FILE, "needs 8 bytes and has 0");
  run_ok(&pair, 4, 0);
  assert_memory_equal(sized_pair_output(&pair, 0)->data, wanted, sizeof wanted);
  assert_true(sized_pair_is_used(&pair));
  sized_pair_end(&pair);
}

// There is no largest element of none.
static void kernels_refuse_sizes(void** state) {
  (void)state;
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const int x = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                                 test_symbol(p, "s", 0, ROOM));
  const int out = test_scratch(p, ETX_DTYPE_INT64, SCALAR_SIZES, 0);
  test_call(p, "aten::argmax", "out",
            ARGS(x, test_none(p), test_bool(p, false), out, out));
  test_output(p, out, "");
  sized_pair_load(&pair, &etx_all_kernels);
  run_ok(&pair, 5, 0);
  run_ok(&pair, 6, 0);
  run_refused(&pair, 0, 0, ETX_BAD_ARGUMENT, "");
  run_ok(&pair, 4, 0);
  assert_int_equal(*(int64_t*)sized_pair_output(&pair, 0)->data, 3);
  assert_true(sized_pair_is_used(&pair));
  sized_pair_end(&pair);
}

// A kernel that asks for more temporary memory than its row states, for three
// elements only.
static etx_status prepare_negation(etx_call* call) {
  const etx_kernel* const kernel =
      etx_kernel_find(&etx_all_kernels, ETX_OP_neg_out);
  ETX_TRY(kernel->prepare(call));
  call->temporary_bytes =
      etx_tensor_numel(etx_call_tensor(call, 0)) == 3 ? 512 : 64;
  return ETX_OK;
}

static etx_status state_temporary(const etx_call* call, size_t* out_bytes) {
  (void)call;
  *out_bytes = 64;
  return ETX_OK;
}

static void kernels_keep_to_their_temporary_memory(void** state) {
  (void)state;
  const etx_kernel negation = {etx_op_at(ETX_OP_neg_out), prepare_negation,
                               state_temporary, NULL};
  const etx_kernel_table table = {&negation, 1, NULL};
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const int x = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                                 test_symbol(p, "s", 0, ROOM));
  const int out =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), 0));
  test_call(p, "aten::neg", "out", ARGS(x, out, out));
  test_output(p, out, "");
  sized_pair_load(&pair, &table);
  run_ok(&pair, 5, 0);
  run_ok(&pair, 6, 0);
  run_refused(&pair, 3, 0, ETX_INTERNAL,
              "kernel needs 512 temporary bytes, its row stated 64");
  run_ok(&pair, 4, 0);
  sized_pair_end(&pair);
}

// The result of a change in place has a name with memory of its own, which it
// never uses. A phase that ends before that call leaves the name unbound.
static void names_are_bound_again_after_a_refusal(void** state) {
  (void)state;
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const int x = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                                 test_symbol(p, "s", 0, ROOM));
  int tensors[3];
  for (size_t i = 0; i < 3; ++i) {
    tensors[i] = test_dynamic(
        p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), 64 * i));
  }
  const int self = tensors[0], name = tensors[1], out = tensors[2];
  const int size = test_int(p, 0), number = test_int(p, 0);
  test_call(p, "aten::sym_size", "int", ARGS(x, test_int(p, 0), size));
  test_call(p, "etx::check_range", "",
            ARGS(size, test_int(p, 4), test_int(p, ROOM), test_string(p, "s"),
                 number));
  test_call(p, "aten::neg", "out", ARGS(x, self, self));
  test_call(p, "aten::copy_", "", ARGS(self, x, test_bool(p, false), name));
  test_call(p, "aten::neg", "out", ARGS(name, out, out));
  test_output(p, out, "");
  sized_pair_load(&pair, &etx_all_kernels);
  for (int64_t size_of_x = 5; size_of_x < 8; ++size_of_x) {
    run_ok(&pair, size_of_x, 0);
    run_ok(&pair, size_of_x + 1, 0);
    run_refused(&pair, 3, 0, ETX_BAD_ARGUMENT, "s is 3");
  }
  run_ok(&pair, 4, 0);
  const float wanted[4] = {-1, -2, -3, -4};
  assert_memory_equal(sized_pair_output(&pair, 0)->data, wanted, sizeof wanted);
  sized_pair_end(&pair);
}

// A result that the file describes as a view of a tensor without memory: it has
// none either, so only a result without elements is accepted.
static void results_without_memory_are_refused(void** state) {
  (void)state;
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const int x = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                                 test_symbol(p, "s", 0, ROOM));
  // With a number as input, a method is not prepared at its bounds.
  (void)add_number(&pair, "n", ROOM);
  const int base = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROOM));
  const int view =
      test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROOM)));
  const int out =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), 0));
  test_view(p, view, base, 0);
  test_call(p, "aten::neg", "out", ARGS(x, view, view));
  test_call(p, "aten::neg", "out", ARGS(view, out, out));
  test_output(p, out, "");
  sized_pair_load(&pair, &etx_all_kernels);
  run_ok(&pair, 0, 1);
  run_ok(&pair, 0, 2);
  for (int64_t size = 1; size < 4; ++size) {
    run_refused(&pair, size, 2, ETX_BAD_FILE, "bytes and has 0");
  }
  run_ok(&pair, 0, 1);
  sized_pair_end(&pair);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_SIZE_PROGRAMS, sizes_beyond_the_memory_are_refused),
      unit_test_with(ETX_SIZE_PROGRAMS, strides_beyond_32_bits_are_refused),
      unit_test_with(ETX_SIZE_PROGRAMS, numbers_are_checked_at_each_size),
      unit_test_with(ETX_SIZE_PROGRAMS, views_end_within_their_input),
      unit_test_with(ETX_SIZE_PROGRAMS, kernels_refuse_sizes),
      unit_test_with(ETX_SIZE_PROGRAMS, kernels_keep_to_their_temporary_memory),
      unit_test_with(ETX_SIZE_PROGRAMS, names_are_bound_again_after_a_refusal),
      unit_test_with(ETX_SIZE_PROGRAMS, results_without_memory_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
