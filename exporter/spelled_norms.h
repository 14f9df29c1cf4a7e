// Norms as models spell them out over one dimension: a value that is divided by
// the root of its mean square, or of its variance once it is centred, however
// the root, the mean and the order of factors are written.

#ifndef ETX_EXPORTER_SPELLED_NORMS_H
#define ETX_EXPORTER_SPELLED_NORMS_H

#include "exporter/ir_rewrite.h"

typedef struct etx_spelled_norm {
  uint32_t value;     // what is normalised: divided, or centred and divided
  size_t axis;        // the dimension along which it is
  bool has_variance;  // spelled by a variance, not by a mean square
  bool is_centred;    // a layer norm
  uint32_t weight;    // that was multiplied before, or ETX_IR_NONE
  double eps;
} etx_spelled_norm;

// Reads a norm from its last step, a quotient or a product. False if the node
// is none, and `out` is undefined.
bool etx_spelled_norm_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                           etx_spelled_norm* out);

// True if `arg` is one number for each index of dimension `axis` of `result`,
// and repeated along the others.
bool etx_spelled_norm_is_line(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                              const etx_shape* result, size_t axis);

#endif
