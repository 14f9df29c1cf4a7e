// Vectors of sixteen bytes and dot products of signed bytes (SDOT).
// No parameters.

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum {
  BYTES = 16,  // bytes of a register
  LANES = 4,   // lanes of four bytes
};

// Adds four sums of four products each. Inline assembly, because clang before
// 16 knows the intrinsics only if the whole file is compiled for them.
static inline __attribute__((unused)) int32x4_t add_dots(int32x4_t sums,
                                                         int8x16_t a,
                                                         int8x16_t b) {
  __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums) : "w"(a), "w"(b));
  return sums;
}

// The same with one group of four bytes of a row, number `place` of its
// register, for four columns.
static inline __attribute__((always_inline, unused)) int32x4_t add_four(
    int32x4_t sums, int8x16_t four_columns, int8x16_t fours_of_row,
    size_t place) {
#define ADD(four)                                \
  __asm__("sdot %0.4s, %1.16b, %2.4b[" #four "]" \
          : "+w"(sums)                           \
          : "w"(four_columns), "w"(fours_of_row))
  switch (place) {
    case 0:
      ADD(0);
      break;
    case 1:
      ADD(1);
      break;
    case 2:
      ADD(2);
      break;
    default:
      ADD(3);
      break;
  }
#undef ADD
  return sums;
}

static inline __attribute__((unused)) int8x16_t load_bytes(const void* from) {
  return vld1q_s8(from);
}

// Four bytes, repeated in all lanes.
static inline __attribute__((unused)) int8x16_t load_four(const void* from) {
  int32_t four;
  memcpy(&four, from, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// The horizontal sums of four registers.
static inline __attribute__((unused)) int32x4_t totals(const int32x4_t v[4]) {
  return vpaddq_s32(vpaddq_s32(v[0], v[1]), vpaddq_s32(v[2], v[3]));
}

// A barrier that keeps later loads after it. Without it compilers move all
// loads of a loop to its start and run out of registers.
#define READS_STAY __asm__ volatile("" ::: "memory")
