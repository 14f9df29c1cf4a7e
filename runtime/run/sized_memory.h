// The memory that a run needs at the present sizes. Internal to runtime/.

#ifndef ETX_RUNTIME_RUN_SIZED_MEMORY_H
#define ETX_RUNTIME_RUN_SIZED_MEMORY_H

#include "runtime/method/method_types.h"

// Bytes for the sizes that the method is prepared for, at most those at the
// upper bounds.
size_t etx_method_scratch_needed(etx_method* method);
size_t etx_method_temporary_needed(const etx_method* method);

// Checks that the blocks that the caller gave are large enough for the sizes
// that the method is prepared for. ETX_OUT_OF_MEMORY: they are not.
ETX_MUST_USE etx_status etx_method_check_given(const etx_method* method,
                                               etx_diag* diag);

#endif
