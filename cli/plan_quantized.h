// What `etx plan` tells about weights that were quantised.

#ifndef ETX_CLI_PLAN_QUANTIZED_H
#define ETX_CLI_PLAN_QUANTIZED_H

#include <jansson.h>

#include "exporter/export.h"

// How many weights became what, and how exactly, and which stayed for which
// reason; `in_full` each of them. Nothing if no rule asked for it.
void etx_plan_quantized_print(const etx_export_report* report, bool in_full);

// The same facts, each weight. New reference.
json_t* etx_plan_quantized_json(const etx_export_report* report);

#endif
