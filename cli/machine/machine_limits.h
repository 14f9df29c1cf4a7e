// Peak rates of this machine, for the roofline of etx bench. They are measured
// in the same process as the methods, because clock rates and other load
// change.

#ifndef ETX_CLI_MACHINE_MACHINE_LIMITS_H
#define ETX_CLI_MACHINE_MACHINE_LIMITS_H

#include "runtime/kernel.h"

typedef struct etx_machine_limits {
  double read_bytes;          // per second, all threads together
  double multiply_adds;       // per second, float32, all threads together
  double byte_multiply_adds;  // the same for int8
} etx_machine_limits;

// Multiply-adds per second of all threads together. Takes about 50 ms.
double etx_machine_limits_multiply_rate_f32(const etx_parallel* parallel);
double etx_machine_limits_multiply_rate_int8(const etx_parallel* parallel);

// Bytes per second that all threads together read if they read `bytes` of
// memory repeatedly: a small amount stays in a cache and is read faster. More
// than 128 MB is measured as 128 MB. Takes about 50 ms. 0 if the memory cannot
// be allocated.
double etx_machine_limits_read_rate(const etx_parallel* parallel,
                                    uint64_t bytes);

#endif
