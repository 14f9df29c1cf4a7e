// Adds a copy that becomes the new content of a state.

#ifndef ETX_EXPORTER_BUFFERIZE_COPY_TO_STATE_H
#define ETX_EXPORTER_BUFFERIZE_COPY_TO_STATE_H

#include "exporter/ir/ir.h"

// Adds `state := copy(state, source)` at the end of the method. `state` is the
// value of a buffer that the method does not mutate yet; `source` has its sizes
// or one element. The new value is named "<state>_<suffix>".
ETX_MUST_USE etx_status etx_copy_to_state(etx_ir_module* module,
                                          etx_ir_method* method, uint32_t state,
                                          uint32_t source, const char* suffix);

#endif
