// What loops for registers of 64 bytes are compiled with here: vectors that the
// compiler takes apart and the one instruction written out in C. Read before
// their files, whose names it changes.

#ifndef TESTS_RUNTIME_WIDE_VECTORS_H
#define TESTS_RUNTIME_WIDE_VECTORS_H

#include <math.h>

#define etx_panel_loops_avx512 loops_of_64_bytes
#define etx_panel_floats_avx512 floats_of_64_bytes

// A function, not sixteen calls at each of some hundred places: those took a
// compiler more than a minute.
static __attribute__((noinline, unused)) void add_products(const float* a,
                                                           const float* b,
                                                           float* sum) {
  for (int lane = 0; lane < 16; ++lane) {
    sum[lane] = fmaf(a[lane], b[lane], sum[lane]);
  }
}

#define ETX_FUSED_ADD(a, b, c)                                                \
  __extension__({                                                             \
    const etx_fused own_a = (a), own_b = (b);                                 \
    etx_fused own_c = (c);                                                    \
    add_products((const float*)&own_a, (const float*)&own_b, (float*)&own_c); \
    own_c;                                                                    \
  })

static __attribute__((noinline, unused)) void copy_some(const float* from,
                                                        float* to,
                                                        unsigned lanes) {
  for (unsigned lane = 0; lane < 16; ++lane) {
    if (lanes >> lane & 1) to[lane] = from[lane];
  }
}

#define ROW_LOAD_SOME(from, lanes)           \
  __extension__({                            \
    row_piece some = {0};                    \
    copy_some((from), (float*)&some, lanes); \
    some;                                    \
  })
#define ROW_STORE_SOME(to, x, lanes) \
  copy_some((const float*)&(x), (to), (lanes))

static __attribute__((noinline, unused)) void pick_largest(const float* a,
                                                           float* b) {
  for (int lane = 0; lane < 16; ++lane) {
    if (a[lane] > b[lane]) b[lane] = a[lane];
  }
}

static __attribute__((noinline, unused)) void pick_least(const float* a,
                                                         float* b) {
  for (int lane = 0; lane < 16; ++lane) {
    if (a[lane] < b[lane]) b[lane] = a[lane];
  }
}

#define FUSED_PICK(pick, a, b)                   \
  __extension__({                                \
    const etx_fused own_a = (a);                 \
    etx_fused picked = (b);                      \
    pick((const float*)&own_a, (float*)&picked); \
    picked;                                      \
  })
#define ETX_FUSED_LARGER(a, b) FUSED_PICK(pick_largest, a, b)
#define ETX_FUSED_SMALLER(a, b) FUSED_PICK(pick_least, a, b)

#endif
