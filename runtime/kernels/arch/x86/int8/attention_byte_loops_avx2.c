#include "runtime/kernels/arch/x86/int8/attention_byte_loops_x86.h"

#define VECTOR_BYTES 32
#define MULTIPLY_PAIRS(a, b) ((pair_sums)__builtin_ia32_pmaddwd256(a, b))
#include "runtime/kernels/simd/int8/attention_byte_template.h"

const etx_attention_byte_loops etx_attention_byte_loops_avx2 =
    ETX_ATTENTION_BYTE_LOOPS("avx2");
