// Sets of dtypes as text, for tables of operators.

#ifndef ETX_CLI_TENSORS_DTYPE_SET_H
#define ETX_CLI_TENSORS_DTYPE_SET_H

#include "format/tensor/dtype.h"

// Enough for the text of any set.
#define ETX_DTYPE_SET_TEXT_BYTES 128

// The dtypes that kernels compute with, in order. Others can only be copied.
enum { ETX_DTYPE_SET_MEMBER_COUNT = 12 };
extern const etx_dtype etx_dtype_set_members[ETX_DTYPE_SET_MEMBER_COUNT];

// Writes a set as text: "bool, integers, float32", or "-" if it is empty. Bit d
// of `bits` stands for dtype d. "integers" are uint8 and int8 to int64,
// "floats" those of 16 to 64 bits, "complex" complex64 and complex128. Returns
// `out`, which has ETX_DTYPE_SET_TEXT_BYTES.
const char* etx_dtype_set_text(uint32_t bits, char* out);

#endif
