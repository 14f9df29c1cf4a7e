// Convolutions and linear layers whose operands were bytes before they were
// made floats, and the operators over bytes that compute the same.

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_LAYERS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_LAYERS_H

#include "exporter/quantize/qdq_tensors.h"

typedef struct etx_qdq_layer {
  const char* kind;      // "quantised convolution"
  const char* obstacle;  // why it cannot be one over bytes; NULL: it can
  etx_ir_arg args[9];    // of the convolution, or (input, weight, bias)
  bool is_linear;
  uint32_t input;          // int8 or uint8
  etx_qdq_params numbers;  // of the input
  uint32_t weight_value;   // int8
  const etx_ir_constant* weight;
  // A scale for each output channel, or for all of them.
  const etx_ir_constant* scales;
  double scale;
  // Floats, or int32 numbers with scales as the weight's; NULL: no bias.
  const etx_ir_constant* bias;
  const etx_ir_constant* bias_scales;
  double bias_scale;
  size_t groups;
} etx_qdq_layer;

// Reads a convolution or a linear layer of float32. False if not both of its
// operands were bytes.
bool etx_qdq_layer_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                        etx_qdq_layer* out);

// Appends the layer, which must have no obstacle. Its result is bytes that
// stand for what `results` says, or floats where that is NULL.
ETX_MUST_USE etx_status etx_qdq_layer_emit(etx_rewrite* rewrite,
                                           const etx_qdq_layer* layer,
                                           const etx_qdq_params* results,
                                           etx_qdq_tensor* out);

#endif
