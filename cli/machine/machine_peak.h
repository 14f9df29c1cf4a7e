// What one thread of this machine can do at most: loops that do nothing else.
// One file for each kind of processor.

#ifndef ETX_CLI_MACHINE_MACHINE_PEAK_H
#define ETX_CLI_MACHINE_MACHINE_PEAK_H

#include <stddef.h>
#include <stdint.h>

// Does `turns` turns of independent float32 multiply-adds in the widest
// registers; returns how many multiply-adds that were. `sink` gets something
// that depends on all of them.
uint64_t etx_machine_peak_multiply_f32(uint64_t turns, float* sink);

// The same of int8, whose sums are int32.
uint64_t etx_machine_peak_multiply_int8(uint64_t turns, int32_t* sink);

// The sum of all words: reads `count` of them, a multiple of 32, one after the
// other.
uint64_t etx_machine_peak_read(const uint64_t* words, size_t count);

// The same with the instructions that every processor has.
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
