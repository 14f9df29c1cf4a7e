// Programs whose data is in other files: constants, initial data of planned
// tensors, state, and the messages for a file that does not fit.

#include "runtime/program.h"

#include "shared_memory/shared_memory.h"
#include "tests/support/assert_status.h"
#include "tests/support/data_file.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;
static test_data_block first_block;
static test_data_block second_block;

static const float weights[4] = {10, 20, 30, 40};
static const float starts[4] = {1, 2, 3, 4};

static int external(test_program* p, int value, const char* name) {
  etx_pte_tensor* const tensor = test_tensor_of(p, value);
  tensor->location = ETX_PTE_EXTERNAL;
  tensor->name = etx_text_of(name);
  return value;
}

// forward(x) = (x + w, c += x): the weight and the initial data of c, which
// lies in arena `arena`, are in a data file. A second method returns w.
static test_program* make(uint32_t arena) {
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, arena == 2 ? 16 : 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  const int w = external(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "w");
  const int c =
      external(p, test_planned(p, ETX_DTYPE_FLOAT32, SIZES(4), arena, 0), "c");
  const int alpha = test_int(p, 1);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 16);
  test_output(p, y, "y");
  test_output(p, c, "c");
  test_call(p, "aten::add", "out", ARGS(x, w, alpha, y, y));
  test_call(p, "aten::add", "out", ARGS(c, x, alpha, c, c));
  test_method(p, "weight");
  test_output(
      p, external(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "w"), "w");
  return p;
}

static const test_datum weight = {.key = "w",
                                  .dtype = ETX_DTYPE_FLOAT32,
                                  .sizes = {{4}, 1},
                                  .data = weights,
                                  .bytes = sizeof weights};
static const test_datum start = {.key = "c",
                                 .dtype = ETX_DTYPE_FLOAT32,
                                 .sizes = {{4}, 1},
                                 .data = starts,
                                 .bytes = sizeof starts};

static etx_ptd open_data(test_data_block* block, const test_datum* data,
                         size_t count) {
  etx_ptd ptd;
  const etx_bytes_mut made = test_data_file(block, data, count);
  const etx_bytes file = {made.data, made.size};
  assert_ok(etx_ptd_open(&ptd, file, &diag));
  return ptd;
}

static etx_program open_program(test_program* p) {
  etx_program program;
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  return program;
}

static void run_once(test_loaded* loaded, const float y[4], const float c[4]) {
  float data[4] = {1, 1, 1, 1};
  const etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 4);
  assert_ok(etx_method_set_input(&loaded->method, 0, &x, &diag));
  assert_ok(etx_method_run(&loaded->method, &diag));
  assert_memory_equal(test_output_tensor(&loaded->method, 0)->data, y, 16);
  assert_memory_equal(test_output_tensor(&loaded->method, 1)->data, c, 16);
}

static void constants_and_initial_data_come_from_two_files(void** state) {
  (void)state;
  test_program* p = make(1);
  etx_program program = open_program(p);
  const etx_ptd files[2] = {open_data(&first_block, &weight, 1),
                            open_data(&second_block, &start, 1)};
  test_loaded loaded;
  assert_ok(etx_program_use_data(&program, files, 2, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  run_once(&loaded, (const float[]){11, 21, 31, 41},
           (const float[]){2, 3, 4, 5});
  run_once(&loaded, (const float[]){11, 21, 31, 41},
           (const float[]){3, 4, 5, 6});
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

static void state_starts_with_the_data_of_a_file(void** state) {
  (void)state;
  test_program* p = make(2);
  etx_program program = open_program(p);
  const test_datum data[2] = {weight, start};
  const etx_ptd file = open_data(&first_block, data, 2);
  _Alignas(64) uint8_t block[ETX_SHARED_MEMORY_HEADER + 16];
  etx_shared_memory shared;
  test_loaded loaded;
  assert_true(program.shares_state);
  assert_ok(etx_program_use_data(&program, &file, 1, &diag));
  assert_ok(etx_shared_memory_init(
      &shared, &program, (etx_bytes_mut){block, sizeof block}, &diag));
  assert_ok(test_load(&loaded, &program, "forward", &shared.planned, &diag));
  run_once(&loaded, (const float[]){11, 21, 31, 41},
           (const float[]){2, 3, 4, 5});
  run_once(&loaded, (const float[]){11, 21, 31, 41},
           (const float[]){3, 4, 5, 6});
  assert_ok(etx_shared_memory_reset(&shared, etx_text_of("c"), &diag));
  run_once(&loaded, (const float[]){11, 21, 31, 41},
           (const float[]){2, 3, 4, 5});
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

static void a_constant_method_may_return_external_data(void** state) {
  (void)state;
  test_program* p = make(1);
  etx_program program = open_program(p);
  const test_datum data[2] = {weight, start};
  const etx_ptd file = open_data(&first_block, data, 2);
  etx_value value;
  etx_constant_hold hold;
  etx_method_info info;
  const etx_text name = etx_text_of("weight");
  assert_ok(etx_program_method_at(&program, 1, &info));
  assert_false(info.is_constant);
  assert_refused(etx_program_constant(&program, name, &value, &hold, &diag),
                 ETX_NOT_FOUND, "method 'weight' returns 'w' of a data file");
  assert_ok(etx_program_use_data(&program, &file, 1, &diag));
  assert_ok(etx_program_method_at(&program, 1, &info));
  assert_true(info.is_constant);
  assert_ok(etx_program_constant(&program, name, &value, &hold, &diag));
  assert_memory_equal(value.as.tensor.data, weights, sizeof weights);
  test_program_end(p);
}

static void a_missing_data_file_is_reported_with_the_key(void** state) {
  (void)state;
  test_program* p = make(1);
  etx_program program = open_program(p);
  test_loaded loaded;
  assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                 ETX_NOT_FOUND,
                 "value 1 of method 'forward' is 'w' of a data file");
  test_program_end(p);
}

static void use(const test_datum* data, size_t count, etx_status status,
                const char* why) {
  test_program* p = make(1);
  etx_program program = open_program(p);
  const etx_ptd file = open_data(&first_block, data, count);
  assert_refused(etx_program_use_data(&program, &file, 1, &diag), status, why);
  // No data file is in use after the refusal.
  assert_int_equal(program.data_file_count, 0);
  test_program_end(p);
}

static void a_file_that_does_not_fit_is_refused(void** state) {
  (void)state;
  static const int32_t integers[4] = {1, 2, 3, 4};
  test_datum data[2] = {weight, start};
  use(data, 1, ETX_NOT_FOUND,
      "no data file has 'c', which method 'forward' needs");
  data[0].dtype = ETX_DTYPE_INT32;
  data[0].data = integers;
  use(data, 2, ETX_BAD_FILE,
      "'w' is int32[4] in the data file, method 'forward' expects float32[4]");
  data[0] = weight;
  data[0].sizes = SIZES(2, 2);
  use(data, 2, ETX_BAD_FILE, "'w' is float32[2, 2] in the data file");
  data[0] = weight;
  data[0].sizes = SIZES(3);
  data[0].bytes = 3 * sizeof(float);
  use(data, 2, ETX_BAD_FILE, "'w' is float32[3] in the data file");
  data[0] = weight;
  data[0].has_no_layout = true;
  use(data, 2, ETX_BAD_FILE, "'w' is not a tensor in the data file");
}

static void a_key_in_two_files_is_refused(void** state) {
  (void)state;
  test_program* p = make(1);
  etx_program program = open_program(p);
  const test_datum data[2] = {weight, start};
  const etx_ptd files[2] = {open_data(&first_block, data, 2),
                            open_data(&second_block, &start, 1)};
  assert_refused(etx_program_use_data(&program, files, 2, &diag), ETX_BAD_FILE,
                 "2 data files have 'c'");
  test_program_end(p);
}

// The message of a refusal has the sizes; equal sizes in another order of the
// dimensions are another tensor.
static void a_tensor_of_another_layout_is_refused(void** state) {
  (void)state;
  static const uint8_t swapped[2] = {1, 0};
  static const struct {
    test_sizes sizes;
    const uint8_t* dim_order;
    etx_status status;
  } rows[] = {{{{2, 2}, 2}, NULL, ETX_OK},
              {{{2, 2}, 2}, swapped, ETX_BAD_FILE},
              {{{4, 1}, 2}, NULL, ETX_BAD_FILE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    test_datum data = weight;
    data.sizes = rows[i].sizes;
    data.dim_order = rows[i].dim_order;
    test_program* p = test_program_new();
    test_method(p, "forward");
    test_output(
        p, external(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2)), "w"),
        "w");
    etx_program program = open_program(p);
    const etx_ptd file = open_data(&first_block, &data, 1);
    etx_diag_init(&diag);
    assert_int_equal(etx_program_use_data(&program, &file, 1, &diag),
                     rows[i].status);
    if (rows[i].status != ETX_OK) {
      assert_true(test_message_has(&diag, "in the same dimension order"));
    }
    test_program_end(p);
  }
}

static void a_number_comes_from_a_data_file(void** state) {
  (void)state;
  test_datum data = weight;
  data.sizes = SCALAR_SIZES;
  data.bytes = sizeof(float);
  test_program* p = test_program_new();
  test_method(p, "forward");
  const int w =
      external(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SCALAR_SIZES), "w");
  test_output(p, w, "w");
  etx_program program = open_program(p);
  const etx_ptd file = open_data(&first_block, &data, 1);
  assert_ok(etx_program_use_data(&program, &file, 1, &diag));
  etx_bytes bytes = {NULL, 0};
  assert_true(program.find_data(&program, etx_text_of("w"), &bytes));
  assert_memory_equal(bytes.data, weights, sizeof(float));
  // Only keys that the files have are found.
  etx_pte_tensor other = *test_tensor_of(p, w);
  other.name = etx_text_of("v");
  assert_false(etx_program_stored(&program, &other, &bytes));
  test_program_end(p);
}

// A file that states more keys than the tensors of a program could be compared
// with is refused before they are read.
static void far_too_many_keys_are_refused(void** state) {
  (void)state;
  enum { KEYS = 1 << 29 };
  test_program* p = make(1);
  etx_program program = open_program(p);
  const test_datum data[2] = {weight, start};
  const etx_ptd file = open_data(&first_block, data, 2);
  for (size_t at = 0; etx_ptd_count(&file) != KEYS; at += 4) {
    const uint32_t keys = KEYS;
    uint32_t before = 0;
    assert_true(at + 4 <= file.flat_bytes);
    memcpy(&before, first_block.bytes + at, sizeof before);
    if (before != 2) continue;
    memcpy(first_block.bytes + at, &keys, sizeof keys);
    if (etx_ptd_count(&file) == KEYS) continue;
    memcpy(first_block.bytes + at, &before, sizeof before);
  }
  assert_refused(etx_program_use_data(&program, &file, 1, &diag),
                 ETX_OUT_OF_RANGE, "data files have 536870912 keys");
  assert_int_equal(program.data_file_count, 0);
  test_program_end(p);
}

// Data files have aligned tensors, so kernels may rely on alignment as they do
// for constants of the program.
static void unaligned_data_is_refused(void** state) {
  (void)state;
  test_program* p = make(1);
  etx_program program = open_program(p);
  const test_datum data[2] = {weight, start};
  etx_ptd file = open_data(&first_block, data, 2);
  uint64_t base = 0;
  memcpy(&base, first_block.bytes + 32, sizeof base);
  ++base;
  memcpy(first_block.bytes + 32, &base, sizeof base);
  const etx_bytes longer = {file.file.data, file.file.size + 1};
  assert_ok(etx_ptd_open(&file, longer, &diag));
  assert_refused(etx_program_use_data(&program, &file, 1, &diag), ETX_BAD_FILE,
                 "'w' is not aligned");
  test_program_end(p);
}

static void an_input_cannot_lie_in_a_data_file(void** state) {
  (void)state;
  test_program* p = test_program_new();
  etx_program program;
  test_method(p, "forward");
  test_input(p, external(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "w"),
             "x");
  assert_refused(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag),
      ETX_BAD_FILE, "an input is 'w' of a data file");
  test_program_end(p);
}

static void an_instruction_cannot_write_to_a_data_file(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_loaded loaded;
  test_method(p, "forward");
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  const int w = external(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "w");
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, w, w));
  etx_program program = open_program(p);
  const etx_ptd file = open_data(&first_block, &weight, 1);
  assert_ok(etx_program_use_data(&program, &file, 1, &diag));
  assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                 ETX_BAD_FILE, "a writable tensor");
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_and_initial_data_come_from_two_files),
      cmocka_unit_test(state_starts_with_the_data_of_a_file),
      cmocka_unit_test(a_constant_method_may_return_external_data),
      cmocka_unit_test(a_missing_data_file_is_reported_with_the_key),
      cmocka_unit_test(a_file_that_does_not_fit_is_refused),
      cmocka_unit_test(a_key_in_two_files_is_refused),
      cmocka_unit_test(a_tensor_of_another_layout_is_refused),
      cmocka_unit_test(a_number_comes_from_a_data_file),
      cmocka_unit_test(far_too_many_keys_are_refused),
      cmocka_unit_test(unaligned_data_is_refused),
      unit_test_with(ETX_VERIFIER, an_input_cannot_lie_in_a_data_file),
      cmocka_unit_test(an_instruction_cannot_write_to_a_data_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
