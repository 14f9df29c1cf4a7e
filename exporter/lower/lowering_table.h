// The table of operators that can be imported.

#ifndef ETX_EXPORTER_LOWER_LOWERING_TABLE_H
#define ETX_EXPORTER_LOWER_LOWERING_TABLE_H

#include "exporter/lower/builder/builder.h"

// Finds the row of an ATen operator; NULL if it cannot be imported.
const etx_lowering* etx_lowering_find(etx_text aten);
size_t etx_lowering_count(void);
const etx_lowering* etx_lowering_at(size_t index);

// Fills `args` from the node, whose arguments readers have completed; integers
// become doubles where the schema says float.
ETX_MUST_USE etx_status etx_lowering_bind(etx_builder* lower);

#endif
