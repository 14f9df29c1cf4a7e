// Requantisation of single sums in plain C, with the same steps in the same
// order as the vector loops of u8_loops.h.

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_U8_REQUANTIZE_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_U8_REQUANTIZE_H

#include <string.h>

#include "runtime/kernels/simd/int8/u8_loops.h"

// 1.5 * 2^23: adding and subtracting it rounds a number below 2^22 to an
// integer.
#define U8_ROUNDING 12582912.0f

static inline float u8_clamp(float x, float low, float high) {
  const float above = x > low ? x : low;
  return above < high ? above : high;
}

static inline uint8_t u8_byte(float x, float low, float high, int32_t zero) {
  const float limited = u8_clamp(x, low, high);
  return (uint8_t)((int32_t)((limited + U8_ROUNDING) - U8_ROUNDING) + zero);
}

enum { U8_MAX_SUMS = 64 };

// Stores the results of `count` sums, at most U8_MAX_SUMS, of channels from
// `channel` on, the first of them at element `at` of `out`.
static inline void u8_store(const etx_u8_requantize* r, const int32_t* sums,
                            size_t channel, size_t count, void* out,
                            size_t at) {
  const int32_t* offsets = r->offsets + channel;
  const float* scales = r->scales + channel;
  float f[U8_MAX_SUMS];
  for (size_t c = 0; c < count; ++c) {
    // Unsigned, because offsets of a damaged file may overflow.
    const int32_t sum = (int32_t)((uint32_t)sums[c] + (uint32_t)offsets[c]);
    f[c] = (float)sum * scales[c];
  }
  if (r->bias != NULL) {
    for (size_t c = 0; c < count; ++c) f[c] += r->bias[channel + c];
  }
  if (r->is_float) {
    memcpy((float*)out + at, f, count * sizeof *f);
    return;
  }
  uint8_t* bytes = (uint8_t*)out + at;
  for (size_t c = 0; c < count; ++c) {
    bytes[c] = u8_byte(f[c], r->low, r->high, r->zero);
  }
}

// etx_u8_loops.max_of_rows of channels from `first` up to `end`.
static inline void u8_max_of_rows(const uint8_t* const* rows, size_t row_count,
                                  size_t columns, size_t pitch, size_t first,
                                  size_t end, uint8_t* out) {
  for (size_t r = 0; r < row_count; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const uint8_t* in = rows[r] + c * pitch;
      for (size_t i = first; i < end; ++i) {
        if (in[i] > out[i]) out[i] = in[i];
      }
    }
  }
}

// etx_u8_loops.has_nan.
static inline bool u8_has_nan(const float* x, size_t count) {
  int found = 0;
  for (size_t i = 0; i < count; ++i) found |= x[i] != x[i];
  return found != 0;
}

#endif
