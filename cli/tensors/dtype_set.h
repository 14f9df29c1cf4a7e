// Sets of element types in words, for tables of operators.

#ifndef ETX_CLI_TENSORS_DTYPE_SET_H
#define ETX_CLI_TENSORS_DTYPE_SET_H

#include "format/tensor/dtype.h"

// Room for the words of any set.
#define ETX_DTYPE_SET_TEXT_BYTES 128

// Types that kernels compute with, in order; the others are only moved.
enum { ETX_DTYPE_SET_MEMBER_COUNT = 12 };
extern const etx_dtype etx_dtype_set_members[ETX_DTYPE_SET_MEMBER_COUNT];

// "bool, integers, float32" for a set of bits by code, of the types above; "-"
// for none. Integers are uint8 and int8 to int64, floats those of 16 to 64
// bits, complex those of 64 and 128. Returns `out`, which has
// ETX_DTYPE_SET_TEXT_BYTES.
const char* etx_dtype_set_text(uint32_t bits, char* out);

#endif
