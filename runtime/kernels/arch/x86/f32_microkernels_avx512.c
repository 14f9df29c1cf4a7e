#include "runtime/kernels/arch/x86/f32_microkernels_sets_x86.h"
#if defined(__x86_64__) && defined(__AVX512F__) && !defined(__OPTIMIZE_SIZE__)
#include "runtime/kernels/arch/x86/gemm_unrolled_avx512_template.h"
#define GEMM_ADD_TILE gemm_add_tile
#endif

#define VECTOR_BYTES 64
#define GEMM_ROWS 6
#define GEMM_GROUPS 4
#define GEMM_MIN_SUMS 8
#define GEMM_PREFETCH_EACH_TAP
#ifdef __AVX512F__  // tests compile this without
// 32 registers: the first ones that a tap may use, and the rest in fours.
#define SPOILED_FIRST                                                        \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",    \
      "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", \
      "xmm17", "xmm18", "xmm19", "xmm20"
#define SPOILED_21 "xmm21", "xmm22", "xmm23", "xmm24"
#define SPOILED_25 "xmm25", "xmm26", "xmm27", "xmm28"
#define SPOILED_29 "xmm29", "xmm30", "xmm31"
#define GEMM_CLOBBER_ALL \
  __asm__ volatile("" ::: SPOILED_FIRST, SPOILED_21, SPOILED_25, SPOILED_29)
#define GEMM_CLOBBER_REST(used)                            \
  do {                                                     \
    if ((used) <= 21) __asm__ volatile("" ::: SPOILED_21); \
    if ((used) <= 25) __asm__ volatile("" ::: SPOILED_25); \
    if ((used) <= 29) __asm__ volatile("" ::: SPOILED_29); \
  } while (0)
#endif
#define DOT_ROWS 7
#define DOT_COLUMNS 4
#include "runtime/kernels/simd/f32/f32_microkernels_template.h"

const etx_f32_microkernels etx_f32_microkernels_avx512 =
    ETX_F32_MICROKERNELS("avx512");
