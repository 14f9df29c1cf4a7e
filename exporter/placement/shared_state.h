// The states that the methods of a module share: their order by name, their
// initial values, and their common layout in arena 2.

#ifndef ETX_EXPORTER_PLACEMENT_SHARED_STATE_H
#define ETX_EXPORTER_PLACEMENT_SHARED_STATE_H

#include "exporter/ir/ir.h"

// The buffers that are state, sorted by name. The array lives in the module's
// pool.
ETX_MUST_USE etx_status etx_shared_state_order(etx_ir_module* module,
                                               uint32_t** out_buffers,
                                               size_t* out_count);

// The constant that initialises a state: its initial value, or one element of
// rank 0 where all elements have the same bits. Zeros where none was given.
ETX_MUST_USE etx_status etx_shared_state_initial(etx_ir_module* module,
                                                 uint32_t buffer,
                                                 uint32_t* out_constant);

// The offsets of the states in arena 2.
typedef struct etx_state_layout {
  uint32_t* buffers;  // of the module, sorted by name
  uint64_t* offsets;  // by position in `buffers`
  size_t count;
  uint64_t bytes;  // of the arena
} etx_state_layout;

// Lays the states out one after the other by name, each at a multiple of the
// module's alignment. With `keep` (the bytes of an earlier program, size 0 for
// none), the states of that program keep their offsets, and new states follow
// behind. ETX_BAD_ARGUMENT if sizes, dtypes or alignments differ.
ETX_MUST_USE etx_status etx_shared_state_layout(etx_ir_module* module,
                                                etx_bytes keep,
                                                etx_state_layout* out_layout,
                                                etx_diag* diag);

// Adds the constant methods et_get_shared_buffer_*, from which ExecuTools reads
// the layout.
ETX_MUST_USE etx_status
etx_shared_state_publish(etx_ir_module* module, const etx_state_layout* layout);

#endif
