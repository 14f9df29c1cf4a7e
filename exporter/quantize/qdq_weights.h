// Weights of quantised layers in the order in which their kernels read them
// (op_schema.def, "Quantised images and layers"). New constants are in the
// pool.

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_WEIGHTS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_WEIGHTS_H

#include "exporter/ir/ir.h"

// Products per output channel at most: 255 * 128 * 32768 fits into int32.
enum { ETX_QDQ_MAX_PRODUCTS = 32768 };

// Packs an int8 weight [O, I, ..] with `groups` groups of output channels into
// panels of 16 output channels, four inputs of a channel side by side.
ETX_MUST_USE etx_status etx_qdq_weight_panels(etx_pool* pool,
                                              const etx_ir_constant* weight,
                                              size_t groups,
                                              etx_ir_constant* out);

// Transposes a depthwise weight [O, 1, H, W] or [O, 1, W] to [H, W, O].
ETX_MUST_USE etx_status etx_qdq_weight_taps(etx_pool* pool,
                                            const etx_ir_constant* weight,
                                            etx_ir_constant* out);

// For each output channel -zero * sum(weight): added to the sum of byte *
// weight, it gives the sum of (byte - zero) * weight.
ETX_MUST_USE etx_status etx_qdq_weight_offsets(etx_pool* pool,
                                               const etx_ir_constant* weight,
                                               int64_t zero,
                                               etx_ir_constant* out);

#endif
