// Max pooling and mean of uint8, channels last: vectorised over channels.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/quantized_u8/u8_args.h"
#include "runtime/kernels/simd/int8/u8_requantize.h"
#include "runtime/kernels/image/window.h"

typedef struct u8_pool_job {
  const etx_u8_loops* loops;
  const uint8_t* in;
  uint8_t* out;
  etx_window y, x;
  size_t channels;
} u8_pool_job;

enum { MAX_ROWS = 16 };  // rows of a window that are reduced at a time

// The maximum of one window. `inside` has the tap rows inside the image.
static void pool_window(const u8_pool_job* j, const uint8_t* image,
                        etx_span inside, int64_t row, int64_t x, uint8_t* out) {
  const uint8_t* rows[MAX_ROWS];
  const etx_span columns = etx_window_taps(&j->x, x);
  const int64_t at = etx_window_start(&j->x, x) + columns.first * j->x.dilation;
  if (columns.end <= columns.first) return;
  for (int64_t ky = inside.first; ky < inside.end;) {
    size_t count = 0;
    for (; count < MAX_ROWS && ky < inside.end; ++count, ++ky) {
      const int64_t y = row + ky * j->y.dilation;
      rows[count] = image + (size_t)(y * j->x.in + at) * j->channels;
    }
    j->loops->max_of_rows(rows, count, (size_t)(columns.end - columns.first),
                          (size_t)j->x.dilation * j->channels, j->channels,
                          out);
  }
}

static void pool_row(const u8_pool_job* j, const uint8_t* image, int64_t y,
                     uint8_t* out) {
  const etx_span inside = etx_window_taps(&j->y, y);
  memset(out, 0, (size_t)j->x.out * j->channels);
  for (int64_t x = 0; x < j->x.out; ++x, out += j->channels) {
    pool_window(j, image, inside, etx_window_start(&j->y, y), x, out);
  }
}

// Computes rows [first, end) of the results.
static void run_items(const void* context, size_t first, size_t end) {
  const u8_pool_job* j = context;
  for (size_t i = first; i < end; ++i) {
    const size_t image = i / (size_t)j->y.out;
    const uint8_t* in =
        j->in + image * (size_t)(j->y.in * j->x.in) * j->channels;
    pool_row(j, in, (int64_t)(i - image * (size_t)j->y.out),
             j->out + i * (size_t)j->x.out * j->channels);
  }
}

// (self, kernel_size, stride, padding, dilation, ceil_mode, out)
static etx_status run(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_max_pool2d_u8_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_max_pool2d_u8_out);
  const etx_parallel* parallel = call->parallel;
  const bool has_strides =
      etx_call_value(call, ETX_ARG_max_pool2d_u8_stride)->as.integers.count > 0;
  u8_pool_job j = {.loops = etx_u8_loops_of(
                       etx_instruction_set_within(parallel->instruction_set)),
                   .in = in->data,
                   .out = out->data,
                   .channels = (size_t)in->sizes[3]};
  etx_window* const windows[] = {&j.y, &j.x};
  for (size_t i = 0; i < 2; ++i) {
    *windows[i] = (etx_window){
        .in = in->sizes[1 + i],
        .out = out->sizes[1 + i],
        .kernel =
            etx_call_list_item(call, ETX_ARG_max_pool2d_u8_kernel_size, i),
        .stride = etx_call_list_item(call, has_strides ? 2 : 1, i),
        .padding = etx_call_list_item(call, ETX_ARG_max_pool2d_u8_padding, i),
        .dilation =
            etx_call_list_item(call, ETX_ARG_max_pool2d_u8_dilation, i)};
  }
  const double taps = (double)(j.y.kernel * j.x.kernel);
  if (etx_tensor_numel(out) == 0) return ETX_OK;
  etx_parallel_for(parallel, (size_t)out->sizes[0] * (size_t)j.y.out,
                   (double)etx_tensor_numel(out) * taps / 16, run_items, &j);
  return ETX_OK;
}

etx_status etx_kernel_max_pool2d_u8_out_prepare(etx_call* call) {
  ETX_TRY(
      etx_call_check_dtype(call, ETX_ARG_max_pool2d_u8_self, ETX_DTYPE_UINT8));
  ETX_TRY(
      etx_call_check_dtype(call, ETX_ARG_max_pool2d_u8_out, ETX_DTYPE_UINT8));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_max_pool2d_u8_self));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_max_pool2d_u8_out));
  call->run = run;
  return ETX_OK;
}

// ------------------------------------------------ etx::mean_u8

enum { MEAN_CHANNELS = 64 };  // channels of an item

typedef struct u8_mean_job {
  const etx_u8_loops* loops;
  etx_u8_requantize results;
  const uint8_t* in;
  void* out;
  size_t pixels, channels, parts;
  float scale;
  int32_t zero;  // zero point * pixels
} u8_mean_job;

// Computes items [first, end): MEAN_CHANNELS channels of one image each.
static void run_means(const void* context, size_t first, size_t end) {
  const u8_mean_job* m = context;
  for (size_t i = first; i < end; ++i) {
    const size_t image = i / m->parts;
    const size_t channel = (i - image * m->parts) * MEAN_CHANNELS;
    const size_t left = m->channels - channel;
    const size_t count = left < MEAN_CHANNELS ? left : (size_t)MEAN_CHANNELS;
    const size_t at = image * m->channels + channel;
    int32_t sums[MEAN_CHANNELS] = {0}, offsets[MEAN_CHANNELS];
    float scales[MEAN_CHANNELS];
    for (size_t c = 0; c < count; ++c) {
      offsets[c] = -m->zero;
      scales[c] = m->scale;
    }
    etx_u8_requantize results = m->results;
    results.offsets = offsets;
    results.scales = scales;
    m->loops->add_rows(m->in + image * m->pixels * m->channels + channel,
                       m->pixels, m->channels, count, sums);
    u8_store(&results, sums, 0, count, m->out, at);
  }
}

// (self, zero_point, scale, out_zero_point, out_min, out_max, dtype, out)
static etx_status run_mean(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_mean_u8_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_mean_u8_out);
  const etx_parallel* parallel = call->parallel;
  u8_mean_job m = {.loops = etx_u8_loops_of(
                       etx_instruction_set_within(parallel->instruction_set)),
                   .in = in->data,
                   .out = out->data,
                   .pixels = (size_t)in->sizes[1] * (size_t)in->sizes[2],
                   .channels = (size_t)in->sizes[3],
                   .scale = (float)etx_call_real(call, ETX_ARG_mean_u8_scale)};
  m.parts = (m.channels + MEAN_CHANNELS - 1) / MEAN_CHANNELS;
  m.zero = (int32_t)(etx_call_integer(call, ETX_ARG_mean_u8_zero_point) *
                     (int64_t)m.pixels);
  etx_u8_requantize_bounds_read(call, 3, &m.results);
  etx_parallel_for(parallel, (size_t)in->sizes[0] * m.parts,
                   (double)etx_tensor_numel(in) / 16, run_means, &m);
  return ETX_OK;
}

etx_status etx_kernel_mean_u8_out_prepare(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_mean_u8_self);
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_mean_u8_self, ETX_DTYPE_UINT8));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_mean_u8_self));
  ETX_TRY(etx_call_check_dtype(
      call, ETX_ARG_mean_u8_out,
      (etx_dtype)etx_call_integer(call, ETX_ARG_mean_u8_dtype)));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_mean_u8_out));
  const int64_t pixels = (int64_t)in->sizes[1] * in->sizes[2];
  if (pixels > ETX_MEAN_U8_MOST_PIXELS) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "%i pixels, expected at most %i", pixels,
                           (int64_t)ETX_MEAN_U8_MOST_PIXELS);
  }
  call->run = run_mean;
  return ETX_OK;
}
