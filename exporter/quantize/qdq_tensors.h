// Quantised tensors x = (byte - zero) * scale of the pass fuse_qdq.
//
// All quantised operators of the runtime take uint8 (op_schema.def). An int8
// number q with zero point z is the byte q + 128 with zero point z + 128.
// Images are channels last between quantised operators and in the default order
// elsewhere.
//
// The graph remains valid after every rewrite: where another node reads a
// value, it is converted back to its original type and order. A later rewrite
// recognises these two conversions and reads b instead:
//
//   permute_copy(b, [0, 3, 1, 2])                        b is channels last
//   quantize(dequantize(b, 1.0, 128), 1.0, 0, .., int8)  b is uint8

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_TENSORS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_TENSORS_H

#include "exporter/rewrite/ir_rewrite.h"

enum { ETX_QDQ_UINT8_OFFSET = 128 };  // from int8 to uint8

// Quantisation parameters for uint8.
typedef struct etx_qdq_params {
  double scale;
  int64_t zero;         // zero point
  int64_t least, most;  // range of the bytes, within 0 to 255
} etx_qdq_params;

// A tensor of uint8.
typedef struct etx_qdq_tensor {
  uint32_t value;
  bool is_last;  // stored as [N, H, W, C] instead of [N, C, H, W]
} etx_qdq_tensor;

// Reads a quantize_per_tensor or dequantize_per_tensor between float32 and int8
// or uint8, with parameters converted to uint8. False for other nodes.
bool etx_qdq_params_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                         etx_qdq_params* out);

// Quantises one number, as the kernels do.
int64_t etx_qdq_quantize_number(const etx_qdq_params* numbers, double x);

// The dequantize_per_tensor that computes the float value `value`, and its
// parameters; NULL if there is none.
const etx_ir_node* etx_qdq_tensor_dequantized(const etx_rewrite* rewrite,
                                              uint32_t value,
                                              etx_qdq_params* out_numbers);

// The uint8 tensor that equals the int8 or uint8 tensor `value`, if it exists
// in the graph. False if it does not.
bool etx_qdq_tensor_find(const etx_rewrite* rewrite, uint32_t value,
                         etx_qdq_tensor* out);

// If `node` converts uint8 to int8 and the uint8 tensor is computed by a
// quantize_per_tensor: that node and its parameters. Otherwise NULL.
const etx_ir_node* etx_qdq_tensor_quantized(const etx_rewrite* rewrite,
                                            const etx_ir_node* node,
                                            etx_qdq_params* out_numbers);

// As etx_qdq_tensor_find, but appends a conversion if there is no uint8 tensor.
ETX_MUST_USE etx_status etx_qdq_tensor_as_uint8(etx_rewrite* rewrite,
                                                uint32_t value,
                                                etx_qdq_tensor* out);

// True if all bytes of a uint8 tensor are known to be in [least, most].
bool etx_qdq_tensor_is_within(const etx_rewrite* rewrite, uint32_t value,
                              int64_t least, int64_t most);

// True if there is a uint8 tensor for `value`, or `value` is the result of a
// quantize_per_tensor that can be repeated for uint8.
bool etx_qdq_tensor_is_available(const etx_rewrite* rewrite, uint32_t value);

// Position of the argument with the smallest byte of an operator's result,
// which is followed by the largest one; 0 if the operator has no such
// arguments.
size_t etx_qdq_clamp_position(etx_op_id op);

// Permutes a tensor of rank 4 and any type to channels last or back, if it is
// not in that order already.
ETX_MUST_USE etx_status etx_qdq_tensor_set_layout(etx_builder* builder,
                                                  bool is_last,
                                                  etx_qdq_tensor* bytes);

// Converts `bytes` to the default order and to int8 or uint8, for other nodes.
ETX_MUST_USE etx_status etx_qdq_tensor_as_dtype(etx_builder* builder,
                                                etx_qdq_tensor bytes,
                                                etx_dtype dtype,
                                                uint32_t* out_value);

// Appends a quantize_per_tensor to uint8 or int8.
ETX_MUST_USE etx_status etx_qdq_tensor_quantize(etx_builder* builder,
                                                uint32_t floats,
                                                const etx_qdq_params* numbers,
                                                etx_dtype dtype,
                                                uint32_t* out_value);

// Appends a dequantize_per_tensor in the default order.
ETX_MUST_USE etx_status etx_qdq_tensor_to_floats(etx_builder* builder,
                                                 etx_qdq_tensor bytes,
                                                 const etx_qdq_params* numbers,
                                                 uint32_t* out_value);

// A dtype as an argument.
static inline etx_ir_arg etx_ir_dtype(etx_dtype dtype) {
  etx_ir_arg arg = {ETX_IR_ARG_DTYPE, {0}};
  arg.as.dtype = dtype;
  return arg;
}

#endif
