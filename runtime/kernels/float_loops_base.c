#include "runtime/kernels/float_loops.h"

#define VECTOR_BYTES 16
#include "runtime/kernels/binary_f32_template.h"
#include "runtime/kernels/binary_i64_template.h"
#include "runtime/kernels/line_f32_template.h"
#include "runtime/kernels/norm_f32_template.h"
#include "runtime/kernels/tile_template.h"
#include "runtime/kernels/unary_f32_template.h"

const etx_float_loops etx_float_loops_base = {
    "base",
    unary_loops,
    binary_loops,
    whole_loops,
    spread,
    turn_bits,
    turn_tile,
    {scale_line, raise_line, normalize_lines}};
