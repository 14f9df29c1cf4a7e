// What `etx plan` tells about weights that were quantised.

#ifndef ETX_CLI_PLAN_PLAN_QUANTIZED_H
#define ETX_CLI_PLAN_PLAN_QUANTIZED_H

#include <jansson.h>

#include "exporter/export.h"

// How many weights became what, and how exactly, which stayed for which reason,
// and rules that nothing was rounded for; `in_full` each weight. Nothing if
// there is no rule.
void etx_plan_quantized_print(const etx_export_report* report, bool in_full);

// The same facts, each weight, and each rule. New references.
json_t* etx_plan_quantized_json(const etx_export_report* report);
json_t* etx_plan_rules_json(const etx_export_report* report);

#endif
