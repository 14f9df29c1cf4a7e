// Late records (late_values.h) that need not be prepared again, because what
// they were prepared with has not changed since.
//
// A method with late values has a clock, which advances with each change that a
// record sees. Each late value has its last content that a record was prepared
// with (a number, or sizes and root) and the time at which that content
// changed; each late record has the time at which it was prepared:
//
//   n = item(count)        runs in each run; n is 5 as in the last run
//   y = x[0:n]             prepared at 7, n changed at 6: stays prepared
//   z = relu(y)            prepared at 8, the sizes of y changed at 7: stays
//
// So a run with equal late values prepares nothing, and one with a new late
// value prepares the records behind it whose arguments changed. What a late
// record computes from equal arguments is equal, too, so the sizes of its
// outputs are taken over from its last run. A kernel that sets the sizes of its
// outputs gets their bounds again before it runs.
//
// After a run in which nothing changed, the next ones compare less
// (ETX_FLOW_SAME). Sizes and roots of late values stay as they are, and the
// step of a late kernel calls it at once, as if it had been prepared ahead.
// Only what a record reads from data is compared: a number, or the sizes that a
// kernel sets. Once one of them has changed, the rest of the run compares all.
// This needs a method without jumps and moves in which a late value is computed
// before it is read: all records that compute it gave it the same sizes and
// root in the last run, and nothing sees what it had before the first of them.
//
// The shape phase starts anew: all late records count as unprepared after it.

#ifndef ETX_RUNTIME_SHAPES_LATE_VERSIONS_H
#define ETX_RUNTIME_SHAPES_LATE_VERSIONS_H

#include "runtime/method/method_types.h"

// Prepares the versions of a method whose values are decoded.
void etx_late_versions_init(etx_method* method);
// Makes all late records unprepared.
void etx_late_versions_restart(etx_method* method);
// Prepares a late record that is a kernel, a number or a view, or takes over
// what it was prepared with; binds its results to memory. Numbers are computed.
// A failure leaves its message in `kernel_diag`.
ETX_MUST_USE etx_status etx_late_versions_prepare(etx_method* method,
                                                  etx_method_record* record);

// Begins a run: true if late values are as in the last run and need no restart.
bool etx_late_same_begin(etx_method* method);
// Compares the late results of a record that was run. What changed counts as a
// change of this run, and ends one that compares less.
void etx_late_compare_results(etx_method* method,
                              const etx_method_record* record);
// Gives the late results of a record the sizes and roots with which a run
// starts. A kernel that sets sizes needs that, because the run may not have
// restarted them.
void etx_late_restart_results(etx_method* method,
                              const etx_method_record* record);
// Ends a run, which began when the clock was at `clock`.
void etx_late_same_end(etx_method* method, etx_status status, uint64_t clock);

#endif
