// Convolutions and linear layers whose input and weight are dequantised, and
// the quantised operators that compute the same.

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_LAYERS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_LAYERS_H

#include "exporter/quantize/qdq_tensors.h"

typedef struct etx_qdq_layer {
  const char* kind;      // "quantised convolution"
  const char* obstacle;  // why it cannot be quantised; NULL if it can
  etx_ir_arg args[9];    // of the convolution, or (input, weight, bias)
  bool is_linear;
  uint32_t input;          // int8 or uint8
  etx_qdq_params numbers;  // of the input
  uint32_t weight_value;   // int8
  const etx_ir_constant* weight;
  // Scales of the weight per output channel; NULL: `scale` is for all of them.
  const etx_ir_constant* scales;
  double scale;
  // float32, or int32 with scales like those of the weight; NULL: no bias.
  const etx_ir_constant* bias;
  const etx_ir_constant* bias_scales;
  double bias_scale;
  size_t groups;
} etx_qdq_layer;

// Reads a float32 convolution or linear layer. False for other nodes, and if
// input or weight are not dequantised.
bool etx_qdq_layer_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                        etx_qdq_layer* out);

// Appends the quantised layer, which must have no obstacle. The result is uint8
// with parameters `results`, or float32 if that is NULL.
ETX_MUST_USE etx_status etx_qdq_layer_emit(etx_rewrite* rewrite,
                                           const etx_qdq_layer* layer,
                                           const etx_qdq_params* results,
                                           etx_qdq_tensor* out);

#endif
