// Refuses methods with a loop that nothing can leave.

#ifndef ETX_RUNTIME_LOAD_ENDLESS_LOOPS_H
#define ETX_RUNTIME_LOAD_ENDLESS_LOOPS_H

#include "runtime/method/method_types.h"

// ETX_BAD_FILE: there is an instruction from which no path leads to the end of
// the method. A jump whose condition is a constant of the file has one way; all
// others are taken to have both. Takes time in the number of records times that
// of nested loops. Call it when the records are decoded and not prepared yet.
ETX_MUST_USE etx_status etx_method_check_endless_loops(etx_method* method,
                                                       etx_diag* diag);

#endif
