// Discrete Fourier transforms of one line of complex numbers, any length.
//
//   out[k] = sum over j of in[j] e^(-2 pi i j k / n)
//
// The caller provides etx_fft_plan_bytes of memory for tables and buffers.
// Everything is computed in double. A plan may be used any number of times, by
// one thread at a time.

#ifndef ETX_RUNTIME_KERNELS_TRANSFORM_FFT_PLAN_H
#define ETX_RUNTIME_KERNELS_TRANSFORM_FFT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct etx_complex {
  double re;
  double im;
} etx_complex;

static inline etx_complex etx_complex_multiply(etx_complex a, etx_complex b) {
  const etx_complex product = {a.re * b.re - a.im * b.im,
                               a.re * b.im + a.im * b.re};
  return product;
}
static inline etx_complex etx_complex_conjugate(etx_complex a) {
  const etx_complex conjugate = {a.re, -a.im};
  return conjugate;
}

// Factors of a length whose prime factors are small.
typedef struct etx_fft_factors {
  uint8_t factors[32];
  size_t count;
} etx_fft_factors;

typedef struct etx_fft_plan {
  size_t n;
  etx_complex* line;  // [n], input and output of a transform
  // Private.
  etx_complex* spare;         // as long as `line`
  const etx_complex* roots;   // e^(-2 pi i t / length)
  size_t length;              // n, or the length of the convolution
  etx_fft_factors factors;    // factors of `length`
  const etx_complex* chirp;   // [n], NULL unless by convolution
  const etx_complex* kernel;  // [length], transformed
} etx_fft_plan;

// Bytes for a plan of length `n`, at least 1, and the maximum for all lengths
// up to `n`. SIZE_MAX if that does not fit a size_t.
size_t etx_fft_plan_bytes(size_t n);
size_t etx_fft_plan_bytes_up_to(size_t n);

// Makes a plan in `memory`, aligned to 16 bytes.
void etx_fft_plan_init(etx_fft_plan* plan, size_t n, void* memory);

// Transforms `line`.
void etx_fft_plan_run(etx_fft_plan* plan);

// Sets roots[t] to e^(-2 pi i t / n) for t < count <= n, correct to two units
// in the last place.
void etx_fft_roots(etx_complex* roots, size_t count, size_t n);

#endif
