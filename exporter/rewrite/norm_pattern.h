// Matches normalisations over one dimension that are spelled out: a value
// divided by the root of its mean square (RMS norm), or a centred value divided
// by the root of its variance (layer norm). The root, the mean and the order of
// factors may be written in any way.

#ifndef ETX_EXPORTER_REWRITE_NORM_PATTERN_H
#define ETX_EXPORTER_REWRITE_NORM_PATTERN_H

#include "exporter/rewrite/ir_rewrite.h"

typedef struct etx_norm_pattern {
  uint32_t value;     // the tensor that is normalised
  size_t axis;        // the dimension that is normalised
  bool has_variance;  // written with var(), not with a mean of squares
  bool is_centred;    // a layer norm; otherwise an RMS norm
  uint32_t weight;    // multiplied before the division, or ETX_IR_NONE
  double eps;
} etx_norm_pattern;

// Reads a norm from its last node, a division or a multiplication. If it
// returns false, `out` is undefined.
bool etx_norm_pattern_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                           etx_norm_pattern* out);

// True if `arg` broadcasts to `result` with one element for each index of
// dimension `axis`, as a weight or bias does.
bool etx_norm_pattern_is_one_dim(const etx_rewrite* rewrite,
                                 const etx_ir_arg* arg, const etx_shape* result,
                                 size_t axis);

#endif
