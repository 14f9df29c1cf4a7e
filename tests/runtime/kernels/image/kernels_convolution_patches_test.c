// Convolution by patches gives the bits of convolution by panels, the general
// path for weights that are not dense, on every instruction set of this
// machine. So do weights in panels of sixteen channels. Operands end at a guard
// page.

#include <string.h>

#include "runtime/kernels/convolution/convolution.h"
#include "runtime/kernels/convolution/patch_plan.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/runtime/kernels/image/convolution_weight_panels.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  ROUNDS = TEST_ROUNDS(300),
  MOST_WORK = 400000,
  MOST_DEEP_WORK = 2000000
};

typedef struct patch_operands {
  etx_convolution dense, sparse;
  etx_tensor bias;
  int32_t bias_size, bias_stride;
  test_block in, weight, spread, biases, found, expected;
} patch_operands;

static void run_tasks(void* context, void (*task)(void*, size_t),
                      void* argument, size_t count) {
  (void)context;
  while (count > 0) task(argument, --count);
}

static int64_t some(const int64_t* of, size_t count) {
  return of[test_random_bits() % count];
}

static int64_t results_of(const etx_window* w) {
  const int64_t reach = (w->kernel - 1) * w->dilation + 1;
  const int64_t span = w->in + 2 * w->padding - reach;
  return span < 0 ? 0 : span / w->stride + 1;
}

static etx_window random_window(bool is_line) {
  static const int64_t kernels[] = {1, 1, 2, 3, 3, 3, 5, 7},
                       strides[] = {1, 1, 1, 2, 2, 3, 5},
                       sizes[] = {1, 3, 7, 8, 14, 15, 16, 28, 57};
  etx_window w = {1, 1, 1, 1, 0, 1};
  if (is_line) return w;
  w.kernel = some(kernels, 8);
  w.stride = some(strides, 7);
  w.padding = test_random_integer(0, w.kernel);
  w.dilation = test_random_integer(1, 3);
  w.in = test_random_bits() % 8 == 0 ? test_random_integer(1, 600)
                                     : some(sizes, 9);
  w.out = results_of(&w);
  return w;
}

// Makes the windows 3 x 3 to 7 x 7, with neighbouring taps.
static void choose_neighbours(etx_window* y, etx_window* x) {
  y->kernel = x->kernel = 2 * test_random_integer(1, 3) + 1;
  y->dilation = x->dilation = 1;
  y->stride = x->stride = test_random_integer(1, 2);
  y->out = results_of(y);
  x->out = results_of(x);
}

// Makes the windows cover one position each.
static void choose_points(etx_window* y, etx_window* x) {
  etx_window* both[] = {y, x};
  for (size_t i = 0; i < 2; ++i) {
    etx_window* w = both[i];
    w->kernel = w->stride = w->dilation = 1;
    w->padding = 0;
    w->in = w->out = w->in == 1 ? 1 : test_random_integer(1, 40);
  }
}

static etx_volumes volumes_of(int64_t images, int64_t channels,
                              const int64_t* sizes, bool channels_last) {
  etx_volumes v = {.dtype = ETX_DTYPE_FLOAT32,
                   .bytes = 4,
                   .images = images,
                   .channels = channels};
  const ptrdiff_t each = channels_last ? (ptrdiff_t)channels : 1;
  ptrdiff_t stride = each;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    v.sizes[d] = sizes[d];
    v.strides[d] = stride;
    stride *= (ptrdiff_t)sizes[d];
  }
  v.channel = channels_last ? 1 : stride;
  v.image = channels_last ? stride : stride * (ptrdiff_t)channels;
  return v;
}

static size_t elements_of(const etx_volumes* v) {
  return (size_t)(v->images * v->channels * v->sizes[0] * v->sizes[1] *
                  v->sizes[2]);
}

static test_block floats_of(size_t count) {
  test_block block = test_block_new(count * sizeof(float), sizeof(float));
  test_random_floats((float*)(void*)block.bytes.data, count, 2);
  return block;
}

// The same weights with taps two elements apart.
static void spread_weights(patch_operands* o, size_t count) {
  o->spread = test_block_new(count * 2 * sizeof(float), sizeof(float));
  const float* from = (const float*)(void*)o->weight.bytes.data;
  float* to = (float*)(void*)o->spread.bytes.data;
  for (size_t i = 0; i < count; ++i) to[2 * i] = to[2 * i + 1] = from[i];
  etx_convolution* c = &o->sparse;
  c->weight.data = (char*)o->spread.bytes.data;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) c->weight.strides[d] *= 2;
  c->weight_group *= 2;
  c->weight_out *= 2;
  c->weight_in *= 2;
}

// The case without its windows. `x` is dense within a channel.
static void make_operands(patch_operands* o, etx_volumes x, etx_volumes w,
                          etx_volumes y, int64_t groups) {
  memset(o, 0, sizeof(*o));
  const size_t gaps = x.channel > 1 ? (size_t)x.channel - elements_of(&x) /
                                                              (size_t)x.images /
                                                              (size_t)x.channels
                                    : 0;
  o->in = floats_of(elements_of(&x) + gaps * (size_t)(x.channels - 1));
  o->weight = floats_of(elements_of(&w));
  o->biases = floats_of((size_t)w.images);
  o->found = floats_of(elements_of(&y));
  o->expected = floats_of(elements_of(&y));
  x.data = (char*)o->in.bytes.data;
  w.data = (char*)o->weight.bytes.data;
  y.data = (char*)o->found.bytes.data;
  o->dense = etx_convolution_of(&x, &w, &y, groups, false);
  o->bias_size = (int32_t)w.images;
  o->bias_stride = 1;
  o->bias = (etx_tensor){.dtype = ETX_DTYPE_FLOAT32,
                         .rank = 1,
                         .sizes = &o->bias_size,
                         .strides = &o->bias_stride,
                         .data = o->biases.bytes.data};
  if (test_random_bits() % 2 == 0) o->dense.bias = &o->bias;
  o->sparse = o->dense;
  spread_weights(o, elements_of(&w));
  o->sparse.out.data = (char*)o->expected.bytes.data;
}

// True if a window covers the whole image: the kernel computes a matrix
// product, whose sum has another order.
static bool is_whole(const etx_window* w) {
  return w->out == 1 && w->kernel == w->in && w->padding == 0;
}

static bool start_operands(patch_operands* o) {
  const bool is_line = test_random_bits() % 4 == 0;
  const bool is_deep = test_random_bits() % 3 == 0;
  // Many input and output channels, for which the kernel may use channels as
  // lanes.
  const bool is_wide = is_deep && test_random_bits() % 2 == 0;
  const bool is_plane = !is_deep && test_random_bits() % 3 == 0;
  etx_window windows[] = {random_window(true), random_window(is_line),
                          random_window(false)};
  const bool is_point = is_deep && test_random_bits() % 4 == 0;
  if (is_point) choose_points(&windows[1], &windows[2]);
  if (is_plane && !is_line) choose_neighbours(&windows[1], &windows[2]);
  const int64_t groups = test_random_integer(1, is_deep ? 1 : 6);
  const int64_t in =
      is_plane ? 1
               : test_random_integer(is_point ? 200 : 1, is_point  ? 600
                                                         : is_deep ? 300
                                                                   : 4);
  // Channels in multiples of eight, whose sums may stay in registers.
  const bool is_even = !is_plane && test_random_bits() % 2 == 0;
  const int64_t any = is_plane ? 1
                               : test_random_integer(is_wide ? 30 : 1,
                                                     is_deep && !is_point ? 150
                                                     : is_wide            ? 40
                                                                          : 4);
  const int64_t even = is_wide ? ETX_CONVOLUTION_PANEL : 8;
  const int64_t out = is_even ? (any + even - 1) / even * even : any;
  const int64_t images = test_random_integer(1, 2);
  int64_t in_sizes[ETX_SPATIAL], out_sizes[ETX_SPATIAL], kernel[ETX_SPATIAL];
  int64_t work = images * groups * in * out;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    in_sizes[d] = windows[d].in;
    out_sizes[d] = windows[d].out;
    kernel[d] = windows[d].kernel;
    work *= out_sizes[d] * kernel[d];
  }
  const int64_t most = is_wide || is_point ? MOST_DEEP_WORK : MOST_WORK;
  if (work == 0 || work > most) return false;
  if (groups == 1 && is_whole(&windows[1]) && is_whole(&windows[2])) {
    return false;
  }
  const bool channels_last = test_random_bits() % 5 == 0;
  etx_volumes x = volumes_of(images, groups * in, in_sizes, channels_last);
  etx_volumes w = volumes_of(groups * out, in, kernel, false);
  etx_volumes y = volumes_of(images, groups * out, out_sizes, channels_last);
  make_operands(o, x, w, y, groups);
  memcpy(o->dense.windows, windows, sizeof(windows));
  memcpy(o->sparse.windows, windows, sizeof(windows));
  return true;
}

static void end_operands(patch_operands* o) {
  test_block* blocks[] = {&o->in,     &o->weight, &o->spread,
                          &o->biases, &o->found,  &o->expected};
  for (size_t i = 0; i < 6; ++i) assert_true(test_block_end(blocks[i]));
}

static void check_set(const patch_operands* o, const etx_convolution* c,
                      etx_instruction_set set) {
  const etx_parallel parallel = {
      .parallel_for = run_tasks,
      .thread_count = (size_t)test_random_integer(1, 8),
      .instruction_set = set};
  memset(o->found.bytes.data, 0xff, o->found.bytes.size);
  test_run_convolution(c, &parallel);
  if (memcmp(o->found.bytes.data, o->expected.bytes.data,
             o->found.bytes.size) == 0) {
    return;
  }
  const etx_window *y = &c->windows[1], *x = &c->windows[2];
  fail_msg(
      "%s%s: %d x %d by %d x %d, strides %d %d, dilations %d %d, channels "
      "%d to %d in %d groups",
      etx_instruction_set_name(set), c->has_panels ? ", in panels" : "",
      (int)y->in, (int)x->in, (int)y->kernel, (int)x->kernel, (int)y->stride,
      (int)x->stride, (int)y->dilation, (int)x->dilation, (int)c->in_channels,
      (int)c->out_channels, (int)c->groups);
}

// Compares every instruction set with the result of the general path.
static void check_sets(const patch_operands* o) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  const etx_parallel one = {.parallel_for = run_tasks,
                            .thread_count = 1,
                            .instruction_set = ETX_SET_BASE};
  test_run_convolution(&o->sparse, &one);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    check_set(o, &o->dense, (etx_instruction_set)set);
  }
  if (o->dense.out_channels % ETX_CONVOLUTION_PANEL != 0) return;
  test_block panels;
  const etx_convolution packed = test_in_panels(&o->dense, &panels);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    check_set(o, &packed, (etx_instruction_set)set);
  }
  assert_true(test_block_end(&panels));
}

static void patches_have_the_bits_of_panels(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS;) {
    patch_operands o;
    if (!start_operands(&o)) continue;
    check_sets(&o);
    end_operands(&o);
    ++round;
  }
}

// The case with `in` input channels and `out` output channels.
static void check_windows(const etx_window* windows, int64_t in, int64_t out) {
  patch_operands o;
  int64_t in_sizes[ETX_SPATIAL], out_sizes[ETX_SPATIAL], kernel[ETX_SPATIAL];
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    in_sizes[d] = windows[d].in;
    out_sizes[d] = windows[d].out;
    kernel[d] = windows[d].kernel;
  }
  make_operands(&o, volumes_of(1, in, in_sizes, false),
                volumes_of(out, in, kernel, false),
                volumes_of(1, out, out_sizes, false), 1);
  memcpy(o.dense.windows, windows, ETX_SPATIAL * sizeof *windows);
  memcpy(o.sparse.windows, windows, ETX_SPATIAL * sizeof *windows);
  check_sets(&o);
  end_operands(&o);
}

static etx_window window_of(int64_t in, int64_t kernel, int64_t stride,
                            int64_t padding, int64_t dilation) {
  etx_window w = {in, 0, kernel, stride, padding, dilation};
  w.out = results_of(&w);
  return w;
}

// Long rows that are cut into parts, and planes of many rows, with channels
// that may be lanes; read in place or copied.
static void large_tiles_have_the_bits_of_panels(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < TEST_ROUNDS(20); ++round) {
    const etx_window one = {1, 1, 1, 1, 0, 1};
    etx_window windows[] = {one, one, one};
    for (size_t d = 1; d < ETX_SPATIAL; ++d) {
      const bool is_line = round % 2 == 0;
      if (is_line && d == 1) continue;
      windows[d] =
          window_of(is_line ? test_random_integer(900, 1600)
                            : test_random_integer(40, 48),
                    test_random_integer(1, is_line ? 5 : 3),
                    test_random_integer(1, is_line ? 3 : 2),
                    test_random_integer(0, 1), test_random_integer(1, 2));
    }
    const int64_t any = test_random_integer(33, 70);
    check_windows(windows, test_random_integer(48, 100),
                  round % 4 < 2 ? any : (any + 15) / 16 * 16);
  }
}

// Images that are cut into squares, and lines of one channel. Windows have more
// taps than one pass sums, and large steps.
static void large_windows_have_the_bits_of_panels(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < TEST_ROUNDS(16); ++round) {
    const etx_window one = {1, 1, 1, 1, 0, 1};
    etx_window windows[] = {one, one, one};
    const bool is_line = round % 2 == 0;
    const int64_t side = test_random_integer(11, 20);
    const int64_t kernel = is_line ? test_random_integer(5, 30) * 10 : side;
    const int64_t stride =
        is_line ? test_random_integer(3, 90) : test_random_integer(4, side);
    const int64_t padding = round % 8 < 6 ? 0 : test_random_integer(0, 2);
    windows[2] =
        window_of(kernel + stride * test_random_integer(is_line ? 20 : 4, 40),
                  kernel, stride, padding, test_random_integer(1, 2));
    if (windows[2].out < 1) continue;
    if (!is_line) {
      windows[1] = window_of(side * 3 + 5, side, stride, padding, 1);
    }
    check_windows(windows, is_line ? 1 : test_random_integer(1, 3),
                  16 * test_random_integer(2, 3));
  }
}

// Long lines of few channels, whose sums stay in registers for each part of the
// line.
static void long_lines_have_the_bits_of_panels(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < TEST_ROUNDS(10); ++round) {
    const etx_window one = {1, 1, 1, 1, 0, 1};
    const etx_window windows[] = {
        one, one,
        window_of(test_random_integer(8000, 20000), test_random_integer(1, 9),
                  test_random_integer(1, 8), test_random_integer(0, 3),
                  test_random_integer(1, 3))};
    check_windows(windows, test_random_integer(1, 3),
                  8 * test_random_integer(1, 3));
  }
}

// The parts of a long line are tiles for the threads, as rows of an image are.
// So the number of threads does not decide which lanes are used.
static void long_lines_have_channels_as_lanes_for_all_threads(void** state) {
  (void)state;
  const etx_window one = {1, 1, 1, 1, 0, 1};
  const etx_window windows[] = {one, one, window_of(16000, 8, 4, 0, 1)};
  const int64_t in[] = {1, 1, windows[2].in}, out[] = {1, 1, windows[2].out};
  const int64_t kernel[] = {1, 1, windows[2].kernel};
  patch_operands o;
  make_operands(&o, volumes_of(1, 64, in, false),
                volumes_of(64, 64, kernel, false),
                volumes_of(1, 64, out, false), 1);
  memcpy(o.dense.windows, windows, sizeof windows);
  for (size_t threads = 1; threads <= 8; ++threads) {
    etx_patch_plan plan = {.loops = etx_f32_microkernels_of(ETX_SET_BASE),
                           .thread_count = threads};
    assert_true(etx_patch_plan_start(&plan, &o.dense));
    assert_true(plan.has_channel_lanes);
  }
  end_operands(&o);
}

// Channels whose distance in memory maps them to the same cache sets are read a
// few at a time.
static void channels_far_apart_have_the_bits_of_panels(void** state) {
  enum { FAR = 4096, CHANNELS = 1024, RESULTS = 96 };
  (void)state;
  test_random_start();
  for (int round = 0; round < 3; ++round) {
    patch_operands o;
    const int64_t wide =
        16 * test_random_integer(2, 8) - test_random_integer(0, 1);
    const int64_t sizes[ETX_SPATIAL] = {1, 1, wide};
    const int64_t kernel[ETX_SPATIAL] = {1, 1, 1};
    etx_volumes x = volumes_of(1, CHANNELS, sizes, false);
    x.channel = FAR * test_random_integer(1, 2);
    make_operands(&o, x, volumes_of(RESULTS, CHANNELS, kernel, false),
                  volumes_of(1, RESULTS, sizes, false), 1);
    for (size_t d = 0; d < ETX_SPATIAL; ++d) {
      const etx_window window = {sizes[d], sizes[d], 1, 1, 0, 1};
      o.dense.windows[d] = o.sparse.windows[d] = window;
    }
    check_sets(&o);
    end_operands(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(patches_have_the_bits_of_panels),
      cmocka_unit_test(large_tiles_have_the_bits_of_panels),
      cmocka_unit_test(large_windows_have_the_bits_of_panels),
      cmocka_unit_test(long_lines_have_the_bits_of_panels),
      cmocka_unit_test(long_lines_have_channels_as_lanes_for_all_threads),
      cmocka_unit_test(channels_far_apart_have_the_bits_of_panels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
