// Runs independent parts of a method at the same time.
//
//   etx_method_regions_needed(&method, 2, &bytes, &diag);
//   etx_method_use_regions(&method, &pool.launcher, 2, memory, &diag);
//   etx_method_run(&method, &diag);      // the regions run on the pool's
//   threads
//
// Nothing about regions is stored in the file, so no file can claim that parts
// are independent which are not. The runtime compares the memory of all
// instructions of the loaded method: two of them conflict if one writes bytes
// that the other reads or writes. Parts of the method without such a conflict
// are regions. A plan that reuses memory makes conflicts; `etx plan
// --parallel-regions` keeps the memory of independent parts apart.
//
// Results have the same bits as those of a run without regions. A failure is
// that of the first instruction, in the order of the file, that fails: the
// status and message that a run without regions has. Instructions that write
// state or draw random numbers, or whose values have no known memory, never run
// beside others.

#ifndef ETX_RUNTIME_REGIONS_H
#define ETX_RUNTIME_REGIONS_H

#include "runtime/launcher.h"
#include "runtime/method.h"

struct etx_method_regions;  // in the caller's memory

// Bytes of memory that etx_method_use_regions needs for at most `region_limit`
// regions at a time, from 1 to ETX_REGIONS_MOST. A region beyond the first has
// temporary memory of its own. ETX_BAD_ARGUMENT: another limit;
// ETX_OUT_OF_RANGE: more bytes than this machine can address.
ETX_MUST_USE etx_status etx_method_regions_needed(const etx_method* method,
                                                  size_t region_limit,
                                                  size_t* out_bytes,
                                                  etx_diag* diag);

// Finds the regions of the method; its runs submit them to the launcher from
// then on, until etx_method_observe, etx_method_forget or etx_method_reset is
// called. `memory`, which is aligned to ETX_MEMORY_ALIGNMENT, and the launcher
// are borrowed until then. A method of varying sizes must have been prepared
// (etx_method_prepare). A method whose control flow or sizes depend on data has
// no regions, and neither has one with an observer or with variants in use
// (variants.h). ETX_BAD_STATE: the method
// is not prepared, or running; ETX_OUT_OF_MEMORY, ETX_BAD_ARGUMENT: the memory
// is too small or not aligned, or as above.
ETX_MUST_USE etx_status etx_method_use_regions(etx_method* method,
                                               const etx_launcher* launcher,
                                               size_t region_limit,
                                               etx_bytes_mut memory,
                                               etx_diag* diag);

// Instructions that runs of the method do beside others; 0: it has no regions.
size_t etx_method_region_steps(const etx_method* method);

// One step of a run with regions, for tools that show or prove what may run at
// the same time.
typedef struct etx_region_step {
  size_t instruction;  // position among the instructions of all chains
  size_t group_end;    // one past the last step of its group; 0: it runs alone
  size_t region;       // number of its region in the group
} etx_region_step;

// Step `step` of a run. False: the method uses no regions, or has no such step.
bool etx_method_region_step_at(const etx_method* method, size_t step,
                               etx_region_step* out_step);

// The temporary memory of the kernels in region `region`. Its data is NULL if
// the method uses no regions or fewer, or if its kernels need none.
etx_bytes_mut etx_method_region_temporary(const etx_method* method,
                                          size_t region);

#endif
