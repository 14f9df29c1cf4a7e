// Twelve accumulators in named registers. An FMA has a latency of four or five
// cycles and two start in each cycle, so at least ten are needed to keep both
// units busy.

#include <immintrin.h>
#include <string.h>

#include "cli/machine/machine_peak.h"

#define TWELVE(DO) \
  DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

// The loop over twelve accumulators. START initialises accumulator i, STEP
// updates it in each iteration, JOIN adds it to `all`.
#define LOOP_TWELVE(iterations)               \
  TWELVE(START)                               \
  for (uint64_t i = 0; i < iterations; ++i) { \
    TWELVE(STEP)                              \
  }                                           \
  TWELVE(JOIN)

#define MULTIPLY(name, features, vector, lanes, set)                          \
  __attribute__((target(features))) static uint64_t name(uint64_t iterations, \
                                                         float* sink) {       \
    const vector factor = set(0.999f), term = set(*sink);                     \
    vector all = factor;                                                      \
    LOOP_TWELVE(iterations)                                                   \
    for (int i = 0; i < lanes; ++i) *sink += ((const float*)&all)[i];         \
    return iterations * 12 * lanes;                                           \
  }

#define START(i) __m512 s##i = _mm512_set1_ps(0.1f * i);
#define STEP(i) s##i = _mm512_fmadd_ps(s##i, factor, term);
#define JOIN(i) all = _mm512_add_ps(all, s##i);
MULTIPLY(multiply_avx512, "avx512f", __m512, 16, _mm512_set1_ps)
#undef START
#undef STEP
#undef JOIN
#define START(i) __m256 s##i = _mm256_set1_ps(0.1f * i);
#define STEP(i) s##i = _mm256_fmadd_ps(s##i, factor, term);
#define JOIN(i) all = _mm256_add_ps(all, s##i);
MULTIPLY(multiply_fma, "avx2,fma", __m256, 8, _mm256_set1_ps)
#undef START
#undef STEP
#undef JOIN
// Without FMA a product and a sum count as one multiply-add.
#define START(i) __m128 s##i = _mm_set1_ps(0.1f * i);
#define STEP(i) s##i = _mm_add_ps(_mm_mul_ps(s##i, factor), term);
#define JOIN(i) all = _mm_add_ps(all, s##i);
MULTIPLY(multiply_plain, "sse2", __m128, 4, _mm_set1_ps)
#undef START
#undef STEP
#undef JOIN

uint64_t etx_machine_peak_multiply_f32(uint64_t iterations, float* sink) {
  if (__builtin_cpu_supports("avx512f"))
    return multiply_avx512(iterations, sink);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return multiply_fma(iterations, sink);
  }
  return multiply_plain(iterations, sink);
}

// int8: VNNI multiplies four bytes of each lane in one instruction. Without it,
// kernels widen bytes to 16 bits, and two instructions do two products of each
// lane.
#define MULTIPLY_BYTES(name, features, vector, lanes, each, set)              \
  __attribute__((target(features))) static uint64_t name(uint64_t iterations, \
                                                         int32_t* sink) {     \
    const vector factor = set(0x01020304), term = set(*sink);                 \
    vector all = factor;                                                      \
    LOOP_TWELVE(iterations)                                                   \
    uint32_t sum = 0, own[lanes];                                             \
    memcpy(own, &all, sizeof own);                                            \
    for (int i = 0; i < lanes; ++i) sum += own[i];                            \
    *sink = (int32_t)sum;                                                     \
    return iterations * 12 * lanes * each;                                    \
  }

#define START(i) __m512i s##i = _mm512_set1_epi32(i);
#define STEP(i) s##i = _mm512_dpbusd_epi32(s##i, factor, term);
#define JOIN(i) all = _mm512_add_epi32(all, s##i);
MULTIPLY_BYTES(multiply_bytes_vnni, "avx512f,avx512vnni", __m512i, 16, 4,
               _mm512_set1_epi32)
#undef START
#undef STEP
#undef JOIN
#define START(i) __m256i s##i = _mm256_set1_epi32(i);
#define STEP(i) s##i = _mm256_add_epi32(_mm256_madd_epi16(s##i, factor), term);
#define JOIN(i) all = _mm256_add_epi32(all, s##i);
MULTIPLY_BYTES(multiply_bytes_avx2, "avx2", __m256i, 8, 2, _mm256_set1_epi32)
#undef START
#undef STEP
#undef JOIN
#define START(i) __m128i s##i = _mm_set1_epi32(i);
#define STEP(i) s##i = _mm_add_epi32(_mm_madd_epi16(s##i, factor), term);
#define JOIN(i) all = _mm_add_epi32(all, s##i);
MULTIPLY_BYTES(multiply_bytes_plain, "sse2", __m128i, 4, 2, _mm_set1_epi32)
#undef START
#undef STEP
#undef JOIN

uint64_t etx_machine_peak_multiply_int8(uint64_t iterations, int32_t* sink) {
  if (__builtin_cpu_supports("avx512vnni")) {
    return multiply_bytes_vnni(iterations, sink);
  }
  return __builtin_cpu_supports("avx2")
             ? multiply_bytes_avx2(iterations, sink)
             : multiply_bytes_plain(iterations, sink);
}

// Reads four quarters of the memory side by side: the hardware prefetcher stops
// at the end of a page, so four streams hide its start-up.
__attribute__((target("avx2"))) static uint64_t read_avx2(const uint64_t* words,
                                                          size_t count) {
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  const size_t quarter = count / 32 * 2;  // vectors in a quarter
  const __m256i* at = (const __m256i*)(const void*)words;
  for (size_t i = 0; i < quarter; i += 2, at += 2) {
    for (size_t j = 0; j < 2; ++j) {
      a = _mm256_add_epi64(a, _mm256_loadu_si256(at + j));
      b = _mm256_add_epi64(b, _mm256_loadu_si256(at + quarter + j));
      c = _mm256_add_epi64(c, _mm256_loadu_si256(at + 2 * quarter + j));
      d = _mm256_add_epi64(d, _mm256_loadu_si256(at + 3 * quarter + j));
    }
  }
  a = _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d));
  uint64_t lanes[4];
  _mm256_storeu_si256((__m256i*)(void*)lanes, a);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

uint64_t etx_machine_peak_read(const uint64_t* words, size_t count) {
  return __builtin_cpu_supports("avx2")
             ? read_avx2(words, count)
             : etx_machine_peak_read_scalar(words, count);
}
