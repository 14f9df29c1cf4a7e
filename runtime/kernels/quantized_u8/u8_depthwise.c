// Depthwise convolutions of bytes, channels last: channels are lanes.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/quantized_u8/u8_args.h"
#include "runtime/kernels/image/window.h"

enum {
  MOST_ROWS = 64,  // of the image that are known at a time
  CHANNELS = 64,   // of an item's parts
  ITEMS = 4,       // for each thread
};

typedef struct job {
  const etx_u8_loops* loops;
  etx_u8_requantize results;
  const uint8_t* in;
  const uint8_t* outside;
  const int8_t* weights;
  char* out;
  etx_window y, x;
  size_t channels;
  size_t rows, row_parts;      // of an item; of an image
  size_t part, channel_parts;  // channels of an item; how many such
} job;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Some rows of results, of some channels.
static void run_rows(const job* j, size_t image, size_t row, size_t count,
                     size_t first, size_t channels) {
  const uint8_t* rows[MOST_ROWS];
  const size_t row_bytes = (size_t)j->x.in * j->channels;
  const size_t element = j->results.is_float ? sizeof(float) : 1;
  const uint8_t* const in = j->in + image * (size_t)j->y.in * row_bytes;
  const int64_t start = etx_window_start(&j->y, (int64_t)row);
  const int64_t reach = (int64_t)(count - 1) * j->y.stride +
                        (j->y.kernel - 1) * j->y.dilation + 1;
  for (int64_t k = 0; k < reach; ++k) {
    const int64_t y = start + k;
    rows[k] = y < 0 || y >= j->y.in ? NULL : in + (size_t)y * row_bytes;
  }
  const size_t at = (image * (size_t)j->y.out + row) * (size_t)j->x.out;
  const etx_u8_depthwise w = {.rows = rows,
                              .columns = (size_t)j->x.in,
                              .outside = j->outside,
                              .channels = j->channels,
                              .first = first,
                              .count = channels,
                              .weights = j->weights,
                              .kernel_y = (size_t)j->y.kernel,
                              .kernel_x = (size_t)j->x.kernel,
                              .stride_y = (size_t)j->y.stride,
                              .stride_x = (size_t)j->x.stride,
                              .dilation_y = (size_t)j->y.dilation,
                              .dilation_x = (size_t)j->x.dilation,
                              .padding = j->x.padding,
                              .results_y = count,
                              .results_x = (size_t)j->x.out,
                              .results = &j->results,
                              .out = j->out + at * j->channels * element};
  j->loops->windows(&w);
}

// Items are some rows of some channels.
static void run_items(const void* context, size_t first, size_t end) {
  const job* j = context;
  for (size_t i = first; i < end; ++i) {
    const size_t strip = i / j->channel_parts;
    const size_t channel = (i - strip * j->channel_parts) * j->part;
    const size_t image = strip / j->row_parts;
    const size_t row = (strip - image * j->row_parts) * j->rows;
    run_rows(j, image, row, least(j->rows, (size_t)j->y.out - row), channel,
             least(j->part, j->channels - channel));
  }
}

// As many rows as may be known, and all channels; less for more threads.
static void cut(job* j, size_t images, size_t threads) {
  const size_t reach = (size_t)((j->y.kernel - 1) * j->y.dilation) + 1;
  const size_t most = (MOST_ROWS - reach) / (size_t)j->y.stride + 1;
  const size_t all = (size_t)j->y.out;
  const size_t wanted = threads == 1 ? 1 : threads * ITEMS;
  const size_t parts = (all + most - 1) / most;
  j->channel_parts = 1;
  j->row_parts = parts;
  if (images * parts < wanted) {
    const size_t more = (wanted + images - 1) / images;
    const size_t channels = (j->channels + CHANNELS - 1) / CHANNELS;
    j->channel_parts = least(channels, more);
    j->row_parts = least(all, (more + j->channel_parts - 1) / j->channel_parts);
    if (j->row_parts < parts) j->row_parts = parts;
  }
  j->rows = (all + j->row_parts - 1) / j->row_parts;
  j->row_parts = (all + j->rows - 1) / j->rows;
  const size_t blocks = (j->channels + CHANNELS - 1) / CHANNELS;
  j->part = (blocks + j->channel_parts - 1) / j->channel_parts * CHANNELS;
  j->channel_parts = (j->channels + j->part - 1) / j->part;
}

// (input, zero_point, weight, offsets, scales, bias, stride, padding, dilation,
// out_zero_point, out_min, out_max, dtype, out)
static etx_status run(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_depthwise_u8_input);
  const etx_tensor* weight = etx_call_tensor(call, ETX_ARG_depthwise_u8_weight);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const etx_parallel* parallel = call->parallel;
  job j = {.loops = etx_u8_loops_of(
               etx_instruction_set_within(parallel->instruction_set)),
           .in = in->data,
           .weights = weight->data,
           .out = out->data,
           .channels = (size_t)in->sizes[3]};
  etx_window* const windows[] = {&j.y, &j.x};
  for (size_t i = 0; i < 2; ++i) {
    *windows[i] = (etx_window){
        .in = in->sizes[1 + i],
        .out = out->sizes[1 + i],
        .kernel = weight->sizes[i],
        .stride = etx_call_list_item(call, ETX_ARG_depthwise_u8_stride, i),
        .padding = etx_call_list_item(call, ETX_ARG_depthwise_u8_padding, i),
        .dilation = etx_call_list_item(call, ETX_ARG_depthwise_u8_dilation, i)};
  }
  etx_u8_requantize_read(call, 3, 9, &j.results);
  memset(call->temporary,
         (int)etx_call_integer(call, ETX_ARG_depthwise_u8_zero_point),
         call->temporary_bytes);
  j.outside = call->temporary;
  const size_t taps = (size_t)(j.y.kernel * j.x.kernel);
  const size_t images = (size_t)out->sizes[0];
  if (etx_tensor_numel(out) == 0) return ETX_OK;
  cut(&j, images, parallel->thread_count);
  etx_parallel_for(parallel, images * j.row_parts * j.channel_parts,
                   (double)etx_tensor_numel(out) * (double)taps, run_items, &j);
  return ETX_OK;
}

etx_status etx_kernel_depthwise_u8_out_prepare(etx_call* call) {
  ETX_TRY(etx_u8_check(call, 2, 3));
  const int64_t taps =
      etx_call_tensor(call, ETX_ARG_depthwise_u8_weight)->sizes[0];
  const int64_t dilation =
      etx_call_list_item(call, ETX_ARG_depthwise_u8_dilation, 0);
  if (taps > MOST_ROWS ||
      (taps > 1 && dilation > (MOST_ROWS - 1) / (taps - 1))) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "windows reach over more than %z rows: %i, %i apart",
                           (size_t)MOST_ROWS, taps, dilation);
  }
  call->run = run;
  return etx_temporary_u8(call, &call->temporary_bytes);
}

// Zero points, as many as an image has channels, in whole fours.
etx_status etx_temporary_u8(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_depthwise_u8_input);
  *out_bytes = in->rank == 4 ? (size_t)in->sizes[3] + ETX_U8_INTERLEAVE - 1 : 0;
  return ETX_OK;
}
