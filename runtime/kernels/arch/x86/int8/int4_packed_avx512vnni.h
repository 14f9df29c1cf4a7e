// Many rows of bytes times packed panels of 4-bit weights.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_PACKED_AVX512VNNI_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_PACKED_AVX512VNNI_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"

// The members of etx_int8_dot_loops.
void etx_int4_pack_avx512vnni(const etx_int4_pack* pack);
void etx_int4_panel_avx512vnni(const etx_int4_panel* block);
void etx_int4_totals_avx512vnni(size_t rows, size_t groups, float* sums);

#endif
