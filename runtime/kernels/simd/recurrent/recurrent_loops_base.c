#include "runtime/kernels/simd/recurrent/recurrent_loops.h"

#define VECTOR_BYTES 16
#include "runtime/kernels/simd/recurrent/recurrent_loops_template.h"

const etx_recurrent_loops etx_recurrent_loops_base =
    ETX_RECURRENT_LOOPS("base");
