// The vector type of float32 microkernels, etx_f32_vec, and a fused multiply-
// add a * b + c that is rounded once. Every instruction set gives the same
// bits: those without an FMA instruction compute the product and the sum in
// double. Also the larger and the smaller of two vectors, a lanewise choice,
// the even and the odd lanes of two vectors, and a shift by one lane.
//
// Matrix products of float64 use no FMA on any machine. They are rare, and
// without the instruction an FMA of double would take about forty instructions.
//
//   VECTOR_BYTES          required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)  optional  a test's own version, with 64 bytes only
//   ETX_F32_MAX(a, b)     optional  the same; comes with ETX_F32_MIN(a, b)

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include <stddef.h>
#include <stdint.h>

#include "runtime/kernels/simd/vector/f32_fma_wasm.h"

typedef float etx_f32_vec __attribute__((vector_size(VECTOR_BYTES)));
typedef int etx_f32_vec_mask __attribute__((vector_size(VECTOR_BYTES)));

enum {
  ETX_F32_LANES = VECTOR_BYTES / (int)sizeof(float),
  ETX_F32_DOT_SUMS = 16,  // partial sums of a dot product
  ETX_F32_DOT_VECS = ETX_F32_DOT_SUMS / ETX_F32_LANES,  // vectors of them
};

// The compilers' builtins instead of <immintrin.h>, which includes heap
// functions.
#if VECTOR_BYTES == 64
#define ETX_F32_BROADCAST(x) \
  (etx_f32_vec) { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x }
#ifndef ETX_F32_FMA  // tests have their own
#define ETX_F32_FMA(a, b, c) \
  __builtin_ia32_vfmaddps512_mask(a, b, c, ETX_F32_FULL_MASK, 4)
#endif
#ifdef __clang__
#define ETX_F32_FULL_MASK (unsigned short)0xffff
#else
#define ETX_F32_FULL_MASK (short)-1
#endif
#elif VECTOR_BYTES == 32
#define ETX_F32_BROADCAST(x) \
  (etx_f32_vec) { x, x, x, x, x, x, x, x }
#define ETX_F32_FMA(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#else
#define ETX_F32_BROADCAST(x) \
  (etx_f32_vec) { x, x, x, x }
#define ETX_F32_FMA(a, b, c) etx_f32_vec_fma(a, b, c)

#if defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)

static inline etx_f32_vec etx_f32_vec_fma(etx_f32_vec a, etx_f32_vec b,
                                          etx_f32_vec c) {
#if defined(__aarch64__) && __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#else
  for (int i = 0; i < ETX_F32_LANES; ++i) {
    c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  }
  return c;
#endif
}

#elif defined(__wasm_simd128__)

static inline etx_f32_vec etx_f32_vec_fma(etx_f32_vec a, etx_f32_vec b,
                                          etx_f32_vec c) {
  return etx_f32_fma_wasm(a, b, c);
}

#else

// An FMA of float from double arithmetic. The product of two floats is exact in
// double, the sum with c is not. Rounding the double sum to float gives the
// correctly rounded result unless the double lies exactly between two floats
// (its last 29 bits show that) or the result is denormal. Only these cases take
// the slow path, which rounds the sum to odd first: an inexact sum gets its
// last bit set. That is enough because a double has more than twice the bits of
// a float plus two. The fast path takes about thirty instructions; it is not
// inlined, because a call costs little beside them and the loops would grow a
// hundredfold.
static __attribute__((noinline)) etx_f32_vec etx_f32_vec_fma(etx_f32_vec a,
                                                             etx_f32_vec b,
                                                             etx_f32_vec c) {
  typedef double wide __attribute__((vector_size(VECTOR_BYTES * 2)));
  typedef uint64_t double_bits __attribute__((vector_size(VECTOR_BYTES * 2)));
  typedef uint64_t pair __attribute__((vector_size(VECTOR_BYTES)));
  const wide p =
      __builtin_convertvector(a, wide) * __builtin_convertvector(b, wide);
  const wide d = __builtin_convertvector(c, wide);
  const wide sum = p + d;
  const etx_f32_vec_mask last =
      __builtin_convertvector((double_bits)sum & 0x1fffffff, etx_f32_vec_mask);
  const etx_f32_vec_mask first = __builtin_convertvector(
      (double_bits)sum >> 32 & 0x7fffffff, etx_f32_vec_mask);
  // 0x38100000 begins 2^-126.
  const pair differs =
      (pair)((last == 0x10000000) | ((first > 0) & (first < 0x38100000)));
  if (__builtin_expect((differs[0] | differs[1]) == 0, 1)) {
    return __builtin_convertvector(sum, etx_f32_vec);
  }
  // The rounding error of the addition (2Sum); NaN if the sum is not finite.
  const wide back = sum - p;
  const wide lost = (p - (sum - back)) + (d - back);
  const double_bits is_lossy = (double_bits)((lost < 0) | (lost > 0));
  // Round to odd: move an even last bit towards the error.
  const double_bits is_down = ((double_bits)lost ^ (double_bits)sum) >> 63;
  const double_bits is_even = ((double_bits)sum & 1) - 1;
  const double_bits odd =
      (double_bits)sum + ((1 - (is_down << 1)) & is_lossy & is_even);
  return __builtin_convertvector((wide)odd, etx_f32_vec);
}

#endif
#endif

#if VECTOR_BYTES == 64 && defined(__AVX512F__)

// The first `count` elements, at most 15; the other lanes are zeros, and their
// memory is not read.
static inline __attribute__((unused, always_inline)) etx_f32_vec
etx_f32_vec_of_first(const float* from, size_t count) {
  const unsigned short mask = (unsigned short)((1u << count) - 1);
  return __builtin_ia32_loadups512_mask(from, (etx_f32_vec){0}, mask);
}

#endif

// Lanes of a where the mask is set, of b elsewhere.
static inline __attribute__((unused, always_inline)) etx_f32_vec
etx_f32_vec_select(etx_f32_vec a, etx_f32_vec b, etx_f32_vec_mask takes) {
  return (etx_f32_vec)((takes & (etx_f32_vec_mask)a) |
                       (~takes & (etx_f32_vec_mask)b));
}

// The larger and the smaller of each pair; b if they are equal or unordered
// (NaN). Do not pass the constant -0: clang 14 folds it as smaller than 0.
#if VECTOR_BYTES == 64
#ifndef ETX_F32_MAX  // tests have their own
#ifdef __clang__
#define ETX_F32_MAX(a, b) __builtin_ia32_maxps512(a, b, 4)
#define ETX_F32_MIN(a, b) __builtin_ia32_minps512(a, b, 4)
#else
#define ETX_F32_MAX(a, b) \
  __builtin_ia32_maxps512_mask(a, b, b, ETX_F32_FULL_MASK, 4)
#define ETX_F32_MIN(a, b) \
  __builtin_ia32_minps512_mask(a, b, b, ETX_F32_FULL_MASK, 4)
#endif
#endif
#elif VECTOR_BYTES == 32
#define ETX_F32_MAX(a, b) __builtin_ia32_maxps256(a, b)
#define ETX_F32_MIN(a, b) __builtin_ia32_minps256(a, b)
#else
#define ETX_F32_MAX(a, b) etx_f32_vec_select(a, b, (a) > (b))
#define ETX_F32_MIN(a, b) etx_f32_vec_select(a, b, (a) < (b))
#endif

// EVEN and ODD: the even or the odd lanes of a, followed by those of b.
// SHIFT_IN: the first lane of `first`, followed by all lanes of x but the last.
#if VECTOR_BYTES == 64
#define ETX_F32_EVEN(a, b)                                                     \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, \
                          26, 28, 30)
#define ETX_F32_ODD(a, b)                                                      \
  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, \
                          27, 29, 31)
#define ETX_F32_SHIFT_IN(first, x)                                             \
  __builtin_shufflevector(first, x, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, \
                          26, 27, 28, 29, 30)
#elif VECTOR_BYTES == 32
#define ETX_F32_EVEN(a, b) \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ETX_F32_ODD(a, b) \
  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define ETX_F32_SHIFT_IN(first, x) \
  __builtin_shufflevector(first, x, 0, 8, 9, 10, 11, 12, 13, 14)
#else
#define ETX_F32_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ETX_F32_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#endif

// Keeps a loaded vector in its register. Without it gcc folds the load into
// each instruction that uses the vector.
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define ETX_F32_KEEP(x) __asm__("" : "+v"(x))
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
#define ETX_F32_KEEP(x) __asm__("" : "+x"(x))
#else
#define ETX_F32_KEEP(x) (void)0
#endif

// The sum of the sixteen partial sums of a dot product: halves are added until
// one number is left.
static inline __attribute__((unused)) float etx_f32_vec_sum(
    const etx_f32_vec* parts) {
  typedef float quarter __attribute__((vector_size(16)));
#if VECTOR_BYTES == 64
  typedef float half __attribute__((vector_size(32)));
  const half h =
      __builtin_shufflevector(parts[0], parts[0], 0, 1, 2, 3, 4, 5, 6, 7) +
      __builtin_shufflevector(parts[0], parts[0], 8, 9, 10, 11, 12, 13, 14, 15);
#elif VECTOR_BYTES == 32
  const etx_f32_vec h = parts[0] + parts[1];
#endif
#if VECTOR_BYTES >= 32
  const quarter v = __builtin_shufflevector(h, h, 0, 1, 2, 3) +
                    __builtin_shufflevector(h, h, 4, 5, 6, 7);
#else
  const quarter v = (parts[0] + parts[2]) + (parts[1] + parts[3]);
#endif
  return (v[0] + v[2]) + (v[1] + v[3]);
}
