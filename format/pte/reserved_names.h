// Names of methods that etx generates; models may not use them.

#ifndef ETX_FORMAT_PTE_RESERVED_NAMES_H
#define ETX_FORMAT_PTE_RESERVED_NAMES_H

// Writes the initial value of every state; no inputs, no outputs.
#define ETX_METHOD_INIT "et_module_init"
// Constant method: uint8 [N, L], one zero-padded name a row.
#define ETX_METHOD_BUFFER_NAMES "et_get_shared_buffer_names"
// Constant method: int64 [N, 6], rows in the same order: mem_id, mem_obj_id,
// offset, allocated bytes, actual bytes, elements.
#define ETX_METHOD_BUFFER_PLAN "et_get_shared_buffer_memory_plan"

// memory_id of scratch (values that live inside one call) and of state.
enum { ETX_MEMORY_SCRATCH = 1, ETX_MEMORY_STATE = 2 };

#endif
