// Which operators a program uses, how often, and which runtimes have them.

#ifndef ETX_CLI_PROGRAM_OPERATOR_USE_H
#define ETX_CLI_PROGRAM_OPERATOR_USE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "format/pte/etx_blob.h"

// Kernel libraries of ExecuTorch's runtime.
typedef enum etx_executorch_library {
  ETX_EXECUTORCH_PORTABLE,
  ETX_EXECUTORCH_OPTIMIZED,  // used together with the portable one
  ETX_EXECUTORCH_QUANTIZED,
  ETX_EXECUTORCH_LLM,
  ETX_EXECUTORCH_NONE,  // an operator of etx or of an application
  ETX_EXECUTORCH_LIBRARY_COUNT
} etx_executorch_library;

typedef struct etx_operator_use {
  etx_pte_operator op;
  size_t count;   // instructions of all methods that call it
  bool is_known;  // this build has the operator
  bool is_own;    // the program describes it: an operator of an application
  etx_executorch_library library;
} etx_operator_use;

typedef struct etx_operator_uses {
  etx_operator_use* items;  // sorted by name
  size_t count;
  size_t delegate_count;  // over all methods
  size_t unknown_count;   // of items: not in this build, nor described
  size_t own_count;       // of items: operators of an application
  bool needs_etx;  // an operator of etx, or a view that only the blob describes
  bool needs[ETX_EXECUTORCH_LIBRARY_COUNT];  // by library: some item needs it
} etx_operator_uses;

// Collects the operators of all methods. `blob` may be NULL.
ETX_MUST_USE etx_status etx_operator_uses_collect(const etx_pte* pte,
                                                  const etx_blob* blob,
                                                  etx_pool* pool,
                                                  etx_operator_uses* out_uses,
                                                  etx_diag* diag);

#endif
