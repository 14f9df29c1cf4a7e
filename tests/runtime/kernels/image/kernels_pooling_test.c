// max_pool2d gives the same bits as max_pool2d_with_indices, whose kernel is
// simpler, on every instruction set of this machine.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(300), MAX_ELEMENTS = 12000 };

static float x[MAX_ELEMENTS];

typedef struct pooling_case {
  int32_t sizes[4];
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool ceil_mode;  // as in PyTorch
} pooling_case;

static pooling_case random_pooling(void) {
  static const int32_t sizes[] = {1, 3, 7, 8, 14, 15, 17, 33, 56};
  pooling_case p = {.sizes = {(int32_t)test_random_integer(1, 2),
                              (int32_t)test_random_integer(1, 3)}};
  for (size_t d = 0; d < 2; ++d) {
    p.sizes[2 + d] = sizes[test_random_bits() % 9];
    p.kernel[d] = test_random_integer(1, 4);
    p.stride[d] = test_random_integer(1, 3);
    p.padding[d] = test_random_integer(0, p.kernel[d] / 2);
    p.dilation[d] = test_random_integer(1, 2);
  }
  p.ceil_mode = test_random_bits() % 2 == 0;
  return p;
}

// False if a window does not fit the image, or the image is too large.
static bool has_results(const pooling_case* p) {
  for (size_t d = 0; d < 2; ++d) {
    const int64_t extent = (p->kernel[d] - 1) * p->dilation[d] + 1;
    if (p->sizes[2 + d] + 2 * p->padding[d] < extent) return false;
  }
  return (size_t)p->sizes[0] * (size_t)p->sizes[1] * (size_t)p->sizes[2] *
             (size_t)p->sizes[3] <=
         MAX_ELEMENTS;
}

static void add_arguments(test_call* call, const char* name,
                          const pooling_case* p) {
  test_call_begin(call, name);
  test_call_floats(call, 4, p->sizes, x);
  test_call_integers(call, 2, p->kernel);
  test_call_integers(call, 2, p->stride);
  test_call_integers(call, 2, p->padding);
  test_call_integers(call, 2, p->dilation);
  test_call_boolean(call, p->ceil_mode);
}

static void fill_input(void) {
  static const float rare[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f};
  test_random_floats(x, MAX_ELEMENTS, 3);
  for (size_t i = 0; i < 40; ++i) x[test_random_bits() % 500] = rare[i % 5];
}

static void check(const pooling_case* p) {
  test_call reference;
  add_arguments(&reference, "aten::max_pool2d_with_indices.out", p);
  assert_ok(test_call_run(&reference, TEST_CALL_RULE_DTYPE));
  const etx_tensor* expected = test_call_result(&reference, 0);
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    test_call call;
    add_arguments(&call, "etx::max_pool2d.out", p);
    call.instruction_set = (etx_instruction_set)set;
    call.threads = (size_t)test_random_integer(1, 4);
    assert_ok(test_call_run(&call, ETX_DTYPE_FLOAT32));
    assert_memory_equal(test_call_result(&call, 0)->data, expected->data,
                        etx_tensor_numel(expected) * sizeof(float));
    test_call_end(&call);
  }
  test_call_end(&reference);
}

static void max_pool_matches_max_pool_with_indices(void** state) {
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS;) {
    const pooling_case p = random_pooling();
    if (!has_results(&p)) continue;
    fill_input();
    check(&p);
    ++round;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(max_pool_matches_max_pool_with_indices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
