// The limits of the machine as a program meets them, measured in the same run
// as what is judged by them: machines drift, and others use them too.

#ifndef ETX_CLI_MACHINE_MACHINE_LIMITS_H
#define ETX_CLI_MACHINE_MACHINE_LIMITS_H

#include "runtime/kernel.h"

typedef struct etx_machine_limits {
  double read_bytes;          // a second, all threads
  double multiply_adds;       // a second, float32, all threads
  double byte_multiply_adds;  // the same of int8
} etx_machine_limits;

// Multiply-adds a second of all threads, of float32 or of int8; takes some 50
// ms.
double etx_machine_limits_multiply_rate_f32(const etx_parallel* parallel);
double etx_machine_limits_multiply_rate_int8(const etx_parallel* parallel);

// Bytes a second that all threads together read of `bytes` of memory, again and
// again: a small part of memory stays in a cache and is read faster. Takes some
// 50 ms. Memory beyond 128 MB is as slow as that; 0 if there is not enough.
double etx_machine_limits_read_rate(const etx_parallel* parallel,
                                    uint64_t bytes);

#endif
