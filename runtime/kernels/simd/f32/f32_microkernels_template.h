// All float32 microkernels of one instruction set (f32_microkernels.h), and the
// macro ETX_F32_MICROKERNELS that makes the table of them. Includes the
// templates of the single microkernels.
//
//   VECTOR_BYTES                 required
//       bytes of a vector register: 16, 32 or 64
//   GEMM_ROWS                    required
//       rows of the GEMM register block
//   GEMM_GROUPS                  required
//       lane groups (64 bytes) of the register block
//   GEMM_MIN_SUMS                required
//       vectors of accumulators that hide the latency of an FMA
//   DOT_ROWS                     required
//       rows of the GEMM NT register block
//   DOT_COLUMNS                  required
//       columns of the GEMM NT register block
//   GEMM_NT_COLUMNS_OF_TWO       optional
//       columns of a block of two rows; needed if DOT_ROWS <= 3
//   GEMM_NT_COLUMNS_OF_ONE       optional
//       the same for one row
//   GEMM_EIGHT_TAPS              optional
//       eight taps of GEMM at a time, in the set's own code
//   GEMM_ADD_TILE                optional
//       all taps of a GEMM block, in the set's own code
//   CONV_OC_DENSE_EIGHTS         optional
//       the same for conv_oc_dense_template.h
//   GEMM_PREFETCH_EACH_TAP       optional
//       defined: GEMM prefetches in every tap
//   GEMM_KEEP_LOADS_IN_PLACE     optional
//       statement that stops the compiler from loading the weights of all rows
//       at once
//   GEMM_CLOBBER_ALL             optional
//       statement that clobbers all vector registers
//   GEMM_CLOBBER_REST(used)      optional
//       statement that clobbers all but `used` of them

#if !defined(VECTOR_BYTES) || !defined(GEMM_ROWS) || !defined(GEMM_GROUPS) || \
    !defined(GEMM_MIN_SUMS) || !defined(DOT_ROWS) || !defined(DOT_COLUMNS)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/f32_vec_template.h"
#include "runtime/kernels/simd/vector/half_vec_template.h"
#include "runtime/kernels/simd/vector/exp2_template.h"
#include "runtime/kernels/simd/vector/transpose_registers_template.h"
#include "runtime/kernels/simd/f32/row_copy_template.h"
#include "runtime/kernels/simd/f32/transpose_pack_template.h"
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
#define CONV_PIXEL ETX_IF_ANY_LOOP(ETX_LOOP_f32_conv_pixel, conv_pixel)
#else
#define CONV_PIXEL NULL
#endif
#if VECTOR_BYTES >= 32
#include "runtime/kernels/simd/f32/depthwise_3x3_template.h"
#include "runtime/kernels/simd/f32/depthwise_5x5_7x7_template.h"
#define DEPTHWISE_PLANES                                            \
  ETX_IF_ANY_LOOP(ETX_LOOP_f32_depthwise_planes, depthwise_planes), \
      DEPTHWISE_MAX_KERNEL
#else
#define DEPTHWISE_PLANES NULL, 0
#endif

//   @dots  float32 | GEMM NT: dot products of rows with rows
//     (gemm_nt_dots_template.h) | {DOT_ROWS} x {DOT_COLUMNS} dot products
#define T float
#define NAME(x) x##_f32
#define LOAD(x, from) memcpy(&(x), (from), VECTOR_BYTES)
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
// With a mask: a copy to the stack that is loaded at once stalls the load.
#define LOAD_FIRST(x, from, count) ((x) = etx_f32_vec_of_first(from, count))
#endif
#define BLOCK_ROWS DOT_ROWS
#define TYPE_HAS_SHORT_DOTS
#include "runtime/kernels/simd/f32/gemm_nt_dots_template.h"
#undef TYPE_HAS_SHORT_DOTS
#undef BLOCK_ROWS
#undef LOAD_FIRST
#undef LOAD
#undef NAME
#undef T

// Every size of a block is some kilobytes of code, so halves have fewer of
// them: a set of seven rows has four, which take a sixth more instructions with
// 6 or 7 rows and as many with 8. Builds for size have one. So has SSE2, where
// the emulated FMA takes so long that larger blocks save nothing.
#if defined(__OPTIMIZE_SIZE__) ||                      \
    (VECTOR_BYTES == 16 && !defined(__FP_FAST_FMAF) && \
     !defined(__ARM_FEATURE_FMA))
#define BLOCK_ROWS 1
#elif DOT_ROWS > 4
#define BLOCK_ROWS 4
#else
#define BLOCK_ROWS DOT_ROWS
#endif

//   @dots_bf16  bfloat16 | GEMM NT, expanded to float32 in registers
//     (gemm_nt_dots_template.h) | {BLOCK_ROWS} x {DOT_COLUMNS} dot products
#define T uint16_t
#define NAME(x) x##_bf16
#define LOAD(x, from) ((x) = etx_f32_vec_of_bfloats(from))
#include "runtime/kernels/simd/f32/gemm_nt_dots_template.h"
#undef NAME
//   @mixed_dots_bf16  float32 x bfloat16 | GEMM NT with weights as stored
//     (gemm_nt_dots_template.h) | {BLOCK_ROWS} x {DOT_COLUMNS} dot products
#define NAME(x) mixed_##x##_bf16
#define LEFT_T float
#define LOAD_LEFT(x, from) memcpy(&(x), (from), VECTOR_BYTES)
#include "runtime/kernels/simd/f32/gemm_nt_dots_template.h"
#undef LOAD_LEFT
#undef LEFT_T
#undef NAME
#define NAME(x) x##_bf16
//   @half_dots_bf16  float32 x bfloat16 | dot products with rows as stored
//     (half_rows_template.h) | {HALF_DOT_ROWS} rows
//   @half_sums_bf16  float32 x bfloat16 | weighted sums of rows as stored
//     (half_rows_template.h) | {HALF_SUM_ROWS} x {HALF_SUM_VECS} vectors
#include "runtime/kernels/simd/f32/half_rows_template.h"
#undef LOAD
#undef NAME

//   @dots_f16  float16 | GEMM NT, expanded to float32 in registers
//     (gemm_nt_dots_template.h) | {BLOCK_ROWS} x {DOT_COLUMNS} dot products
#define NAME(x) x##_f16
#define LOAD(x, from) ((x) = etx_f32_vec_of_halves(from))
#include "runtime/kernels/simd/f32/gemm_nt_dots_template.h"
#undef NAME
//   @mixed_dots_f16  float32 x float16 | GEMM NT with weights as stored
//     (gemm_nt_dots_template.h) | {BLOCK_ROWS} x {DOT_COLUMNS} dot products
#define NAME(x) mixed_##x##_f16
#define LEFT_T float
#define LOAD_LEFT(x, from) memcpy(&(x), (from), VECTOR_BYTES)
#include "runtime/kernels/simd/f32/gemm_nt_dots_template.h"
#undef LOAD_LEFT
#undef LEFT_T
#undef NAME
#define NAME(x) x##_f16
//   @half_dots_f16  float32 x float16 | dot products with rows as stored
//     (half_rows_template.h) | {HALF_DOT_ROWS} rows
//   @half_sums_f16  float32 x float16 | weighted sums of rows as stored
//     (half_rows_template.h) | {HALF_SUM_ROWS} x {HALF_SUM_VECS} vectors
#include "runtime/kernels/simd/f32/half_rows_template.h"
#undef LOAD
#undef NAME
#undef T
#undef BLOCK_ROWS

//   @gemm_by_type_1  float32 | GEMM of packed panels
//     (gemm_microkernel_template.h) | {GEMM_ROWS} x {GEMM_GROUPS * 16}
#define T float
#define NAME(x) x##_f32
#define STEP(weight, x, sums) ETX_F32_FMA(ETX_F32_BROADCAST(weight), x, sums)
#define ROWS GEMM_ROWS
#ifdef GEMM_EIGHT_TAPS
#define EIGHT_TAPS GEMM_EIGHT_TAPS
#endif
#ifdef GEMM_ADD_TILE
#define ADD_TILE GEMM_ADD_TILE
#endif
#ifdef GEMM_PREFETCH_EACH_TAP
#define PREFETCH_EACH_TAP
#endif
#include "runtime/kernels/simd/f32/gemm_microkernel_template.h"
#undef EIGHT_TAPS
#undef ADD_TILE
#undef PREFETCH_EACH_TAP
#undef T
#undef ROWS
// Wider types are rare, and their steps are two operations each: fewer rows
// keep them busy, in half the code.
#define ROWS 3
#undef NAME
#undef STEP
#define STEP(weight, x, sums) ((sums) + (weight) * (x))
//   @gemm_by_type_2  float64 | GEMM (gemm_microkernel_template.h) | {ROWS} x
//     {GEMM_GROUPS * 8}
#define T double
#define NAME(x) x##_f64
#include "runtime/kernels/simd/f32/gemm_microkernel_template.h"
#undef T
#undef NAME
// Integers wrap.
//
//   @gemm_by_type_0  int64 | GEMM, wrapping (gemm_microkernel_template.h) |
//     {ROWS} x {GEMM_GROUPS * 8}
#define T uint64_t
#define NAME(x) x##_i64
#include "runtime/kernels/simd/f32/gemm_microkernel_template.h"
#undef T
#undef NAME
#undef STEP
#undef ROWS

#define ETX_F32_MICROKERNELS(name)                                            \
  {                                                                           \
    name,                                                                     \
        {ETX_IF_LOOP(ETX_LOOP_f32_gemm_by_type, ETX_LOOP_I64,                 \
                     add_products_i64),                                       \
         ETX_IF_LOOP(ETX_LOOP_f32_gemm_by_type | ETX_LOOP_f32_gemm_float,     \
                     ETX_LOOP_F32, add_products_f32),                         \
         ETX_IF_LOOP(ETX_LOOP_f32_gemm_by_type,                               \
                     (ETX_HAS_DTYPE(FLOAT64) ? ETX_LOOP_F64 : 0u),            \
                     add_products_f64)},                                      \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_dots, dots_f32),                         \
        ETX_IF_LOOP(ETX_LOOP_f32_dots_bf16,                                   \
                    (ETX_HAS_DTYPE(BFLOAT16) ? ETX_DTYPE_BIT(BFLOAT16) : 0u), \
                    dots_bf16),                                               \
        ETX_IF_LOOP(ETX_LOOP_f32_dots_f16,                                    \
                    (ETX_HAS_DTYPE(FLOAT16) ? ETX_DTYPE_BIT(FLOAT16) : 0u),   \
                    dots_f16),                                                \
        ETX_IF_LOOP(ETX_LOOP_f32_mixed_dots_bf16,                             \
                    (ETX_HAS_DTYPE(BFLOAT16) ? ETX_DTYPE_BIT(BFLOAT16) : 0u), \
                    mixed_dots_bf16),                                         \
        ETX_IF_LOOP(ETX_LOOP_f32_mixed_dots_f16,                              \
                    (ETX_HAS_DTYPE(FLOAT16) ? ETX_DTYPE_BIT(FLOAT16) : 0u),   \
                    mixed_dots_f16),                                          \
        ETX_IF_LOOP(ETX_LOOP_f32_half_dots_bf16,                              \
                    (ETX_HAS_DTYPE(BFLOAT16) ? ETX_DTYPE_BIT(BFLOAT16) : 0u), \
                    half_dots_bf16),                                          \
        ETX_IF_LOOP(ETX_LOOP_f32_half_dots_f16,                               \
                    (ETX_HAS_DTYPE(FLOAT16) ? ETX_DTYPE_BIT(FLOAT16) : 0u),   \
                    half_dots_f16),                                           \
        ETX_IF_LOOP(ETX_LOOP_f32_half_sums_bf16,                              \
                    (ETX_HAS_DTYPE(BFLOAT16) ? ETX_DTYPE_BIT(BFLOAT16) : 0u), \
                    half_sums_bf16),                                          \
        ETX_IF_LOOP(ETX_LOOP_f32_half_sums_f16,                               \
                    (ETX_HAS_DTYPE(FLOAT16) ? ETX_DTYPE_BIT(FLOAT16) : 0u),   \
                    half_sums_f16),                                           \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_gemm_small, gemm_small),                 \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_transpose_pack, transpose_pack),         \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_copy_rows, copy_rows),                   \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_store_rows, store_rows),                 \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_depthwise_row, depthwise_row),           \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_max_pool_row, max_pool_row),             \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_attention_weights, attention_weights),   \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_conv_oc_dense, conv_oc_dense),           \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_conv_oc, conv_oc),                       \
        ETX_IF_ANY_LOOP(ETX_LOOP_f32_conv_oc_store, conv_oc_store),           \
        {ETX_IF_ANY_LOOP(ETX_LOOP_f32_winograd, winograd_input),              \
         ETX_IF_ANY_LOOP(ETX_LOOP_f32_winograd, winograd_weights),            \
         ETX_IF_ANY_LOOP(ETX_LOOP_f32_winograd, winograd_output)},            \
        DEPTHWISE_PLANES, CONV_PIXEL, GEMM_GROUPS                             \
  }
