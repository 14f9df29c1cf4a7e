// Rows of bytes times weights of 4 bits.

#ifndef ETX_RUNTIME_KERNELS_X86_BYTE_GROUPS_AVX512VNNI_H
#define ETX_RUNTIME_KERNELS_X86_BYTE_GROUPS_AVX512VNNI_H

#include "runtime/kernels/byte_loops.h"

// The member of etx_byte_loops.
void etx_byte_groups_avx512vnni(const etx_byte_groups* block);

#endif
