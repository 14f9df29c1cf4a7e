// Memory: the stated sizes are enough, and one byte fewer is not.

#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// A product with a temporary, over scratch and state, so that every kind of
// memory is used.
static test_program* product_with_state(void) {
  test_program* p = test_program_new();
  test_blob(p);
  test_method(p, "product");
  test_arenas(p, 100, 64);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 3)), "x");
  const int w = test_state(p, "w", ETX_DTYPE_FLOAT32, SIZES(3, 4), 0);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 4), 64);
  test_call(p, "aten::mm", "out", ARGS(x, w, y, y));
  test_output(p, y, "y");
  test_state_row(p, "w", ETX_DTYPE_FLOAT32, SIZES(3, 4), 0, 0);
  return p;
}

typedef struct needed_sizes {
  size_t structures, scratch, temporary, state;
} needed_sizes;

// Loads the method into blocks of these sizes, and frees everything.
static etx_status init_with(const etx_program* program, const char* name,
                            const needed_sizes* given) {
  test_block blocks[4] = {
      test_block_new(given->structures, 16), test_block_new(given->scratch, 16),
      test_block_new(given->temporary, 16), test_block_new(given->state, 16)};
  uint32_t torn = 0;
  const etx_planned_memory state = {blocks[3].bytes.data, given->state, &torn};
  const etx_method_memory memory = {blocks[0].bytes, blocks[1].bytes,
                                    blocks[2].bytes, &state};
  etx_method method;
  etx_diag_init(&diag);
  const etx_status status = etx_method_init(&method, program, etx_text_of(name),
                                            &memory, NULL, &diag);
  for (size_t i = 0; i < 4; ++i) assert_true(test_block_end(&blocks[i]));
  return status;
}

static void stated_sizes_are_enough_and_one_byte_fewer_is_not(void** state) {
  (void)state;
  test_program* p = product_with_state();
  etx_program program;
  etx_memory_needed needed;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(
      etx_method_needed(&program, etx_text_of("product"), &needed, &diag));
  assert_int_equal(needed.scratch_bytes, 100);
  assert_int_equal(needed.state_bytes, 64);
  assert_int_equal(needed.temporary_bytes, 2 * 4 * sizeof(float));
  const needed_sizes whole = {needed.structure_bytes, needed.scratch_bytes,
                              needed.temporary_bytes, needed.state_bytes};
  assert_int_equal(init_with(&program, "product", &whole), ETX_OK);
  for (size_t i = 0; i < 4; ++i) {
    needed_sizes fewer = whole;
    size_t* const members[4] = {&fewer.structures, &fewer.scratch,
                                &fewer.temporary, &fewer.state};
    --*members[i];
    assert_int_equal(init_with(&program, "product", &fewer), ETX_OUT_OF_MEMORY);
  }
  test_program_end(p);
}

static void every_smaller_block_of_structures_is_refused(void** state) {
  (void)state;
  test_program* p = product_with_state();
  etx_program program;
  etx_memory_needed needed;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(
      etx_method_needed(&program, etx_text_of("product"), &needed, &diag));
  needed_sizes given = {0, needed.scratch_bytes, needed.temporary_bytes,
                        needed.state_bytes};
  for (; given.structures < needed.structure_bytes; given.structures += 8) {
    assert_int_equal(init_with(&program, "product", &given), ETX_OUT_OF_MEMORY);
  }
  given.structures = needed.structure_bytes;
  assert_int_equal(init_with(&program, "product", &given), ETX_OK);
  test_program_end(p);
}

static void a_loaded_method_runs_within_its_blocks(void** state) {
  (void)state;
  test_program* p = product_with_state();
  etx_program program;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  _Alignas(16) float weights[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  uint32_t torn = 0;
  const etx_planned_memory arena = {(uint8_t*)weights, 64, &torn};
  assert_ok(test_load(&loaded, &program, "product", &arena, &diag));
  float x[6] = {1, 2, 3, 4, 5, 6};
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 2, 3);
  assert_ok(etx_method_set_input(&loaded.method, 0, &input, &diag));
  assert_ok(etx_method_run(&loaded.method, &diag));
  const float wanted[8] = {1, 2, 3, 0, 4, 5, 6, 0};
  assert_memory_equal(test_output_tensor(&loaded.method, 0)->data, wanted,
                      sizeof wanted);
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

static void misaligned_blocks_are_refused(void** state) {
  (void)state;
  test_program* p = product_with_state();
  etx_program program;
  etx_memory_needed needed;
  etx_method method;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(
      etx_method_needed(&program, etx_text_of("product"), &needed, &diag));
  static _Alignas(16) uint8_t bytes[4][16384];
  uint32_t torn = 0;
  for (size_t i = 0; i < 4; ++i) {
    const etx_planned_memory arena = {bytes[3] + (i == 3), 64, &torn};
    const etx_method_memory memory = {
        {bytes[0] + (i == 0 ? 8 : 0), sizeof bytes[0] - 8},
        {bytes[1] + (i == 1 ? 4 : 0), sizeof bytes[1] - 4},
        {bytes[2] + (i == 2 ? 1 : 0), sizeof bytes[2] - 1},
        &arena};
    assert_refused(etx_method_init(&method, &program, etx_text_of("product"),
                                   &memory, NULL, &diag),
                   ETX_BAD_ARGUMENT, "not aligned");
  }
  test_program_end(p);
}

static void a_method_with_state_needs_some(void** state) {
  (void)state;
  test_program* p = product_with_state();
  etx_program program;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_refused(test_load(&loaded, &program, "product", NULL, &diag),
                 ETX_BAD_ARGUMENT, "has state and was given none");
  test_program_end(p);
}

// A stock file may have outputs without planned memory.
static void unplanned_outputs_are_counted_and_placed(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 20, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3)), "");
  const int alpha = test_int(p, 1);
  const int sum = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3));
  const int twice = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3));
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, sum, sum));
  test_call(p, "aten::add", "out", ARGS(sum, x, alpha, twice, twice));
  test_call(p, "aten::add", "out", ARGS(sum, x, alpha, twice, twice));
  test_output(p, twice, "");
  etx_program program;
  etx_memory_needed needed;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(
      etx_method_needed(&program, etx_text_of("forward"), &needed, &diag));
  // 20 bytes of the arena, then two tensors of 12 bytes, each at a multiple of
  // 16.
  assert_int_equal(needed.scratch_bytes, 32 + 16 + 12);
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  float data[3] = {1, 2, 3};
  const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(&loaded.method, 0, &input, &diag));
  assert_ok(etx_method_run(&loaded.method, &diag));
  const float wanted[3] = {3, 6, 9};
  assert_memory_equal(test_output_tensor(&loaded.method, 0)->data, wanted,
                      sizeof wanted);
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// They begin at the next multiple of 16 behind the arena, whatever it has.
static void unplanned_outputs_are_aligned(void** state) {
  (void)state;
  for (int64_t bytes = 1; bytes < 34; ++bytes) {
    test_program* p = test_program_new();
    etx_program program;
    etx_memory_needed needed;
    test_method(p, "forward");
    test_arenas(p, bytes, 0);
    const int x =
        test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3)), "");
    const int y = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3));
    test_call(p, "aten::add", "out", ARGS(x, x, test_int(p, 1), y, y));
    assert_ok(etx_program_open(&program, test_file(p), &test_few_kernels, NULL,
                               &diag));
    assert_ok(
        etx_method_needed(&program, etx_text_of("forward"), &needed, &diag));
    assert_int_equal(needed.scratch_bytes, (bytes + 15) / 16 * 16 + 12);
    test_program_end(p);
  }
}

static void private_arenas_are_consecutive(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arena(p, 20);
  test_arena(p, 0);
  test_arena(p, 12);
  const int x =
      test_input(p, test_planned(p, ETX_DTYPE_FLOAT32, SIZES(3), 1, 4), "");
  const int y = test_planned(p, ETX_DTYPE_FLOAT32, SIZES(3), 3, 0);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_output(p, y, "");
  etx_program program;
  etx_memory_needed needed;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(
      etx_method_needed(&program, etx_text_of("forward"), &needed, &diag));
  assert_int_equal(needed.scratch_bytes, 32 + 12);
  assert_int_equal(needed.state_bytes, 0);
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  float data[3] = {1, 2, 3};
  const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(&loaded.method, 0, &input, &diag));
  assert_ok(etx_method_run(&loaded.method, &diag));
  const float wanted[3] = {2, 4, 6};
  assert_memory_equal(test_output_tensor(&loaded.method, 0)->data, wanted,
                      sizeof wanted);
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// When a file is opened, the totals of its first methods are stored. Those of
// later methods are computed when they are needed, with equal results.
static void totals_of_late_methods_equal_those_of_early_ones(void** state) {
  (void)state;
  enum { METHODS = 10 };
  static const char* const names[METHODS] = {"a", "b", "c", "d", "e",
                                             "f", "g", "h", "i", "j"};
  test_program* p = test_program_new();
  for (size_t i = 0; i < METHODS; ++i) {
    test_method(p, names[i]);
    test_arenas(p, 64, 0);
    const int x =
        test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1, 2)), "x");
    const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 0);
    const int parts[2] = {x, x};
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, parts, 2), test_int(p, 0), y, y));
    test_output(p, y, "y");
  }
  etx_program program;
  etx_diag_init(&diag);
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  etx_memory_needed first = {0};
  assert_ok(etx_method_needed(&program, etx_text_of(names[0]), &first, &diag));
  for (size_t i = 1; i < METHODS; ++i) {
    etx_memory_needed needed = {0};
    test_loaded loaded;
    assert_ok(
        etx_method_needed(&program, etx_text_of(names[i]), &needed, &diag));
    assert_int_equal(needed.structure_bytes, first.structure_bytes);
    assert_ok(test_load(&loaded, &program, names[i], NULL, &diag));
    assert_true(test_unload(&loaded));
  }
  test_program_end(p);
}

// y = relu(x) for x of n floats, and a number 2 n + 3. Loaded with all kernels.
typedef struct sized_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
} sized_fixture;

static void start_sized(sized_fixture* f) {
  test_program* const p = f->p = test_program_new();
  test_blob(p);
  test_method(p, "sized");
  test_arenas(p, 128, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(32))), "x");
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(32), 0));
  test_input(p, test_int(p, 3), "more");
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
  test_output(p, y, "y");
  const uint32_t n = test_symbol(p, "n", 1, 32);
  test_dim(p, 0, 0, n, 1, 0);
  test_dim(p, 1, -1, n, 2, 3);
  assert_ok(etx_program_open(&f->program, test_file(p), &etx_all_kernels, NULL,
                             &diag));
  assert_ok(test_load(&f->loaded, &f->program, "sized", NULL, &diag));
}

static void end_sized(sized_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static void bytes_are_stated_for_sizes_of_symbols(void** state) {
  (void)state;
  sized_fixture f;
  etx_memory_needed needed;
  start_sized(&f);
  const etx_named_size four = {etx_text_of("n"), 4};
  assert_ok(etx_method_needed_at(&f.loaded.method, &four, 1, &needed, &diag));
  assert_int_equal(needed.scratch_bytes, 16);
  // A symbol without a size has its largest.
  assert_ok(etx_method_needed_at(&f.loaded.method, NULL, 0, &needed, &diag));
  assert_int_equal(needed.scratch_bytes, 128);
  static const int64_t outside[] = {0, 33};
  for (size_t i = 0; i < 2; ++i) {
    const etx_named_size size = {etx_text_of("n"), outside[i]};
    assert_refused(
        etx_method_needed_at(&f.loaded.method, &size, 1, &needed, &diag),
        ETX_OUT_OF_RANGE, "its bounds in method 'sized' are 1 and 32");
  }
  const etx_named_size other = {etx_text_of("m"), 4};
  assert_refused(
      etx_method_needed_at(&f.loaded.method, &other, 1, &needed, &diag),
      ETX_NOT_FOUND, "method 'sized' has no symbol 'm'");
  end_sized(&f);
}

// Each symbol has its own size, or else its largest. The second result lies at
// a multiple of 16 and of no larger power of two.
static void each_symbol_has_a_size(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  etx_program program;
  test_loaded loaded;
  etx_memory_needed needed;
  test_blob(p);
  test_method(p, "sized");
  test_arenas(p, 176, 0);
  for (int i = 0; i < 2; ++i) {
    const test_sizes sizes = i == 0 ? SIZES(32) : SIZES(8);
    const int x = test_input(
        p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, sizes)), "x");
    const int y = test_dynamic(
        p, test_scratch(p, ETX_DTYPE_FLOAT32, sizes, i == 0 ? 0 : 144));
    const uint32_t symbol = test_symbol(p, i == 0 ? "n" : "m", 1, sizes.at[0]);
    test_dim(p, (uint32_t)i, 0, symbol, 1, 0);
    test_call(p, "aten::relu", "out", ARGS(x, y, y));
    test_output(p, y, "y");
  }
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "sized", NULL, &diag));
  const etx_named_size n = {etx_text_of("n"), 4}, m = {etx_text_of("m"), 2};
  const etx_named_size both[] = {m, n};
  const struct {
    const etx_named_size* sizes;
    size_t count, bytes;
  } rows[] = {{NULL, 0, 128 + 32},
              {&n, 1, 16 + 32},
              {&m, 1, 128 + 8},
              {both, 2, 16 + 8},
              {NULL, 0, 128 + 32}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_ok(etx_method_needed_at(&loaded.method, rows[i].sizes, rows[i].count,
                                   &needed, &diag));
    assert_int_equal(needed.scratch_bytes, rows[i].bytes);
  }
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// The answer for sizes says nothing about the memory that the method has.
static void sizes_that_were_asked_about_are_checked_by_a_run(void** state) {
  (void)state;
  static float x[32];
  static const int32_t counts[] = {4, 32, 4};
  sized_fixture f;
  etx_memory_needed needed;
  start_sized(&f);
  etx_method* const method = &f.loaded.method;
  test_block little = test_block_new(16, ETX_MEMORY_ALIGNMENT);
  assert_ok(
      etx_method_set_memory(method, little.bytes, method->temporary, &diag));
  for (size_t i = 0; i < 3; ++i) {
    const etx_named_size n = {etx_text_of("n"), counts[i]};
    const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, counts[i]);
    const etx_value more = {.kind = ETX_VALUE_INT,
                            .as.integer = 2 * counts[i] + 3};
    assert_ok(etx_method_needed_at(method, &n, 1, &needed, &diag));
    assert_ok(etx_method_set_input(method, 0, &input, &diag));
    assert_ok(etx_method_set_value(method, 1, &more, &diag));
    if (counts[i] == 4) {
      assert_ok(etx_method_run(method, &diag));
    } else {
      assert_refused(etx_method_run(method, &diag), ETX_OUT_OF_MEMORY,
                     "needs 128 bytes of scratch at these sizes");
    }
  }
  assert_true(test_block_end(&little));
  end_sized(&f);
}

typedef struct busy_calls {
  etx_method* method;
  size_t count;
} busy_calls;

// What cannot be done while a kernel of the method runs.
static void call_while_busy(void* context, size_t instruction,
                            const etx_call* call) {
  busy_calls* const b = context;
  etx_memory_needed needed;
  const etx_bytes_mut scratch = b->method->scratch;
  const etx_bytes_mut temporary = b->method->temporary;
  (void)instruction, (void)call;
  assert_status(etx_method_needed_at(b->method, NULL, 0, &needed, &diag),
                ETX_BAD_STATE);
  assert_status(etx_method_set_memory(b->method, scratch, temporary, &diag),
                ETX_BAD_STATE);
  assert_status(etx_method_prepare(b->method, &diag), ETX_BAD_STATE);
  ++b->count;
}

static void a_method_in_use_is_not_changed(void** state) {
  (void)state;
  sized_fixture f;
  float x[2] = {-1, 1};
  const etx_tensor input = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 2);
  start_sized(&f);
  busy_calls calls = {&f.loaded.method, 0};
  const etx_run_observer observer = {call_while_busy, call_while_busy, &calls};
  etx_method_observe(&f.loaded.method, &observer);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &input, &diag));
  const etx_value seven = {.kind = ETX_VALUE_INT, .as.integer = 7};
  assert_ok(etx_method_set_value(&f.loaded.method, 1, &seven, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(calls.count, 2);
  assert_true(
      ((const float*)test_output_tensor(&f.loaded.method, 0)->data)[1] == 1);
  end_sized(&f);
}

static void other_memory_is_checked(void** state) {
  (void)state;
  test_program* p = test_program_new();
  etx_program program;
  etx_method method;
  etx_memory_needed needed;
  test_loaded loaded;
  test_method(p, "f");
  test_arenas(p, 64, 0);
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 0);
  const int b = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  test_call(p, "aten::mm", "out", ARGS(a, a, b, b));
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "f", NULL, &diag));
  const etx_bytes_mut scratch = loaded.scratch.bytes;
  etx_bytes_mut temporary = loaded.temporary.bytes;
  --temporary.size;
  assert_refused(
      etx_method_set_memory(&loaded.method, scratch, temporary, &diag),
      ETX_OUT_OF_MEMORY, "method 'f' needs 16 bytes of temporary memory");
  assert_ok(etx_method_set_memory(&loaded.method, scratch,
                                  loaded.temporary.bytes, &diag));
  // Its values are in the scratch that it was given last.
  const float data[4] = {1, 2, 3, 4};
  const float square[4] = {7, 10, 15, 22};
  test_block other = test_block_new(scratch.size, ETX_MEMORY_ALIGNMENT);
  assert_ok(etx_method_set_memory(&loaded.method, other.bytes,
                                  loaded.temporary.bytes, &diag));
  memcpy(other.bytes.data, data, sizeof data);
  memset(scratch.data, 0xa5, scratch.size);
  assert_ok(etx_method_run(&loaded.method, &diag));
  assert_memory_equal(other.bytes.data + 16, square, sizeof square);
  for (size_t i = 0; i < scratch.size; ++i) {
    assert_int_equal(scratch.data[i], 0xa5);
  }
  assert_ok(etx_method_set_memory(&loaded.method, scratch,
                                  loaded.temporary.bytes, &diag));
  assert_true(test_block_end(&other));
  // It has no state, so any session will do.
  assert_ok(etx_method_bind(&loaded.method, NULL, &diag));
  const etx_method_memory memory = {loaded.structures.bytes, scratch,
                                    loaded.temporary.bytes, NULL};
  assert_refused(etx_method_init(&method, &program, etx_text_of("g"), &memory,
                                 NULL, &diag),
                 ETX_NOT_FOUND, "no method 'g'");
  assert_refused(etx_method_needed(&program, etx_text_of("g"), &needed, &diag),
                 ETX_NOT_FOUND, "no method 'g'");
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// A session has a flag that tells whether its state is torn.
static void a_state_without_its_flag_is_refused(void** state) {
  (void)state;
  _Alignas(16) uint8_t bytes[64];
  const etx_planned_memory session = {bytes, sizeof bytes, NULL};
  test_program* p = product_with_state();
  etx_program program;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_refused(test_load(&loaded, &program, "product", &session, &diag),
                 ETX_BAD_ARGUMENT, "has state and was given none");
  test_program_end(p);
}

// ---- a kernel that does not state its bytes ----

static int32_t least_rows;  // fewer are refused
static int32_t bad_rows;    // no call of so many rows is prepared

static etx_status state_bytes_of_rows(const etx_call* call, size_t* out_bytes) {
  const int32_t rows = etx_call_tensor(call, 0)->sizes[0];
  if (rows < least_rows) {
    return etx_call_refuse(call, ETX_UNSUPPORTED, "too few rows");
  }
  *out_bytes = (size_t)rows * 4;
  return ETX_OK;
}

static etx_status prepare_nothing(etx_call* call) {
  if (etx_call_tensor(call, 0)->sizes[0] != bad_rows) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT, "a bad number of rows");
}

// Where a kernel states no bytes for the present sizes, those of the largest
// count; where it states none for these either, there is no answer.
static void bytes_of_a_kernel_that_refuses_are_bounded(void** state) {
  (void)state;
  static const etx_kernel kernels[] = {
      {&etx_op_row_neg_out, prepare_nothing, state_bytes_of_rows, NULL}};
  const etx_kernel_table table = {kernels, 1, NULL};
  const etx_named_size three = {etx_text_of("n"), 3};
  test_program* p = test_program_new();
  etx_program program;
  etx_memory_needed needed;
  test_loaded loaded;
  test_blob(p);
  test_method(p, "f");
  test_arenas(p, 64, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8))), "x");
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8), 0));
  test_dim(p, 0, 0, test_symbol(p, "n", 1, 8), 1, 0);
  test_call(p, "aten::neg", "out", ARGS(x, y, y));
  least_rows = 0;
  assert_ok(etx_program_open(&program, test_file(p), &table, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "f", NULL, &diag));
  assert_ok(etx_method_needed_at(&loaded.method, &three, 1, &needed, &diag));
  assert_int_equal(needed.temporary_bytes, 12);
  least_rows = 4;
  assert_ok(etx_method_needed_at(&loaded.method, &three, 1, &needed, &diag));
  assert_int_equal(needed.temporary_bytes, 32);
  least_rows = 9;
  assert_status(etx_method_needed_at(&loaded.method, &three, 1, &needed, &diag),
                ETX_UNSUPPORTED);
  assert_int_equal(needed.temporary_bytes, 32);
  least_rows = 0;
  // There is no answer for sizes at which a call is refused, either.
  bad_rows = 3;
  assert_refused(
      etx_method_needed_at(&loaded.method, &three, 1, &needed, &diag),
      ETX_BAD_ARGUMENT, "a bad number of rows");
  bad_rows = 0;
  assert_ok(etx_method_needed_at(&loaded.method, &three, 1, &needed, &diag));
  assert_int_equal(needed.temporary_bytes, 12);
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// Scratch may have half of all addresses, with outputs that the file has not
// planned, and no byte more: 7 * 2^60 and 2^60 bytes, then 2^34 more for the
// first and 2^34 - 1 fewer for the second.
static void outputs_take_at_most_half_of_all_addresses(void** state) {
  (void)state;
  if (SIZE_MAX == UINT32_MAX) skip();
  for (int more = 0; more < 2; ++more) {
    test_program* p = test_program_new();
    etx_program program;
    etx_memory_needed needed;
    test_method(p, "forward");
    const int x = test_borrowed(p, ETX_DTYPE_FLOAT32,
                                SIZES(1 << 30, 1879048192 + 4 * more));
    const int y = test_borrowed(
        p, ETX_DTYPE_UINT8,
        more ? SIZES(1607480111, 717222863) : SIZES(1 << 30, 1 << 30));
    test_call(p, "aten::neg", "out", ARGS(x, x, x));
    test_call(p, "aten::neg", "out", ARGS(y, y, y));
    assert_ok(etx_program_open(&program, test_file(p), &etx_all_kernels, NULL,
                               &diag));
    const etx_status found =
        etx_method_needed(&program, etx_text_of("forward"), &needed, &diag);
    assert_int_equal(found, more ? ETX_OUT_OF_RANGE : ETX_OK);
    if (!more) assert_true(needed.scratch_bytes == (size_t)PTRDIFF_MAX + 1);
    test_program_end(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stated_sizes_are_enough_and_one_byte_fewer_is_not),
      cmocka_unit_test(every_smaller_block_of_structures_is_refused),
      cmocka_unit_test(a_loaded_method_runs_within_its_blocks),
      cmocka_unit_test(misaligned_blocks_are_refused),
      cmocka_unit_test(a_method_with_state_needs_some),
      unit_test_with(ETX_DYNAMIC, unplanned_outputs_are_counted_and_placed),
      unit_test_with(ETX_DYNAMIC, unplanned_outputs_are_aligned),
      cmocka_unit_test(private_arenas_are_consecutive),
      unit_test_with(ETX_DYNAMIC, bytes_are_stated_for_sizes_of_symbols),
      unit_test_with(ETX_DYNAMIC, each_symbol_has_a_size),
      unit_test_with(ETX_DYNAMIC,
                     sizes_that_were_asked_about_are_checked_by_a_run),
      unit_test_with(ETX_DYNAMIC, a_method_in_use_is_not_changed),
      cmocka_unit_test(other_memory_is_checked),
      unit_test_with(ETX_DYNAMIC, bytes_of_a_kernel_that_refuses_are_bounded),
      unit_test_with(ETX_DYNAMIC, outputs_take_at_most_half_of_all_addresses),
      cmocka_unit_test(a_state_without_its_flag_is_refused),
      cmocka_unit_test(totals_of_late_methods_equal_those_of_early_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
