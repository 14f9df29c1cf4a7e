// Snapshots of a prefix: the first rows of every cache, and all of every other
// state. Internal to shared_memory/.
//
// The content has the states in the order of the blob, without gaps. A cache
// has its first rows: of each part (cache_rows.h) the rows that the length
// takes. A counter has the length.

#ifndef ETX_SHARED_MEMORY_PREFIX_SNAPSHOT_H
#define ETX_SHARED_MEMORY_PREFIX_SNAPSHOT_H

#include "shared_memory/shared_memory.h"

// Takes all states from a snapshot of `length` rows whose header was checked.
ETX_MUST_USE etx_status etx_prefix_snapshot_restore(etx_shared_memory* shared,
                                                    etx_bytes snapshot,
                                                    uint64_t length,
                                                    etx_diag* diag);

#endif
