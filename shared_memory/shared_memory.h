// One block of state for all methods of a program: the SharedMemoryManager.
//
//   block  | header 64 bytes | arena 2 (state)                 |
//          | torn mark       | every state at its planned offset
//
// A session is such a block. Any number of sessions may stand beside each
// other over one program; a method works on the one it was given or bound to.
// State gets its initial values once, in etx_shared_memory_init, and again
// only by an explicit reset. Loading methods never changes it.
//
// Ownership  the block is the caller's, aligned to 64, and outlives the
//            session; the struct itself may be moved.
// Threads    one session, one thread at a time.

#ifndef ETX_SHARED_MEMORY_SHARED_MEMORY_H
#define ETX_SHARED_MEMORY_SHARED_MEMORY_H

#include "runtime/method.h"
#include "runtime/program.h"

enum { ETX_SHARED_MEMORY_ALIGNMENT = 64, ETX_SHARED_MEMORY_HEADER = 64 };

typedef struct etx_shared_memory {
  const etx_program* program;
  uint8_t* block;  // header and arena
  size_t block_size;
  etx_planned_memory planned;  // what methods are given
} etx_shared_memory;

// Exact bytes of a session's block. A program without state needs the header
// alone.
ETX_MUST_USE etx_status etx_shared_memory_needed(const etx_program* program,
                                                 size_t* out_bytes);

// Starts a session: writes the header and every initial value. A stock file
// whose methods state different initial data for the same shared bytes is
// ETX_BAD_FILE.
ETX_MUST_USE etx_status etx_shared_memory_init(etx_shared_memory* shared,
                                               const etx_program* program,
                                               etx_bytes_mut block,
                                               etx_diag* diag);

// The same for a block of which every byte is zero already: what calloc gives,
// fresh pages of an operating system, .bss. States of which a file says that
// they begin with zeros are not written, so pages that no cache has reached so
// far take no memory. A fork of the session copies all of it.
ETX_MUST_USE etx_status etx_shared_memory_init_zeroed(
    etx_shared_memory* shared, const etx_program* program, etx_bytes_mut block,
    etx_diag* diag);

// The allocator that `method` is to be loaded with. ETX_NOT_FOUND if the
// program has no such method.
ETX_MUST_USE etx_status
etx_shared_memory_allocator(etx_shared_memory* shared, etx_text method,
                            etx_planned_memory* out_allocator, etx_diag* diag);

// A state by its fully qualified name. `out_state` points into the block;
// sizes and strides into `hold`.
typedef struct etx_state_hold {
  int32_t sizes[ETX_MAX_RANK];
  int32_t strides[ETX_MAX_RANK];
} etx_state_hold;
ETX_MUST_USE etx_status etx_shared_memory_find(const etx_shared_memory* shared,
                                               etx_text name,
                                               etx_tensor* out_state,
                                               etx_state_hold* hold,
                                               etx_diag* diag);

size_t etx_shared_memory_count(const etx_shared_memory* shared);
etx_text etx_shared_memory_name_at(const etx_shared_memory* shared,
                                   size_t index);

// Writes initial values again: of all states (empty text; also clears the torn
// mark), of the state of that name, or of all below a module prefix
// ("decoder" takes "decoder.0.k"). ETX_NOT_FOUND if nothing matches.
ETX_MUST_USE etx_status etx_shared_memory_reset(etx_shared_memory* shared,
                                                etx_text name_or_prefix,
                                                etx_diag* diag);

// Snapshot: fingerprint of the program, layout, sizes, checksum (CRC-32), and
// the bytes of all states; snapshot.c draws it. `out` must have
// etx_shared_memory_save_needed bytes, at any address. Torn state is refused.
size_t etx_shared_memory_save_needed(const etx_shared_memory* shared);
ETX_MUST_USE etx_status etx_shared_memory_save(const etx_shared_memory* shared,
                                               etx_bytes_mut out,
                                               size_t* out_size,
                                               etx_diag* diag);
// Refuses a snapshot of another program or layout, or a damaged one, and then
// changes nothing. Clears the torn mark.
ETX_MUST_USE etx_status etx_shared_memory_restore(etx_shared_memory* shared,
                                                  etx_bytes snapshot,
                                                  etx_diag* diag);

// Starts another session with a copy of this one's state (and torn mark).
ETX_MUST_USE etx_status etx_shared_memory_fork(const etx_shared_memory* from,
                                               etx_shared_memory* out_fork,
                                               etx_bytes_mut block,
                                               etx_diag* diag);

bool etx_shared_memory_is_torn(const etx_shared_memory* shared);

#endif
