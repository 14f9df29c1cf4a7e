// The part of the report about quantised weights.

#ifndef ETX_CLI_PLAN_PLAN_QUANTIZED_H
#define ETX_CLI_PLAN_PLAN_QUANTIZED_H

#include <jansson.h>

#include "exporter/export.h"

// Prints the number of weights of each kind with their SQNR, the weights that
// were not quantised with the reason, and the rules that quantised nothing;
// with `in_full` also each weight. Prints nothing if there is no rule.
void etx_plan_quantized_print(const etx_export_report* report, bool in_full);

// Each weight, and each rule, as JSON. New references.
json_t* etx_plan_quantized_json(const etx_export_report* report);
json_t* etx_plan_rules_json(const etx_export_report* report);

#endif
