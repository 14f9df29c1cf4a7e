// Parallel regions of methods (runtime/regions.h), with memory from malloc.
//
//   etx_module_regions regions = {NULL};
//   etx_module_regions_use(&regions, method, &pool.launcher, 4, &diag);
//   etx_method_run(method, &diag);
//   etx_module_regions_release(&regions);
//
// One object serves any number of methods of one module. It is used by one
// thread at a time.

#ifndef ETX_RUNTIME_MODULE_MODULE_REGIONS_H
#define ETX_RUNTIME_MODULE_MODULE_REGIONS_H

#include "runtime/launcher.h"
#include "runtime/method.h"

typedef struct etx_module_regions {
  struct etx_module_region_block* blocks;  // one for each method and limit
} etx_module_regions;

// Lets a method, whose inputs are set, run at most `limit` regions at a time; a
// limit above ETX_REGIONS_MOST counts as that. Call it before every run: it
// does nothing if the method uses regions already, uses variants (variants.h)
// or has an observer. Fails as etx_method_prepare and etx_method_use_regions
// do.
ETX_MUST_USE etx_status etx_module_regions_use(etx_module_regions* regions,
                                               etx_method* method,
                                               const etx_launcher* launcher,
                                               size_t limit, etx_diag* diag);

// Ends the use of regions and frees their memory. The methods are still loaded,
// and none is running.
void etx_module_regions_release(etx_module_regions* regions);

#endif
