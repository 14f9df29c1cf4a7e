// Depthwise convolutions of bytes, channels last: channels are lanes.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/shares.h"
#include "runtime/kernels/temporary_kernels.h"
#include "runtime/kernels/u8_call.h"
#include "runtime/kernels/window.h"

enum {
  MOST_ROWS = 64,  // taps of a column whose rows are known at a time
};

typedef struct job {
  const etx_u8_loops* loops;
  etx_u8_results results;
  const uint8_t* in;
  const uint8_t* outside;
  const int8_t* weights;
  char* out;
  etx_window y, x;
  size_t channels;
} job;

// Items are rows of results.
static void run_items(const void* context, size_t first, size_t end) {
  const job* j = context;
  const uint8_t* rows[MOST_ROWS];
  const size_t row_bytes = (size_t)j->x.in * j->channels;
  const size_t element = j->results.is_float ? sizeof(float) : 1;
  for (size_t i = first; i < end; ++i) {
    const size_t image = i / (size_t)j->y.out;
    const int64_t start =
        etx_window_start(&j->y, (int64_t)(i - image * (size_t)j->y.out));
    const uint8_t* in = j->in + image * (size_t)j->y.in * row_bytes;
    for (int64_t k = 0; k < j->y.kernel; ++k) {
      const int64_t y = start + k * j->y.dilation;
      rows[k] = y < 0 || y >= j->y.in ? NULL : in + (size_t)y * row_bytes;
    }
    const etx_u8_windows w = {
        .rows = rows,
        .columns = j->x.in,
        .outside = j->outside,
        .channels = j->channels,
        .count = j->channels,
        .weights = j->weights,
        .kernel_y = (size_t)j->y.kernel,
        .kernel_x = (size_t)j->x.kernel,
        .stride = j->x.stride,
        .padding = j->x.padding,
        .dilation = j->x.dilation,
        .results_count = (size_t)j->x.out,
        .results = &j->results,
        .out = j->out + i * (size_t)j->x.out * j->channels * element};
    j->loops->windows(&w);
  }
}

// (input, zero_point, weight, offsets, scales, bias, stride, padding, dilation,
// out_zero_point, out_min, out_max, dtype, out)
static etx_status run(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, 0);
  const etx_tensor* weight = etx_call_tensor(call, 2);
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
    *windows[i] = (etx_window){.in = in->sizes[1 + i],
                               .out = out->sizes[1 + i],
                               .kernel = weight->sizes[i],
                               .stride = etx_call_listed(call, 6, i),
                               .padding = etx_call_listed(call, 7, i),
                               .dilation = etx_call_listed(call, 8, i)};
  }
  etx_u8_results_read(call, 3, 9, &j.results);
  memset(call->temporary, (int)etx_call_integer(call, 1),
         call->temporary_bytes);
  j.outside = call->temporary;
  const size_t taps = (size_t)(j.y.kernel * j.x.kernel);
  etx_shares_run(parallel, (size_t)out->sizes[0] * (size_t)j.y.out,
                 (double)etx_tensor_numel(out) * (double)taps, run_items, &j);
  return ETX_OK;
}

etx_status etx_kernel_depthwise_u8_out_prepare(etx_call* call) {
  ETX_TRY(etx_u8_check(call, 2, 3));
  if (etx_call_tensor(call, 2)->sizes[0] > MOST_ROWS) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "windows have %i rows, expected at most %z",
                           (int64_t)etx_call_tensor(call, 2)->sizes[0],
                           (size_t)MOST_ROWS);
  }
  call->run = run;
  return etx_temporary_u8(call, &call->temporary_bytes);
}

// A piece of zero points: as many as an image has channels, and some that are
// read with them.
etx_status etx_temporary_u8(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* in = etx_call_tensor(call, 0);
  *out_bytes = in->rank == 4 ? (size_t)in->sizes[3] : 0;
  return ETX_OK;
}
