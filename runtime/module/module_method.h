// Loaded methods of a module and their memory. Seen by runtime/module/ only.

#ifndef ETX_RUNTIME_MODULE_MODULE_METHOD_H
#define ETX_RUNTIME_MODULE_MODULE_METHOD_H

#include "runtime/module/module.h"

// Takes `block->size` zeroed bytes, at least one; `what` is for the message.
ETX_MUST_USE etx_status etx_module_take(etx_module* module,
                                        etx_bytes_mut* block, const char* what,
                                        etx_diag* diag);

// The same, but the bytes are as they come.
ETX_MUST_USE etx_status etx_module_take_any(etx_module* module,
                                            etx_bytes_mut* block,
                                            const char* what, etx_diag* diag);

// Takes memory for a session, starts it there, and tells which block is to be
// given back after it.
ETX_MUST_USE etx_status etx_module_start_session(etx_module* module,
                                                 const char* what,
                                                 etx_shared_memory* out_session,
                                                 void** out_block,
                                                 etx_diag* diag);

// Gives back every method and the blocks they share.
void etx_module_methods_close(etx_module* module);

#endif
