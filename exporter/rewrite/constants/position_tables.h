// The tables of a method: values of varying sizes that depend on positions
// alone (position_rules.h), with their contents at the upper bounds; and values
// of fixed sizes that depend on constants alone and are too large for constant
// folding, such as masks of many rows.

#ifndef ETX_EXPORTER_REWRITE_CONSTANTS_POSITION_TABLES_H
#define ETX_EXPORTER_REWRITE_CONSTANTS_POSITION_TABLES_H

#include "exporter/rewrite/constants/known_values.h"

typedef struct etx_position_tables {
  etx_ir_method upper;     // a copy of the method at the upper bounds of sizes
  etx_known_values known;  // contents of the values of the copy, which have the
                           // indexes of those of the method
  bool* is_selected;  // by value: elements of a constant, selected or repeated
                      // in their order; nothing is computed
  bool* broadcasts;   // by value: all readers repeat dimensions of size 1
} etx_position_tables;

// Computes the tables of `method`, whose table of expressions may grow. The
// tables are in `pool`, their contents in the module's.
ETX_MUST_USE etx_status
etx_position_tables_find(etx_pass_context* context, etx_ir_method* method,
                         etx_pool* pool, etx_position_tables* out_tables);

// The content at the upper bounds of a table that something is computed for;
// NULL for all other values.
const etx_ir_constant* etx_position_tables_at(const etx_position_tables* tables,
                                              uint32_t value);

#endif
