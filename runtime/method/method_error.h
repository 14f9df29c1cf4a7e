// Reports a failed instruction to the caller: its message and its location.

#ifndef ETX_RUNTIME_METHOD_METHOD_ERROR_H
#define ETX_RUNTIME_METHOD_METHOD_ERROR_H

#include "runtime/method/method_types.h"

// Copies the kernel's message, or the text of `status` if it left none, to the
// caller's diag. Returns `status`.
etx_status etx_method_error_take_message(etx_method* method, etx_status status,
                                         etx_diag* diag);
// Copies the kernel's message and appends the location. Returns `status`.
etx_status etx_method_error_report(etx_method* method,
                                   const etx_method_record* record,
                                   etx_status status, etx_diag* diag);
// Appends " (method 'm', instruction 3, 'aten::add.out')" to the
// message, the operator only if the message does not name it.
void etx_method_error_locate(const etx_method* method,
                             const etx_method_record* record, etx_diag* diag);

#endif
