// A program file opened for running: the module, and one session of state that
// all methods share.

#ifndef ETX_CLI_RUN_RUN_SESSION_H
#define ETX_CLI_RUN_RUN_SESSION_H

#include "cli/program/pte_file.h"
#include "runtime/module/module.h"
#include "runtime/threads/thread_pool.h"

typedef struct etx_run_session_options {
  const char* const* data_paths;  // files (.ptd) that hold data of the program
  size_t data_count;
  size_t threads;  // for its kernels; 0: one
} etx_run_session_options;

typedef struct etx_run_session {
  etx_pte_file file;
  etx_thread_pool pool;
  void* pool_memory;
  etx_module module;
  etx_module_shared shared;  // initial values are in place after opening
} etx_run_session;

// Opens the file, and the files that hold data of it, and starts threads and
// state. On failure nothing stays open. A session stays where it was opened.
ETX_MUST_USE etx_status
etx_run_session_open(etx_run_session* session, const char* path,
                     const etx_run_session_options* options, etx_diag* diag);
void etx_run_session_close(etx_run_session* session);

// The method, loaded with the session's state at its first use.
ETX_MUST_USE etx_status etx_run_session_method(etx_run_session* session,
                                               const char* name,
                                               etx_method** out_method,
                                               etx_diag* diag);

#endif
