// A pool of instances over one program, for servers: each request takes an
// instance, runs methods on it and puts it back.
//
//   const etx_instance_pool_options options = {.instance_count = 8};
//   etx_instance_pool_needed(&program, &options, &bytes, &diag);
//   etx_instance_pool_init(&pool, &program, &options, memory, NULL, &diag);
//   ...                                          // in any thread:
//   etx_instance_lease lease;
//   if (etx_instance_pool_get(&pool, &lease) == ETX_OK) {
//     etx_method* run = etx_instance_pool_method(&lease, name);
//     ...                                        // set inputs, run, read
//     etx_instance_pool_put(&pool, &lease, &diag);
//   }
//
// An instance is a session of its own (state at the program's addresses, in
// memory of this instance) and one loaded copy of each method, which share a
// block of scratch and one of temporary memory. Constants are read in place
// from the file, so all instances share them.
//
// The instance that was put back last is taken first, because its memory is
// likely to be in a cache of the processor.
//
// Ownership  the program and the memory belong to the caller and outlive the
//            pool; no function of a pool allocates. There is no function to
//            close one: the memory may be freed when no lease is out, which
//            `in_use` of etx_instance_pool_count shows. The struct itself may
//            be copied: a copy is the same pool.
// Threads    any number of threads may get, put and read statistics; none ever
//            waits for another. One lease, one thread at a time. The caller
//            makes the initialised pool visible to the other threads.

#ifndef ETX_RUNTIME_POOL_INSTANCE_POOL_H
#define ETX_RUNTIME_POOL_INSTANCE_POOL_H

#include "runtime/method.h"
#include "shared_memory/shared_memory.h"

enum {
  ETX_INSTANCE_POOL_ALIGNMENT =
      ETX_SHARED_MEMORY_ALIGNMENT,  // of its memory, in bytes
  ETX_INSTANCE_POOL_MOST = 65535    // instances of a pool
};

// How a pool is made. All other fields may be zero.
typedef struct etx_instance_pool_options {
  size_t instance_count;    // from 1 to ETX_INSTANCE_POOL_MOST
  const etx_text* methods;  // names of the methods to load; NULL: all, except
                            // constant ones and those that etx adds
  size_t method_count;      // of methods; ignored if they are NULL
  // False: etx_instance_pool_put writes initial values to the state, so that no
  // request sees what another one left. True: an instance keeps its state, for
  // methods that write each part of a state before they read it. Torn state is
  // reset in both cases. The private arenas of a stock file have no mark that
  // says they are torn: with True they keep what a failed run left.
  bool keeps_state;
  // The memory is all zero already, as fresh pages are: states whose initial
  // value is zero are not written by etx_instance_pool_init.
  bool is_zeroed;
} etx_instance_pool_options;

struct etx_instance_pool_words;  // atomic words of a pool
struct etx_instance_pool_slot;   // one instance

// A pool. Fields are private; pointers lead into the caller's memory.
typedef struct etx_instance_pool {
  const etx_program* program;  // of all instances
  struct etx_instance_pool_words*
      words;                             // which instances are free, and counts
  struct etx_instance_pool_slot* slots;  // by index of the instance
  size_t instance_count;                 // of slots
  bool keeps_state;                      // as in the options
} etx_instance_pool;

// An instance that a caller has got, until it puts it back.
typedef struct etx_instance_lease {
  etx_shared_memory* session;  // the instance's state
  etx_method* methods;         // in the order of the options, or of the file
  size_t method_count;         // of methods
  uint64_t ticket;             // private: differs for each get of the instance
  uint32_t index;              // of the instance, below instance_count
} etx_instance_lease;

// What a pool has counted so far. Each number is right at some time during the
// call, but others may change meanwhile.
typedef struct etx_instance_pool_statistics {
  size_t in_use;       // instances that are out now
  size_t most_in_use;  // instances that were out at the same time, at most
  uint64_t gets;     // calls of etx_instance_pool_get that returned an instance
  uint64_t empties;  // calls of etx_instance_pool_get that found none
} etx_instance_pool_statistics;

// Exact bytes of the pool's memory. ETX_BAD_ARGUMENT: instance_count is out of
// its bounds; ETX_NOT_FOUND: the program has no method of such a name;
// ETX_OUT_OF_RANGE: more bytes than this machine can address.
ETX_MUST_USE etx_status etx_instance_pool_needed(
    const etx_program* program, const etx_instance_pool_options* options,
    size_t* out_bytes, etx_diag* diag);

// Starts the sessions and loads the methods of all instances. `memory` has the
// bytes that are needed, aligned to ETX_INSTANCE_POOL_ALIGNMENT. `options` and
// the names are read during the call only. `missing` receives the operators
// that the kernel table lacks; it may be NULL. ETX_OUT_OF_MEMORY,
// ETX_BAD_ARGUMENT: the memory is too small or not aligned; other statuses are
// those of etx_instance_pool_needed, etx_shared_memory_init and
// etx_method_init. A pool that was refused has nothing to close.
ETX_MUST_USE etx_status etx_instance_pool_init(
    etx_instance_pool* pool, const etx_program* program,
    const etx_instance_pool_options* options, etx_bytes_mut memory,
    const etx_missing_sink* missing, etx_diag* diag);

// Takes a free instance. No input of its methods is set, and its state has
// initial values, or what the last lease left if the pool keeps state.
// ETX_BAD_STATE: all instances are out; `out_lease` is unchanged, and the
// caller decides whether to wait or to refuse the request.
ETX_MUST_USE etx_status etx_instance_pool_get(etx_instance_pool* pool,
                                              etx_instance_lease* out_lease);

// The lease's method of that name, or NULL if the pool did not load it.
etx_method* etx_instance_pool_method(const etx_instance_lease* lease,
                                     etx_text name);

// Gives the instance back: forgets inputs and observers, binds methods to the
// instance's own session again, and resets state as the options say; a reset
// also restarts random numbers and clears the private arenas of a stock file.
// Outputs of the methods are not valid any more. ETX_BAD_STATE: the lease is
// not out, because this one or a copy of it was put back already, or a method
// is still running; ETX_BAD_ARGUMENT: the lease is not of this pool. A refused
// call has no effect on any other lease; an instance whose method is running
// stays out.
ETX_MUST_USE etx_status etx_instance_pool_put(etx_instance_pool* pool,
                                              const etx_instance_lease* lease,
                                              etx_diag* diag);

// Reads the counts.
etx_instance_pool_statistics etx_instance_pool_count(
    const etx_instance_pool* pool);

#endif
