// Graphs that were quantised before the export, activations too, compute with
// bytes what they spell out with floats between:
//
//   quantize(relu(convolution(dequantize(x), dequantize(w), b)))
//                                   convolution_u8(x, w, ..)
//   convolution(dequantize(x), dequantize(w), b)
//                                   convolution_u8(x, w, ..) of floats
//   quantize(relu(add(dequantize(x), dequantize(y))))
//                                   chain_u8(x, [y], "x 0 add", ..)
//   quantize(max_pool2d(dequantize(x)))
//                                   max_pool2d_u8(x)
//   quantize(mean(dequantize(x), [2, 3]))
//                                   mean_u8(x)
//   quantize(mean(hardswish(dequantize(x)), [2, 3]))
//                                   quantize(mean(chain_u8(x, .. floats), ..))
//   quantize(cat([dequantize(x), dequantize(y)]))
//                                   cat([x, y])
//   slice(dequantize(x))            dequantize(slice(x))
//   quantize(leaky_relu(dequantize(x), 0.1))
//                                   chain_u8(x, .., "x relu x neg relu ..")
//
// Sums of layers and means are exact, and scales and biases are rounded once,
// where the graph rounds each product: results differ by one step where they
// lie between two, and so do leaky relus, whose slope is rounded. All else
// gives the same bits of numbers. What is no number becomes the least byte, not
// 0.

#include "exporter/quantize/qdq_layers.h"
#include "exporter/quantize/qdq_results.h"
#include "exporter/passes/pass_context.h"

// True if callers or states get the value as it is.
static bool is_given(const etx_ir_method* method, uint32_t value) {
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_ir_arg* const arg = &method->outputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE && arg->as.value == value) return true;
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (method->mutations[i].value == value) return true;
  }
  return false;
}

static etx_status find_quantize(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  size_t left = ETX_QDQ_MAX_VALUES;
  etx_qdq_request wish = {
      .compute = etx_qdq_result, .is_alone = true, .left = &left};
  etx_qdq_tensor bytes;
  if (node->op->id != ETX_OP_quantize_per_tensor_out ||
      !etx_qdq_params_read(rewrite, node, &wish.numbers)) {
    return ETX_OK;
  }
  const etx_dtype dtype = etx_builder_shape(lower, node->outputs[0])->dtype;
  ETX_TRY(
      etx_qdq_result(rewrite, node->args[0].as.value, &wish, &bytes, out_done));
  if (!*out_done) {
    if (dtype == ETX_DTYPE_UINT8 || is_given(lower->method, node->outputs[0])) {
      return ETX_OK;
    }
    // All that reads it reads the same bytes.
    bytes.is_last = false;
    ETX_TRY(etx_qdq_tensor_quantize(lower, node->args[0].as.value,
                                    &wish.numbers, ETX_DTYPE_UINT8,
                                    &bytes.value));
    *out_done = true;
  }
  return etx_qdq_tensor_as_dtype(lower, bytes, dtype, &lower->results[0]);
}

// Floats of int8 numbers that are there as uint8.
static etx_status find_dequantize(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  etx_qdq_params numbers;
  etx_qdq_tensor bytes;
  if (node->op->id != ETX_OP_dequantize_per_tensor_out ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_INT8 ||
      !etx_qdq_params_read(rewrite, node, &numbers) ||
      !etx_qdq_tensor_find(rewrite, node->args[0].as.value, &bytes)) {
    return ETX_OK;
  }
  *out_done = true;
  return etx_qdq_tensor_to_floats(lower, bytes, &numbers, &lower->results[0]);
}

static bool is_zero(const etx_ir_arg* arg) {
  return etx_rewrite_is_int(arg, 0) ||
         (arg->kind == ETX_IR_ARG_DOUBLE && arg->as.real == 0);
}

// True if floats of what the node does to bytes are what it does to floats, and
// it comes first: it leaves elements out, before others change them, or it is
// the padding of a layer that reads bytes.
static bool comes_first(const etx_ir_node* node) {
  return node->op->id == ETX_OP_slice_copy_tensor_out ||
         node->op->id == ETX_OP_max_pool2d_out ||
         (node->op->id == ETX_OP_constant_pad_nd_out &&
          is_zero(&node->args[2]));
}

static etx_status find_move(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  size_t left = ETX_QDQ_MAX_VALUES;
  etx_qdq_request wish = {.compute = etx_qdq_result, .left = &left};
  etx_qdq_tensor bytes;
  if (!comes_first(node)) return ETX_OK;
  const etx_ir_node* const floats = etx_qdq_tensor_dequantized(
      rewrite, node->args[0].as.value, &wish.numbers);
  if (floats == NULL ||
      !etx_qdq_tensor_find(rewrite, floats->args[0].as.value, &bytes)) {
    return ETX_OK;
  }
  wish.numbers.least = 0;
  wish.numbers.most = UINT8_MAX;
  const etx_qdq_params numbers = wish.numbers;
  ETX_TRY(etx_qdq_data_movement(rewrite, node, &wish, &bytes, out_done));
  return *out_done ? etx_qdq_tensor_to_floats(lower, bytes, &numbers,
                                              &lower->results[0])
                   : ETX_OK;
}

// int8 of floats that are there as uint8, too: quantised by itself, so that the
// other may go.
static etx_status find_int8(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  etx_qdq_params numbers;
  const etx_ir_node* const first =
      etx_qdq_tensor_quantized(rewrite, lower->node, &numbers);
  if (first == NULL) return ETX_OK;
  *out_done = true;
  return etx_qdq_tensor_quantize(lower, first->args[0].as.value, &numbers,
                                 ETX_DTYPE_INT8, &lower->results[0]);
}

// Layers whose results stay floats.
static etx_status find_layer(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  etx_qdq_layer layer;
  etx_qdq_tensor floats;
  if (!etx_qdq_layer_read(rewrite, lower->node, &layer)) return ETX_OK;
  if (layer.obstacle != NULL) {
    return etx_fusion_report_missed(rewrite->fusions, lower, layer.kind,
                                    layer.obstacle);
  }
  ETX_TRY(etx_qdq_layer_emit(rewrite, &layer, NULL, &floats));
  ETX_TRY(etx_qdq_tensor_set_layout(lower, false, &floats));
  lower->results[0] = floats.value;
  *out_done = true;
  return ETX_OK;
}

// Means whose results stay floats; pooling of a whole image is one, too.
static etx_status find_mean(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  etx_qdq_tensor floats;
  ETX_TRY(etx_qdq_mean(rewrite, lower->node, NULL, &floats, out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_qdq_tensor_set_layout(lower, false, &floats));
  lower->results[0] = floats.value;
  return ETX_OK;
}

etx_status etx_pass_fuse_qdq(etx_pass_context* context) {
  static const etx_rewrite_rule results[] = {find_quantize, find_dequantize,
                                             find_move};
  static const etx_rewrite_rule layers[] = {find_layer, find_mean, find_int8};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  ETX_TRY(etx_rewrite_module(context, results, 3));
  return etx_rewrite_module(context, layers, 3);
}
