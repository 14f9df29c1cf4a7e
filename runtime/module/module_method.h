// Loaded methods of a module and their memory. Internal to runtime/module/.

#ifndef ETX_RUNTIME_MODULE_MODULE_METHOD_H
#define ETX_RUNTIME_MODULE_MODULE_METHOD_H

#include "runtime/module/module.h"

// Allocates `block->size` bytes, at least one, and zeroes them. `what` names
// them in the error message.
ETX_MUST_USE etx_status etx_module_allocate_zeroed(etx_module* module,
                                                   etx_bytes_mut* block,
                                                   const char* what,
                                                   etx_diag* diag);

// Allocates a session and starts it. `*out_block` is the allocation to free
// after the session. `what` names it in the error message.
ETX_MUST_USE etx_status etx_module_start_session(etx_module* module,
                                                 const char* what,
                                                 etx_shared_memory* out_session,
                                                 void** out_block,
                                                 etx_diag* diag);

// Frees all methods and the blocks that they share.
void etx_module_methods_close(etx_module* module);

#endif
