#include "runtime/kernels/x86/float_loops_wide.h"

#define VECTOR_BYTES 32
#include "runtime/kernels/binary_f32_template.h"
#include "runtime/kernels/binary_i64_template.h"
#include "runtime/kernels/line_f32_template.h"
#include "runtime/kernels/norm_f32_template.h"
#include "runtime/kernels/tile_template.h"
#include "runtime/kernels/unary_f32_template.h"

void etx_normalize_rows_avx2(const etx_line_norm* norm) {
  normalize_lines(norm);
}

const etx_float_loops etx_float_loops_avx2 = {
    "avx2",
    unary_loops,
    binary_loops,
    whole_loops,
    spread,
    turn_bits,
    turn_tile,
    {scale_line, raise_line, etx_normalize_rows_avx2}};
