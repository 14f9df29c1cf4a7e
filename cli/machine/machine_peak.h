// Loops that reach the peak rates of one thread. One implementation file for
// each kind of processor.

#ifndef ETX_CLI_MACHINE_MACHINE_PEAK_H
#define ETX_CLI_MACHINE_MACHINE_PEAK_H

#include <stddef.h>
#include <stdint.h>

// Runs `iterations` of a loop of independent float32 multiply-adds in the
// widest vector registers and returns the number of multiply-adds. `sink` gets
// a value that depends on all of them, so that the compiler keeps the loop.
uint64_t etx_machine_peak_multiply_f32(uint64_t iterations, float* sink);

// The same for int8 with int32 accumulators.
uint64_t etx_machine_peak_multiply_int8(uint64_t iterations, int32_t* sink);

// Reads `count` words, a multiple of 32, and returns their sum.
uint64_t etx_machine_peak_read(const uint64_t* words, size_t count);

// The same in portable C.
static inline uint64_t etx_machine_peak_read_scalar(const uint64_t* words,
                                                    size_t count) {
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (size_t i = 0; i + 4 <= count; i += 4) {
    a += words[i];
    b += words[i + 1];
    c += words[i + 2];
    d += words[i + 3];
  }
  return a + b + c + d;
}

#endif
