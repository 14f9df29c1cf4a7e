// Which results are bytes of an argument, and where in it they lie.
//
// Pure facts about operators and sizes: nothing here knows whether using them
// is safe (placement_check.h does).

#ifndef ETX_EXPORTER_PLACEMENT_VIEW_RULES_H
#define ETX_EXPORTER_PLACEMENT_VIEW_RULES_H

#include "exporter/ir/ir.h"

typedef struct etx_value_view {
  uint32_t base;      // the argument's value
  uint64_t delta;     // bytes from its start
  bool all_elements;  // every element of the base, in the same order
} etx_value_view;

// Output `output` of a lowered node as a view. False if it is none: the
// operator computes, the bytes are not contiguous in the base, or where they
// start depends on a size that is not known yet. How many there are may.
bool etx_value_view_find(const etx_ir_method* method, const etx_ir_node* node,
                         size_t output, etx_value_view* out_view);

// The same for what a scatter (slice_scatter, select_scatter) replaces: where
// its source would lie in its result.
bool etx_value_view_find_scatter(const etx_ir_method* method,
                                 const etx_ir_node* node,
                                 etx_value_view* out_view);

// Why a lowered node that only hands on elements of its first argument may have
// to copy them: in words that follow "the argument's name: ". NULL if the node
// computes, converts, or does nothing but copy.
const char* etx_value_view_obstacle(const etx_ir_method* method,
                                    const etx_ir_node* node);

// Sizes are equal for all values of the symbols, and so is the type.
bool etx_value_view_same_shape(const etx_ir_method* method, uint32_t a,
                               uint32_t b);

#endif
