// Which operators a program uses, how often, and which runtimes have them.

#ifndef ETX_CLI_PROGRAM_OPERATOR_USE_H
#define ETX_CLI_PROGRAM_OPERATOR_USE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "format/pte/etx_blob.h"

// Libraries of the stock runtime.
typedef enum etx_executorch_library {
  ETX_EXECUTORCH_PORTABLE,
  ETX_EXECUTORCH_OPTIMIZED,  // beside the portable one
  ETX_EXECUTORCH_QUANTIZED,
  ETX_EXECUTORCH_LLM,
  ETX_EXECUTORCH_NONE,  // an operator of etx or of another library
  ETX_EXECUTORCH_LIBRARY_COUNT
} etx_executorch_library;

typedef struct etx_operator_use {
  etx_pte_operator op;
  size_t count;   // instructions of all methods that name it
  bool is_known;  // this build has the operator
  etx_executorch_library library;
} etx_operator_use;

typedef struct etx_operator_uses {
  etx_operator_use* items;  // sorted by name
  size_t count;
  size_t delegate_count;  // over all methods
  size_t unknown_count;   // of items: not in this build
  bool needs_etx;  // an operator, or a view that only etx's blob tells of
  bool needs[ETX_EXECUTORCH_LIBRARY_COUNT];  // some item is of that library
} etx_operator_uses;

// Collects over all methods. `blob` may be NULL.
ETX_MUST_USE etx_status etx_operator_uses_collect(const etx_pte* pte,
                                                  const etx_blob* blob,
                                                  etx_pool* pool,
                                                  etx_operator_uses* out_uses,
                                                  etx_diag* diag);

#endif
