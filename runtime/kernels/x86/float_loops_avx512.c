#include "runtime/kernels/x86/float_loops_wide.h"

#define VECTOR_BYTES 64
#include "runtime/kernels/binary_f32_template.h"
#include "runtime/kernels/binary_i64_template.h"
#include "runtime/kernels/line_f32_template.h"
#include "runtime/kernels/tile_template.h"
#include "runtime/kernels/unary_f32_template.h"

const etx_float_loops etx_float_loops_avx512 = {
    "avx512",
    unary_loops,
    binary_loops,
    whole_loops,
    spread,
    turn_bits,
    turn_tile,
    {scale_line, raise_line, etx_normalize_rows_avx2}};
