// Saved state in two slots, of which at least one is whole at any time. Internal
// to runtime/module/; applications use state_file.h.
//
//   byte        content; integers are little-endian
//   0           "ETXSTAT1"
//   8           u64 bytes of a snapshot in this file
//   16          zero, 40 bytes
//   56          u32 zero, u32 checksum of bytes 0 to 59
//   4096        slot 0
//   4096 + d    slot 1; d: the bytes of a slot, up to a multiple of 4096
//
//   byte        content of a slot
//   0           "ETXSLOT1"
//   8           u64 number of the save, from 1
//   16          u64 bytes of the snapshot
//   24          zero, 32 bytes
//   56          u32 zero, u32 checksum of bytes 0 to 59 and of the snapshot
//   64          the snapshot (shared_memory.h)
//
// A save writes over the slot that is not the newest whole one. Its checksum
// makes a slot of which parts are missing no slot, so the order in which a disk
// writes does not matter. The newest slot may be that of a process that was
// killed before it was on the disk; therefore a save flushes before it reads,
// too.

#ifndef ETX_RUNTIME_MODULE_STATE_SLOTS_H
#define ETX_RUNTIME_MODULE_STATE_SLOTS_H

#include "shared_memory/shared_memory.h"

// Bytes that survive the process: a file, or what a test has instead.
typedef struct etx_state_storage {
  void* context;
  const char* name;  // for messages
  uint64_t bytes;    // its size when it was opened

  // Reads exactly these bytes, which lie within it.
  etx_status (*read)(void* context, uint64_t offset, etx_bytes_mut out,
                     etx_diag* diag);
  // Writes all bytes; it grows where they lie behind its end.
  etx_status (*write)(void* context, uint64_t offset, etx_bytes bytes,
                      etx_diag* diag);
  // Returns when everything that was written stays after a power cut. What is
  // read afterwards is what is there then, also if an earlier flush failed.
  etx_status (*flush)(void* context, etx_diag* diag);
} etx_state_storage;

// Bytes of memory that the functions below need.
size_t etx_state_slots_needed(const etx_shared_memory* shared);

// Saves all states. After success they stay; after any failure or a power cut
// the storage has the state that it had, or the new one. `memory` has
// etx_state_slots_needed bytes. ETX_TORN_STATE, ETX_BAD_ARGUMENT as
// etx_state_file_save states; otherwise statuses of the storage.
ETX_MUST_USE etx_status etx_state_slots_save(const etx_state_storage* storage,
                                             const etx_shared_memory* shared,
                                             etx_bytes_mut memory,
                                             etx_diag* diag);

// Takes the newest whole state. ETX_NOT_FOUND: there is none;
// ETX_BAD_ARGUMENT: it is of another program, or this is no saved state.
ETX_MUST_USE etx_status
etx_state_slots_restore(const etx_state_storage* storage,
                        etx_shared_memory* shared, etx_bytes_mut memory,
                        etx_diag* diag);

#endif
