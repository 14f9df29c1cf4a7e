// Methods that are refused when they are loaded, and the messages.

#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"
#include "tests/support/assert_message.h"

static etx_diag diag;

// Loads method "forward" of `p` and frees `p`. Returns the status of loading.
static etx_status load(test_program* p, const etx_kernel_table* kernels) {
  etx_program program;
  test_loaded loaded;
  _Alignas(16) uint8_t arena[64] = {0};
  uint32_t torn = 0;
  const etx_planned_memory state = {arena, sizeof arena, &torn};
  etx_diag_init(&diag);
  etx_status status =
      etx_program_open(&program, test_file(p), kernels, NULL, &diag);
  if (status == ETX_OK) {
    status = test_load(&loaded, &program, "forward", &state, &diag);
    if (status == ETX_OK) assert_true(test_unload(&loaded));
  }
  test_program_end(p);
  return status;
}

static etx_status load_few(test_program* p) {
  return load(p, &test_few_kernels);
}

#define assert_load_refused(p, wanted, part)                   \
  do {                                                         \
    const etx_status found = load_few(p);                      \
    if (found != (wanted) || !test_message_has(&diag, part)) { \
      fail_msg("%s: '%s'", etx_status_name(found), diag.text); \
    }                                                          \
  } while (0)

typedef struct adder {
  test_program* p;
  int x, y, alpha, constant;
} adder;

static adder start(void) {
  static const float one = 1;
  adder a;
  a.p = test_program_new();
  const uint32_t data = test_data(a.p, &one, sizeof one);
  test_method(a.p, "forward");
  test_arenas(a.p, 64, 64);
  a.x = test_input(a.p, test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3)), "x");
  a.y = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(3), 0);
  a.alpha = test_int(a.p, 1);
  a.constant = test_constant(a.p, ETX_DTYPE_FLOAT32, SIZES(1), data);
  return a;
}

static void a_valid_method_is_loaded(void** state) {
  (void)state;
  const adder a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.constant, a.alpha, a.y, a.y));
  assert_int_equal(load_few(a.p), ETX_OK);
}

typedef struct missing_at_load {
  size_t count;
  char names[4][64];
  size_t instructions[4];
} missing_at_load;

static void note(void* context, etx_text name, etx_text overload,
                 size_t instruction) {
  missing_at_load* list = context;
  etx_format_text(list->names[list->count], 64, "%t.%t", name, overload);
  list->instructions[list->count++] = instruction;
}

static void all_missing_operators_are_reported(void** state) {
  (void)state;
  const adder a = start();
  test_call(a.p, "aten::mul", "out", ARGS(a.x, a.constant, a.y, a.y));
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.constant, a.alpha, a.y, a.y));
  test_call(a.p, "my::own", "thing", ARGS(a.x, a.y));
  test_call(a.p, "aten::mul", "out", ARGS(a.x, a.constant, a.y, a.y));
  etx_program program;
  etx_method method;
  etx_method_memory memory;
  memset(&memory, 0, sizeof memory);
  missing_at_load list = {0};
  const etx_missing_sink sink = {note, &list, NULL};
  assert_ok(etx_program_open(&program, test_file(a.p), &test_few_kernels, NULL,
                             &diag));
  assert_refused(
      etx_method_init(&method, &program, etx_text_of("forward"), &memory, &sink,
                      &diag),
      ETX_MISSING_OPERATOR,
      "operator 'aten::mul.out' of instruction 0 of method 'forward'");
  assert_int_equal(list.count, 2);
  assert_string_equal(list.names[0], "aten::mul.out");
  assert_string_equal(list.names[1], "my::own.thing");
  assert_int_equal(list.instructions[1], 2);
  test_program_end(a.p);
}

static void delegates_are_refused_by_name_and_instruction(void** state) {
  (void)state;
  const adder a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.constant, a.alpha, a.y, a.y));
  test_delegate(a.p, "XnnpackBackend");
  // Another method of the same file is unaffected.
  test_method(a.p, "other");
  assert_load_refused(a.p, ETX_UNSUPPORTED,
                      "method 'forward' calls delegate 'XnnpackBackend' in "
                      "instruction 1");
}

static void a_listed_delegate_is_refused_without_a_call(void** state) {
  (void)state;
  const adder a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.constant, a.alpha, a.y, a.y));
  test_listed_delegate(a.p, "XnnpackBackend");
  assert_load_refused(a.p, ETX_UNSUPPORTED,
                      "method 'forward' lists delegate 'XnnpackBackend'");
}

// A move keeps the kind of its target, and the type and rank of a tensor.
static void moves_between_unlike_values_are_refused(void** state) {
  (void)state;
  adder a = start();
  test_move(a.p, a.alpha, a.y);
  assert_load_refused(a.p, ETX_BAD_FILE,
                      "expected a number, a tensor or none, as its source");
  a = start();
  const int text = test_string(a.p, "a");
  test_move(a.p, text, text);
  assert_load_refused(a.p, ETX_BAD_FILE, "target of a move");
  a = start();
  const int list = test_ints(a.p, ARGS(a.alpha));
  test_move(a.p, list, list);
  assert_load_refused(a.p, ETX_BAD_FILE, "target of a move");
  a = start();
  test_move(a.p, test_scratch(a.p, ETX_DTYPE_INT32, SIZES(3), 16), a.y);
  assert_load_refused(a.p, ETX_BAD_FILE, "its source's type and rank");
  a = start();
  test_move(a.p, test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(3, 1), 16), a.y);
  assert_load_refused(a.p, ETX_BAD_FILE, "its source's type and rank");
  a = start();
  const int half = test_double(a.p, 0.5), third = test_double(a.p, 0.3);
  test_move(a.p, half, third);
  test_move(a.p, test_none(a.p), test_none(a.p));
  test_move(a.p, test_bool(a.p, true), test_bool(a.p, false));
  assert_int_equal(load_few(a.p), ETX_OK);
}

// Conditions are bools; a jump may lead anywhere, behind the last instruction
// it ends the chain. Only tensors are freed.
static void jumps_and_releases_are_checked(void** state) {
  (void)state;
  adder a = start();
  test_jump_false(a.p, a.alpha, 1);
  assert_load_refused(a.p, ETX_BAD_FILE,
                      "expected a bool or a tensor of bools");
  a = start();
  test_jump_false(a.p, a.y, 1);
  assert_load_refused(a.p, ETX_BAD_FILE,
                      "expected a bool or a tensor of bools");
  a = start();
  test_release(a.p, a.alpha);
  assert_load_refused(a.p, ETX_BAD_FILE,
                      "frees value 2, which is not a tensor");
  a = start();
  test_release(a.p, test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3)));
  assert_int_equal(load_few(a.p), ETX_OK);
  for (int target = 1; target <= 2; ++target) {
    a = start();
    test_jump_false(a.p, test_bool(a.p, false), target);
    test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
    assert_int_equal(load_few(a.p), ETX_OK);
  }
}

// More elements than an int32 counts; 2^31 - 1 are fine in the caller's memory.
static void tensors_of_too_many_elements_are_refused(void** state) {
  (void)state;
  // A machine of 32 bits refuses the larger one when it opens the file.
  for (int32_t rows = 1; rows <= (SIZE_MAX > UINT32_MAX ? 2 : 1); ++rows) {
    adder a = start();
    test_input(a.p, test_borrowed(a.p, ETX_DTYPE_UINT8, SIZES(rows, INT32_MAX)),
               "z");
    if (rows == 1) {
      assert_int_equal(load_few(a.p), ETX_OK);
    } else {
      assert_load_refused(a.p, ETX_UNSUPPORTED,
                          "more than 2147483647 elements");
    }
  }
}

static void inputs_in_shared_state_are_refused(void** state) {
  (void)state;
  adder a = start();
  test_blob(a.p);
  test_input(a.p, test_state(a.p, "s", ETX_DTYPE_FLOAT32, SIZES(3), 0), "s");
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
  test_state_row(a.p, "s", ETX_DTYPE_FLOAT32, SIZES(3), 0, 0);
  assert_load_refused(a.p, ETX_BAD_FILE, "is an input in shared state");
}

// Views that the file describes: the first base that has memory counts, whose
// elements must lie at a multiple of their size.
static void described_views_are_checked(void** state) {
  (void)state;
  adder a = start();
  test_blob(a.p);
  int view = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(2));
  test_view(a.p, view, a.x, 2);
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "is a view at an unaligned offset");
  a = start();
  test_blob(a.p);
  view = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  const int nothing = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  test_view(a.p, view, nothing, 0);
  test_view(a.p, view, a.y, 0);
  test_view(a.p, view, a.x, 0);
  test_view(a.p, a.y, a.x, 0);
  const int out = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(3), 16);
  test_call(a.p, "aten::add", "out", ARGS(view, a.x, a.alpha, out, out));
  assert_int_equal(load_few(a.p), ETX_OK);
}

// A number may be the new content of an input for a caller, not for the
// runtime.
static void a_number_is_no_new_content_of_a_tensor(void** state) {
  (void)state;
  adder a = start();
  test_blob(a.p);
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
  test_shown(a.p, a.alpha, "n", 0);
  assert_int_equal(load_few(a.p), ETX_OK);
}

static void too_many_unplanned_outputs_are_refused(void** state) {
  (void)state;
  const adder a = start();
  const int z = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  for (int i = 0; i < 513; ++i) {
    test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, z, z));
    test_move(a.p, a.y, z);
  }
  const etx_method_memory memory = {{NULL, 0}, {NULL, 0}, {NULL, 0}, NULL};
  const etx_text name = etx_text_of("forward");
  etx_memory_needed needed;
  etx_program program;
  etx_method method;
  assert_ok(etx_program_open(&program, test_file(a.p), &test_few_kernels, NULL,
                             &diag));
  assert_refused(etx_method_needed(&program, name, &needed, &diag),
                 ETX_OUT_OF_RANGE, "more than 512 outputs");
  assert_refused(etx_method_init(&method, &program, name, &memory, NULL, &diag),
                 ETX_OUT_OF_RANGE, "more than 512 outputs");
  test_program_end(a.p);
}

// Together they have more bytes than there are addresses. A machine of 32 bits
// refuses each of them when it opens the file.
static void too_large_unplanned_outputs_are_refused(void** state) {
  (void)state;
  if (SIZE_MAX == UINT32_MAX) skip();
  const adder a = start();
  for (int i = 0; i < 3; ++i) {
    const int z =
        test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(INT32_MAX, INT32_MAX / 4));
    test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, z, z));
  }
  assert_load_refused(a.p, ETX_OUT_OF_RANGE,
                      "outputs without memory need too many bytes");
}

// Initial data may be of a tensor without elements.
static void empty_initial_data_is_no_data(void** state) {
  (void)state;
  static const float three[3] = {1, 2, 3};
  const adder a = start();
  const int empty = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(0), 32);
  test_initial(a.p, a.y, test_initial_data(a.p, three, sizeof three));
  test_initial(a.p, empty, test_initial_data(a.p, three, 0));
  assert_int_equal(load_few(a.p), ETX_OK);
}

static void wrong_numbers_of_arguments_are_refused(void** state) {
  (void)state;
  adder a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.constant, a.alpha, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE,
                      "call of 'aten::add' has 4 arguments, expected 5");
  a = start();
  test_call(a.p, "aten::add", "out",
            ARGS(a.x, a.constant, a.alpha, a.y, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "has 6 arguments, expected 5");
}

static void wrong_kinds_of_arguments_are_refused(void** state) {
  (void)state;
  adder a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.alpha, a.x, a.alpha, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE,
                      "argument 'self' of 'aten::add' is int, expected a "
                      "tensor (method 'forward', instruction 0)");
  a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.x, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "'alpha' of 'aten::add' is tensor");
  a = start();
  const int none = test_none(a.p);
  test_call(a.p, "aten::add", "out", ARGS(a.x, none, a.alpha, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "'other' of 'aten::add' is none");
  a = start();
  const int ints = test_ints(a.p, ARGS(a.alpha));
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, ints, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "'alpha' of 'aten::add' is int list");
}

static void a_wrong_return_slot_is_refused(void** state) {
  (void)state;
  const adder a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.alpha));
  assert_load_refused(a.p, ETX_BAD_FILE,
                      "return slot of 'aten::add' is int, expected a tensor");
}

static void an_output_may_not_lie_in_a_constant(void** state) {
  (void)state;
  static const float three[3] = {1, 2, 3};
  adder a = start();
  const uint32_t data = test_data(a.p, three, sizeof three);
  const int c = test_constant(a.p, ETX_DTYPE_FLOAT32, SIZES(3), data);
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, c, c));
  assert_load_refused(a.p, ETX_BAD_FILE, "expected a writable tensor");

  // The same through a view.
  a = start();
  const uint32_t again = test_data(a.p, three, sizeof three);
  const int d = test_constant(a.p, ETX_DTYPE_FLOAT32, SIZES(3), again);
  const int view = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  const int length = test_int(a.p, 3);
  const int sizes = test_ints(a.p, ARGS(length));
  test_call(a.p, "executorch_prim::et_view", "default", ARGS(d, sizes, view));
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, view, view));
  assert_load_refused(a.p, ETX_BAD_FILE, "is in a constant");
}

static void an_output_may_not_lie_in_an_input_that_is_read_only(void** state) {
  (void)state;
  adder a = start();
  test_blob(a.p);
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.x, a.x));
  assert_load_refused(a.p, ETX_BAD_FILE, "expected a mutable input");

  a = start();
  test_blob(a.p);
  const int view = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  const int length = test_int(a.p, 3);
  const int sizes = test_ints(a.p, ARGS(length));
  test_call(a.p, "executorch_prim::et_view", "default", ARGS(a.x, sizes, view));
  test_call(a.p, "aten::add", "out", ARGS(a.y, a.y, a.alpha, view, view));
  assert_load_refused(a.p, ETX_BAD_FILE, "is in an input");
}

static void an_output_may_not_overlap_what_is_read(void** state) {
  (void)state;
  adder a = start();
  const int near = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(3), 4);
  test_call(a.p, "aten::add", "out", ARGS(near, a.x, a.alpha, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "argument 0 overlaps an output");

  // An elementwise operator may write exactly the bytes of its argument.
  a = start();
  const int same = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(3), 0);
  test_call(a.p, "aten::add", "out", ARGS(same, a.x, a.alpha, a.y, a.y));
  assert_int_equal(load_few(a.p), ETX_OK);

  // It may not if the elements have another order in memory.
  a = start();
  static const uint8_t swapped[2] = {1, 0};
  const int rows = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  const int columns = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  test_tensor_of(a.p, columns)->dim_order = swapped;
  test_call(a.p, "aten::add", "out",
            ARGS(rows, rows, a.alpha, columns, columns));
  assert_load_refused(a.p, ETX_BAD_FILE, "overlaps an output");

  // A product may not.
  a = start();
  const int left = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  const int out = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  test_call(a.p, "aten::mm", "out", ARGS(left, left, out, out));
  assert_load_refused(a.p, ETX_BAD_FILE, "overlaps an output");

  // A copy onto itself is accepted: stock files contain it.
  a = start();
  const int state_value = test_state(a.p, "s", ETX_DTYPE_FLOAT32, SIZES(3), 0);
  const int blocking = test_bool(a.p, false);
  test_call(a.p, "aten::copy_", "",
            ARGS(state_value, state_value, blocking, state_value));
  assert_int_equal(load_few(a.p), ETX_OK);
}

static void a_value_that_is_never_set_is_refused(void** state) {
  (void)state;
  const adder a = start();
  const int blank = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  test_call(a.p, "aten::add", "out", ARGS(a.x, blank, a.alpha, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "needs 12 bytes and has 0");
}

static void a_view_is_unknown_before_its_instruction(void** state) {
  (void)state;
  const adder a = start();
  const int view = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  const int length = test_int(a.p, 3);
  const int sizes = test_ints(a.p, ARGS(length));
  test_call(a.p, "aten::add", "out", ARGS(a.x, view, a.alpha, a.y, a.y));
  test_call(a.p, "executorch_prim::et_view", "default", ARGS(a.x, sizes, view));
  assert_load_refused(a.p, ETX_BAD_FILE, "needs 12 bytes and has 0");
}

static void outputs_of_fixed_size_must_have_it(void** state) {
  (void)state;
  const adder a = start();
  const int four = test_scratch(a.p, ETX_DTYPE_FLOAT32, SIZES(4), 16);
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, four, four));
  assert_load_refused(a.p, ETX_BAD_ARGUMENT, "fixed size 4");
}

static void types_that_no_kernel_takes_are_refused(void** state) {
  (void)state;
  const adder a = start();
  const int d = test_scratch(a.p, ETX_DTYPE_FLOAT64, SIZES(3), 16);
  test_call(a.p, "aten::add", "out", ARGS(d, d, a.alpha, a.y, a.y));
  const etx_status status = load_few(a.p);
  assert_int_equal(status, ETX_BAD_ARGUMENT);
  assert_true(test_message_has(&diag, "float64"));
  assert_true(test_message_has(&diag, "method 'forward', instruction 0"));
}

static void constants_and_lists_as_inputs_are_refused(void** state) {
  (void)state;
  adder a = start();
  test_input(a.p, a.constant, "c");
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "an input is the constant");
  a = start();
  test_input(a.p, a.x, "again");
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
  assert_load_refused(a.p, ETX_BAD_FILE, "is an input twice");
  a = start();
  test_input(a.p, test_ints(a.p, ARGS(a.alpha)), "list");
  assert_load_refused(a.p, ETX_UNSUPPORTED, "is an input and a list");
}

static void unbound_sizes_are_refused(void** state) {
  (void)state;
  const adder a = start();
  test_tensor_of(a.p, a.y)->dynamism = ETX_PTE_DYNAMIC_UNBOUND;
  assert_load_refused(a.p, ETX_UNSUPPORTED, "no upper bound");
}

static void an_unknown_method_is_not_found(void** state) {
  (void)state;
  const adder a = start();
  etx_program program;
  etx_memory_needed needed;
  assert_ok(etx_program_open(&program, test_file(a.p), &test_few_kernels, NULL,
                             &diag));
  assert_refused(
      etx_method_needed(&program, etx_text_of("backward"), &needed, &diag),
      ETX_NOT_FOUND, "the program has no method 'backward'");
  test_program_end(a.p);
}

// A refusal must not write scratch: another method may have its outputs there.
static void refusing_a_method_does_not_write_scratch(void** state) {
  (void)state;
  const adder a = start();
  const int blank = test_borrowed(a.p, ETX_DTYPE_FLOAT32, SIZES(3));
  test_call(a.p, "aten::add", "out", ARGS(a.x, blank, a.alpha, a.y, a.y));
  etx_program program;
  etx_memory_needed needed;
  etx_method method;
  static _Alignas(16) uint8_t structures[16384];
  static _Alignas(16) uint8_t scratch[64];
  static _Alignas(16) uint8_t arena[64];
  uint32_t torn = 0;
  memset(scratch, 7, sizeof scratch);
  assert_ok(etx_program_open(&program, test_file(a.p), &test_few_kernels, NULL,
                             &diag));
  assert_ok(
      etx_method_needed(&program, etx_text_of("forward"), &needed, &diag));
  const etx_planned_memory session = {arena, sizeof arena, &torn};
  const etx_method_memory memory = {{structures, sizeof structures},
                                    {scratch, sizeof scratch},
                                    {NULL, 0},
                                    &session};
  assert_status(etx_method_init(&method, &program, etx_text_of("forward"),
                                &memory, NULL, &diag),
                ETX_BAD_FILE);
  for (size_t i = 0; i < sizeof scratch; ++i) assert_int_equal(scratch[i], 7);
  test_program_end(a.p);
}

// An arena may be listed with the CPU, which is no other device.
static void arenas_on_devices_are_refused(void** state) {
  (void)state;
  adder a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
  test_device(a.p, 2, 0);
  assert_load_refused(a.p, ETX_OK, "");
  a = start();
  test_call(a.p, "aten::add", "out", ARGS(a.x, a.x, a.alpha, a.y, a.y));
  test_device(a.p, 1, 0);
  test_device(a.p, 2, 1);
  assert_load_refused(a.p, ETX_UNSUPPORTED,
                      "arena 2 of method 'forward' is on a device");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_valid_method_is_loaded),
      cmocka_unit_test(arenas_on_devices_are_refused),
      cmocka_unit_test(all_missing_operators_are_reported),
      cmocka_unit_test(delegates_are_refused_by_name_and_instruction),
      cmocka_unit_test(a_listed_delegate_is_refused_without_a_call),
      unit_test_with(ETX_CONTROL_FLOW, moves_between_unlike_values_are_refused),
      unit_test_with(ETX_CONTROL_FLOW, jumps_and_releases_are_checked),
      cmocka_unit_test(tensors_of_too_many_elements_are_refused),
      cmocka_unit_test(inputs_in_shared_state_are_refused),
      cmocka_unit_test(described_views_are_checked),
      cmocka_unit_test(a_number_is_no_new_content_of_a_tensor),
      unit_test_with(ETX_CONTROL_FLOW, too_many_unplanned_outputs_are_refused),
      unit_test_with(ETX_DYNAMIC, too_large_unplanned_outputs_are_refused),
      cmocka_unit_test(empty_initial_data_is_no_data),
      unit_test_with(ETX_VERIFIER, wrong_numbers_of_arguments_are_refused),
      unit_test_with(ETX_VERIFIER, wrong_kinds_of_arguments_are_refused),
      unit_test_with(ETX_VERIFIER, a_wrong_return_slot_is_refused),
      cmocka_unit_test(an_output_may_not_lie_in_a_constant),
      cmocka_unit_test(an_output_may_not_lie_in_an_input_that_is_read_only),
      unit_test_with(ETX_VERIFIER, an_output_may_not_overlap_what_is_read),
      cmocka_unit_test(a_value_that_is_never_set_is_refused),
      cmocka_unit_test(a_view_is_unknown_before_its_instruction),
      unit_test_with(ETX_VERIFIER || ETX_DYNAMIC,
                     outputs_of_fixed_size_must_have_it),
      cmocka_unit_test(types_that_no_kernel_takes_are_refused),
      unit_test_with(ETX_VERIFIER, constants_and_lists_as_inputs_are_refused),
      cmocka_unit_test(unbound_sizes_are_refused),
      cmocka_unit_test(an_unknown_method_is_not_found),
      cmocka_unit_test(refusing_a_method_does_not_write_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
