// How each ATen operator is lowered.

#ifndef ETX_EXPORTER_LOWER_LOWERING_TABLE_H
#define ETX_EXPORTER_LOWER_LOWERING_TABLE_H

#include "exporter/lower/builder/builder.h"

// The lowering of an ATen operator ("aten.add.Tensor"); NULL if it is unknown
// or refused.
const etx_lowering* etx_lowering_find(etx_text aten);

// Fills `lower->args` from the arguments of `lower->node`, which are as many as
// the schema has. Integers become doubles where the schema says float.
ETX_MUST_USE etx_status etx_lowering_bind(etx_builder* builder);

#endif
