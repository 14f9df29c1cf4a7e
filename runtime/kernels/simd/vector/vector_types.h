// Vectors by element type and lanes: etx_f32x8 has eight floats. The arithmetic
// of C works on them lane by lane, with every compiler and instruction set.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_VECTOR_TYPES_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_VECTOR_TYPES_H

#include <stdint.h>

// 8 bytes.
typedef int8_t etx_i8x8 __attribute__((vector_size(8)));
typedef uint8_t etx_u8x8 __attribute__((vector_size(8)));
typedef uint16_t etx_u16x4 __attribute__((vector_size(8)));

// 16 bytes. Comparisons of vectors give integers: all bits set or none.
typedef int8_t etx_i8x16 __attribute__((vector_size(16)));
typedef uint8_t etx_u8x16 __attribute__((vector_size(16)));
typedef int16_t etx_i16x8 __attribute__((vector_size(16)));
typedef uint16_t etx_u16x8 __attribute__((vector_size(16)));
typedef int32_t etx_i32x4 __attribute__((vector_size(16)));
typedef uint32_t etx_u32x4 __attribute__((vector_size(16)));
typedef int64_t etx_i64x2 __attribute__((vector_size(16)));
typedef float etx_f32x4 __attribute__((vector_size(16)));
typedef double etx_f64x2 __attribute__((vector_size(16)));

// 32 bytes.
typedef uint8_t etx_u8x32 __attribute__((vector_size(32)));
typedef int16_t etx_i16x16 __attribute__((vector_size(32)));
typedef uint16_t etx_u16x16 __attribute__((vector_size(32)));
typedef int32_t etx_i32x8 __attribute__((vector_size(32)));
typedef uint32_t etx_u32x8 __attribute__((vector_size(32)));
typedef float etx_f32x8 __attribute__((vector_size(32)));
typedef double etx_f64x4 __attribute__((vector_size(32)));

// 64 bytes.
typedef uint8_t etx_u8x64 __attribute__((vector_size(64)));
typedef int16_t etx_i16x32 __attribute__((vector_size(64)));
typedef uint16_t etx_u16x32 __attribute__((vector_size(64)));
typedef int32_t etx_i32x16 __attribute__((vector_size(64)));
typedef uint32_t etx_u32x16 __attribute__((vector_size(64)));
typedef float etx_f32x16 __attribute__((vector_size(64)));
typedef double etx_f64x8 __attribute__((vector_size(64)));

// The compilers' builtins for x86 take vectors of char and of long long, which
// gcc does not convert from vectors of int8_t and int64_t.
typedef char etx_charx16 __attribute__((vector_size(16)));
typedef char etx_charx32 __attribute__((vector_size(32)));
typedef char etx_charx64 __attribute__((vector_size(64)));
typedef long long etx_longx2 __attribute__((vector_size(16)));
typedef long long etx_longx4 __attribute__((vector_size(32)));
typedef long long etx_longx8 __attribute__((vector_size(64)));

#endif
