#include "runtime/kernels/arch/x86/recurrent_loops_sets_x86.h"

#define VECTOR_BYTES 32
#include "runtime/kernels/simd/recurrent/recurrent_loops_template.h"

const etx_recurrent_loops etx_recurrent_loops_avx2 =
    ETX_RECURRENT_LOOPS("avx2");
