// Calls over bytes that are refused, each because of one argument of a call
// that runs.

#include <string.h>

#include "format/ops/chain_steps.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"

// A call that runs as it is.
typedef struct tensor_case {
  etx_dtype dtype;
  int32_t sizes[4];
  size_t rank;
  const int32_t* strides;
} tensor_case;

typedef struct u8_case {
  tensor_case in, weight, offsets, scales, bias;
  int64_t zero, kernel[2], stride[2], padding[2], dilation[2], groups;
  int64_t out_zero, out_min, out_max, dtype;
  etx_dtype given;  // of the out tensor; ETX_DTYPE_COUNT: as the rule says
} u8_case;

static void add(test_call* call, const tensor_case* t) {
  test_call_tensor(call, t->dtype, t->rank, t->sizes, t->strides, NULL);
}

static void add_channels(test_call* call, const u8_case* c) {
  add(call, &c->offsets);
  add(call, &c->scales);
  add(call, &c->bias);
}

static void add_windows(test_call* call, const u8_case* c) {
  test_call_integers(call, 2, c->stride);
  test_call_integers(call, 2, c->padding);
  test_call_integers(call, 2, c->dilation);
}

static void add_result(test_call* call, const u8_case* c) {
  test_call_integer(call, c->out_zero);
  test_call_integer(call, c->out_min);
  test_call_integer(call, c->out_max);
  test_call_integer(call, c->dtype);
}

static void finish(test_call* call, etx_dtype given, const char* part) {
  const etx_status status = test_call_run(call, given);
  if (part == NULL) {
    if (status != ETX_OK) fail_msg("refused: %s", call->diag.text);
  } else if (status == ETX_OK) {
    fail_msg("not refused, expected '%s'", part);
  } else if (!test_message_has(&call->diag, part)) {
    fail_msg("message '%s' does not contain '%s'", call->diag.text, part);
  }
  test_call_end(call);
}

static const u8_case usual = {
    .in = {ETX_DTYPE_UINT8, {1, 5, 6, 8}, 4, NULL},
    .weight = {ETX_DTYPE_INT8, {4, 9, 16, 4}, 4, NULL},
    .offsets = {ETX_DTYPE_INT32, {38}, 1, NULL},
    .scales = {ETX_DTYPE_FLOAT32, {38}, 1, NULL},
    .bias = {ETX_DTYPE_FLOAT32, {38}, 1, NULL},
    .zero = 3,
    .kernel = {3, 3},
    .stride = {1, 1},
    .padding = {1, 1},
    .dilation = {1, 1},
    .groups = 2,
    .out_max = 255,
    .dtype = ETX_DTYPE_UINT8,
    .given = ETX_DTYPE_COUNT};

// ------------------------------------------------ etx::convolution_u8

// Refused with a message that has `part`; NULL: it runs.
static void convolve(const u8_case* c, const char* part) {
  test_call call;
  test_call_begin(&call, "etx::convolution_u8.out");
  add(&call, &c->in);
  test_call_integer(&call, c->zero);
  add(&call, &c->weight);
  add_channels(&call, c);
  test_call_integers(&call, 2, c->kernel);
  add_windows(&call, c);
  test_call_integer(&call, c->groups);
  add_result(&call, c);
  finish(&call, c->given, part);
}

static void convolutions_of_other_sizes_are_refused(void** state) {
  (void)state;
  u8_case c = usual;
  convolve(&c, NULL);
  c.in.rank = 3;
  convolve(&c, "rank of 'input'");
  c = usual, c.in.sizes[3] = 0;
  convolve(&c, "'input' has no fixed number of channels");
  c = usual, c.in.sizes[3] = 7;
  convolve(&c, "do not divide into 2 groups");
  c = usual, c.groups = 3;
  convolve(&c, "do not divide into 3 groups");
  c = usual, c.groups = 0;
  convolve(&c, "do not divide into 0 groups");
  c = usual, c.groups = INT64_MIN;
  convolve(&c, "do not divide into");
  for (size_t i = 0; i < 4; ++i) {
    for (int32_t step = -1; step <= 1; step += 2) {
      c = usual, c.weight.sizes[i] += step;
      convolve(&c, "a size of 'panels'");
    }
  }
  c = usual, c.weight.rank = 3;
  convolve(&c, "rank of 'panels'");
  c = usual, c.scales.sizes[0] = 37;
  convolve(&c, "scales");
  c = usual, c.bias.sizes[0] = 39;
  convolve(&c, "bias");
  c = usual, c.offsets.rank = 2, c.offsets.sizes[1] = 1;
  convolve(&c, "rank of 'offsets'");
  c = usual, c.offsets.sizes[0] = c.scales.sizes[0] = c.bias.sizes[0] = 0;
  convolve(&c, "'offsets' has no fixed number of channels");
}

static void windows_that_do_not_fit_are_refused(void** state) {
  (void)state;
  u8_case c = usual;
  c.padding[0] = 0, c.in.sizes[1] = 2;
  convolve(&c, "the window is larger than the padded size 2");
  c = usual, c.dilation[1] = 4;
  convolve(&c, "the window is larger than the padded size 8");
  c = usual, c.stride[0] = 0;
  convolve(&c, "the stride");
  c = usual, c.padding[0] = -1;
  convolve(&c, "the padding");
  c = usual, c.dilation[0] = 0;
  convolve(&c, "the dilation");
  c = usual, c.kernel[1] = 0;
  convolve(&c, "the kernel size");
  static const int64_t large[] = {INT32_MAX, 1LL << 40, 1LL << 62, INT64_MAX};
  for (size_t i = 0; i < 4; ++i) {
    c = usual, c.kernel[0] = large[i];
    convolve(&c, "");
    c = usual, c.dilation[1] = large[i];
    convolve(&c, "");
  }
}

// 65793 products of 255 and -128 are the most whose sum 32 bits hold.
static void rows_whose_sums_may_wrap_are_refused(void** state) {
  (void)state;
  u8_case c = usual;
  c.in = (tensor_case){ETX_DTYPE_UINT8, {1, 1, 1, 65793}, 4, NULL};
  c.weight = (tensor_case){ETX_DTYPE_INT8, {3, 16449, 16, 4}, 4, NULL};
  c.kernel[0] = c.kernel[1] = c.groups = 1;
  c.padding[0] = c.padding[1] = 0;
  convolve(&c, NULL);
  c.in.sizes[3] = 65794;
  convolve(&c, "a sum has 65794 products, expected at most 65793");
}

static void results_out_of_range_are_refused(void** state) {
  static const int64_t none[] = {-1, 256, INT64_MIN, INT64_MAX};
  (void)state;
  u8_case c;
  for (size_t i = 0; i < 4; ++i) {
    c = usual, c.zero = none[i];
    convolve(&c, "the zero point is");
    c = usual, c.out_zero = none[i];
    convolve(&c, "the zero point of results is");
    c = usual, c.out_min = none[i];
    convolve(&c, "the least result is");
    c = usual, c.out_max = none[i];
    convolve(&c, "the largest result is");
    c = usual, c.dtype = none[i];
    convolve(&c, "the result has type");
  }
  c = usual, c.out_min = 9, c.out_max = 8;
  convolve(&c, "results are at least 9 and at most 8");
  c = usual, c.dtype = ETX_DTYPE_INT8;
  convolve(&c, "the result has type 1");
  c = usual, c.given = ETX_DTYPE_FLOAT32;
  convolve(&c, "'out' has type 'float32', expected 'uint8'");
  c = usual, c.dtype = ETX_DTYPE_FLOAT32, c.given = ETX_DTYPE_UINT8;
  convolve(&c, "'out' has type 'uint8', expected 'float32'");
}

static void other_types_are_refused(void** state) {
  (void)state;
  u8_case c = usual;
  c.in.dtype = ETX_DTYPE_INT8;
  convolve(&c, "'input' has type 'int8', expected 'uint8'");
  c = usual, c.weight.dtype = ETX_DTYPE_UINT8;
  convolve(&c, "'panels' has type 'uint8', expected 'int8'");
  c = usual, c.offsets.dtype = ETX_DTYPE_INT64;
  convolve(&c, "'offsets' has type 'int64', expected 'int32'");
  c = usual, c.scales.dtype = ETX_DTYPE_FLOAT64;
  convolve(&c, "'scales' has type 'float64', expected 'float32'");
  c = usual, c.bias.dtype = ETX_DTYPE_INT32;
  convolve(&c, "'bias' has type 'int32', expected 'float32'");
}

static void images_that_lie_otherwise_are_refused(void** state) {
  static const int32_t first[] = {240, 6, 1, 30}, gaps[] = {2};
  (void)state;
  u8_case c = usual;
  c.in.strides = first;
  convolve(&c, "'input' is not contiguous");
  c = usual, c.scales.strides = gaps;
  convolve(&c, "'scales' is not contiguous");
}

// ------------------------------------------------ etx::depthwise_u8

static void convolve_each(const u8_case* c, const char* part) {
  test_call call;
  test_call_begin(&call, "etx::depthwise_u8.out");
  add(&call, &c->in);
  test_call_integer(&call, c->zero);
  add(&call, &c->weight);
  add_channels(&call, c);
  add_windows(&call, c);
  add_result(&call, c);
  finish(&call, c->given, part);
}

static void depthwise_convolutions_are_refused(void** state) {
  (void)state;
  u8_case each = usual;
  each.weight = (tensor_case){ETX_DTYPE_INT8, {3, 3, 8}, 3, NULL};
  each.offsets.sizes[0] = each.scales.sizes[0] = each.bias.sizes[0] = 8;
  convolve_each(&each, NULL);
  u8_case c = each;
  c.weight.sizes[2] = 9;
  convolve_each(&c, "the channels of 'weight'");
  c = each, c.weight.sizes[0] = 0;
  convolve_each(&c, "'weight' has no fixed window");
  c = each, c.weight.rank = 4, c.weight.sizes[3] = 1;
  convolve_each(&c, "rank of 'weight'");
  c = each, c.offsets.sizes[0] = c.scales.sizes[0] = c.bias.sizes[0] = 9;
  convolve_each(&c, "the size of 'offsets'");
  c = each, c.weight.sizes[1] = 9;
  convolve_each(&c, "the window is larger");
  c = each, c.zero = 256;
  convolve_each(&c, "the zero point is 256");
  c = each, c.out_min = -1;
  convolve_each(&c, "the least result is -1");
  c = each, c.weight.dtype = ETX_DTYPE_INT16;
  convolve_each(&c, "'weight' has type 'int16', expected 'int8'");
  c = each, c.weight.sizes[0] = 65, c.padding[0] = 40;
  convolve_each(&c, "windows reach over more than 64 rows: 65, 1 apart");
  c = each, c.dilation[0] = 32, c.padding[0] = 32;
  convolve_each(&c, "windows reach over more than 64 rows: 3, 32 apart");
  c = each, c.weight.sizes[0] = 60, c.weight.sizes[1] = 1100;
  c.padding[0] = 40, c.padding[1] = 600;
  convolve_each(&c, "a sum has 66000 products");
}

// ------------------------------------------------ etx::linear_u8

static void multiply(const u8_case* c, const char* part) {
  test_call call;
  test_call_begin(&call, "etx::linear_u8.out");
  add(&call, &c->in);
  add(&call, &c->weight);
  add_channels(&call, c);
  add_result(&call, c);
  finish(&call, c->given, part);
}

static void layers_are_refused(void** state) {
  (void)state;
  u8_case layer = usual;
  layer.in = (tensor_case){ETX_DTYPE_UINT8, {3, 13}, 2, NULL};
  layer.weight = (tensor_case){ETX_DTYPE_INT8, {3, 4, 16, 4}, 4, NULL};
  multiply(&layer, NULL);
  u8_case c = layer;
  c.in.rank = 0;
  multiply(&c, "rank of 'input'");
  c = layer, c.in.sizes[1] = 0;
  multiply(&c, "the last size of 'input' is not fixed, or 0");
  c = layer, c.in.sizes[1] = 17;
  multiply(&c, "a size of 'panels'");
  c = layer, c.weight.sizes[0] = 2;
  multiply(&c, "a size of 'panels'");
  c = layer, c.out_zero = 300;
  multiply(&c, "the zero point of results is 300");
  c = layer, c.in.dtype = ETX_DTYPE_FLOAT32;
  multiply(&c, "'input' has type 'float32', expected 'uint8'");
}

// ------------------------------------------------ etx::max_pool2d_u8

static void pool(const u8_case* c, const char* part) {
  test_call call;
  test_call_begin(&call, "etx::max_pool2d_u8.out");
  add(&call, &c->in);
  test_call_integers(&call, 2, c->kernel);
  add_windows(&call, c);
  test_call_boolean(&call, false);
  finish(&call, c->given, part);
}

static void pools_are_refused(void** state) {
  static const int32_t first[] = {240, 6, 1, 30};
  (void)state;
  u8_case c = usual;
  pool(&c, NULL);
  c = usual, c.padding[0] = 2;
  pool(&c, "the padding is 2, expected at most half of the kernel size 3");
  c = usual, c.kernel[1] = 9;
  pool(&c, "is larger than the padded size");
  c = usual, c.in.rank = 3;
  pool(&c, "rank of 'self'");
  c = usual, c.in.sizes[2] = 0;
  pool(&c, "size 2 of 'self' is 0, expected more");
  c = usual, c.in.dtype = ETX_DTYPE_INT8;
  pool(&c, "'self' has type 'int8', expected 'uint8'");
  c = usual, c.in.strides = first;
  pool(&c, "'self' is not contiguous");
  c = usual, c.given = ETX_DTYPE_FLOAT32;
  pool(&c, "'out' has type 'float32', expected 'uint8'");
}

// ------------------------------------------------ etx::mean_u8

static void average(const u8_case* c, const char* part) {
  test_call call;
  test_call_begin(&call, "etx::mean_u8.out");
  add(&call, &c->in);
  test_call_integer(&call, c->zero);
  test_call_real(&call, 1);
  add_result(&call, c);
  finish(&call, c->given, part);
}

static void means_are_refused(void** state) {
  static const int32_t first[] = {240, 6, 1, 30};
  (void)state;
  u8_case c = usual;
  average(&c, NULL);
  c = usual, c.in.rank = 3;
  average(&c, "rank of 'self'");
  c = usual, c.zero = 256;
  average(&c, "the zero point is 256");
  c = usual, c.out_max = -1;
  average(&c, "the largest result is -1");
  c = usual, c.in.dtype = ETX_DTYPE_INT8;
  average(&c, "'self' has type 'int8', expected 'uint8'");
  c = usual, c.in.strides = first;
  average(&c, "'self' is not contiguous");
  c = usual, c.given = ETX_DTYPE_FLOAT32;
  average(&c, "'out' has type 'float32', expected 'uint8'");
  // Without channels nothing lies there.
  c = usual, c.in.sizes[1] = 4096, c.in.sizes[2] = 2049, c.in.sizes[3] = 0;
  average(&c, "an image has 8392704 pixels, expected at most 8388608");
}

// ------------------------------------------------ etx::chain_u8

typedef struct chain_case {
  tensor_case self, other;
  size_t others, scales, zeros;  // how many
  int64_t zero, other_zero, out_zero, dtype;
  const char* text;
} chain_case;

enum { MOST_OTHERS = ETX_CHAIN_MAX_OTHERS + 1 };

static const chain_case usual_chain = {
    .self = {ETX_DTYPE_UINT8, {4, 6}, 2, NULL},
    .other = {ETX_DTYPE_UINT8, {6}, 1, NULL},
    .others = 2,
    .scales = 2,
    .zeros = 2,
    .dtype = ETX_DTYPE_UINT8,
    .text = "x 0 add 1 multiply"};

static void compute(const chain_case* c, const char* part) {
  const double scales[MOST_OTHERS] = {1, 2, 3};
  const int64_t zeros[MOST_OTHERS] = {c->other_zero};
  test_call call;
  test_call_begin(&call, "etx::chain_u8.out");
  add(&call, &c->self);
  test_call_real(&call, 1);
  test_call_integer(&call, c->zero);
  for (size_t i = 0; i < c->others; ++i) add(&call, &c->other);
  test_call_gather_list(&call, c->others);
  test_call_reals(&call, c->scales, scales);
  test_call_integers(&call, c->zeros, zeros);
  test_call_string(&call, c->text);
  test_call_real(&call, 1);
  test_call_integer(&call, c->out_zero);
  test_call_integer(&call, 0);
  test_call_integer(&call, 255);
  test_call_integer(&call, c->dtype);
  finish(&call, ETX_DTYPE_COUNT, part);
}

static void chains_are_refused(void** state) {
  static const int32_t columns[] = {1, 4};
  (void)state;
  chain_case c = usual_chain;
  compute(&c, NULL);
  for (size_t count = 0; count < 4; ++count) {
    c = usual_chain, c.scales = count;
    if (count != 2) compute(&c, "there are 2 tensors and");
    c = usual_chain, c.zeros = count;
    if (count != 2) compute(&c, "zero points");
  }
  c = usual_chain, c.others = 1;
  compute(&c, "there are 1 tensors and 2 scales");
  c = usual_chain, c.others = c.scales = c.zeros = MOST_OTHERS;
  compute(&c, "'others' has 17 tensors, expected at most 16");
  c.others = c.scales = c.zeros = MOST_OTHERS - 1;
  compute(&c, NULL);
  c = usual_chain, c.zero = -1;
  compute(&c, "a zero point is -1, expected 0 to 255");
  c = usual_chain, c.other_zero = 256;
  compute(&c, "a zero point is 256, expected 0 to 255");
  c = usual_chain, c.out_zero = 256;
  compute(&c, "the zero point of results is 256");
  c = usual_chain, c.dtype = ETX_DTYPE_FLOAT64;
  compute(&c, "the result has type 7");
  c = usual_chain, c.self.dtype = ETX_DTYPE_INT8;
  compute(&c, "'self' has type 'int8'");
  c = usual_chain, c.self.strides = columns;
  compute(&c, "'self' is not contiguous");
  c = usual_chain, c.other.dtype = ETX_DTYPE_FLOAT64;
  compute(&c, "item 0 of 'others' has type 'float64'");
  c = usual_chain, c.other.sizes[0] = 4;
  compute(&c, "another tensor");
  c = usual_chain, c.text = "x 2 add";
  compute(&c, "");
  c = usual_chain, c.text = "x x";
  compute(&c, "");
  c = usual_chain, c.text = "";
  compute(&c, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_of_other_sizes_are_refused),
      cmocka_unit_test(windows_that_do_not_fit_are_refused),
      cmocka_unit_test(rows_whose_sums_may_wrap_are_refused),
      cmocka_unit_test(results_out_of_range_are_refused),
      cmocka_unit_test(other_types_are_refused),
      cmocka_unit_test(images_that_lie_otherwise_are_refused),
      cmocka_unit_test(depthwise_convolutions_are_refused),
      cmocka_unit_test(layers_are_refused),
      cmocka_unit_test(pools_are_refused),
      cmocka_unit_test(means_are_refused),
      cmocka_unit_test(chains_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
