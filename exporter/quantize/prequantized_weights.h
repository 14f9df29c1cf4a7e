// What a graph tells of weights and rows that were quantised before it was
// exported, for the pass that gives them to operators as they are.

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

// What views and casts make another form of.
uint32_t etx_prequantized_origin(const etx_rewrite* rewrite, uint32_t value);

// A constant all of whose bytes are 0.
bool etx_prequantized_is_zero(const etx_ir_constant* constant);

// True if the zero points of a dequantize_per_channel are all 0, or none.
bool etx_prequantized_has_no_zeros(const etx_rewrite* rewrite,
                                   const etx_ir_node* weight);

// What was quantised row by row, by ranges of its own, and became floats again
// in argument 0 of the node; NULL if it was not. Borrowed from a node.
const etx_ir_arg* etx_prequantized_rows(const etx_rewrite* rewrite,
                                        const etx_ir_node* node);

// Rules for layers and tables whose weights have a scale for each of equal
// parts of a row: prequantized_groups.c.
ETX_MUST_USE etx_status etx_prequantized_group_linear(etx_rewrite* rewrite,
                                                      bool* out_done);
ETX_MUST_USE etx_status etx_prequantized_group_embedding(etx_rewrite* rewrite,
                                                         bool* out_done);

#endif
