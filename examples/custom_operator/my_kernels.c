// The kernels of the operators in my.ops. `my_ops.h` is written by
// `etx ops --header my.ops`: a row for each operator, and the numbers of its
// arguments.

#include "my_ops.h"

// my::scale: every element times the factor.

static etx_status run_scale(etx_call* call) {
  const etx_tensor* const x = etx_call_tensor(call, MY_SCALE_OUT_X);
  const float factor = (float)etx_call_real(call, MY_SCALE_OUT_FACTOR);
  const float* const from = x->data;
  float* const to = etx_call_tensor(call, MY_SCALE_OUT_OUT)->data;
  const size_t count = etx_tensor_numel(x);
  for (size_t i = 0; i < count; ++i) to[i] = from[i] * factor;
  return ETX_OK;
}

// The first phase of a kernel checks types and chooses the second one. The
// outputs have their sizes already.
etx_status my_scale_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, MY_SCALE_OUT_X, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, MY_SCALE_OUT_X));
  call->run = run_scale;
  return ETX_OK;
}

// my::halves: the first and the last rows, as two outputs.

static etx_status run_halves(etx_call* call) {
  const etx_tensor* const low = etx_call_tensor(call, MY_HALVES_OUT_OUT0);
  const etx_tensor* const high = etx_call_tensor(call, MY_HALVES_OUT_OUT1);
  const char* const from = etx_call_tensor(call, MY_HALVES_OUT_X)->data;
  const size_t low_bytes = etx_tensor_bytes(low);
  if (low_bytes > 0) memcpy(low->data, from, low_bytes);
  memcpy(high->data, from + low_bytes, etx_tensor_bytes(high));
  return ETX_OK;
}

etx_status my_halves_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_contiguous(call, MY_HALVES_OUT_X));
  call->run = run_halves;
  return ETX_OK;
}

// my::accumulate: adds the rows of x to `total`, which it changes.

static etx_status run_accumulate(etx_call* call) {
  const etx_tensor* const total = etx_call_tensor(call, MY_ACCUMULATE_TOTAL);
  const etx_tensor* const x = etx_call_tensor(call, MY_ACCUMULATE_X);
  const size_t columns = etx_tensor_numel(total);
  const size_t count = etx_tensor_numel(x);
  float* const sum = total->data;
  for (size_t i = 0; i < count; ++i) {
    sum[i % columns] += ((const float*)x->data)[i];
  }
  return ETX_OK;
}

etx_status my_accumulate_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, MY_ACCUMULATE_TOTAL, ETX_DTYPE_FLOAT32));
  ETX_TRY(
      etx_call_check_same_dtype(call, MY_ACCUMULATE_TOTAL, MY_ACCUMULATE_X));
  ETX_TRY(etx_call_check_contiguous(call, MY_ACCUMULATE_X));
  call->run = run_accumulate;
  return ETX_OK;
}

// my::track: how far x is above the largest values so far, which it updates.

static etx_status run_track(etx_call* call) {
  float* const peak = etx_call_tensor(call, MY_TRACK_OUT_PEAK)->data;
  const etx_tensor* const x = etx_call_tensor(call, MY_TRACK_OUT_X);
  float* const above = etx_call_tensor(call, MY_TRACK_OUT_OUT)->data;
  const size_t count = etx_tensor_numel(x);
  for (size_t i = 0; i < count; ++i) {
    const float value = ((const float*)x->data)[i];
    above[i] = value - peak[i];
    if (value > peak[i]) peak[i] = value;
  }
  return ETX_OK;
}

etx_status my_track_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, MY_TRACK_OUT_PEAK, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_same_dtype(call, MY_TRACK_OUT_PEAK, MY_TRACK_OUT_X));
  ETX_TRY(etx_call_check_contiguous(call, MY_TRACK_OUT_X));
  call->run = run_track;
  return ETX_OK;
}

// The table, for an application that is linked with this file and with all
// kernels of etx, and for the shared library that `etx run --kernels` opens. A
// build of `etx select` has its own table, which names the functions above.

static const etx_kernel rows[] = {
    {&my_scale_out.op, my_scale_out_prepare, NULL, NULL},
    {&my_halves_out.op, my_halves_out_prepare, NULL, NULL},
    {&my_accumulate.op, my_accumulate_prepare, NULL, NULL},
    {&my_track_out.op, my_track_out_prepare, NULL, NULL},
};
const etx_kernel_table my_kernels = {.kernels = rows,
                                     .count = sizeof rows / sizeof *rows};

#ifdef MY_LIBRARY
ETX_KERNEL_LIBRARY(&my_kernels)
#endif
