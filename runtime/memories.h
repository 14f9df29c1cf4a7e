// Loading a method whose scratch lies in several memories of a board, such as
// fast SRAM and slow PSRAM (`etx plan --memory`):
//
//   size_t bytes[2];
//   etx_method_memories_needed(&program, name, bytes, 2, &count, &diag);
//   etx_method_init_in_memories(&method, &program, name,
//                               &(etx_board_memory){memory, blocks, 2}, NULL,
//                               &diag);
//
// etx_method_init takes such a program, too: it wants one block of scratch for
// all memories. Methods of one program may share the blocks if they never run
// at the same time. A method in several blocks needs the bytes of its upper
// bounds at all sizes, and uses no variants (variants.h).

#ifndef ETX_RUNTIME_MEMORIES_H
#define ETX_RUNTIME_MEMORIES_H

#include "runtime/method.h"

// The bytes of scratch that a method needs in each memory of the program, in
// the order in which they were planned, at most `capacity` of them.
// ETX_OUT_OF_RANGE: there are more memories; ETX_UNSUPPORTED: a stock file,
// whose arenas have no such order; other statuses are those of
// etx_method_needed.
ETX_MUST_USE etx_status etx_method_memories_needed(
    const etx_program* program, etx_text name, size_t* out_bytes,
    size_t capacity, size_t* out_count, etx_diag* diag);

// The blocks that a method is loaded into.
typedef struct etx_board_memory {
  etx_method_memory memory;     // its `scratch` is not used
  const etx_bytes_mut* blocks;  // of scratch, one for each memory, aligned to
                                // ETX_MEMORY_ALIGNMENT, with at least the bytes
                                // that the method needs there
  size_t count;  // of blocks: at least the memories of the method
} etx_board_memory;

// As etx_method_init, with scratch in several blocks. ETX_BAD_ARGUMENT: there
// are too few blocks, or one is not aligned; ETX_OUT_OF_MEMORY: one is too
// small.
ETX_MUST_USE etx_status
etx_method_init_in_memories(etx_method* method, const etx_program* program,
                            etx_text name, const etx_board_memory* board,
                            const etx_missing_sink* missing, etx_diag* diag);

#endif
