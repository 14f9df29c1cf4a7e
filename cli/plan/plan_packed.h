// The part of the report about packed weights.

#ifndef ETX_CLI_PLAN_PLAN_PACKED_H
#define ETX_CLI_PLAN_PLAN_PACKED_H

#include <jansson.h>

#include "exporter/export.h"

// Prints the number of packed weights, and of others with the reason; with
// `in_full` also each weight. Prints nothing without --pack.
void etx_plan_packed_print(const etx_export_report* report, bool in_full);

// Each weight as JSON. New reference.
json_t* etx_plan_packed_json(const etx_export_report* report);

#endif
