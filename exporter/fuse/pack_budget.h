// Which weights are stored in a second order, for kernels that read panels,
// besides the order that other kernels read.
//
// With panels, a kernel need not pack the weight in each run. That saves time
// in proportion to the bytes of the weight for each layer that reads them. So
// the gain per byte is the number of these layers.

#ifndef ETX_EXPORTER_FUSE_PACK_BUDGET_H
#define ETX_EXPORTER_FUSE_PACK_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct etx_pack_copy {
  uint32_t constant;  // of the module
  uint64_t reads;     // layers that would read the copy
  uint64_t bytes;     // of the copy
  bool is_taken;      // the answer
} etx_pack_copy;

// Takes copies while they fit into `budget` bytes: those with most reads first,
// of these the larger ones first, then in the order of constants. A copy that
// does not fit is passed over. Sorts the copies, and returns the bytes of those
// that were taken, which are never more than the budget.
uint64_t etx_pack_budget_choose(etx_pack_copy* copies, size_t count,
                                uint64_t budget);

#endif
