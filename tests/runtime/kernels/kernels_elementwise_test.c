// Elementwise operators over random shapes, broadcasts and strides.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/assert_message.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(200), MOST = 4096 };

static float a_elements[MOST], b_elements[MOST];

typedef struct tensor_sizes {
  size_t rank;
  int32_t sizes[4];
} tensor_sizes;

static tensor_sizes random_shape(void) {
  tensor_sizes s = {.rank = test_random_bits() % 5};
  for (size_t i = 0; i < s.rank; ++i) {
    s.sizes[i] =
        (int32_t)test_random_integer(test_random_bits() % 20 ? 1 : 0, 7);
  }
  return s;
}

// The same sizes with some leading ones dropped and some set to 1.
static tensor_sizes random_part(const tensor_sizes* full) {
  tensor_sizes s = {.rank = full->rank};
  const size_t dropped = full->rank > 0 ? test_random_bits() % full->rank : 0;
  s.rank -= dropped;
  for (size_t i = 0; i < s.rank; ++i) {
    s.sizes[i] = test_random_bits() % 3 == 0 ? 1 : full->sizes[dropped + i];
  }
  return s;
}

// Strides of the dimensions in a random order.
static void random_strides(const tensor_sizes* s, int32_t* out) {
  size_t order[4] = {0, 1, 2, 3};
  int32_t stride = 1;
  for (size_t i = s->rank; i > 1; --i) {
    const size_t j = test_random_bits() % i, kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
  for (size_t i = s->rank; i-- > 0;) {
    out[order[i]] = stride;
    stride *= s->sizes[order[i]] > 0 ? s->sizes[order[i]] : 1;
  }
}

// The element of an operand that belongs to element `i` of the broadcast
// result.
static const char* at(const etx_tensor* tensor, const etx_tensor* result,
                      size_t i) {
  ptrdiff_t offset = 0;
  for (size_t d = result->rank; d-- > 0;) {
    const size_t position = i % (size_t)result->sizes[d];
    i /= (size_t)result->sizes[d];
    const size_t missing = (size_t)result->rank - tensor->rank;
    if (d < missing || tensor->sizes[d - missing] == 1) continue;
    offset += (ptrdiff_t)position * tensor->strides[d - missing];
  }
  return (const char*)tensor->data +
         offset * (ptrdiff_t)etx_dtype_bytes(tensor->dtype);
}

typedef double (*reference)(double x, double y);
static double add(double x, double y) { return x + y; }
static double subtract(double x, double y) { return x - y; }
static double multiply(double x, double y) { return x * y; }
static double divide(double x, double y) { return x / y; }
static double smaller(double x, double y) { return x < y ? x : y; }
static double larger(double x, double y) { return x > y ? x : y; }

static int64_t bits_of_both(int64_t x, int64_t y) { return x & y; }
static int64_t bits_of_either(int64_t x, int64_t y) { return x | y; }
static int64_t bits_of_one(int64_t x, int64_t y) { return x ^ y; }

static int64_t integer_of(etx_dtype dtype, const void* element) {
  int64_t i64;
  int32_t i32;
  int16_t i16;
  if (dtype == ETX_DTYPE_INT8) return *(const int8_t*)element;
  if (dtype == ETX_DTYPE_UINT8) return *(const uint8_t*)element;
  if (dtype == ETX_DTYPE_INT16) {
    memcpy(&i16, element, sizeof i16);
    return i16;
  }
  if (dtype == ETX_DTYPE_INT32) {
    memcpy(&i32, element, sizeof i32);
    return i32;
  }
  memcpy(&i64, element, sizeof i64);
  return i64;
}

typedef struct binary_case {
  const char* name;
  reference want;
  bool has_alpha;
} binary_case;

static const binary_case rows[] = {
    {"aten::add.out", add, true},          {"aten::sub.out", subtract, true},
    {"aten::mul.out", multiply, false},    {"aten::div.out", divide, false},
    {"aten::minimum.out", smaller, false}, {"aten::maximum.out", larger, false},
};

static void check_pair(const test_call* c, const binary_case* r, double alpha) {
  const etx_tensor* out = test_call_result(c, 0);
  const etx_tensor* a = &c->values[0].as.tensor;
  const etx_tensor* b = &c->values[1].as.tensor;
  for (size_t i = 0; i < etx_tensor_numel(out); ++i) {
    const double x = *(const float*)(const void*)at(a, out, i);
    const double y = *(const float*)(const void*)at(b, out, i);
    const double want = r->want(x, alpha * y);
    const double got = ((const float*)out->data)[i];
    if (fabs(got - want) <= 3e-7 * (fabs(x) + fabs(alpha * y) + fabs(want))) {
      continue;
    }
    fail_msg("%s: element %zu is %g, expected %g", r->name, i, got, want);
  }
}

static void pairs_broadcast(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const binary_case* r = &rows[test_random_bits() % 6];
    const double alpha = r->has_alpha && round % 2 == 0 ? -1.5 : 1;
    const tensor_sizes full = random_shape(), part = random_part(&full);
    const bool swaps = test_random_bits() % 2 == 0;
    int32_t strides[2][4];
    random_strides(&full, strides[0]);
    random_strides(&part, strides[1]);
    const tensor_sizes* shapes[2] = {&full, &part};
    test_random_floats(a_elements, MOST, 10);
    test_random_floats(b_elements, MOST, 10);
    test_call c;
    test_call_begin(&c, r->name);
    for (size_t k = 0; k < 2; ++k) {
      const size_t which = swaps ? 1 - k : k;
      test_call_tensor(&c, ETX_DTYPE_FLOAT32, shapes[which]->rank,
                       shapes[which]->sizes,
                       round % 3 == 0 ? strides[which] : NULL,
                       k == 0 ? a_elements : b_elements);
    }
    if (r->has_alpha) test_call_real(&c, alpha);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    check_pair(&c, r, alpha);
    test_call_end(&c);
  }
}

// Integers of 64 bits and fewer are compared with unsigned arithmetic.
static void integers_wrap(void** unused) {
  (void)unused;
  const int32_t a[] = {INT32_MAX, INT32_MIN, 7}, b[] = {1, -1, -2};
  test_call c;
  test_call_begin(&c, "aten::add.out");
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){3}, NULL, a);
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){3}, NULL, b);
  test_call_integer(&c, 1);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t sums[] = {INT32_MIN, INT32_MAX, 5};
  assert_memory_equal(test_call_result(&c, 0)->data, sums, sizeof sums);
  test_call_end(&c);
}

static void the_smallest_integer_divides_by_minus_one(void** unused) {
  (void)unused;
  static const char* const names[] = {"aten::floor_divide.out",
                                      "aten::remainder.Tensor_out",
                                      "aten::fmod.Tensor_out"};
  const int64_t a[] = {INT64_MIN, -7}, b[] = {-1, 2};
  const int64_t want[3][2] = {{INT64_MIN, -4}, {0, 1}, {0, -1}};
  for (size_t k = 0; k < 3; ++k) {
    test_call c;
    test_call_begin(&c, names[k]);
    test_call_tensor(&c, ETX_DTYPE_INT64, 1, (int32_t[]){2}, NULL, a);
    test_call_tensor(&c, ETX_DTYPE_INT64, 1, (int32_t[]){2}, NULL, b);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    assert_memory_equal(test_call_result(&c, 0)->data, want[k], sizeof want[k]);
    test_call_end(&c);
  }
}

// An operator without a kernel for complex operands, and operands of which only
// one is complex, are refused with different messages.
static void complex_operands_are_refused_with_the_cause(void** unused) {
  (void)unused;
  static const struct {
    const char* name;
    etx_dtype other;
    const char* message;
  } refusals[] = {
      {"aten::maximum.out", ETX_DTYPE_COMPLEX64,
       "the operator has no kernel for complex operands, expected real types"},
      {"aten::mul.out", ETX_DTYPE_FLOAT32,
       "one operand is complex and the other is not, expected two complex "
       "tensors of one type"}};
  const float parts[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
    test_call c;
    test_call_begin(&c, refusals[i].name);
    test_call_tensor(&c, ETX_DTYPE_COMPLEX64, 1, (int32_t[]){2}, NULL, parts);
    test_call_tensor(&c, refusals[i].other, 1, (int32_t[]){2}, NULL, parts);
    assert_int_equal(test_call_run(&c, ETX_DTYPE_COMPLEX64), ETX_UNSUPPORTED);
    assert_true(test_message_has(&c.diag, refusals[i].message));
    test_call_end(&c);
  }
}

static void a_divisor_of_zero_is_refused(void** unused) {
  (void)unused;
  const int32_t sevens[100] = {7}, zeros[100] = {1};
  test_call c;
  test_call_begin(&c, "aten::floor_divide.out");
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){100}, NULL, sevens);
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){100}, NULL, zeros);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  assert_true(test_message_is(
      &c.diag, "a divisor is zero, in 'aten::floor_divide.out'"));
  test_call_end(&c);
}

static void comparisons_handle_nan_and_signed_zero(void** unused) {
  (void)unused;
  const float a[] = {1, NAN, INFINITY, -0.0f}, b[] = {1, NAN, 1, 0};
  static const struct {
    const char* name;
    uint8_t want[4];
  } cases[] = {{"aten::eq.Tensor_out", {1, 0, 0, 1}},
               {"aten::ne.Tensor_out", {0, 1, 1, 0}},
               {"aten::ge.Tensor_out", {1, 0, 1, 1}},
               {"aten::lt.Tensor_out", {0, 0, 0, 0}}};
  for (size_t k = 0; k < 4; ++k) {
    test_call c;
    test_call_begin(&c, cases[k].name);
    test_call_floats(&c, 1, (int32_t[]){4}, a);
    test_call_floats(&c, 1, (int32_t[]){4}, b);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    assert_memory_equal(test_call_result(&c, 0)->data, cases[k].want, 4);
    test_call_end(&c);
  }
}

static void mixed_types_are_promoted(void** unused) {
  (void)unused;
  const int64_t a[] = {1, -2, 3};
  const float b[] = {0.5f, 0.25f, -1};
  test_call c;
  test_call_begin(&c, "aten::mul.out");
  test_call_tensor(&c, ETX_DTYPE_INT64, 1, (int32_t[]){3}, NULL, a);
  test_call_floats(&c, 1, (int32_t[]){3}, b);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_int_equal(test_call_result(&c, 0)->dtype, ETX_DTYPE_FLOAT32);
  const float want[] = {0.5f, -0.5f, -3};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void floats_are_not_written_to_integers(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::exp.out");
  test_call_floats(&c, 1, (int32_t[]){3}, a_elements);
  assert_int_equal(test_call_run(&c, ETX_DTYPE_INT64), ETX_BAD_ARGUMENT);
  test_call_end(&c);
}

static void where_chooses_under_a_broadcast_mask(void** unused) {
  (void)unused;
  const uint8_t mask[] = {1, 0, 1};
  test_call c;
  test_random_floats(a_elements, 6, 1);
  test_call_begin(&c, "aten::where.self_out");
  test_call_tensor(&c, ETX_DTYPE_BOOL, 1, (int32_t[]){3}, NULL, mask);
  test_call_floats(&c, 2, (int32_t[]){2, 3}, a_elements);
  test_call_floats(&c, 0, NULL, (float[]){9});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const float* got = test_call_result(&c, 0)->data;
  for (size_t i = 0; i < 6; ++i) {
    assert_true(got[i] == (mask[i % 3] ? a_elements[i] : 9));
  }
  test_call_end(&c);
}

static void functions_read_strided_tensors(void** unused) {
  (void)unused;
  test_random_floats(a_elements, 200, 4);
  test_call c;
  test_call_begin(&c, "aten::exp.out");
  test_call_tensor(&c, ETX_DTYPE_FLOAT32, 2, (int32_t[]){13, 7},
                   (int32_t[]){1, 13}, a_elements);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const float* got = test_call_result(&c, 0)->data;
  for (size_t i = 0; i < 13 * 7; ++i) {
    const double want = exp((double)a_elements[i % 7 * 13 + i / 7]);
    assert_true(fabs(got[i] - want) <= 2e-7 * want);
  }
  test_call_end(&c);
}

// Runs `name` on the first `count` elements and keeps the result.
static void run_pair(const char* name, bool has_alpha, size_t count,
                     float* out) {
  const int32_t sizes[1] = {(int32_t)count};
  test_call c;
  test_call_begin(&c, name);
  test_call_floats(&c, 1, sizes, a_elements);
  test_call_floats(&c, 1, sizes, b_elements);
  if (has_alpha) test_call_integer(&c, 1);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  if (count > 0) {
    memcpy(out, test_call_result(&c, 0)->data, count * sizeof(float));
  }
  test_call_end(&c);
}

static void a_few_elements_get_the_bits_of_many(void** state) {
  static const struct {
    const char* name;
    bool has_alpha;
  } pairs[] = {{"aten::add.out", true},      {"aten::sub.out", true},
               {"aten::mul.out", false},     {"aten::div.out", false},
               {"aten::maximum.out", false}, {"aten::minimum.out", false}};
  static float few[MOST], many[MOST];
  (void)state;
  for (size_t i = 0; i < MOST; ++i) {
    const uint32_t a = test_random_bits(), b = test_random_bits();
    memcpy(&a_elements[i], &a, sizeof a);
    memcpy(&b_elements[i], &b, sizeof b);
    if (i % 5 == 0) b_elements[i] = a_elements[i];
  }
  for (size_t pair = 0; pair < sizeof pairs / sizeof *pairs; ++pair) {
    run_pair(pairs[pair].name, pairs[pair].has_alpha, MOST, many);
    for (size_t count = 0; count < 140; ++count) {
      run_pair(pairs[pair].name, pairs[pair].has_alpha, count, few);
      for (size_t i = 0; i < count; ++i) {
        const bool both_nan = few[i] != few[i] && many[i] != many[i];
        if (both_nan || memcmp(&few[i], &many[i], sizeof few[i]) == 0) continue;
        fail_msg("%s of %zu: element %zu differs", pairs[pair].name, count, i);
      }
    }
  }
}

// Every width, and any number of bytes after the last whole word.
static void bitwise_operators_take_a_number(void** state) {
  static const struct {
    const char* name;
    int64_t (*of)(int64_t x, int64_t y);
  } operators[] = {{"aten::bitwise_and.Scalar_out", bits_of_both},
                   {"aten::bitwise_or.Scalar_out", bits_of_either},
                   {"aten::bitwise_xor.Scalar_out", bits_of_one}};
  static const etx_dtype dtypes[] = {ETX_DTYPE_INT64, ETX_DTYPE_INT32,
                                     ETX_DTYPE_INT16, ETX_DTYPE_INT8,
                                     ETX_DTYPE_UINT8};
  (void)state;
  for (size_t round = 0; round < 15 * 40; ++round) {
    const etx_dtype dtype = dtypes[round % 5];
    const size_t how = round / 5 % 3;
    const int32_t count = (int32_t)test_random_integer(0, 45);
    const int64_t number =
        test_random_integer(dtype == ETX_DTYPE_UINT8 ? 0 : -128, 127);
    uint8_t elements[45 * 8];
    for (size_t i = 0; i < sizeof elements; ++i) {
      elements[i] = (uint8_t)test_random_bits();
    }
    test_call c;
    test_call_begin(&c, operators[how].name);
    test_call_tensor(&c, dtype, 1, &count, NULL, elements);
    test_call_integer(&c, number);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const size_t width = etx_dtype_bytes(dtype);
    const char* got = test_call_result(&c, 0)->data;
    for (size_t i = 0; i < (size_t)count; ++i) {
      const int64_t x = integer_of(dtype, elements + i * width);
      const int64_t found = integer_of(dtype, got + i * width);
      assert_int_equal(found, operators[how].of(x, number));
    }
    test_call_end(&c);
  }
}

// The result of an operator on the first `count` integers of two arrays, of
// which only the first element is returned. With `is_number`, the second
// operand is a number.
static int64_t first_of_integers(const char* name, bool has_alpha,
                                 bool is_number, const int64_t* a,
                                 const int64_t* b, int32_t count) {
  test_call c;
  int64_t first = 0;
  test_call_begin(&c, name);
  test_call_tensor(&c, ETX_DTYPE_INT64, 1, &count, NULL, a);
  if (is_number) {
    test_call_integer(&c, b[0]);
  } else {
    test_call_tensor(&c, ETX_DTYPE_INT64, 1, &count, NULL, b);
  }
  if (has_alpha) test_call_integer(&c, 1);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const etx_tensor* result = test_call_result(&c, 0);
  memcpy(&first, result->data, etx_dtype_bytes(result->dtype));
  test_call_end(&c);
  return first;
}

// One integer has a path of its own; the loops compute the others.
static void one_integer_gets_the_result_of_many(void** state) {
  static const struct {
    const char *with_tensor, *with_number;
    bool has_alpha;
  } pairs[] = {{"aten::add.out", "aten::add.Scalar_out", true},
               {"aten::sub.out", "aten::sub.Scalar_out", true},
               {"aten::eq.Tensor_out", "aten::eq.Scalar_out", false},
               {"aten::ne.Tensor_out", "aten::ne.Scalar_out", false},
               {"aten::lt.Tensor_out", "aten::lt.Scalar_out", false},
               {"aten::le.Tensor_out", "aten::le.Scalar_out", false},
               {"aten::gt.Tensor_out", "aten::gt.Scalar_out", false},
               {"aten::ge.Tensor_out", "aten::ge.Scalar_out", false}};
  static const int64_t values[] = {0, 1, -1, 7, INT64_MAX, INT64_MIN};
  enum { VALUES = sizeof values / sizeof *values };
  (void)state;
  for (size_t i = 0; i < VALUES * VALUES; ++i) {
    const int64_t a[2] = {values[i / VALUES], 0};
    const int64_t b[2] = {values[i % VALUES], 0};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; ++k) {
      const bool has_alpha = pairs[k].has_alpha;
      const int64_t many =
          first_of_integers(pairs[k].with_tensor, has_alpha, false, a, b, 2);
      assert_int_equal(many, first_of_integers(pairs[k].with_tensor, has_alpha,
                                               false, a, b, 1));
      assert_int_equal(many, first_of_integers(pairs[k].with_number, has_alpha,
                                               true, a, b, 1));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_few_elements_get_the_bits_of_many),
      cmocka_unit_test(one_integer_gets_the_result_of_many),
      cmocka_unit_test(pairs_broadcast),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(bitwise_operators_take_a_number),
      cmocka_unit_test(the_smallest_integer_divides_by_minus_one),
      cmocka_unit_test(a_divisor_of_zero_is_refused),
      cmocka_unit_test(complex_operands_are_refused_with_the_cause),
      cmocka_unit_test(comparisons_handle_nan_and_signed_zero),
      cmocka_unit_test(mixed_types_are_promoted),
      cmocka_unit_test(floats_are_not_written_to_integers),
      cmocka_unit_test(where_chooses_under_a_broadcast_mask),
      cmocka_unit_test(functions_read_strided_tensors),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
