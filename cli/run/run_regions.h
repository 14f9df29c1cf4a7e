// Memory for parallel regions (runtime/regions.h) of several methods: allocated
// when regions of a method are first used, freed all at once.

#ifndef ETX_CLI_RUN_RUN_REGIONS_H
#define ETX_CLI_RUN_RUN_REGIONS_H

#include "runtime/launcher.h"
#include "runtime/method.h"

typedef struct etx_run_regions {
  struct etx_run_region_block* blocks;  // one for each method and limit
} etx_run_regions;

// Lets a method, whose inputs are set, run at most `limit` regions at a time.
// Does nothing if it uses regions already or has an observer.
ETX_MUST_USE etx_status etx_run_regions_use(etx_run_regions* regions,
                                            etx_method* method,
                                            const etx_launcher* launcher,
                                            size_t limit, etx_diag* diag);

// Frees the memory, which no method may use any more.
void etx_run_regions_release(etx_run_regions* regions);

#endif
