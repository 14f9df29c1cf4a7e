// Which operators a program uses, how often, and which runtimes have them.

#ifndef ETX_CLI_OPERATOR_USE_H
#define ETX_CLI_OPERATOR_USE_H

#include "exporter/host_memory.h"
#include "format/base/diag.h"
#include "format/pte/etx_blob.h"

typedef struct etx_operator_use {
  etx_pte_operator op;
  size_t count;   // instructions of all methods that name it
  bool is_known;  // this build has the operator
  bool is_stock;  // the stock portable library has it
} etx_operator_use;

typedef struct etx_operator_uses {
  etx_operator_use* items;  // sorted by name
  size_t count;
  size_t delegate_count;  // over all methods
  bool needs_etx;  // an operator, or a view that only etx's blob tells of
} etx_operator_uses;

// Collects over all methods. `blob` may be NULL.
ETX_MUST_USE etx_status etx_operator_uses_collect(const etx_pte* pte,
                                                  const etx_blob* blob,
                                                  etx_pool* pool,
                                                  etx_operator_uses* out_uses,
                                                  etx_diag* diag);

#endif
