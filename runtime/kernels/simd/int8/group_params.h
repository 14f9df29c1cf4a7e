// The parameters of a group of 4-bit weights whose row has a scale: what the
// scale is multiplied with, 0 to 255, in the low byte, and an offset in
// sixteenths of a step, -128 to 127, in the high byte:
//
//   w = (16 * q + offset) * (scale * factor),  q in -8..7

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_GROUP_PARAMS_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_GROUP_PARAMS_H

#include <stdint.h>

// Parts of a step, and their number of bits.
enum { ETX_GROUP_PARTS = 16, ETX_GROUP_SHIFT = 4 };

static inline int32_t etx_group_factor(int32_t params) { return params & 255; }
static inline int32_t etx_group_offset(int32_t params) { return params >> 8; }

#endif
