// The lowering of operators of the application.

#ifndef ETX_EXPORTER_LOWER_OWN_LOWERING_H
#define ETX_EXPORTER_LOWER_OWN_LOWERING_H

#include "exporter/lower/builder/builder.h"

// Serves every operator that etx_own_operators_find finds.
extern const etx_lowering etx_lowering_own;

#endif
