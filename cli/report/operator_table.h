// The table of operators in the documents: what `etx ops --markdown` prints.
//
// Nothing in it is written down anywhere else: every operator that can be
// imported is called once for each target (operator_example.h), and what stands
// there after lowering is printed; types are those with which the kernels then
// run.

#ifndef ETX_CLI_REPORT_OPERATOR_TABLE_H
#define ETX_CLI_REPORT_OPERATOR_TABLE_H

#include "format/base/diag.h"

// Prints the table to standard output. Refused if some operator cannot be
// called by its example: then the example is wrong.
ETX_MUST_USE etx_status etx_operator_table_print(etx_diag* diag);

#endif
