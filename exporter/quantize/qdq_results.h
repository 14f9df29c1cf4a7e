// Moves a quantize_per_tensor upwards through the operators that compute its
// operand.
//
// Quantisation is monotone, so it commutes with operators that move elements or
// select the largest: they are then computed over uint8. The search ends at a
// dequantize, a quantised layer, an elementwise chain over quantised tensors or
// a mean; without one of these nothing is gained.

#ifndef ETX_EXPORTER_QUANTIZE_QDQ_RESULTS_H
#define ETX_EXPORTER_QUANTIZE_QDQ_RESULTS_H

#include "exporter/quantize/qdq_operators.h"

// Computes the quantised form of the float32 value `value`. If that would not
// help, `*out_done` stays false and nodes that were appended are dead.
ETX_MUST_USE etx_status etx_qdq_result(etx_rewrite* rewrite, uint32_t value,
                                       const etx_qdq_request* request,
                                       etx_qdq_tensor* out, bool* out_done);

#endif
