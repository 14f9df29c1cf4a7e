// What the linear layers of a module read in recorded calls, by which their
// weights are rounded. The exporter runs no method: its caller, such as the
// command line, measures.

#ifndef ETX_EXPORTER_PASSES_LAYER_INPUTS_H
#define ETX_EXPORTER_PASSES_LAYER_INPUTS_H

#include "exporter/quantize/rounding/input_products.h"
#include "format/base/diag.h"

typedef struct etx_layer_inputs {
  // Sets `out` to the products of the inputs of the layers whose weight has
  // these bytes, [rows, inner]; NULL: no call ran one. They are valid, and may
  // be changed by the exporter, until the next call.
  etx_status (*find)(void* context, etx_bytes weight, size_t inner,
                     etx_input_products** out, etx_diag* diag);
  void* context;
} etx_layer_inputs;

#endif
