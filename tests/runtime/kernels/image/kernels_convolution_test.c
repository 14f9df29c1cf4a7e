// Convolution against its definition, over random windows.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(150) };

static float input[20000], weight[20000], bias[64];

typedef struct window_case {
  bool transposed, is_plane;
  int64_t images, groups, in, out;  // channels of one group
  int64_t size[2], kernel[2], stride[2], padding[2], dilation[2], extra[2];
} window_case;

static window_case random_window(void) {
  window_case w = {.transposed = test_random_bits() % 3 == 0,
                   .is_plane = test_random_bits() % 2 == 0,
                   .images = test_random_integer(1, 2),
                   .groups = test_random_integer(1, 3),
                   .in = test_random_integer(1, 3),
                   .out = test_random_integer(1, 3)};
  for (size_t i = 0; i < 2; ++i) {
    const bool is_line = i == 0 && !w.is_plane;
    w.kernel[i] = is_line ? 1 : test_random_integer(1, 4);
    w.stride[i] = is_line ? 1 : test_random_integer(1, 3);
    w.dilation[i] = is_line ? 1 : test_random_integer(1, 2);
    w.padding[i] = is_line ? 0 : test_random_integer(0, 2);
    w.extra[i] =
        !w.transposed || is_line ? 0 : test_random_integer(0, w.stride[i] - 1);
    // An input that is long enough for one window and, in the transposed form,
    // for one result.
    w.size[i] = is_line ? 1 : test_random_integer(8, 12);
  }
  // Windows that cover the whole image, or a transposed convolution of one
  // position: both are matrix products.
  if (test_random_bits() % 4 == 0) {
    w.groups = 1;
    w.in = test_random_integer(1, 40);
    w.out = test_random_integer(1, 40);
    for (size_t i = 0; i < 2; ++i) {
      const bool is_line = i == 0 && !w.is_plane;
      w.kernel[i] = is_line ? 1 : test_random_integer(1, 3);
      w.size[i] = w.transposed ? 1 : w.kernel[i];
      w.padding[i] = w.extra[i] = 0;
      w.dilation[i] = 1;
    }
  }
  test_random_floats(input, 20000, 1);
  test_random_floats(weight, 20000, 1);
  test_random_floats(bias, 64, 1);
  return w;
}

// The output position that reads input position `in` through kernel position k
// in dimension `d`; false if there is none.
static bool meets(const window_case* w, size_t i, int64_t in, int64_t out,
                  int64_t k) {
  const int64_t offset = k * w->dilation[i] - w->padding[i];
  return w->transposed ? out == in * w->stride[i] + offset
                       : in == out * w->stride[i] + offset;
}

static double element(const window_case* w, int64_t image, int64_t channel,
                      int64_t y, int64_t x) {
  const int64_t group = channel / w->out;
  const int64_t plane = w->size[0] * w->size[1];
  double sum = bias[channel];
  for (int64_t c = 0; c < w->in; ++c) {
    const int64_t in_channel = group * w->in + c;
    const int64_t row = w->transposed ? in_channel * w->out + channel % w->out
                                      : channel * w->in + c;
    for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; ++k) {
      for (int64_t p = 0; p < plane; ++p) {
        if (!meets(w, 0, p / w->size[1], y, k / w->kernel[1]) ||
            !meets(w, 1, p % w->size[1], x, k % w->kernel[1])) {
          continue;
        }
        sum += (double)
                   input[(image * w->groups * w->in + in_channel) * plane + p] *
               weight[row * w->kernel[0] * w->kernel[1] + k];
      }
    }
  }
  return sum;
}

static void build(test_call* c, const window_case* w) {
  const int64_t in = w->groups * w->in, out = w->groups * w->out;
  const size_t rank = w->is_plane ? 4 : 3, skip = w->is_plane ? 0 : 1;
  int32_t sizes[4] = {(int32_t)w->images, (int32_t)in};
  int32_t kernel[4] = {(int32_t)(w->transposed ? in : out),
                       (int32_t)(w->transposed ? w->out : w->in)};
  for (size_t i = skip; i < 2; ++i) {
    sizes[2 + i - skip] = (int32_t)w->size[i];
    kernel[2 + i - skip] = (int32_t)w->kernel[i];
  }
  test_call_begin(c, "aten::convolution.out");
  test_call_floats(c, rank, sizes, input);
  test_call_floats(c, rank, kernel, weight);
  test_call_floats(c, 1, (int32_t[]){(int32_t)out}, bias);
  test_call_integers(c, rank - 2, w->stride + skip);
  test_call_integers(c, rank - 2, w->padding + skip);
  test_call_integers(c, rank - 2, w->dilation + skip);
  test_call_boolean(c, w->transposed);
  test_call_integers(c, rank - 2, w->extra + skip);
  test_call_integer(c, w->groups);
}

static void results_match_the_definition(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const window_case w = random_window();
    test_call c;
    build(&c, &w);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const etx_tensor* out = test_call_result(&c, 0);
    const int64_t width = out->sizes[out->rank - 1];
    const int64_t height = w.is_plane ? out->sizes[2] : 1;
    const int64_t channels = out->sizes[1];
    for (size_t i = 0; i < etx_tensor_numel(out); ++i) {
      const int64_t n = (int64_t)i, x = n % width, y = n / width % height;
      const int64_t channel = n / (width * height) % channels;
      const double want =
          element(&w, n / (width * height * channels), channel, y, x);
      const double got = ((const float*)out->data)[i];
      if (fabs(got - want) > 2e-5) {
        fail_msg("element %zu is %g, expected %g", i, got, want);
      }
    }
    test_call_end(&c);
  }
}

static void a_window_larger_than_the_input_is_refused(void** unused) {
  (void)unused;
  window_case w = random_window();
  w.transposed = w.is_plane = false;
  w.size[1] = 2;
  w.kernel[1] = 4;
  w.padding[1] = 0;
  w.dilation[1] = 1;
  w.size[0] = w.kernel[0] = w.stride[0] = w.dilation[0] = 1;
  test_call c;
  build(&c, &w);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_match_the_definition),
      cmocka_unit_test(a_window_larger_than_the_input_is_refused),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
