// Every processor with AVX2 and FMA has F16C, and every one with AVX-512 has
// PRFCHW (prefetch for writing). Not every compiler can test for these two.

#include "runtime/instruction_set.h"

#include <stdbool.h>

static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

etx_instruction_set etx_instruction_set_within(etx_instruction_set limit) {
  if (limit == ETX_SET_ANY) limit = ETX_SET_AVX512VNNI;
  if (!ETX_HAS_SET(AVX2) || limit < ETX_SET_AVX2 || !has_avx2()) {
    return ETX_SET_BASE;
  }
  if (!ETX_HAS_SET(AVX512) || limit < ETX_SET_AVX512 || !has_avx512()) {
    return ETX_SET_AVX2;
  }
  if (!ETX_HAS_SET(AVX512VNNI) || limit < ETX_SET_AVX512VNNI ||
      !__builtin_cpu_supports("avx512vnni")) {
    return ETX_SET_AVX512;
  }
  return ETX_SET_AVX512VNNI;
}
