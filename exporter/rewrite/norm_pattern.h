// Norms as models spell them out over one dimension: a value that is divided by
// the root of its mean square, or of its variance once it is centred, however
// the root, the mean and the order of factors are written.

#ifndef ETX_EXPORTER_REWRITE_NORM_PATTERN_H
#define ETX_EXPORTER_REWRITE_NORM_PATTERN_H

#include "exporter/rewrite/ir_rewrite.h"

typedef struct etx_norm_pattern {
  uint32_t value;     // what is normalised: divided, or centred and divided
  size_t axis;        // the dimension along which it is
  bool has_variance;  // spelled by a variance, not by a mean square
  bool is_centred;    // a layer norm
  uint32_t weight;    // that was multiplied before, or ETX_IR_NONE
  double eps;
} etx_norm_pattern;

// Reads a norm from its last step, a quotient or a product. False if the node
// is none, and `out` is undefined.
bool etx_norm_pattern_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                           etx_norm_pattern* out);

// True if `arg` is one number for each index of dimension `axis` of `result`,
// and repeated along the others.
bool etx_norm_pattern_is_one_dim(const etx_rewrite* rewrite,
                                 const etx_ir_arg* arg, const etx_shape* result,
                                 size_t axis);

#endif
