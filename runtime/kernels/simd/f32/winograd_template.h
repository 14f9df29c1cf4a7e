// The transforms of Winograd convolution (winograd_microkernels.h). Include
// after f32_vec_template.h.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/winograd_microkernels.h"

enum { WINOGRAD_LANES = ETX_F32_LANES };

#if VECTOR_BYTES == 64
#define WINOGRAD_PICK(a, b, i)                                                 \
  __builtin_shufflevector(a, b, i, 2 + i, 4 + i, 6 + i, 8 + i, 10 + i, 12 + i, \
                          14 + i, 16 + i, 18 + i, 20 + i, 22 + i, 24 + i,      \
                          26 + i, 28 + i, 30 + i)
#elif VECTOR_BYTES == 32
#define WINOGRAD_PICK(a, b, i)                                                 \
  __builtin_shufflevector(a, b, i, 2 + i, 4 + i, 6 + i, 8 + i, 10 + i, 12 + i, \
                          14 + i)
#else
#define WINOGRAD_PICK(a, b, i) \
  __builtin_shufflevector(a, b, i, 2 + i, 4 + i, 6 + i)
#endif

// ------------------------------------------------ the transformed input

// A vector of tiles: B' from above, on what the first and what the last two
// columns of all tiles are in, then B from the side.
static inline __attribute__((always_inline)) void winograd_tiles(
    const float* from, ptrdiff_t row, float* out, ptrdiff_t place) {
  static const ptrdiff_t at[] = {0, WINOGRAD_LANES, 2, WINOGRAD_LANES + 2};
  etx_f32_vec x[4][4];
  ETX_UNROLLED
  for (size_t v = 0; v < 4; ++v) {
    etx_f32_vec d[4];
    ETX_UNROLLED
    for (ptrdiff_t y = 0; y < 4; ++y) {
      memcpy(&d[y], from + y * row + at[v], sizeof d[y]);
    }
    x[0][v] = d[0] - d[2];
    x[1][v] = d[1] + d[2];
    x[2][v] = d[2] - d[1];
    x[3][v] = d[1] - d[3];
  }
  ETX_UNROLLED
  for (size_t y = 0; y < 4; ++y, out += 4 * place) {
    const etx_f32_vec first = WINOGRAD_PICK(x[y][0], x[y][1], 0);
    const etx_f32_vec second = WINOGRAD_PICK(x[y][0], x[y][1], 1);
    const etx_f32_vec third = WINOGRAD_PICK(x[y][2], x[y][3], 0);
    const etx_f32_vec fourth = WINOGRAD_PICK(x[y][2], x[y][3], 1);
    const etx_f32_vec v[] = {first - third, second + third, third - second,
                             second - fourth};
    ETX_UNROLLED
    for (ptrdiff_t i = 0; i < 4; ++i) {
      memcpy(out + i * place, &v[i], sizeof v[i]);
    }
  }
}

//   @input  float32 | Winograd F(2x2, 3x3), input transform | {WINOGRAD_LANES}
//     tiles of 4 x 4
static void winograd_input(const etx_winograd_input* s) {
  const float* from = s->patch;
  float* out = s->out;
  for (size_t y = 0; y < s->rows; ++y) {
    for (size_t x = 0; x < s->columns; x += WINOGRAD_LANES) {
      winograd_tiles(from + 2 * x, s->patch_row, out + x, s->place);
    }
    from += 2 * s->patch_row;
    out += s->columns;
  }
}

// ------------------------------------------------ weights

// A row or column of G g.
static inline __attribute__((always_inline)) void winograd_weight(
    const etx_f32_vec* g, size_t step, etx_f32_vec* out, size_t out_step) {
  const etx_f32_vec sum = g[0] + g[2 * step];
  out[0] = g[0];
  out[out_step] = (sum + g[step]) * 0.5f;
  out[2 * out_step] = (sum - g[step]) * 0.5f;
  out[3 * out_step] = g[2 * step];
}

//   @weights  float32 | Winograd F(2x2, 3x3), weight transform |
//     {WINOGRAD_LANES} output channels
static void winograd_weights(const float* weights, size_t count, float* out) {
  enum { ALL = ETX_CONV_OC_CHANNELS };
  const size_t place = count * ALL;
  for (size_t i = 0; i < count; ++i, out += ALL) {
    for (size_t lane = 0; lane < ALL; lane += WINOGRAD_LANES) {
      etx_f32_vec g[ETX_WINOGRAD_TAPS], x[12], u[4];
      ETX_UNROLLED_16
      for (size_t k = 0; k < ETX_WINOGRAD_TAPS; ++k) {
        memcpy(&g[k], weights + k * ALL + lane, sizeof g[k]);
      }
      ETX_UNROLLED
      for (size_t k = 0; k < 3; ++k) winograd_weight(g + k, 3, x + k, 3);
      ETX_UNROLLED
      for (size_t y = 0; y < 4; ++y) {
        winograd_weight(x + 3 * y, 1, u, 1);
        ETX_UNROLLED
        for (size_t k = 0; k < 4; ++k) {
          memcpy(out + (4 * y + k) * place + lane, &u[k], sizeof u[k]);
        }
      }
    }
    weights += ETX_WINOGRAD_TAPS * ALL;
  }
}

// ------------------------------------------------ results

// A vector of channels of a tile, of which `height` rows of `width` exist.
static inline __attribute__((always_inline)) void winograd_results(
    const etx_winograd_output* s, const float* sums, float* out, size_t height,
    size_t width) {
  etx_f32_vec x[2][4], y[2];
  ETX_UNROLLED
  for (ptrdiff_t i = 0; i < 4; ++i) {
    etx_f32_vec m[4];
    ETX_UNROLLED
    for (ptrdiff_t k = 0; k < 4; ++k) {
      memcpy(&m[k], sums + (4 * k + i) * s->place, sizeof m[k]);
    }
    x[0][i] = m[0] + m[1] + m[2];
    x[1][i] = m[1] - m[2] - m[3];
  }
  for (size_t i = 0; i < height; ++i) {
    y[0] = x[i][0] + x[i][1] + x[i][2];
    y[1] = x[i][1] - x[i][2] - x[i][3];
    float* const to = out + (ptrdiff_t)(i * s->width) * s->tile;
    memcpy(to, &y[0], sizeof y[0]);
    if (width > 1) memcpy(to + s->tile, &y[1], sizeof y[1]);
  }
}

//   @output  float32 | Winograd F(2x2, 3x3), output transform |
//     {WINOGRAD_LANES} channels of 2 x 2 pixels
static void winograd_output(const etx_winograd_output* s) {
  const float* sums = s->sums;
  for (size_t y = 0; y < s->height; y += 2) {
    const size_t height = s->height - y < 2 ? 1 : 2;
    float* out = s->out + (ptrdiff_t)(y * s->width) * s->tile;
    for (size_t x = 0; x < s->width; x += 2, out += 2 * s->tile) {
      const size_t width = s->width - x < 2 ? 1 : 2;
      for (size_t c = 0; c < s->channels; c += WINOGRAD_LANES) {
        if (height + width == 4) {
          winograd_results(s, sums + c, out + c, 2, 2);
        } else {
          winograd_results(s, sums + c, out + c, height, width);
        }
      }
      sums += s->tile;
    }
  }
}
