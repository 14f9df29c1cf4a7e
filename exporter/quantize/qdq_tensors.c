#include "exporter/quantize/qdq_tensors.h"

#include <float.h>
#include <math.h>

#include "exporter/ir/ir_edit.h"

// Arguments of quantize_per_tensor and dequantize_per_tensor.
enum { INPUT, SCALE, ZERO, LEAST, MOST, DTYPE };

static const size_t to_last[] = {0, 2, 3, 1};
static const size_t from_last[] = {0, 3, 1, 2};

// ------------------------------------------------ numbers

static bool read_byte(const etx_ir_arg* arg, int64_t shift, int64_t* out) {
  if (arg->kind != ETX_IR_ARG_INT || !etx_dim_is_number(arg->as.integer)) {
    return false;
  }
  *out = arg->as.integer + shift;
  return *out >= 0 && *out <= UINT8_MAX;
}

// True if the scale and its inverse are normal float32 numbers, as kernels
// need.
static bool is_usable(double scale) {
  const float own = (float)scale, inverse = (float)(1.0 / scale);
  return own > 0 && own <= FLT_MAX && inverse > 0 && inverse <= FLT_MAX;
}

bool etx_qdq_params_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                         etx_qdq_params* out) {
  const bool is_back = node->op->id == ETX_OP_dequantize_per_tensor_out;
  if (!is_back && node->op->id != ETX_OP_quantize_per_tensor_out) return false;
  const etx_dtype input = etx_rewrite_shape(rewrite, &node->args[INPUT])->dtype;
  const etx_dtype output =
      etx_builder_shape(&rewrite->builder, node->outputs[0])->dtype;
  const etx_dtype bytes = is_back ? input : output;
  const int64_t shift = bytes == ETX_DTYPE_INT8 ? ETX_QDQ_UINT8_OFFSET : 0;
  const etx_ir_arg* const args = node->args;
  if ((is_back ? output : input) != ETX_DTYPE_FLOAT32 ||
      (bytes != ETX_DTYPE_INT8 && bytes != ETX_DTYPE_UINT8) ||
      args[SCALE].kind != ETX_IR_ARG_DOUBLE ||
      !is_usable(args[SCALE].as.real) ||
      !read_byte(&args[ZERO], shift, &out->zero) ||
      !read_byte(&args[LEAST], shift, &out->least) ||
      !read_byte(&args[MOST], shift, &out->most)) {
    return false;
  }
  out->scale = args[SCALE].as.real;
  return out->least <= out->most;
}

// Multiplies by the inverse of the scale in float32 and rounds ties to even,
// like the kernels.
int64_t etx_qdq_quantize_number(const etx_qdq_params* numbers, double x) {
  const float scaled = (float)x * (float)(1.0 / numbers->scale);
  const double byte = nearbyint((double)scaled) + (double)numbers->zero;
  if (!(byte > (double)numbers->least)) return numbers->least;
  return byte < (double)numbers->most ? (int64_t)byte : numbers->most;
}

const etx_ir_node* etx_qdq_tensor_dequantized(const etx_rewrite* rewrite,
                                              uint32_t value,
                                              etx_qdq_params* out_numbers) {
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->builder.method, value);
  return node != NULL && node->op->id == ETX_OP_dequantize_per_tensor_out &&
                 etx_qdq_params_read(rewrite, node, out_numbers)
             ? node
             : NULL;
}

// ------------------------------------------------ finding

static bool has_order(const etx_ir_node* permute, const size_t order[4]) {
  const etx_ir_arg* const dims = &permute->args[1];
  if (dims->as.list.count != 4) return false;
  for (size_t i = 0; i < 4; ++i) {
    if (!etx_rewrite_is_int(&dims->as.list.items[i], (int64_t)order[i])) {
      return false;
    }
  }
  return true;
}

// True if the node converts [N, H, W, C] to [N, C, H, W]: a permute, or a view
// if the permute would not move elements.
static bool is_from_channels_last(const etx_ir_method* method,
                                  const etx_ir_node* node) {
  if (node->op->id == ETX_OP_permute_copy_out)
    return has_order(node, from_last);
  const etx_shape* const last =
      &method->values[node->args[INPUT].as.value].shape;
  const etx_shape* const own = &method->values[node->outputs[0]].shape;
  if (node->op->id != ETX_OP_view_copy_out || own->rank != 4 ||
      last->rank != 4 ||
      (own->dims[1] != 1 && (own->dims[2] != 1 || own->dims[3] != 1))) {
    return false;
  }
  for (size_t i = 0; i < 4; ++i) {
    if (!etx_symbols_equal(&method->symbols, own->dims[i],
                           last->dims[from_last[i]])) {
      return false;
    }
  }
  return true;
}

// The uint8 tensor `value`, or the channels-last tensor that it is permuted
// from.
static etx_qdq_tensor find_order(const etx_ir_method* method, uint32_t value) {
  const etx_ir_node* const node = etx_ir_definition(method, value);
  return node != NULL && is_from_channels_last(method, node)
             ? (etx_qdq_tensor){node->args[INPUT].as.value, true}
             : (etx_qdq_tensor){value, false};
}

static bool is_exact(const etx_rewrite* rewrite, const etx_ir_node* node) {
  etx_qdq_params numbers;
  return etx_qdq_params_read(rewrite, node, &numbers) && numbers.scale == 1.0 &&
         numbers.zero == ETX_QDQ_UINT8_OFFSET && numbers.least == 0 &&
         numbers.most == UINT8_MAX;
}

// If `node` converts between int8 and uint8 through a dequantize and a quantize
// with scale 1: the tensor before the conversion. Otherwise ETX_IR_NONE.
static uint32_t find_converted(const etx_rewrite* rewrite,
                               const etx_ir_node* node) {
  if (node == NULL || node->op->id != ETX_OP_quantize_per_tensor_out ||
      !is_exact(rewrite, node)) {
    return ETX_IR_NONE;
  }
  const etx_ir_node* const back = etx_rewrite_operand(
      rewrite, node, INPUT, ETX_OP_dequantize_per_tensor_out);
  return back == NULL || !is_exact(rewrite, back) ? ETX_IR_NONE
                                                  : back->args[INPUT].as.value;
}

bool etx_qdq_tensor_find(const etx_rewrite* rewrite, uint32_t value,
                         etx_qdq_tensor* out) {
  const etx_ir_method* const method = rewrite->builder.method;
  while (value != ETX_IR_NONE) {
    if (method->values[value].shape.dtype == ETX_DTYPE_UINT8) {
      *out = find_order(method, value);
      return true;
    }
    value = find_converted(rewrite, etx_ir_definition(method, value));
  }
  return false;
}

const etx_ir_node* etx_qdq_tensor_quantized(const etx_rewrite* rewrite,
                                            const etx_ir_node* node,
                                            etx_qdq_params* out_numbers) {
  const etx_ir_method* const method = rewrite->builder.method;
  etx_qdq_tensor bytes;
  const uint32_t value = find_converted(rewrite, node);
  if (value == ETX_IR_NONE || !etx_qdq_tensor_find(rewrite, value, &bytes) ||
      bytes.is_last) {
    return NULL;
  }
  const etx_ir_node* const first = etx_ir_definition(method, bytes.value);
  return first != NULL && first->op->id == ETX_OP_quantize_per_tensor_out &&
                 etx_qdq_params_read(rewrite, first, out_numbers)
             ? first
             : NULL;
}

bool etx_qdq_tensor_is_available(const etx_rewrite* rewrite, uint32_t value) {
  etx_qdq_tensor found;
  etx_qdq_params numbers;
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->builder.method, value);
  return etx_qdq_tensor_find(rewrite, value, &found) ||
         (node != NULL && node->op->id == ETX_OP_quantize_per_tensor_out &&
          etx_qdq_params_read(rewrite, node, &numbers));
}

size_t etx_qdq_clamp_position(etx_op_id op) {
  switch (op) {
    case ETX_OP_quantize_per_tensor_out:
      return LEAST;
    case ETX_OP_convolution_u8_out:
      return 12;
    case ETX_OP_depthwise_u8_out:
      return 10;
    case ETX_OP_linear_u8_out:
      return 6;
    case ETX_OP_chain_u8_out:
      return 9;
    case ETX_OP_mean_u8_out:
      return 4;
    default:
      return 0;
  }
}

// True if every element of the result is an element of the operand.
static bool only_moves(const etx_ir_node* node) {
  const etx_op_id op = node->op->id;
  return op == ETX_OP_permute_copy_out || op == ETX_OP_view_copy_out ||
         op == ETX_OP_slice_copy_tensor_out || op == ETX_OP_max_pool2d_u8_out;
}

bool etx_qdq_tensor_is_within(const etx_rewrite* rewrite, uint32_t value,
                              int64_t least, int64_t most) {
  const etx_ir_method* const method = rewrite->builder.method;
  const etx_ir_node* node = etx_ir_definition(method, value);
  if (least <= 0 && most >= UINT8_MAX) return true;
  while (node != NULL && only_moves(node)) {
    node = etx_ir_definition(method, node->args[INPUT].as.value);
  }
  const size_t at = node == NULL ? 0 : etx_qdq_clamp_position(node->op->id);
  return at != 0 && node->args[at].as.integer >= least &&
         node->args[at + 1].as.integer <= most;
}

// ------------------------------------------------ computing

static etx_status emit_numbers(etx_builder* builder, etx_op_id op,
                               uint32_t value, const etx_qdq_params* numbers,
                               etx_dtype dtype, uint32_t* out_value) {
  const int64_t shift = dtype == ETX_DTYPE_INT8 ? ETX_QDQ_UINT8_OFFSET : 0;
  const etx_ir_arg args[] = {
      etx_ir_value_arg(value),           etx_ir_double(numbers->scale),
      etx_ir_int(numbers->zero - shift), etx_ir_int(numbers->least - shift),
      etx_ir_int(numbers->most - shift), etx_ir_dtype(dtype)};
  return etx_build_op(builder, op, args, 6, out_value);
}

etx_status etx_qdq_tensor_quantize(etx_builder* builder, uint32_t floats,
                                   const etx_qdq_params* numbers,
                                   etx_dtype dtype, uint32_t* out_value) {
  return emit_numbers(builder, ETX_OP_quantize_per_tensor_out, floats, numbers,
                      dtype, out_value);
}

etx_status etx_qdq_tensor_to_floats(etx_builder* builder, etx_qdq_tensor bytes,
                                    const etx_qdq_params* numbers,
                                    uint32_t* out_value) {
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, &bytes));
  return emit_numbers(builder, ETX_OP_dequantize_per_tensor_out, bytes.value,
                      numbers, ETX_DTYPE_UINT8, out_value);
}

// Converts between int8 and uint8 through floats, which represent them exactly.
static etx_status convert_dtype(etx_builder* builder, uint32_t value,
                                etx_dtype from, etx_dtype to,
                                uint32_t* out_value) {
  const etx_qdq_params exact = {1.0, ETX_QDQ_UINT8_OFFSET, 0, UINT8_MAX};
  uint32_t floats = 0;
  ETX_TRY(emit_numbers(builder, ETX_OP_dequantize_per_tensor_out, value, &exact,
                       from, &floats));
  return emit_numbers(builder, ETX_OP_quantize_per_tensor_out, floats, &exact,
                      to, out_value);
}

etx_status etx_qdq_tensor_as_uint8(etx_rewrite* rewrite, uint32_t value,
                                   etx_qdq_tensor* out) {
  etx_builder* const builder = &rewrite->builder;
  etx_qdq_params numbers;
  if (etx_qdq_tensor_find(rewrite, value, out)) return ETX_OK;
  const etx_ir_node* const node = etx_ir_definition(builder->method, value);
  out->is_last = false;
  if (node != NULL && node->op->id == ETX_OP_quantize_per_tensor_out &&
      etx_qdq_params_read(rewrite, node, &numbers)) {
    return etx_qdq_tensor_quantize(builder, node->args[INPUT].as.value,
                                   &numbers, ETX_DTYPE_UINT8, &out->value);
  }
  return convert_dtype(builder, value, ETX_DTYPE_INT8, ETX_DTYPE_UINT8,
                       &out->value);
}

etx_status etx_qdq_tensor_set_layout(etx_builder* builder, bool is_last,
                                     etx_qdq_tensor* bytes) {
  if (bytes->is_last == is_last) return ETX_OK;
  bytes->is_last = is_last;
  return etx_build_permute(builder, bytes->value, is_last ? to_last : from_last,
                           &bytes->value);
}

etx_status etx_qdq_tensor_as_dtype(etx_builder* builder, etx_qdq_tensor bytes,
                                   etx_dtype dtype, uint32_t* out_value) {
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, &bytes));
  *out_value = bytes.value;
  if (dtype == ETX_DTYPE_UINT8) return ETX_OK;
  return convert_dtype(builder, bytes.value, ETX_DTYPE_UINT8, dtype, out_value);
}
