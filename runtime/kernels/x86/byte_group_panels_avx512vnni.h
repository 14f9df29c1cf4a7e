// Many rows of bytes times weights of 4 bits.

#ifndef ETX_RUNTIME_KERNELS_X86_BYTE_GROUP_PANELS_AVX512VNNI_H
#define ETX_RUNTIME_KERNELS_X86_BYTE_GROUP_PANELS_AVX512VNNI_H

#include "runtime/kernels/byte_loops.h"

// The members of etx_byte_loops.
void etx_byte_turn4_avx512vnni(const uint8_t* in, ptrdiff_t row, size_t columns,
                               size_t count, size_t group, int8_t* out,
                               int32_t* group_sums);
void etx_byte_panel_groups_avx512vnni(const etx_byte_group_panel* block);
void etx_byte_totals_avx512vnni(size_t rows, size_t groups, float* sums);

#endif
