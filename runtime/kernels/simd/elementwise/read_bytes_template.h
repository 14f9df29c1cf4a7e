// Conversion of an array of int8 to float32 (half_loops.h). No parameters: the
// code is plain C, and each instruction set includes it so that the compiler
// vectorises it for that set.

#include <stddef.h>
#include <stdint.h>

//   @read_bytes  int8 to float32 | conversion | 1 vector
static void read_bytes(float* restrict out, const int8_t* restrict in,
                       size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = (float)in[i];
}
