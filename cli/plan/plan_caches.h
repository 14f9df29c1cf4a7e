// The part of the report of `etx plan --kv` about states: which are stored in
// the type of the option, and why others are not.

#ifndef ETX_CLI_PLAN_PLAN_CACHES_H
#define ETX_CLI_PLAN_PLAN_CACHES_H

#include <jansson.h>

#include "exporter/report/export_report.h"

// Prints the states; nothing without the option.
void etx_plan_caches_print(const etx_export_report* report);

// The same as a list for JSON.
json_t* etx_plan_caches_json(const etx_export_report* report);

#endif
