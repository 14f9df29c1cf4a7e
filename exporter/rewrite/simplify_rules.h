// The rules of the pass simplify. Each is an etx_rewrite_rule (ir_rewrite.h)
// that replaces a node by an existing value or by a cheaper node with equal
// results.

#ifndef ETX_EXPORTER_REWRITE_SIMPLIFY_RULES_H
#define ETX_EXPORTER_REWRITE_SIMPLIFY_RULES_H

#include "exporter/rewrite/ir_rewrite.h"

// simplify_views.c
ETX_MUST_USE etx_status etx_simplify_view(etx_rewrite* rewrite, bool* out_done);
ETX_MUST_USE etx_status etx_simplify_permute(etx_rewrite* rewrite,
                                             bool* out_done);
ETX_MUST_USE etx_status etx_simplify_expand(etx_rewrite* rewrite,
                                            bool* out_done);

// simplify_slices.c
ETX_MUST_USE etx_status etx_simplify_slice(etx_rewrite* rewrite,
                                           bool* out_done);
ETX_MUST_USE etx_status etx_simplify_select(etx_rewrite* rewrite,
                                            bool* out_done);
ETX_MUST_USE etx_status etx_simplify_scatter(etx_rewrite* rewrite,
                                             bool* out_done);

// simplify_arithmetic.c
ETX_MUST_USE etx_status etx_simplify_cast(etx_rewrite* rewrite, bool* out_done);
ETX_MUST_USE etx_status etx_simplify_neutral(etx_rewrite* rewrite,
                                             bool* out_done);
ETX_MUST_USE etx_status etx_simplify_clamp(etx_rewrite* rewrite,
                                           bool* out_done);
ETX_MUST_USE etx_status etx_simplify_bias(etx_rewrite* rewrite, bool* out_done);
ETX_MUST_USE etx_status etx_simplify_where(etx_rewrite* rewrite,
                                           bool* out_done);
ETX_MUST_USE etx_status etx_simplify_broadcast(etx_rewrite* rewrite,
                                               bool* out_done);

// True if the operator repeats dimensions of size 1 of its operands itself, so
// that etx_simplify_broadcast removes an expand in front of it.
bool etx_simplify_op_broadcasts(const etx_op* op);

#endif
