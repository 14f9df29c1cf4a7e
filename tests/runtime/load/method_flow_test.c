// Loops without end, and numbers that jumps make late, as they are found when a
// method is loaded.

#include "runtime/method/method_types.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

typedef struct flow {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  int x, y, flag, never, n, zero;
} flow;

// Inputs x of two floats and flag; y and numbers for the instructions.
static void start(flow* f) {
  test_program* const p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  f->x = test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
  f->flag = test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "flag");
  f->y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  f->never = test_bool(p, false);
  f->n = test_int(p, 0);
  f->zero = test_int(p, 0);
}

static etx_status load(flow* f) {
  assert_ok(etx_program_open(&f->program, test_file(f->p), &etx_all_kernels,
                             NULL, &diag));
  etx_diag_init(&diag);
  return test_load(&f->loaded, &f->program, "forward", NULL, &diag);
}

static void call_relu(flow* f) {
  test_call(f->p, "aten::relu", "out", ARGS(f->x, f->y, f->y));
}

static void call_size(flow* f) {
  test_call(f->p, "aten::sym_size", "int", ARGS(f->x, f->zero, f->n));
}

// Runs with the flag and checks y against relu of (-1, 2).
static void run(flow* f, uint8_t flag) {
  static float x[2] = {-1, 2};
  static uint8_t flags[1];
  const float wanted[2] = {0, 2};
  flags[0] = flag;
  const etx_tensor first = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 2);
  const etx_tensor second = TEST_TENSOR(flags, ETX_DTYPE_BOOL, 1);
  assert_ok(etx_method_set_input(&f->loaded.method, 0, &first, &diag));
  assert_ok(etx_method_set_input(&f->loaded.method, 1, &second, &diag));
  assert_ok(etx_method_run(&f->loaded.method, &diag));
  assert_memory_equal(f->loaded.scratch.bytes.data, wanted, sizeof wanted);
}

static void end(flow* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static void a_loop_that_nothing_leaves_is_refused(void** state) {
  (void)state;
  flow f;
  start(&f);
  call_relu(&f);
  test_jump_false(f.p, f.never, 0);
  call_relu(&f);
  assert_int_equal(load(&f), ETX_BAD_FILE);
  assert_true(test_message_is(&diag,
                              "instruction 1 jumps back to instruction 0, and "
                              "nothing leaves that loop (method 'forward')"));
  test_program_end(f.p);
  // A jump that is never taken leads out of it, or one that always is does not.
  for (int is_taken = 0; is_taken < 2; ++is_taken) {
    start(&f);
    test_jump_false(f.p, test_bool(f.p, is_taken == 0), is_taken ? 1 : 3);
    call_relu(&f);
    test_jump_false(f.p, f.never, 0);
    call_relu(&f);
    assert_int_equal(load(&f), ETX_BAD_FILE);
    test_program_end(f.p);
  }
  start(&f);
  call_relu(&f);
  test_jump_false(f.p, f.flag, 0);
  assert_int_equal(load(&f), ETX_OK);
  run(&f, 1);
  end(&f);
}

// Each jump back takes a round to follow, and so does what is in front of them
// all. If 64 rounds find something, no more is judged, so the loop at the end
// is not found; a run would end at its limit of steps.
static void too_many_jumps_back_are_not_judged(void** state) {
  (void)state;
  for (int jumps = 62; jumps <= 63; ++jumps) {
    flow f;
    start(&f);
    for (int i = 0; i + 1 < jumps; ++i) {
      test_jump_false(f.p, f.never, jumps + i + 1);
    }
    test_jump_false(f.p, f.never, 2 * jumps);
    for (int i = 0; i < jumps; ++i) test_jump_false(f.p, f.never, i);
    call_relu(&f);
    test_jump_false(f.p, f.flag, 2 * jumps + 3);
    test_jump_false(f.p, f.never, 2 * jumps + 2);
    const etx_status found = load(&f);
    if ((found == ETX_OK) == (jumps == 62)) fail_msg("%s", diag.text);
    if (jumps == 62) {
      assert_true(test_message_has(&diag, "nothing leaves that loop"));
      test_program_end(f.p);
      continue;
    }
    run(&f, 0);
    end(&f);
  }
}

// Parts of a method may be nested. If more than the limit are open and end
// before a new one, all records are late, with the same results.
static void deeply_nested_parts_run_as_others(void** state) {
  (void)state;
  for (int depth = 8; depth <= 200; depth += 96) {
    for (int is_inner = 0; is_inner < 2; ++is_inner) {
      flow f;
      start(&f);
      call_relu(&f);
      for (int i = 0; i < depth; ++i) {
        // The ends fall, so that each part lies in the one before, or rise.
        test_jump_false(f.p, f.flag, is_inner ? 2 * depth - i : depth + 1 + i);
      }
      for (int i = 0; i < depth; ++i) call_size(&f);
      test_output(f.p, f.y, "y");
      assert_int_equal(load(&f), ETX_OK);
      const bool is_beyond = depth > 64 && is_inner == 0;
      assert_int_equal((f.loaded.method.flow & ETX_FLOW_ALL_LATE) != 0,
                       is_beyond);
      run(&f, 0);
      run(&f, 1);
      end(&f);
    }
  }
}

// Numbers in lists of outputs and arguments are used, too; None and freed
// values are not.
static void numbers_in_lists_are_used(void** state) {
  (void)state;
  flow f;
  start(&f);
  const int index =
      test_input(f.p, test_borrowed(f.p, ETX_DTYPE_INT64, SIZES(1)), "index");
  const int given = test_input(f.p, test_int(f.p, 5), "given");
  const int table = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2, 1), 32);
  const int list = test_optional_tensors(f.p, ARGS(-1, index));
  const int slot = test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(2));
  test_jump_false(f.p, f.flag, 3);
  call_size(&f);
  test_call(f.p, "aten::index", "Tensor_out", ARGS(table, list, row, row));
  call_relu(&f);
  test_release(f.p, slot);
  test_output(f.p, test_ints(f.p, ARGS(f.n, given)), "sizes");
  assert_int_equal(load(&f), ETX_OK);
  static int64_t zero[1] = {0};
  const etx_tensor first = TEST_TENSOR(zero, ETX_DTYPE_INT64, 1);
  assert_ok(etx_method_set_input(&f.loaded.method, 2, &first, &diag));
  const etx_value* output = NULL;
  run(&f, 1);
  assert_int_equal(etx_method_output(&f.loaded.method, 0, &output), ETX_OK);
  assert_int_equal(output->kind, ETX_VALUE_INTS);
  assert_int_equal(output->as.integers.items[0]->as.integer, 2);
  assert_int_equal(output->as.integers.items[1]->as.integer, 5);
  end(&f);
}

// A number that may not have been computed is late, whichever argument it is.
static void each_argument_uses_its_number(void** state) {
  (void)state;
  for (int is_second = 0; is_second < 2; ++is_second) {
    flow f;
    start(&f);
    const int sum = test_int(f.p, 0);
    test_jump_false(f.p, f.flag, 2);
    call_size(&f);
    test_call(f.p, "executorch_prim::add", "Scalar",
              ARGS(is_second ? f.zero : f.n, is_second ? f.n : f.zero, sum));
    call_relu(&f);
    test_output(f.p, sum, "sum");
    assert_int_equal(load(&f), ETX_OK);
    for (uint8_t flag = 0; flag < 2; ++flag) {
      const etx_value* output = NULL;
      run(&f, flag);
      assert_int_equal(etx_method_output(&f.loaded.method, 0, &output), ETX_OK);
      assert_int_equal(output->as.integer, flag ? 2 : 0);
    }
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW, a_loop_that_nothing_leaves_is_refused),
      unit_test_with(ETX_CONTROL_FLOW, too_many_jumps_back_are_not_judged),
      unit_test_with(ETX_CONTROL_FLOW, deeply_nested_parts_run_as_others),
      unit_test_with(ETX_CONTROL_FLOW, numbers_in_lists_are_used),
      unit_test_with(ETX_CONTROL_FLOW, each_argument_uses_its_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
