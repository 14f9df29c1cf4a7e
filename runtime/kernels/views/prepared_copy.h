// One copy between two arguments of a call, described when the call is
// prepared: what most operators that move data are. Small tensors cost little
// more than the bytes that are moved.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_PREPARED_COPY_H
#define ETX_RUNTIME_KERNELS_VIEWS_PREPARED_COPY_H

#include "runtime/kernel.h"
#include "runtime/kernels/views/strided_view.h"

// Leaves in `prepared` a copy from `from`, a view of argument `from_argument`,
// broadcast, to `to`, a view of argument `to_argument`. False if that changes
// types or needs more numbers than there is room for.
bool etx_copy_plan(etx_call* call, size_t to_argument,
                   const etx_strided_view* to, size_t from_argument,
                   const etx_strided_view* from);

// Does what etx_copy_plan has left. Nothing happens if the target lies exactly
// on the source.
etx_status etx_copy_planned(etx_call* call);

// Chooses the call's `run`: the planned copy, or else `general`, which has to
// do the same.
void etx_prepare_copy(etx_call* call, size_t to_argument,
                      const etx_strided_view* to, size_t from_argument,
                      const etx_strided_view* from,
                      etx_kernel_function general);

// Most operators: from the first argument to the last, of one type. They say by
// a function which parts of the two are copied, in any order of dimensions.
typedef void (*etx_copy_describe)(const etx_call* call, etx_strided_view* to,
                                  etx_strided_view* from);

// Refuses two types, then prepares. `general` is a function that calls
// etx_run_described.
etx_status etx_prepare_described(etx_call* call, etx_copy_describe describe,
                                 etx_kernel_function general);
etx_status etx_run_described(const etx_call* call, etx_copy_describe describe);

#endif
