// Transposed convolution gives the bits of a plain loop over its definition,
// for every number of threads and every instruction set of this machine, also
// with weights in panels of sixteen channels. Operands end at a guard page.

#include <math.h>
#include <string.h>

#include "runtime/kernels/convolution/convolution.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/runtime/kernels/image/convolution_weight_panels.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum { ROUNDS = TEST_ROUNDS(300), MOST_WORK = 1000000, THREADS = 3 };

typedef struct subpixel_operands {
  etx_convolution c;
  etx_tensor bias;
  int32_t bias_size, bias_stride;
  test_block in, weight, biases, out, expected;
} subpixel_operands;

static void run_tasks(void* context, void (*task)(void*, size_t),
                      void* argument, size_t count) {
  (void)context;
  while (count > 0) task(argument, --count);
}

static int64_t some(const int64_t* of, size_t count) {
  return of[test_random_bits() % count];
}

// Also draws windows with phases that have no tap, and results that no input
// reaches.
static etx_window random_window(bool is_line) {
  static const int64_t kernels[] = {1, 2, 2, 3, 3, 4, 4, 5, 7, 10, 16},
                       strides[] = {1, 2, 2, 2, 3, 4, 5, 8, 33},
                       sizes[] = {1, 2, 4, 7, 8, 15, 16, 28, 57};
  etx_window w = {1, 1, 1, 1, 0, 1};
  if (is_line) return w;
  w.kernel = some(kernels, 11);
  w.stride = some(strides, 9);
  w.padding = test_random_integer(0, w.kernel);
  w.dilation = test_random_bits() % 2 == 0 ? 1 : test_random_integer(1, 4);
  w.in = test_random_bits() % 8 == 0 ? test_random_integer(1, 900)
                                     : some(sizes, 9);
  w.out = (w.in - 1) * w.stride - 2 * w.padding + (w.kernel - 1) * w.dilation +
          1 + test_random_integer(0, w.stride - 1);
  return w;
}

static etx_volumes volumes_of(int64_t images, int64_t channels,
                              const int64_t* sizes, bool channels_last,
                              ptrdiff_t apart) {
  etx_volumes v = {.dtype = ETX_DTYPE_FLOAT32,
                   .bytes = 4,
                   .images = images,
                   .channels = channels};
  ptrdiff_t stride = channels_last ? (ptrdiff_t)channels * apart : apart;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    v.sizes[d] = sizes[d];
    v.strides[d] = stride;
    stride *= (ptrdiff_t)sizes[d];
  }
  v.channel = channels_last ? apart : stride;
  v.image = channels_last ? stride : stride * (ptrdiff_t)channels;
  return v;
}

static test_block floats_of(etx_volumes* v, size_t apart) {
  const size_t count = (size_t)(v->images * v->channels * v->sizes[0] *
                                v->sizes[1] * v->sizes[2]) *
                       apart;
  test_block block = test_block_new(count * sizeof(float), sizeof(float));
  test_random_floats((float*)(void*)block.bytes.data, count, 2);
  v->data = (char*)block.bytes.data;
  return block;
}

static bool start_operands(subpixel_operands* o) {
  const bool is_line = test_random_bits() % 3 == 0;
  const bool is_deep = test_random_bits() % 3 == 0;
  const etx_window windows[] = {random_window(true), random_window(is_line),
                                random_window(false)};
  const int64_t groups = test_random_integer(1, is_deep ? 2 : 6);
  const int64_t in = test_random_integer(1, is_deep ? 200 : 6);
  const int64_t any = test_random_integer(1, is_deep ? 140 : 20);
  const bool is_whole = test_random_bits() % 3 == 0;
  const int64_t out = is_whole ? (any + 15) / 16 * 16 : any;
  const int64_t images = test_random_integer(1, 2);
  int64_t in_sizes[ETX_SPATIAL], out_sizes[ETX_SPATIAL], kernel[ETX_SPATIAL];
  int64_t work = images * groups * in * out, results = images * groups * out;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    if (windows[d].out < 1) return false;
    in_sizes[d] = windows[d].in;
    out_sizes[d] = windows[d].out;
    kernel[d] = windows[d].kernel;
    work *= in_sizes[d] * kernel[d];
    results *= out_sizes[d];
  }
  if (work > MOST_WORK || results > MOST_WORK / 4) return false;
  memset(o, 0, sizeof(*o));
  const bool is_last = test_random_bits() % 5 == 0;
  const size_t apart = test_random_bits() % 4 == 0 ? 2 : 1;
  etx_volumes x = volumes_of(images, groups * in, in_sizes, is_last, 1);
  etx_volumes w = volumes_of(groups * in, out, kernel, false, (ptrdiff_t)apart);
  etx_volumes y = volumes_of(images, groups * out, out_sizes,
                             is_last && test_random_bits() % 2 == 0, 1);
  o->in = floats_of(&x, 1);
  o->weight = floats_of(&w, apart);
  o->expected = floats_of(&y, 1);
  o->out = floats_of(&y, 1);
  o->c = etx_convolution_of(&x, &w, &y, groups, true);
  memcpy(o->c.windows, windows, sizeof(windows));
  o->bias_size = (int32_t)(groups * out);
  o->bias_stride = 1;
  o->biases = test_block_new((size_t)(groups * out) * 4, 4);
  test_random_floats((float*)(void*)o->biases.bytes.data,
                     (size_t)(groups * out), 2);
  o->bias = (etx_tensor){.dtype = ETX_DTYPE_FLOAT32,
                         .rank = 1,
                         .sizes = &o->bias_size,
                         .strides = &o->bias_stride,
                         .data = o->biases.bytes.data};
  if (test_random_bits() % 2 == 0) o->c.bias = &o->bias;
  return true;
}

static void end_operands(subpixel_operands* o) {
  test_block* blocks[] = {&o->in, &o->weight, &o->biases, &o->out,
                          &o->expected};
  for (size_t i = 0; i < 5; ++i) assert_true(test_block_end(blocks[i]));
}

// The input position that tap `tap` of result `out` reads; -1: none.
static int64_t seen_through(const etx_window* w, int64_t out, int64_t tap) {
  const int64_t reach = out + w->padding - tap * w->dilation;
  if (reach < 0 || reach % w->stride != 0) return -1;
  return reach / w->stride < w->in ? reach / w->stride : -1;
}

// Adds the taps of a channel from the last to the first, then those of the next
// channel. Each step is rounded once.
static void sum_result(const subpixel_operands* o, int64_t image,
                       int64_t channel, int64_t y, int64_t x) {
  const etx_convolution* c = &o->c;
  const etx_volumes* in = &c->in;
  const int64_t group = channel / c->out_channels;
  const float* weights = (const float*)(const void*)c->weight.data +
                         group * c->weight_group +
                         channel % c->out_channels * c->weight_out;
  const float* input = (const float*)(const void*)in->data + image * in->image +
                       group * c->in_channels * in->channel;
  float sum = 0;
  double exact = 0, most = 0;
  for (int64_t i = 0; i < c->in_channels; ++i) {
    for (int64_t a = c->windows[1].kernel; a-- > 0;) {
      const int64_t row = seen_through(&c->windows[1], y, a);
      for (int64_t b = c->windows[2].kernel; row >= 0 && b-- > 0;) {
        const int64_t column = seen_through(&c->windows[2], x, b);
        if (column < 0) continue;
        const float weight =
            weights[i * c->weight_in + a * c->weight.strides[1] +
                    b * c->weight.strides[2]];
        const float value = input[i * in->channel + row * in->strides[1] +
                                  column * in->strides[2]];
        sum = fmaf(weight, value, sum);
        exact += (double)weight * value;
        most += fabs((double)weight * value);
      }
    }
  }
  assert_true(fabs(exact - (double)sum) <= 1e-5 * (1 + most));
  if (c->bias != NULL) sum += ((const float*)c->bias->data)[channel];
  const etx_volumes* out = &c->out;
  ((float*)(void*)
       o->expected.bytes.data)[image * out->image + channel * out->channel +
                               y * out->strides[1] + x * out->strides[2]] = sum;
}

static void sum_results(const subpixel_operands* o) {
  const etx_volumes* out = &o->c.out;
  for (int64_t i = 0; i < out->images * out->channels; ++i) {
    for (int64_t y = 0; y < out->sizes[1]; ++y) {
      for (int64_t x = 0; x < out->sizes[2]; ++x) {
        sum_result(o, i / out->channels, i % out->channels, y, x);
      }
    }
  }
}

static void check_set(const subpixel_operands* o, const etx_convolution* c,
                      etx_instruction_set set, size_t threads) {
  const etx_parallel parallel = {.parallel_for = run_tasks,
                                 .thread_count = threads,
                                 .instruction_set = set};
  memset(o->out.bytes.data, 0xff, o->out.bytes.size);
  test_run_convolution(c, &parallel);
  if (memcmp(o->out.bytes.data, o->expected.bytes.data, o->out.bytes.size) ==
      0) {
    return;
  }
  const etx_window *y = &o->c.windows[1], *x = &o->c.windows[2];
  fail_msg(
      "%s%s, %zu threads: %d x %d to %d x %d by %d x %d, strides %d %d, "
      "paddings %d %d, dilations %d %d, channels %d to %d in %d groups",
      etx_instruction_set_name(set), c->has_panels ? ", in panels" : "",
      threads, (int)y->in, (int)x->in, (int)y->out, (int)x->out, (int)y->kernel,
      (int)x->kernel, (int)y->stride, (int)x->stride, (int)y->padding,
      (int)x->padding, (int)y->dilation, (int)x->dilation,
      (int)o->c.in_channels, (int)o->c.out_channels, (int)o->c.groups);
}

static void check_sets(const subpixel_operands* o, const etx_convolution* c) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    for (size_t threads = 1; threads <= THREADS; ++threads) {
      check_set(o, c, (etx_instruction_set)set, threads);
    }
  }
}

static void results_have_the_bits_of_a_plain_loop(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS;) {
    subpixel_operands o;
    if (!start_operands(&o)) continue;
    sum_results(&o);
    check_sets(&o, &o.c);
    if (o.c.out_channels % ETX_CONVOLUTION_PANEL == 0) {
      test_block panels;
      const etx_convolution packed = test_in_panels(&o.c, &panels);
      check_sets(&o, &packed);
      assert_true(test_block_end(&panels));
    }
    end_operands(&o);
    ++round;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_have_the_bits_of_a_plain_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
