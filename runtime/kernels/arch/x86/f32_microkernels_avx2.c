#include "runtime/kernels/arch/x86/f32_microkernels_sets_x86.h"
#ifdef __x86_64__
#include "runtime/kernels/arch/x86/gemm_unrolled_avx2_template.h"
#define GEMM_EIGHT_TAPS gemm_eight_taps
#define CONV_OC_DENSE_EIGHTS conv_oc_eight_taps
#endif

#define VECTOR_BYTES 32
#define GEMM_ROWS 6
#define GEMM_GROUPS 1
#define GEMM_MIN_SUMS 8
#define DOT_ROWS 3
#define DOT_COLUMNS 2
#define GEMM_NT_COLUMNS_OF_TWO 3
#define GEMM_NT_COLUMNS_OF_ONE 4
#include "runtime/kernels/simd/f32/f32_microkernels_template.h"

const etx_f32_microkernels etx_f32_microkernels_avx2 =
    ETX_F32_MICROKERNELS("avx2");
