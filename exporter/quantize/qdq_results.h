// What computes floats that are quantised next, as operators over bytes: from
// the quantize_per_tensor backwards.
//
// Quantising goes through whatever moves elements or chooses between them: of
// numbers it never makes a larger one a smaller byte. What it ends at is a
// tensor of bytes, a layer over bytes, or elementwise steps; else nothing is
// gained.

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_RESULTS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_RESULTS_H

#include "exporter/quantize/qdq_operators.h"

// Computes bytes that stand for the float32 tensor `value`. `*out_done` is
// false where that gains nothing; nodes that were appended then are dead.
ETX_MUST_USE etx_status etx_qdq_result(etx_rewrite* rewrite, uint32_t value,
                                       const etx_qdq_request* wish,
                                       etx_qdq_tensor* out, bool* out_done);

#endif
