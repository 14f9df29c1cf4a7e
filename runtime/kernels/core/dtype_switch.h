// Dispatch by element type.
//
//   ETX_SWITCH_INTEGRAL(dtype, T, { ... body that uses the C type T ... })
//
// runs the body with T as the C type of `dtype` if that is bool (T is uint8_t)
// or an integer type other than uint64, and does nothing for other types and
// for types that this build leaves out.

#ifndef ETX_RUNTIME_KERNELS_CORE_DTYPE_SWITCH_H
#define ETX_RUNTIME_KERNELS_CORE_DTYPE_SWITCH_H

#include <stdint.h>

#include "format/tensor/dtype.h"
#include "runtime/built_types.h"

#define ETX_CASE(NAME, T, ctype, ...) \
  case ETX_DTYPE_##NAME: {            \
    typedef ctype T;                  \
    if (ETX_HAS_DTYPE(NAME)) {        \
      __VA_ARGS__                     \
    }                                 \
    break;                            \
  }

#define ETX_SWITCH_INTEGRAL(dtype, T, ...)   \
  switch (dtype) {                           \
    ETX_CASE(BOOL, T, uint8_t, __VA_ARGS__)  \
    ETX_CASE(UINT8, T, uint8_t, __VA_ARGS__) \
    ETX_CASE(INT8, T, int8_t, __VA_ARGS__)   \
    ETX_CASE(INT16, T, int16_t, __VA_ARGS__) \
    ETX_CASE(INT32, T, int32_t, __VA_ARGS__) \
    ETX_CASE(INT64, T, int64_t, __VA_ARGS__) \
    default:                                 \
      break;                                 \
  }

// An element of 16 bytes, for code that only moves it.
typedef struct etx_two_words {
  uint64_t low, high;
} etx_two_words;

// The same with an unsigned type of `bytes` bytes, for code that only moves
// elements.
#define ETX_SWITCH_BYTES(bytes, T, ...) \
  switch (bytes) {                      \
    case 1: {                           \
      typedef uint8_t T;                \
      __VA_ARGS__                       \
      break;                            \
    }                                   \
    case 2: {                           \
      typedef uint16_t T;               \
      __VA_ARGS__                       \
      break;                            \
    }                                   \
    case 4: {                           \
      typedef uint32_t T;               \
      __VA_ARGS__                       \
      break;                            \
    }                                   \
    case 8: {                           \
      typedef uint64_t T;               \
      __VA_ARGS__                       \
      break;                            \
    }                                   \
    case 16: {                          \
      typedef etx_two_words T;          \
      __VA_ARGS__                       \
      break;                            \
    }                                   \
    default:                            \
      break;                            \
  }

#endif
