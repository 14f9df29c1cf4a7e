// Whether a convolution can read its weight in panels of 16 output channels,
// and which operator it becomes.

#ifndef ETX_EXPORTER_FUSE_PACKED_CONVOLUTION_H
#define ETX_EXPORTER_FUSE_PACKED_CONVOLUTION_H

#include "exporter/ir/ir.h"

typedef struct etx_packed_convolution {
  const char* obstacle;  // why it cannot read panels; NULL if it can
  etx_op_id op;          // the operator that reads panels
  // Groups of a transposed convolution, whose weight is [I, O / groups,
  // kernel..]; 0 for an ordinary one with [O, I / groups, kernel..].
  int64_t transposed_groups;
} etx_packed_convolution;

// True for convolutions, with an epilogue or without.
bool etx_is_convolution(const etx_ir_node* node);

// The form of `node`, a convolution of `method`.
etx_packed_convolution etx_packed_convolution_of(const etx_ir_method* method,
                                                 const etx_ir_node* node);

enum { ETX_PACKED_CONVOLUTION_ARGS = 11 };

// Changes the node to the operator that reads `panels`, a value of the method.
// `args` has room for ETX_PACKED_CONVOLUTION_ARGS and becomes the node's.
void etx_packed_convolution_change(const etx_packed_convolution* form,
                                   etx_ir_node* node, uint32_t panels,
                                   etx_ir_arg* args);

// Writes the panels [O / 16, I / groups, kernel.., 16] of weight `from` to
// `to`, and sets rank and sizes of `panels`. O / groups must be a multiple of
// 16.
void etx_packed_convolution_write(const etx_packed_convolution* form,
                                  const etx_ir_constant* from,
                                  etx_ir_constant* panels, uint8_t* to);

#endif
