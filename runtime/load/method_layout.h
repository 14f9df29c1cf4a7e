// Sizes of a method's arrays, and their allocation in the structures block.

#ifndef ETX_RUNTIME_LOAD_METHOD_LAYOUT_H
#define ETX_RUNTIME_LOAD_METHOD_LAYOUT_H

#include "format/base/arena.h"
#include "runtime/method/method_types.h"
#include "runtime/program/operator_cache.h"

// Clears the method and finds its plan and its description in the blob.
ETX_MUST_USE etx_status etx_method_layout_find(etx_method* method,
                                               const etx_program* program,
                                               etx_text name, etx_diag* diag);
// Sets the counts of a method that was found, and returns the bytes of scratch
// and state that it needs. `operators` is a cache of the plan's operators,
// which the whole load shares.
ETX_MUST_USE etx_status etx_method_layout_count(etx_method* method,
                                                etx_operator_cache* operators,
                                                etx_memory_needed* out_needed,
                                                etx_diag* diag);
// Takes every array from `arena`; false if it is too small.
bool etx_method_layout_take(etx_method* method, etx_arena* arena);

#endif
