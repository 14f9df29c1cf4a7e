// Which storages a method has, and which steps access them.

#ifndef ETX_CLI_MEMORY_MEMORY_USES_H
#define ETX_CLI_MEMORY_MEMORY_USES_H

#include "cli/memory/memory_storage.h"

// Finds the storages and accesses of `m`, whose addresses and steps are known
// (etx_verify_assign_addresses, etx_verify_find_steps).
ETX_MUST_USE etx_status etx_memory_uses_find(etx_verify_method* m,
                                             etx_memory_uses* out_uses);

#endif
