#include "exporter/quantize/qdq_layers.h"

#include "exporter/quantize/qdq_weights.h"
#include "exporter/ir/ir_edit.h"

// Arguments of a convolution; a linear layer has the first three.
enum {
  INPUT,
  WEIGHT,
  BIAS,
  STRIDE,
  PADDING,
  DILATION,
  TRANSPOSED,
  GROUPS = 8,
  ARGUMENTS
};

// Arguments of dequantize_per_channel; the first three are those of
// dequantize_per_tensor, too.
enum { BYTES, SCALES, ZEROS, AXIS };

// ------------------------------------------------ operands

static const etx_ir_constant* constant_of(const etx_rewrite* rewrite,
                                          const etx_ir_arg* arg) {
  return arg->kind != ETX_IR_ARG_VALUE
             ? NULL
             : etx_rewrite_constant(rewrite->builder.module,
                                    rewrite->builder.method, arg->as.value);
}

static bool is_zero(const etx_ir_constant* constant) {
  for (size_t i = 0; i < constant->data.size; ++i) {
    if (constant->data.data[i] != 0) return false;
  }
  return true;
}

static bool has_no_zeros(const etx_rewrite* rewrite, const etx_ir_arg* zeros) {
  if (zeros->kind == ETX_IR_ARG_NONE) return true;
  if (zeros->kind == ETX_IR_ARG_INT) return zeros->as.integer == 0;
  const etx_ir_constant* const constant = constant_of(rewrite, zeros);
  return constant != NULL && is_zero(constant);
}

// The dequantize node, per channel or per tensor, that computes an operand;
// NULL if there is none.
static const etx_ir_node* dequantize_of(const etx_rewrite* rewrite,
                                        const etx_ir_node* node,
                                        size_t position) {
  const etx_ir_node* const each = etx_rewrite_operand(
      rewrite, node, position, ETX_OP_dequantize_per_channel_out);
  return each != NULL ? each
                      : etx_rewrite_operand(rewrite, node, position,
                                            ETX_OP_dequantize_per_tensor_out);
}

// Reads the scales of a dequantize node: one per index of the first dimension,
// of size `channels`, or one for all. False if they are not constant.
static bool read_scales(const etx_rewrite* rewrite, const etx_ir_node* node,
                        int64_t channels, const etx_ir_constant** out_each,
                        double* out_all) {
  const etx_ir_arg* const scales = &node->args[SCALES];
  *out_each = NULL;
  if (node->op->id == ETX_OP_dequantize_per_tensor_out) {
    *out_all = scales->as.real;
    return scales->kind == ETX_IR_ARG_DOUBLE;
  }
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[BYTES])->rank;
  const etx_ir_arg* const axis = &node->args[AXIS];
  *out_each = constant_of(rewrite, scales);
  return *out_each != NULL && (*out_each)->rank == 1 &&
         (*out_each)->sizes[0] == channels &&
         ((*out_each)->dtype == ETX_DTYPE_FLOAT32 ||
          (*out_each)->dtype == ETX_DTYPE_FLOAT64) &&
         (etx_rewrite_is_int(axis, 0) ||
          etx_rewrite_is_int(axis, -(int64_t)rank));
}

static const char* read_weight(const etx_rewrite* rewrite,
                               const etx_ir_node* node, etx_qdq_layer* out) {
  out->weight_value = node->args[BYTES].as.value;
  out->weight = constant_of(rewrite, &node->args[BYTES]);
  if (out->weight == NULL) return "its weight is not constant";
  if (out->weight->data.size == 0) return "its weight is empty";
  if (!has_no_zeros(rewrite, &node->args[ZEROS])) {
    return "its weight has zero points";
  }
  return read_scales(rewrite, node, out->weight->sizes[0], &out->scales,
                     &out->scale)
             ? NULL
             : "its weight does not have constant scales per output channel or "
               "per "
               "tensor";
}

static const char* read_bias(const etx_rewrite* rewrite,
                             const etx_ir_node* layer, etx_qdq_layer* out) {
  static const char* const unknown =
      "its bias is not a constant vector of float32, or of int32 with scales";
  const etx_ir_arg* const arg = &layer->args[BIAS];
  const int64_t channels = out->weight->sizes[0];
  if (arg->kind == ETX_IR_ARG_NONE) return NULL;
  const etx_ir_node* const node = dequantize_of(rewrite, layer, BIAS);
  const etx_dtype wanted = node == NULL ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_INT32;
  out->bias = constant_of(rewrite, node == NULL ? arg : &node->args[BYTES]);
  if (out->bias == NULL || out->bias->dtype != wanted || out->bias->rank != 1 ||
      out->bias->sizes[0] != channels) {
    return unknown;
  }
  return node == NULL || (has_no_zeros(rewrite, &node->args[ZEROS]) &&
                          read_scales(rewrite, node, channels,
                                      &out->bias_scales, &out->bias_scale))
             ? NULL
             : unknown;
}

// ------------------------------------------------ layers

static const char* image_obstacle(const etx_rewrite* rewrite,
                                  const etx_qdq_layer* layer) {
  const etx_shape* const image =
      etx_rewrite_shape(rewrite, &layer->args[INPUT]);
  const size_t own = etx_rewrite_shape(rewrite, &layer->args[WEIGHT])->rank;
  if (layer->args[TRANSPOSED].as.boolean) return "it is transposed";
  if ((own != 3 && own != 4) || image->rank != own) {
    return "it is neither 1-d nor 2-d with a batch";
  }
  return etx_dim_is_number(image->dims[1])
             ? NULL
             : "its number of input channels is symbolic";
}

static const char* rows_obstacle(const etx_rewrite* rewrite,
                                 const etx_qdq_layer* layer) {
  const etx_shape* const rows = etx_rewrite_shape(rewrite, &layer->args[INPUT]);
  return rows->rank > 0 && etx_dim_is_number(rows->dims[rows->rank - 1])
             ? NULL
             : "its row length is symbolic";
}

static const char* weight_obstacle(const etx_qdq_layer* layer) {
  const etx_ir_constant* const w = layer->weight;
  const size_t products = w->data.size / (size_t)w->sizes[0];
  if (layer->is_linear && w->rank != 2) return "its weight is not a matrix";
  return products > ETX_QDQ_MAX_PRODUCTS ? "its sums may overflow int32" : NULL;
}

bool etx_qdq_layer_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                        etx_qdq_layer* out) {
  const bool is_linear = node->op->id == ETX_OP_linear_out;
  if (!is_linear && node->op->id != ETX_OP_convolution_out) return false;
  *out = (etx_qdq_layer){
      .kind = is_linear ? "quantised linear layer" : "quantised convolution",
      .is_linear = is_linear,
      .groups = 1};
  const etx_ir_node* const input = etx_qdq_tensor_dequantized(
      rewrite, node->args[INPUT].as.value, &out->numbers);
  const etx_ir_node* const weight = dequantize_of(rewrite, node, WEIGHT);
  if (input == NULL || weight == NULL ||
      etx_rewrite_shape(rewrite, &weight->args[BYTES])->dtype !=
          ETX_DTYPE_INT8 ||
      etx_rewrite_shape(rewrite, &node->args[WEIGHT])->dtype !=
          ETX_DTYPE_FLOAT32) {
    return false;
  }
  memcpy(out->args, node->args,
         (is_linear ? (size_t)STRIDE : (size_t)ARGUMENTS) * sizeof *out->args);
  if (!is_linear) out->groups = (size_t)node->args[GROUPS].as.integer;
  out->input = input->args[BYTES].as.value;
  out->obstacle =
      is_linear ? rows_obstacle(rewrite, out) : image_obstacle(rewrite, out);
  if (out->obstacle == NULL) out->obstacle = read_weight(rewrite, weight, out);
  if (out->obstacle == NULL) out->obstacle = weight_obstacle(out);
  if (out->obstacle == NULL) out->obstacle = read_bias(rewrite, node, out);
  return true;
}
