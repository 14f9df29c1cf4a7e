// uint8 operators refuse invalid arguments. Each case changes one argument of a
// valid call.

#include <string.h>

#include "format/ops/chain_steps.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"

// The arguments of a call, of which each operator uses some.
typedef struct tensor_args {
  etx_dtype dtype;
  int32_t sizes[4];
  size_t rank;
  const int32_t* strides;
} tensor_args;

typedef struct u8_args {
  tensor_args in, weight, offsets, scales, bias;
  int64_t zero, kernel[2], stride[2], padding[2], dilation[2], groups;
  int64_t out_zero, out_min, out_max, dtype;
  etx_dtype out_dtype;  // type of the out tensor, or TEST_CALL_RULE_DTYPE
} u8_args;

static void add(test_call* call, const tensor_args* t) {
  test_call_tensor(call, t->dtype, t->rank, t->sizes, t->strides, NULL);
}

static void add_channels(test_call* call, const u8_args* c) {
  add(call, &c->offsets);
  add(call, &c->scales);
  add(call, &c->bias);
}

static void add_windows(test_call* call, const u8_args* c) {
  test_call_integers(call, 2, c->stride);
  test_call_integers(call, 2, c->padding);
  test_call_integers(call, 2, c->dilation);
}

static void add_result(test_call* call, const u8_args* c) {
  test_call_integer(call, c->out_zero);
  test_call_integer(call, c->out_min);
  test_call_integer(call, c->out_max);
  test_call_integer(call, c->dtype);
}

static void expect(test_call* call, etx_dtype out_dtype, const char* message) {
  const etx_status status = test_call_run(call, out_dtype);
  if (message == NULL) {
    if (status != ETX_OK) fail_msg("refused: %s", call->diag.text);
  } else if (status == ETX_OK) {
    fail_msg("not refused, expected '%s'", message);
  } else if (!test_message_has(&call->diag, message)) {
    fail_msg("message '%s' does not contain '%s'", call->diag.text, message);
  }
  test_call_end(call);
}

static const u8_args valid = {
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
    .out_dtype = TEST_CALL_RULE_DTYPE};

// ------------------------------------------------ etx::convolution_u8

// The call is refused with a message that contains `message`; NULL: it runs.
static void expect_convolution(const u8_args* c, const char* message) {
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
  expect(&call, c->out_dtype, message);
}

static void convolution_refuses_mismatched_sizes(void** state) {
  (void)state;
  u8_args c = valid;
  expect_convolution(&c, NULL);
  c.in.rank = 3;
  expect_convolution(&c, "rank of 'input'");
  c = valid, c.in.sizes[3] = 0;
  expect_convolution(&c, "'input' has no fixed number of channels");
  c = valid, c.in.sizes[3] = 7;
  expect_convolution(&c, "do not divide into 2 groups");
  c = valid, c.groups = 3;
  expect_convolution(&c, "do not divide into 3 groups");
  c = valid, c.groups = 0;
  expect_convolution(&c, "do not divide into 0 groups");
  c = valid, c.groups = INT64_MIN;
  expect_convolution(&c, "do not divide into");
  for (size_t i = 0; i < 4; ++i) {
    for (int32_t step = -1; step <= 1; step += 2) {
      c = valid, c.weight.sizes[i] += step;
      expect_convolution(&c, "a size of 'panels'");
    }
  }
  c = valid, c.weight.rank = 3;
  expect_convolution(&c, "rank of 'panels'");
  c = valid, c.scales.sizes[0] = 37;
  expect_convolution(&c, "scales");
  c = valid, c.bias.sizes[0] = 39;
  expect_convolution(&c, "bias");
  c = valid, c.offsets.rank = 2, c.offsets.sizes[1] = 1;
  expect_convolution(&c, "rank of 'offsets'");
  c = valid, c.offsets.sizes[0] = c.scales.sizes[0] = c.bias.sizes[0] = 0;
  expect_convolution(&c, "'offsets' has no fixed number of channels");
}

static void convolution_refuses_invalid_windows(void** state) {
  (void)state;
  u8_args c = valid;
  c.padding[0] = 0, c.in.sizes[1] = 2;
  expect_convolution(&c, "the window is larger than the padded size 2");
  c = valid, c.dilation[1] = 4;
  expect_convolution(&c, "the window is larger than the padded size 8");
  c = valid, c.stride[0] = 0;
  expect_convolution(&c, "the stride");
  c = valid, c.padding[0] = -1;
  expect_convolution(&c, "the padding");
  c = valid, c.dilation[0] = 0;
  expect_convolution(&c, "the dilation");
  c = valid, c.kernel[1] = 0;
  expect_convolution(&c, "the kernel size");
  static const int64_t large[] = {INT32_MAX, 1LL << 40, 1LL << 62, INT64_MAX};
  for (size_t i = 0; i < 4; ++i) {
    c = valid, c.kernel[0] = large[i];
    expect_convolution(&c, "");
    c = valid, c.dilation[1] = large[i];
    expect_convolution(&c, "");
  }
}

// The sum of 65793 products of 255 and -128 is the longest that fits int32.
static void convolution_refuses_sums_that_may_overflow(void** state) {
  (void)state;
  u8_args c = valid;
  c.in = (tensor_args){ETX_DTYPE_UINT8, {1, 1, 1, 65793}, 4, NULL};
  c.weight = (tensor_args){ETX_DTYPE_INT8, {3, 16449, 16, 4}, 4, NULL};
  c.kernel[0] = c.kernel[1] = c.groups = 1;
  c.padding[0] = c.padding[1] = 0;
  expect_convolution(&c, NULL);
  c.in.sizes[3] = 65794;
  expect_convolution(&c, "a sum has 65794 products, expected at most 65793");
}

static void convolution_refuses_results_out_of_range(void** state) {
  static const int64_t out_of_range[] = {-1, 256, INT64_MIN, INT64_MAX};
  (void)state;
  u8_args c;
  for (size_t i = 0; i < 4; ++i) {
    c = valid, c.zero = out_of_range[i];
    expect_convolution(&c, "the zero point is");
    c = valid, c.out_zero = out_of_range[i];
    expect_convolution(&c, "the zero point of results is");
    c = valid, c.out_min = out_of_range[i];
    expect_convolution(&c, "the least result is");
    c = valid, c.out_max = out_of_range[i];
    expect_convolution(&c, "the largest result is");
    c = valid, c.dtype = out_of_range[i];
    expect_convolution(&c, "the result has type");
  }
  c = valid, c.out_min = 9, c.out_max = 8;
  expect_convolution(&c, "results are at least 9 and at most 8");
  c = valid, c.dtype = ETX_DTYPE_INT8;
  expect_convolution(&c, "the result has type 1");
  c = valid, c.out_dtype = ETX_DTYPE_FLOAT32;
  expect_convolution(&c, "'out' has type 'float32', expected 'uint8'");
  c = valid, c.dtype = ETX_DTYPE_FLOAT32, c.out_dtype = ETX_DTYPE_UINT8;
  expect_convolution(&c, "'out' has type 'uint8', expected 'float32'");
}

static void convolution_refuses_other_types(void** state) {
  (void)state;
  u8_args c = valid;
  c.in.dtype = ETX_DTYPE_INT8;
  expect_convolution(&c, "'input' has type 'int8', expected 'uint8'");
  c = valid, c.weight.dtype = ETX_DTYPE_UINT8;
  expect_convolution(&c, "'panels' has type 'uint8', expected 'int8'");
  c = valid, c.offsets.dtype = ETX_DTYPE_INT64;
  expect_convolution(&c, "'offsets' has type 'int64', expected 'int32'");
  c = valid, c.scales.dtype = ETX_DTYPE_FLOAT64;
  expect_convolution(&c, "'scales' has type 'float64', expected 'float32'");
  c = valid, c.bias.dtype = ETX_DTYPE_INT32;
  expect_convolution(&c, "'bias' has type 'int32', expected 'float32'");
}

static void convolution_refuses_strided_tensors(void** state) {
  static const int32_t channels_first[] = {240, 6, 1, 30}, gaps[] = {2};
  (void)state;
  u8_args c = valid;
  c.in.strides = channels_first;
  expect_convolution(&c, "'input' is not contiguous");
  c = valid, c.scales.strides = gaps;
  expect_convolution(&c, "'scales' is not contiguous");
}

// ------------------------------------------------ etx::depthwise_u8

static void expect_depthwise(const u8_args* c, const char* message) {
  test_call call;
  test_call_begin(&call, "etx::depthwise_u8.out");
  add(&call, &c->in);
  test_call_integer(&call, c->zero);
  add(&call, &c->weight);
  add_channels(&call, c);
  add_windows(&call, c);
  add_result(&call, c);
  expect(&call, c->out_dtype, message);
}

static void depthwise_refuses_invalid_arguments(void** state) {
  (void)state;
  u8_args each = valid;
  each.weight = (tensor_args){ETX_DTYPE_INT8, {3, 3, 8}, 3, NULL};
  each.offsets.sizes[0] = each.scales.sizes[0] = each.bias.sizes[0] = 8;
  expect_depthwise(&each, NULL);
  u8_args c = each;
  c.weight.sizes[2] = 9;
  expect_depthwise(&c, "the channels of 'weight'");
  c = each, c.weight.sizes[0] = 0;
  expect_depthwise(&c, "'weight' has no fixed window");
  c = each, c.weight.rank = 4, c.weight.sizes[3] = 1;
  expect_depthwise(&c, "rank of 'weight'");
  c = each, c.offsets.sizes[0] = c.scales.sizes[0] = c.bias.sizes[0] = 9;
  expect_depthwise(&c, "the size of 'offsets'");
  c = each, c.weight.sizes[1] = 9;
  expect_depthwise(&c, "the window is larger");
  c = each, c.zero = 256;
  expect_depthwise(&c, "the zero point is 256");
  c = each, c.out_min = -1;
  expect_depthwise(&c, "the least result is -1");
  c = each, c.weight.dtype = ETX_DTYPE_INT16;
  expect_depthwise(&c, "'weight' has type 'int16', expected 'int8'");
  c = each, c.weight.sizes[0] = 65, c.padding[0] = 40;
  expect_depthwise(&c, "windows span more than 64 rows: 65 taps, 1 apart");
  c = each, c.dilation[0] = 32, c.padding[0] = 32;
  expect_depthwise(&c, "windows span more than 64 rows: 3 taps, 32 apart");
  c = each, c.weight.sizes[0] = 60, c.weight.sizes[1] = 1100;
  c.padding[0] = 40, c.padding[1] = 600;
  expect_depthwise(&c, "a sum has 66000 products");
}

// ------------------------------------------------ etx::linear_u8

static void expect_linear(const u8_args* c, const char* message) {
  test_call call;
  test_call_begin(&call, "etx::linear_u8.out");
  add(&call, &c->in);
  add(&call, &c->weight);
  add_channels(&call, c);
  add_result(&call, c);
  expect(&call, c->out_dtype, message);
}

static void linear_refuses_invalid_arguments(void** state) {
  (void)state;
  u8_args layer = valid;
  layer.in = (tensor_args){ETX_DTYPE_UINT8, {3, 13}, 2, NULL};
  layer.weight = (tensor_args){ETX_DTYPE_INT8, {3, 4, 16, 4}, 4, NULL};
  expect_linear(&layer, NULL);
  u8_args c = layer;
  c.in.rank = 0;
  expect_linear(&c, "rank of 'input'");
  c = layer, c.in.sizes[1] = 0;
  expect_linear(&c, "the last size of 'input' is not fixed, or 0");
  c = layer, c.in.sizes[1] = 17;
  expect_linear(&c, "a size of 'panels'");
  c = layer, c.weight.sizes[0] = 2;
  expect_linear(&c, "a size of 'panels'");
  c = layer, c.out_zero = 300;
  expect_linear(&c, "the zero point of results is 300");
  c = layer, c.in.dtype = ETX_DTYPE_FLOAT32;
  expect_linear(&c, "'input' has type 'float32', expected 'uint8'");
}

// ------------------------------------------------ etx::max_pool2d_u8

static void expect_max_pool(const u8_args* c, const char* message) {
  test_call call;
  test_call_begin(&call, "etx::max_pool2d_u8.out");
  add(&call, &c->in);
  test_call_integers(&call, 2, c->kernel);
  add_windows(&call, c);
  test_call_boolean(&call, false);
  expect(&call, c->out_dtype, message);
}

static void max_pool_refuses_invalid_arguments(void** state) {
  static const int32_t channels_first[] = {240, 6, 1, 30};
  (void)state;
  u8_args c = valid;
  expect_max_pool(&c, NULL);
  c = valid, c.padding[0] = 2;
  expect_max_pool(
      &c, "the padding is 2, expected at most half of the kernel size 3");
  c = valid, c.kernel[1] = 9;
  expect_max_pool(&c, "is larger than the padded size");
  c = valid, c.in.rank = 3;
  expect_max_pool(&c, "rank of 'self'");
  c = valid, c.in.sizes[2] = 0;
  expect_max_pool(&c, "size 2 of 'self' is 0, expected more");
  c = valid, c.in.dtype = ETX_DTYPE_INT8;
  expect_max_pool(&c, "'self' has type 'int8', expected 'uint8'");
  c = valid, c.in.strides = channels_first;
  expect_max_pool(&c, "'self' is not contiguous");
  c = valid, c.out_dtype = ETX_DTYPE_FLOAT32;
  expect_max_pool(&c, "'out' has type 'float32', expected 'uint8'");
}

// ------------------------------------------------ etx::mean_u8

static void expect_mean(const u8_args* c, const char* message) {
  test_call call;
  test_call_begin(&call, "etx::mean_u8.out");
  add(&call, &c->in);
  test_call_integer(&call, c->zero);
  test_call_real(&call, 1);
  add_result(&call, c);
  expect(&call, c->out_dtype, message);
}

static void mean_refuses_invalid_arguments(void** state) {
  static const int32_t channels_first[] = {240, 6, 1, 30};
  (void)state;
  u8_args c = valid;
  expect_mean(&c, NULL);
  c = valid, c.in.rank = 3;
  expect_mean(&c, "rank of 'self'");
  c = valid, c.zero = 256;
  expect_mean(&c, "the zero point is 256");
  c = valid, c.out_max = -1;
  expect_mean(&c, "the largest result is -1");
  c = valid, c.in.dtype = ETX_DTYPE_INT8;
  expect_mean(&c, "'self' has type 'int8', expected 'uint8'");
  c = valid, c.in.strides = channels_first;
  expect_mean(&c, "'self' is not contiguous");
  c = valid, c.out_dtype = ETX_DTYPE_FLOAT32;
  expect_mean(&c, "'out' has type 'float32', expected 'uint8'");
  // Without channels the image has no elements that the test would allocate.
  c = valid, c.in.sizes[1] = 4096, c.in.sizes[2] = 2049, c.in.sizes[3] = 0;
  expect_mean(&c, "8392704 pixels, expected at most 8388608");
}

// ------------------------------------------------ etx::chain_u8

typedef struct chain_args {
  tensor_args self, other;
  size_t others, scales, zeros;  // how many
  int64_t zero, other_zero, out_zero, dtype;
  const char* text;
} chain_args;

enum { MAX_OTHERS = ETX_CHAIN_MAX_OTHERS + 1 };

static const chain_args valid_chain = {
    .self = {ETX_DTYPE_UINT8, {4, 6}, 2, NULL},
    .other = {ETX_DTYPE_UINT8, {6}, 1, NULL},
    .others = 2,
    .scales = 2,
    .zeros = 2,
    .dtype = ETX_DTYPE_UINT8,
    .text = "x 0 add 1 multiply"};

static void expect_chain(const chain_args* c, const char* message) {
  const double scales[MAX_OTHERS] = {1, 2, 3};
  const int64_t zeros[MAX_OTHERS] = {c->other_zero};
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
  expect(&call, TEST_CALL_RULE_DTYPE, message);
}

static void chain_refuses_invalid_arguments(void** state) {
  static const int32_t columns[] = {1, 4};
  (void)state;
  chain_args c = valid_chain;
  expect_chain(&c, NULL);
  for (size_t count = 0; count < 4; ++count) {
    c = valid_chain, c.scales = count;
    if (count != 2) expect_chain(&c, "there are 2 tensors and");
    c = valid_chain, c.zeros = count;
    if (count != 2) expect_chain(&c, "zero points");
  }
  c = valid_chain, c.others = 1;
  expect_chain(&c, "there are 1 tensors and 2 scales");
  c = valid_chain, c.others = c.scales = c.zeros = MAX_OTHERS;
  expect_chain(&c, "'others' has 17 tensors, expected at most 16");
  c.others = c.scales = c.zeros = MAX_OTHERS - 1;
  expect_chain(&c, NULL);
  c = valid_chain, c.zero = -1;
  expect_chain(&c, "zero point -1, expected 0 to 255");
  c = valid_chain, c.other_zero = 256;
  expect_chain(&c, "zero point 256, expected 0 to 255");
  c = valid_chain, c.out_zero = 256;
  expect_chain(&c, "the zero point of results is 256");
  c = valid_chain, c.dtype = ETX_DTYPE_FLOAT64;
  expect_chain(&c, "the result has type 7");
  c = valid_chain, c.self.dtype = ETX_DTYPE_INT8;
  expect_chain(&c, "'self' has type 'int8'");
  c = valid_chain, c.self.strides = columns;
  expect_chain(&c, "'self' is not contiguous");
  c = valid_chain, c.other.dtype = ETX_DTYPE_FLOAT64;
  expect_chain(&c, "item 0 of 'others' has type 'float64'");
  c = valid_chain, c.other.sizes[0] = 4;
  expect_chain(&c, "another tensor");
  c = valid_chain, c.text = "x 2 add";
  expect_chain(&c, "");
  c = valid_chain, c.text = "x x";
  expect_chain(&c, "");
  c = valid_chain, c.text = "";
  expect_chain(&c, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolution_refuses_mismatched_sizes),
      cmocka_unit_test(convolution_refuses_invalid_windows),
      cmocka_unit_test(convolution_refuses_sums_that_may_overflow),
      cmocka_unit_test(convolution_refuses_results_out_of_range),
      cmocka_unit_test(convolution_refuses_other_types),
      cmocka_unit_test(convolution_refuses_strided_tensors),
      cmocka_unit_test(depthwise_refuses_invalid_arguments),
      cmocka_unit_test(linear_refuses_invalid_arguments),
      cmocka_unit_test(max_pool_refuses_invalid_arguments),
      cmocka_unit_test(mean_refuses_invalid_arguments),
      cmocka_unit_test(chain_refuses_invalid_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
