#include "runtime/kernels/convolution/convolution_epilogue.h"
#include "runtime/kernels/registry/op_arguments.h"

enum { CHANNELS = ETX_TRANSPOSE_ROWS };

// ------------------------------------------------ results

static float* out_of(const etx_convolution_epilogue* r, int64_t image,
                     int64_t channel, size_t at) {
  return (float*)(void*)r->out.data + (ptrdiff_t)image * r->out.image +
         (ptrdiff_t)channel * r->out.channel + (ptrdiff_t)at;
}

static const float* added_to(const etx_convolution_epilogue* r,
                             const float* out) {
  return etx_chain_store_added(&r->store, r->chain,
                               (const float*)(const void*)r->out.data, out);
}

// Computes the rest of the chain, on `channels` channels from `channel` on.
static void run_chain(const etx_convolution_epilogue* r, int64_t image,
                      int64_t channel, size_t channels, size_t at,
                      size_t count) {
  if (r->chain == NULL || r->store.is_all) return;
  const size_t plane = (size_t)(image * r->out.channels + channel);
  float* out = out_of(r, image, channel, at);
  // Whole planes are one row for the chain.
  if (count == (size_t)r->out.channel) {
    etx_chain_run(r->chain, out, out, plane, at, channels * count);
    return;
  }
  for (size_t c = 0; c < channels; ++c, out += r->out.channel) {
    etx_chain_run(r->chain, out, out, plane + c, at, count);
  }
}

static void store_line(const etx_convolution_epilogue* r, const float* sums,
                       ptrdiff_t row, const float* bias, float* out,
                       size_t count) {
  const etx_conv_oc_store s = {.store = {.sums = sums,
                                         .sum_row = row,
                                         .out = out,
                                         .added = added_to(r, out),
                                         .rows = 1,
                                         .count = count,
                                         .below = r->store.below,
                                         .low = r->store.low,
                                         .high = r->store.high},
                               .out_channel = r->out.channel,
                               .bias = bias,
                               .channels = CHANNELS};
  r->loops->conv_oc_store(&s);
}

void etx_convolution_epilogue_store(const etx_convolution_epilogue* r,
                                    const float* sums, ptrdiff_t row,
                                    int64_t image, int64_t channel, size_t at,
                                    size_t count) {
  float* out = out_of(r, image, channel, at);
  float bias[CHANNELS];
  for (int64_t i = 0; i < CHANNELS; ++i) {
    bias[i] = r->bias == NULL
                  ? -0.0f
                  : ((const float*)
                         r->bias->data)[(channel + i) * r->bias->strides[0]];
  }
  store_line(r, sums, row, bias, out, count);
  run_chain(r, image, channel, CHANNELS, at, count);
}

void etx_convolution_epilogue_pixels(const etx_convolution_epilogue* r,
                                     etx_conv_pixels points, int64_t image,
                                     int64_t channel, size_t at) {
  etx_row_store* store = &points.store;
  store->out = out_of(r, image, channel, at);
  store->below = r->store.below;
  store->low = r->store.low;
  store->high = r->store.high;
  store->added = added_to(r, store->out);
  points.out_channel = r->out.channel;
  if (r->bias != NULL) {
    points.bias_step = r->bias->strides[0];
    points.bias = (const float*)r->bias->data + channel * points.bias_step;
  }
  r->loops->conv_pixel(&points);
  run_chain(r, image, channel, points.channels, at, store->count);
}

// ------------------------------------------------ operators

enum { WEIGHTS = 1, BIAS = 2 };

// The result is the last argument.
static size_t out_argument(const etx_call* call) {
  return call->argument_count - 1;
}

etx_status etx_convolution_epilogue_check(etx_call* call) {
  const size_t out = out_argument(call);
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_convolution_chain_input,
                               ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_dtype(call, WEIGHTS, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, WEIGHTS));
  if (!etx_call_is_none(call, BIAS)) {
    ETX_TRY(etx_call_check_dtype(call, BIAS, ETX_DTYPE_FLOAT32));
  }
  ETX_TRY(etx_call_check_dtype(call, out, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, out));
  return etx_chain_check(call, out - 2, out - 1);
}

static void start(etx_call* call, const etx_chain* chain,
                  etx_convolution_epilogue_function sum) {
  const etx_convolution_epilogue results = {
      .out = etx_volumes_of(etx_call_tensor(call, out_argument(call))),
      .bias = etx_call_is_none(call, BIAS) ? NULL : etx_call_tensor(call, BIAS),
      .chain = chain,
      .store = etx_chain_store_of(chain),
      .loops = etx_f32_microkernels_of(
          etx_instruction_set_within(call->parallel->instruction_set))};
  sum(call, &results);
}

etx_status etx_convolution_epilogue_run(etx_call* call,
                                        etx_convolution_epilogue_function sum) {
  const etx_tensor* out = etx_call_tensor(call, out_argument(call));
  const size_t others = out_argument(call) - 2, numel = etx_tensor_numel(out);
  if (numel == 0) return ETX_OK;
  const size_t columns = (size_t)out->sizes[3];
  const size_t planes = (size_t)out->sizes[0] * (size_t)out->sizes[1];
  // An operand that varies along the last dimension is handled by the chain.
  const bool has_any_rows = etx_chain_has_any_rows(call, others);
  etx_chain chain;
  etx_chain_read(call, others, has_any_rows ? numel / planes : columns, &chain);
  const bool has_steps = chain.count > 1 || chain.steps[0] != ETX_STEP_X;
  start(call, has_steps && has_any_rows ? &chain : NULL, sum);
  if (has_steps && !has_any_rows) {
    etx_chain_run_all(&chain, out->data, numel, columns, call->parallel);
  }
  return ETX_OK;
}
