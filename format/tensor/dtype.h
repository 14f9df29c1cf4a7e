// Scalar types of tensors: codes, sizes, names, and PyTorch's promotion.
//
// Codes are those of the .pte schema, which are PyTorch's. Everything here is
// a pure function of its arguments.

#ifndef ETX_FORMAT_TENSOR_DTYPE_H
#define ETX_FORMAT_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"

// The type of a tensor's elements: the rows of dtype.def.
typedef enum etx_dtype {
#define DTYPE(NAME, name, code, bytes, category) ETX_DTYPE_##NAME = code,
#include "format/tensor/dtype.def"
#undef DTYPE
  ETX_DTYPE_COUNT  // one more than the largest code
} etx_dtype;

// What kind of number a type holds, lowest in promotion first.
typedef enum etx_dtype_category {
  ETX_CATEGORY_BOOLEAN,   // bool
  ETX_CATEGORY_INTEGER,   // signed and unsigned integers
  ETX_CATEGORY_FLOATING,  // IEEE halves, bfloat16, single, double
  ETX_CATEGORY_COMPLEX,   // pairs of floats, real part first
  ETX_CATEGORY_OPAQUE,    // quantised and bit types: moved, never computed
} etx_dtype_category;

// True if `code` is one of the listed types.
bool etx_dtype_is_valid(int64_t code);

// Bytes of one element.
size_t etx_dtype_bytes(etx_dtype dtype);

// Alignment of an element: its bytes, at most 8.
size_t etx_dtype_alignment(etx_dtype dtype);

// True if `offset`, an address or an offset in bytes, is a multiple of it.
bool etx_dtype_is_aligned(etx_dtype dtype, uint64_t offset);

// Name as PyTorch prints it without "torch.", such as "float32".
const char* etx_dtype_name(etx_dtype dtype);

// Finds a type by that name; false if there is none.
bool etx_dtype_find(etx_text name, etx_dtype* out_dtype);

// The category that dtype.def states for the type.
etx_dtype_category etx_dtype_category_of(etx_dtype dtype);

// The common type of two tensors (torch.promote_types), both with dimensions.
// False if the pair has none (opaque types, unsigned 16 to 64 bits with
// others).
bool etx_dtype_promote(etx_dtype a, etx_dtype b, etx_dtype* out_dtype);

// The type of a tensor of `dtype` combined with a Python number of category
// `scalar` (BOOLEAN, INTEGER or FLOATING): the number counts by category only
// (torch.result_type). A float number turns integers into float32.
etx_dtype etx_dtype_promote_scalar(etx_dtype dtype, etx_dtype_category scalar);

// The complex type of a floating type's precision; bfloat16 has complex64.
etx_dtype etx_dtype_to_complex(etx_dtype real);

// The type of a complex type's real and imaginary parts; any other type is
// returned unchanged.
etx_dtype etx_dtype_real_type(etx_dtype dtype);

// True for float16 and bfloat16.
static inline bool etx_dtype_is_half(etx_dtype dtype) {
  return dtype == ETX_DTYPE_FLOAT16 || dtype == ETX_DTYPE_BFLOAT16;
}

#endif
