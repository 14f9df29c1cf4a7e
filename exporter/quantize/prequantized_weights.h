// Matchers for weights and activations that were quantised before the export,
// for the pass fuse_dequantize.

#ifndef ETX_EXPORTER_QUANTIZE_PREQUANTIZED_WEIGHTS_H
#define ETX_EXPORTER_QUANTIZE_PREQUANTIZED_WEIGHTS_H

#include "exporter/rewrite/ir_rewrite.h"

// Arguments of dequantize_per_channel, of quantize_per_token (whose dtype is
// number 5) and of dequantize_per_token.
enum {
  ETX_PREQUANTIZED_INPUT = 0,
  ETX_PREQUANTIZED_SCALES = 1,
  ETX_PREQUANTIZED_ZEROS = 2,
  ETX_PREQUANTIZED_AXIS = 3,
  ETX_PREQUANTIZED_LOW = 4,
  ETX_PREQUANTIZED_HIGH = 5
};

// The operand of nested views and casts.
uint32_t etx_prequantized_origin(const etx_rewrite* rewrite, uint32_t value);

// True if all bytes of a constant are 0.
bool etx_prequantized_is_zero(const etx_ir_constant* constant);

// True if the zero points of a dequantize_per_channel are all 0 or absent.
bool etx_prequantized_has_no_zero_points(const etx_rewrite* rewrite,
                                         const etx_ir_node* weight);

// The tensor x if argument 0 of the node is
// dequantize_per_token(quantize_per_token(x)) with int8 and parameters from
// choose_qparams_per_token_asymmetric(x), i.e. dynamic quantisation per row;
// NULL if it is not. The pointer is valid until a node is appended.
const etx_ir_arg* etx_prequantized_rows(const etx_rewrite* rewrite,
                                        const etx_ir_node* node);

// Rules for linear layers and embeddings whose weights have one scale per group
// of a row (prequantized_groups.c).
ETX_MUST_USE etx_status etx_prequantized_group_linear(etx_rewrite* rewrite,
                                                      bool* out_done);
ETX_MUST_USE etx_status etx_prequantized_group_embedding(etx_rewrite* rewrite,
                                                         bool* out_done);

#endif
