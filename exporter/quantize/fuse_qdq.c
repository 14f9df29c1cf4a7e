// Fuses the quantize/dequantize (QDQ) pairs of models whose weights and
// activations were quantised before the export. Float operators between
// dequantize and quantize become operators over uint8:
//
//   quantize(relu(convolution(dequantize(x), dequantize(w), b)))
//     -> convolution_u8(x, w, ..)
//   convolution(dequantize(x), dequantize(w), b)
//     -> convolution_u8(x, w, ..) with a float32 result
//   quantize(relu(add(dequantize(x), dequantize(y))))
//     -> chain_u8(x, [y], "x 0 add", ..)
//   quantize(max_pool2d(dequantize(x)))
//     -> max_pool2d_u8(x)
//   quantize(mean(dequantize(x), [2, 3]))
//     -> mean_u8(x)
//   quantize(mean(hardswish(dequantize(x)), [2, 3]))
//     -> quantize(mean(chain_u8(x, ..) with a float32 result, ..))
//   quantize(cat([dequantize(x), dequantize(y)]))
//     -> cat([x, y])
//   slice(dequantize(x))
//     -> dequantize(slice(x))
//   quantize(leaky_relu(dequantize(x), 0.1))
//     -> chain_u8(x, .., "x relu x neg relu ..")
//
// Integer sums of layers and means are exact, and scales and biases are rounded
// once; the float graph rounds each product. So results may differ by one step
// of the scale; leaky_relu too, because its slope is rounded. All other results
// are bit-equal, except that NaN becomes the smallest byte instead of 0.

#include "exporter/quantize/qdq_layers.h"
#include "exporter/quantize/qdq_results.h"
#include "exporter/passes/pass_context.h"

// True if the value is an output or the new content of a state.
static bool is_result(const etx_ir_method* method, uint32_t value) {
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_ir_arg* const arg = &method->outputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE && arg->as.value == value) return true;
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (method->mutations[i].value == value) return true;
  }
  return false;
}

// Moves a quantize upwards (qdq_results.h).
static etx_status fuse_quantize(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  size_t left = ETX_QDQ_MAX_VALUES;
  etx_qdq_request request = {
      .compute = etx_qdq_result, .is_only_use = true, .values_left = &left};
  etx_qdq_tensor bytes;
  if (node->op->id != ETX_OP_quantize_per_tensor_out ||
      !etx_qdq_params_read(rewrite, node, &request.numbers)) {
    return ETX_OK;
  }
  const etx_dtype dtype = etx_builder_shape(builder, node->outputs[0])->dtype;
  ETX_TRY(etx_qdq_result(rewrite, node->args[0].as.value, &request, &bytes,
                         out_done));
  if (!*out_done) {
    if (dtype == ETX_DTYPE_UINT8 ||
        is_result(builder->method, node->outputs[0])) {
      return ETX_OK;
    }
    // So that all readers use the same uint8 tensor.
    bytes.is_last = false;
    ETX_TRY(etx_qdq_tensor_quantize(builder, node->args[0].as.value,
                                    &request.numbers, ETX_DTYPE_UINT8,
                                    &bytes.value));
    *out_done = true;
  }
  return etx_qdq_tensor_as_dtype(builder, bytes, dtype, &builder->results[0]);
}

// Dequantises the uint8 form of an int8 tensor.
static etx_status rewrite_dequantize(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  etx_qdq_params numbers;
  etx_qdq_tensor bytes;
  if (node->op->id != ETX_OP_dequantize_per_tensor_out ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_INT8 ||
      !etx_qdq_params_read(rewrite, node, &numbers) ||
      !etx_qdq_tensor_find(rewrite, node->args[0].as.value, &bytes)) {
    return ETX_OK;
  }
  *out_done = true;
  return etx_qdq_tensor_to_floats(builder, bytes, &numbers,
                                  &builder->results[0]);
}

static bool is_zero(const etx_ir_arg* arg) {
  return etx_rewrite_is_int(arg, 0) ||
         (arg->kind == ETX_IR_ARG_DOUBLE && arg->as.real == 0);
}

// True for operators that commute with dequantize and should be computed over
// bytes: those that drop elements, and the zero padding before a quantised
// layer.
static bool commutes_with_dequantize(const etx_ir_node* node) {
  return node->op->id == ETX_OP_slice_copy_tensor_out ||
         node->op->id == ETX_OP_max_pool2d_out ||
         (node->op->id == ETX_OP_constant_pad_nd_out &&
          is_zero(&node->args[2]));
}

static etx_status push_below_dequantize(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  size_t left = ETX_QDQ_MAX_VALUES;
  etx_qdq_request request = {.compute = etx_qdq_result, .values_left = &left};
  etx_qdq_tensor bytes;
  if (!commutes_with_dequantize(node)) return ETX_OK;
  const etx_ir_node* const floats = etx_qdq_tensor_dequantized(
      rewrite, node->args[0].as.value, &request.numbers);
  if (floats == NULL ||
      !etx_qdq_tensor_find(rewrite, floats->args[0].as.value, &bytes)) {
    return ETX_OK;
  }
  request.numbers.least = 0;
  request.numbers.most = UINT8_MAX;
  const etx_qdq_params numbers = request.numbers;
  ETX_TRY(etx_qdq_data_movement(rewrite, node, &request, &bytes, out_done));
  return *out_done ? etx_qdq_tensor_to_floats(builder, bytes, &numbers,
                                              &builder->results[0])
                   : ETX_OK;
}

// Where int8 is needed and was converted from a quantised uint8 tensor:
// quantises to int8 directly, so that the conversion is removed.
static etx_status quantize_to_int8(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  etx_qdq_params numbers;
  const etx_ir_node* const first =
      etx_qdq_tensor_quantized(rewrite, builder->node, &numbers);
  if (first == NULL) return ETX_OK;
  *out_done = true;
  return etx_qdq_tensor_quantize(builder, first->args[0].as.value, &numbers,
                                 ETX_DTYPE_INT8, &builder->results[0]);
}

// Quantised layers with a float32 result.
static etx_status fuse_layer(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  etx_qdq_layer layer;
  etx_qdq_tensor floats;
  if (!etx_qdq_layer_read(rewrite, builder->node, &layer)) return ETX_OK;
  if (layer.obstacle != NULL) {
    return etx_fusion_report_missed(rewrite->fusions, builder, layer.kind,
                                    layer.obstacle);
  }
  ETX_TRY(etx_qdq_layer_emit(rewrite, &layer, NULL, &floats));
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, &floats));
  builder->results[0] = floats.value;
  *out_done = true;
  return ETX_OK;
}

// Quantised means, or average poolings of a whole image, with a float32 result.
static etx_status fuse_mean(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  etx_qdq_tensor floats;
  ETX_TRY(etx_qdq_mean(rewrite, builder->node, NULL, &floats, out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, &floats));
  builder->results[0] = floats.value;
  return ETX_OK;
}

etx_status etx_pass_fuse_qdq(etx_pass_context* context) {
  static const etx_rewrite_rule results[] = {fuse_quantize, rewrite_dequantize,
                                             push_below_dequantize};
  static const etx_rewrite_rule layers[] = {fuse_layer, fuse_mean,
                                            quantize_to_int8};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  ETX_TRY(etx_rewrite_module(context, results, 3));
  return etx_rewrite_module(context, layers, 3);
}
