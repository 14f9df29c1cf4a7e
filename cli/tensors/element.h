// Single elements of any type: read as a number, written from a number or from
// text, printed. For commands, where speed does not matter.

#ifndef ETX_CLI_TENSORS_ELEMENT_H
#define ETX_CLI_TENSORS_ELEMENT_H

#include "format/base/status.h"
#include "format/tensor/dtype.h"

// Element `index` of dense `data` as a double. Halves and bfloat16 are
// widened; complex and opaque types give 0.
double etx_element_real(etx_dtype dtype, const void* data, size_t index);

// Element `index` of an integer or boolean type, exactly.
int64_t etx_element_integer(etx_dtype dtype, const void* data, size_t index);

// Reads "3", "-0.5", "1e-3", "inf", "nan", "true" as an element of `dtype` and
// stores it. False if the text is not a number, the type holds no such number
// (3.5 in an integer, 300 in a byte), or the type is complex or opaque.
bool etx_element_parse(etx_dtype dtype, etx_text text, void* data,
                       size_t index);

// Prints the element so that etx_element_parse gives it back. Returns the
// length; `capacity` of 40 is always enough.
size_t etx_element_print(etx_dtype dtype, const void* data, size_t index,
                         char* out, size_t capacity);

#endif
