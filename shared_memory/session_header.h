// The header of a session: the first 64 bytes of its block. Internal to
// shared_memory/.

#ifndef ETX_SHARED_MEMORY_SESSION_HEADER_H
#define ETX_SHARED_MEMORY_SESSION_HEADER_H

#include "shared_memory/shared_memory.h"

#define ETX_SESSION_MAGIC 0x53585445u  // "ETXS" in a little-endian dump

typedef struct etx_session_header {
  uint32_t magic;
  uint32_t torn;         // nonzero: a run failed while it wrote state
  uint64_t state_bytes;  // of the arena behind the header
  uint8_t reserved[48];  // zeros
} etx_session_header;

_Static_assert(sizeof(etx_session_header) == ETX_SHARED_MEMORY_HEADER,
               "the header has a fixed size");

// Checks size and alignment of a block for a session of `program`.
ETX_MUST_USE etx_status etx_session_check_block(const etx_program* program,
                                                etx_bytes_mut block,
                                                etx_diag* diag);

// Writes a new header and sets `shared` to the block. Does not change the
// arena.
void etx_session_start(etx_shared_memory* shared, const etx_program* program,
                       etx_bytes_mut block);

#endif
