// What the nodes of a method do with the rows of a cache: for passes that store
// caches in a narrower type. A row is `width` elements of a last dimension, the
// keys or the values of one position of one head.

#ifndef ETX_EXPORTER_QUANTIZE_CACHES_CACHE_FLOW_H
#define ETX_EXPORTER_QUANTIZE_CACHES_CACHE_FLOW_H

#include "exporter/ir/ir.h"

typedef enum etx_cache_use {
  ETX_CACHE_UNUSED,  // no argument has rows of a cache
  ETX_CACHE_MOVE,    // the result has rows of the first argument, unchanged
  ETX_CACHE_WRITE,   // the same, with rows of argument 1 or 2 in their place
  ETX_CACHE_JOIN,    // a list of caches and rows becomes one cache
  ETX_CACHE_ATTEND,  // attention reads rows as keys, values or both
  ETX_CACHE_OTHER,   // anything else
} etx_cache_use;

// The values of a method that have rows of caches.
typedef struct etx_cache_flow {
  const etx_ir_module* module;
  const etx_ir_method* method;
  uint32_t* cache;  // by value: the buffer whose rows it has, or ETX_IR_NONE
} etx_cache_flow;

// A use of caches, whose row has `width` elements.
typedef struct etx_cache_step {
  etx_cache_use use;
  uint32_t cache;  // buffer; of attention that of the keys, or of the values
  size_t rows;     // ETX_CACHE_WRITE: the argument with the new rows
} etx_cache_step;

// The buffer whose rows an argument has, or ETX_IR_NONE.
uint32_t etx_cache_flow_at(const etx_cache_flow* flow, const etx_ir_arg* arg);

// Elements of a row of a cache.
int64_t etx_cache_width(const etx_ir_module* module, uint32_t cache);

// What a node does with the rows of caches.
etx_cache_step etx_cache_step_of(const etx_cache_flow* flow,
                                 const etx_ir_node* node);

// Fills `cache` of a flow, which has room for all values: the values of the
// buffers for which `is_cache` is true, and what their rows are moved to.
void etx_cache_flow_find(etx_cache_flow* flow, const bool* is_cache);

#endif
