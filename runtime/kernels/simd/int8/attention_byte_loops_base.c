#include "runtime/kernels/simd/int8/attention_byte_loops.h"

#define VECTOR_BYTES 16
#ifdef __SSE2__
#define MULTIPLY_PAIRS(a, b) ((pair_sums)__builtin_ia32_pmaddwd128(a, b))
#else
#define MULTIPLY_PAIRS(a, b) multiply_pairs((pair_sums)(a), (pair_sums)(b))
#include <stdint.h>
typedef int32_t pair_lanes __attribute__((vector_size(VECTOR_BYTES)));
static inline pair_lanes multiply_pairs(pair_lanes a, pair_lanes b) {
  return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
}
#endif
#include "runtime/kernels/simd/int8/attention_byte_template.h"

const etx_attention_byte_loops etx_attention_byte_loops_base =
    ETX_ATTENTION_BYTE_LOOPS("base");
