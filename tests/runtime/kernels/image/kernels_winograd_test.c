// Winograd's form of a convolution: the bits that its definition gives
// (runtime/kernels/simd/f32/winograd_microkernels.h), for every instruction set
// and number of threads, with a chain behind it and without; and sums of double
// beside it.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

static etx_diag diag;

enum {
  ROUNDS = TEST_ROUNDS(150),
  MOST = 60000,  // elements of a tensor
  MOST_WORK = 3000000,
};

static float x[MOST], weights[MOST], panels[MOST], sums[MOST], same[MOST];
static float bias[96], row[200];
static const float one[] = {1.25f};

typedef struct winograd_case {
  int32_t input[4], weight[4], out[4];
  int64_t padding[2];
  bool has_bias;
} winograd_case;

static size_t elements_of(const int32_t* sizes) {
  return (size_t)sizes[0] * (size_t)sizes[1] * (size_t)sizes[2] *
         (size_t)sizes[3];
}

static winograd_case random_convolution(void) {
  static const int32_t sizes[] = {1, 2, 3, 7, 8, 14, 15, 28, 33, 57, 120};
  static const int32_t counts[] = {1, 2, 5, 16, 31, 32, 33, 64, 70};
  winograd_case c = {.has_bias = test_random_bits() % 2 == 0};
  c.input[0] = (int32_t)test_random_integer(1, 2);
  c.input[1] = c.weight[1] = counts[test_random_bits() % 9];
  c.out[0] = c.input[0];
  c.out[1] = c.weight[0] = 16 * (int32_t)test_random_integer(1, 5);
  for (size_t d = 0; d < 2; ++d) {
    c.input[2 + d] = sizes[test_random_bits() % 11];
    c.padding[d] = test_random_integer(0, 3);
    c.weight[2 + d] = 3;
    c.out[2 + d] = c.input[2 + d] + 2 * (int32_t)c.padding[d] - 2;
    if (c.out[2 + d] < 1) c.out[2 + d] = 0;
  }
  return c;
}

// ------------------------------------------------ the definition

static float seen_at(const winograd_case* c, size_t plane, int64_t y,
                     int64_t z) {
  y -= c->padding[0];
  z -= c->padding[1];
  if (y < 0 || y >= c->input[2] || z < 0 || z >= c->input[3]) return 0;
  return x[(plane * (size_t)c->input[2] + (size_t)y) * (size_t)c->input[3] +
           (size_t)z];
}

static void transform_four(const float* d, size_t step, float* out) {
  out[0] = d[0] - d[2 * step];
  out[step] = d[step] + d[2 * step];
  out[2 * step] = d[2 * step] - d[step];
  out[3 * step] = d[step] - d[3 * step];
}

static void transform_weight(const float* g, size_t step, float* out,
                             size_t out_step) {
  const float both = g[0] + g[2 * step];
  out[0] = g[0];
  out[out_step] = (both + g[step]) * 0.5f;
  out[2 * out_step] = (both - g[step]) * 0.5f;
  out[3 * out_step] = g[2 * step];
}

// M += U V of one channel.
static void add_channel(const winograd_case* c, size_t plane, int64_t y,
                        int64_t z, const float* g, float* m) {
  float d[16], rows[16], u[16], half[12];
  for (int64_t i = 0; i < 16; ++i) {
    d[i] = seen_at(c, plane, y + i / 4, z + i % 4);
  }
  for (size_t i = 0; i < 4; ++i) transform_four(d + i, 4, rows + i);
  for (size_t i = 0; i < 4; ++i) transform_four(rows + 4 * i, 1, d + 4 * i);
  for (size_t i = 0; i < 3; ++i) transform_weight(g + i, 3, half + i, 3);
  for (size_t i = 0; i < 4; ++i) {
    transform_weight(half + 3 * i, 1, u + 4 * i, 1);
  }
  for (size_t i = 0; i < 16; ++i) m[i] = fmaf(u[i], d[i], m[i]);
}

static void add_tile(const winograd_case* c, size_t image, size_t channel,
                     int64_t y, int64_t z) {
  const size_t channels = (size_t)c->input[1];
  float m[16] = {0}, half[8];
  for (size_t i = 0; i < channels; ++i) {
    add_channel(c, image * channels + i, y, z,
                weights + (channel * channels + i) * 9, m);
  }
  for (size_t i = 0; i < 4; ++i) {
    half[i] = m[i] + m[4 + i] + m[8 + i];
    half[4 + i] = m[4 + i] - m[8 + i] - m[12 + i];
  }
  for (int64_t i = 0; i < 4; ++i) {
    const float* const h = half + i / 2 * 4;
    const float sum = i % 2 == 0 ? h[0] + h[1] + h[2] : h[1] - h[2] - h[3];
    const int64_t to_y = y + i / 2, to_x = z + i % 2;
    if (to_y >= c->out[2] || to_x >= c->out[3]) continue;
    const size_t plane = image * (size_t)c->out[1] + channel;
    sums[(plane * (size_t)c->out[2] + (size_t)to_y) * (size_t)c->out[3] +
         (size_t)to_x] = sum + (c->has_bias ? bias[channel] : -0.0f);
  }
}

static void compute_sums(const winograd_case* c) {
  for (size_t image = 0; image < (size_t)c->out[0]; ++image) {
    for (size_t channel = 0; channel < (size_t)c->out[1]; ++channel) {
      for (int64_t y = 0; y < c->out[2]; y += 2) {
        for (int64_t z = 0; z < c->out[3]; z += 2) {
          add_tile(c, image, channel, y, z);
        }
      }
    }
  }
}

// ------------------------------------------------ calls

static void begin(test_call* call, const winograd_case* c, const char* text) {
  const int32_t sizes[] = {c->weight[0] / 16, c->weight[1], 3, 3, 16};
  const size_t taps = (size_t)c->weight[1] * 9;
  for (size_t i = 0; i < elements_of(c->weight); ++i) {
    const size_t channel = i / taps, at = channel / 16 * taps + i % taps;
    panels[at * 16 + channel % 16] = weights[i];
  }
  test_call_begin(call, "etx::convolution_winograd.out");
  // The elements of a row are neighbours in memory, or those of a column are.
  const bool is_turned = test_random_bits() % 4 == 0;
  const int32_t high = c->input[2], wide = c->input[3];
  const int32_t plane = high * wide;
  const int32_t strides[] = {c->input[1] * plane, plane, 1, high};
  if (is_turned) {
    static float turned[MOST];
    for (size_t i = 0; i < elements_of(c->input); ++i) {
      const size_t from = i / (size_t)plane * (size_t)plane;
      const size_t at = i % (size_t)plane;
      turned[from + at % (size_t)wide * (size_t)high + at / (size_t)wide] =
          x[i];
    }
    test_call_tensor(call, ETX_DTYPE_FLOAT32, 4, c->input, strides, turned);
  } else {
    test_call_floats(call, 4, c->input, x);
  }
  test_call_floats(call, 5, sizes, panels);
  if (c->has_bias) {
    test_call_floats(call, 1, c->weight, bias);
  } else {
    test_call_none(call);
  }
  test_call_integers(call, 2, c->padding);
  test_call_floats(call, 4, c->out, same);
  test_call_floats(call, 1, (const int32_t[]){1}, one);
  test_call_floats(call, 1, &c->out[3], row);
  // If the chain adds a row, it is computed by a separate operator.
  if (strchr(text, '2') == NULL) {
    --call->count;
    test_call_gather_list(call, 2);
  } else {
    test_call_gather_list(call, 3);
  }
  test_call_string(call, text);
}

static void expect_bits(const winograd_case* c, const char* text) {
  test_call chain;
  test_call_begin(&chain, "etx::chain.out");
  test_call_floats(&chain, 4, c->out, sums);
  test_call_floats(&chain, 4, c->out, same);
  test_call_floats(&chain, 1, (const int32_t[]){1}, one);
  test_call_floats(&chain, 1, &c->out[3], row);
  test_call_gather_list(&chain, 3);
  test_call_string(&chain, text);
  assert_ok(test_call_run(&chain, ETX_DTYPE_FLOAT32));
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    test_call call;
    begin(&call, c, text);
    call.instruction_set = (etx_instruction_set)set;
    call.threads = (size_t)test_random_integer(1, 4);
    assert_ok(test_call_run(&call, ETX_DTYPE_FLOAT32));
    if (memcmp(test_call_result(&call, 0)->data,
               test_call_result(&chain, 0)->data,
               elements_of(c->out) * sizeof(float)) != 0) {
      fail_msg("%d x %d, channels %d to %d, '%s' with the set '%s'",
               c->input[2], c->input[3], c->input[1], c->out[1], text,
               etx_instruction_set_name((etx_instruction_set)set));
    }
    test_call_end(&call);
  }
  test_call_end(&chain);
}

static void draw(void) {
  test_random_floats(x, MOST, 3);
  test_random_floats(weights, MOST, 3);
  test_random_floats(same, MOST, 3);
  test_random_floats(bias, 96, 3);
  test_random_floats(row, 200, 3);
  x[test_random_bits() % 500] = -0.0f;
  x[test_random_bits() % 500] = 1e-45f;
}

// Draws cases until one is small enough, then draws its operands.
static winograd_case draw_convolution(void) {
  for (;;) {
    const winograd_case c = random_convolution();
    const size_t out = elements_of(c.out), weight = elements_of(c.weight);
    if (out == 0 || elements_of(c.input) > MOST || out > MOST ||
        weight > MOST || out * (size_t)c.input[1] > MOST_WORK) {
      continue;
    }
    draw();
    compute_sums(&c);
    return c;
  }
}

// ------------------------------------------------ tests

static void results_have_the_bits_of_the_definition(void** state) {
  // Chains with a fast path in the store, and others.
  static const char* const texts[] = {
      "x",      "x relu", "x relu6",      "x 0 add relu", "0 x add relu6",
      "x silu", "x neg",  "x 1 add tanh", "x 2 add relu", "x 0 multiply",
      "x x add"};
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS; ++round) {
    const winograd_case c = draw_convolution();
    expect_bits(&c, texts[round % (sizeof texts / sizeof *texts)]);
  }
}

// The direct sum of one result, and the sum of its magnitudes.
static double direct_sum(const winograd_case* c, size_t at, double* magnitude) {
  const size_t plane = (size_t)(c->out[2] * c->out[3]);
  const size_t channel = at / plane % (size_t)c->out[1];
  const size_t image = at / plane / (size_t)c->out[1];
  const int64_t y = (int64_t)(at % plane) / c->out[3];
  const int64_t z = (int64_t)(at % plane) % c->out[3];
  double sum = c->has_bias ? (double)bias[channel] : 0;
  *magnitude = fabs(sum);
  for (size_t i = 0; i < (size_t)c->input[1]; ++i) {
    for (int64_t k = 0; k < 9; ++k) {
      const double product =
          (double)weights[(channel * (size_t)c->input[1] + i) * 9 + (size_t)k] *
          (double)seen_at(c, image * (size_t)c->input[1] + i, y + k / 3,
                          z + k % 3);
      sum += product;
      *magnitude += fabs(product);
    }
  }
  return sum;
}

// The error of a result is bounded by the largest sum of magnitudes nearby,
// because terms of neighbouring results are added and subtracted again.
static void results_are_near_the_direct_sums(void** state) {
  (void)state;
  test_random_start();
  for (size_t round = 0; round < TEST_ROUNDS(20); ++round) {
    const winograd_case c = draw_convolution();
    double largest = 0, off = 0;
    for (size_t i = 0; i < elements_of(c.out); ++i) {
      double magnitude;
      const double away = fabs(direct_sum(&c, i, &magnitude) - (double)sums[i]);
      if (away > off) off = away;
      if (magnitude > largest) largest = magnitude;
    }
    assert_true(off <= 1e-6 * largest + 1e-6);
  }
}

static void panels_of_no_channels_are_refused(void** state) {
  (void)state;
  const winograd_case c = {.input = {1, 0, 4, 4},
                           .weight = {16, 0, 3, 3},
                           .out = {1, 16, 4, 4},
                           .padding = {1, 1}};
  test_call call;
  begin(&call, &c, "x");
  assert_true(test_call_run(&call, ETX_DTYPE_FLOAT32) != ETX_OK);
  test_call_end(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(panels_of_no_channels_are_refused),
      cmocka_unit_test(results_have_the_bits_of_the_definition),
      cmocka_unit_test(results_are_near_the_direct_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
