// Sizes of what calls write. Without dynamic sizes there is nothing to set, and
// in files that are believed nothing to check.

#ifndef ETX_RUNTIME_SHAPES_METHOD_SIZES_H
#define ETX_RUNTIME_SHAPES_METHOD_SIZES_H

#include "format/base/build_parts.h"
#include "runtime/method/method_types.h"

enum { ETX_METHOD_SIZES = ETX_VERIFIER || ETX_DYNAMIC };

// Sets the sizes of a tensor that is dynamic. Whoever accepted them has seen
// that strides fit.
void etx_method_set_sizes(etx_method_tensor* tensor, const int32_t* sizes);
// Gives it sizes if they are others than it has; refuses those that it has no
// room for, and all but its own to one that is not dynamic.
ETX_MUST_USE etx_status etx_method_resize(etx_method* method,
                                          etx_method_tensor* tensor,
                                          const int32_t* sizes, etx_diag* diag);
// Gives what a kernel writes the sizes that the shape rule finds, or those that
// `like`, whose arguments look the same, gave its result (NULL: none does).
ETX_MUST_USE etx_status etx_method_size_outputs(etx_method* method,
                                                etx_method_record* record,
                                                const etx_method_record* like);
// Gives the result of a view its sizes.
ETX_MUST_USE etx_status etx_method_size_view(etx_method* method,
                                             const etx_method_record* record,
                                             etx_method_tensor* target);
// Gives an output the sizes that its kernel has found: etx_resizer.resize, with
// the method as context. Refuses more elements than the file has room for, and
// other sizes than those of a tensor that is fixed.
ETX_MUST_USE etx_status etx_method_resize_output(void* context,
                                                 const etx_value* output,
                                                 const int32_t* sizes);

// True if the value was used before in this phase and so may not change; the
// method then goes over to the other mode.
bool etx_method_defer_if_used(etx_method* method, const etx_value* value);

#endif
