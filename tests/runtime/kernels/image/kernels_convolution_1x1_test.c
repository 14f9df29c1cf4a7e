// Convolutions with a 1 x 1 window over weights in panels give the bits that
// they give over weights as stored, for every instruction set and number of
// threads.

#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

static etx_diag diag;

enum {
  ROUNDS = TEST_ROUNDS(150),
  MOST = 120000,
  MOST_WORK = 6000000,
  MOST_RESULTS = 160
};

static float x[MOST], weights[MOST], panels[MOST], same[MOST];
static float bias[MOST_RESULTS], row[64];

typedef struct conv_1x1_case {
  int32_t input[4], weight[4], out[4];
  bool has_bias;
} conv_1x1_case;

static size_t elements_of(const int32_t* sizes) {
  return (size_t)sizes[0] * (size_t)sizes[1] * (size_t)sizes[2] *
         (size_t)sizes[3];
}

static conv_1x1_case random_convolution(void) {
  static const int32_t channels[] = {1, 3, 16, 50, 64, 128, 160, 161, 200, 333};
  static const int32_t results[] = {16, 32, 48, 96, MOST_RESULTS};
  const int32_t in = channels[test_random_bits() % 10];
  const int32_t out = results[test_random_bits() % 5];
  const int32_t images = (int32_t)test_random_integer(1, 2);
  const int32_t high = (int32_t)test_random_integer(1, 15);
  // A single position over weights as stored is computed as a matrix product,
  // whose sum has another order.
  const int32_t wide = (int32_t)test_random_integer(high == 1 ? 2 : 1, 15);
  return (conv_1x1_case){.input = {images, in, high, wide},
                         .weight = {out, in, 1, 1},
                         .out = {images, out, high, wide},
                         .has_bias = test_random_bits() % 2 == 0};
}

static void add_operands(test_call* call, const conv_1x1_case* c, bool packed) {
  const int32_t sizes[] = {c->weight[0] / 16, c->weight[1], 1, 1, 16};
  test_call_floats(call, 4, c->input, x);
  if (packed) {
    test_call_floats(call, 5, sizes, panels);
  } else {
    test_call_floats(call, 4, c->weight, weights);
  }
  if (c->has_bias) {
    test_call_floats(call, 1, c->weight, bias);
  } else {
    test_call_none(call);
  }
}

static void add_chain(test_call* call, const conv_1x1_case* c,
                      const char* text) {
  test_call_floats(call, 4, c->out, same);
  // If the chain adds a row, it is computed by a separate operator.
  const bool has_row = strchr(text, '1') != NULL;
  if (has_row) test_call_floats(call, 1, &c->out[3], row);
  test_call_gather_list(call, has_row ? 2 : 1);
  test_call_string(call, text);
}

static void run_as_stored(test_call* call, const conv_1x1_case* c,
                          const char* text) {
  static const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
  test_call_begin(call, "etx::convolution_chain.out");
  call->instruction_set = ETX_SET_BASE;
  add_operands(call, c, false);
  test_call_integers(call, 2, ones);
  test_call_integers(call, 2, zeros);
  test_call_integers(call, 2, ones);
  test_call_boolean(call, false);
  test_call_integers(call, 2, zeros);
  test_call_integer(call, 1);
  add_chain(call, c, text);
  assert_ok(test_call_run(call, ETX_DTYPE_FLOAT32));
}

static void check(const conv_1x1_case* c, const char* text) {
  const size_t inner = (size_t)c->weight[1];
  for (size_t i = 0; i < elements_of(c->weight); ++i) {
    const size_t channel = i / inner, at = channel / 16 * inner + i % inner;
    panels[at * 16 + channel % 16] = weights[i];
  }
  test_call stored;
  run_as_stored(&stored, c, text);
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    test_call call;
    test_call_begin(&call, "etx::convolution_panels.out");
    call.instruction_set = (etx_instruction_set)set;
    call.threads = (size_t)test_random_integer(1, 4);
    add_operands(&call, c, true);
    add_chain(&call, c, text);
    assert_ok(test_call_run(&call, ETX_DTYPE_FLOAT32));
    if (memcmp(test_call_result(&call, 0)->data,
               test_call_result(&stored, 0)->data,
               elements_of(c->out) * sizeof(float)) != 0) {
      fail_msg("%d x %d, channels %d to %d, '%s' with the set '%s'",
               c->input[2], c->input[3], c->input[1], c->out[1], text,
               etx_instruction_set_name((etx_instruction_set)set));
    }
    test_call_end(&call);
  }
  test_call_end(&stored);
}

static void panels_give_the_bits_of_weights_as_stored(void** state) {
  static const char* const texts[] = {"x",       "x relu6", "x 0 add relu",
                                      "x silu",  "x 1 add", "x 0 multiply",
                                      "0 x add", "x relu"};
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS;) {
    const conv_1x1_case c = random_convolution();
    const size_t out = elements_of(c.out);
    if (elements_of(c.input) > MOST || out > MOST ||
        elements_of(c.weight) > MOST || out * (size_t)c.input[1] > MOST_WORK) {
      continue;
    }
    // Some sums of products underflow to 0 or -0.
    const float scale = test_random_bits() % 4 == 0 ? 0x1p-76f : 3;
    test_random_floats(x, MOST, scale);
    test_random_floats(weights, MOST, scale);
    test_random_floats(same, MOST, 3);
    test_random_floats(bias, MOST_RESULTS, 3);
    test_random_floats(row, 64, 3);
    check(&c, texts[round++ % (sizeof texts / sizeof *texts)]);
  }
}

// So many positions that the product of two counts needs more than 32 bits.
static void large_images_are_covered_completely(void** state) {
  enum { SIDE = 720, RESULTS = 16 };
  static float large[SIDE * SIDE];
  static const float one_each[RESULTS] = {1, 2,  3,  4,  5,  6,  7,  8,
                                          9, 10, 11, 12, 13, 14, 15, 16};
  static const int32_t image[] = {1, 1, SIDE, SIDE};
  static const int32_t stored[] = {1, 1, 1, 1, RESULTS};
  (void)state;
  for (size_t i = 0; i < SIDE * SIDE; ++i) large[i] = (float)(i % 1000);
  test_call call;
  test_call_begin(&call, "etx::convolution_panels.out");
  test_call_floats(&call, 4, image, large);
  test_call_floats(&call, 5, stored, one_each);
  test_call_none(&call);
  test_call_gather_list(&call, 0);
  test_call_string(&call, "x");
  assert_ok(test_call_run(&call, ETX_DTYPE_FLOAT32));
  const float* const found = test_call_result(&call, 0)->data;
  for (size_t i = 0; i < (size_t)RESULTS * SIDE * SIDE; ++i) {
    const float wanted = large[i % (SIDE * SIDE)] * one_each[i / (SIDE * SIDE)];
    if (found[i] != wanted) fail_msg("result %zu", i);
  }
  test_call_end(&call);
}

static void panels_of_no_channels_are_refused(void** state) {
  (void)state;
  const conv_1x1_case c = {.input = {1, 0, 4, 4}, .weight = {16, 0, 1, 1}};
  test_call call;
  test_call_begin(&call, "etx::convolution_panels.out");
  add_operands(&call, &c, true);
  test_call_gather_list(&call, 0);
  test_call_string(&call, "x");
  assert_true(test_call_run(&call, ETX_DTYPE_FLOAT32) != ETX_OK);
  test_call_end(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(panels_give_the_bits_of_weights_as_stored),
      cmocka_unit_test(large_images_are_covered_completely),
      cmocka_unit_test(panels_of_no_channels_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
