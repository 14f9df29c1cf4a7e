// A program file opened for running: the module, and one session with the
// states that all methods share.

#ifndef ETX_CLI_RUN_RUN_SESSION_H
#define ETX_CLI_RUN_RUN_SESSION_H

#include "cli/kernels/kernel_set.h"
#include "cli/program/pte_file.h"
#include "cli/run/run_trace.h"
#include "runtime/module/module.h"
#include "runtime/module/module_regions.h"
#include "runtime/threads/thread_pool.h"

typedef struct etx_run_session_options {
  const char* const* data_paths;  // data files (.ptd) of the program
  size_t data_count;
  size_t threads;         // for its kernels; 0 counts as 1
  bool uses_regions;      // independent parts of methods run on these threads
  bool in_memory;         // files are read instead of mapped, and may change
  bool keeps_plan;        // values lie where they lie at the largest sizes
  size_t resident_bytes;  // of the file, see resident_limit.h; 0: all stay
  bool prefaults;         // files are read into memory before the first run
  bool locks;             // and stay there (etx_module_mlock)
  const char* const* kernel_paths;  // libraries of kernels (kernel_library.h)
  size_t kernel_count;
} etx_run_session_options;

typedef struct etx_run_session {
  etx_pte_file file;
  etx_kernel_set kernels;
  etx_thread_pool pool;
  void* pool_memory;
  etx_module module;
  etx_module_shared shared;     // has the initial values after opening
  etx_resident_limit resident;  // of the program file
  size_t region_limit;  // parallel regions at a time; 0: methods use none
  etx_module_regions regions;  // their memory
  etx_run_trace* trace;  // records what methods use, set by the caller after
                         // opening; NULL: nothing is recorded
} etx_run_session;

// Opens the program and its data files, starts the threads and initialises the
// states. On failure nothing stays open. A session must not be moved in memory.
ETX_MUST_USE etx_status
etx_run_session_open(etx_run_session* session, const char* path,
                     const etx_run_session_options* options, etx_diag* diag);
void etx_run_session_close(etx_run_session* session);

// Finds a method; the first call for it loads it on the session's states. If
// there is none of that name, the message lists the methods of the program.
ETX_MUST_USE etx_status etx_run_session_method(etx_run_session* session,
                                               const char* name,
                                               etx_method** out_method,
                                               etx_diag* diag);

// Observes the following runs of a method, beside what limits the resident
// bytes. NULL ends it.
void etx_run_session_observe(etx_run_session* session, etx_method* method,
                             const etx_run_observer* observer);

// Runs a method whose inputs are set, with regions if the session was opened
// with them and records no trace.
ETX_MUST_USE etx_status etx_run_session_run(etx_run_session* session,
                                            etx_method* method, etx_diag* diag);

// Takes the states from a file of etx_run_session_save. Without such a file,
// and if no save into it was completed, they stay as they are.
ETX_MUST_USE etx_status etx_run_session_restore(etx_run_session* session,
                                                const char* path,
                                                etx_diag* diag);
// Saves the states (runtime/module/state_file.h).
ETX_MUST_USE etx_status etx_run_session_save(const etx_run_session* session,
                                             const char* path, etx_diag* diag);

#endif
