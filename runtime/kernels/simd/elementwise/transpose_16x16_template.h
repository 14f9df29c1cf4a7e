// Transposes a tile of 16 x 16 elements of 4 bytes from memory to memory
// (strided_copy.c). An element may hold several smaller ones, so a row may
// begin at any byte.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include "runtime/kernels/simd/vector/loop_step.h"
#include "runtime/kernels/simd/vector/transpose_registers_template.h"

enum { TILE_SIDE = 16 };

//   @transpose_16x16  4 bytes | transpose from memory to memory | 16 x 16, in
//     squares of {TRANSPOSE_SIDE} x {TRANSPOSE_SIDE}
static void transpose_16x16(char* to, ptrdiff_t to_row, const char* from,
                            ptrdiff_t from_row) {
  etx_f32_vec rows[TRANSPOSE_SIDE], columns[TRANSPOSE_SIDE];
  ETX_UNROLLED
  for (int j = 0; j < TILE_SIDE; j += TRANSPOSE_SIDE) {
    ETX_UNROLLED
    for (int i = 0; i < TILE_SIDE; i += TRANSPOSE_SIDE) {
      const char* in = from + j * from_row + i * (ptrdiff_t)sizeof(float);
      ETX_UNROLLED_16
      for (int k = 0; k < TRANSPOSE_SIDE; ++k) {
        memcpy(&rows[k], in, sizeof rows[k]);
        ETX_STEP(in, from_row);
      }
      transpose_registers(rows, columns);
      char* out = to + i * to_row + j * (ptrdiff_t)sizeof(float);
      ETX_UNROLLED_16
      for (int k = 0; k < TRANSPOSE_SIDE; ++k) {
        memcpy(out, &columns[k], sizeof columns[k]);
        ETX_STEP(out, to_row);
      }
    }
  }
}
