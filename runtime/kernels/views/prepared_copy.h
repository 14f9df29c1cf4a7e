// One strided copy between two arguments of a call, whose description is made
// when the call is prepared. Most operators that move data are such a copy. For
// small tensors, a run costs little more than the copy of the bytes.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_PREPARED_COPY_H
#define ETX_RUNTIME_KERNELS_VIEWS_PREPARED_COPY_H

#include "runtime/kernel.h"
#include "runtime/kernels/views/strided_view.h"

// Stores in `prepared` a copy from `from`, a view of argument `from_argument`
// that is broadcast, to `to`, a view of argument `to_argument`. False if the
// types differ or the description does not fit into `prepared`.
bool etx_copy_plan(etx_call* call, size_t to_argument,
                   const etx_strided_view* to, size_t from_argument,
                   const etx_strided_view* from);

// Runs the copy of etx_copy_plan. It does nothing if target and source have the
// same address.
etx_status etx_copy_planned(etx_call* call);

// Sets the call's `run` to the planned copy, or else to `general`, which must
// do the same.
void etx_prepare_copy(etx_call* call, size_t to_argument,
                      const etx_strided_view* to, size_t from_argument,
                      const etx_strided_view* from,
                      etx_kernel_function general);

// For operators that copy from the first argument to the last, of one type: a
// function that changes the views of both to the parts that are copied.
typedef void (*etx_copy_describe)(const etx_call* call, etx_strided_view* to,
                                  etx_strided_view* from);

// Refuses different types, then prepares. `general` is a function that calls
// etx_run_described.
etx_status etx_prepare_described(etx_call* call, etx_copy_describe describe,
                                 etx_kernel_function general);
// Prepares a copy from all of the first argument to all of the last, of one
// type, that is described by `copy`, which is simplified. Views of both need
// not be made, so that a change of sizes costs less.
void etx_prepare_strides(etx_call* call, etx_copy* copy,
                         etx_kernel_function general);
etx_status etx_run_described(const etx_call* call, etx_copy_describe describe);

#endif
