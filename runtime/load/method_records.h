// Decodes the file's instructions to records.

#ifndef ETX_RUNTIME_LOAD_METHOD_RECORDS_H
#define ETX_RUNTIME_LOAD_METHOD_RECORDS_H

#include "runtime/method/method_types.h"
#include "runtime/program/operator_cache.h"

// Fills the method's records, after its values.
ETX_MUST_USE etx_status etx_method_decode_records(etx_method* method,
                                                  etx_operator_cache* operators,
                                                  etx_diag* diag);

#endif
