// Plans the scratch of methods over the memories of a board (memory_list.h).
//
// Each method is planned by itself and may use every memory up to its capacity,
// as methods take turns. The state takes its bytes from the memory that holds
// it, and stable outputs, which no other method may overwrite, lie at the end
// of the last memory.

#ifndef ETX_EXPORTER_ARENAS_BOARD_MEMORIES_H
#define ETX_EXPORTER_ARENAS_BOARD_MEMORIES_H

#include "exporter/arenas/memory_plan.h"
#include "exporter/placement/liveness.h"

// True if the module's scratch lies in more than one memory.
static inline bool etx_board_memories_used(const etx_ir_module* module) {
  return module->memory_count > 1;
}

// The bytes of each memory that are left for scratch: without the state, which
// needs `state_bytes`, and without `stable_bytes` in the last one; UINT64_MAX:
// no limit. ETX_BAD_PLAN: a memory is too small for them; ETX_UNSUPPORTED: the
// module has methods that run at the same time.
ETX_MUST_USE etx_status etx_board_memories_limits(
    const etx_ir_module* module, uint64_t state_bytes, uint64_t stable_bytes,
    uint64_t out_limits[ETX_MEMORY_TABLE_MOST], etx_diag* diag);

// Sets the traffic of a method that lies in the first memory.
ETX_MUST_USE etx_status etx_board_memories_traffic(
    etx_pool* pool, const etx_ir_method* method, const etx_placement* placement,
    etx_memory_plan* memory);

typedef struct etx_board_method {
  const etx_ir_module* module;
  const etx_ir_method* method;
  const etx_live_interval* lifetimes;  // by storage
  const uint64_t* limits;              // by memory
} etx_board_method;

// Sets the memories and offsets of the method's blocks that are not stable, and
// the fields of `memory`. ETX_BAD_PLAN: they do not fit into the limits.
ETX_MUST_USE etx_status etx_board_memories_plan(etx_pool* pool,
                                                const etx_board_method* board,
                                                etx_placement* placement,
                                                etx_memory_plan* memory,
                                                etx_diag* diag);

#endif
