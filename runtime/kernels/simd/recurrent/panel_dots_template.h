// One row times panels of sixteen columns, with the sums of GEMM NT
// (etx_panel_dots). Include after f32_vec_template.h. All sets give the same
// bits.
//
// Lanes are columns. Element k of the row is multiplied with line k of the
// panel and added to partial sum k mod 16, so a panel has sixteen vectors of
// partial sums, which are added without a shuffle at the end. Sets with fewer
// registers pass over a piece of the panel several times, each time for some
// of the partial sums; the piece stays in L1.
//
//   VECTOR_BYTES           required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)   required  a * b + c, rounded once:
//                                    f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include <string.h>

#include "runtime/kernels/simd/recurrent/recurrent_loops.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum {
  PANEL_LINE = 16,                           // columns of a panel
  PANEL_PARTS = PANEL_LINE / ETX_F32_LANES,  // vectors of a line
  PANEL_SUMS = ETX_F32_DOT_SUMS,             // partial sums of a column
#if VECTOR_BYTES == 64
  PANEL_PASS_SUMS = PANEL_SUMS,
  PANEL_PIECE = 1 << 30,  // lines of a piece: all
#else
#ifdef __aarch64__  // 32 registers
  PANEL_PASS_SUMS = 16 / PANEL_PARTS,
#else
  PANEL_PASS_SUMS = 8 / PANEL_PARTS,
#endif
  PANEL_PIECE = 256,
#endif
};

// Adds sixteens of lines to partial sums [first, first + PANEL_PASS_SUMS).
static inline __attribute__((always_inline)) void panel_pass(
    const float* left, const float* panel, size_t lines, size_t first,
    etx_f32_vec all[][PANEL_PARTS]) {
  etx_f32_vec sums[PANEL_PASS_SUMS][PANEL_PARTS];
  ETX_UNROLLED_16
  for (size_t i = 0; i < PANEL_PASS_SUMS; ++i) {
    ETX_UNROLLED
    for (size_t j = 0; j < PANEL_PARTS; ++j) sums[i][j] = all[first + i][j];
  }
  for (size_t k = first; k < lines; k += PANEL_SUMS) {
    ETX_UNROLLED_16
    for (size_t i = 0; i < PANEL_PASS_SUMS; ++i) {
      const etx_f32_vec x = ETX_F32_BROADCAST(left[k + i]);
      ETX_UNROLLED
      for (size_t j = 0; j < PANEL_PARTS; ++j) {
        etx_f32_vec y;
        memcpy(&y, panel + (k + i) * PANEL_LINE + j * ETX_F32_LANES,
               VECTOR_BYTES);
        sums[i][j] = ETX_F32_FMA(x, y, sums[i][j]);
      }
    }
  }
  ETX_UNROLLED_16
  for (size_t i = 0; i < PANEL_PASS_SUMS; ++i) {
    ETX_UNROLLED
    for (size_t j = 0; j < PANEL_PARTS; ++j) all[first + i][j] = sums[i][j];
  }
}

// Adds the second `half` of the partial sums to the first one.
static inline __attribute__((always_inline)) void panel_fold(
    size_t half, etx_f32_vec all[][PANEL_PARTS]) {
  ETX_UNROLLED
  for (size_t i = 0; i < half; ++i) {
    ETX_UNROLLED
    for (size_t j = 0; j < PANEL_PARTS; ++j) all[i][j] += all[i + half][j];
  }
}

//   @panel_dots  float32 | dot products of one row with the columns of panels |
//     1 x 16 dot products
static void panel_dots(const etx_panel_dots* b) {
  const float* panel = b->panels;
  float* out = b->out;
  for (size_t done = 0; done < b->panel_count; ++done) {
    etx_f32_vec all[PANEL_SUMS][PANEL_PARTS] = {{{0}}};
    for (size_t at = 0; at < b->count; at += PANEL_PIECE) {
      const size_t left = b->count - at;
      const size_t lines = left < PANEL_PIECE ? left : PANEL_PIECE;
      for (size_t first = 0; first < PANEL_SUMS; first += PANEL_PASS_SUMS) {
        panel_pass(b->left + at, panel + at * PANEL_LINE, lines, first, all);
      }
    }
    panel_fold(8, all);
    panel_fold(4, all);
    panel_fold(2, all);
    panel_fold(1, all);
    memcpy(out, all[0], sizeof all[0]);
    panel += b->count * PANEL_LINE;
    out += PANEL_LINE;
  }
}
