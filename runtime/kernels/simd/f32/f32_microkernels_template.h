// The loops of f32_microkernels.h for one instruction set, whose vector
// registers have VECTOR_BYTES. Sums of GEMM_ROWS rows and GEMM_GROUPS groups of
// lanes, or of DOT_ROWS times DOT_COLUMNS dots, fit in its registers;
// GEMM_MIN_SUMS vectors of them hide how long a step takes. GEMM_EIGHT_TAPS and
// CONV_OC_DENSE_EIGHTS, if they are defined, are a set's own ways through
// eights of taps. GEMM_PREFETCH_EACH_TAP, if it is defined, lets floats ask for
// memory with each tap (gemm_microkernel_template.h). GEMM_KEEP_LOADS_IN_PLACE,
// if it is defined, is what keeps a compiler from reading the weights of all
// rows at once, for which there are no registers; GEMM_CLOBBER_ALL and
// GEMM_CLOBBER_REST(used) what keeps it from leaving anything in vector
// registers (gemm_microkernel_template.h).

#include "runtime/kernels/simd/vector/f32_vec_template.h"
#include "runtime/kernels/simd/vector/exp2_template.h"
#include "runtime/kernels/simd/f32/row_copy_template.h"
#include "runtime/kernels/simd/f32/gemm_small_template.h"
#include "runtime/kernels/simd/f32/gemm_nt_template.h"
#include "runtime/kernels/simd/f32/max_pool_row_template.h"
#include "runtime/kernels/simd/f32/attention_scores_template.h"
#include "runtime/kernels/simd/f32/depthwise_row_template.h"
#include "runtime/kernels/simd/f32/conv_oc_dense_template.h"
#include "runtime/kernels/simd/f32/winograd_template.h"
#include "runtime/kernels/simd/f32/conv_oc_template.h"
#if VECTOR_BYTES >= 32
#include "runtime/kernels/simd/f32/conv_pixel_template.h"
#define CONV_PIXEL conv_pixel
#else
#define CONV_PIXEL NULL
#endif
#if VECTOR_BYTES >= 32
#include "runtime/kernels/simd/f32/depthwise_3x3_template.h"
#include "runtime/kernels/simd/f32/depthwise_5x5_7x7_template.h"
#define DEPTHWISE_PLANES depthwise_planes, DEPTHWISE_MAX_KERNEL
#else
#define DEPTHWISE_PLANES NULL, 0
#endif

#define T float
#define NAME(x) x##_f32
#define STEP(weight, x, sums) ETX_F32_FMA(ETX_F32_BROADCAST(weight), x, sums)
#define ROWS GEMM_ROWS
#ifdef GEMM_EIGHT_TAPS
#define EIGHT_TAPS GEMM_EIGHT_TAPS
#endif
#ifdef GEMM_PREFETCH_EACH_TAP
#define PREFETCH_EACH_TAP
#endif
#include "runtime/kernels/simd/f32/gemm_microkernel_template.h"
#undef EIGHT_TAPS
#undef PREFETCH_EACH_TAP
#undef T
#undef ROWS
// Wider types are rare, and their steps are two operations each: fewer rows
// keep them busy, in half the code.
#define ROWS 3
#undef NAME
#undef STEP
#define STEP(weight, x, sums) ((sums) + (weight) * (x))
#define T double
#define NAME(x) x##_f64
#include "runtime/kernels/simd/f32/gemm_microkernel_template.h"
#undef T
#undef NAME
// Integers wrap.
#define T uint64_t
#define NAME(x) x##_i64
#include "runtime/kernels/simd/f32/gemm_microkernel_template.h"
#undef T
#undef NAME
#undef STEP
#undef ROWS

#define ETX_F32_MICROKERNELS(name)                                          \
  {                                                                         \
    name,                                                                   \
        {add_products_i64, add_products_f32,                                \
         ETX_IF_DTYPE(FLOAT64, add_products_f64)},                          \
        dots, gemm_small, turn, copy_rows, store_rows, depthwise_row,       \
        max_pool_row, attention_weights, conv_oc_dense, conv_oc,            \
        conv_oc_store, {winograd_input, winograd_weights, winograd_output}, \
        DEPTHWISE_PLANES, CONV_PIXEL, GEMM_GROUPS                           \
  }
