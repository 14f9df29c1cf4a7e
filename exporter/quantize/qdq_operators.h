// Operators over float tensors that are quantised next, computed over bytes:
// one function for each kind of operator.

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_OPERATORS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_OPERATORS_H

#include "exporter/quantize/qdq_tensors.h"

// How a value of floats is wanted.
typedef struct etx_qdq_request etx_qdq_request;

// Computes bytes that stand for the float32 tensor `value`: etx_qdq_result,
// which operators call again for their operands.
typedef etx_status etx_qdq_result_function(etx_rewrite* rewrite, uint32_t value,
                                           const etx_qdq_request* wish,
                                           etx_qdq_tensor* out, bool* out_done);

struct etx_qdq_request {
  etx_qdq_result_function* compute;  // for operands
  etx_qdq_params numbers;
  bool is_alone;  // nothing else reads what is computed of it
  size_t depth;   // of operators that it was passed on through
  size_t* left;   // values that may yet be looked at for one result
};

enum { ETX_QDQ_MAX_VALUES = 100 };

// Computes bytes that stand for the result of `node`, which moves elements or
// chooses among them (qdq_data_movement.c). `*out_done` is false where that
// gains nothing; nodes that were appended then are dead.
ETX_MUST_USE etx_status etx_qdq_data_movement(etx_rewrite* rewrite,
                                              const etx_ir_node* node,
                                              const etx_qdq_request* wish,
                                              etx_qdq_tensor* out,
                                              bool* out_done);

// The same where `node` is elementwise steps (qdq_elementwise.c), whose floats
// nobody else reads if it `is_alone`; floats where `results` is NULL.
ETX_MUST_USE etx_status etx_qdq_elementwise(
    etx_rewrite* rewrite, const etx_ir_node* node, bool is_alone,
    const etx_qdq_params* results, etx_qdq_tensor* out, bool* out_done);

// The same where `node` is a mean over an image's pixels (qdq_mean.c); floats
// where `results` is NULL.
ETX_MUST_USE etx_status etx_qdq_mean(etx_rewrite* rewrite,
                                     const etx_ir_node* node,
                                     const etx_qdq_params* results,
                                     etx_qdq_tensor* out, bool* out_done);

// What lets through a part of numbers below zero, spelled in steps where it is
// of bytes or of what a layer over bytes gives; else `*out_value` is left
// alone.
ETX_MUST_USE etx_status etx_qdq_leaky_relu(etx_rewrite* rewrite,
                                           const etx_ir_node* node,
                                           uint32_t* out_value);

// Bytes that stand for what `bytes` stand for by `from`, with other numbers.
ETX_MUST_USE etx_status etx_qdq_requantize(etx_rewrite* rewrite,
                                           const etx_qdq_params* from,
                                           const etx_qdq_params* to,
                                           etx_qdq_tensor* bytes);

#endif
