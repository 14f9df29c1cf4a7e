// Calls that repeat one before them, as layers of a model do: what a kernel
// prepared for the one is taken over for the other.

#ifndef ETX_RUNTIME_SHAPES_PREPARE_CACHE_H
#define ETX_RUNTIME_SHAPES_PREPARE_CACHE_H

#include "runtime/method/method_types.h"

// A record of an earlier call of the same operator that was prepared in this
// phase, and whose arguments but for the result look the same: equal numbers,
// tensors of equal types, sizes and strides. What the shape rule said of it
// holds for `record`. NULL if none is near.
const etx_method_record* etx_prepare_cache_find(
    const etx_method* method, const etx_method_record* record);
// True if the results of two such calls look the same, too, now that they have
// their sizes: what the kernel chose for the one is right for the other.
bool etx_prepare_cache_has_same_result(const etx_method_record* a,
                                       const etx_method_record* b);

#endif
