// Which numbers of a method with jumps can be computed before it runs.

#ifndef ETX_RUNTIME_LOAD_NUMBER_SCOPES_H
#define ETX_RUNTIME_LOAD_NUMBER_SCOPES_H

#include "runtime/method/method_types.h"

// Marks numbers that are late in every run because of the order in which
// records may run; late_values.h has the others. Takes time in the number of
// records. Uses fields of records that are free until they are prepared.
void etx_method_find_late_numbers(etx_method* method);

#endif
