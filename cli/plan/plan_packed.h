// What `etx plan` tells about weights that were packed.

#ifndef ETX_CLI_PLAN_PLAN_PACKED_H
#define ETX_CLI_PLAN_PLAN_PACKED_H

#include <jansson.h>

#include "exporter/export.h"

// How many weights were packed, and which stayed for which reason; `in_full`
// each of them. Nothing if it was not asked for.
void etx_plan_packed_print(const etx_export_report* report, bool in_full);

// The same facts, each weight. New reference.
json_t* etx_plan_packed_json(const etx_export_report* report);

#endif
