// Resident memory of this process, as the operating system counts it.

#ifndef ETX_CLI_MACHINE_PROCESS_MEMORY_H
#define ETX_CLI_MACHINE_PROCESS_MEMORY_H

#include <stdint.h>

// Bytes; 0 if the system has no /proc/self/status.
typedef struct etx_process_memory {
  uint64_t peak_bytes;  // the largest resident set so far
  uint64_t own_bytes;   // anonymous pages now: not backed by a file
} etx_process_memory;

etx_process_memory etx_process_memory_read(void);

#endif
