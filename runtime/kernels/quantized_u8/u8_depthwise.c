// Depthwise convolution of uint8, channels last: vectorised over channels.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "format/base/checked_math.h"
#include "runtime/kernels/core/thread_tiles.h"
#include "runtime/kernels/core/tile_bytes.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/quantized_u8/u8_args.h"
#include "runtime/kernels/image/window.h"

enum {
  MAX_ROWS = 64,         // most image rows that one work item reads
  CHANNELS = 64,         // an item's number of channels is a multiple of this
  ITEMS_PER_THREAD = 4,  // fewest items for each thread, where possible
  // A build for little stack has little other memory, too.
  TILE = ETX_TILE_BYTES < 4096 ? 0 : ETX_U8_DEPTHWISE_TILE,
};

typedef struct u8_depthwise_job {
  const etx_u8_loops* loops;
  etx_u8_requantize results;
  const uint8_t* in;
  const uint8_t* outside;
  const int8_t* weights;
  char* out;
  etx_window y, x;
  size_t channels;
  size_t rows, row_parts;      // rows of an item; items in an image's height
  size_t part, channel_parts;  // channels of an item; items in all channels
} u8_depthwise_job;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

// Computes the rows of results of a strip, for `channels` channels.
static void run_strip(const u8_depthwise_job* j, void* tile, size_t strip,
                      size_t first, size_t channels) {
  const uint8_t* rows[MAX_ROWS];
  const size_t image = strip / j->row_parts;
  const size_t row = (strip - image * j->row_parts) * j->rows;
  const size_t count = min_size(j->rows, (size_t)j->y.out - row);
  const size_t row_bytes = (size_t)j->x.in * j->channels;
  const size_t element = j->results.is_float ? sizeof(float) : 1;
  const uint8_t* const in = j->in + image * (size_t)j->y.in * row_bytes;
  const int64_t start = etx_window_start(&j->y, (int64_t)row);
  const int64_t extent = (int64_t)(count - 1) * j->y.stride +
                         (j->y.kernel - 1) * j->y.dilation + 1;
  for (int64_t k = 0; k < extent; ++k) {
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
                              .out = j->out + at * j->channels * element,
                              .tile = tile};
  j->loops->windows(&w);
}

// Computes items [first, end): some rows of some channels each.
static void run_items(const void* context, void* tile, size_t first,
                      size_t end) {
  const u8_depthwise_job* j = context;
  for (size_t i = first; i < end; ++i) {
    const size_t strip = i / j->channel_parts;
    const size_t channel = (i - strip * j->channel_parts) * j->part;
    run_strip(j, tile, strip, channel,
              min_size(j->part, j->channels - channel));
  }
}

// Splits the work into items: as many rows as MAX_ROWS allows and all channels,
// or smaller items if there are more threads.
static void split_work(u8_depthwise_job* j, size_t images, size_t threads) {
  const size_t extent = (size_t)((j->y.kernel - 1) * j->y.dilation) + 1;
  const size_t max_rows = (MAX_ROWS - extent) / (size_t)j->y.stride + 1;
  const size_t all = (size_t)j->y.out;
  const size_t min_items = threads == 1 ? 1 : threads * ITEMS_PER_THREAD;
  const size_t parts = (all + max_rows - 1) / max_rows;
  j->channel_parts = 1;
  j->row_parts = parts;
  if (images * parts < min_items) {
    const size_t per_image = (min_items + images - 1) / images;
    const size_t channels = (j->channels + CHANNELS - 1) / CHANNELS;
    j->channel_parts = min_size(channels, per_image);
    j->row_parts =
        min_size(all, (per_image + j->channel_parts - 1) / j->channel_parts);
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
  u8_depthwise_job j = {.loops = etx_u8_loops_of(etx_instruction_set_within(
                            parallel->instruction_set)),
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
  const size_t pixel = j.channels + ETX_U8_INTERLEAVE - 1;
  memset(call->temporary,
         (int)etx_call_integer(call, ETX_ARG_depthwise_u8_zero_point), pixel);
  j.outside = call->temporary;
  const etx_thread_tiles tiles = {(char*)call->temporary + pixel, TILE};
  const size_t taps = (size_t)(j.y.kernel * j.x.kernel);
  const size_t images = (size_t)out->sizes[0];
  if (etx_tensor_numel(out) == 0) return ETX_OK;
  split_work(&j, images, parallel->thread_count);
  etx_parallel_for_tiled(parallel, images * j.row_parts * j.channel_parts,
                         (double)etx_tensor_numel(out) * (double)taps,
                         run_items, &j, &tiles);
  return ETX_OK;
}

etx_status etx_kernel_depthwise_u8_out_prepare(etx_call* call) {
  ETX_TRY(etx_u8_check(call, 2, 3));
  const int64_t taps =
      etx_call_tensor(call, ETX_ARG_depthwise_u8_weight)->sizes[0];
  const int64_t dilation =
      etx_call_list_item(call, ETX_ARG_depthwise_u8_dilation, 0);
  if (taps > MAX_ROWS || (taps > 1 && dilation > (MAX_ROWS - 1) / (taps - 1))) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "windows span more than %z rows: %i taps, %i apart",
                           (size_t)MAX_ROWS, taps, dilation);
  }
  call->run = run;
  return etx_temporary_depthwise_u8(call, &call->temporary_bytes);
}

// The pixel outside of the image, then the tiles.
etx_status etx_temporary_depthwise_u8(const etx_call* call, size_t* out_bytes) {
  size_t pixel = 0, tiles = 0;
  ETX_TRY(etx_temporary_u8(call, &pixel));
  if (etx_thread_tiles_needed(call->parallel, TILE, &tiles) &&
      etx_add_size(pixel, tiles, out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the columns of a convolution of uint8 do not fit in "
                         "memory");
}

// The workspace is a pixel of zero points, which stands for pixels outside the
// image. It is padded to a multiple of ETX_U8_INTERLEAVE.
etx_status etx_temporary_u8(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_depthwise_u8_input);
  *out_bytes = in->rank == 4 ? (size_t)in->sizes[3] + ETX_U8_INTERLEAVE - 1 : 0;
  return ETX_OK;
}
