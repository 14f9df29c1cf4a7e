// Images and layers of bytes: convolutions, plain and depthwise, layers and
// pools. Every result is that of sums of 64 bits over windows as they are
// written down and of the steps that op_schema.def tells, bit for bit, for
// every instruction set and number of threads.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  MOST = 1 << 18,       // elements of a tensor
  MOST_CHANNELS = 600,  // of a result
  MOST_WORK = 1 << 20,  // products of a case
  COLUMNS = 16,         // of a panel
  SIDE = 4,             // numbers of a column side by side
};

// A layer is one tap over images of one position.
typedef struct image_case {
  int32_t in[4], out[4];  // [N, H, W, C]
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  int64_t groups, zero;
  int64_t out_zero, out_min, out_max;
  bool is_float, has_bias;
  bool rounds_up;  // of a pool: a last window that starts inside counts
} image_case;

static uint8_t image[MOST];
static int8_t weights[MOST];  // [O, kernel, I / groups]
static int8_t packed[MOST * COLUMNS];
static int32_t offsets[MOST_CHANNELS];
static float scales[MOST_CHANNELS], bias[MOST_CHANNELS];
static uint8_t wanted_bytes[MOST];
static float wanted_floats[MOST];

static size_t elements_of(const int32_t* sizes) {
  return (size_t)sizes[0] * (size_t)sizes[1] * (size_t)sizes[2] *
         (size_t)sizes[3];
}

static size_t inner_of(const image_case* c) {
  return (size_t)(c->kernel[0] * c->kernel[1] * (c->in[3] / c->groups));
}

static bool one_of(uint32_t many) { return test_random_bits() % many == 0; }

// ------------------------------------------------ what is expected

static int64_t byte_at(const image_case* c, int64_t n, int64_t y, int64_t x,
                       int64_t channel) {
  if (y < 0 || y >= c->in[1] || x < 0 || x >= c->in[2]) return c->zero;
  return image[((n * c->in[1] + y) * c->in[2] + x) * c->in[3] + channel];
}

static int64_t sum_at(const image_case* c, int64_t n, int64_t y, int64_t x,
                      int64_t o) {
  const int64_t own = c->in[3] / c->groups;
  const int64_t first = o / (c->out[3] / c->groups) * own;
  const int8_t* w = weights + (size_t)o * inner_of(c);
  int64_t sum = 0;
  for (int64_t ky = 0; ky < c->kernel[0]; ++ky) {
    for (int64_t kx = 0; kx < c->kernel[1]; ++kx) {
      const int64_t at_y =
          y * c->stride[0] - c->padding[0] + ky * c->dilation[0];
      const int64_t at_x =
          x * c->stride[1] - c->padding[1] + kx * c->dilation[1];
      for (int64_t i = 0; i < own; ++i) {
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
          wanted_floats[at] = value_of(c, sum_at(c, n, y, x, o), o);
          wanted_bytes[at] = byte_of(c, wanted_floats[at]);
        }
      }
    }
  }
}

// ------------------------------------------------ weights as kernels take them

// Of each group panels of sixteen output channels.
static void pack_panels(const image_case* c, int32_t sizes[4]) {
  const size_t inner = inner_of(c), groups = (size_t)c->groups;
  const size_t own = (size_t)c->out[3] / groups;
  const size_t panels = (own + COLUMNS - 1) / COLUMNS;
  const size_t sides = (inner + SIDE - 1) / SIDE;
  memset(packed, 0, groups * panels * sides * COLUMNS * SIDE);
  for (size_t o = 0; o < (size_t)c->out[3]; ++o) {
    const size_t panel = o / own * panels + o % own / COLUMNS;
    for (size_t k = 0; k < inner; ++k) {
      const size_t row = (panel * sides + k / SIDE) * COLUMNS;
      packed[(row + o % own % COLUMNS) * SIDE + k % SIDE] =
          weights[o * inner + k];
    }
  }
  sizes[0] = (int32_t)(groups * panels);
  sizes[1] = (int32_t)sides;
  sizes[2] = COLUMNS;
  sizes[3] = SIDE;
}

// Channels last.
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

// One number serves both dimensions, whether it stands there once or twice.
static void add_pair(test_call* call, const int64_t pair[2]) {
  test_call_integers(call, pair[0] == pair[1] && one_of(2) ? 1 : 2, pair);
}

static void add_windows(test_call* call, const image_case* c) {
  add_pair(call, c->stride);
  add_pair(call, c->padding);
  add_pair(call, c->dilation);
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
  add_pair(call, c->kernel);
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

// Rows of any number of dimensions.
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
  const void* const wanted =
      c->is_float ? (const void*)wanted_floats : (const void*)wanted_bytes;
  const size_t bytes = c->is_float ? sizeof(float) : 1;
  if (count == 0 || memcmp(found->data, wanted, count * bytes) == 0) return;
  size_t at = 0;
  while (memcmp((const char*)found->data + at * bytes,
                (const char*)wanted + at * bytes, bytes) == 0) {
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
    const etx_status status = test_call_run(&call, ETX_DTYPE_COUNT);
    if (status != ETX_OK) fail_msg("refused: %s", call.diag.text);
    check_result(c, &call);
    test_call_end(&call);
  }
}

// ------------------------------------------------ what is drawn

static void draw_bytes(size_t count, int64_t zero) {
  const int kind = (int)test_random_integer(0, 5);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = test_random_bits();
    image[i] = kind == 0   ? 255
               : kind == 1 ? (bits & 1 ? 255 : 0)
               : kind == 2 ? (uint8_t)(zero < 252 ? zero + bits % 4 : zero)
                           : (uint8_t)bits;
  }
}

static void draw_weights(size_t count) {
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

// Offsets that take the zero point away, or any.
static void draw_channels(const image_case* c) {
  const size_t inner = inner_of(c);
  const bool are_any = one_of(4), are_halves = one_of(4);
  const float spread = 300.0f / (64 * 64 * sqrtf((float)inner));
  for (size_t o = 0; o < (size_t)c->out[3]; ++o) {
    int64_t sum = 0;
    for (size_t k = 0; k < inner; ++k) sum += weights[o * inner + k];
    offsets[o] = are_any ? (int32_t)test_random_integer(-1000000, 1000000)
                         : (int32_t)(-c->zero * sum);
    scales[o] = are_halves ? 0.5f : test_random_float(spread);
    bias[o] =
        are_halves ? (float)test_random_integer(-5, 5) : test_random_float(30);
    if (c->is_float || !one_of(40)) continue;
    const float rare[] = {NAN, INFINITY, -INFINITY, 3e38f, 0, -0.0f, 1e-42f};
    scales[o] = rare[test_random_bits() % 7];
  }
}

static void draw_result(image_case* c) {
  static const uint8_t ends[] = {0, 128, 255};
  c->is_float = one_of(3);
  c->has_bias = one_of(2);
  c->out_zero =
      one_of(2) ? ends[test_random_bits() % 3] : test_random_integer(0, 255);
  c->out_min = one_of(2) ? 0 : test_random_integer(0, 255);
  c->out_max = one_of(2) ? 255 : test_random_integer(c->out_min, 255);
}

static int64_t draw_zero(void) {
  return one_of(3) ? (one_of(2) ? 0 : 255) : test_random_integer(0, 255);
}

static int64_t reach_of(const image_case* c, size_t i) {
  return c->dilation[i] * (c->kernel[i] - 1) + 1;
}

static void count_windows(image_case* c) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = c->in[1 + i], stride = c->stride[i];
    const int64_t span = size + 2 * c->padding[i] - reach_of(c, i);
    int64_t count = span / stride + 1;
    if (c->rounds_up) count = (span + stride - 1) / stride + 1;
    if (c->rounds_up && (count - 1) * stride >= size + c->padding[i]) --count;
    c->out[1 + i] = (int32_t)count;
  }
}

// Windows and an image that they fit into.
static void draw_windows(image_case* c, int64_t most_kernel, int64_t most) {
  c->in[0] = c->out[0] = one_of(20) ? 0 : (int32_t)test_random_integer(1, 3);
  for (size_t i = 0; i < 2; ++i) {
    c->kernel[i] = test_random_integer(1, most_kernel);
    c->stride[i] = test_random_integer(1, 3);
    c->dilation[i] = one_of(3) ? test_random_integer(2, 3) : 1;
    c->padding[i] = one_of(3) ? test_random_integer(0, 4) : c->kernel[i] / 2;
    const int64_t least = reach_of(c, i) - 2 * c->padding[i];
    // Nothing but what is around it, now and then.
    const int64_t first = least > 0 ? least : one_of(10) ? 0 : 1;
    c->in[1 + i] = (int32_t)test_random_integer(first, first + most);
  }
  count_windows(c);
}

static size_t work_of(const image_case* c) {
  return elements_of(c->out) * inner_of(c);
}

static bool fits(const image_case* c) {
  return elements_of(c->in) <= MOST && elements_of(c->out) <= MOST &&
         inner_of(c) * (size_t)c->out[3] <= MOST && work_of(c) <= MOST_WORK;
}

static void draw_rest(image_case* c) {
  c->zero = draw_zero();
  draw_result(c);
  draw_bytes(elements_of(c->in), c->zero);
  draw_weights(inner_of(c) * (size_t)c->out[3]);
  draw_channels(c);
  expect_sums(c);
}

// ------------------------------------------------ etx::convolution_u8

// Channels are whole fours, whose pieces lie in the image, in half of the
// cases.
static void draw_groups(image_case* c) {
  const int64_t own_most = one_of(3) ? 200 : 40;
  c->groups = one_of(2) ? 1 : one_of(2) ? 2 : test_random_integer(3, 8);
  int64_t own = test_random_integer(1, own_most);
  if (one_of(2)) own = (own + SIDE - 1) / SIDE * SIDE;
  int64_t results = test_random_integer(1, own_most);
  if (one_of(8)) {
    c->groups = own;
    own = 1;
    results = test_random_integer(1, 2);
  }
  c->in[3] = (int32_t)(own * c->groups);
  c->out[3] = (int32_t)(results * c->groups);
}

static void check_convolution(image_case* c) {
  int32_t sizes[4];
  draw_rest(c);
  pack_panels(c, sizes);
  check_call(c, fill_convolution, sizes);
}

static void convolutions_give_exact_sums(void** state) {
  enum { ROUNDS = 300 };
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {0};
    draw_windows(&c, 7, 12);
    draw_groups(&c);
    if (c.out[3] > MOST_CHANNELS || !fits(&c)) continue;
    check_convolution(&c);
    ++round;
  }
}

// Rows that are summed a part after the other: of more taps than are known at a
// time, and of more bytes than are copied.
static void long_rows_give_exact_sums(void** state) {
  enum { ROUNDS = 60 };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {0};
    draw_windows(&c, 24, 5);
    c.groups = one_of(3) ? 2 : 1;
    const int64_t own = round % 2 == 0 ? SIDE * test_random_integer(1, 12)
                                       : test_random_integer(1, 50);
    c.in[3] = (int32_t)(own * c.groups);
    c.out[3] = (int32_t)(test_random_integer(1, 70) * c.groups);
    const bool is_long =
        own % SIDE == 0 ? c.kernel[0] * c.kernel[1] > 85 : inner_of(&c) > 1024;
    if (!is_long || !fits(&c)) continue;
    check_convolution(&c);
    ++round;
  }
}

// Items of many positions, for one thread and for more.
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
  enum { ROUNDS = 300, MOST_REACH = 64 };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {0};
    draw_windows(&c, one_of(20) ? 64 : 7, 12);
    c.in[3] = c.out[3] = (int32_t)test_random_integer(1, 200);
    c.groups = c.in[3];
    if (reach_of(&c, 0) > MOST_REACH || !fits(&c)) continue;
    int32_t sizes[4];
    draw_rest(&c);
    pack_windows(&c, sizes);
    check_call(&c, fill_depthwise, sizes);
    ++round;
  }
}

// ------------------------------------------------ etx::linear_u8

static void layers_give_exact_sums(void** state) {
  enum { ROUNDS = 300 };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    static const int64_t lengths[] = {8, 200, 1100, 5000};
    const int64_t most = lengths[test_random_bits() % 4];
    const int32_t length = (int32_t)test_random_integer(1, most);
    const int32_t results = (int32_t)test_random_integer(1, 200);
    image_case c = {
        .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    c.in[0] = one_of(20)  ? 0
              : one_of(3) ? 1
                          : (int32_t)test_random_integer(1, 9);
    c.in[1] = one_of(2) ? 1 : (int32_t)test_random_integer(1, 5);
    c.in[2] = one_of(4) ? 1 : (int32_t)test_random_integer(1, 9);
    if (c.in[0] == 1) c.in[1] = c.in[2] = 1;
    memcpy(c.out, c.in, sizeof c.out);
    c.in[3] = length;
    c.out[3] = results;
    if (!fits(&c)) continue;
    int32_t sizes[4];
    draw_rest(&c);
    pack_panels(&c, sizes);
    check_call(&c, fill_linear, sizes);
    ++round;
  }
}

// The longest row that sums of 32 bits hold, of the largest products.
static void sums_reach_the_ends_of_32_bits(void** state) {
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
  add_pair(call, c->kernel);
  // Without strides windows lie side by side.
  const bool are_apart = memcmp(c->stride, c->kernel, sizeof c->kernel) == 0;
  test_call_integers(call, are_apart ? 0 : 2, c->stride);
  add_pair(call, c->padding);
  add_pair(call, c->dilation);
  test_call_boolean(call, c->rounds_up);
}

// Around the image lies what is never the largest.
static void expect_largest(const image_case* c) {
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
          wanted_bytes[at] = (uint8_t)best;
        }
      }
    }
  }
}

static void pools_give_the_largest_byte(void** state) {
  enum { ROUNDS = 300 };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    image_case c = {.groups = 1};
    draw_windows(&c, 7, 12);
    c.in[3] = c.out[3] = (int32_t)test_random_integer(1, 200);
    const bool is_half =
        c.padding[0] <= c.kernel[0] / 2 && c.padding[1] <= c.kernel[1] / 2;
    if (!is_half || c.in[1] == 0 || c.in[2] == 0) continue;
    c.rounds_up = one_of(2);
    if (one_of(4)) memcpy(c.stride, c.kernel, sizeof c.stride);
    count_windows(&c);
    if (!fits(&c)) continue;
    draw_bytes(elements_of(c.in), 0);
    expect_largest(&c);
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
    wanted_floats[i] = (float)sum * scales[0];
    wanted_bytes[i] = byte_of(c, wanted_floats[i]);
  }
}

static void means_are_of_exact_sums(void** state) {
  enum { ROUNDS = 200 };
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    const int32_t most = one_of(10) ? 300 : 20;
    const int32_t channels = (int32_t)test_random_integer(1, 200);
    const int32_t images = one_of(20) ? 0 : (int32_t)test_random_integer(1, 3);
    image_case c = {.in = {images, (int32_t)test_random_integer(1, most),
                           (int32_t)test_random_integer(1, most), channels},
                    .out = {images, 1, 1, channels}};
    if (elements_of(c.in) > MOST) continue;
    c.zero = draw_zero();
    draw_result(&c);
    draw_bytes(elements_of(c.in), c.zero);
    scales[0] = test_random_float(2) / (float)(c.in[1] * c.in[2]);
    if (one_of(10)) scales[0] = 0.5f;
    if (!c.is_float && one_of(20)) scales[0] = one_of(2) ? NAN : INFINITY;
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
      cmocka_unit_test(layers_give_exact_sums),
      cmocka_unit_test(sums_reach_the_ends_of_32_bits),
      cmocka_unit_test(pools_give_the_largest_byte),
      cmocka_unit_test(means_are_of_exact_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
