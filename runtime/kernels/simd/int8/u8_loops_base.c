#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/int8/u8_requantize.h"

enum { COLUMNS = ETX_U8_COLUMNS, MOST = ETX_U8_PANELS * COLUMNS };

// Vectors of four columns: 16 bytes, which every processor for which this is
// compiled has.

enum { GROUPS = COLUMNS / 4, SOME_ROWS = 4 };

static inline etx_i32x4 all_of(int32_t x) { return (etx_i32x4){x, x, x, x}; }

// Four numbers of four columns, of which each lane has four, times those of
// some rows.
static inline void add_numbers(etx_u32x4 lanes, const uint8_t* const x[],
                               size_t k, size_t g,
                               etx_i32x4 sums[SOME_ROWS][GROUPS]) {
#ifdef __SSE2__
  // Numbers 0 and 2 of a column are one pair of 16 bits, 1 and 3 the other.
  const etx_i16x8 even = (etx_i16x8)((etx_u16x8)lanes << 8) >> 8;
  const etx_i16x8 odd = (etx_i16x8)lanes >> 8;
  for (size_t r = 0; r < SOME_ROWS; ++r) {
    int32_t input;
    memcpy(&input, x[r] + k, sizeof input);
    const etx_u16x8 bytes = (etx_u16x8)all_of(input);
    sums[r][g] +=
        (etx_i32x4)__builtin_ia32_pmaddwd128((etx_i16x8)(bytes & 255), even) +
        (etx_i32x4)__builtin_ia32_pmaddwd128((etx_i16x8)(bytes >> 8), odd);
  }
#else
  for (size_t i = 0; i < ETX_U8_INTERLEAVE; ++i) {
    const etx_i32x4 weights = (etx_i32x4)(lanes << (24 - 8 * (int)i)) >> 24;
    for (size_t r = 0; r < SOME_ROWS; ++r) {
      sums[r][g] += weights * all_of(x[r][k + i]);
    }
  }
#endif
}

// Some rows with a panel.
static void panel_rows(const etx_u8_block* b, size_t row, size_t panel) {
  const size_t left = b->rows - row;
  const size_t count = left < SOME_ROWS ? left : SOME_ROWS;
  const size_t column = panel * COLUMNS;
  const int8_t* w = b->panels + panel * b->panel_bytes;
  etx_i32x4 sums[SOME_ROWS][GROUPS] = {{{0}}};
  for (size_t r = 0; r < count && !b->starts; ++r) {
    memcpy(sums[r], b->sums + (row + r) * MOST + column, sizeof sums[r]);
  }
  for (size_t t = 0; t < b->taps; ++t) {
    const uint8_t* x[SOME_ROWS];
    for (size_t r = 0; r < SOME_ROWS; ++r) {
      x[r] = b->input[t * b->pitch + row + r];
    }
    for (size_t k = 0; k < b->fours * ETX_U8_INTERLEAVE;
         k += ETX_U8_INTERLEAVE) {
      etx_u32x4 lanes[GROUPS];
      memcpy(lanes, w, sizeof lanes);
      w += sizeof lanes;
      for (size_t g = 0; g < GROUPS; ++g) add_numbers(lanes[g], x, k, g, sums);
    }
  }
  for (size_t r = 0; r < count; ++r) {
    int32_t row_sums[COLUMNS];
    memcpy(row_sums, sums[r], sizeof row_sums);
    if (!b->ends) {
      memcpy(b->sums + (row + r) * MOST + column, row_sums, sizeof row_sums);
      continue;
    }
    const size_t columns = b->columns - column;
    u8_store(b->results, row_sums, b->channel + column,
             columns < COLUMNS ? columns : (size_t)COLUMNS, b->out,
             (row + r) * b->out_row + column);
  }
}

//   @block  uint8 x int8 | GEMM and convolution with requantisation |
//     {SOME_ROWS} x {COLUMNS}
static void block(const etx_u8_block* b) {
  for (size_t panel = 0; panel * COLUMNS < b->columns; ++panel) {
    for (size_t row = 0; row < b->rows; row += SOME_ROWS) {
      panel_rows(b, row, panel);
    }
  }
}

static void add_tap(const uint8_t* x, const int8_t* w, size_t count,
                    int32_t* sums) {
  for (size_t c = 0; c < count; ++c) sums[c] += x[c] * w[c];
}

// Sums of some channels of a window that begins at a column.
static void sum_window(const etx_u8_depthwise* w, const uint8_t* const* rows,
                       int64_t column, size_t first, size_t count,
                       int32_t* sums) {
  const int8_t* weights = w->weights + first;
  for (size_t y = 0; y < w->kernel_y; ++y) {
    const uint8_t* row = rows[y * w->dilation_y];
    for (size_t x = 0; x < w->kernel_x; ++x, weights += w->channels) {
      const int64_t at = column + (int64_t)(x * w->dilation_x);
      const bool is_inside = row != NULL && at >= 0 && at < (int64_t)w->columns;
      const uint8_t* input =
          is_inside ? row + (size_t)at * w->channels : w->outside;
      add_tap(input + first, weights, count, sums);
    }
  }
}

//   @windows  uint8 x int8 | depthwise convolution with requantisation | 64
//     channels
static void windows(const etx_u8_depthwise* w) {
  enum { SOME = 64 };
  for (size_t i = 0; i < w->results_y * w->results_x; ++i) {
    const size_t y = i / w->results_x, x = i - y * w->results_x;
    for (size_t c = 0; c < w->count; c += SOME) {
      int32_t sums[SOME] = {0};
      const size_t first = w->first + c;
      const size_t count = w->count - c < SOME ? w->count - c : SOME;
      sum_window(w, w->rows + y * w->stride_y,
                 (int64_t)(x * w->stride_x) - w->padding, first, count, sums);
      u8_store(w->results, sums, first, count, w->out, i * w->channels + first);
    }
  }
}

//   @to_floats  uint8 to float32 | dequantize | 1 element
static void to_floats(const uint8_t* in, size_t count, int32_t zero,
                      float scale, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = (float)(in[i] - zero) * scale;
}

//   @to_bytes  float32 to uint8 | quantize | 1 element
static void to_bytes(const float* in, size_t count,
                     const etx_u8_qparams* qparams, uint8_t* out) {
  const etx_u8_qparams q = *qparams;
  for (size_t i = 0; i < count; ++i) {
    out[i] = u8_byte(in[i] * q.inverse, q.low, q.high, q.zero);
  }
}

//   @add  uint8 | addition with requantisation | 1 element
static void add(const etx_u8_binary_qparams* n, const uint8_t* a,
                const uint8_t* b, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    const float x = (float)(a[i] - n->zeros[0]) * n->scales[0];
    const float y = (float)(b[i] - n->zeros[1]) * n->scales[1];
    const float sum = x + y;
    out[i] = u8_byte(sum * n->inverse, n->low, n->high, n->zero);
  }
}

//   @multiply  uint8 x float32 | multiplication with requantisation | 1
//     element
static void multiply(const etx_u8_binary_qparams* n, const uint8_t* a,
                     const float* b, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    const float x = (float)(a[i] - n->zeros[0]) * n->scales[0];
    const float product = x * b[i];
    out[i] = u8_byte(product * n->inverse, n->low, n->high, n->zero);
  }
}

//   @look_up  uint8 | table of 256 entries | 1 element
static void look_up(const uint8_t table[256], const uint8_t* in, size_t count,
                    uint8_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = table[in[i]];
}

//   @add_rows  uint8 to int32 | sums of rows (mean pooling) | 1 element
static void add_rows(const uint8_t* in, size_t rows, size_t pitch, size_t count,
                     int32_t* sums) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < count; ++i) sums[i] += in[r * pitch + i];
  }
}

//   @max_of_rows  uint8 | max pooling of rows | 1 element
static void max_of_rows(const uint8_t* const* rows, size_t row_count,
                        size_t columns, size_t pitch, size_t count,
                        uint8_t* out) {
  u8_max_of_rows(rows, row_count, columns, pitch, 0, count, out);
}

//   @has_nan  float32 | search for NaN before quantisation | 1 element
static bool has_nan(const float* x, size_t count) {
  return u8_has_nan(x, count);
}

const etx_u8_loops etx_u8_loops_base = {
    block, windows,  to_floats, has_nan,  to_bytes,
    add,   multiply, look_up,   add_rows, max_of_rows};
