// How many of everything a method has, and where in the structures block.

#ifndef ETX_RUNTIME_LOAD_METHOD_LAYOUT_H
#define ETX_RUNTIME_LOAD_METHOD_LAYOUT_H

#include "format/base/arena.h"
#include "runtime/method/method_types.h"
#include "runtime/program/operator_cache.h"

// Clears the method and finds its plan and the blob's description.
ETX_MUST_USE etx_status etx_method_layout_find(etx_method* method,
                                               const etx_program* program,
                                               etx_text name, etx_diag* diag);
// Sets the counts of a method that was found, and how many bytes of scratch and
// state it needs. `operators` is the plan's, here and below: one for a whole
// load.
ETX_MUST_USE etx_status etx_method_layout_count(etx_method* method,
                                                etx_operator_cache* operators,
                                                etx_memory_needed* out_needed,
                                                etx_diag* diag);
// Takes every array from `arena`; false if it is too small.
bool etx_method_layout_take(etx_method* method, etx_arena* arena);

#endif
