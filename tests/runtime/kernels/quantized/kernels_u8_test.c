// uint8 operators: convolution, depthwise convolution, linear, max pooling and
// mean. Every result is bit-equal to a reference with 64-bit sums and the
// requantisation that op_schema.def defines, for every instruction set and
// number of threads.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  MAX_ELEMENTS = 1 << 18,  // elements of a tensor
  MAX_CHANNELS = 600,      // most channels of a result
  MAX_WORK = 1 << 20,      // multiply-adds of a case
  COLUMNS = 16,            // columns of a panel
  INTERLEAVE = 4,          // neighbouring elements of a column
};

// A linear operator is a case with a 1 x 1 window.
typedef struct image_case {
  int32_t in[4], out[4];  // [N, H, W, C]
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  int64_t groups, zero;
  int64_t out_zero, out_min, out_max;
  bool is_float, has_bias;
  bool ceil_mode;  // of a pool
} image_case;

static uint8_t image[MAX_ELEMENTS];
static int8_t weights[MAX_ELEMENTS];  // [O, kernel, I / groups]
static int8_t packed[MAX_ELEMENTS * COLUMNS];
static int32_t offsets[MAX_CHANNELS];
static float scales[MAX_CHANNELS], bias[MAX_CHANNELS];
static uint8_t expected_bytes[MAX_ELEMENTS];
static float expected_floats[MAX_ELEMENTS];

static size_t elements_of(const int32_t* sizes) {
  return (size_t)sizes[0] * (size_t)sizes[1] * (size_t)sizes[2] *
         (size_t)sizes[3];
}

static size_t inner_of(const image_case* c) {
  return (size_t)(c->kernel[0] * c->kernel[1] * (c->in[3] / c->groups));
}

static bool one_in(uint32_t n) { return test_random_bits() % n == 0; }

// ------------------------------------------------ reference

static int64_t byte_at(const image_case* c, int64_t n, int64_t y, int64_t x,
                       int64_t channel) {
  if (y < 0 || y >= c->in[1] || x < 0 || x >= c->in[2]) return c->zero;
  return image[((n * c->in[1] + y) * c->in[2] + x) * c->in[3] + channel];
}

static int64_t sum_at(const image_case* c, int64_t n, int64_t y, int64_t x,
                      int64_t o) {
  const int64_t group_channels = c->in[3] / c->groups;
  const int64_t first = o / (c->out[3] / c->groups) * group_channels;
  const int8_t* w = weights + (size_t)o * inner_of(c);
  int64_t sum = 0;
  for (int64_t ky = 0; ky < c->kernel[0]; ++ky) {
    for (int64_t kx = 0; kx < c->kernel[1]; ++kx) {
      const int64_t at_y =
          y * c->stride[0] - c->padding[0] + ky * c->dilation[0];
      const int64_t at_x =
          x * c->stride[1] - c->padding[1] + kx * c->dilation[1];
      for (int64_t i = 0; i < group_channels; ++i) {
        sum += byte_at(c, n, at_y, at_x, first + i) * *w++;
      }
    }
  }
  return sum;
}

static float value_of(const image_case* c, int64_t sum, int64_t o) {
  const float scaled = (float)(sum + offsets[o]) * scales[o];
  return c->has_bias ? scaled + bias[o] : scaled;
}

static uint8_t byte_of(const image_case* c, float value) {
  if (isnan(value)) return (uint8_t)c->out_min;
  const double rounded = (double)nearbyintf(value) + (double)c->out_zero;
  if (rounded < (double)c->out_min) return (uint8_t)c->out_min;
  if (rounded > (double)c->out_max) return (uint8_t)c->out_max;
  return (uint8_t)rounded;
}

static void expect_sums(const image_case* c) {
  size_t at = 0;
  for (int64_t n = 0; n < c->out[0]; ++n) {
    for (int64_t y = 0; y < c->out[1]; ++y) {
      for (int64_t x = 0; x < c->out[2]; ++x) {
        for (int64_t o = 0; o < c->out[3]; ++o, ++at) {
          expected_floats[at] = value_of(c, sum_at(c, n, y, x, o), o);
          expected_bytes[at] = byte_of(c, expected_floats[at]);
        }
      }
    }
  }
}

// ------------------------------------------------ packed weights

// Panels of sixteen output channels, for each group.
static void pack_panels(const image_case* c, int32_t sizes[4]) {
  const size_t inner = inner_of(c), groups = (size_t)c->groups;
  const size_t group_channels = (size_t)c->out[3] / groups;
  const size_t panels = (group_channels + COLUMNS - 1) / COLUMNS;
  const size_t fours = (inner + INTERLEAVE - 1) / INTERLEAVE;
  memset(packed, 0, groups * panels * fours * COLUMNS * INTERLEAVE);
  for (size_t o = 0; o < (size_t)c->out[3]; ++o) {
    const size_t panel =
        o / group_channels * panels + o % group_channels / COLUMNS;
    for (size_t k = 0; k < inner; ++k) {
      const size_t row = (panel * fours + k / INTERLEAVE) * COLUMNS;
      packed[(row + o % group_channels % COLUMNS) * INTERLEAVE +
             k % INTERLEAVE] = weights[o * inner + k];
    }
  }
  sizes[0] = (int32_t)(groups * panels);
  sizes[1] = (int32_t)fours;
  sizes[2] = COLUMNS;
  sizes[3] = INTERLEAVE;
}

// Weights of a depthwise convolution, channels last.
static void pack_windows(const image_case* c, int32_t sizes[4]) {
  const size_t inner = inner_of(c), channels = (size_t)c->in[3];
  for (size_t o = 0; o < channels; ++o) {
    for (size_t k = 0; k < inner; ++k) {
      packed[k * channels + o] = weights[o * inner + k];
    }
  }
  sizes[0] = (int32_t)c->kernel[0];
  sizes[1] = (int32_t)c->kernel[1];
  sizes[2] = c->in[3];
}

// ------------------------------------------------ calls

static void add_channels(test_call* call, const image_case* c) {
  const int32_t* const channels = &c->out[3];
  test_call_tensor(call, ETX_DTYPE_INT32, 1, channels, NULL, offsets);
  test_call_floats(call, 1, channels, scales);
  if (c->has_bias) {
    test_call_floats(call, 1, channels, bias);
  } else {
    test_call_none(call);
  }
}

static void add_result(test_call* call, const image_case* c) {
  test_call_integer(call, c->out_zero);
  test_call_integer(call, c->out_min);
  test_call_integer(call, c->out_max);
  test_call_integer(call, c->is_float ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_UINT8);
}

// Equal numbers for both dimensions may be a list of one.
static void add_2d(test_call* call, const int64_t pair[2]) {
  test_call_integers(call, pair[0] == pair[1] && one_in(2) ? 1 : 2, pair);
}

static void add_windows(test_call* call, const image_case* c) {
  add_2d(call, c->stride);
  add_2d(call, c->padding);
  add_2d(call, c->dilation);
}

typedef void (*fill_call)(test_call* call, const image_case* c,
                          const int32_t* weight_sizes);

static void fill_convolution(test_call* call, const image_case* c,
                             const int32_t* weight_sizes) {
  test_call_begin(call, "etx::convolution_u8.out");
  test_call_tensor(call, ETX_DTYPE_UINT8, 4, c->in, NULL, image);
  test_call_integer(call, c->zero);
  test_call_tensor(call, ETX_DTYPE_INT8, 4, weight_sizes, NULL, packed);
  add_channels(call, c);
  add_2d(call, c->kernel);
  add_windows(call, c);
  test_call_integer(call, c->groups);
  add_result(call, c);
}

static void fill_depthwise(test_call* call, const image_case* c,
                           const int32_t* weight_sizes) {
  test_call_begin(call, "etx::depthwise_u8.out");
  test_call_tensor(call, ETX_DTYPE_UINT8, 4, c->in, NULL, image);
  test_call_integer(call, c->zero);
  test_call_tensor(call, ETX_DTYPE_INT8, 3, weight_sizes, NULL, packed);
  add_channels(call, c);
  add_windows(call, c);
  add_result(call, c);
}

// The input of linear has a random rank.
static void fill_linear(test_call* call, const image_case* c,
                        const int32_t* weight_sizes) {
  const int32_t* const in = c->in;
  const int32_t two[] = {in[0] * in[1] * in[2], in[3]};
  const int32_t three[] = {in[0], in[1] * in[2], in[3]};
  const int32_t* const sizes[] = {in + 3, two, three, in};
  const size_t rank = in[0] == 1 ? 1 : (size_t)test_random_integer(2, 4);
  test_call_begin(call, "etx::linear_u8.out");
  test_call_tensor(call, ETX_DTYPE_UINT8, rank, sizes[rank - 1], NULL, image);
  test_call_tensor(call, ETX_DTYPE_INT8, 4, weight_sizes, NULL, packed);
  add_channels(call, c);
  add_result(call, c);
}

static void check_result(const image_case* c, const test_call* call) {
  const etx_tensor* const found = test_call_result(call, 0);
  const size_t count = elements_of(c->out);
  assert_int_equal(etx_tensor_numel(found), count);
  const void* const expected =
      c->is_float ? (const void*)expected_floats : (const void*)expected_bytes;
  const size_t bytes = c->is_float ? sizeof(float) : 1;
  if (count == 0 || memcmp(found->data, expected, count * bytes) == 0) return;
  size_t at = 0;
  while (memcmp((const char*)found->data + at * bytes,
                (const char*)expected + at * bytes, bytes) == 0) {
    ++at;
  }
  fail_msg(
      "%s: result %zu of %d x %d x %d x %d differs; image %d x %d x %d, "
      "kernel %d x %d, groups %d, %zu threads, the set '%s'",
      call->op->name, at, c->out[0], c->out[1], c->out[2], c->out[3], c->in[1],
      c->in[2], c->in[3], (int)c->kernel[0], (int)c->kernel[1], (int)c->groups,
      call->threads, etx_instruction_set_name(call->instruction_set));
}

static void check_call(const image_case* c, fill_call fill,
                       const int32_t* weight_sizes) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    test_call call;
    fill(&call, c, weight_sizes);
    call.instruction_set = (etx_instruction_set)set;
    call.threads = (size_t)test_random_integer(1, 4);
    const etx_status status = test_call_run(&call, TEST_CALL_RULE_DTYPE);
    if (status != ETX_OK) fail_msg("refused: %s", call.diag.text);
    check_result(c, &call);
    test_call_end(&call);
  }
}

// ------------------------------------------------ random cases

static void random_image(size_t count, int64_t zero) {
  const int kind = (int)test_random_integer(0, 5);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = test_random_bits();
    image[i] = kind == 0   ? 255
               : kind == 1 ? (bits & 1 ? 255 : 0)
               : kind == 2 ? (uint8_t)(zero < 252 ? zero + bits % 4 : zero)
                           : (uint8_t)bits;
  }
}

static void random_weights(size_t count) {
  const int kind = (int)test_random_integer(0, 5);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = test_random_bits();
    weights[i] = kind == 0   ? -128
                 : kind == 1 ? (bits & 1 ? -128 : 127)
                 : kind == 2 ? (int8_t)(bits % 3) - 1
                 : kind == 3 ? 127
                             : (int8_t)bits;
  }
}

// Offsets that correct for the zero point, or random ones.
static void random_channels(const image_case* c) {
  const size_t inner = inner_of(c);
  const bool are_any = one_in(4), are_halves = one_in(4);
  const float spread = 300.0f / (64 * 64 * sqrtf((float)inner));
  for (size_t o = 0; o < (size_t)c->out[3]; ++o) {
    int64_t sum = 0;
    for (size_t k = 0; k < inner; ++k) sum += weights[o * inner + k];
    offsets[o] = are_any ? (int32_t)test_random_integer(-1000000, 1000000)
                         : (int32_t)(-c->zero * sum);
    scales[o] = are_halves ? 0.5f : test_random_float(spread);
    bias[o] =
        are_halves ? (float)test_random_integer(-5, 5) : test_random_float(30);
    if (c->is_float || !one_in(40)) continue;
    const float rare[] = {NAN, INFINITY, -INFINITY, 3e38f, 0, -0.0f, 1e-42f};
    scales[o] = rare[test_random_bits() % 7];
  }
}

static void random_result(image_case* c) {
  static const uint8_t ends[] = {0, 128, 255};
  c->is_float = one_in(3);
  c->has_bias = one_in(2);
  c->out_zero =
      one_in(2) ? ends[test_random_bits() % 3] : test_random_integer(0, 255);
  c->out_min = one_in(2) ? 0 : test_random_integer(0, 255);
  c->out_max = one_in(2) ? 255 : test_random_integer(c->out_min, 255);
}

static int64_t random_zero(void) {
  return one_in(3) ? (one_in(2) ? 0 : 255) : test_random_integer(0, 255);
}

static int64_t extent_of(const image_case* c, size_t i) {
  return c->dilation[i] * (c->kernel[i] - 1) + 1;
}

static void count_windows(image_case* c) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = c->in[1 + i], stride = c->stride[i];
    const int64_t span = size + 2 * c->padding[i] - extent_of(c, i);
    int64_t count = span / stride + 1;
    if (c->ceil_mode) count = (span + stride - 1) / stride + 1;
    if (c->ceil_mode && (count - 1) * stride >= size + c->padding[i]) --count;
    c->out[1 + i] = (int32_t)count;
  }
}

// Random windows and an image that they fit.
static void random_windows(image_case* c, int64_t max_kernel,
                           int64_t max_size) {
  c->in[0] = c->out[0] = one_in(20) ? 0 : (int32_t)test_random_integer(1, 3);
  for (size_t i = 0; i < 2; ++i) {
    c->kernel[i] = test_random_integer(1, max_kernel);
    c->stride[i] = test_random_integer(1, 3);
    c->dilation[i] = one_in(3) ? test_random_integer(2, 3) : 1;
    c->padding[i] = one_in(3) ? test_random_integer(0, 4) : c->kernel[i] / 2;
    const int64_t least = extent_of(c, i) - 2 * c->padding[i];
    // Sometimes an image of size 0, with padding only.
    const int64_t first = least > 0 ? least : one_in(10) ? 0 : 1;
    c->in[1 + i] = (int32_t)test_random_integer(first, first + max_size);
  }
  count_windows(c);
}

static size_t work_of(const image_case* c) {
  return elements_of(c->out) * inner_of(c);
}

static bool fits(const image_case* c) {
  return elements_of(c->in) <= MAX_ELEMENTS &&
         elements_of(c->out) <= MAX_ELEMENTS &&
         inner_of(c) * (size_t)c->out[3] <= MAX_ELEMENTS &&
         work_of(c) <= MAX_WORK;
}

static void fill_case(image_case* c) {
  c->zero = random_zero();
  random_result(c);
  random_image(elements_of(c->in), c->zero);
  random_weights(inner_of(c) * (size_t)c->out[3]);
  random_channels(c);
  expect_sums(c);
}

// ------------------------------------------------ etx::convolution_u8

// In half of the cases channels are a multiple of four, so that the kernel
// reads them in place.
static void random_groups(image_case* c) {
  const int64_t max_channels = one_in(3) ? 200 : 40;
  c->groups = one_in(2) ? 1 : one_in(2) ? 2 : test_random_integer(3, 8);
  int64_t group_channels = test_random_integer(1, max_channels);
  if (one_in(2))
    group_channels =
        (group_channels + INTERLEAVE - 1) / INTERLEAVE * INTERLEAVE;
  int64_t results = test_random_integer(1, max_channels);
  if (one_in(8)) {
    c->groups = group_channels;
    group_channels = 1;
    results = test_random_integer(1, 2);
  }
  c->in[3] = (int32_t)(group_channels * c->groups);
  c->out[3] = (int32_t)(results * c->groups);
}

static void check_convolution(image_case* c) {
  int32_t sizes[4];
  fill_case(c);
  pack_panels(c, sizes);
  check_call(c, fill_convolution, sizes);
}

static void convolutions_give_exact_sums(void** state) {
  enum { ROUNDS = TEST_ROUNDS(300) };
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {0};
    random_windows(&c, 7, 12);
    random_groups(&c);
    if (c.out[3] > MAX_CHANNELS || !fits(&c)) continue;
    check_convolution(&c);
    ++round;
  }
}

// Rows that the kernel computes in parts, because they have more taps or more
// bytes than its buffers.
static void long_rows_give_exact_sums(void** state) {
  enum { ROUNDS = TEST_ROUNDS(60) };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {0};
    random_windows(&c, 24, 5);
    c.groups = one_in(3) ? 2 : 1;
    const int64_t group_channels = round % 2 == 0
                                       ? INTERLEAVE * test_random_integer(1, 12)
                                       : test_random_integer(1, 50);
    c.in[3] = (int32_t)(group_channels * c.groups);
    c.out[3] = (int32_t)(test_random_integer(1, 70) * c.groups);
    const bool is_long = group_channels % INTERLEAVE == 0
                             ? c.kernel[0] * c.kernel[1] > 85
                             : inner_of(&c) > 1024;
    if (!is_long || !fits(&c)) continue;
    check_convolution(&c);
    ++round;
  }
}

// Large work items, for one thread and for several.
static void large_images_give_exact_sums(void** state) {
  (void)state;
  for (size_t round = 0; round < 20; ++round) {
    image_case c = {.in = {1, 70, 90, round % 2 == 0 ? 4 : 3},
                    .out = {1, 70, 90, (int32_t)test_random_integer(1, 40)},
                    .kernel = {1, 1},
                    .stride = {1, 1},
                    .dilation = {1, 1},
                    .groups = 1};
    check_convolution(&c);
  }
}

// ------------------------------------------------ etx::depthwise_u8

static void depthwise_windows_give_exact_sums(void** state) {
  enum { ROUNDS = TEST_ROUNDS(300), MAX_EXTENT = 64 };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {0};
    random_windows(&c, one_in(20) ? 64 : 7, 12);
    c.in[3] = c.out[3] = (int32_t)test_random_integer(1, 200);
    c.groups = c.in[3];
    if (extent_of(&c, 0) > MAX_EXTENT || !fits(&c)) continue;
    int32_t sizes[4];
    fill_case(&c);
    pack_windows(&c, sizes);
    check_call(&c, fill_depthwise, sizes);
    ++round;
  }
}

// ------------------------------------------------ etx::linear_u8

static void linear_gives_exact_sums(void** state) {
  enum { ROUNDS = TEST_ROUNDS(300) };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    static const int64_t lengths[] = {8, 200, 1100, 5000};
    const int64_t max_size = lengths[test_random_bits() % 4];
    const int32_t length = (int32_t)test_random_integer(1, max_size);
    const int32_t results = (int32_t)test_random_integer(1, 200);
    image_case c = {
        .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    c.in[0] = one_in(20)  ? 0
              : one_in(3) ? 1
                          : (int32_t)test_random_integer(1, 9);
    c.in[1] = one_in(2) ? 1 : (int32_t)test_random_integer(1, 5);
    c.in[2] = one_in(4) ? 1 : (int32_t)test_random_integer(1, 9);
    if (c.in[0] == 1) c.in[1] = c.in[2] = 1;
    memcpy(c.out, c.in, sizeof c.out);
    c.in[3] = length;
    c.out[3] = results;
    if (!fits(&c)) continue;
    int32_t sizes[4];
    fill_case(&c);
    pack_panels(&c, sizes);
    check_call(&c, fill_linear, sizes);
    ++round;
  }
}

// The longest row whose sum of the largest products fits 32 bits.
static void the_longest_sums_fit_32_bits(void** state) {
  enum { LENGTH = 65793 };
  (void)state;
  image_case c = {.in = {1, 1, 1, LENGTH},
                  .out = {1, 1, 1, 3},
                  .kernel = {1, 1},
                  .stride = {1, 1},
                  .dilation = {1, 1},
                  .groups = 1,
                  .is_float = true};
  int32_t sizes[4];
  memset(image, 255, LENGTH);
  memset(weights, -128, (size_t)3 * LENGTH);
  memset(offsets, 0, 3 * sizeof *offsets);
  for (size_t o = 0; o < 3; ++o) scales[o] = 1;
  expect_sums(&c);
  pack_panels(&c, sizes);
  check_call(&c, fill_linear, sizes);
}

// ------------------------------------------------ etx::max_pool2d_u8

static void fill_pool(test_call* call, const image_case* c,
                      const int32_t* weight_sizes) {
  (void)weight_sizes;
  test_call_begin(call, "etx::max_pool2d_u8.out");
  test_call_tensor(call, ETX_DTYPE_UINT8, 4, c->in, NULL, image);
  add_2d(call, c->kernel);
  // An empty stride list means the kernel size.
  const bool omits_stride = memcmp(c->stride, c->kernel, sizeof c->kernel) == 0;
  test_call_integers(call, omits_stride ? 0 : 2, c->stride);
  add_2d(call, c->padding);
  add_2d(call, c->dilation);
  test_call_boolean(call, c->ceil_mode);
}

// Padding is never the largest element.
static void expect_max(const image_case* c) {
  size_t at = 0;
  for (int64_t n = 0; n < c->out[0]; ++n) {
    for (int64_t y = 0; y < c->out[1]; ++y) {
      for (int64_t x = 0; x < c->out[2]; ++x) {
        for (int64_t o = 0; o < c->out[3]; ++o, ++at) {
          int64_t best = 0;
          for (int64_t k = 0; k < c->kernel[0] * c->kernel[1]; ++k) {
            const int64_t ky = k / c->kernel[1], kx = k % c->kernel[1];
            const int64_t byte = byte_at(
                c, n, y * c->stride[0] - c->padding[0] + ky * c->dilation[0],
                x * c->stride[1] - c->padding[1] + kx * c->dilation[1], o);
            if (byte > best) best = byte;
          }
          expected_bytes[at] = (uint8_t)best;
        }
      }
    }
  }
}

static void max_pool_gives_the_largest_byte(void** state) {
  enum { ROUNDS = TEST_ROUNDS(300) };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {.groups = 1};
    random_windows(&c, 7, 12);
    c.in[3] = c.out[3] = (int32_t)test_random_integer(1, 200);
    const bool is_half =
        c.padding[0] <= c.kernel[0] / 2 && c.padding[1] <= c.kernel[1] / 2;
    if (!is_half || c.in[1] == 0 || c.in[2] == 0) continue;
    c.ceil_mode = one_in(2);
    if (one_in(4)) memcpy(c.stride, c.kernel, sizeof c.stride);
    count_windows(&c);
    if (!fits(&c)) continue;
    random_image(elements_of(c.in), 0);
    expect_max(&c);
    check_call(&c, fill_pool, NULL);
    ++round;
  }
}

// ------------------------------------------------ etx::mean_u8

static void fill_mean(test_call* call, const image_case* c,
                      const int32_t* weight_sizes) {
  (void)weight_sizes;
  test_call_begin(call, "etx::mean_u8.out");
  test_call_tensor(call, ETX_DTYPE_UINT8, 4, c->in, NULL, image);
  test_call_integer(call, c->zero);
  test_call_real(call, scales[0]);
  add_result(call, c);
}

static void expect_means(const image_case* c) {
  const size_t channels = (size_t)c->in[3];
  const size_t pixels = (size_t)c->in[1] * (size_t)c->in[2];
  for (size_t i = 0; i < elements_of(c->out); ++i) {
    const size_t first = i / channels * pixels * channels + i % channels;
    int64_t sum = 0;
    for (size_t k = 0; k < pixels; ++k) {
      sum += image[first + k * channels] - c->zero;
    }
    expected_floats[i] = (float)sum * scales[0];
    expected_bytes[i] = byte_of(c, expected_floats[i]);
  }
}

static void means_have_exact_sums(void** state) {
  enum { ROUNDS = TEST_ROUNDS(200) };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    const int32_t max_size = one_in(10) ? 300 : 20;
    const int32_t channels = (int32_t)test_random_integer(1, 200);
    const int32_t images = one_in(20) ? 0 : (int32_t)test_random_integer(1, 3);
    image_case c = {.in = {images, (int32_t)test_random_integer(1, max_size),
                           (int32_t)test_random_integer(1, max_size), channels},
                    .out = {images, 1, 1, channels}};
    if (elements_of(c.in) > MAX_ELEMENTS) continue;
    c.zero = random_zero();
    random_result(&c);
    random_image(elements_of(c.in), c.zero);
    scales[0] = test_random_float(2) / (float)(c.in[1] * c.in[2]);
    if (one_in(10)) scales[0] = 0.5f;
    if (!c.is_float && one_in(20)) scales[0] = one_in(2) ? NAN : INFINITY;
    expect_means(&c);
    check_call(&c, fill_mean, NULL);
    ++round;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_give_exact_sums),
      cmocka_unit_test(long_rows_give_exact_sums),
      cmocka_unit_test(large_images_give_exact_sums),
      cmocka_unit_test(depthwise_windows_give_exact_sums),
      cmocka_unit_test(linear_gives_exact_sums),
      cmocka_unit_test(the_longest_sums_fit_32_bits),
      cmocka_unit_test(max_pool_gives_the_largest_byte),
      cmocka_unit_test(means_have_exact_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
