// What a failed instruction leaves for the caller: its message, and where.

#ifndef ETX_RUNTIME_METHOD_METHOD_ERROR_H
#define ETX_RUNTIME_METHOD_METHOD_ERROR_H

#include "runtime/method/method_types.h"

// Hands the message that a kernel left, or at least the sentence of `status`,
// on to the caller's diag. Returns `status`.
etx_status etx_method_error_take_message(etx_method* method, etx_status status,
                                         etx_diag* diag);
// Says where a kernel failed, with its message. Returns `status`.
etx_status etx_method_error_report(etx_method* method,
                                   const etx_method_record* record,
                                   etx_status status, etx_diag* diag);
// Appends " (method 'm', instruction 3, 'aten::add.out')" to the
// message, the operator only if the message does not name it.
void etx_method_error_locate(const etx_method* method,
                             const etx_method_record* record, etx_diag* diag);

#endif
