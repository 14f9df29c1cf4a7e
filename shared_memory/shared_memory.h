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

enum {
  ETX_SHARED_MEMORY_ALIGNMENT = 64,  // of a session's block, in bytes
  ETX_SHARED_MEMORY_HEADER = 64      // bytes in front of arena 2
};

// One session. Fields are private, but for `planned`.
typedef struct etx_shared_memory {
  const etx_program* program;  // whose state it is
  uint8_t* block;              // header and arena, the caller's
  size_t block_size;           // bytes of it that are used
  etx_planned_memory planned;  // the block as methods receive it
} etx_shared_memory;

// Exact bytes of a session's block. A program without state needs the header
// alone. ETX_OUT_OF_RANGE: more than this machine can address.
ETX_MUST_USE etx_status etx_shared_memory_needed(const etx_program* program,
                                                 size_t* out_bytes);

// Starts a session: writes the header and every initial value.
// ETX_OUT_OF_MEMORY, ETX_BAD_ARGUMENT: the block is too small or not aligned;
// ETX_OUT_OF_RANGE: as above; ETX_BAD_FILE: the methods of a stock file state
// different initial data for the same shared bytes.
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

// The session's memory, with which `method` is to be loaded. The name is that
// of ExecuTools, where memory is handed out by an allocator; here nothing is
// allocated, and all methods of a session get the same memory. ETX_NOT_FOUND if
// the program has no such method.
ETX_MUST_USE etx_status
etx_shared_memory_allocator(etx_shared_memory* shared, etx_text method,
                            etx_planned_memory* out_planned, etx_diag* diag);

// Where sizes and strides of a state are kept, by the caller.
typedef struct etx_state_hold {
  int32_t sizes[ETX_MAX_RANK];    // elements in each dimension
  int32_t strides[ETX_MAX_RANK];  // in elements
} etx_state_hold;

// A state by its fully qualified name. `out_state` points into the block, where
// it may be read and written between runs; its sizes and strides point into
// `hold`. ETX_NOT_FOUND: there is no such state.
ETX_MUST_USE etx_status etx_shared_memory_find(const etx_shared_memory* shared,
                                               etx_text name,
                                               etx_tensor* out_state,
                                               etx_state_hold* hold,
                                               etx_diag* diag);

// States of the program.
size_t etx_shared_memory_count(const etx_shared_memory* shared);

// The fully qualified name of the state at `index`, which is below the count;
// it is borrowed from the file.
etx_text etx_shared_memory_name_at(const etx_shared_memory* shared,
                                   size_t index);

// Writes initial values again: of all states (empty text; also clears the torn
// mark), of the state of that name, or of all below a module prefix
// ("decoder" takes "decoder.0.k"). ETX_NOT_FOUND if nothing matches.
ETX_MUST_USE etx_status etx_shared_memory_reset(etx_shared_memory* shared,
                                                etx_text name_or_prefix,
                                                etx_diag* diag);

// Bytes of a snapshot.
size_t etx_shared_memory_save_needed(const etx_shared_memory* shared);

// Writes a snapshot: fingerprint of the program, layout, sizes, checksum
// (CRC-32), and the bytes of all states; snapshot.c draws it. `out` may lie at
// any address. ETX_OUT_OF_MEMORY: it has fewer bytes than
// etx_shared_memory_save_needed states; ETX_TORN_STATE: the state is torn.
ETX_MUST_USE etx_status etx_shared_memory_save(const etx_shared_memory* shared,
                                               etx_bytes_mut out,
                                               size_t* out_size,
                                               etx_diag* diag);

// Takes all states from a snapshot and clears the torn mark. Rows of caches
// that a snapshot of a prefix does not have get their initial values.
// ETX_BAD_ARGUMENT: it is of another program or layout, or damaged; then
// nothing changes.
ETX_MUST_USE etx_status etx_shared_memory_restore(etx_shared_memory* shared,
                                                  etx_bytes snapshot,
                                                  etx_diag* diag);

// ---- caches ----
//
// A program may say which of its states are caches (`caches` in program.yaml):
// states that methods append rows to, and of which the rows so far are live. A
// program without that gets ETX_NOT_FOUND. A name is that of one cache, of a
// module for all caches below it, or empty for all. ETX_BAD_STATE: a counter is
// negative.

// The number of rows that were appended to the caches of that name.
// ETX_BAD_ARGUMENT: the program does not count them, or not all have as many.
ETX_MUST_USE etx_status etx_shared_memory_length(
    const etx_shared_memory* shared, etx_text name_or_prefix,
    uint64_t* out_length, etx_diag* diag);

// Keeps the first `length` rows of the caches of that name: the other rows get
// their initial values, and counters are set to `length`. All other states stay
// as they are. The cost is that of the rows that are dropped; in a cache
// without a counter, of all rows from `length` on.
//
// ETX_OUT_OF_RANGE: a cache has fewer rows, or the rows to keep were
// overwritten by later ones; ETX_BAD_ARGUMENT: a counter also counts the rows
// of another cache; ETX_TORN_STATE: the state is torn. Then nothing changes.
ETX_MUST_USE etx_status etx_shared_memory_truncate(etx_shared_memory* shared,
                                                   etx_text name_or_prefix,
                                                   uint64_t length,
                                                   etx_diag* diag);

// Bytes of a snapshot that holds the first `length` rows of every cache, and
// all of every other state.
ETX_MUST_USE etx_status etx_shared_memory_save_prefix_needed(
    const etx_shared_memory* shared, uint64_t length, size_t* out_bytes,
    etx_diag* diag);

// Writes such a snapshot. It has the bytes that one would have after
// etx_shared_memory_truncate of all caches. etx_shared_memory_restore takes it
// back. Fails as these two do; ETX_OUT_OF_MEMORY: `out` is too small.
ETX_MUST_USE etx_status etx_shared_memory_save_prefix(
    const etx_shared_memory* shared, uint64_t length, etx_bytes_mut out,
    size_t* out_size, etx_diag* diag);

// ---- more sessions ----

// Starts another session with a copy of this one's state (and torn mark).
// ETX_OUT_OF_MEMORY, ETX_BAD_ARGUMENT: the block is too small or not aligned.
ETX_MUST_USE etx_status etx_shared_memory_fork(const etx_shared_memory* from,
                                               etx_shared_memory* out_fork,
                                               etx_bytes_mut block,
                                               etx_diag* diag);

// True if a run failed after it began to write state: further ones are refused
// until all states are reset or restored.
bool etx_shared_memory_is_torn(const etx_shared_memory* shared);

#endif
