// Methods whose scratch lies in several memories of a board.

#include "runtime/memories.h"

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// y = relu(relu(x)), the inner one in memory 0 and the outer one in memory 1,
// which begins with a copy of the inner one.
static test_program* make_board_program(void) {
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "f");
  test_arenas(p, 16, 0);
  test_arena(p, 0);
  test_arena(p, 32);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int y = test_planned(p, ETX_DTYPE_FLOAT32, SIZES(4), 3, 16);
  const int empty = test_planned(p, ETX_DTYPE_FLOAT32, SIZES(0), 3, 0);
  test_call(p, "aten::relu", "out", ARGS(x, a, a));
  const int first = test_planned(p, ETX_DTYPE_FLOAT32, SIZES(4), 3, 0);
  test_call(p, "aten::relu", "out", ARGS(a, y, y));
  test_call(p, "aten::relu", "out", ARGS(empty, empty, empty));
  test_call(p, "aten::relu", "out", ARGS(x, first, first));
  test_output(p, y, "y");
  test_output(p, first, "first");
  return p;
}

typedef struct board_fixture {
  test_program* p;
  etx_program program;
  etx_method method;
  test_block structures, first, second;
  etx_bytes_mut blocks[2];
  etx_board_memory board;
} board_fixture;

static void start(board_fixture* f, test_program* p) {
  etx_memory_needed needed = {.structure_bytes = 4096};
  f->p = p;
  assert_ok(etx_program_open(&f->program, test_file(p), &etx_all_kernels, NULL,
                             &diag));
  etx_diag_init(&diag);
  if (etx_method_needed(&f->program, etx_text_of("f"), &needed, &diag) !=
      ETX_OK) {
    assert_true(test_has_message(&diag));  // some are refused
  }
  f->structures = test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  f->first = test_block_new(16, ETX_MEMORY_ALIGNMENT);
  f->second = test_block_new(32, ETX_MEMORY_ALIGNMENT);
  f->blocks[0] = f->first.bytes;
  f->blocks[1] = f->second.bytes;
  f->board = (etx_board_memory){
      {f->structures.bytes, {NULL, 0}, {NULL, 0}, NULL}, f->blocks, 2};
}

static void end(board_fixture* f) {
  assert_true(test_block_end(&f->structures));
  assert_true(test_block_end(&f->first));
  assert_true(test_block_end(&f->second));
  test_program_end(f->p);
}

static etx_status load(board_fixture* f) {
  return etx_method_init_in_memories(&f->method, &f->program, etx_text_of("f"),
                                     &f->board, NULL, &diag);
}

static void values_lie_in_the_blocks_of_their_memories(void** state) {
  (void)state;
  board_fixture f;
  float x[4] = {-1, 2, -3, 4};
  const float wanted[4] = {0, 2, 0, 4};
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 4);
  start(&f, make_board_program());
  assert_ok(load(&f));
  assert_ok(etx_method_set_input(&f.method, 0, &input, &diag));
  assert_ok(etx_method_run(&f.method, &diag));
  const etx_tensor* const y = test_output_tensor(&f.method, 0);
  assert_ptr_equal(y->data, f.second.bytes.data + 16);
  assert_memory_equal(y->data, wanted, sizeof wanted);
  assert_memory_equal(f.first.bytes.data, wanted, sizeof wanted);
  assert_ptr_equal(test_output_tensor(&f.method, 1)->data, f.second.bytes.data);
  assert_memory_equal(f.second.bytes.data, wanted, sizeof wanted);
  end(&f);
}

static void bytes_of_each_memory_are_stated(void** state) {
  (void)state;
  board_fixture f;
  size_t bytes[2] = {0};
  size_t count = 0;
  test_program* p = make_board_program();
  test_method(p, "constant");
  test_output(p, test_int(p, 1), "one");
  start(&f, p);
  assert_ok(etx_method_memories_needed(&f.program, etx_text_of("f"), bytes, 2,
                                       &count, &diag));
  assert_int_equal(count, 2);
  assert_int_equal(bytes[0], 16);
  assert_int_equal(bytes[1], 32);
  assert_ok(etx_method_memories_needed(&f.program, etx_text_of("constant"),
                                       bytes, 2, &count, &diag));
  assert_int_equal(count, 1);
  assert_int_equal(bytes[0], 0);
  assert_refused(etx_method_memories_needed(&f.program, etx_text_of("f"), bytes,
                                            1, &count, &diag),
                 ETX_OUT_OF_RANGE,
                 "method 'f' has 2 memories, expected at most 1");
  assert_refused(etx_method_memories_needed(&f.program, etx_text_of("g"), bytes,
                                            2, &count, &diag),
                 ETX_NOT_FOUND, "no method 'g'");
  end(&f);
}

static void blocks_that_do_not_fit_are_refused(void** state) {
  (void)state;
  board_fixture f;
  start(&f, make_board_program());
  f.board.count = 1;
  assert_refused(load(&f), ETX_BAD_ARGUMENT,
                 "method 'f' has 2 memories, but 1 blocks were given");
  f.board.count = 2;
  f.blocks[1].size = 31;
  assert_refused(load(&f), ETX_OUT_OF_MEMORY,
                 "method 'f' needs 32 bytes in memory '1', but 31 were given");
  f.blocks[1] = (etx_bytes_mut){NULL, 32};
  assert_refused(load(&f), ETX_OUT_OF_MEMORY, "in memory '1'");
  f.blocks[1] = f.second.bytes;
  _Alignas(16) uint8_t odd[32];
  f.blocks[0] = (etx_bytes_mut){odd + 4, 16};
  assert_refused(load(&f), ETX_BAD_ARGUMENT,
                 "the block of memory '0' is not aligned");
  f.blocks[0] = f.first.bytes;
  assert_refused(
      etx_method_init_in_memories(&f.method, &f.program, etx_text_of("g"),
                                  &f.board, NULL, &diag),
      ETX_NOT_FOUND, "no method 'g'");
  f.board.memory.structures.size = 16;
  assert_refused(load(&f), ETX_OUT_OF_MEMORY, "structures");
  f.board.memory.structures = f.structures.bytes;
  assert_ok(load(&f));
  end(&f);
}

static void a_method_without_scratch_needs_no_block(void** state) {
  (void)state;
  board_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "f");
  const int x =
      test_mutable_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  test_call(p, "aten::relu", "out", ARGS(x, x, x));
  float data[4] = {-1, 2, -3, 4};
  const float wanted[4] = {0, 2, 0, 4};
  const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 4);
  start(&f, p);
  f.blocks[0] = (etx_bytes_mut){NULL, 0};
  f.board.count = 1;
  assert_ok(load(&f));
  assert_ok(etx_method_set_input(&f.method, 0, &input, &diag));
  assert_ok(etx_method_run(&f.method, &diag));
  assert_memory_equal(data, wanted, sizeof wanted);
  end(&f);
}

// In several blocks, a method needs the bytes of its upper bounds at all sizes,
// and its values stay where the file has them.
static void values_stay_in_their_places_at_all_sizes(void** state) {
  (void)state;
  board_fixture f;
  etx_memory_needed needed;
  float x[4] = {-1, 2, -3, 4};
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "f");
  test_arenas(p, 16, 0);
  test_arena(p, 0);
  test_arena(p, 32);
  const int in = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4))), "x");
  test_dim(p, 0, 0, test_symbol(p, "n", 1, 4), 1, 0);
  const int a =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0));
  const int y =
      test_dynamic(p, test_planned(p, ETX_DTYPE_FLOAT32, SIZES(4), 3, 16));
  test_call(p, "aten::neg", "out", ARGS(in, a, a));
  test_call(p, "aten::relu", "out", ARGS(a, y, y));
  test_output(p, y, "y");
  start(&f, p);
  assert_ok(load(&f));
  const etx_named_size two = {etx_text_of("n"), 2};
  assert_ok(etx_method_needed_at(&f.method, &two, 1, &needed, &diag));
  assert_int_equal(needed.scratch_bytes, 16 + 32);
  for (int32_t count = 4; count > 0; --count) {
    const float wanted[4] = {1, 0, 3, 0};
    const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, count);
    assert_ok(etx_method_set_input(&f.method, 0, &input, &diag));
    assert_ok(etx_method_run(&f.method, &diag));
    const etx_tensor* const found = test_output_tensor(&f.method, 0);
    assert_ptr_equal(found->data, f.second.bytes.data + 16);
    assert_memory_equal(found->data, wanted, (size_t)count * sizeof *wanted);
  }
  end(&f);
}

static void methods_that_no_board_can_hold_are_refused(void** state) {
  (void)state;
  board_fixture f;
  size_t bytes[2], count;
  test_program* p = test_program_new();  // a stock file
  test_method(p, "f");
  test_output(p, test_int(p, 1), "");
  start(&f, p);
  assert_refused(load(&f), ETX_UNSUPPORTED,
                 "method 'f' was not planned for several memories by etx");
  end(&f);

  p = test_program_new();  // more bytes than addresses
  test_blob(p);
  test_method(p, "f");
  test_arenas(p, PTRDIFF_MAX - 15, 0);
  test_arena(p, 0);
  test_arena(p, PTRDIFF_MAX - 15);
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  test_call(p, "aten::relu", "out", ARGS(a, a, a));
  start(&f, p);
  assert_status(etx_method_memories_needed(&f.program, etx_text_of("f"), bytes,
                                           2, &count, &diag),
                ETX_OUT_OF_RANGE);
  end(&f);

  p = test_program_new();  // an output without a place
  test_blob(p);
  test_method(p, "f");
  test_arenas(p, 16, 0);
  const int x = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int y = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4));
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
  start(&f, p);
  assert_refused(load(&f), ETX_UNSUPPORTED,
                 "method 'f' has outputs without planned memory");
  end(&f);

  p = test_program_new();  // too many of them
  test_blob(p);
  test_method(p, "f");
  const int u =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "u");
  const int v = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4));
  for (int i = 0; i < 513; ++i) {
    test_call(p, "aten::relu", "out", ARGS(u, v, v));
    test_move(p, u, v);
  }
  start(&f, p);
  assert_refused(load(&f), ETX_OUT_OF_RANGE, "more than 512 outputs");
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_lie_in_the_blocks_of_their_memories),
      cmocka_unit_test(bytes_of_each_memory_are_stated),
      cmocka_unit_test(blocks_that_do_not_fit_are_refused),
      cmocka_unit_test(a_method_without_scratch_needs_no_block),
      unit_test_with(ETX_DYNAMIC, values_stay_in_their_places_at_all_sizes),
      unit_test_with(ETX_DYNAMIC, methods_that_no_board_can_hold_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
