// Copies, slices, permutations and concatenations over random shapes, compared
// with positions that are computed one by one.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(100) };

// Element i has the value i, so a moved element shows where it came from.
static int32_t counting[4096];

static size_t random_sizes(size_t rank, int32_t* sizes) {
  size_t numel = 1;
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = (int32_t)test_random_integer(1, 6);
    numel *= (size_t)sizes[i];
  }
  return numel;
}

// The position of element i of a dense tensor.
static void locate(const etx_tensor* tensor, size_t i, int64_t* position) {
  for (size_t d = tensor->rank; d-- > 0;) {
    position[d] = (int64_t)(i % (size_t)tensor->sizes[d]);
    i /= (size_t)tensor->sizes[d];
  }
}

static int32_t number_at(const int32_t* sizes, size_t rank,
                         const int64_t* position) {
  int64_t at = 0;
  for (size_t d = 0; d < rank; ++d) at = at * sizes[d] + position[d];
  return (int32_t)at;
}

static etx_tensor* counted(test_call* c, size_t rank, const int32_t* sizes) {
  return test_call_tensor(c, ETX_DTYPE_INT32, rank, sizes, NULL, counting);
}

static void permute_moves_every_dimension(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const size_t rank = 1 + test_random_bits() % 4;
    int32_t sizes[4];
    int64_t dims[4] = {0, 1, 2, 3}, position[4], from[4];
    (void)random_sizes(rank, sizes);
    for (size_t i = rank; i > 1; --i) {
      const size_t j = test_random_bits() % i;
      const int64_t kept = dims[i - 1];
      dims[i - 1] = dims[j];
      dims[j] = kept;
    }
    test_call c;
    test_call_begin(&c, "aten::permute_copy.out");
    counted(&c, rank, sizes);
    test_call_integers(&c, rank, dims);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const etx_tensor* out = test_call_result(&c, 0);
    for (size_t i = 0; i < etx_tensor_numel(out); ++i) {
      locate(out, i, position);
      for (size_t d = 0; d < rank; ++d) from[dims[d]] = position[d];
      assert_int_equal(((int32_t*)out->data)[i], number_at(sizes, rank, from));
    }
    test_call_end(&c);
  }
}

// Bytes are transposed in registers: two or three rows, and squares.
static void bytes_are_transposed(void** unused) {
  enum { MOST = 70 };
  static uint8_t bytes[3 * MOST * MOST];
  static const int32_t few[] = {2, 3, 4, 15, 16, 17, 31};
  (void)unused;
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (uint8_t)(i * 131 >> 3);
  for (int round = 0; round < 4 * ROUNDS; ++round) {
    int32_t sizes[3] = {(int32_t)test_random_integer(1, 3),
                        (int32_t)test_random_integer(1, MOST),
                        (int32_t)test_random_integer(1, MOST)};
    static const int64_t orders[2][3] = {{0, 2, 1}, {2, 1, 0}};
    const int64_t* dims = orders[round % 2];
    if (round % 3 == 0) sizes[1 + test_random_bits() % 2] = few[round % 7];
    int64_t position[3], from[3];
    test_call c;
    test_call_begin(&c, "aten::permute_copy.out");
    test_call_tensor(&c, ETX_DTYPE_UINT8, 3, sizes, NULL, bytes);
    test_call_integers(&c, 3, dims);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const etx_tensor* out = test_call_result(&c, 0);
    for (size_t i = 0; i < etx_tensor_numel(out); ++i) {
      locate(out, i, position);
      for (size_t d = 0; d < 3; ++d) from[dims[d]] = position[d];
      assert_int_equal(((uint8_t*)out->data)[i],
                       bytes[number_at(sizes, 3, from)]);
    }
    test_call_end(&c);
  }
}

// Several blocks of tiles in both directions, and incomplete tiles.
static void large_planes_are_transposed(void** unused) {
  enum { LEAST = 120, MOST = 300 };
  static const etx_dtype types[] = {ETX_DTYPE_INT32, ETX_DTYPE_INT64,
                                    ETX_DTYPE_INT16, ETX_DTYPE_FLOAT32};
  static uint8_t numbers[8 * MOST * MOST];
  (void)unused;
  for (size_t i = 0; i < sizeof numbers; ++i) {
    numbers[i] = (uint8_t)test_random_bits();
  }
  for (size_t round = 0; round < 12; ++round) {
    const etx_dtype dtype = types[round % 4];
    const size_t bytes = etx_dtype_bytes(dtype);
    const int32_t sizes[] = {(int32_t)test_random_integer(LEAST, MOST),
                             (int32_t)test_random_integer(LEAST, MOST)};
    test_call c;
    test_call_begin(&c, "aten::permute_copy.out");
    test_call_tensor(&c, dtype, 2, sizes, NULL, numbers);
    test_call_integers(&c, 2, (int64_t[]){1, 0});
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const uint8_t* out = test_call_result(&c, 0)->data;
    for (int32_t i = 0; i < sizes[0] * sizes[1]; ++i) {
      const int32_t from = i % sizes[0] * sizes[1] + i / sizes[0];
      assert_memory_equal(out + (size_t)i * bytes,
                          numbers + (size_t)from * bytes, bytes);
    }
    test_call_end(&c);
  }
}

// Neighbours that stay together are transposed as one element of four bytes.
// The rows may begin at the alignment of the smaller elements.
static void transpose_pairs(etx_instruction_set set) {
  enum { SIDE = 40, ROW = 2 * SIDE + 1, START = 1 };
  static int16_t numbers[START + SIDE * ROW];
  for (int i = 0; i < START + SIDE * ROW; ++i) numbers[i] = (int16_t)i;
  test_call c;
  test_call_begin(&c, "aten::as_strided_copy.out");
  c.instruction_set = set;
  test_call_tensor(&c, ETX_DTYPE_INT16, 1, (int32_t[]){START + SIDE * ROW},
                   NULL, numbers);
  test_call_integers(&c, 3, (int64_t[]){SIDE, SIDE, 2});
  test_call_integers(&c, 3, (int64_t[]){2, ROW, 1});
  test_call_integer(&c, START);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int16_t* out = test_call_result(&c, 0)->data;
  for (int i = 0; i < SIDE * SIDE * 2; ++i) {
    const int row = i / 2 % SIDE, pair = i / 2 / SIDE;
    assert_int_equal(out[i], START + row * ROW + pair * 2 + i % 2);
  }
  test_call_end(&c);
}

static void pairs_of_elements_at_odd_addresses_are_transposed(void** unused) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  (void)unused;
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    transpose_pairs((etx_instruction_set)set);
  }
}

static void slices_take_every_step(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    int32_t sizes[3];
    int64_t position[3];
    (void)random_sizes(3, sizes);
    const size_t dim = test_random_bits() % 3;
    const int64_t start = test_random_integer(0, sizes[dim] - 1);
    const int64_t step = test_random_integer(1, 3);
    test_call c;
    test_call_begin(&c, "aten::slice_copy.Tensor_out");
    counted(&c, 3, sizes);
    test_call_integer(&c, (int64_t)dim);
    test_call_integer(&c, start - (round % 2 ? sizes[dim] : 0));
    test_call_integer(&c, INT64_MAX);
    test_call_integer(&c, step);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const etx_tensor* out = test_call_result(&c, 0);
    for (size_t i = 0; i < etx_tensor_numel(out); ++i) {
      locate(out, i, position);
      position[dim] = start + step * position[dim];
      assert_int_equal(((int32_t*)out->data)[i], number_at(sizes, 3, position));
    }
    test_call_end(&c);
  }
}

static void expand_repeats_sizes_of_one(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::expand_copy.out");
  counted(&c, 3, (int32_t[]){2, 1, 3});
  test_call_integers(&c, 4, (int64_t[]){2, -1, 2, 3});
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5,
                          0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void repeat_tiles_every_dimension(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::repeat.out");
  counted(&c, 1, (int32_t[]){2});
  test_call_integers(&c, 2, (int64_t[]){2, 3});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void cat_converts_types_and_skips_empty_tensors(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::cat.out");
  test_call_floats(&c, 1, (int32_t[]){0}, NULL);
  test_call_floats(&c, 2, (int32_t[]){2, 1}, (float[]){0.5f, 1.5f});
  counted(&c, 2, (int32_t[]){2, 2});
  test_call_gather_list(&c, 3);
  test_call_integer(&c, -1);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const float want[] = {0.5f, 0, 1, 1.5f, 2, 3};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void a_stack_has_a_new_dimension(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::stack.out");
  counted(&c, 1, (int32_t[]){2});
  counted(&c, 1, (int32_t[]){2});
  test_call_gather_list(&c, 2);
  test_call_integer(&c, 1);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {0, 0, 1, 1};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void copies_broadcast_and_convert(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::copy_");
  counted(&c, 2, (int32_t[]){2, 3});
  test_call_floats(&c, 1, (int32_t[]){3}, (float[]){1.9f, -1.9f, NAN});
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {1, -1, INT32_MIN, 1, -1, INT32_MIN};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void views_keep_the_order_of_strided_elements(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::view_copy.out");
  test_call_tensor(&c, ETX_DTYPE_INT32, 2, (int32_t[]){2, 3}, (int32_t[]){1, 2},
                   counting);
  test_call_integers(&c, 2, (int64_t[]){3, 2});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {0, 2, 4, 1, 3, 5};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void pads_may_crop(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::constant_pad_nd.out");
  counted(&c, 2, (int32_t[]){2, 3});
  test_call_integers(&c, 4, (int64_t[]){-1, 1, 1, 0});
  test_call_integer(&c, 9);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {9, 9, 9, 1, 2, 9, 4, 5, 9};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void slices_are_written_into_a_copy(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::slice_scatter.out");
  counted(&c, 2, (int32_t[]){2, 3});
  test_call_tensor(&c, ETX_DTYPE_INT32, 2, (int32_t[]){2, 2}, NULL,
                   (int32_t[]){90, 91, 92, 93});
  test_call_integer(&c, 1);
  test_call_integer(&c, 0);
  test_call_integer(&c, 3);
  test_call_integer(&c, 2);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {90, 1, 91, 92, 4, 93};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void the_upper_triangle_becomes_zero(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::tril.out");
  counted(&c, 3, (int32_t[]){2, 2, 3});
  test_call_integer(&c, 0);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {0, 0, 0, 3, 4, 0, 6, 0, 0, 9, 10, 0};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void ranges_count_in_their_type(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::arange.start_out");
  test_call_integer(&c, 7);
  test_call_integer(&c, 0);
  test_call_integer(&c, -3);
  assert_ok(test_call_run(&c, ETX_DTYPE_INT64));
  const int64_t want[] = {7, 4, 1};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
  test_call_begin(&c, "aten::arange.start_out");
  test_call_real(&c, 0.5);
  test_call_integer(&c, 2);
  test_call_real(&c, 0.5);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  const float real[] = {0.5f, 1, 1.5f};
  assert_memory_equal(test_call_result(&c, 0)->data, real, sizeof real);
  test_call_end(&c);
}

// A stride that is used would be reported by sanitizers.
static void an_empty_view_takes_any_strides(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::as_strided_copy.out");
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){4}, NULL, counting);
  test_call_integers(&c, 2, (int64_t[]){0, 2});
  test_call_integers(&c, 2, (int64_t[]){INT64_MAX - 1, INT64_MAX - 1});
  test_call_none(&c);
  assert_ok(test_call_run(&c, ETX_DTYPE_INT32));
  assert_int_equal(etx_tensor_numel(test_call_result(&c, 0)), 0);
  test_call_end(&c);
}

static void a_view_shares_its_data(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "executorch_prim::et_view.default");
  const etx_tensor* self = counted(&c, 2, (int32_t[]){2, 3});
  test_call_integers(&c, 2, (int64_t[]){-1, 2});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_ptr_equal(test_call_result(&c, 0)->data, self->data);
  assert_int_equal(test_call_result(&c, 0)->sizes[0], 3);
  test_call_end(&c);
}

static void a_view_of_a_part_starts_at_its_offset(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "etx::part_view.default");
  const etx_tensor* self = counted(&c, 2, (int32_t[]){2, 3});
  test_call_integer(&c, 3);
  test_call_integers(&c, 2, (int64_t[]){1, 2});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_ptr_equal(test_call_result(&c, 0)->data, (float*)self->data + 3);
  assert_int_equal(test_call_result(&c, 0)->sizes[1], 2);
  test_call_end(&c);
}

static void a_part_behind_another_starts_at_its_end(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "etx::part_after.default");
  const etx_tensor* self = counted(&c, 2, (int32_t[]){3, 3});
  const etx_tensor* before = counted(&c, 1, (int32_t[]){2});
  test_call_integers(&c, 2, (int64_t[]){1, 3});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_ptr_equal(test_call_result(&c, 0)->data, (float*)before->data + 2);
  assert_int_equal(test_call_result(&c, 0)->sizes[1], 3);
  test_call_end(&c);
  test_call_begin(&c, "etx::part_after.default");
  self = counted(&c, 2, (int32_t[]){3, 3});
  test_call_none(&c);
  test_call_integers(&c, 1, (int64_t[]){4});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_ptr_equal(test_call_result(&c, 0)->data, self->data);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_view_of_a_part_starts_at_its_offset),
      cmocka_unit_test(a_part_behind_another_starts_at_its_end),
      cmocka_unit_test(permute_moves_every_dimension),
      cmocka_unit_test(large_planes_are_transposed),
      cmocka_unit_test(pairs_of_elements_at_odd_addresses_are_transposed),
      cmocka_unit_test(bytes_are_transposed),
      cmocka_unit_test(slices_take_every_step),
      cmocka_unit_test(expand_repeats_sizes_of_one),
      cmocka_unit_test(repeat_tiles_every_dimension),
      cmocka_unit_test(cat_converts_types_and_skips_empty_tensors),
      cmocka_unit_test(a_stack_has_a_new_dimension),
      cmocka_unit_test(copies_broadcast_and_convert),
      cmocka_unit_test(views_keep_the_order_of_strided_elements),
      cmocka_unit_test(pads_may_crop),
      cmocka_unit_test(slices_are_written_into_a_copy),
      cmocka_unit_test(the_upper_triangle_becomes_zero),
      cmocka_unit_test(ranges_count_in_their_type),
      cmocka_unit_test(an_empty_view_takes_any_strides),
      cmocka_unit_test(a_view_shares_its_data),
  };
  test_random_start();
  for (int32_t i = 0; i < 4096; ++i) counting[i] = i;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
