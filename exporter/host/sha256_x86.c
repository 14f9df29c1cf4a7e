// SHA-256 with the SHA extensions: an instruction computes two rounds, and two
// more compute four words of the message schedule. These instructions keep the
// state in the order a b e f | c d g h, from the highest word to the lowest.

#include "exporter/host/sha256_internal.h"

#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>

#define USES_SHA __attribute__((target("sha,sse4.1,ssse3")))

typedef struct state_halves {
  __m128i abef;
  __m128i cdgh;
} state_halves;

USES_SHA static state_halves load_state(const uint32_t state[8]) {
  const __m128i dcba = _mm_loadu_si128((const __m128i*)(const void*)state);
  const __m128i hgfe =
      _mm_loadu_si128((const __m128i*)(const void*)(state + 4));
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  return (state_halves){.abef = _mm_alignr_epi8(cdab, efgh, 8),
                        .cdgh = _mm_blend_epi16(efgh, cdab, 0xf0)};
}

USES_SHA static void store_state(state_halves from, uint32_t state[8]) {
  const __m128i feba = _mm_shuffle_epi32(from.abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(from.cdgh, 0xb1);
  const __m128i dcba = _mm_blend_epi16(feba, dchg, 0xf0);
  const __m128i hgfe = _mm_alignr_epi8(dchg, feba, 8);
  _mm_storeu_si128((__m128i*)(void*)state, dcba);
  _mm_storeu_si128((__m128i*)(void*)(state + 4), hgfe);
}

// Four words, which the message stores in big endian order.
USES_SHA static __m128i load_words(const uint8_t* bytes) {
  const __m128i order =
      _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)(const void*)bytes),
                          order);
}

USES_SHA static state_halves add_block(const uint32_t* constants,
                                       state_halves state,
                                       const uint8_t* block) {
  __m128i w[4];
  state_halves s = state;
  for (int i = 0; i < 4; ++i) w[i] = load_words(block + 16 * i);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const __m128i k =
        _mm_loadu_si128((const __m128i*)(const void*)(constants + 4 * i));
    const __m128i sum = _mm_add_epi32(w[i % 4], k);
    s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, sum);
    s.abef =
        _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(sum, 0x0e));
    if (i >= 12) continue;
    const __m128i last = w[(i + 3) % 4];
    const __m128i middle = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
    const __m128i first = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);
    w[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(first, middle), last);
  }
  return (state_halves){.abef = _mm_add_epi32(s.abef, state.abef),
                        .cdgh = _mm_add_epi32(s.cdgh, state.cdgh)};
}

USES_SHA static void add_blocks(const uint32_t* constants, uint32_t state[8],
                                const uint8_t* blocks, size_t count) {
  state_halves s = load_state(state);
  for (size_t i = 0; i < count; ++i)
    s = add_block(constants, s, blocks + 64 * i);
  store_state(s, state);
}

static bool has_sha(void) {
  enum { SHA = 1 << 29 };
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & SHA) != 0 &&
         __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
}

etx_sha256_blocks* etx_sha256_instructions(void) {
  return has_sha() ? add_blocks : NULL;
}
