// Conversions between element types and the three types that kernels compute
// in.
//
//   in memory                         in a kernel's buffer
//   bool u8 i8 i16 i32 i64            int64_t   ETX_COMPUTE_I64
//   f16 bf16 f32                      float     ETX_COMPUTE_F32
//   f64                               double    ETX_COMPUTE_F64
//
// So an operator needs three loops and not one for each pair of types. Blocks
// of elements are converted to the compute type in a buffer on the stack,
// computed there and converted back when they are stored. Contiguous operands
// that already have the compute type are used in place.

#ifndef ETX_RUNTIME_KERNELS_CORE_CONVERT_H
#define ETX_RUNTIME_KERNELS_CORE_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/tensor/dtype.h"
#include "runtime/kernels/simd/vector/compute_type.h"

// Elements of a block.
enum { ETX_BLOCK = 64 };

// Where the loops of wider sets store vectors: one that lies across two cache
// lines costs two stores. Sums of float16 took 1.3 times as long.
#if defined(__x86_64__) && !defined(__OPTIMIZE_SIZE__)
#define ETX_BLOCK_ALIGNMENT _Alignas(64)
#else
#define ETX_BLOCK_ALIGNMENT
#endif

typedef union etx_block {
  int64_t i64[ETX_BLOCK];
  ETX_BLOCK_ALIGNMENT float f32[ETX_BLOCK];
  double f64[ETX_BLOCK];
} etx_block;

// The type that kernels compute `dtype` in; ETX_COMPUTE_NONE for other types.
__attribute__((const)) etx_compute_type etx_compute_type_of(etx_dtype dtype);

// The element type that needs no conversion to a compute type.
__attribute__((const)) etx_dtype etx_compute_type_dtype(
    etx_compute_type compute);

// Loads at most ETX_BLOCK elements, `stride` elements apart. Integers may be
// loaded as floats; floats never as integers. Bool loads as 0 or 1.
void etx_block_load(etx_block* block, etx_compute_type compute, etx_dtype dtype,
                    const void* in, ptrdiff_t stride, size_t count);

// Stores a block. Integers wrap; floats become integers as below; all numbers
// but zero become true.
void etx_block_store(const etx_block* block, etx_compute_type compute,
                     etx_dtype dtype, void* out, ptrdiff_t stride,
                     size_t count);

// Converts any number of elements between any two known types. A float
// outside an integer type's range, or NaN, gives the low bits of the smallest
// int32 or int64, as conversions of x86 do.
void etx_convert(etx_dtype to, void* out, ptrdiff_t out_stride, etx_dtype from,
                 const void* in, ptrdiff_t in_stride, size_t count);

// Stores a number as one element of `dtype`. `out` has room for 8 bytes.
void etx_convert_integer(etx_dtype dtype, int64_t value, void* out);
void etx_convert_real(etx_dtype dtype, double value, void* out);

#endif
