// Saves, restores and forks the state of a session. snapshot_header.h draws a
// snapshot.

#include "shared_memory/prefix_snapshot.h"
#include "shared_memory/session_header.h"
#include "shared_memory/snapshot_header.h"

size_t etx_shared_memory_save_needed(const etx_shared_memory* shared) {
  return ETX_SNAPSHOT_HEADER + shared->planned.size;
}

static etx_status save(const etx_shared_memory* shared, etx_bytes_mut out,
                       size_t* out_size, etx_diag* diag) {
  const size_t needed = etx_shared_memory_save_needed(shared);
  if (*shared->planned.torn != 0) {
    return etx_diag_fail(diag, ETX_TORN_STATE,
                         "torn state cannot be saved; reset it first");
  }
  if (out.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "a snapshot needs %z bytes, %z were given", needed,
                         out.size);
  }
  const uint8_t* state = shared->planned.data;
  const size_t bytes = shared->planned.size;
  memcpy(out.data + ETX_SNAPSHOT_HEADER, state, bytes);
  etx_snapshot_finish(shared, ETX_SNAPSHOT_WHOLE, bytes,
                      (etx_bytes_mut){out.data, needed});
  *out_size = needed;
  return ETX_OK;
}

etx_status etx_shared_memory_save(const etx_shared_memory* shared,
                                  etx_bytes_mut out, size_t* out_size,
                                  etx_diag* diag) {
  return etx_diag_seal(diag, save(shared, out, out_size, diag));
}

static etx_status restore(etx_shared_memory* shared, etx_bytes snapshot,
                          etx_diag* diag) {
  etx_snapshot_kind kind = ETX_SNAPSHOT_WHOLE;
  uint64_t bytes = 0;
  ETX_TRY(etx_snapshot_check(shared, snapshot, &kind, &bytes, diag));
  if (kind == ETX_SNAPSHOT_PREFIX) {
    return etx_prefix_snapshot_restore(shared, snapshot, bytes, diag);
  }
  if (bytes != shared->planned.size ||
      snapshot.size - ETX_SNAPSHOT_HEADER != shared->planned.size) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot has %u bytes of state in its header and "
                         "%z in fact, expected %z",
                         bytes, snapshot.size - ETX_SNAPSHOT_HEADER,
                         shared->planned.size);
  }
  ETX_TRY(etx_snapshot_check_content(snapshot, diag));
  memcpy(shared->planned.data, snapshot.data + ETX_SNAPSHOT_HEADER,
         shared->planned.size);
  *shared->planned.torn = 0;
  return ETX_OK;
}

etx_status etx_shared_memory_restore(etx_shared_memory* shared,
                                     etx_bytes snapshot, etx_diag* diag) {
  return etx_diag_seal(diag, restore(shared, snapshot, diag));
}

static etx_status fork_block(const etx_shared_memory* from,
                             etx_shared_memory* out_fork, etx_bytes_mut block,
                             etx_diag* diag) {
  ETX_TRY(etx_session_check_block(from->program, block, diag));
  const uint32_t torn = *from->planned.torn;
  memcpy(block.data + ETX_SHARED_MEMORY_HEADER, from->planned.data,
         from->planned.size);
  etx_session_start(out_fork, from->program, block);
  *out_fork->planned.torn = torn;
  return ETX_OK;
}

etx_status etx_shared_memory_fork(const etx_shared_memory* from,
                                  etx_shared_memory* out_fork,
                                  etx_bytes_mut block, etx_diag* diag) {
  return etx_diag_seal(diag, fork_block(from, out_fork, block, diag));
}
