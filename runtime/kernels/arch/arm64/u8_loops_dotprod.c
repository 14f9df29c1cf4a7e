#include "runtime/kernels/arch/arm64/u8_loops_dotprod.h"

#include "runtime/kernels/arch/arm64/int8_dot_dotprod_template.h"
#include "runtime/kernels/arch/arm64/u8_vec_dotprod_template.h"

// ------------------------------------------------ products

enum {
  COLUMNS = ETX_U8_COLUMNS,
  QUARTERS = COLUMNS / LANES,
  ROWS = 4,  // rows whose sums are in registers
  SIDE = ETX_U8_INTERLEAVE,
  FOUR = COLUMNS * SIDE,  // bytes of a panel from four to four
  SUM_ROW = ETX_U8_PANELS * COLUMNS,
};

// Adds one group of four bytes of each row, which is number `place` of a
// register; also to the sums of the columns, if they are not NULL.
static inline __attribute__((always_inline)) void add_columns(
    const int8_t* panel, const int8x16_t x[ROWS], size_t place, size_t rows,
    int32x4_t sums[ROWS][QUARTERS], int32x4_t of_columns[QUARTERS]) {
  int8x16_t w[QUARTERS];
  READS_STAY;
  ETX_UNROLLED
  for (size_t q = 0; q < QUARTERS; ++q) {
    w[q] = load_bytes(panel + q * BYTES);
    if (of_columns == NULL) continue;
    of_columns[q] = add_dots(of_columns[q], w[q], vdupq_n_s8(1));
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t q = 0; q < QUARTERS; ++q) {
      sums[r][q] = add_four(sums[r][q], w[q], x[r], place);
    }
  }
}

// All groups of four of some rows.
static inline __attribute__((always_inline)) void add_taps(
    const etx_u8_block* b, size_t row, size_t rows, const int8_t* panel,
    int32x4_t sums[ROWS][QUARTERS], int32x4_t of_columns[QUARTERS]) {
  const size_t fours = b->fours;
  for (size_t t = 0; t < b->taps; ++t) {
    const uint8_t* const* input = b->input + t * b->pitch + row;
    const uint8_t* at[ROWS];
    int8x16_t x[ROWS];
    size_t k = 0;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) at[r] = input[r];
    for (; k + LANES <= fours; k += LANES) {
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        x[r] = less_128(vld1q_u8(at[r] + k * SIDE));
      }
      ETX_UNROLLED
      for (size_t i = 0; i < LANES; ++i, panel += FOUR) {
        add_columns(panel, x, i, rows, sums, of_columns);
      }
    }
    for (; k < fours; ++k, panel += FOUR) {
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        x[r] = less_128(vreinterpretq_u8_s8(load_four(at[r] + k * SIDE)));
      }
      add_columns(panel, x, 0, rows, sums, of_columns);
    }
  }
}

// Stores the existing results of up to sixteen columns.
static void store_sixteen(const etx_u8_requantize* r,
                          const int32x4_t acc[QUARTERS], size_t channel,
                          void* out, size_t at) {
  float32x4_t f[QUARTERS];
  ETX_UNROLLED
  for (size_t q = 0; q < QUARTERS; ++q) {
    const size_t c = channel + q * LANES;
    const int32x4_t sum = vaddq_s32(acc[q], vld1q_s32(r->offsets + c));
    f[q] = vcvtq_f32_s32(sum) * vld1q_f32(r->scales + c);
    if (r->bias != NULL) f[q] += vld1q_f32(r->bias + c);
  }
  if (r->is_float) {
    memcpy((float*)out + at, f, sizeof f);
    return;
  }
  vst1q_u8((uint8_t*)out + at, bytes_of(f, r->low, r->high, r->zero));
}

// Adds the partial sums so far to a row's sums, and keeps or stores them.
static void end_row(const etx_u8_block* b, size_t row, size_t column,
                    int32x4_t acc[QUARTERS]) {
  const size_t left = b->columns - column;
  const size_t at = row * b->out_row + column, channel = b->channel + column;
  int32_t* const kept = b->sums + row * SUM_ROW + column;
  for (size_t q = 0; q < QUARTERS && !b->starts; ++q) {
    acc[q] = vaddq_s32(acc[q], vld1q_s32(kept + q * LANES));
  }
  if (!b->ends) {
    memcpy(kept, acc, FOUR);
  } else if (left >= COLUMNS) {
    store_sixteen(b->results, acc, channel, b->out, at);
  } else {
    int32_t rest[COLUMNS];
    memcpy(rest, acc, sizeof rest);
    u8_store(b->results, rest, channel, left, b->out, at);
  }
}

// Some rows with a panel's columns. SDOT multiplies signed bytes, so the rows
// are taken less 128, and 128 times the sums of the columns is added back. The
// first block of rows computes these column sums for all later ones.
static inline __attribute__((always_inline)) void some_rows(
    const etx_u8_block* b, size_t row, size_t rows, size_t column,
    bool is_first, int32x4_t lacking[QUARTERS]) {
  const int8_t* panel = b->panels + column / COLUMNS * b->panel_bytes;
  const size_t left = b->rows - row;
  int32x4_t sums[ROWS][QUARTERS] = {{{0}}}, of_columns[QUARTERS] = {{0}};
  add_taps(b, row, rows, panel, sums, is_first ? of_columns : NULL);
  ETX_UNROLLED
  for (size_t q = 0; q < QUARTERS; ++q) {
    if (is_first) lacking[q] = vshlq_n_s32(of_columns[q], 7);
  }
  // Sums whose address is taken would not stay in registers.
  int32x4_t acc[ROWS][QUARTERS];
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t q = 0; q < QUARTERS; ++q) {
      acc[r][q] = vaddq_s32(sums[r][q], lacking[q]);
    }
  }
  for (size_t r = 0; r < rows && r < left; ++r) {
    end_row(b, row + r, column, acc[r]);
  }
}

//   @block  uint8 x int8 | GEMM and convolution with requantisation | {ROWS} x
//     {COLUMNS}
static void block(const etx_u8_block* b) {
  for (size_t column = 0; column < b->columns; column += COLUMNS) {
    int32x4_t lacking[QUARTERS];
    if (b->rows == 1) {
      some_rows(b, 0, 1, column, true, lacking);
      continue;
    }
    some_rows(b, 0, ROWS, column, true, lacking);
    for (size_t row = ROWS; row < b->rows; row += ROWS) {
      some_rows(b, row, ROWS, column, false, lacking);
    }
  }
}

// ------------------------------------------------ elements

// Sixteen bytes as floats.
static inline __attribute__((always_inline)) void floats_of(
    const uint8_t* in, int32_t zero, float scale,
    float32x4_t out[SUM_REGISTERS]) {
  const uint8x16_t x = vld1q_u8(in);
  const uint16x8_t half[2] = {vmovl_u8(vget_low_u8(x)), vmovl_high_u8(x)};
  ETX_UNROLLED
  for (size_t i = 0; i < 2; ++i) {
    const uint32x4_t low = vmovl_u16(vget_low_u16(half[i]));
    const uint32x4_t high = vmovl_high_u16(half[i]);
    out[2 * i] = vcvtq_f32_s32(vreinterpretq_s32_u32(low) - zero) * scale;
    out[2 * i + 1] = vcvtq_f32_s32(vreinterpretq_s32_u32(high) - zero) * scale;
  }
}

//   @to_floats  uint8 to float32 | dequantize | {BYTES} elements
static void to_floats(const uint8_t* in, size_t count, int32_t zero,
                      float scale, float* out) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    float32x4_t x[SUM_REGISTERS];
    floats_of(in + i, zero, scale, x);
    memcpy(out + i, x, sizeof x);
  }
  etx_u8_loops_base.to_floats(in + i, count - i, zero, scale, out + i);
}

//   @to_bytes  float32 to uint8 | quantize | {BYTES} elements
static void to_bytes(const float* in, size_t count,
                     const etx_u8_qparams* qparams, uint8_t* out) {
  const etx_u8_qparams q = *qparams;
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    float32x4_t x[SUM_REGISTERS];
    ETX_UNROLLED
    for (size_t part = 0; part < SUM_REGISTERS; ++part) {
      x[part] = vld1q_f32(in + i + part * LANES) * q.inverse;
    }
    vst1q_u8(out + i, bytes_of(x, q.low, q.high, q.zero));
  }
  etx_u8_loops_base.to_bytes(in + i, count - i, qparams, out + i);
}

//   @add  uint8 | addition with requantisation | {BYTES} elements
static void add(const etx_u8_binary_qparams* n, const uint8_t* a,
                const uint8_t* b, size_t count, uint8_t* out) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    float32x4_t x[SUM_REGISTERS], y[SUM_REGISTERS];
    floats_of(a + i, n->zeros[0], n->scales[0], x);
    floats_of(b + i, n->zeros[1], n->scales[1], y);
    ETX_UNROLLED
    for (size_t q = 0; q < SUM_REGISTERS; ++q)
      x[q] = (x[q] + y[q]) * n->inverse;
    vst1q_u8(out + i, bytes_of(x, n->low, n->high, n->zero));
  }
  etx_u8_loops_base.add(n, a + i, b + i, count - i, out + i);
}

//   @multiply  uint8 x float32 | multiplication with requantisation | {BYTES}
//     elements
static void multiply(const etx_u8_binary_qparams* n, const uint8_t* a,
                     const float* b, size_t count, uint8_t* out) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    float32x4_t x[SUM_REGISTERS];
    floats_of(a + i, n->zeros[0], n->scales[0], x);
    ETX_UNROLLED
    for (size_t q = 0; q < SUM_REGISTERS; ++q) {
      x[q] = x[q] * vld1q_f32(b + i + q * LANES) * n->inverse;
    }
    vst1q_u8(out + i, bytes_of(x, n->low, n->high, n->zero));
  }
  etx_u8_loops_base.multiply(n, a + i, b + i, count - i, out + i);
}

// TBX leaves a byte unchanged if its index is out of range. Each quarter of the
// table is looked up with the index less the quarters before it.
//
//   @look_up  uint8 | table of 256 entries | {BYTES} elements
static void look_up(const uint8_t table[256], const uint8_t* in, size_t count,
                    uint8_t* out) {
  enum { QUARTER = 64 };
  uint8x16x4_t t[4];
  memcpy(t, table, sizeof t);
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    const uint8x16_t x = vld1q_u8(in + i);
    uint8x16_t y = vqtbl4q_u8(t[0], x);
    y = vqtbx4q_u8(y, t[1], x - QUARTER);
    y = vqtbx4q_u8(y, t[2], x - 2 * QUARTER);
    y = vqtbx4q_u8(y, t[3], x - 3 * QUARTER);
    vst1q_u8(out + i, y);
  }
  etx_u8_loops_base.look_up(table, in + i, count - i, out + i);
}

//   @add_rows  uint8 to int32 | sums of rows (mean pooling) | {BYTES} elements
static void add_rows(const uint8_t* in, size_t rows, size_t pitch, size_t count,
                     int32_t* sums) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    uint32x4_t acc[SUM_REGISTERS];
    memcpy(acc, sums + i, sizeof acc);
    for (size_t r = 0; r < rows; ++r) {
      const uint8x16_t x = vld1q_u8(in + r * pitch + i);
      const uint16x8_t low = vmovl_u8(vget_low_u8(x)), high = vmovl_high_u8(x);
      acc[0] = vaddw_u16(acc[0], vget_low_u16(low));
      acc[1] = vaddw_high_u16(acc[1], low);
      acc[2] = vaddw_u16(acc[2], vget_low_u16(high));
      acc[3] = vaddw_high_u16(acc[3], high);
    }
    memcpy(sums + i, acc, sizeof acc);
  }
  etx_u8_loops_base.add_rows(in + i, rows, pitch, count - i, sums + i);
}

//   @max_of_rows  uint8 | max pooling of rows | {BYTES} elements
static void max_of_rows(const uint8_t* const* rows, size_t row_count,
                        size_t columns, size_t pitch, size_t count,
                        uint8_t* out) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    uint8x16_t best = vld1q_u8(out + i);
    for (size_t r = 0; r < row_count; ++r) {
      const uint8_t* in = rows[r] + i;
      for (size_t c = 0; c < columns; ++c) {
        best = vmaxq_u8(best, vld1q_u8(in + c * pitch));
      }
    }
    vst1q_u8(out + i, best);
  }
  u8_max_of_rows(rows, row_count, columns, pitch, i, count, out);
}

//   @has_nan  float32 | search for NaN before quantisation | 1 element
static bool has_nan(const float* x, size_t count) {
  return u8_has_nan(x, count);
}

//   @windows  uint8 x int8 | depthwise convolution with requantisation
//     (u8_depthwise_dotprod.c) | 32 or 16 channels
const etx_u8_loops etx_u8_loops_dotprod = {block,     etx_u8_depthwise_dotprod,
                                           to_floats, has_nan,
                                           to_bytes,  add,
                                           multiply,  look_up,
                                           add_rows,  max_of_rows};
