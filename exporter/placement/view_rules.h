// Which results can be views of an argument, and at which offset.
//
// This depends on operators and sizes only. Whether a view is safe, because
// nothing overwrites its bytes too early, is decided by placement_check.h.

#ifndef ETX_EXPORTER_PLACEMENT_VIEW_RULES_H
#define ETX_EXPORTER_PLACEMENT_VIEW_RULES_H

#include "exporter/ir/ir.h"

typedef struct etx_value_view {
  uint32_t base;      // the argument's value
  uint64_t delta;     // offset in it, in bytes
  bool all_elements;  // the view has all elements of the base, in their order
  // The offset depends on symbols, and `delta` is 0: the view starts at `index`
  // of `dimension`, and all dimensions in front of it have size 1.
  bool has_dynamic_offset;
  size_t dimension;
  etx_dim index;
} etx_value_view;

// Output `output` of a lowered node as a view. False if it cannot be one: the
// operator computes, the bytes are not contiguous in the base, or the offset
// depends on data. The number of bytes, and the offset, may depend on sizes.
bool etx_value_view_find(const etx_ir_method* method, const etx_ir_node* node,
                         size_t output, etx_value_view* out_view);

// The part of its result that a slice_scatter or select_scatter replaces, as a
// view of self: where its source could be computed in place.
bool etx_value_view_find_scatter(const etx_ir_method* method,
                                 const etx_ir_node* node,
                                 etx_value_view* out_view);

// Why a lowered node that only moves elements of its first argument cannot be a
// view, for reports: "the slice is not contiguous". NULL for other nodes.
const char* etx_value_view_obstacle(const etx_ir_method* method,
                                    const etx_ir_node* node);

// True if the dtypes are equal, and the sizes for all values of the symbols.
bool etx_value_view_same_shape(const etx_ir_method* method, uint32_t a,
                               uint32_t b);

#endif
