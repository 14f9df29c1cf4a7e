// The float32 microkernels of AVX2 with FMA, and of AVX-512.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_F32_MICROKERNELS_SETS_X86_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_F32_MICROKERNELS_SETS_X86_H

#include "runtime/kernels/simd/f32/f32_microkernels.h"

extern const etx_f32_microkernels etx_f32_microkernels_avx2;
extern const etx_f32_microkernels etx_f32_microkernels_avx512;

#endif
