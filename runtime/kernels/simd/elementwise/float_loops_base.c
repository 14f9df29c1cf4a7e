#include "runtime/kernels/simd/elementwise/float_loops.h"

#define VECTOR_BYTES 16
#include "runtime/kernels/simd/elementwise/binary_f32_template.h"
#include "runtime/kernels/simd/elementwise/binary_i64_template.h"
#include "runtime/kernels/simd/elementwise/softmax_f32_template.h"
#include "runtime/kernels/simd/elementwise/layer_norm_f32_template.h"
#include "runtime/kernels/simd/elementwise/transpose_16x16_template.h"
#include "runtime/kernels/simd/elementwise/unary_f32_template.h"

const etx_float_loops etx_float_loops_base =
    ETX_FLOAT_LOOPS("base", layer_norm_rows);
