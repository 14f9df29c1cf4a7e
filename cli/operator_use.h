// Which operators a program uses, how often, and which runtimes have them.

#ifndef ETX_CLI_OPERATOR_USE_H
#define ETX_CLI_OPERATOR_USE_H

#include "exporter/host_memory.h"
#include "format/base/diag.h"
#include "format/pte/etx_blob.h"

// Libraries of the stock runtime.
typedef enum etx_stock_library {
  ETX_STOCK_PORTABLE,
  ETX_STOCK_OPTIMIZED,  // beside the portable one
  ETX_STOCK_QUANTIZED,
  ETX_STOCK_LLM,
  ETX_STOCK_NONE,  // of etx or of somebody else
  ETX_STOCK_LIBRARY_COUNT
} etx_stock_library;

typedef struct etx_operator_use {
  etx_pte_operator op;
  size_t count;   // instructions of all methods that name it
  bool is_known;  // this build has the operator
  etx_stock_library library;
} etx_operator_use;

typedef struct etx_operator_uses {
  etx_operator_use* items;  // sorted by name
  size_t count;
  size_t delegate_count;  // over all methods
  size_t unknown_count;   // of items: not in this build
  bool needs_etx;  // an operator, or a view that only etx's blob tells of
  bool needs[ETX_STOCK_LIBRARY_COUNT];  // some item is of that library
} etx_operator_uses;

// Collects over all methods. `blob` may be NULL.
ETX_MUST_USE etx_status etx_operator_uses_collect(const etx_pte* pte,
                                                  const etx_blob* blob,
                                                  etx_pool* pool,
                                                  etx_operator_uses* out_uses,
                                                  etx_diag* diag);

#endif
