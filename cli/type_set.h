// Sets of element types in words, for tables of operators.

#ifndef ETX_CLI_TYPE_SET_H
#define ETX_CLI_TYPE_SET_H

#include "format/tensor/dtype.h"

// Room for the words of any set.
#define ETX_TYPE_SET_BYTES 128

// Types that kernels compute with, in order; the others are only moved.
enum { ETX_TYPE_SET_COUNT = 12 };
extern const etx_dtype etx_type_set_members[ETX_TYPE_SET_COUNT];

// "bool, integers, float32" for a set of bits by code, of the types above; "-"
// for none. Integers are uint8 and int8 to int64, floats those of 16 to 64
// bits, complex those of 64 and 128. Returns `out`, which has
// ETX_TYPE_SET_BYTES.
const char* etx_type_set_words(uint32_t bits, char* out);

#endif
