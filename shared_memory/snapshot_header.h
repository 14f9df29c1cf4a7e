// The header of a snapshot. Internal to shared_memory/.
//
//   byte  content of a snapshot; integers are little-endian
//   0     "ETXSNAP1"
//   8     u32 version, an etx_snapshot_kind
//   12    u32 checksum of the layout: every state's name, type, sizes, offset
//   16    fingerprint of the program, 32 bytes
//   48    u64 bytes of state; in a snapshot of a prefix, rows of each cache
//   56    u32 zero
//   60    u32 checksum of bytes 0 to 59 and of the content
//   64    the content: the bytes of arena 2, or a prefix (prefix_snapshot.h)

#ifndef ETX_SHARED_MEMORY_SNAPSHOT_HEADER_H
#define ETX_SHARED_MEMORY_SNAPSHOT_HEADER_H

#include "shared_memory/shared_memory.h"

enum { ETX_SNAPSHOT_HEADER = 64 };  // bytes in front of the content

typedef enum etx_snapshot_kind {
  ETX_SNAPSHOT_WHOLE = 1,   // all states
  ETX_SNAPSHOT_PREFIX = 2,  // the first rows of caches, and all other states
} etx_snapshot_kind;

// Writes the header of a snapshot whose content is complete.
void etx_snapshot_finish(const etx_shared_memory* shared,
                         etx_snapshot_kind kind, uint64_t number,
                         etx_bytes_mut snapshot);

// Checks that a snapshot belongs to the session's program; `out_number` is what
// byte 48 has.
ETX_MUST_USE etx_status etx_snapshot_check(const etx_shared_memory* shared,
                                           etx_bytes snapshot,
                                           etx_snapshot_kind* out_kind,
                                           uint64_t* out_number,
                                           etx_diag* diag);

// Checks header and content of such a snapshot by its checksum.
ETX_MUST_USE etx_status etx_snapshot_check_content(etx_bytes snapshot,
                                                   etx_diag* diag);

#endif
