// The states of a program file: from the blob of etx, or in a stock file from
// its planned tensors with names.

#ifndef ETX_CLI_PROGRAM_STATE_LIST_H
#define ETX_CLI_PROGRAM_STATE_LIST_H

#include "exporter/host/host_memory.h"
#include "runtime/program.h"

typedef struct etx_state_row {
  etx_text name;
  etx_dtype dtype;
  const int32_t* sizes;
  size_t rank;
  uint32_t arena;
  uint64_t offset;
  const char* initial;   // "zeros", "uniform", "constant", or "unknown"
  uint32_t constant;     // position of its initial value, 0 if there is none
  bool is_cache;         // the rest is set for caches only
  uint32_t cache_dim;    // dimension of its rows
  const char* overflow;  // "error", "ring" or "slide"
  etx_text counter;      // state that counts its rows; empty: none
} etx_state_row;

typedef struct etx_state_list {
  etx_state_row* rows;
  size_t count;
} etx_state_list;

ETX_MUST_USE etx_status etx_state_list_read(const etx_program* program,
                                            etx_pool* pool,
                                            etx_state_list* out_list,
                                            etx_diag* diag);

#endif
