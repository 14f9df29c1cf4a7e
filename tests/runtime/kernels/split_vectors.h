// Fused multiply-add, maximum and minimum of vectors of 64 bytes in C, for
// tests of loops for such registers on every machine. Include before the
// templates.

#ifndef ETX_TESTS_RUNTIME_KERNELS_SPLIT_VECTORS_H
#define ETX_TESTS_RUNTIME_KERNELS_SPLIT_VECTORS_H

#include <math.h>

// A function that is not inlined: inlined at some hundred places, the sixteen
// fmaf calls took a compiler more than a minute.
static __attribute__((noinline)) void add_products(const float* a,
                                                   const float* b, float* sum) {
  for (int lane = 0; lane < 16; ++lane) {
    sum[lane] = fmaf(a[lane], b[lane], sum[lane]);
  }
}

#define ETX_F32_FMA(a, b, c)                                                  \
  __extension__({                                                             \
    const etx_f32_vec own_a = (a), own_b = (b);                               \
    etx_f32_vec own_c = (c);                                                  \
    add_products((const float*)&own_a, (const float*)&own_b, (float*)&own_c); \
    own_c;                                                                    \
  })

static __attribute__((noinline)) void pick_largest(const float* a, float* b) {
  for (int lane = 0; lane < 16; ++lane) {
    if (a[lane] > b[lane]) b[lane] = a[lane];
  }
}

static __attribute__((noinline)) void pick_least(const float* a, float* b) {
  for (int lane = 0; lane < 16; ++lane) {
    if (a[lane] < b[lane]) b[lane] = a[lane];
  }
}

#define FUSED_PICK(pick, a, b)                   \
  __extension__({                                \
    const etx_f32_vec own_a = (a);               \
    etx_f32_vec picked = (b);                    \
    pick((const float*)&own_a, (float*)&picked); \
    picked;                                      \
  })
#define ETX_F32_MAX(a, b) FUSED_PICK(pick_largest, a, b)
#define ETX_F32_MIN(a, b) FUSED_PICK(pick_least, a, b)

#endif
