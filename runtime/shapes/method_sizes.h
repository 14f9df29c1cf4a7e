// Sizes of outputs. A build without dynamic sizes sets none, and one without a
// verifier checks none.

#ifndef ETX_RUNTIME_SHAPES_METHOD_SIZES_H
#define ETX_RUNTIME_SHAPES_METHOD_SIZES_H

#include "format/base/build_parts.h"
#include "runtime/method/method_types.h"

enum { ETX_METHOD_SIZES = ETX_VERIFIER || ETX_DYNAMIC };

// Sets the sizes of a dynamic tensor. The caller has checked that strides fit.
void etx_method_set_sizes(etx_method_tensor* tensor, const int32_t* sizes);
// True if the tensor has these sizes now.
bool etx_method_has_sizes(const etx_method_tensor* tensor,
                          const int32_t* sizes);
// Resizes a tensor. Refuses sizes beyond its memory, and any change of a tensor
// that is not dynamic.
ETX_MUST_USE etx_status etx_method_resize(etx_method* method,
                                          etx_method_tensor* tensor,
                                          const int32_t* sizes, etx_diag* diag);
// Sets the sizes of a call's outputs: those of `cached`, an equal earlier call,
// or if it is NULL those that the shape function computes.
ETX_MUST_USE etx_status
etx_method_size_outputs(etx_method* method, etx_method_record* record,
                        const etx_method_record* cached);
// Sets the sizes of a view.
ETX_MUST_USE etx_status etx_method_size_view(etx_method* method,
                                             const etx_method_record* record,
                                             etx_method_tensor* target);
// Sets the sizes that a kernel has computed: etx_resizer.resize, with the
// method as context. Refuses the same sizes as etx_method_resize.
ETX_MUST_USE etx_status etx_method_resize_output(void* context,
                                                 const etx_value* output,
                                                 const int32_t* sizes);

// True if the value was used before in this phase, so that its number, sizes or
// root (`bits`, see ETX_LATE_SIZES) must not change now. A build without
// dynamic sizes refuses the method then.
bool etx_method_defer_if_used(etx_method* method, const etx_value* value,
                              uint8_t bits);

#endif
