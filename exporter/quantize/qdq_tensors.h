// Tensors of bytes that stand for floats, x = (byte - zero) * scale, as the
// pass fuse_qdq puts operators over them together (op_schema.def).
//
// All bytes are uint8: an int8 number q with a zero point z is byte q + 128
// with z + 128. Where something else reads a result that was int8, it becomes
// that again, by way of exact floats. Images lie channels last while operators
// over bytes follow each other, and between others in the default order, so
// that a value tells by its definition as what else it is there already:
//
//   permute_copy(b, [0, 3, 1, 2])                       b, channels last
//   quantize(dequantize(b, 1.0, 128), 1.0, 0, .., int8)  b, of int8

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_TENSORS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_TENSORS_H

#include "exporter/rewrite/ir_rewrite.h"

enum { ETX_QDQ_UINT8_OFFSET = 128 };  // from int8 to uint8

// What bytes stand for, and which there are.
typedef struct etx_qdq_params {
  double scale;
  int64_t zero, least, most;  // 0 to 255
} etx_qdq_params;

// A tensor of uint8.
typedef struct etx_qdq_tensor {
  uint32_t value;
  bool is_last;  // channels last: [N, H, W, C] of [N, C, H, W]
} etx_qdq_tensor;

// Reads a quantize_per_tensor or dequantize_per_tensor between float32 and
// bytes of int8 or uint8. False if it is neither.
bool etx_qdq_params_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                         etx_qdq_params* out);

// The byte that stands for `x`.
int64_t etx_qdq_quantize_number(const etx_qdq_params* numbers, double x);

// The dequantize_per_tensor of bytes that defines a value of floats, and what
// the bytes stand for; NULL if there is none.
const etx_ir_node* etx_qdq_tensor_dequantized(const etx_rewrite* rewrite,
                                              uint32_t value,
                                              etx_qdq_params* out_numbers);

// The uint8 tensor that an int8 or uint8 tensor is, without a node for it.
// False if there is none.
bool etx_qdq_tensor_find(const etx_rewrite* rewrite, uint32_t value,
                         etx_qdq_tensor* out);

// The quantize_per_tensor to uint8 of whose result the node makes the same
// numbers as int8, and what they stand for; NULL if it does something else.
const etx_ir_node* etx_qdq_tensor_quantized(const etx_rewrite* rewrite,
                                            const etx_ir_node* node,
                                            etx_qdq_params* out_numbers);

// As etx_qdq_tensor_find; where there is none it is computed.
ETX_MUST_USE etx_status etx_qdq_tensor_as_uint8(etx_rewrite* rewrite,
                                                uint32_t value,
                                                etx_qdq_tensor* out);

// True if all bytes of a uint8 tensor are known to be from `least` to `most`.
bool etx_qdq_tensor_is_within(const etx_rewrite* rewrite, uint32_t value,
                              int64_t least, int64_t most);

// True if uint8 is there for `value`, or can be quantised beside it.
bool etx_qdq_tensor_is_available(const etx_rewrite* rewrite, uint32_t value);

// Position of an operator's least byte among its arguments, which the largest
// one follows; 0 if it has none.
size_t etx_qdq_clamp_position(etx_op_id op);

// Puts a tensor of four dimensions, of any type, channels last or back.
ETX_MUST_USE etx_status etx_qdq_tensor_set_layout(etx_builder* lower,
                                                  bool is_last,
                                                  etx_qdq_tensor* bytes);

// The tensor of int8 or uint8 in the default order that stands for `bytes`
// where others read it.
ETX_MUST_USE etx_status etx_qdq_tensor_as_dtype(etx_builder* lower,
                                                etx_qdq_tensor bytes,
                                                etx_dtype dtype,
                                                uint32_t* out_value);

// Appends a quantize_per_tensor to uint8 or int8.
ETX_MUST_USE etx_status etx_qdq_tensor_quantize(etx_builder* lower,
                                                uint32_t floats,
                                                const etx_qdq_params* numbers,
                                                etx_dtype dtype,
                                                uint32_t* out_value);

// Appends a dequantize_per_tensor in the default order.
ETX_MUST_USE etx_status etx_qdq_tensor_to_floats(etx_builder* lower,
                                                 etx_qdq_tensor bytes,
                                                 const etx_qdq_params* numbers,
                                                 uint32_t* out_value);

// An argument that is a type.
static inline etx_ir_arg etx_ir_dtype(etx_dtype dtype) {
  etx_ir_arg arg = {ETX_IR_ARG_DTYPE, {0}};
  arg.as.dtype = dtype;
  return arg;
}

#endif
