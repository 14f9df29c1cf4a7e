#include "runtime/kernels/arch/x86/float_loops_sets_x86.h"

#define VECTOR_BYTES 32
#include "runtime/kernels/simd/elementwise/binary_f32_template.h"
#include "runtime/kernels/simd/elementwise/binary_i64_template.h"
#include "runtime/kernels/simd/elementwise/softmax_f32_template.h"
#include "runtime/kernels/simd/elementwise/layer_norm_f32_template.h"
#include "runtime/kernels/simd/elementwise/transpose_16x16_template.h"
#include "runtime/kernels/simd/elementwise/unary_f32_template.h"

void etx_layer_norm_rows_avx2(const etx_layer_norm_rows* norm) {
  layer_norm_rows(norm);
}

const etx_float_loops etx_float_loops_avx2 =
    ETX_FLOAT_LOOPS("avx2", etx_layer_norm_rows_avx2);
