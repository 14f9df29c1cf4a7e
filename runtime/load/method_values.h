// Decodes the file's values to slots.

#ifndef ETX_RUNTIME_LOAD_METHOD_VALUES_H
#define ETX_RUNTIME_LOAD_METHOD_VALUES_H

#include "runtime/method/method_types.h"
#include "runtime/program/operator_cache.h"

// Fills the method's values, tensors, inputs and outputs.
ETX_MUST_USE etx_status etx_method_decode_values(etx_method* method,
                                                 etx_operator_cache* operators,
                                                 etx_diag* diag);

#endif
