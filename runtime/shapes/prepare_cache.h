// Finds equal earlier calls, such as those of another layer, whose sizes and
// prepared kernel can be reused.

#ifndef ETX_RUNTIME_SHAPES_PREPARE_CACHE_H
#define ETX_RUNTIME_SHAPES_PREPARE_CACHE_H

#include "runtime/method/method_types.h"

// A record of a recent call of the same operator that was prepared in this
// phase and whose arguments, except the result, match: equal numbers, tensors
// of equal types, sizes and strides. The results of `record` have the same
// sizes. NULL if there is none.
const etx_method_record* etx_prepare_cache_find(
    const etx_method* method, const etx_method_record* record);
// True if the results of two such calls match, too, after their sizes were set:
// then the prepared kernel of one is valid for the other.
bool etx_prepare_cache_has_same_result(const etx_method_record* a,
                                       const etx_method_record* b);

#endif
