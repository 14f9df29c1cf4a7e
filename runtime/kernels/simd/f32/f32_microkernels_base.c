#include "runtime/kernels/simd/vector/loop_unrolled.h"

#define VECTOR_BYTES 16
#define GEMM_GROUPS 1
#ifdef ETX_LOOPS_ARE_SHORT  // one block for all
#define GEMM_NT_COLUMNS_OF_TWO 1
#define GEMM_NT_COLUMNS_OF_ONE 1
#else
#define GEMM_NT_COLUMNS_OF_TWO 2
#define GEMM_NT_COLUMNS_OF_ONE 2
#endif
#ifdef __aarch64__  // 32 registers
#define GEMM_ROWS 6
#define GEMM_KEEP_LOADS_IN_PLACE __asm__ volatile("" ::: "memory")
#define GEMM_MIN_SUMS 16
#define DOT_ROWS 3
#define DOT_COLUMNS 2
#else
#define GEMM_ROWS 3
#define GEMM_MIN_SUMS 8
#define DOT_ROWS 2
#define DOT_COLUMNS 1
#endif
#include "runtime/kernels/simd/f32/f32_microkernels_template.h"

const etx_f32_microkernels etx_f32_microkernels_base =
    ETX_F32_MICROKERNELS("base");
