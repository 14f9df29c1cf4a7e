// The report of etx plan as text and as JSON, and the C header of --header.

#ifndef ETX_CLI_PLAN_PLAN_REPORT_H
#define ETX_CLI_PLAN_PLAN_REPORT_H

#include <jansson.h>

#include "cli/base/output_file.h"
#include "exporter/export.h"
#include "runtime/program.h"

// Prints the report to standard output: one line for each method; with
// `in_full` also what was saved by which means, and the values that are live at
// the peak.
void etx_plan_report_print(const char* path, const etx_export_report* report,
                           bool in_full);

// The same facts. New reference.
json_t* etx_plan_report_json(const char* path, const etx_export_report* report);

// Writes a C header to `output`, which is open, and finishes it. It has the
// bytes that each method and the program need at run time, for static memory in
// an application without a heap. Macro names consist of the stem of the file
// name, the name of the method and the kind of memory.
ETX_MUST_USE etx_status etx_plan_report_header(const etx_program* program,
                                               etx_output_file* output,
                                               etx_diag* diag);

#endif
