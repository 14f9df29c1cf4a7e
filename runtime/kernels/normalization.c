// Layer normalisation over float32.
//
// Per row: the mean, then the sum of squared differences from it (not the
// difference of two sums, which cancels), then one pass that writes. Mean and
// 1/deviation are written last, so that they and the result may overwrite an
// operand of their size.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/math_functions.h"
#include "runtime/kernels/operand.h"

typedef struct norm {
  size_t count;         // elements of a row
  const float* weight;  // [count] or NULL: ones
  const float* bias;    // [count] or NULL: zeros
} norm;

static void write_row(const norm* n, const float* in, float* out, float mean,
                      float scale) {
  const float* weight = n->weight;
  const float* bias = n->bias;
  if (weight != NULL && bias != NULL) {
    for (size_t i = 0; i < n->count; ++i) {
      out[i] = (in[i] - mean) * scale * weight[i] + bias[i];
    }
  } else if (weight != NULL) {
    for (size_t i = 0; i < n->count; ++i) {
      out[i] = (in[i] - mean) * scale * weight[i];
    }
  } else {
    for (size_t i = 0; i < n->count; ++i) {
      out[i] = (in[i] - mean) * scale + (bias == NULL ? 0.0f : bias[i]);
    }
  }
}

static const float* optional_floats(const etx_call* call, size_t index) {
  return etx_call_is_none(call, index) ? NULL
                                       : etx_call_tensor(call, index)->data;
}

// (input, normalized_shape, weight, bias, eps, out0, out1, out2)
static etx_status run_layer_norm(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, 0);
  const size_t rows = (size_t)call->prepared[0];
  const norm n = {(size_t)call->prepared[1], optional_floats(call, 2),
                  optional_floats(call, 3)};
  const float* in = input->data;
  float* out = etx_call_tensor(call, 5)->data;
  float* means = etx_call_tensor(call, 6)->data;
  float* scales = etx_call_tensor(call, 7)->data;
  const float eps = (float)etx_call_real(call, 4);
  for (size_t row = 0; row < rows; ++row) {
    const float count = (float)n.count;
    const float mean = etx_sum_f32(in, n.count) / count;
    const float variance = etx_sum_of_squares_f32(in, mean, n.count) / count;
    const float scale = 1.0f / etx_sqrt_f32(variance + eps);
    write_row(&n, in, out, mean, scale);
    // The mean of a row with an infinity is NaN in PyTorch.
    means[row] = variance != variance ? variance : mean;
    scales[row] = scale;
    in += n.count;
    out += n.count;
  }
  return ETX_OK;
}

etx_status etx_kernel_native_layer_norm_out_prepare(etx_call* call) {
  static const size_t tensors[] = {0, 2, 3, 5, 6, 7};
  const etx_tensor* input = etx_call_tensor(call, 0);
  if (etx_wide_of(input->dtype) == ETX_WIDE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'input' has type '%s', expected floats",
                           etx_dtype_name(input->dtype));
  }
  if (input->dtype != ETX_DTYPE_FLOAT32) {
    return etx_call_refuse_dtype(call, 0, "'float32'");
  }
  for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); ++i) {
    if (etx_call_is_none(call, tensors[i])) continue;
    ETX_TRY(etx_call_check_same_dtype(call, 0, tensors[i]));
    ETX_TRY(etx_call_check_contiguous(call, tensors[i]));
  }
  size_t count = 1;
  const size_t normalized = etx_call_value(call, 1)->as.integers.count;
  for (size_t i = 0; i < normalized; ++i) {
    count *= (size_t)input->sizes[input->rank - 1 - i];
  }
  call->prepared[0] = (int64_t)etx_tensor_numel(etx_call_tensor(call, 6));
  call->prepared[1] = (int64_t)count;
  call->run = run_layer_norm;
  return ETX_OK;
}
