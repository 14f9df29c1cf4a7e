// Simulates a schedule: runs items one by one, undoes them, and tracks the live
// bytes.

#ifndef ETX_EXPORTER_SCHEDULE_LIVE_BYTES_SIMULATOR_H
#define ETX_EXPORTER_SCHEDULE_LIVE_BYTES_SIMULATOR_H

#include "exporter/schedule/schedule_problem.h"

typedef struct etx_live_bytes {
  const etx_schedule_problem* problem;
  etx_schedule_lists users;         // by block: items that touch it
  etx_schedule_lists predecessors;  // by item: items that must run earlier
  uint32_t* remaining;              // by block: how many users have not run yet
  uint32_t* remaining_xor;  // by block: the XOR of those users; if one remains,
                            // its number
  bool* is_live;            // by block
  bool* began_at;  // by entry of `touches`: the item made the block live
  uint64_t live;   // bytes of all live blocks
} etx_live_bytes;

// Live bytes if an item ran next.
typedef struct etx_live_bytes_cost {
  uint64_t step;   // while it runs
  uint64_t after;  // after it has run
} etx_live_bytes_cost;

// Starts in front of the first item. Arrays come from `pool`.
ETX_MUST_USE etx_status etx_live_bytes_open(etx_pool* pool,
                                            const etx_schedule_problem* problem,
                                            etx_live_bytes* out_simulator);
// Goes back to the start.
void etx_live_bytes_restart(etx_live_bytes* simulator);

etx_live_bytes_cost etx_live_bytes_cost_of(const etx_live_bytes* simulator,
                                           uint32_t item);
void etx_live_bytes_run(etx_live_bytes* simulator, uint32_t item);
// Undoes the item that ran last.
void etx_live_bytes_undo(etx_live_bytes* simulator, uint32_t item);

// The peak of the live bytes if all items run in this order.
uint64_t etx_live_bytes_peak(etx_live_bytes* simulator, const uint32_t* items);

// A lower bound of the peak of every order: the bytes that one item needs, or
// that are live at the start or the end.
uint64_t etx_live_bytes_bound(const etx_schedule_problem* problem);

#endif
