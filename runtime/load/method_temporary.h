// The temporary memory that a method's kernels need.

#ifndef ETX_RUNTIME_LOAD_METHOD_TEMPORARY_H
#define ETX_RUNTIME_LOAD_METHOD_TEMPORARY_H

#include "runtime/method/method_types.h"
#include "runtime/program/operator_cache.h"

// The largest number of temporary bytes that a kernel of `plan` may need at
// upper-bound sizes. Reads one instruction at a time from the file, and only
// those whose kernel states temporary bytes. Instructions without a kernel in
// this build, or with arguments of wrong kinds, count as 0: loading the method
// refuses them.
ETX_MUST_USE etx_status etx_method_temporary_of_plan(
    const etx_program* program, const etx_pte_plan* plan,
    etx_operator_cache* operators, size_t* out_bytes, etx_diag* diag);

// The same for a method whose records are decoded and whose tensors have their
// upper-bound sizes.
ETX_MUST_USE etx_status etx_method_temporary_of_records(
    etx_method* method, etx_operator_cache* operators, size_t* out_bytes,
    etx_diag* diag);

#endif
