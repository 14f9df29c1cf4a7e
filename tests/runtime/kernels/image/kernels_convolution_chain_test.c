// A convolution with a chain as its epilogue gives the bits of a convolution
// followed by a chain, for every number of threads and instruction set.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(200), MOST = 30000 };

// A row of a transposed convolution has up to 32 x 3 + 1 results.
static float x[MOST], weights[MOST], bias[96], same[MOST], row[97];
static const float one[] = {1.25f};

typedef struct conv_chain_case {
  int32_t input[4], weight[4], out[4];
  int64_t stride[2], padding[2], groups;
  bool has_bias, transposed;
} conv_chain_case;

// Chains with a fast path in the store, and others.
static const char* const texts[] = {
    "x relu",       "x relu6",          "x 0 add",    "0 x add relu",
    "x 0 add relu", "x 0 add relu6",    "x silu",     "x hardswish",
    "x 1 add relu", "x 1 multiply",     "x x add",    "x 0 multiply relu",
    "x relu 0 add", "x 0 add 1 divide", "x neg relu", "x 2 add relu",
};

static conv_chain_case random_convolution(void) {
  static const int32_t sizes[] = {1, 3, 7, 8, 13, 14, 15, 16, 28, 33};
  const bool is_depthwise = test_random_bits() % 2 == 0;
  conv_chain_case c = {.groups = is_depthwise ? test_random_integer(1, 9) : 1,
                       .has_bias = test_random_bits() % 2 == 0,
                       .transposed = test_random_bits() % 3 == 0};
  // Many channels, for which the kernel may use channels as lanes.
  const bool is_wide = !is_depthwise && test_random_bits() % 2 == 0;
  const int32_t in =
      is_depthwise ? 1 : (int32_t)test_random_integer(1, is_wide ? 40 : 9);
  c.input[0] = (int32_t)test_random_integer(1, 2);
  c.input[1] = (int32_t)c.groups * in;
  c.weight[1] = in;
  c.weight[0] = is_depthwise ? (int32_t)c.groups
                : is_wide    ? (int32_t)test_random_integer(32, 96)
                             : (int32_t)test_random_integer(1, 20);
  // Windows of 3 x 3 neighbours, whose planes have a fast path.
  const bool is_square = is_depthwise && test_random_bits() % 2 == 0;
  // Channels in multiples of eight, whose sums may stay in registers until they
  // are stored.
  const bool is_even = !is_depthwise && test_random_bits() % 2 == 0;
  const bool is_point = is_even && test_random_bits() % 2 == 0;
  const int32_t neighbours = (int32_t)test_random_integer(1, 3) * 2 + 1;
  if (is_even) c.weight[0] = (c.weight[0] + 7) / 8 * 8;
  for (size_t d = 0; d < 2; ++d) {
    const int32_t kernel = (int32_t)test_random_integer(0, 2) * 2 + 1;
    c.input[2 + d] = sizes[test_random_bits() % 10];
    c.weight[2 + d] = kernel;
    c.stride[d] = test_random_integer(1, 3);
    if (is_square) c.weight[2 + d] = neighbours;
    if (is_point) c.weight[2 + d] = (int32_t)(c.stride[d] = 1);
    if (is_square && d == 1) c.stride[1] = c.stride[0];
    c.padding[d] = c.weight[2 + d] / 2;
    const int32_t last = c.input[2 + d] - 1, stride = (int32_t)c.stride[d];
    c.out[2 + d] = 1 + (c.transposed ? last * stride : last / stride);
  }
  c.out[0] = c.input[0];
  c.out[1] = c.weight[0];
  return c;
}

static void begin(test_call* call, const char* name, const conv_chain_case* c) {
  test_call_begin(call, name);
  test_call_floats(call, 4, c->input, x);
  const int32_t turned[] = {c->input[1], c->weight[0] / (int32_t)c->groups,
                            c->weight[2], c->weight[3]};
  test_call_floats(call, 4, c->transposed ? turned : c->weight, weights);
  if (c->has_bias) {
    test_call_floats(call, 1, &c->weight[0], bias);
  } else {
    test_call_none(call);
  }
  test_call_integers(call, 2, c->stride);
  test_call_integers(call, 2, c->padding);
  test_call_integers(call, 2, (const int64_t[]){1, 1});
  test_call_boolean(call, c->transposed);
  test_call_integers(call, 2, (const int64_t[]){0, 0});
  test_call_integer(call, c->groups);
}

static void add_chain(test_call* call, const conv_chain_case* c,
                      const char* text) {
  test_call_floats(call, 4, c->out, same);
  test_call_floats(call, 1, (const int32_t[]){1}, one);
  // If the chain adds a row, it is computed by a separate operator.
  const bool has_row = strchr(text, '2') != NULL;
  if (has_row) test_call_floats(call, 1, &c->out[3], row);
  test_call_gather_list(call, has_row ? 3 : 2);
  test_call_string(call, text);
}

static void check(const conv_chain_case* c, const char* text) {
  test_call plain, chain;
  begin(&plain, "aten::convolution.out", c);
  plain.instruction_set = ETX_SET_BASE;
  assert_ok(test_call_run(&plain, ETX_DTYPE_FLOAT32));
  const etx_tensor* sums = test_call_result(&plain, 0);
  test_call_begin(&chain, "etx::chain.out");
  test_call_floats(&chain, 4, c->out, sums->data);
  add_chain(&chain, c, text);
  assert_ok(test_call_run(&chain, ETX_DTYPE_FLOAT32));
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    test_call both;
    begin(&both, "etx::convolution_chain.out", c);
    both.instruction_set = (etx_instruction_set)set;
    both.threads = (size_t)test_random_integer(1, 4);
    add_chain(&both, c, text);
    assert_ok(test_call_run(&both, ETX_DTYPE_FLOAT32));
    if (memcmp(test_call_result(&both, 0)->data,
               test_call_result(&chain, 0)->data,
               etx_tensor_numel(sums) * sizeof(float)) != 0) {
      fail_msg("'%s' differs with the set '%s'", text,
               etx_instruction_set_name((etx_instruction_set)set));
    }
    test_call_end(&both);
  }
  test_call_end(&plain);
  test_call_end(&chain);
}

static size_t elements_of(const int32_t* sizes) {
  return (size_t)sizes[0] * (size_t)sizes[1] * (size_t)sizes[2] *
         (size_t)sizes[3];
}

static void draw(void) {
  static const float rare[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-45f};
  // Some sums of products underflow to 0 or -0.
  const float scale = test_random_bits() % 4 == 0 ? 0x1p-76f : 3;
  test_random_floats(x, MOST, scale);
  test_random_floats(weights, MOST, scale);
  test_random_floats(same, MOST, 3);
  test_random_floats(bias, 96, 3);
  test_random_floats(row, 97, 3);
  for (size_t i = 0; i < 5; ++i) {
    x[test_random_bits() % 500] = rare[i];
    // At most one operand of a sum is NaN: which NaN the sum of two becomes is
    // not defined.
    if (i > 0) same[test_random_bits() % 500] = rare[i];
  }
}

static void chains_in_the_store_give_the_bits_of_separate_chains(void** state) {
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS;) {
    const conv_chain_case c = random_convolution();
    const size_t taps = elements_of(c.weight) / (size_t)c.weight[0];
    if (elements_of(c.input) > MOST || elements_of(c.out) > MOST ||
        elements_of(c.weight) > MOST || elements_of(c.out) * taps > 1000000) {
      continue;
    }
    draw();
    check(&c, texts[round % (sizeof texts / sizeof *texts)]);
    ++round;
  }
}

// Each element is multiplied by the same weight.
static const conv_chain_case one_weight = {.input = {1, 1, 2, 2},
                                           .weight = {1, 1, 1, 1},
                                           .out = {1, 1, 2, 2},
                                           .stride = {1, 1},
                                           .groups = 1};

// A product that underflows to -0 is not above 0. A sum that is NaN stays NaN.
static void relu_gives_zero_up_to_zero_and_keeps_nan(void** state) {
  (void)state;
  const conv_chain_case c = one_weight;
  memcpy(x, (const float[]){-1e-30f, 1e-45f, NAN, INFINITY}, 4 * sizeof *x);
  weights[0] = 1e-30f;
  check(&c, "x relu");
  weights[0] = 1;
  check(&c, "x relu");
  check(&c, "x relu6");
}

static void unknown_steps_are_refused(void** state) {
  (void)state;
  const conv_chain_case c = one_weight;
  test_call call;
  begin(&call, "etx::convolution_chain.out", &c);
  add_chain(&call, &c, "x cosh");
  assert_int_equal(test_call_run(&call, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
  test_call_end(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_in_the_store_give_the_bits_of_separate_chains),
      cmocka_unit_test(relu_gives_zero_up_to_zero_and_keeps_nan),
      cmocka_unit_test(unknown_steps_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
