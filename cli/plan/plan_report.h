// What `etx plan` tells about a plan, for people and as JSON.

#ifndef ETX_CLI_PLAN_PLAN_REPORT_H
#define ETX_CLI_PLAN_PLAN_REPORT_H

#include <jansson.h>

#include "exporter/export.h"
#include "runtime/program.h"

// Prints the report to standard output: a line a method, or `in_full` what was
// saved, and how, and what is live at the fullest moment.
void etx_plan_report_print(const char* path, const etx_export_report* report,
                           bool in_full);

// The same facts. New reference.
json_t* etx_plan_report_json(const char* path, const etx_export_report* report);

// Writes a C header with the bytes that each method and the program need at
// run time: for static blocks in an application without a heap. Macro names
// are made of the file's stem and the methods' names.
ETX_MUST_USE etx_status etx_plan_report_header(const etx_program* program,
                                               const char* path,
                                               etx_diag* diag);

#endif
