#include "runtime/kernels/arch/x86/float_loops_sets_x86.h"

#define VECTOR_BYTES 64
#include "runtime/kernels/simd/elementwise/binary_f32_template.h"
#include "runtime/kernels/simd/elementwise/binary_i64_template.h"
#include "runtime/kernels/simd/elementwise/softmax_f32_template.h"
#include "runtime/kernels/simd/elementwise/transpose_16x16_template.h"
#include "runtime/kernels/simd/elementwise/unary_f32_template.h"

//   @normalize  float32 | layer normalisation of rows, the loop of AVX2
//     (float_loops_avx2.c) | 2 rows x 16 elements | 32
const etx_float_loops etx_float_loops_avx512 =
    ETX_FLOAT_LOOPS("avx512", etx_layer_norm_rows_avx2);
