// docs/operators.md, as etx ops --markdown prints it.
//
// The table is computed: every operator that can be imported is called once for
// each target (operator_example.h), lowered, and the nodes after lowering are
// printed. Its types are those with which the kernels then run.

#ifndef ETX_CLI_REPORT_OPERATOR_TABLE_H
#define ETX_CLI_REPORT_OPERATOR_TABLE_H

#include "format/base/diag.h"

// Prints the document to standard output. ETX_BAD_ARGUMENT if an operator
// refuses its example; then the example has to be changed.
ETX_MUST_USE etx_status etx_operator_table_print(etx_diag* diag);

#endif
