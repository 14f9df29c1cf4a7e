// Operators of an application, by the descriptions in its programs and of
// `etx select --ops` (format/own_ops).

#ifndef ETX_CLI_SELECT_DESCRIBED_OPERATORS_H
#define ETX_CLI_SELECT_DESCRIBED_OPERATORS_H

#include "exporter/host/host_memory.h"
#include "format/own_ops/own_operator_list.h"
#include "format/pte/pte_program.h"

typedef struct etx_described_operators {
  const etx_own_entry** entries;
  size_t count;
  size_t capacity;
} etx_described_operators;

// Adds the operators of a text, which outlives the set. ETX_BAD_FILE: it cannot
// be read, or it describes an operator of the set in another way.
ETX_MUST_USE etx_status etx_described_add(etx_described_operators* set,
                                          etx_pool* pool, etx_text text,
                                          etx_diag* diag);

// Adds those that a program describes, whose file outlives the set.
ETX_MUST_USE etx_status etx_described_add_program(etx_described_operators* set,
                                                  etx_pool* pool,
                                                  const etx_pte* pte,
                                                  etx_diag* diag);

// The row of the operator that files call by `name`, with the overload behind a
// dot; NULL if the set has none.
const etx_own_operator* etx_described_find(const etx_described_operators* set,
                                           etx_text name);

#endif
