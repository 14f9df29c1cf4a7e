// Float operators whose result is quantised, computed over uint8 instead: one
// function for each kind of operator.

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_OPERATORS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_OPERATORS_H

#include "exporter/quantize/qdq_tensors.h"

// How a float value is to be quantised.
typedef struct etx_qdq_request etx_qdq_request;

// Computes the quantised form of the float32 value `value`. It is
// etx_qdq_result, which the operator functions call for their operands.
typedef etx_status etx_qdq_result_function(etx_rewrite* rewrite, uint32_t value,
                                           const etx_qdq_request* request,
                                           etx_qdq_tensor* out, bool* out_done);

struct etx_qdq_request {
  etx_qdq_result_function* compute;  // for operands
  etx_qdq_params numbers;
  bool is_only_use;     // the quantize is the only use of the float value
  size_t depth;         // operators between the quantize and this value
  size_t* values_left;  // limit of the search: values that may still be visited
};

enum { ETX_QDQ_MAX_VALUES = 100 };

// Computes the quantised result of `node`, an operator that moves or selects
// elements (qdq_data_movement.c). If that would not help, `*out_done` stays
// false and nodes that were appended are dead.
ETX_MUST_USE etx_status etx_qdq_data_movement(etx_rewrite* rewrite,
                                              const etx_ir_node* node,
                                              const etx_qdq_request* request,
                                              etx_qdq_tensor* out,
                                              bool* out_done);

// The same for an elementwise chain (qdq_elementwise.c). `is_only_use`: the
// float result of `node` has no other use. If `results` is NULL, the result is
// float32.
ETX_MUST_USE etx_status etx_qdq_elementwise(
    etx_rewrite* rewrite, const etx_ir_node* node, bool is_only_use,
    const etx_qdq_params* results, etx_qdq_tensor* out, bool* out_done);

// The same for a mean over the pixels of an image (qdq_mean.c). If `results` is
// NULL, the result is float32.
ETX_MUST_USE etx_status etx_qdq_mean(etx_rewrite* rewrite,
                                     const etx_ir_node* node,
                                     const etx_qdq_params* results,
                                     etx_qdq_tensor* out, bool* out_done);

// Decomposes leaky_relu or prelu over a quantised value or a quantised layer
// into elementwise operators that a chain can compute. Other nodes leave
// `*out_value` alone.
ETX_MUST_USE etx_status etx_qdq_leaky_relu(etx_rewrite* rewrite,
                                           const etx_ir_node* node,
                                           uint32_t* out_value);

// Converts `bytes` from one scale and zero point to another.
ETX_MUST_USE etx_status etx_qdq_requantize(etx_rewrite* rewrite,
                                           const etx_qdq_params* from,
                                           const etx_qdq_params* to,
                                           etx_qdq_tensor* bytes);

#endif
