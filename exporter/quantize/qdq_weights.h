// Weights of layers over bytes, laid out as their kernels read them
// (op_schema.def, "Quantised images and layers").

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_WEIGHTS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_WEIGHTS_H

#include "exporter/ir/ir.h"

// Rows whose products may be as many: 255 * 128 times it fits in an int32.
enum { ETX_QDQ_MAX_PRODUCTS = 32768 };

// Panels of an int8 weight [O, I, ..] of `groups` groups of output channels.
ETX_MUST_USE etx_status etx_qdq_weight_panels(etx_pool* pool,
                                              const etx_ir_constant* weight,
                                              size_t groups,
                                              etx_ir_constant* out);

// [O, 1, H, W], or without H, as [H, W, O].
ETX_MUST_USE etx_status etx_qdq_weight_taps(etx_pool* pool,
                                            const etx_ir_constant* weight,
                                            etx_ir_constant* out);

// What each output channel's sum of byte * weight is too large by where bytes
// lie `zero` above what they stand for, less than zero.
ETX_MUST_USE etx_status etx_qdq_weight_offsets(etx_pool* pool,
                                               const etx_ir_constant* weight,
                                               int64_t zero,
                                               etx_ir_constant* out);

#endif
