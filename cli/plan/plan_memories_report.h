// The part of the report of `etx plan` about the memories of a board.

#ifndef ETX_CLI_PLAN_PLAN_MEMORIES_REPORT_H
#define ETX_CLI_PLAN_PLAN_MEMORIES_REPORT_H

#include <jansson.h>

#include "exporter/report/export_report.h"

// Prints for each method the bytes in each memory and the traffic; with
// `in_full` also what lies in slower memories than the first. Prints nothing
// for one memory without limit.
void etx_plan_memories_print(const etx_export_report* report, bool in_full);

// The memories; NULL only if there is not enough memory.
json_t* etx_plan_memories_json(const etx_export_report* report);
// What a method has in each of them.
json_t* etx_plan_method_memories_json(const etx_export_report* report,
                                      const etx_export_method_report* method);

#endif
