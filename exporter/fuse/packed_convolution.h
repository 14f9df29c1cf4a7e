// How a convolution reads its weights in panels of sixteen result channels: as
// which operator, and if it does.

#ifndef ETX_EXPORTER_FUSE_PACKED_CONVOLUTION_H
#define ETX_EXPORTER_FUSE_PACKED_CONVOLUTION_H

#include "exporter/ir/ir.h"

typedef struct etx_packed_convolution {
  const char* obstacle;  // why it reads no panels; NULL: it does
  etx_op_id op;          // with panels
  // Of a weight [I, O / groups, kernel..]; of [O, I / groups, kernel..] 0.
  int64_t transposed_groups;
} etx_packed_convolution;

// True of what etx_packed_convolution_of takes.
bool etx_is_convolution(const etx_ir_node* node);

etx_packed_convolution etx_packed_convolution_of(const etx_ir_method* method,
                                                 const etx_ir_node* node);

enum { ETX_PACKED_CONVOLUTION_ARGS = 11 };

// Makes the node one over `panels`, a value. `args` is where its arguments will
// stay.
void etx_packed_convolution_change(const etx_packed_convolution* form,
                                   etx_ir_node* node, uint32_t panels,
                                   etx_ir_arg* args);

// Writes panels [O / 16, I / groups, kernel.., 16] of a constant whose rows are
// whole sixteens, and their sizes.
void etx_packed_convolution_write(const etx_packed_convolution* form,
                                  const etx_ir_constant* from,
                                  etx_ir_constant* panels, uint8_t* to);

#endif
