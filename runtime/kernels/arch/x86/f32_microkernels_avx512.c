#include "runtime/kernels/arch/x86/f32_microkernels_sets_x86.h"
#if defined(__x86_64__) && defined(__AVX512F__)  // tests compile it without
#include "runtime/kernels/arch/x86/gemm_unrolled_avx512_template.h"
#ifndef __OPTIMIZE_SIZE__
#define GEMM_ADD_TILE gemm_add_tile
#endif
#define GEMM_CLOBBER_ALL __asm__ volatile("" ::: SPOILED_ALL)
#define GEMM_CLOBBER_REST(used)                            \
  do {                                                     \
    if ((used) <= 21) __asm__ volatile("" ::: SPOILED_21); \
    if ((used) <= 25) __asm__ volatile("" ::: SPOILED_25); \
    if ((used) <= 29) __asm__ volatile("" ::: SPOILED_29); \
  } while (0)
#endif

#define VECTOR_BYTES 64
#define GEMM_ROWS 6
#define GEMM_GROUPS 4
#define GEMM_MIN_SUMS 8
#define GEMM_PREFETCH_EACH_TAP
#define DOT_ROWS 7
#define DOT_COLUMNS 4
#include "runtime/kernels/simd/f32/f32_microkernels_template.h"

const etx_f32_microkernels etx_f32_microkernels_avx512 =
    ETX_F32_MICROKERNELS("avx512");
